"""Solves with an older factor: accuracy in the stated norms, shapes, rotations, and what happens where it fails."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.transform import Rotation

from pliant.core.errors import InputError
from pliant.solvers.linear import BlockMatrix, LaggedFactor, analyze

SIZE = 630


class Pair:
    """A matrix that has changed since its older factor was made, and how often its own factor was asked for."""

    def __init__(self, grid, *, change=0.2, keep=None, seed=0):
        noise = np.random.default_rng(seed).standard_normal(grid.matrix.values.shape)
        noise[grid.pattern.diagonal] = 20.0 * np.eye(3)
        self.matrix = BlockMatrix(grid.pattern, grid.matrix.values + change * noise)
        self.symbolic = analyze(grid.pattern, coordinates=grid.coordinates, keep=keep)
        self.older = self.symbolic.factorize(grid.matrix.values)
        self.own = self.symbolic.factorize(self.matrix.values)
        self.asked = 0
        free = np.ones(SIZE, bool) if keep is None else np.repeat(keep, 3)
        self.dense = self.matrix.to_scipy().toarray() * np.outer(free, free)

    def lagged(self, *, tolerance=1e-8, limit=60, most_rows=10**6, **options):
        def newest():
            self.asked += 1
            return self.own

        return LaggedFactor(
            self.matrix, self.older, newest, tolerance=tolerance, limit=limit, most_rows=most_rows, **options
        )

    def error(self, x, exact):
        """Largest ‖x − exact‖_A / ‖exact‖_A of the columns."""
        x, exact = x.reshape(SIZE, -1), exact.reshape(SIZE, -1)
        squares = np.einsum("im,ij,jm->m", x - exact, self.dense, x - exact)
        return np.sqrt(np.max(squares / np.einsum("im,ij,jm->m", exact, self.dense, exact)))


def relative(W, exact):
    scale = np.sqrt(np.diagonal(exact))
    return np.abs((W - exact) / np.outer(scale, scale)).max()


@pytest.mark.parametrize("tolerance", [1e-3, 1e-8, 1e-11])
@pytest.mark.parametrize("shape", [(SIZE,), (210, 3), (SIZE, 1), (SIZE, 7)])
def test_solves_reach_the_tolerance_in_the_energy_norm(grid, tolerance, shape):
    pair = Pair(grid)
    rhs = np.random.default_rng(1).standard_normal(shape)
    factor = pair.lagged(tolerance=tolerance)
    x = factor.solve(rhs)
    assert x.shape == shape
    assert pair.error(x, pair.own.solve(rhs)) <= 2.0 * tolerance
    assert pair.error(pair.older.solve(rhs), pair.own.solve(rhs)) > 1e-3
    assert factor.iterations > 0
    assert pair.asked == 0


@pytest.mark.parametrize("tolerance", [1e-4, 1e-8, 1e-11])
@pytest.mark.parametrize("rows", [1, 3, 40])
def test_compliance_reaches_the_tolerance_and_is_symmetric(grid, make_rows, tolerance, rows):
    pair, H = Pair(grid), make_rows(rows, SIZE)
    W = pair.lagged(tolerance=tolerance).compliance(H)
    np.testing.assert_array_equal(W, W.T)
    assert relative(W, pair.own.compliance(H)) <= tolerance
    assert pair.asked == 0


def test_many_rows_on_few_nodes_go_through_the_touched_unknowns(grid, make_rows):
    pair, few = Pair(grid), make_rows(200, 30)
    H = sparse.csr_matrix((few.data, few.indices, few.indptr), shape=(200, SIZE))
    factor = pair.lagged()
    W = factor.compliance(H)
    np.testing.assert_array_equal(W, W.T)
    assert relative(W, pair.own.compliance(H)) <= 1e-8
    assert np.linalg.matrix_rank(W, tol=1e-12 * np.abs(W).max()) == 30
    lam = np.random.default_rng(2).standard_normal(200)
    assert pair.error(factor.response(H, lam), pair.own.solve(H.T @ lam)) <= 2e-8


def test_the_error_of_compliance_is_the_square_of_that_of_its_columns(grid, make_rows):
    """W takes about half of the iterations that its columns would."""
    pair, H = Pair(grid), make_rows(5, SIZE)
    by_columns, by_rows = pair.lagged(), pair.lagged()
    X = by_columns.solve(H.T.toarray())
    W = by_rows.compliance(H)
    assert relative(W, pair.own.compliance(H)) <= relative(H @ X, pair.own.compliance(H)) + 1e-8
    assert by_rows.iterations <= 0.7 * by_columns.iterations


def test_the_response_begins_from_the_columns(grid, make_rows):
    pair, H = Pair(grid), make_rows(5, SIZE)
    lam = np.random.default_rng(3).standard_normal(5)
    begun, anew = pair.lagged(), pair.lagged()
    begun.compliance(H)
    before = begun.iterations
    assert pair.error(begun.response(H, lam), pair.own.solve(H.T @ lam)) <= 2e-8
    assert pair.error(anew.response(H, lam), pair.own.solve(H.T @ lam)) <= 2e-8
    assert begun.iterations - before < anew.iterations


def test_a_matrix_that_only_turned_needs_one_iteration(grid):
    """A = T A₀ Tᵀ with a rotation of every node: T A₀⁻¹ Tᵀ is its inverse."""
    turns = Rotation.random(210, random_state=4).as_matrix()
    p = grid.pattern
    rows = np.repeat(np.arange(210), np.diff(p.indptr))
    values = turns[rows] @ grid.matrix.values @ turns[p.indices].transpose(0, 2, 1)
    older = analyze(p).factorize(grid.matrix.values)
    matrix, rhs = BlockMatrix(p, values), np.random.default_rng(5).standard_normal(SIZE)

    def never():
        raise AssertionError("its own factor is not needed")

    factor = LaggedFactor(matrix, older, never, tolerance=1e-10, limit=3, rotations=turns)
    np.testing.assert_allclose(matrix.matvec(factor.solve(rhs)), rhs, atol=1e-8)
    assert factor.iterations == 1


def test_nodes_that_are_no_unknowns_and_held_directions_stay(grid, make_rows):
    keep = np.random.default_rng(6).random(210) < 0.7
    pair, rhs = Pair(grid, keep=keep), np.random.default_rng(7).standard_normal((SIZE, 2))
    x = pair.lagged().solve(rhs)
    assert not x[np.repeat(~keep, 3)].any()
    assert pair.error(x, pair.own.solve(rhs)) <= 2e-8
    H = make_rows(12, SIZE, per_row=4)
    exact = pair.own.compliance(H)
    assert np.abs(pair.lagged().compliance(H) - exact).max() <= 1e-8 * exact.max()


def test_held_directions_take_no_force(grid):
    """Unknowns that are decoupled in both matrices are taken out of what is given."""
    held = np.array([4, 50, 301])
    values = grid.matrix.values.copy()
    dense = grid.dense.copy()
    dense[held], dense[:, held] = 0.0, 0.0
    dense[held, held] = 60.0
    p = grid.pattern
    rows = np.repeat(np.arange(210), np.diff(p.indptr))
    for q, (i, j) in enumerate(zip(rows, p.indices, strict=True)):
        values[q] = dense[3 * i : 3 * i + 3, 3 * j : 3 * j + 3]
    older = analyze(p).factorize(values)
    matrix = BlockMatrix(p, values * 1.1)
    x = LaggedFactor(matrix, older, lambda: older, tolerance=1e-10, limit=9, held=held).solve(np.ones(SIZE))
    assert not x[held].any()
    rest = matrix.matvec(x) - 1.0
    assert np.abs(np.delete(rest, held)).max() < 1e-8


def test_where_the_iteration_ends_too_early_the_own_factor_answers(grid, make_rows):
    pair, rhs, H = Pair(grid), np.random.default_rng(8).standard_normal(SIZE), make_rows(5, SIZE)
    factor = pair.lagged(limit=1)
    np.testing.assert_array_equal(factor.solve(rhs), pair.own.solve(rhs))
    assert factor.redone
    assert pair.asked == 1
    spent = factor.iterations
    np.testing.assert_array_equal(factor.compliance(H), pair.own.compliance(H))
    np.testing.assert_array_equal(factor.response(H, np.ones(5)), pair.own.solve(H.T @ np.ones(5)))
    assert factor.iterations == spent, "what is exact needs no iteration"
    assert pair.asked == 1
    in_W = pair.lagged(limit=1)
    np.testing.assert_array_equal(in_W.compliance(H), pair.own.compliance(H))
    assert in_W.redone


def test_an_indefinite_matrix_is_handed_on(grid):
    """Negative curvature ends the iteration at once; whoever factorizes the matrix will raise."""
    pair = Pair(grid)
    matrix = BlockMatrix(grid.pattern, -pair.matrix.values)
    asked = []
    factor = LaggedFactor(matrix, pair.older, lambda: asked.append(1) or pair.own, tolerance=1e-8, limit=50)
    factor.solve(np.ones(SIZE))
    assert asked == [1]
    assert factor.redone
    assert factor.iterations == 1


def test_a_matrix_with_nan_is_handed_on(grid):
    pair = Pair(grid)
    values = pair.matrix.values.copy()
    values[7] = np.nan
    factor = LaggedFactor(BlockMatrix(grid.pattern, values), pair.older, lambda: pair.own, tolerance=1e-8, limit=50)
    factor.solve(np.ones(SIZE))
    assert factor.redone


def test_too_many_rows_wait_for_the_own_factor(grid, make_rows):
    pair, H = Pair(grid), make_rows(9, SIZE)
    factor = pair.lagged(most_rows=8)
    np.testing.assert_array_equal(factor.compliance(H), pair.own.compliance(H))
    assert factor.awaited
    assert not factor.redone
    assert factor.iterations == 0
    by_operations = pair.lagged(most_rows=None)
    by_operations.compliance(make_rows(400, SIZE))
    assert by_operations.awaited


def test_nothing_given_nothing_found(grid):
    pair = Pair(grid)
    factor = pair.lagged()
    assert not factor.solve(np.zeros(SIZE)).any()
    assert factor.solve(np.zeros((SIZE, 0))).shape == (SIZE, 0)
    assert factor.compliance(sparse.csr_matrix((0, SIZE))).shape == (0, 0)
    assert not factor.compliance(sparse.csr_matrix((4, SIZE))).any()
    assert pair.asked == 0


def test_repeated_bits(grid, make_rows):
    pair, H = Pair(grid), make_rows(6, SIZE)
    np.testing.assert_array_equal(pair.lagged().compliance(H), pair.lagged().compliance(H))


def test_a_factor_of_another_pattern_is_refused(grid, make_system):
    other = make_system(210)
    older = analyze(other.pattern).factorize(other.matrix.values)
    with pytest.raises(InputError, match="pattern"):
        LaggedFactor(grid.matrix, older, lambda: older, tolerance=1e-8, limit=5)
