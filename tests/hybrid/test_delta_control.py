"""Soft touch: profiles by their limits, gains that fade, the bound on the gain, one period by hand."""

import numpy as np
import pytest

import pliant as pl
from pliant.hybrid import delta_robot
from pliant.hybrid.delta_control import Measured, _fading, approach, circle_margin, soft_touch, stiffness_bound
from pliant.hybrid.jerk_profile import JerkProfile, rest_to_rest, rest_to_speed


@pytest.fixture(scope="module")
def robot():
    return delta_robot()


def sampled(profile, end):
    times = np.linspace(0.0, end, 4001)
    return times, np.array([profile.at(t) for t in times])


@pytest.mark.parametrize("distance", [0.3, -0.3, 0.01, 1e-4, 0.0])
@pytest.mark.parametrize("limits", [(0.2, 1.0, 10.0), (0.05, 0.4, 0.9), (10.0, 0.5, 3.0)])
def test_a_motion_from_rest_to_rest_keeps_its_limits_and_is_not_slow(distance, limits):
    """It ends at rest in the right place; one of the limits is reached, or the motion is one of full jerk."""
    velocity, acceleration, jerk = limits
    profile = rest_to_rest(distance, velocity=velocity, acceleration=acceleration, jerk=jerk)
    end = float(profile.ends[-1])
    p, v, a = profile.at(end + 1.0)
    assert (p, v, a) == pytest.approx((distance, 0.0, 0.0), abs=1e-9)
    _, states = sampled(profile, max(end, 1e-3))
    assert np.abs(states[:, 1]).max() <= velocity * (1 + 1e-9)
    assert np.abs(states[:, 2]).max() <= acceleration * (1 + 1e-9)
    assert np.abs(profile.jerks).max() <= jerk
    if distance:
        assert (np.diff(states[:, 0]) * np.sign(distance) >= -1e-12).all()
        fastest, strongest = np.abs(states[:, 1:]).max(axis=0)
        full = fastest > (1 - 1e-3) * velocity, strongest > 0.99 * acceleration
        assert any(full) or end == pytest.approx(4.0 * (abs(distance) / (2.0 * jerk)) ** (1.0 / 3.0))


@pytest.mark.parametrize(("speed", "end"), [(0.4, 0.4 / 1.0 + 0.1), (-0.4, 0.5), (1e-3, 2 * np.sqrt(1e-4)), (0.0, 0.0)])
def test_from_rest_to_a_speed(speed, end):
    """v/a + a/j where the acceleration is reached, 2√(v/j) where it is not; then the speed stays."""
    profile = rest_to_speed(speed, acceleration=1.0, jerk=10.0)
    assert profile.ends[-1] == pytest.approx(end)
    p, v, a = profile.at(end + 2.0)
    assert (v, a) == pytest.approx((speed, 0.0), abs=1e-12)
    assert p == pytest.approx(speed * (0.5 * end + 2.0)), "the mean speed of a symmetric ramp is half"


def test_a_profile_is_the_integral_of_its_jerk():
    profile = JerkProfile.of([0.3, 0.2, 0.5], [2.0, -5.0, 1.0], position=0.1, velocity=-0.2)
    times, states = sampled(profile, 1.3)
    jerk = np.where(times < 0.3, 2.0, np.where(times < 0.5, -5.0, np.where(times < 1.0, 1.0, 0.0)))
    step = times[1] - times[0]
    for k, rate in ((2, jerk), (1, states[:, 2]), (0, states[:, 1])):
        change = np.concatenate([[0.0], np.cumsum(0.5 * (rate[1:] + rate[:-1]) * step)])
        np.testing.assert_allclose(states[:, k], states[0, k] + change, atol=6e-3 if k == 2 else 2e-3)
    assert states[0] == pytest.approx([0.1, -0.2, 0.0])
    assert profile.at(-1.0) == pytest.approx(profile.at(0.0))


def test_one_motion_follows_another():
    first, second = (
        rest_to_speed(0.1, acceleration=1.0, jerk=10.0),
        JerkProfile.of([1.0], [0.6], position=5.0, velocity=0.1),
    )
    both, end = first.then(second), float(first.ends[-1])
    assert both.at(0.5 * end) == pytest.approx(first.at(0.5 * end))
    assert both.at(end) == pytest.approx(first.at(end))
    p = first.at(end)[0]
    assert both.at(end + 0.5) == pytest.approx((p + 0.05 + 0.6 * 0.5**3 / 6.0, 0.1 + 0.6 * 0.125, 0.3))


def test_the_approach_stands_before_the_brick_when_it_should(robot):
    profile = approach(robot, speed=3e-4, standoff=2e-3, until=1.5)
    p, v, a = profile.at(1.5)
    assert (p, v, a) == pytest.approx((robot.details["distance"] - 2e-3, 0.0, 0.0), abs=1e-9)
    assert profile.at(0.75)[0] == pytest.approx(0.5 * p), "half way in half the time"
    assert profile.at(20.0)[1] == pytest.approx(3e-4)
    assert profile.at(0.0) == (0.0, 0.0, 0.0)


def test_a_gain_fades_smoothly_between_its_times():
    gain = _fading(8.0, 2.0, 6.0)
    assert [gain(t) for t in (0.0, 2.0, 4.0, 6.0, 9.0)] == pytest.approx([8.0, 8.0, 4.0, 0.0, 0.0])
    assert gain(3.0) == pytest.approx(8.0 * (1.0 - 0.25**2 * 2.5))


def test_the_bound_is_that_of_the_circle_criterion(robot):
    """k = kd²/m for the mass that the wrist shows; of unit mass Re G ≥ −1/kd², reached at ω → 0."""
    arms, start = robot.details["arms"], np.asarray(robot.details["start"])
    mass = arms.task_mass(arms.inverse(start), start)[0, 0]
    assert stiffness_bound(robot, 50.0) == pytest.approx(2500.0 / mass)
    with pytest.raises(pl.InputError, match="damping"):
        stiffness_bound(robot, 0.0)
    for damping in (3.0, 200.0):
        assert circle_margin(damping, damping**2) == pytest.approx(0.0, abs=1e-6 / damping**2)
        assert circle_margin(damping, 0.5 * damping**2) == pytest.approx(1.0 / damping**2, rel=1e-6)
        assert circle_margin(damping, 2.0 * damping**2) == pytest.approx(-0.5 / damping**2, rel=1e-6)
    omega = np.array([3.0, 7.0])
    expected = min(-1.0 / (w * w + 25.0) for w in omega) + 1.0 / 4.0
    assert circle_margin(5.0, 4.0, frequencies=omega) == pytest.approx(expected)


def test_one_period_of_the_controller_by_hand(robot):
    """τ = Jᵀ(kp (r − y) + kd (ṙ − ẏ) + m r̈) + gravity, with the filtered rate of measured positions."""
    arms, start = robot.details["arms"], np.asarray(robot.details["start"])
    controller = soft_touch(robot, period=2e-3, damping=40.0, stiffness=100.0, filter_time=6e-3)
    bound = stiffness_bound(robot, 40.0)
    profile, t = approach(robot), 0.7
    y = start + np.array([1e-3, -2e-3, 5e-4])
    theta = arms.inverse(y)
    q = np.concatenate([theta, np.zeros(len(robot.q0) - 3)])
    before = Measured(y - (1e-5, 2e-5, 0.0), np.array([0.01, 0.02, 0.03]), np.zeros(3))
    torque, memory = controller.update(t, q, np.zeros_like(q), before)
    np.testing.assert_allclose(memory.y, y, atol=1e-9)
    rate = before.rate + 0.25 * (np.array([5e-3, 1e-2, 0.0]) - before.rate)
    np.testing.assert_allclose(memory.rate, rate, atol=1e-6)
    (r, dr, ddr), ahead = profile.at(t), np.array([1.0, 0.0, 0.0])
    mass = arms.task_mass(arms.inverse(start), start)[0, 0]
    force = np.array([100.0, 0.25 * bound, 0.25 * bound]) * (start + r * ahead - y) + 40.0 * (dr * ahead - rate)
    force[0] += mass * ddr
    np.testing.assert_allclose(memory.force, force, rtol=1e-6, atol=1e-6)
    J = arms.jacobian(theta, y)
    np.testing.assert_allclose(torque, J.T @ force + arms.gravity_torque(theta, y, jacobian=J), rtol=1e-6, atol=1e-7)
    first, memory = controller.update(t, q, np.zeros_like(q), None)
    assert not memory.rate.any(), "nothing is known of the rate at first"
    assert first == pytest.approx(torque + J.T @ (40.0 * rate), rel=1e-6, abs=1e-7)
    for wrong in (-1.0, bound * 1.01):
        with pytest.raises(pl.InputError, match="is outside"):
            soft_touch(robot, damping=40.0, stiffness=lambda t, wrong=wrong: wrong).update(t, q, np.zeros_like(q), None)
