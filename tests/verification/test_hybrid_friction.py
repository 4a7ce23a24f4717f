"""Beyond the paper: Coulomb friction with its events, redundant constraints, impacts, and many bodies."""

import dataclasses
from time import process_time

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.spatial.distance import pdist

import pliant as pl
from benchmarks.hybrid_balls import balls_in_a_box
from pliant.hybrid import Contact, Friction, HybridSystem, Outcome, Restitution, integrate

GRAVITY = 9.81


def block(mu, *, v0=(0.0, 0.0), push=None):
    """A block of 1 kg on a floor, q = (x, height)."""
    floor = Contact("floor", lambda q: q[1], friction=Friction(mu, slide=lambda q: q[:1]))
    return HybridSystem(
        q0=[0.0, 0.0], v0=v0, mass=[1.0, 1.0], bias=lambda q, v: np.array([0.0, GRAVITY]), inputs=np.eye(2),
        constraints=(floor,), name="block",
    )  # fmt: skip


def test_a_sliding_block_stops_where_it_must():
    solution = integrate(block(0.5, v0=(2.0, 0.0)), until=2.0)
    assert solution.events[-1].cause == "the slip comes to rest"
    assert solution.events[-1].time == pytest.approx(2.0 / (0.5 * GRAVITY), abs=1e-10)
    assert solution.final.q[0] == pytest.approx(2.0**2 / (2.0 * 0.5 * GRAVITY), abs=1e-10)
    assert solution.final.q[1] == pytest.approx(0.0, abs=1e-12)


def test_stick_and_slip_under_a_swinging_force():
    """Slips when 8 sin 3t exceeds μmg, and sticks when the velocity, integrated by quadrature, is back at zero."""
    solution = integrate(block(0.5), until=2.0, control=lambda t, q, v: np.array([8.0 * np.sin(3.0 * t), 0.0]))
    limit = 0.5 * GRAVITY
    slip = np.arcsin(limit / 8.0) / 3.0
    speed = lambda t: quad(lambda s: 8.0 * np.sin(3.0 * s) - limit, slip, t)[0]  # noqa: E731
    stick = brentq(speed, slip + 0.3, 1.5)
    again = (np.pi + np.arcsin(limit / 8.0)) / 3.0
    times = [event.time for event in solution.events[1:4]]
    assert times == pytest.approx([slip, stick, again], abs=1e-9)
    causes = [event.cause for event in solution.events[1:4]]
    assert causes == ["friction reaches its limit", "the slip comes to rest", "friction reaches its limit"]
    stuck = (solution.times > stick) & (solution.times < again)
    assert np.ptp(solution.q[stuck, 0]) < 1e-10
    force = 8.0 * np.sin(3.0 * solution.times[stuck])
    assert solution.friction[stuck, 0, 0] == pytest.approx(-force, abs=1e-9)


@pytest.mark.parametrize(("angle", "moves"), [(0.28, False), (0.30, True)])
def test_a_slope_beyond_the_friction_angle_lets_go(angle, moves):
    mu = 0.3  # atan 0.3 = 0.2915
    pull, press = GRAVITY * np.sin(angle), GRAVITY * np.cos(angle)
    slope = dataclasses.replace(block(mu), bias=lambda q, v: np.array([-pull, press]))
    final = integrate(slope, until=1.0).final
    assert final.q[0] == pytest.approx(0.5 * (pull - mu * press) if moves else 0.0, abs=1e-9)


def test_slip_turns_in_the_plane_and_stops():
    """Thrown across a slope that holds it: the path is that of an independent integration of the slip."""
    from scipy.integrate import solve_ivp

    mu, pull = 0.3, 1.0
    plane = Contact("plane", lambda q: q[2], friction=Friction(mu, slide=lambda q: q[:2], directions=2))
    system = HybridSystem(
        q0=[0.0, 0.0, 0.0], v0=[1.0, 0.5, 0.0], mass=[1.0] * 3, bias=lambda q, v: np.array([0.0, -pull, GRAVITY]),
        constraints=(plane,),
    )  # fmt: skip
    solution = integrate(system, until=1.0)
    assert np.abs(solution.final.v).max() < 1e-9

    def rate(t, y):
        w = y[2:]
        return np.concatenate([w, np.array([0.0, pull]) - mu * GRAVITY * w / np.linalg.norm(w)])

    still = lambda t, y: np.linalg.norm(y[2:]) - 1e-5  # noqa: E731
    still.terminal = True
    other = solve_ivp(rate, (0.0, 1.0), [0.0, 0.0, 1.0, 0.5], events=still, rtol=1e-10, atol=1e-12)
    assert solution.events[-1].time == pytest.approx(other.t[-1], abs=1e-4)
    assert solution.final.q[:2] == pytest.approx(other.y[:2, -1], abs=1e-7)


def test_a_rod_that_slides_into_the_paradox_says_so():
    """Painlevé: a rod whose tip slides with much friction has no consistent force."""
    length, mass = 1.0, 1.0
    inertia = mass * length**2 / 12.0

    def tip(q):
        return q[1] - 0.5 * length * np.sin(q[2])

    def slide(q):
        return np.array([q[0] - 0.5 * length * np.cos(q[2])])

    floor = Contact("floor", tip, friction=Friction(2.0, slide=slide))
    angle = 1.0
    rod = HybridSystem(
        q0=[0.0, 0.5 * length * np.sin(angle) + 0.05, angle], v0=[3.0, 0.0, 0.0], mass=[mass, mass, inertia],
        bias=lambda q, v: np.array([0.0, mass * GRAVITY, 0.0]), constraints=(floor,), name="rod",
    )  # fmt: skip
    assert integrate(rod, until=0.2).status is Outcome.FINISHED
    with pytest.warns(pl.PliantWarning, match="Painlevé"):
        stuck = integrate(dataclasses.replace(rod, v0=np.array([-3.0, 0.0, 0.0])), until=0.2)
    assert stuck.status is Outcome.NO_FORCE
    assert stuck.final.time == pytest.approx(np.sqrt(0.1 / GRAVITY), abs=1e-9)
    assert stuck.q[-1] == pytest.approx(stuck.final.q)


def table(**options):
    """A table of 1 kg on four feet, q = (height, two tilts): one foot too many."""
    signs = np.array([[1, 1], [-1, 1], [1, -1], [-1, -1]])
    feet = Contact("feet", lambda q: q[0] + 0.1 * signs[:, 0] * q[1] + 0.1 * signs[:, 1] * q[2], count=4)
    return HybridSystem(
        q0=[0.05, 0.0, 0.0], v0=[0.0] * 3, mass=[1.0, 0.01, 0.01], constraints=(feet,), name="table",
        bias=lambda q, v: np.array([GRAVITY, 0.0, 0.0]), **options,
    )  # fmt: skip


@pytest.mark.parametrize("compliance", [0.0, 1e-6])
def test_redundant_feet_share_the_load_and_are_reported(compliance):
    solution = integrate(table(compliance=compliance), until=4.0)
    assert solution.redundant == (1 if compliance == 0.0 else 0)
    assert solution.final.lam == pytest.approx(GRAVITY / 4.0, rel=1e-5)
    assert solution.final.q == pytest.approx(0.0, abs=1e-8 + compliance)


def test_a_doubled_joint_moves_like_a_single_one():
    rod = pl.hybrid.Joint("rod", lambda q: q @ q - 1.0, alpha=(100.0, 20.0))
    twin = dataclasses.replace(rod, name="twin")
    one = HybridSystem(
        q0=[1.0, 0.0], v0=[0.0, 0.0], mass=[1.0, 1.0], bias=lambda q, v: np.array([0.0, GRAVITY]), constraints=(rod,)
    )
    a, b = (integrate(dataclasses.replace(one, constraints=c), until=1.0) for c in ((rod,), (rod, twin)))
    assert b.redundant == 1
    assert b.final.q == pytest.approx(a.final.q, abs=1e-8)
    assert b.final.lam.sum() == pytest.approx(a.final.lam[0], abs=1e-5)
    assert b.final.lam[0] == pytest.approx(b.final.lam[1])


@pytest.mark.parametrize("law", ["newton", "poisson"])
def test_impacts_keep_momentum_and_lose_the_known_energy(law):
    e = 0.6
    touch = Contact("touch", lambda q: q[1] - q[0] - 1.0, restitution=Restitution(e, law=law, rest_speed=0.0))
    pair = HybridSystem(q0=[0.0, 2.0], v0=[3.0, -1.0], mass=[1.0, 2.0], constraints=(touch,))
    final = integrate(pair, until=1.0).final
    assert final.v @ [1.0, 2.0] == pytest.approx(3.0 - 2.0, rel=1e-12)
    assert final.v[1] - final.v[0] == pytest.approx(e * 4.0, rel=1e-12)


def test_an_impact_passes_on_through_bodies_that_touch():
    """Three equal balls, two of them touching: the simultaneous solution of both laws, (−1, 2, 2)/3."""
    for law in ("newton", "poisson"):
        bounce = Restitution(1.0, law=law)
        gaps = (Contact("ab", lambda q: q[1] - q[0] - 1.0, restitution=bounce),
                Contact("bc", lambda q: q[2] - q[1] - 1.0, restitution=bounce))  # fmt: skip
        cradle = HybridSystem(q0=[-1.0, 1.0, 2.0], v0=[1.0, 0.0, 0.0], mass=[1.0] * 3, constraints=gaps)
        assert integrate(cradle, until=2.0).final.v == pytest.approx(np.array([-1.0, 2.0, 2.0]) / 3.0, abs=1e-9)


def test_a_frictional_impact_takes_spin():
    """A ball of 2D that lands spinning: the tangential impulse is μ times the normal one while it still slips."""
    mu, e, r = 0.2, 0.5, 0.1
    inertia = 0.4 * r * r
    floor = Contact(
        "floor", lambda q: q[1] - r, restitution=Restitution(e),
        friction=Friction(mu, rows=lambda q, v: (np.array([[1.0, 0.0, r]]), np.zeros(1))),
    )  # fmt: skip
    ball = HybridSystem(
        q0=[0.0, 1.0 + r, 0.0], v0=[0.0, 0.0, 50.0], mass=[1.0, 1.0, inertia],
        bias=lambda q, v: np.array([0.0, GRAVITY, 0.0]), constraints=(floor,),
    )  # fmt: skip
    solution = integrate(ball, until=0.5)
    fall = np.sqrt(2.0 * GRAVITY)
    impulse = (1.0 + e) * fall
    assert solution.final.v[0] == pytest.approx(-mu * impulse, rel=1e-8)
    assert solution.final.v[2] == pytest.approx(50.0 - mu * impulse * r / inertia, rel=1e-8)


def test_a_hundred_balls_neither_overlap_nor_gain_energy():
    box = balls_in_a_box(100, restitution=Restitution(1.0))
    solution = integrate(box, until=0.12, sample=None, rtol=1e-8)
    assert len(solution.events) > 100

    def energy(q, v):
        return 0.05 * (0.5 * v @ v + GRAVITY * q.reshape(-1, 3)[:, 2].sum())

    assert energy(solution.final.q, solution.final.v) == pytest.approx(energy(box.q0, box.v0), rel=1e-9)
    for record in solution.records[::10]:
        centers = record.y1[:300].reshape(-1, 3)
        assert pdist(centers).min() > 0.04 - 1e-9
        assert centers.min() > 0.02 - 1e-9
        assert (box.details["size"] - centers).min() > 0.02 - 1e-9


def test_an_event_costs_at_most_in_proportion_to_the_bodies():
    def cost(count, until):
        box = balls_in_a_box(count)
        best = np.inf
        for _ in range(3):
            begin = process_time()
            solution = integrate(box, until=until, sample=None, rtol=1e-7)
            best = min(best, (process_time() - begin) / len(solution.events))
        return best

    assert cost(160, 0.06) / cost(20, 0.15) < 8.0


def test_a_crowded_box_is_refused():
    with pytest.raises(pl.InputError, match="no room"):
        balls_in_a_box(100, size=(0.1, 0.1, 0.1))
