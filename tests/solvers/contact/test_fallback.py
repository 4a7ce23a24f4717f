"""Methods that take over where the main path stalls, each alone and by what it promises."""

import numpy as np
import pytest

from pliant.core.errors import ConvergenceError
from pliant.solvers.contact.blocks import BlockProblem, Blocks, equilibrating_scale, projected, residual_of, scaled
from pliant.solvers.contact.budget import Budget
from pliant.solvers.contact.fallback import restarts
from pliant.solvers.contact.fallback.interior_point import interior_point
from pliant.solvers.contact.fallback.least_distance import least_distance
from pliant.solvers.contact.fallback.lemke import lemke
from pliant.solvers.contact.fallback.restarts import _interior, _proximal, proximal_problem, restart
from pliant.solvers.contact.fractions import _accelerated, _tensions_before
from pliant.solvers.contact.friction_iteration import Iterate
from pliant.solvers.contact.newton import newton

TOLERANCE = 1e-8


def of_low_rank(seed, *, solvable=True):
    """W of 14 rows on 5 freedoms with a unit diagonal, and q that some forces open, or none."""
    rng = np.random.default_rng(seed)
    J = rng.normal(size=(14, 5))
    J /= np.linalg.norm(J, axis=1, keepdims=True)
    if solvable:
        return J @ J.T, J @ rng.normal(size=5) + 0.1 * rng.uniform(size=14)
    J[1] = -J[0]
    return J @ J.T, np.where(np.arange(14) < 2, -1.0, 0.0)


@pytest.mark.parametrize("seed", range(10))
def test_the_least_distance_is_a_solution_of_dependent_rows(seed):
    """x ≥ 0, W x + q ≥ 0 and orthogonal, and no shorter Lᵀx opens the rows."""
    W, q = of_low_rank(seed)
    x, iterations = least_distance(W, q)
    u = W @ x + q
    assert iterations > 0
    assert x.min() >= 0.0
    assert u.min() > -1e-9
    assert np.abs(x * u).max() < 1e-9
    for other in np.abs(np.random.default_rng(seed).normal(size=(200, 14))):
        if (W @ other + q).min() >= 0.0:
            assert x @ W @ x <= other @ W @ other + 1e-9


def test_rows_that_no_forces_open_have_no_least_distance():
    W, q = of_low_rank(0, solvable=False)
    assert least_distance(W, q) is None


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("skew", [0.0, 0.3])
def test_lemke_ends_in_a_complementary_basis(seed, skew):
    """With the rows that it names at w = 0 and z = 0 at all others, both are ≥ 0; also for a matrix that is not
    symmetric.
    """
    W, q = of_low_rank(seed)
    rng = np.random.default_rng(seed)
    A = rng.normal(size=W.shape)
    M = W + skew * (A - A.T) + (skew > 0.0) * 0.2 * np.eye(len(q))
    chosen, solved, pivots = lemke(M, q, maximum_pivots=200)
    assert solved
    assert 0 < pivots <= 200 or q.min() >= 0.0
    z = np.zeros(len(q))
    z[chosen] = np.linalg.lstsq(M[np.ix_(chosen, chosen)], -q[chosen], rcond=None)[0]
    w = M @ z + q
    assert z.min() > -1e-8
    assert w.min() > -1e-8
    assert np.abs(w[chosen]).max(initial=0.0) < 1e-8


def test_lemke_ends_on_a_ray_or_at_its_limit_without_a_solution():
    W, q = of_low_rank(0, solvable=False)
    assert lemke(W, q, maximum_pivots=200)[1] is False
    W, q = of_low_rank(1)
    assert lemke(W, q, maximum_pivots=1)[1:] == (False, 1)
    assert lemke(W, np.ones(len(q)), maximum_pivots=5) == (pytest.approx(np.zeros(len(q))), True, 0)


def wedged(pile, seed, mu=0.9):
    """More contacts than bodies resist alone: scaled as the main path does it."""
    W, q = pile(8, 40, seed=seed)
    count = len(q) // 3
    blocks = Blocks(3 * np.arange(count), np.full(count, mu), np.zeros(0, np.int64), np.zeros(0), np.zeros(0))
    return scaled(BlockProblem(W, q, blocks), equilibrating_scale(W, blocks))[0]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("mu", "reached"), [(0.2, TOLERANCE), (0.9, 1e-2)])
def test_the_interior_point_and_newton_need_no_start(pile, seed, mu, reached):
    """Forces inside their cones, a residual as it says, less work than granted; far from convex it may stall."""
    problem = wedged(pile, seed, mu)
    budget = Budget(len(problem.q), 50_000)
    r, residual = interior_point(problem, tolerance=TOLERANCE, budget=budget)
    assert residual == pytest.approx(residual_of(problem, r), rel=1e-6, abs=1e-15)
    force = r.reshape(-1, 3)
    assert (np.hypot(force[:, 1], force[:, 2]) <= mu * force[:, 0] + 1e-9).all()
    assert 0 < budget.iterations < 200
    better, residual = newton(problem, r, tolerance=TOLERANCE, steps=60, budget=budget)
    assert residual <= reached
    assert residual == pytest.approx(residual_of(problem, better))
    spent = Budget(len(problem.q), 2)
    interior_point(problem, tolerance=TOLERANCE, budget=spent)
    assert spent.iterations <= 2


@pytest.mark.parametrize("seed", range(3))
def test_each_restart_improves_a_stalled_iterate_and_ends_with_the_tolerance_or_the_budget(pile, seed):
    problem = wedged(pile, seed)
    start = projected(np.random.default_rng(seed).normal(size=len(problem.q)), problem.blocks)
    for again in (
        _interior,
        lambda iterate: _proximal(iterate, start, 0.03, steps=20),
        lambda iterate: restart(iterate, start),
    ):
        iterate = Iterate(problem, start, TOLERANCE, Budget(len(problem.q), 50_000))
        before = iterate.residual
        again(iterate)
        assert iterate.residual < 1e-2 * before
        assert iterate.residual == pytest.approx(residual_of(problem, iterate.r), rel=1e-6, abs=1e-15)
    assert iterate.residual <= TOLERANCE
    done = Iterate(problem, iterate.r, TOLERANCE, Budget(len(problem.q), 50_000))
    restart(done, start)
    assert done.budget.iterations == 0


@pytest.mark.parametrize("sigma", [0.03, 0.3, 3.0])
def test_a_solution_solves_the_proximal_problem_around_itself(pile, sigma):
    """(W + σ diag W) x + q − σ diag W r has the slips of the problem at x = r, and grows by σ diag W from there."""
    problem = wedged(pile, 0)
    iterate = Iterate(problem, np.zeros(len(problem.q)), TOLERANCE, Budget(len(problem.q), 50_000))
    iterate.rounds(4)
    restart(iterate, iterate.r)
    near = proximal_problem(problem, iterate.r, sigma)
    assert residual_of(near, iterate.r) <= 2.0 * TOLERANCE
    d = np.random.default_rng(0).normal(size=len(problem.q))
    np.testing.assert_allclose(near.slip(iterate.r), problem.slip(iterate.r), atol=1e-12)
    change = near.slip(iterate.r + d) - problem.slip(iterate.r + d)
    np.testing.assert_allclose(change, sigma * problem.W.diagonal() * d, atol=1e-10)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_linear_map_is_at_its_fixed_point_after_as_many_points_as_dimensions(count):
    """x ↦ A x + b, whose moves are linear in the points; with one point it is one step of the map."""
    rng = np.random.default_rng(count)
    A, b = 0.9 * rng.normal(size=(count, count)), rng.normal(size=count)
    fixed = np.linalg.solve(np.eye(count) - A, b)
    points, moves, x = [], [], rng.normal(size=count)
    first = x
    for k in range(count + 1):
        points, moves = [*points, x], [*moves, A @ x + b - x]
        x = _accelerated(points, moves)
        if k == 0:
            np.testing.assert_allclose(x, A @ first + b)
    np.testing.assert_allclose(x, fixed, atol=1e-8)


def test_the_tension_before_a_guide_is_that_of_the_motor_less_what_was_lost():
    """Two cables, with three and two guides, and a row between them that is none."""
    rows = np.array([1, 2, 3, 6, 7])
    lam = np.array([10.0, 1.0, 2.0, 3.0, 99.0, 20.0, 4.0, 5.0])
    np.testing.assert_allclose(_tensions_before(8, rows) @ lam, [10.0, 9.0, 7.0, 20.0, 16.0])


def test_budgets_are_shared_out():
    """A quarter of the operations for the first attempt, less where little time is left; sweeps as many as remain."""
    budget = Budget(300, 1000)
    limit, operations = budget.first
    assert limit == 1000
    budget.take(10, 1e6)
    assert budget.first[0] == 990
    assert budget.first[1] == pytest.approx(operations - 0.25 * 10 * (1e6 + 3e5))
    assert Budget(300, 1000, seconds=0.05).first[1] <= 0.05e9
    assert Budget(300, 1000, seconds=1e6).first[1] == operations
    assert Budget(300, 5).take_sweeps(100, 300) == 5
    assert Budget(300, 1000).take_sweeps(7, 300) == 7
    few = Budget(300, 10**6)
    few.take(1, few._operations - 10 * 300.0**2)
    left = few.take_sweeps(10**6, 300)
    assert 1 <= left <= 11
    while not few.spent:
        assert few.take_sweeps(10, 300) >= 1
    assert few.take_sweeps(10, 300) <= 1


def test_no_convergence_of_fractions_says_what_to_try():
    """Guides that press each other's rod ever harder: an error with the last forces."""
    from pliant.core.status import Status
    from pliant.solvers.contact.fractions import solve_fractions
    from pliant.solvers.contact.laws import Law, MixedProblem
    from pliant.solvers.contact.result import ComplementarityResult

    problem = MixedProblem.of(np.eye(2), [0.0, 0.0], [Law.BOUNDED, Law.CAPSTAN], lower=[0.0, -0.1], upper=[np.inf, 0.1])
    seen = []

    def growing(boxes, warm):
        seen.append((boxes.lower[1], boxes.upper[1]))
        lam = np.array([2.0 ** len(seen) if len(seen) % 2 else 1.0, 0.0])
        return ComplementarityResult(lam, lam, Status.CONVERGED, 0.0, 0.0, 1)

    with pytest.raises(ConvergenceError, match="did not converge in 100 rounds") as error:
        solve_fractions(problem, np.array([1]), np.zeros(0, np.int64), growing, None, 1e-8)
    assert error.value.result.iterations == 100
    assert error.value.result.status is Status.ITERATION_LIMIT
    assert error.value.result.residual > 0.1
    assert seen[0] == (0.0, 0.0)
    assert all(low == -high for low, high in seen)


def test_all_starts_are_tried_where_none_is_enough(pile, monkeypatch):
    """Interior point first, then proximal steps: from the sweeps, from the best so far, from the very start."""
    problem = wedged(pile, 0)
    first = projected(np.random.default_rng(0).normal(size=len(problem.q)), problem.blocks)
    swept = 0.5 * first
    iterate = Iterate(problem, swept, 0.0, Budget(len(problem.q), 50_000))
    tried = []

    def interior(given):
        tried.append("interior")
        given.r = 0.9 * swept

    monkeypatch.setattr(restarts, "_interior", interior)
    monkeypatch.setattr(restarts, "_proximal", lambda _, r, sigma, steps=100: tried.append((r, sigma, steps)))
    restart(iterate, first)
    assert tried[0] == "interior"
    starts = [r for r, *_ in tried[1:]]
    for expected in (swept, 0.9 * swept, first):
        assert any(np.array_equal(r, expected) for r in starts)


@pytest.mark.parametrize("seed", range(3))
def test_proximal_steps_reach_the_tolerance_from_zero_and_take_less_where_solved(pile, seed):
    """With less shift after each step that succeeded; the work is counted, and nothing is done beyond it."""
    problem = wedged(pile, seed, 0.2)
    zero = np.zeros(len(problem.q))
    iterate = Iterate(problem, zero, TOLERANCE, Budget(len(problem.q), 50_000))
    _proximal(iterate, zero, 0.3)
    assert iterate.residual <= TOLERANCE
    work = iterate.budget.iterations
    again = Iterate(problem, iterate.r, TOLERANCE, Budget(len(problem.q), 50_000))
    _proximal(again, iterate.r, 0.3)
    assert again.budget.iterations == 0
    short = Iterate(problem, zero, 0.0, Budget(len(problem.q), work // 2))
    _proximal(short, zero, 0.3)
    assert short.budget.iterations <= work // 2 + 1
    assert short.residual < residual_of(problem, zero)
