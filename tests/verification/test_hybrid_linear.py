"""Linear models and variations against central differences of the flow, and a limit cycle against its closed form."""

import dataclasses

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.optimize import brentq

import pliant as pl
from pliant.hybrid import Contact, Continuous, Friction, HybridSystem, Joint, Mode, Restitution, Sampled
from pliant.hybrid.equations import Equations
from pliant.hybrid.initial_state import initial_discrete
from pliant.hybrid.maze import ring_top
from pliant.hybrid.mode_dynamics import ModeDynamics

GRAVITY = 9.81
TIGHT = {"rtol": 1e-12, "atol": 1e-13, "sample": None}


def differences(system, q, v, *, time, step=1e-5, **options):
    """The derivative (2n, 2n) of the state at `time` with respect to the initial one, by central differences."""
    n, columns = len(q), []
    for k in range(2 * n):
        ends = []
        for sign in (1.0, -1.0):
            x = np.concatenate([q, v])
            x[k] += sign * step
            start = dataclasses.replace(system, q0=x[:n], v0=x[n:])
            final = pl.hybrid.integrate(start, until=time, **TIGHT, **options).final
            ends.append(np.concatenate([final.q, final.v, final.x]))
        columns.append((ends[0] - ends[1]) / (2.0 * step))
    return np.array(columns).T


def test_the_model_of_a_pendulum_with_a_joint():
    """Off an equilibrium too, the linear model is the derivative of the vector field and of λ."""
    rod = Joint("rod", lambda q: np.sqrt(q @ q) - 1.0, alpha=(30.0, 7.0))
    system = HybridSystem(
        q0=[0.6, -0.8], v0=[0.8, 0.6], mass=lambda q: np.diag([2.0 + q[0] ** 2, 1.5]),
        bias=lambda q, v: np.array([q[0] * v[0] ** 2, GRAVITY + 0.3 * v[1]]), inputs=np.eye(2), constraints=(rod,),
    )  # fmt: skip
    u = np.array([0.3, -0.2])
    model = pl.hybrid.linearize(system, (system.q0, system.v0, u), forces=True)
    dynamics = ModeDynamics(Equations(system), initial_discrete(Equations(system), system.q0))

    def field(x):
        a = dynamics.acceleration(x[:2], x[2:], u)
        return np.concatenate([x[2:], a, dynamics.lam])

    x = np.concatenate([system.q0, system.v0])
    wanted = np.array([(field(x + e) - field(x - e)) / 2e-5 for e in 1e-5 * np.eye(4)]).T
    np.testing.assert_allclose(model.A, wanted[:4], atol=1e-6)
    np.testing.assert_allclose(model.C[-1], wanted[4], atol=1e-6)


@pytest.mark.parametrize("ring", [1, 4])
def test_the_model_of_a_ring_is_the_flow_of_the_maze(ring):
    maze = pl.hybrid.ball_maze()
    q, v = ring_top(maze, ring)
    held = tuple(dataclasses.replace(c, relative=False) for c in maze.constraints if c.name.endswith(str(ring)))
    system = dataclasses.replace(maze, constraints=held, machines=(), q0=q, v0=v)
    flow = _flow(system, q, v)
    wanted = expm(0.3 * pl.hybrid.linearize(system, (q, v)).A)
    np.testing.assert_allclose(flow, wanted, atol=1e-6 * np.abs(wanted).max())


def _flow(system, q, v, *, time=0.3, step=1e-6):
    """As `differences`, from states off the constraints, which only the stabilised equations admit."""
    discrete = initial_discrete(Equations(system), q)
    base = pl.hybrid.integrate(dataclasses.replace(system, q0=q, v0=v), until=0.0).final
    n, columns = len(q), []
    for k in range(2 * n):
        ends = []
        for sign in (1.0, -1.0):
            x = np.concatenate([q, v])
            x[k] += sign * step
            start = dataclasses.replace(base, q=x[:n], v=x[n:], discrete=discrete)
            final = pl.hybrid.integrate(system, until=time, start=start, **TIGHT).final
            ends.append(np.concatenate([final.q, final.v]))
        columns.append((ends[0] - ends[1]) / (2.0 * step))
    return np.array(columns).T


@pytest.mark.parametrize("until", [0.3, 0.47, 0.55, 1.3])
def test_the_variation_of_a_bouncing_ball_through_its_events(until):
    ball = pl.hybrid.bouncing_ball(alpha=(100.0, 5.0, 1e5))
    solution = pl.hybrid.integrate(ball, until=until, **TIGHT)
    phi = pl.hybrid.variation(solution)
    wanted = differences(ball, ball.q0, ball.v0, time=until, step=1e-6)
    np.testing.assert_allclose(phi, wanted, rtol=1e-5, atol=1e-6 * max(1.0, np.abs(wanted).max()))


def push(t, q, v):
    return np.array([2.0 * np.sin(9.0 * t) - 3.0 * q[0] ** 2 - 0.5 * v[0]])


def lag(t, x, q, v):
    return np.array([q[0] - 4.0 * x[0] * np.cos(t)])


CONTROLLERS = {
    "function of time and state": push,
    "continuous": Continuous(1, lag, lambda t, x, q, v: np.array([5.0 * x[0] - v[0]]), initial=[0.1]),
    "sampled": Sampled(0.03, lambda t, q, v, m: ([4.0 * np.sin(q[0]) - m[0] * v[0]], 0.5 * m + q), np.array([0.3])),
    "sampled, without memory": Sampled(0.07, lambda t, q, v, m: ([3.0 * (0.5 - q[0]) - v[0]], None)),
}


@pytest.mark.parametrize("until", [0.4, 0.6, 1.1])
@pytest.mark.parametrize("name", [*CONTROLLERS, "all"])
def test_the_variation_of_a_controlled_ball_through_its_events(name, until):
    control = tuple(CONTROLLERS.values()) if name == "all" else CONTROLLERS[name]
    ball = pl.hybrid.bouncing_ball(alpha=(100.0, 5.0, 1e5))
    solution = pl.hybrid.integrate(ball, until=until, control=control, **TIGHT)
    assert solution.events or until < 1.0
    phi = pl.hybrid.variation(solution)
    wanted = differences(ball, ball.q0, ball.v0, time=until, step=1e-6, control=control)
    assert phi.shape == (len(phi), len(phi))
    np.testing.assert_allclose(phi[:, :2], wanted, rtol=1e-5, atol=1e-5 * max(1.0, np.abs(wanted).max()))


def test_controllers_that_remember_objects_have_no_variation():
    control = Sampled(0.05, lambda t, q, v, m: ([0.0], {"y": q[0]}), memory={"y": 1.0})
    solution = pl.hybrid.integrate(pl.hybrid.bouncing_ball(), until=0.1, control=control)
    with pytest.raises(pl.InputError, match="a number, an array or None, got dict"):
        pl.hybrid.variation(solution)


def test_the_variation_through_an_impact_on_a_slope():
    contact = Contact("slope", lambda q: q[1] + 0.3 * np.sin(q[0]), restitution=Restitution(0.7))
    system = HybridSystem(
        q0=[0.1, 1.0], v0=[0.5, 0.0], mass=[1.0, 2.0], bias=lambda q, v: np.array([0.0, 2.0 * GRAVITY]),
        constraints=(contact,),
    )  # fmt: skip
    solution = pl.hybrid.integrate(system, until=0.7, **TIGHT)
    assert len(solution.events) == 1
    wanted = differences(system, system.q0, system.v0, time=0.7)
    np.testing.assert_allclose(pl.hybrid.variation(solution), wanted, atol=1e-6 * np.abs(wanted).max())


def test_a_limit_cycle_and_its_multiplier_agree_with_the_closed_form():
    """A ball of 1 kg with negative damping c and restitution e: v' = −g + c v in flight, then v⁺ = −e v⁻."""
    c, e = 0.4, 0.8

    def landing(v0):
        fall = lambda t: (v0 - GRAVITY / c) * np.expm1(c * t) / c + GRAVITY * t / c  # noqa: E731
        t = brentq(fall, 1e-3, 4.0 * v0 / GRAVITY)
        return (v0 - GRAVITY / c) * np.exp(c * t) + GRAVITY / c, t

    speed = brentq(lambda v0: -e * landing(v0)[0] - v0, 0.5, 15.0)
    slope = (-e * landing(speed + 1e-5)[0] + e * landing(speed - 1e-5)[0]) / 2e-5
    floor = Contact("floor", lambda q: q[0], restitution=Restitution(e, rest_speed=0.0))
    ball = HybridSystem(q0=[1.0], v0=[0.0], mass=[1.0], bias=lambda q, v: GRAVITY - c * v, constraints=(floor,))
    first = pl.hybrid.integrate(ball, until=0.6, sample=None)
    bounce = pl.hybrid.integrate(ball, until=float(first.events[0].time), sample=None).final
    guess = dataclasses.replace(bounce, q=np.zeros(1), v=np.array([0.9 * speed]))
    cycle = pl.hybrid.limit_cycle(ball, guess, event=lambda event: "impulse" in event.cause, until=5.0)
    assert cycle.start.v[0] == pytest.approx(speed, rel=1e-8)
    assert cycle.period == pytest.approx(landing(speed)[1], rel=1e-8)
    assert np.abs(cycle.multipliers).max() == pytest.approx(abs(slope), rel=1e-5)
    assert cycle.stable == (abs(slope) < 1.0)


def test_an_equilibrium_under_contact():
    """A bead pressed by its weight onto a tilted plane with a spring along it: closed form of place and force."""
    slope, k = 0.3, 50.0
    plane = Contact("plane", lambda q: q[1] * np.cos(slope) + q[0] * np.sin(slope))
    bead = HybridSystem(
        q0=[0.0, 0.0], v0=[0.0, 0.0], mass=[1.0, 1.0], bias=lambda q, v: np.array([k * q[0], k * q[1] + GRAVITY]),
        constraints=(plane,),
    )  # fmt: skip
    q, _, lam = pl.hybrid.equilibrium(bead, ([0.02, 0.01], [0.0, 0.0]), active="all")
    along = GRAVITY * np.sin(slope) / k
    assert q == pytest.approx([along * np.cos(slope), -along * np.sin(slope)], abs=1e-12)
    assert lam == pytest.approx([GRAVITY * np.cos(slope)], rel=1e-12)


def test_friction_enters_the_linear_model():
    floor = Contact("floor", lambda q: q[1], friction=Friction(0.5, slide=lambda q: q[:1]))
    block = HybridSystem(
        q0=[0.0, 0.0], v0=[0.0, 0.0], mass=[1.0, 1.0], bias=lambda q, v: np.array([0.0, GRAVITY]), inputs=np.eye(2),
        constraints=(floor,),
    )  # fmt: skip
    final = pl.hybrid.integrate(block, until=0.1, control=lambda t, q, v: np.array([1.0, 0.0])).final
    assert final.modes[0] == Mode.CONTACT
    stuck = pl.hybrid.linearize(block, final)
    assert np.abs(stuck.B[2:, 0]).max() < 1e-12  # what pushes it is held
    push = pl.hybrid.integrate(block, until=0.1, control=lambda t, q, v: np.array([20.0, 0.0])).final
    slipping = pl.hybrid.linearize(block, push)
    assert slipping.B[2] == pytest.approx([1.0, 0.5], abs=1e-12)  # lifting lowers the friction
