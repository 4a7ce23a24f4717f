"""Small QPs by daqp: against piqp, their multipliers, their limits; and what `QpccProblem.of` refuses."""

import numpy as np
import piqp
import pytest

import pliant as pl
from pliant.solvers.inverse import QpccProblem, quadratic
from pliant.solvers.inverse.quadratic import EQUAL, FREE, INFEASIBLE, SOLVED, _without_redundant, solve_scaled


def solved(H, f, A, row_lower, row_upper, lower=-np.inf, upper=np.inf):
    """`solve_scaled` with limits as a person writes them."""
    f, A = np.asarray(f, np.float64), np.asarray(A, np.float64)
    limits = [
        np.concatenate([np.broadcast_to(of_x, f.shape), np.broadcast_to(of_rows, len(A))])
        for of_x, of_rows in ((lower, row_lower), (upper, row_upper))
    ]
    return solve_scaled(np.asarray(H), f, A, *(np.clip(limit, -FREE, FREE) for limit in limits))


def random_qp(seed):
    rng = np.random.default_rng(seed)
    n, m, rank = int(rng.integers(1, 8)), int(rng.integers(0, 12)), int(rng.integers(1, 9))
    J = rng.normal(size=(rank, n))
    A = rng.normal(size=(m, n))
    inside = rng.normal(size=n)
    low = A @ inside - rng.random(m)
    high = np.where(rng.random(m) < 0.3, np.inf, A @ inside + rng.random(m))
    if m > 2:
        high[0] = low[0] = A[0] @ inside
    return J.T @ J, J.T @ rng.normal(size=rank), A, low, high, inside - rng.random(n), inside + rng.random(n)


@pytest.mark.parametrize("seed", range(40))
def test_it_agrees_with_piqp_and_its_multipliers_balance_the_gradient(seed):
    H, f, A, low, high, lower, upper = random_qp(seed)
    found, duals, flag, _ = solved(H, f, A, low, high, lower, upper)
    bound_duals, row_duals = duals[: len(f)], duals[len(f) :]
    equal = low == high
    solver = piqp.DenseSolver()
    solver.settings.eps_abs, solver.settings.eps_rel = 1e-11, 0.0
    some = (~equal).any()
    solver.setup(
        H, f, A[equal] if equal.any() else None, low[equal] if equal.any() else None, A[~equal] if some else None,
        low[~equal] if some else None, high[~equal] if some else None, lower, upper,
    )  # fmt: skip
    assert solver.solve() == piqp.PIQP_SOLVED
    x = solver.result.x
    assert flag == SOLVED
    assert 0.5 * found @ H @ found + f @ found == pytest.approx(0.5 * x @ H @ x + f @ x, abs=1e-7)
    np.testing.assert_allclose(H @ found + f + bound_duals + A.T @ row_duals, 0.0, atol=1e-7)
    assert np.maximum(low - A @ found, A @ found - high).max(initial=0.0) < 1e-7
    assert np.maximum(lower - found, found - upper).max() < 1e-7
    free = (A @ found > low + 1e-7) & (A @ found < high - 1e-7)
    np.testing.assert_allclose(row_duals[free], 0.0, atol=1e-9)


def test_a_flat_direction_is_settled_by_the_limits():
    x, _, flag, _ = solved(np.zeros((2, 2)), [1.0, 0.0], [[1.0, 1.0]], -1.0, 1.0, -5.0, 5.0)
    assert flag == SOLVED
    assert x[0] == pytest.approx(-5.0)


def test_contradicting_rows_are_infeasible_and_repeated_ones_are_not():
    A = [[1.0, 1.0], [1.0, 1.0], [2.0, 2.0]]
    *_, flag, _ = solved(np.eye(2), [1.0, 0.0], A, [1.0, 1.1, 2.0], [1.0, 1.1, 2.0])
    assert flag == INFEASIBLE
    x, _, flag, _ = solved(np.eye(2), [1.0, 0.0], A, [1.0, 1.0, 2.0], [1.0, 1.0, 2.0])
    assert flag == SOLVED
    np.testing.assert_allclose(x, [0.0, 1.0], atol=1e-12)
    *_, flag, _ = solved(np.eye(1), [0.0], [[1.0], [1.0]], [2.0, -np.inf], [np.inf, 1.0])
    assert flag == INFEASIBLE


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"G": [[1.0, 2.0], [0.0, 1.0]]}, "G must be symmetric"),
        ({"G": np.full((2, 2), np.nan)}, "G must be finite"),
        ({"e": [1.0, 2.0, 3.0]}, "e must have shape"),
        ({"x_lower": 2.0, "x_upper": 1.0}, r"x_lower\[0\] = 2 must not exceed"),
        ({"x_upper": [np.nan, 1.0]}, r"x_upper\[0\] is NaN"),
        ({"x_lower": [0.0, 0.0, 0.0]}, "x_lower must be a number or have shape"),
    ],
)
def test_bad_input_is_named(change, message):
    arguments = {"E_a": np.eye(2), "e": [1.0, 1.0]} | change
    with pytest.raises(pl.InputError, match=message):
        QpccProblem.of(**arguments)


def test_a_row_that_almost_cancelled_is_a_row_and_one_that_did_is_none():
    """Contacts that almost depend on others leave rows like these; daqp alone calls the problem infeasible."""
    A = np.array([[3e-8], [-9e-12]])
    lower = np.array([-FREE, 4e-8, 1e-11])
    x, duals, flag, _ = solve_scaled(np.eye(1), np.zeros(1), A, lower, np.full(3, FREE))
    assert flag == 1
    assert x[0] == pytest.approx(4.0 / 3.0)
    assert x[0] + duals[0] + A[:, 0] @ duals[1:] == pytest.approx(0.0, abs=1e-9)
    *_, flag, _ = solve_scaled(np.eye(1), np.zeros(1), A, np.array([-FREE, 4e-8, 1e-3]), np.full(3, FREE))
    assert flag == -1


def test_of_equalities_that_depend_on_each_other_an_independent_set_is_met():
    A = np.array([[1.0, 1.0, 0.0], [2.0, 2.0, 0.0], [0.0, 0.0, 1.0]])
    b = np.array([1.0, 2.0, 3.0])
    limits = [np.concatenate([np.full(3, free), b]) for free in (-FREE, FREE)]
    sense = np.array([0, 0, 0, EQUAL, EQUAL, EQUAL], np.int32)
    x, _, flag, _ = _without_redundant(np.eye(3), np.zeros(3), A, *limits, sense)
    assert flag == SOLVED
    np.testing.assert_allclose(x, [0.5, 0.5, 3.0], atol=1e-9)


def test_limits_beside_redundant_equalities_are_met_as_finely_as_elsewhere():
    """x₀ ≥ 5e-7 binds; a violation of that size is none of rounding."""
    A = np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 3.0], [1.0, 1.0]])
    low, high = np.array([5e-7, -FREE, 1.0, 2.0, 3.0, -FREE]), np.array([FREE, FREE, 1.0, 2.0, 3.0, FREE])
    sense = np.array([0, 0, EQUAL, EQUAL, EQUAL, 0], np.int32)
    x, duals, flag, _ = _without_redundant(np.eye(2), np.zeros(2), A, low, high, sense)
    assert flag == SOLVED
    np.testing.assert_allclose(x, [5e-7, 1.0], rtol=1e-6)
    np.testing.assert_allclose(x + duals[:2] + A.T @ duals[2:], 0.0, atol=1e-10)


@pytest.mark.parametrize(
    ("flags", "calls", "ends"),
    [
        ([SOLVED], 1, SOLVED),
        ([-4, SOLVED], 2, SOLVED),
        ([-4, -4, SOLVED], 3, SOLVED),
        ([INFEASIBLE, INFEASIBLE], 2, INFEASIBLE),
        ([INFEASIBLE, -4, SOLVED], 3, SOLVED),
        ([-4, INFEASIBLE, INFEASIBLE], 3, INFEASIBLE),
        ([-4, INFEASIBLE, SOLVED], 3, SOLVED),
        ([-4, -4, -4], 3, -4),
    ],
)
def test_a_problem_is_infeasible_where_it_is_said_twice_and_solved_where_any_attempt_solves_it(
    monkeypatch, flags, calls, ends
):
    """With scripted answers of daqp: each attempt has other tolerances, and the last answer counts."""
    seen = []

    def scripted(H, f, A, upper, lower, sense, **options):
        seen.append(options)
        return np.full(2, float(len(seen))), 0.0, flags[len(seen) - 1], {"lam": np.zeros(3), "iterations": len(seen)}

    monkeypatch.setattr(quadratic, "_daqp", lambda: scripted)
    limits = np.full(3, -FREE), np.full(3, FREE)
    x, _, flag, iterations = solve_scaled(np.eye(2), np.ones(2), np.ones((1, 2)), *limits)
    assert flag == ends
    assert len(seen) == calls == iterations == x[0]
    assert len({tuple(options.items()) for options in seen}) == calls
    assert all(options["primal_tol"] <= 1e-9 for options in seen)


@pytest.mark.parametrize("size", [3e-8, 3e-7, 3e-6])
def test_limits_of_short_rows_keep_their_meaning(size):
    """Rows too short for daqp beside others: the answer and the multipliers of the rows as they were given."""
    A = np.array([[size, 0.0], [1.0, 1.0], [0.0, size]])
    low, high = np.array([-FREE, -FREE, size, -FREE, -FREE]), np.array([FREE, FREE, FREE, 5.0, -2.0 * size])
    for H in (np.eye(2), np.diag([1.0, 0.0])):
        x, duals, flag, _ = solve_scaled(H, np.array([0.0, -0.1 * H[1, 1]]), A, low, high)
        assert flag == SOLVED
        assert x[0] == pytest.approx(1.0)
        assert x[1] <= -2.0 + 1e-6
        np.testing.assert_allclose(H @ x + [0.0, -0.1 * H[1, 1]] + duals[:2] + A.T @ duals[2:], 0.0, atol=1e-8)
