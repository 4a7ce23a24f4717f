"""The QP wrapper: against piqp, its multipliers, its limits, its units."""

import numpy as np
import piqp
import pytest

import pliant as pl
from pliant.solvers.qp import QpStatus, quadratic_program
from pliant.solvers.qp.quadratic import FREE, solve_scaled


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
    ours = quadratic_program(H, f, A, row_lower=low, row_upper=high, lower=lower, upper=upper)
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
    assert ours.status is QpStatus.SOLVED
    assert ours.objective == pytest.approx(0.5 * x @ H @ x + f @ x, abs=1e-7)
    gradient = H @ ours.solution + f + ours.bound_duals + A.T @ ours.row_duals
    np.testing.assert_allclose(gradient, 0.0, atol=1e-7)
    free = (A @ ours.solution > low + 1e-7) & (A @ ours.solution < high - 1e-7)
    np.testing.assert_allclose(ours.row_duals[free], 0.0, atol=1e-9)
    assert ours.residual < 1e-7


@pytest.mark.parametrize("seed", range(10))
def test_units_do_not_matter(seed):
    H, f, A, low, high, lower, upper = random_qp(seed)
    H = H + 0.1 * np.eye(len(f))
    one = quadratic_program(H, f, A, row_lower=low, row_upper=high, lower=lower, upper=upper)
    force, length, cost = 1e4, 1e-3, 1e7
    other = quadratic_program(
        H * cost / force**2, f * cost / force, A * length / force, row_lower=low * length, row_upper=high * length,
        lower=lower * force, upper=upper * force,
    )  # fmt: skip
    np.testing.assert_allclose(other.solution / force, one.solution, rtol=1e-9, atol=1e-10)


def test_a_flat_direction_is_settled_by_the_limits():
    result = quadratic_program(np.zeros((2, 2)), [1.0, 0.0], [[1.0, 1.0]], row_lower=-1, row_upper=1, lower=-5, upper=5)
    assert result.status.ok
    assert result.solution[0] == pytest.approx(-5.0)


def test_contradicting_rows_are_infeasible_and_repeated_ones_are_not():
    A = [[1.0, 1.0], [1.0, 1.0], [2.0, 2.0]]
    assert quadratic_program(np.eye(2), [1, 0], A, row_lower=[1, 1.1, 2], row_upper=[1, 1.1, 2]).status is (
        QpStatus.INFEASIBLE
    )
    same = quadratic_program(np.eye(2), [1, 0], A, row_lower=[1, 1, 2], row_upper=[1, 1, 2])
    assert same.status is QpStatus.SOLVED
    np.testing.assert_allclose(same.solution, [0.0, 1.0], atol=1e-12)
    box = quadratic_program(np.eye(1), [0.0], [[1.0], [1.0]], row_lower=[2, -np.inf], row_upper=[np.inf, 1])
    assert box.status is QpStatus.INFEASIBLE
    assert "loosen" in box.status.text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"H": [[1.0, 2.0], [0.0, 1.0]]}, "H must be symmetric"),
        ({"H": np.full((2, 2), np.nan)}, "H must be finite"),
        ({"f": [1.0, 2.0, 3.0]}, "H must have shape"),
        ({"A": [[1.0]]}, "A must have shape"),
        ({"lower": 2.0, "upper": 1.0}, r"lower\[0\] = 2 must not exceed"),
        ({"upper": [np.nan, 1.0]}, r"upper\[0\] is NaN"),
        ({"lower": [0.0, 0.0, 0.0]}, "lower must be a number or have shape"),
    ],
)
def test_bad_input_is_named(change, message):
    arguments = {"H": np.eye(2), "f": [1.0, 1.0], "A": None} | change
    with pytest.raises(pl.InputError, match=message):
        quadratic_program(arguments.pop("H"), arguments.pop("f"), arguments.pop("A"), **arguments)


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
