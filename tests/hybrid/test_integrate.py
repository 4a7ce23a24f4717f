"""Events, samples, continuing, and bad input."""

import numpy as np
import pytest

import pliant as pl
from pliant.hybrid import (
    Contact,
    Continuous,
    Friction,
    HybridSystem,
    Joint,
    Machine,
    Mode,
    Outcome,
    Restitution,
    Sampled,
    Transition,
)

GRAVITY = 9.81


def pendulum(**options):
    """A point on a rod of 1 m in Cartesian coordinates, held by a joint."""
    options = {"q0": [1.0, 0.0], "v0": [0.0, 0.0]} | options
    rod = Joint("rod", lambda q: q @ q - 1.0, alpha=(100.0, 20.0))
    return HybridSystem(
        mass=[2.0, 2.0], bias=lambda q, v: np.array([0.0, 2.0 * GRAVITY]), constraints=(rod,), **options
    )


def test_a_touch_is_located_to_rounding():
    solution = pl.hybrid.integrate(pl.hybrid.bouncing_ball(), until=0.5)
    assert solution.events[0].time == pytest.approx(np.sqrt(2.0 / GRAVITY), abs=1e-13)
    assert solution.events[0][1:5] == ("floor", 0, Mode.FREE, Mode.CONTACT)


def test_a_gap_that_closes_and_opens_again_before_another_closes_is_not_missed():
    """One long step from 0 to beyond 0.9, where a wall is; on the way, between 0.3 and 0.7, a hump closes and opens."""
    hump = Contact("hump", lambda q: (q[0] - 0.5) ** 2 - 0.04)
    wall = Contact("wall", lambda q: 0.9 - q[0])
    runner = HybridSystem(q0=[0.0], v0=[1.0], mass=[1.0], constraints=(hump, wall))
    events = pl.hybrid.integrate(runner, until=2.0, sample=None).events
    assert events[0].name == "hump"
    assert events[0].time == pytest.approx(0.3, abs=1e-12)


def test_a_row_counts_within_its_scope_and_is_let_go_beyond_it():
    """A ball slides at 2 m/s along a table that ends at x = 1 and falls from its edge; one beside it never touches."""
    table = Contact("table", lambda q: q[1], scope=lambda q: 1.0 - q[0], alpha=(400.0, 40.0, 0.0))

    def ball(x):
        weight = np.array([0.0, GRAVITY])
        return HybridSystem(q0=[x, 0.0], v0=[2.0, 0.0], mass=[1.0, 1.0], bias=lambda q, v: weight, constraints=(table,))

    solution = pl.hybrid.integrate(ball(0.0), until=1.0)
    assert [event.cause for event in solution.events] == ["the gap closes", "the feature is left"]
    assert solution.events[-1].time == pytest.approx(0.5, abs=1e-6)
    assert solution.final.q == pytest.approx([2.0, -0.5 * GRAVITY * 0.25], abs=1e-5)
    beside = pl.hybrid.integrate(ball(1.5), until=0.1)
    assert not beside.events
    assert beside.final.q[1] == pytest.approx(-0.5 * GRAVITY * 0.01, abs=1e-9)


def test_samples_hold_steps_events_and_grid():
    solution = pl.hybrid.integrate(pl.hybrid.bouncing_ball(), until=1.0, sample=0.01)
    times = solution.times
    assert (np.diff(times) > 0.0).all()
    assert np.isin(solution.step_times, times).all()
    assert np.isin([event.time for event in solution.events], times).all()
    for t in 0.01 * np.arange(101):
        assert np.abs(times - t).min() < 1e-12
    assert solution.q.shape == solution.v.shape == solution.lam.shape == solution.modes.shape == (len(times), 1)
    assert times[-1] == solution.final.time == 1.0


def test_dense_output_agrees_with_a_finer_grid():
    ball = pl.hybrid.bouncing_ball()
    coarse, fine = (pl.hybrid.integrate(ball, until=0.6, sample=s) for s in (None, 1e-3))
    q, v = coarse.at(fine.times)
    assert q == pytest.approx(fine.q, abs=1e-8)
    assert v == pytest.approx(fine.v, abs=1e-5)
    with pytest.raises(pl.InputError, match=r"\[0, 0.6\]"):
        coarse.at([0.7])


def test_forces_between_steps_follow_the_law():
    solution = pl.hybrid.integrate(pl.hybrid.bouncing_ball(alpha=(100.0, 5.0, 1e6)), until=0.5)
    held = solution.modes[:, 0] == Mode.CONTACT
    q, v = solution.q[held, 0], solution.v[held, 0]
    assert held.sum() > 30
    assert solution.lam[held, 0] == pytest.approx(GRAVITY - 5.0 * v - 100.0 * q - 1e6 * q**3, abs=1e-4)


def test_continuing_is_the_same_as_not_stopping():
    ball = pl.hybrid.bouncing_ball()
    whole = pl.hybrid.integrate(ball, until=1.2)
    first = pl.hybrid.integrate(ball, until=0.47)
    assert first.final.modes[0] == Mode.CONTACT
    second = pl.hybrid.integrate(ball, until=1.2, start=first.final)
    assert second.final.q == pytest.approx(whole.final.q, abs=1e-9)
    assert [e.target for e in first.events + second.events] == [e.target for e in whole.events]


def test_a_joint_keeps_its_length_and_the_energy():
    solution = pl.hybrid.integrate(pendulum(), until=3.0)
    q, v = solution.q, solution.v
    assert np.abs(np.linalg.norm(q, axis=1) - 1.0).max() < 1e-9
    assert 0.5 * (v**2).sum(axis=1) + GRAVITY * q[:, 1] == pytest.approx(0.0, abs=1e-7)


def test_a_sampled_controller_is_called_at_its_rate_and_held():
    seen = []

    def update(t, q, v, memory):
        seen.append((t, memory))
        return [5.0 * len(seen)], memory + 1

    ball = pl.hybrid.bouncing_ball(height=5.0)
    solution = pl.hybrid.integrate(ball, until=0.1, control=Sampled(0.03, update, memory=7))
    assert [t for t, _ in seen] == pytest.approx([0.0, 0.03, 0.06, 0.09])
    assert [memory for _, memory in seen] == [7, 8, 9, 10]
    assert solution.final.memories == (11,)
    impulse = 0.03 * (5.0 + 10.0 + 15.0) + 0.01 * 20.0
    assert solution.final.v[0] == pytest.approx(impulse - 0.1 * GRAVITY, rel=1e-12)
    assert solution.u[np.searchsorted(solution.times, 0.05), 0] == 10.0


def test_controllers_add_up():
    ball = pl.hybrid.bouncing_ball(height=5.0)
    slow = Sampled(0.02, lambda t, q, v, memory: ([2.0], memory))
    lag = Continuous(1, lambda t, x, q, v: -x, lambda t, x, q, v: x, initial=[1.0])
    solution = pl.hybrid.integrate(ball, until=1.0, control=(slow, lag, lambda t, q, v: np.array([GRAVITY])))
    assert solution.final.x == pytest.approx([np.exp(-1.0)], rel=1e-8)
    assert solution.final.v[0] == pytest.approx(2.0 + 1.0 - np.exp(-1.0), rel=1e-8)


def test_a_machine_switches_its_joints():
    """A block pushed on is caught by a relative joint at x = 1, and released at t = 2."""
    catch = Joint("catch", lambda q: q[0], alpha=(100.0, 20.0), relative=True)
    machine = Machine(
        "latch", {1: ("catch",)},
        (Transition(0, 1, lambda t, q, v, lam: 1.0 - q[0]), Transition(1, 2, lambda t, q, v, lam: 2.0 - t)),
    )  # fmt: skip
    block = HybridSystem(q0=[0.0], v0=[1.0], mass=[1.0], constraints=(catch,), machines=(machine,))
    solution = pl.hybrid.integrate(block, until=3.0)
    assert [(e.source, e.target) for e in solution.events] == [(0, 1), (1, 2)]
    assert [e.time for e in solution.events] == pytest.approx([1.0, 2.0], abs=1e-10)
    assert solution.states[[0, -1], 0].tolist() == [0, 2]
    peak = 1.0 + np.exp(-1.0) / 10.0
    assert solution.q.max() == pytest.approx(peak, rel=1e-6)  # critically damped: x − 1 = t e^(−10 t)


def test_a_start_inside_is_refused_with_the_amount_or_moved():
    ball = pl.hybrid.bouncing_ball(height=-0.003, speed=-1.0)
    with pytest.raises(pl.InputError, match=r"contact 'floor' violated by -0.003.*project=True"):
        pl.hybrid.integrate(ball, until=0.1)
    moved = pl.hybrid.integrate(ball, until=0.1, project=True)
    assert moved.q[0] == pytest.approx([0.0], abs=1e-12)
    assert moved.v[0] == pytest.approx([0.0], abs=1e-12)
    with pytest.raises(pl.InputError, match=r"joint 'rod' violated by 0.21"):
        pl.hybrid.integrate(pendulum(q0=[1.1, 0.0]), until=0.1)
    with pytest.raises(pl.InputError, match=r"joint 'rod' rate violated by 1"):
        pl.hybrid.integrate(pendulum(v0=[0.5, 0.0]), until=0.1)
    swung = pl.hybrid.integrate(pendulum(q0=[1.1, 0.0], v0=[0.5, 1.0]), until=0.1, project=True)
    assert swung.q[0] == pytest.approx([1.0, 0.0], abs=1e-9)
    assert swung.v[0] == pytest.approx([0.0, 1.0], abs=1e-9)


def test_a_singular_mass_is_refused():
    with pytest.raises(pl.SingularError, match="coordinate 1"):
        pl.hybrid.integrate(HybridSystem(q0=[0.0, 0.0], v0=[0.0, 0.0], mass=[1.0, 0.0]), until=1.0)
    with pytest.raises(pl.SingularError, match="not positive definite"):
        pl.hybrid.integrate(HybridSystem(q0=[0.0, 0.0], v0=[0.0, 0.0], mass=np.ones((2, 2))), until=1.0)


def test_a_mass_that_becomes_singular_returns_the_part_before():
    system = HybridSystem(q0=[1.0], v0=[-1.0], mass=lambda q: np.array([[q[0]]]), name="melting")
    with pytest.warns(pl.PliantWarning, match="melting.*singular"):
        solution = pl.hybrid.integrate(system, until=2.0)
    assert solution.status is Outcome.SINGULAR_MASS
    assert not solution.status.ok
    assert 0.9 < solution.final.time <= 1.0
    assert solution.q[-1] == pytest.approx(solution.final.q)


def test_zeno_stops_where_the_bounces_accumulate():
    ball = pl.hybrid.bouncing_ball(restitution=Restitution(0.5, rest_speed=0.0))
    with pytest.warns(pl.PliantWarning, match="Zeno"):
        solution = pl.hybrid.integrate(ball, until=10.0)
    assert solution.status is Outcome.ZENO
    assert solution.final.time == pytest.approx(3.0 * np.sqrt(2.0 / GRAVITY), abs=1e-7)


def test_an_event_storm_stops_at_the_limit():
    ball = pl.hybrid.bouncing_ball(energy_consistent=True, alpha=(100.0, 0.0, 1e6))
    with pytest.warns(pl.PliantWarning, match="limit of events"):
        solution = pl.hybrid.integrate(ball, until=20.0, event_limit=10)
    assert solution.status is Outcome.EVENT_STORM
    assert len(solution.events) == 11
    assert solution.final.time < 6.0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"until": -1.0}, "until"),
        ({"until": np.nan}, "until"),
        ({"sample": 0.0}, "sample"),
        ({"order": 7}, "order"),
        ({"rtol": 0.0}, "rtol"),
        ({"max_step": 0.0}, "max_step"),
        ({"control": 3.0}, "control"),
    ],
)
def test_bad_options_are_named(change, words):
    with pytest.raises(pl.InputError, match=words):
        pl.hybrid.integrate(pl.hybrid.bouncing_ball(), **({"until": 1.0} | change))


def test_bad_descriptions_are_named():
    contact = Contact("floor", lambda q: q[0])
    with pytest.raises(pl.InputError, match=r"twice: \['floor'\]"):
        HybridSystem(q0=[0.0], v0=[0.0], mass=[1.0], constraints=(contact, contact))
    with pytest.raises(pl.InputError, match="stable"):
        Contact("floor", lambda q: q[0], alpha=(1.0, -1.0, 0.0))
    with pytest.raises(pl.InputError, match=r"\[0, 1\]"):
        Restitution(1.5)
    with pytest.raises(pl.InputError, match="slide"):
        Friction(0.5)
    with pytest.raises(pl.InputError, match="shape"):
        HybridSystem(q0=[0.0, 1.0], v0=[0.0, 0.0], mass=[1.0])
    with pytest.raises(pl.InputError, match="unknown"):
        HybridSystem(q0=[0.0], v0=[0.0], mass=[1.0], machines=(Machine("m", {0: ("floor",)}, ()),))
