from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import pliant as pl
from pliant.solvers import lcp
from pliant.solvers.contact import ConflictingRowsError


def enumerate_solution(M: np.ndarray, q: np.ndarray) -> np.ndarray | None:
    """Any solution, by trying all 2ⁿ sets of rows with w = 0."""
    n = len(q)
    size = np.abs(q).max()
    for chosen in product((False, True), repeat=n):
        free = np.array(chosen)
        z = np.zeros(n)
        if free.any():
            z[free] = np.linalg.lstsq(M[np.ix_(free, free)], -q[free], rcond=1e-10)[0]
        w = M @ z + q
        least = min(z.min() * np.abs(M).max(), w.min())
        if least > -1e-8 * size and np.abs(w[free]).max(initial=0.0) < 1e-8 * size:
            return z
    return None


def random_problem(kind: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    n = int(rng.integers(1, 8))
    A = rng.standard_normal((n, n))
    if kind == "definite":
        return A @ A.T + 0.01 * np.eye(n), rng.standard_normal(n)
    if kind == "redundant":
        B = A[:, : max(1, n // 2)]
        return B @ B.T, B @ rng.standard_normal(B.shape[1])
    if kind == "degenerate":
        B = rng.integers(-1, 2, (n, max(1, n - 1))).astype(float)
        return B @ B.T, rng.integers(-2, 3, n).astype(float)
    if kind == "duplicated":
        rows = rng.integers(0, n, n)
        M = A @ A.T + 0.1 * np.eye(n)
        return M[np.ix_(rows, rows)], rng.standard_normal(n)[rows]
    return A - A.T + (0.1 * np.eye(n) if kind == "unsymmetric" else 0.0), rng.standard_normal(n)


KINDS = ["definite", "redundant", "degenerate", "duplicated", "unsymmetric", "skew"]


@pytest.mark.parametrize("kind", KINDS)
def test_agrees_with_enumeration(kind: str) -> None:
    rng = np.random.default_rng(KINDS.index(kind))
    solved = 0
    for _ in range(60):
        M, q = random_problem(kind, rng)
        M, q = M * 10.0 ** rng.integers(-6, 3), q * 10.0 ** rng.integers(-5, 3)
        if not q.any():
            continue
        expected = enumerate_solution(M, q)
        if expected is None:
            with pytest.raises(pl.InfeasibleError):
                lcp(M, q)
            continue
        result = lcp(M, q)
        solved += 1
        assert result.status is pl.Status.CONVERGED
        assert result.solution.min() >= 0.0
        assert result.delta.min() >= -1e-9 * np.linalg.norm(q)
        assert result.gap <= 1e-8 * np.linalg.norm(q) * max(np.linalg.norm(result.solution), 1e-300)
        np.testing.assert_allclose(result.delta, M @ result.solution + q)
        if kind in ("definite", "unsymmetric"):
            np.testing.assert_allclose(result.solution, expected, atol=1e-7 * np.abs(expected).max() + 1e-300)
        if kind in ("redundant", "duplicated"):  # z is not unique, w is
            np.testing.assert_allclose(result.delta, M @ expected + q, atol=1e-7 * np.linalg.norm(q))
    assert solved > 15


def test_murty_example_takes_exponentially_many_least_index_pivots_and_is_solved() -> None:
    n = 12
    M = np.eye(n) + 2.0 * np.tril(np.ones((n, n)), -1)  # Murty 1978
    result = lcp(M, -np.ones(n))
    assert result.residual <= 1e-12
    np.testing.assert_allclose(result.solution, np.eye(n)[0], atol=1e-12)


def test_cycle_of_block_pivots_is_solved() -> None:
    M = np.array([[1.0, 0.0, 2.0], [2.0, 1.0, 0.0], [0.0, 2.0, 1.0]])  # P-matrix on which plain block pivots cycle
    result = lcp(M, -np.ones(3))
    np.testing.assert_allclose(result.solution, np.full(3, 1 / 3), atol=1e-12)


def test_cycle_of_single_pivots_is_solved() -> None:
    M = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 2.0], [2.0, 0.0, 1.0]])  # a P-matrix on which Bard's rule cycles
    result = lcp(M, -np.ones(3))
    assert result.residual <= 1e-12


def test_large_redundant_problem(stack) -> None:  # type: ignore[no-untyped-def]
    W, q = stack(12)
    result = lcp(W[::3, ::3], q[::3])
    assert result.residual <= 1e-10
    assert result.solution[:4].sum() == pytest.approx(12 * 0.1)  # the ground carries the momentum of all


def test_scaling_and_determinism() -> None:
    rng = np.random.default_rng(4)
    A = rng.standard_normal((20, 12))
    M, q = A @ A.T, A @ rng.standard_normal(12)
    reference = lcp(M, q)
    assert np.array_equal(lcp(M, q).solution, reference.solution)
    small = lcp(1e-7 * M, 1e-5 * q)
    np.testing.assert_allclose(small.delta, 1e-5 * reference.delta, atol=1e-14)


def test_infeasible_names_the_rows() -> None:
    M = np.diag([1.0, 0.0, 1.0, 1.0])
    M[2:, 2:] = [[1.0, -1.0], [-1.0, 1.0]]  # rows 2 and 3 are opposite
    with pytest.raises(ConflictingRowsError, match="rows 2, 3") as caught:
        lcp(M, [-1.0, 0.5, -1.0, 0.4])
    assert caught.value.rows == (2, 3)


def test_trivial_problems() -> None:
    assert lcp(np.zeros((0, 0)), []).solution.shape == (0,)
    assert lcp([[1.0]], [0.0]).solution == [0.0]
    assert lcp(np.zeros((2, 2)), [0.0, 1.0]).residual == 0.0


def test_unsolved_general_problem_raises_with_best_iterate() -> None:
    with pytest.raises(pl.ConvergenceError) as caught:
        lcp([[-1.0, 1.0], [0.0, 0.0]], [-1.0, 0.5])  # z = (0, 1) gives w ≥ 0, but no z is complementary
    assert np.isfinite(caught.value.result.solution).all()


@pytest.mark.parametrize(
    ("M", "q", "text"),
    [
        ([[1.0, 0.0]], [1.0], "M must have shape"),
        ([[np.nan]], [1.0], "M must be finite"),
        ([[1.0]], [np.inf], "q must be finite"),
        ([["a"]], [1.0], "M must be numbers"),
    ],
)
def test_bad_input(M: object, q: object, text: str) -> None:
    with pytest.raises(pl.InputError, match=text):
        lcp(M, q)


def test_many_rows_of_low_rank_and_mixed_sizes_are_solved() -> None:
    """Contacts far outnumber the unknowns behind them, and stiff directions stand beside soft ones."""
    rng = np.random.default_rng(3)
    for rows, rank in ((60, 5), (120, 30), (300, 60)):
        L = rng.normal(size=(rows, rank)) * 10.0 ** rng.uniform(-4.0, 0.0, size=rank)
        x = np.maximum(rng.normal(size=rows), 0.0)
        w = np.where(x > 0.0, 0.0, rng.uniform(0.0, 1e-3, size=rows))
        result = lcp(L @ L.T, w - L @ (L.T @ x))
        assert result.status.ok
        np.testing.assert_allclose(L.T @ result.solution, L.T @ x, rtol=1e-6, atol=1e-9 * np.abs(L.T @ x).max())
