"""The delta robot of Bortoff 2020: kinematics, dynamics, and the soft touch of a brick."""

import dataclasses

import numpy as np
import pytest

import pliant as pl
from pliant.hybrid import DeltaArms, Mode, circle_margin, integrate, rest_to_rest, soft_touch
from pliant.hybrid.bodies import derivatives

FINGER, SURFACE = 3, 4
ARMS = DeltaArms()
SOON = {"move_until": 0.5, "standoff": 1e-4, "fade": (0.5, 0.8)}
"""The way of the paper, shortened: contact after one second."""


def places(count=20, seed=1):
    return np.random.default_rng(seed).uniform((-0.1, -0.1, -0.46), (0.1, 0.1, -0.34), (count, 3))


def test_kinematics_go_round():
    for p in places():
        theta = ARMS.inverse(p)
        assert ARMS.forward(theta) == pytest.approx(p, abs=1e-12)
        assert ARMS.inverse(ARMS.forward(theta)) == pytest.approx(theta, abs=1e-12)
    with pytest.raises(pl.ConvergenceError, match="cannot reach"):
        ARMS.inverse((0.0, 0.0, -0.9))


def test_the_jacobian_is_the_derivative_of_the_forward_kinematics():
    theta = ARMS.inverse((0.03, -0.05, -0.4))
    p = ARMS.forward(theta)
    for k in range(3):
        step = 1e-6 * np.eye(3)[k]
        slope = (ARMS.forward(theta + step, guess=p) - ARMS.forward(theta - step, guess=p)) / 2e-6
        assert ARMS.jacobian(theta, p)[:, k] == pytest.approx(slope, abs=1e-8)


def test_the_equations_are_those_of_the_energy():
    """Mass matrix, bias and closure against Lagrange's equations of the rods, differentiated by jets."""
    robot = pl.hybrid.delta_robot()
    rng = np.random.default_rng(0)
    q = robot.q0 + rng.uniform(-0.05, 0.05, 9)
    v = rng.uniform(-1.0, 1.0, 9)

    def points(x):
        """Elbows and rod ends, 18 numbers, as functions of (θ, p)."""
        out = []
        for k, A in enumerate(ARMS.azimuths):
            reach = ARMS.base_radius + ARMS.proximal * np.cos(x[k])
            elbow = [A[0] * reach, A[1] * reach, -ARMS.proximal * np.sin(x[k])]
            out += elbow + [x[3 + i] + ARMS.wrist_radius * A[i] for i in range(3)]
        return np.array(out, object)

    _, J, D = derivatives(points, q[:6])
    weights = np.zeros((18, 18))
    for k in range(3):
        e, w = np.arange(6 * k, 6 * k + 3), np.arange(6 * k + 3, 6 * k + 6)
        weights[e, e] = weights[w, w] = ARMS.rod_mass / 3.0
        weights[e, w] = weights[w, e] = ARMS.rod_mass / 6.0
    mass = J.T @ weights @ J
    mass[:3, :3] += ARMS.arm_inertia * np.eye(3)
    mass[3:, 3:] += ARMS.wrist_mass * np.eye(3)
    assert robot.mass(q)[:6, :6] == pytest.approx(mass, abs=1e-14)
    turning = J.T @ weights @ ((D @ v[:6]) @ v[:6])
    weight = ARMS.gravity * (
        0.5 * ARMS.rod_mass * J[2::3].sum(axis=0) + 0.5 * ARMS.arm_mass * J[2::6].sum(axis=0)
        + ARMS.wrist_mass * np.eye(6)[5]
    )  # fmt: skip
    assert robot.bias(q, v)[:6] == pytest.approx(turning + weight, abs=1e-12)
    closure = robot.constraints[0]
    h, H, c = closure.rows(q, v)
    value, slope, curve = derivatives(lambda x: np.array([
        np.sqrt(sum((points(x)[6 * k + 3 + i] - points(x)[6 * k + i]) ** 2 for i in range(3))) - ARMS.distal
        for k in range(3)
    ]), q[:6])  # fmt: skip
    assert h == pytest.approx(value, abs=1e-14)
    assert H[:, :6] == pytest.approx(slope, abs=1e-13)
    assert c == pytest.approx((curve @ v[:6]) @ v[:6], abs=1e-12)
    assert closure.value(q) == pytest.approx(value, abs=1e-14)


def test_gravity_torques_hold_the_robot_still():
    robot = pl.hybrid.delta_robot(start=(0.02, -0.03, -0.41))
    p = robot.details["start"]
    torque = ARMS.gravity_torque(ARMS.inverse(p), p)
    still = integrate(robot, until=0.2, control=lambda t, q, v: torque)
    assert still.final.q == pytest.approx(robot.q0, abs=1e-10)
    q, u, _ = pl.hybrid.equilibrium(robot, (robot.q0, robot.v0, torque), active=("arms", "surface"))
    assert q == pytest.approx(robot.q0, abs=1e-9)
    assert u == pytest.approx(torque)


def test_energy_and_closure_are_kept_in_free_motion():
    robot = dataclasses.replace(pl.hybrid.delta_robot(distance=1.0))
    solution = integrate(robot, until=0.12)
    energies = []
    for q, v in zip(solution.q, solution.v, strict=True):
        potential = ARMS.gravity * (
            (ARMS.wrist_mass + 1.5 * ARMS.rod_mass) * q[5]
            - 0.5 * (ARMS.arm_mass + ARMS.rod_mass) * ARMS.proximal * np.sin(q[:3]).sum()
        )
        energies.append(0.5 * v @ robot.mass(q) @ v + potential)
    assert np.abs(solution.v[:, 5]).max() > 0.3
    assert np.ptp(energies) < 1e-7
    assert max(np.abs(ARMS.closure(q[:3], q[3:6])).max() for q in solution.q) < 1e-9


def test_references_keep_their_limits():
    limits = {"velocity": 0.05, "acceleration": 0.2, "jerk": 2.0}
    for distance in (0.2, 0.02, 0.004, 1e-4, -0.05):
        profile = rest_to_rest(distance, **limits)
        times = np.linspace(0.0, profile.ends[-1], 400)
        p, v, a = np.array([profile.at(t) for t in times]).T
        assert profile.at(profile.ends[-1] + 1.0) == pytest.approx((distance, 0.0, 0.0), abs=1e-12)
        assert np.abs(v).max() <= 0.05 * (1.0 + 1e-9)
        assert np.abs(a).max() <= 0.2 * (1.0 + 1e-9)
        assert np.abs(profile.jerks).max() <= 2.0
        assert np.gradient(p, times)[5:-5] == pytest.approx(v[5:-5], abs=1e-3)


def check_soft(solution, robot):
    touches = [event for event in solution.events if event.name == "finger"]
    assert [event.target for event in touches] == [Mode.CONTACT]  # touched once, never left again: no bounce
    force = solution.lam[:, FINGER]
    after = solution.times >= touches[0].time
    assert 0.04 < force.max() <= 0.090
    assert force[after].min() > 0.0
    assert force[-1] == pytest.approx(0.040, rel=0.1)
    assert np.abs(solution.q[:, 6:]).max() < 1e-9  # the brick has not moved
    assert max(np.abs(ARMS.closure(q[:3], q[3:6])).max() for q in solution.q[::20]) < 1e-9
    assert robot.details["friction"] * solution.lam[after, SURFACE].min() > force.max()


def test_a_soft_touch_neither_bounces_nor_slides():
    robot = pl.hybrid.delta_robot()
    solution = integrate(robot, until=1.4, control=soft_touch(robot, **SOON), order=5, rtol=1e-8)
    check_soft(solution, robot)


@pytest.mark.slow
def test_the_papers_approach():
    robot = pl.hybrid.delta_robot()
    solution = integrate(robot, until=15.0, control=soft_touch(robot), order=5, rtol=1e-8)
    check_soft(solution, robot)
    assert solution.events[-1].time == pytest.approx(12.0, abs=0.1)


def test_a_fixed_high_gain_pushes_the_brick_away():
    robot = pl.hybrid.delta_robot()
    stiff = soft_touch(robot, stiffness=0.99 * 200.0**2 / 0.688, **SOON)
    solution = integrate(robot, until=1.4, control=stiff, order=5, rtol=1e-8)
    assert any(event.cause == "friction reaches its limit" for event in solution.events)
    assert solution.final.q[6] > 1e-6


def test_the_bound_on_the_position_gain_is_that_of_the_circle_criterion():
    for damping in (20.0, 200.0):
        assert circle_margin(damping, damping**2) == pytest.approx(0.0, abs=1e-7 / damping**2)
        assert circle_margin(damping, 1.01 * damping**2) < 0.0
    robot = pl.hybrid.delta_robot()
    with pytest.raises(pl.InputError, match="position gain"):
        integrate(robot, until=0.01, control=soft_touch(robot, stiffness=1e5))


def test_the_robot_can_be_linearised_in_contact():
    """Six of eighteen poles belong to the arms' closure, two to the touch: all at the roots of their constraints."""
    robot = pl.hybrid.delta_robot(distance=0.0)
    torque = ARMS.gravity_torque(robot.q0[:3], robot.q0[3:6])
    poles = pl.hybrid.linearize(robot, (robot.q0, robot.v0, torque), active=("arms", "finger", "surface")).poles()
    for root, count in ((-20.0, 6), (-300.0, 2), (-30.0, 2)):
        assert (np.abs(poles - root) < 0.05 * abs(root)).sum() == count
