"""Proofs that rows contradict each other: against linear programming, over random sets of rows."""

import numpy as np
import pytest
from scipy.optimize import linprog

from pliant.core.errors import InfeasibleError
from pliant.solvers.contact.certificate import (
    ConflictingRowsError,
    _non_negative_least_squares,
    conflict,
    conflicting_rows,
    raise_if_infeasible,
)


def forces_exist(W, q, open_rows, zero_rows, pushing):
    """Whether some r has W r + q ≥ 0 on the open rows and = 0 on the others, with r ≥ 0 where it can only push."""
    bounds = [(0.0, None) if i in pushing else (None, None) for i in range(len(q))]
    zero = {"A_eq": W[zero_rows], "b_eq": -q[zero_rows]} if len(zero_rows) else {}
    found = linprog(np.zeros(len(q)), A_ub=-W[open_rows], b_ub=q[open_rows], bounds=bounds, **zero)
    return found.status == 0


@pytest.mark.parametrize("seed", range(60))
def test_a_contradiction_is_found_exactly_where_no_forces_exist(seed):
    """Rows on few freedoms, in units that differ by up to 1e12; the rows named contradict each other alone."""
    rng = np.random.default_rng(seed)
    m, freedoms = int(rng.integers(2, 10)), int(rng.integers(1, 5))
    J = rng.normal(size=(m, freedoms))
    if seed % 3 == 0 and m > 2:
        J[1] = -J[0]
    q = J @ rng.normal(size=freedoms) + rng.normal(size=m) * (seed % 2)
    kinds = rng.random(m)
    pushing = np.flatnonzero(rng.random(m) < 0.3)
    open_rows, zero_rows = np.flatnonzero(kinds < 0.7), np.flatnonzero(kinds >= 0.85)
    W = J @ J.T
    possible = forces_exist(W, q, open_rows, zero_rows, pushing)
    units = 10.0 ** rng.uniform(-6.0, 6.0, size=m)
    found = conflicting_rows(
        units[:, None] * W * units, units * q, open_rows, zero_rows=zero_rows, pushing=pushing
    )  # fmt: skip
    assert (len(found) == 0) == possible
    if not possible:
        assert set(found) <= {*open_rows, *zero_rows}
        alone = [np.intersect1d(found, rows) for rows in (open_rows, zero_rows)]
        assert not forces_exist(W, q, *alone, pushing)


def test_what_needs_no_forces_is_no_contradiction():
    """Gaps that are open, rows that are none, and rows that nothing moves."""
    none = np.zeros(0, np.int64)
    W, both = np.zeros((2, 2)), np.arange(2)
    assert len(conflicting_rows(W, np.array([0.0, 1.0]), both)) == 0
    assert len(conflicting_rows(W, np.array([-1.0, 1.0]), none)) == 0
    assert conflicting_rows(W, np.array([-1.0, 1.0]), both).tolist() == [0]
    raise_if_infeasible(W, np.array([0.0, 1.0]), both)
    with pytest.raises(InfeasibleError, match="rows 0 contradict"):
        raise_if_infeasible(W, np.array([-1.0, 1.0]), both)
    assert issubclass(ConflictingRowsError, InfeasibleError)
    many = conflict(np.arange(20), "why")
    assert "rows 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 … contradict each other: why" in str(many)
    assert many.rows == tuple(range(20))


@pytest.mark.parametrize("seed", range(20))
def test_non_negative_least_squares_meets_its_conditions(seed):
    """x ≥ 0, gradient ≥ 0 where x = 0 and = 0 elsewhere: those of the minimum of a convex cost."""
    rng = np.random.default_rng(seed)
    A, b = rng.normal(size=(8, 12 if seed % 2 else 5)), rng.normal(size=8)
    x, rest = _non_negative_least_squares(A, b)
    slope = A.T @ (A @ x - b)
    assert x.min() >= 0.0
    assert slope.min() >= -1e-9
    np.testing.assert_allclose(slope[x > 0.0], 0.0, atol=1e-9)
    assert rest == pytest.approx(np.linalg.norm(A @ x - b), abs=1e-12)
