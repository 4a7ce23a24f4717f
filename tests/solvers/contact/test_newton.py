"""Newton's method on the function of Alart and Curnier: its parts against their definitions and finite differences."""

import numpy as np
import pytest

from pliant.solvers.contact.blocks import BlockProblem, Blocks
from pliant.solvers.contact.budget import Budget
from pliant.solvers.contact.line_search import alart_curnier, best_length
from pliant.solvers.contact.newton import _direction, _stiffness, assemble, derivatives, newton


def random_state(seed):
    """A problem of three cones and four boxes (both bounds, one, none beyond reach) with forces of all states."""
    rng = np.random.default_rng(seed)
    m = 13
    H = rng.normal(size=(m, m + 2))
    boxes = np.array([0, 4, 5, 12])
    lower, upper = np.array([-0.3, 0.0, -np.inf, -0.2]), np.array([0.4, np.inf, 0.1, 0.2])
    blocks = Blocks(np.array([1, 6, 9]), np.array([0.3, 0.8, 1.2]), boxes, lower, upper)
    problem = BlockProblem(H @ H.T / m, rng.normal(size=m), blocks)
    r = rng.normal(size=m)
    r[blocks.cones] += rng.choice([-1.0, 1.0, 3.0])
    return problem, r, rng


def value(problem, r, rho):
    """F(r), from the projections that define it."""
    u, b = problem.W @ r + problem.q, problem.blocks
    F = np.zeros_like(r)
    for i, low, high in zip(b.boxes, b.lower, b.upper, strict=True):
        F[i] = r[i] - np.clip(r[i] - rho[i] * u[i], low, high)
    for i, mu in zip(b.cones, b.mu, strict=True):
        z = max(0.0, r[i] - rho[i] * u[i])
        y = r[i + 1 : i + 3] - rho[i + 1] * u[i + 1 : i + 3]
        size = np.linalg.norm(y)
        F[i] = r[i] - z
        F[i + 1 : i + 3] = r[i + 1 : i + 3] - (y if size <= mu * z else mu * z * y / size)
    return F


def slope(problem, r, rho):
    """dF/dr by central differences."""
    step = 1e-7
    columns = [(value(problem, r + e, rho) - value(problem, r - e, rho)) / (2 * step) for e in step * np.eye(len(r))]
    return np.array(columns).T


@pytest.mark.parametrize("seed", range(12))
def test_its_function_and_derivative_are_those_of_the_definition(seed):
    problem, r, _ = random_state(seed)
    rho, m = 1.0 / _stiffness(problem), len(r)
    F, A, B, active = np.empty(m), np.zeros((m, 3)), np.zeros((m, 3)), np.zeros(m, np.bool_)
    norm = alart_curnier(r, problem.slip(r), rho, problem.blocks, F)
    np.testing.assert_allclose(F, value(problem, r, rho), atol=1e-13)
    assert norm == pytest.approx(np.linalg.norm(F))
    derivatives(r, problem.slip(r), rho, problem.blocks, A, B, active)
    J = np.eye(m)
    for i in np.flatnonzero(active):
        first = next((c for c in problem.blocks.cones if c <= i < c + 3), None)
        rows = [i] if first is None else [first, first + 1, first + 2]
        J[i] = B[i, : len(rows)] @ problem.W[rows]
        J[i, rows] += A[i, : len(rows)]
    np.testing.assert_allclose(J, slope(problem, r, rho), atol=2e-6)
    rows, shift = np.flatnonzero(active), np.full(m, 0.7)
    inner, right = np.empty((len(rows), len(rows)), order="F"), np.empty(len(rows))
    change = np.arange(m, dtype=float)
    given = problem.W, problem.blocks, A, B, active, rows, np.cumsum(active) - 1
    assemble(*given, 0.0 * shift, F, change, inner, right)
    np.testing.assert_allclose(inner, J[np.ix_(rows, rows)], atol=1e-12)
    moved = BlockProblem(problem.W, problem.q + 1e-7 * change, problem.blocks)
    expected = -F - (value(moved, r, rho) - value(problem, r, rho)) / 1e-7
    np.testing.assert_allclose(right, expected[rows], atol=3e-5)
    shifted = inner.copy(order="F")
    assemble(*given, shift, F, change, shifted, right)
    stiffer = BlockProblem(problem.W + 0.7 * np.eye(m), problem.q - 0.7 * r, problem.blocks)
    np.testing.assert_allclose(shifted, slope(stiffer, r, rho)[np.ix_(rows, rows)], atol=2e-6)


@pytest.mark.parametrize("seed", range(12))
def test_the_direction_solves_the_linearised_equations_and_its_cost_is_counted(seed):
    problem, r, _ = random_state(seed)
    rho, F = 1.0 / _stiffness(problem), np.empty(len(r))
    alart_curnier(r, problem.slip(r), rho, problem.blocks, F)
    budget = Budget(len(r), 100)
    before = budget._operations
    direction = _direction(problem, r, problem.slip(r), rho, F, 0.0, budget)
    np.testing.assert_allclose(slope(problem, r, rho) @ direction, -F, atol=1e-5 * (1.0 + np.abs(direction).max()))
    assert before - budget._operations >= 6.0 * len(r) ** 2
    assert budget.iterations == 1


def test_the_cost_of_a_direction_grows_with_the_cube_of_the_active_rows():
    def cost(count):
        rng, none = np.random.default_rng(0), np.zeros(0, np.int64)
        H = rng.normal(size=(count, count))
        wide = np.full(count, np.inf)
        problem = BlockProblem(
            H @ H.T, rng.normal(size=count), Blocks(none, np.zeros(0), np.arange(count), -wide, wide)
        )
        budget = Budget(count, 10)
        before = budget._operations
        zero = np.zeros(count)
        assert _direction(problem, zero, problem.q, np.ones(count), problem.q.copy(), 1e-3, budget) is not None
        return before - budget._operations - 6.0 * count**2

    assert (cost(80) - cost(20)) / (cost(40) - cost(20)) == pytest.approx(9.0)


@pytest.mark.parametrize("seed", range(12))
def test_the_length_is_the_best_of_all_kinks_and_halves(seed):
    """Kinks are found by a scan of the states; those beyond a tenfold merit are not looked at."""
    problem, r, rng = random_state(seed)
    if seed % 2:
        problem = BlockProblem(np.zeros_like(problem.W), problem.q, problem.blocks)  # forces that move nothing
    rho, F, d = 1.0 / _stiffness(problem), np.empty(len(r)), 4.0 * rng.normal(size=len(r))
    u, du = problem.slip(r), problem.W @ d
    merit = alart_curnier(r, u, rho, problem.blocks, F)

    def at(t):
        return np.linalg.norm(value(problem, r + t * d, rho))

    length, least, flat = best_length(r, u, d, du, rho, problem.blocks, merit)
    assert least == pytest.approx(at(length), rel=1e-12)
    assert (least <= 0.5 * merit) or least <= min(at(0.5**k) for k in range(13)) * (1.0 + 1e-12)
    if length == 1.0 and least <= 0.5 * merit:
        return
    near, quiet = [], [0.0]
    for t in kinks_by_scan(problem, r, d, rho):
        near.append(at(t))
        if near[-1] > 10.0 * merit:
            break
        if near[-1] <= merit * (1.0 - 1e-6):
            quiet.append(t)
    assert least <= min(near, default=np.inf) * (1.0 + 1e-6)
    assert flat >= max(quiet) * (1.0 - 1e-6)


def kinks_by_scan(problem, r, d, rho):
    """Lengths at which a box reaches a bound, a contact closes, opens, sticks or slides, by bisection of a scan."""
    b = problem.blocks
    s, ds = r - rho * (problem.W @ r + problem.q), d - rho * (problem.W @ d)

    def states(t):
        x = s + np.atleast_1d(t)[:, None] * ds
        pressed = x[:, b.cones] > 0.0
        slow = np.hypot(x[:, b.cones + 1], x[:, b.cones + 2]) < b.mu * x[:, b.cones]
        return np.hstack([x[:, b.boxes] > b.lower, x[:, b.boxes] < b.upper, pressed, pressed & slow])

    grid = np.concatenate([np.linspace(1e-9, 3.0, 4000), np.geomspace(3.0, 1e3, 2000)])
    found, kinks = states(grid), []
    for k in np.flatnonzero((found[1:] != found[:-1]).any(axis=1)):
        low, high = grid[k], grid[k + 1]
        while high - low > 1e-12 * high:
            middle = 0.5 * (low + high)
            low, high = (middle, high) if (states(middle) == found[k]).all() else (low, middle)
        kinks.append(high)
    return kinks


@pytest.mark.parametrize("seed", range(8))
def test_newton_ends_at_a_zero_of_its_function(seed):
    problem, r, _ = random_state(seed)
    budget = Budget(len(r), 1000)
    found, residual = newton(problem, r, tolerance=1e-11, steps=100, budget=budget)
    assert residual <= 1e-11
    np.testing.assert_allclose(value(problem, found, np.ones(len(r))), 0.0, atol=1e-9)
    assert 0 < budget.iterations < 60
    same, worse = newton(problem, r, tolerance=1e-11, steps=0, budget=Budget(len(r), 1000))
    assert same is r
    assert worse > residual
