"""The first attempt in one call gives what the general path gives."""

import numpy as np
import pytest

from pliant.solvers.contact import Law, MixedProblem, solve
from pliant.solvers.contact.budget import Budget
from pliant.solvers.contact.first_attempt import Attempt, first_attempt
from pliant.solvers.contact.result import ComplementarityResult
from pliant.solvers.contact.solve import _Options, _solve


def _problem(seed, *, rank=40, scale=1.0):
    """Four boxes, of which one has two bounds, and six cones of which the rows are in other units."""
    rng = np.random.default_rng(seed)
    law = [Law.SIGNORINI] * 3 + [Law.BOUNDED] + [Law.COULOMB] * 18
    J = rng.normal(size=(len(law), rank)) * scale
    lower, upper = np.full(len(law), -np.inf), np.full(len(law), np.inf)
    lower[3], upper[3] = -0.01, 0.01
    gaps = scale * (rng.normal(size=len(law)) - 1.0)
    target = np.where(np.arange(len(law)) < 4, 0.1 * scale, 0.0)
    return MixedProblem.of(J @ J.T, gaps, law, mu=0.4, lower=lower, upper=upper, target=target)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("scale", [1.0, 1e-3])
def test_forces_gaps_and_residual_are_those_of_the_general_path(seed, scale):
    problem = _problem(seed, scale=scale)
    found = first_attempt(problem, None, 1e-10, 1e-20, Budget(22, 1000))
    assert isinstance(found, ComplementarityResult)
    known, _, _ = _solve(problem, None, _Options(1e-10, 1e-20, 1000, None, False))
    assert np.allclose(found.lam, known.lam, rtol=0.0, atol=1e-8 * np.abs(known.lam).max())
    assert np.allclose(found.delta, known.delta, rtol=0.0, atol=1e-8 * np.abs(known.delta).max())
    assert found.residual <= 1e-10
    assert found.gap == pytest.approx(known.gap, abs=1e-8 * np.abs(known.lam).max() * np.abs(known.delta).max())
    again = first_attempt(problem, found.lam, 1e-10, 1e-20, Budget(22, 1000))
    assert isinstance(again, ComplementarityResult)
    assert again.iterations == 0


def test_an_attempt_that_fails_is_continued():
    problem = _problem(0, rank=9)  # redundant
    attempt = first_attempt(problem, None, 1e-10, 1e-20, Budget(22, 4))
    assert isinstance(attempt, Attempt)
    assert attempt.iterations <= 4
    found = solve(problem, tolerance=1e-10)
    assert found.residual <= 1e-10


def test_rows_of_other_laws_are_left_to_the_general_path():
    law = [Law.BILATERAL, *[Law.COULOMB] * 3]
    problem = MixedProblem.of(np.eye(4), [-1.0, -1.0, 0.1, 0.0], law, mu=0.5)
    assert first_attempt(problem, None, 1e-10, 1e-16, Budget(4, 100)) is None
    boxes = MixedProblem.of(np.eye(2), [-1.0, -1.0], [Law.SIGNORINI] * 2)
    assert first_attempt(boxes, None, 1e-10, 1e-16, Budget(2, 100)) is None
