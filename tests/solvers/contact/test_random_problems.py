"""Random and degenerate problems against a check of the laws that shares no code with the solvers."""

from __future__ import annotations

import numpy as np
import pytest

import pliant as pl
from friction_problems import KINDS, mixed, problem, violation
from pliant.solvers import friction
from pliant.solvers.contact import Law, solve

HARD = {"duplicates", "rigid heap", "wedged heap"}
"""Kinds of which a few problems in a thousand stop at their budget."""


def meets_its_law(kind: str, seed: int) -> bool:
    """Whether a problem converges; its answer, and the best iterate of one that does not, are checked."""
    p = problem(kind, seed)
    result, infeasible = None, False
    try:
        result = friction(p.W, p.q, p.mu)
    except pl.errors.InfeasibleError:
        infeasible = True
    except pl.errors.ConvergenceError as error:
        result = error.result
    if infeasible or result is None:
        assert not p.solvable
        return True
    assert np.isfinite(result.solution).all()
    if result.status is not pl.Status.CONVERGED:
        assert not p.solvable or 1e-8 < result.residual <= 1e-3
        return not p.solvable
    assert result.residual <= 1e-8
    assert violation(p.W, p.q, p.mu, result.solution) <= 1e-6
    return True


@pytest.mark.parametrize("kind", KINDS)
def test_answers_meet_their_law(kind: str) -> None:
    met = sum(meets_its_law(kind, seed) for seed in range(25))
    assert met >= (24 if kind in HARD else 25)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_answers_meet_their_law_by_the_thousand(kind: str) -> None:
    met = sum(meets_its_law(kind, seed) for seed in range(1000))
    assert met >= (970 if kind in HARD else 1000)


@pytest.mark.parametrize(("kind", "seed"), [("duplicates", 48), ("soft and rigid", 16), ("rigid heap", 119)])
def test_problems_that_came_nearest_to_failing(kind: str, seed: int) -> None:
    assert meets_its_law(kind, seed)


@pytest.mark.parametrize("kind", ["regular", "soft", "soft and rigid"])
def test_contacts_among_other_rows(kind: str) -> None:
    """Bilateral, bounded, one-sided and imposed rows in front of the contacts."""
    for seed in range(25):
        p = mixed(kind, seed)
        result = solve(p)
        lam, delta = result.lam, p.delta_free + p.W @ result.lam
        slip, force = np.abs(p.delta_free).max(), np.abs(lam).max()
        gap = delta - np.where(p.law == Law.IMPOSED, 0.0, p.target)
        size = slip + np.abs(p.W).max() * force
        assert np.abs(gap[p.law == Law.BILATERAL]).max(initial=0.0) <= 1e-7 * size
        np.testing.assert_array_equal(lam[p.law == Law.IMPOSED], p.target[p.law == Law.IMPOSED])
        one_sided = p.law == Law.SIGNORINI
        assert np.abs(np.minimum(lam[one_sided] * size / force, gap[one_sided])).max(initial=0.0) <= 1e-7 * size
        bounded = p.law == Law.BOUNDED
        assert ((lam >= p.lower) & (lam <= p.upper))[bounded].all()
        margin = 1e-7 * force
        inside = bounded & (lam > p.lower + margin) & (lam < p.upper - margin)
        assert np.abs(gap[inside]).max(initial=0.0) <= 1e-7 * size
        rows = np.flatnonzero(p.law == Law.COULOMB)
        free = delta[rows] - p.W[np.ix_(rows, rows)] @ lam[rows]
        assert violation(p.W[np.ix_(rows, rows)], free, p.mu[rows[::3]], lam[rows]) <= 1e-6
