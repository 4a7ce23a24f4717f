"""The search itself, on problems without a world: outliers, priors, bounds, and the sign of what is left."""

from types import SimpleNamespace

import numpy as np
import pytest

from pliant.core.errors import ConvergenceError, SingularError
from pliant.identification.problem import Problem
from pliant.identification.robust import CAUCHY, HUBER
from pliant.identification.solve import solve


def line(data, prior, *, lower=-np.inf, upper=np.inf, start=0.0):
    """Residuals z − data of a number z, then those of a prior (mean, deviation)."""
    mean, deviation = prior
    bounds = {"lower": np.array([lower]), "upper": np.array([upper])}
    jacobian = np.concatenate([np.ones(len(data)), [1.0 / deviation]])[:, None]
    return SimpleNamespace(
        vector=SimpleNamespace(gathered=lambda side: bounds[side], values=lambda z: z), start=np.array([start]),
        residual=lambda z: np.concatenate([z - np.asarray(data), (z - mean) / deviation]),
        jacobian=lambda z: jacobian, data_count=len(data), check_effects=lambda made: None,
    )  # fmt: skip


def found(problem, loss="squares"):
    return solve(problem, loss=loss, tolerance=1e-14, max_iterations=500).z[0]


def test_an_outlier_is_forgiven_and_a_prior_is_not():
    """One reading far away: it pulls by the constant HUBER, the prior by its distance; both balance."""
    assert found(line([50.0], (0.0, 1.0))) == pytest.approx(25.0)
    assert found(line([50.0], (0.0, 1.0)), "huber") == pytest.approx(HUBER, rel=1e-6)
    assert found(line([0.0], (50.0, 1.0)), "huber") == pytest.approx(50.0 - HUBER, rel=1e-6)
    z = found(line([1e3], (0.0, 1.0)), "cauchy")
    assert z == pytest.approx((1e3 - z) / (1.0 + ((1e3 - z) / CAUCHY) ** 2), rel=1e-5)


def test_bounds_are_kept_and_the_start_may_be_on_one():
    assert found(line([5.0], (5.0, 1.0), lower=-1.0, upper=2.0, start=-1.0)) == pytest.approx(2.0, abs=1e-6)
    assert found(line([5.0, 6.0], (0.0, 1e6), lower=-1.0, upper=20.0, start=20.0)) == pytest.approx(5.5, abs=1e-6)


def test_points_at_which_a_run_fails_shorten_the_step_and_a_start_that_fails_is_an_error():
    problem = line([3.0], (0.0, 1e3), start=-4.0)
    plain = problem.residual

    def fails(z):
        if z[0] > 1.0 and not np.isclose(z[0], 3.0, atol=1.0):
            raise SingularError("no")
        return plain(z)

    problem.residual = fails
    assert found(problem) == pytest.approx(3.0, abs=1e-4)
    problem.residual = lambda z: (_ for _ in ()).throw(SingularError("at the start"))
    with pytest.raises(SingularError, match="at the start"):
        found(problem)
    with pytest.raises(ConvergenceError, match="did not converge within 1 trial points"):
        solve(line([3.0], (0.0, 1.0), start=-40.0), loss="cauchy", tolerance=1e-14, max_iterations=1)


def test_what_a_fit_leaves_is_measured_less_predicted():
    channel = SimpleNamespace(measurement="tip", difference=lambda readout, z: readout - 2.0)  # predicted − measured
    problem = SimpleNamespace(channels=[[channel]], _readouts=lambda z: [[np.array([5.0, 1.0])]])
    assert Problem.differences(problem, np.zeros(1))["tip"].tolist() == [-3.0, 1.0]
