"""What forces cost before anything is measured, and the best ones within bounds; gaps of readings."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from pliant.estimation import Filter, PointForce
from pliant.estimation.problem import Guess, Problem
from pliant.identification import ActuatorForce

TIP = (0.1, 0.01, 0.01)


def test_a_force_of_n_deviations_costs_n_squared():
    known = SimpleNamespace(deviations=np.array([0.5, 2.0, 10.0]), push=None)
    for x, cost in (([0.5, 0.0, 0.0], 1.0), ([0.0, -6.0, 0.0], 9.0), ([1.0, 2.0, 20.0], 4.0 + 1.0 + 4.0)):
        assert Problem.prior(known, Guess(np.array(x), None)) == pytest.approx(cost)
    size = SimpleNamespace(size=None, force=np.array([0.0, 3.0, 4.0]))
    pushed = SimpleNamespace(deviations=np.zeros(0), push=(SimpleNamespace(deviation=2.0), None))
    assert Problem.prior(pushed, Guess(np.zeros(0), size)) == pytest.approx(2.5**2)
    size.size = -1.0
    assert Problem.prior(pushed, Guess(np.zeros(0), size)) == pytest.approx(0.25)


@pytest.mark.parametrize("seed", range(10))
def test_the_best_forces_are_those_of_bounded_least_squares(seed):
    """Deviations and bounds of very different sizes, by another solver over readings and priors."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(1, 5))
    deviation = 10.0 ** rng.uniform(-2.0, 2.0, k)
    P, r = rng.normal(size=(6, k)) / deviation, 3.0 * rng.normal(size=6)
    lower = np.where(rng.random(k) < 0.3, -np.inf, -rng.random(k) * deviation)
    upper = np.where(rng.random(k) < 0.3, np.inf, rng.random(k) * deviation)
    found = Problem.fitted(SimpleNamespace(deviations=deviation, bounds=(lower, upper)), P, r)
    rows, right = np.vstack([P, np.diag(1.0 / deviation)]) * deviation, np.concatenate([r, np.zeros(k)])
    best = lsq_linear(rows, right, (lower / deviation, upper / deviation), method="bvls", tol=1e-14).x
    np.testing.assert_allclose(found / deviation, best, atol=1e-7)
    assert (found >= lower - 1e-9 * deviation).all()
    assert (found <= upper + 1e-9 * deviation).all()


def test_a_gap_is_no_reading(bar):
    """A filter with a sensor that reads nothing is one without that sensor."""
    tension, markers = ActuatorForce(bar.cable, noise=0.01), bar.markers(noise=2e-4)
    force = PointForce(bar.body, TIP, deviation=0.1)
    options = {"dt": 0.01, "drift": 0.0}
    both, alone = (Filter(bar.world, sensors, [force], **options) for sensors in ([tension, markers], [tension]))
    first, second = both.begin(bar.rest), alone.begin(bar.rest)
    places = np.full((3, 3), np.nan)
    for read in (0.5, 0.45):
        first = both(first, bar.held, {tension: read, markers: places})
        second = alone(second, bar.held, {tension: read})
        assert first.readings == second.readings == 1
        np.testing.assert_allclose(first.forces, second.forces, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(first.covariance, second.covariance, rtol=1e-9, atol=1e-15)
        assert first.surprise == pytest.approx(second.surprise)
        assert np.isnan(first.innovation[markers]).all()
