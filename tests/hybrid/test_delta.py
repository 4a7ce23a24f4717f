"""Kinematics of the delta robot by closure and differences; options of runs at their bounds."""

import numpy as np
import pytest

import pliant as pl
from pliant.hybrid import delta_robot


@pytest.fixture(scope="module")
def arms():
    return delta_robot().details["arms"]


def angles(seed, count=6):
    return 0.5 * np.random.default_rng(seed).uniform(-1.0, 1.0, (count, 3)) + 0.4


def test_forward_and_inverse_are_inverse_and_close_the_arms(arms):
    for theta in angles(0):
        p = arms.forward(theta)
        np.testing.assert_allclose(arms.closure(theta, p), 0.0, atol=1e-12)
        assert p[2] < arms.elbows(theta)[0][:, 2].min(), "the lower one of two"
        np.testing.assert_allclose(arms.inverse(p), theta, atol=1e-9)
        np.testing.assert_allclose(arms.forward(theta, guess=p + 1e-3), p, atol=1e-9)
        np.testing.assert_allclose(arms.inverse(p, guess=theta + 0.1), theta, atol=1e-9)
        rods = p + arms.wrist_radius * arms.azimuths - arms.elbows(theta)[0]
        np.testing.assert_allclose(np.linalg.norm(rods, axis=1), arms.distal, rtol=1e-12)


def test_equal_angles_put_the_wrist_on_the_axis(arms):
    """By Pythagoras: the elbow is at R + l cos θ from the axis and l sin θ below."""
    for theta in (0.0, 0.3, 0.7):
        p = arms.forward(np.full(3, theta))
        out = arms.base_radius - arms.wrist_radius + arms.proximal * np.cos(theta)
        elbow = arms.elbows(np.full(3, theta))[0][0, 2]
        np.testing.assert_allclose(p[:2], 0.0, atol=1e-12)
        assert p[2] == pytest.approx(elbow - np.sqrt(arms.distal**2 - out**2))


def test_positions_out_of_reach_are_told(arms):
    """Too far below, too close to the base, and beside it; angles at which no wrist closes the arms."""
    for p in ((0.0, 0.0, -10.0), (0.0, 0.0, -arms.distal - arms.proximal - 0.5), (5.0, 0.0, -0.2)):
        with pytest.raises(pl.ConvergenceError, match="the wrist cannot reach"):
            arms.inverse(p)
    for bad in ((0.0, 0.0), (0.0, 0.0, np.nan)):
        with pytest.raises(pl.InputError, match="p must"):
            arms.inverse(bad)
        with pytest.raises(pl.InputError, match="theta must"):
            arms.forward(bad)


def test_derivatives_are_those_of_the_closure(arms):
    step = 1e-6
    for theta in angles(1):
        p = arms.forward(theta)
        J = np.stack(
            [(arms.forward(theta + e) - arms.forward(theta - e)) / (2 * step) for e in step * np.eye(3)], axis=1
        )
        np.testing.assert_allclose(arms.jacobian(theta, p), J, atol=1e-7)


def test_torques_at_rest_are_the_slope_of_the_weight(arms):
    """Arms with half of their rods at their middle and elbow, the wrist with the other half and its own mass."""

    def potential(theta):
        p = arms.forward(theta)
        wrist = (arms.wrist_mass + 1.5 * arms.rod_mass) * p[2]
        middles = 0.5 * arms.elbows(theta)[0][:, 2]
        return arms.gravity * (wrist + (arms.arm_mass + arms.rod_mass) * middles.sum())

    step = 1e-6
    for theta in angles(2):
        slope = [(potential(theta + e) - potential(theta - e)) / (2 * step) for e in step * np.eye(3)]
        torque = arms.gravity_torque(theta, arms.forward(theta))
        np.testing.assert_allclose(torque, slope, rtol=1e-6, atol=1e-8)
        np.testing.assert_array_equal(
            arms.gravity_torque(theta, arms.forward(theta), jacobian=np.zeros((3, 3))),
            -(arms.arm_mass + arms.rod_mass) * 0.5 * arms.gravity * arms.proximal * np.cos(theta),
        )


def test_models_keep_states_that_nothing_reads():
    """Two free masses, of which one is measured and none is driven: four states, as the system has."""
    free = pl.hybrid.HybridSystem(q0=[0.0, 0.0], v0=[0.0, 0.0], mass=[1.0, 2.0], outputs=lambda q, v: q[:1])
    model = pl.hybrid.linearize(free, ([0.0, 0.0], [0.0, 0.0]))
    assert (model.nstates, model.ninputs, model.noutputs) == (4, 1, 1)
    np.testing.assert_array_equal(model.A, np.eye(4, k=2))


@pytest.mark.parametrize("sample", [0.0, -1e-3, np.nan, np.inf, "1 ms", True])
def test_a_grid_of_samples_has_a_positive_step(sample):
    with pytest.raises(pl.InputError, match=r"sample (of integrate\(\) )?must be (> 0|finite|a number)"):
        pl.hybrid.integrate(pl.hybrid.bouncing_ball(), until=0.1, sample=sample)


def test_options_of_a_run_at_their_bounds():
    ball = pl.hybrid.bouncing_ball()
    for given, said in (
        ({"until": 1.01e9, "sample": None}, "until must be at most"),
        ({"until": 1.0, "sample": 1e-12}, "give a larger sample"),
        ({"until": 1.0, "atol": -1.0}, "atol"), ({"until": 1.0, "event_limit": 0}, "event_limit"),
        ({"until": 1.0, "step_limit": 0}, "step_limit"), ({"until": 1.0, "max_step": -1.0}, "max_step must be > 0"),
        ({"until": 1.0, "order": 4}, "order must be 5 or 8, got 4"),
    ):  # fmt: skip
        with pytest.raises(pl.InputError, match=said):
            pl.hybrid.integrate(ball, **given)
    first = pl.hybrid.integrate(ball, until=0.3)
    with pytest.raises(pl.InputError, match=r"must not lie before the start \(0.3 s\), got 0.2 s"):
        pl.hybrid.integrate(ball, until=0.2, start=first.final)
    assert pl.hybrid.integrate(ball, until=0.3, start=first.final).final.time == 0.3
    with pytest.warns(pl.PliantWarning):
        assert pl.hybrid.integrate(ball, until=5.0, step_limit=3).status is pl.hybrid.Outcome.STEP_LIMIT
    fine = pl.hybrid.integrate(ball, until=0.1, sample=None, max_step=0.011)
    assert np.diff(fine.step_times).max() <= 0.011 * (1 + 1e-12)
    assert pl.hybrid.integrate(ball, until=0.1, sample=0.03).times[-1] == 0.1
