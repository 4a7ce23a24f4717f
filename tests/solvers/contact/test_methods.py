"""The methods behind the solvers, one at a time."""

from __future__ import annotations

import numpy as np
import pytest

from pliant.solvers.contact.blocks import (
    BlockProblem,
    Blocks,
    complementarity_gap,
    natural_map,
    projected,
    residual_of,
    scaled,
    uniform_scale,
)
from pliant.solvers.contact.budget import Budget
from pliant.solvers.contact.fallback.interior_point import interior_point
from pliant.solvers.contact.fallback.lemke import lemke
from pliant.solvers.contact.fallback.restarts import proximal_problem
from pliant.solvers.contact.friction_iteration import solve_blocks
from pliant.solvers.contact.gauss_seidel import gauss_seidel
from pliant.solvers.contact.newton import alart_curnier, newton
from pliant.solvers.contact.principal_pivoting import solve_boxes


def contacts_only(W: np.ndarray, q: np.ndarray, mu: float) -> BlockProblem:
    count = len(q) // 3
    none = np.zeros(0)
    blocks = Blocks(3 * np.arange(count), np.full(count, mu), np.zeros(0, np.int64), none, none)
    return scaled(BlockProblem(W, q, blocks), uniform_scale(W))[0]


def plenty(problem: BlockProblem) -> Budget:
    return Budget(len(problem.q), 50_000)


def boxes_and_cones(seed: int, *, cones: int, boxes: int) -> BlockProblem:
    """Boxes of all kinds (a lower bound, an upper one, two) first, then cones; redundant."""
    rng = np.random.default_rng(seed)
    m = boxes + 3 * cones
    A = rng.standard_normal((m, max(1, 2 * m // 3)))
    lower = np.where(rng.random(boxes) < 0.4, -np.inf, -rng.random(boxes))
    upper = np.where((rng.random(boxes) < 0.4) & (lower > -np.inf), np.inf, rng.random(boxes))
    blocks = Blocks(boxes + 3 * np.arange(cones), np.full(cones, 0.4), np.arange(boxes), lower, upper)
    W = A @ A.T
    return scaled(BlockProblem(W, A @ rng.standard_normal(A.shape[1]), blocks), uniform_scale(W))[0]


@pytest.fixture
def solved(stack) -> tuple[BlockProblem, np.ndarray]:  # type: ignore[no-untyped-def]
    problem = contacts_only(*stack(3, noise=0.02), 0.4)
    r, _, status = solve_blocks(problem, start=None, tolerance=1e-13, budget=plenty(problem))
    assert status.ok
    return problem, r


def test_all_functions_vanish_at_a_solution(solved) -> None:  # type: ignore[no-untyped-def]
    problem, r = solved
    u, out = problem.slip(r), np.full_like(r, np.inf)
    assert natural_map(r, u, problem.blocks, out) < 1e-12
    assert np.abs(out).max() < 1e-12
    for rho in (0.1, 1.0, 10.0):
        assert alart_curnier(r, u, np.full_like(r, rho), problem.blocks, out) < 1e-11
    assert complementarity_gap(r, u, problem.blocks) < 1e-11
    assert residual_of(proximal_problem(problem, r, 0.5), r) < 1e-12  # the proximal problem has the same solution


def test_functions_do_not_vanish_elsewhere(solved) -> None:  # type: ignore[no-untyped-def]
    problem, r = solved
    for c in np.flatnonzero(r[::3] > 1e-3):
        other = r.copy()
        other[3 * c] *= 1.1
        assert residual_of(problem, other) > 1e-4


def test_projection_lands_in_the_cones_and_stays() -> None:
    problem = boxes_and_cones(0, cones=20, boxes=10)
    b = problem.blocks
    r = projected(np.random.default_rng(1).standard_normal(70), b)
    assert (r[b.boxes] >= b.lower).all()
    assert (r[b.boxes] <= b.upper).all()
    assert (np.hypot(r[b.cones + 1], r[b.cones + 2]) <= b.mu * r[b.cones] + 1e-15).all()
    np.testing.assert_allclose(projected(r, b), r, atol=1e-15)


def test_sweeps_keep_the_slip_and_reduce_the_residual(pile) -> None:  # type: ignore[no-untyped-def]
    problem = contacts_only(*pile(30, 40), 0.5)
    r, u = np.zeros_like(problem.q), problem.q.copy()
    residuals = []
    for _ in range(5):
        gauss_seidel(np.ascontiguousarray(problem.W.T), r, u, problem.blocks, 10)
        residuals.append(residual_of(problem, r))
    np.testing.assert_allclose(u, problem.slip(r), atol=1e-12)
    assert residuals[-1] < 1e-3 * residuals[0] < 1e-3


def test_newton_is_fast_near_a_solution(solved) -> None:  # type: ignore[no-untyped-def]
    problem, r = solved
    near = r * (1.0 + 1e-4 * np.random.default_rng(0).standard_normal(len(r)))
    budget = plenty(problem)
    _, residual = newton(problem, near, tolerance=1e-12, steps=20, budget=budget)
    steps = budget.iterations
    assert residual <= 1e-12
    assert steps <= 8


@pytest.mark.parametrize("mu", [0.2, 0.8])
def test_interior_point_needs_no_start(stack, mu: float) -> None:  # type: ignore[no-untyped-def]
    problem = contacts_only(*stack(6, noise=0.01), mu)
    r, residual = interior_point(problem, tolerance=1e-8, budget=plenty(problem))
    assert residual < 1e-4
    assert newton(problem, r, tolerance=1e-8, steps=30, budget=plenty(problem))[1] <= 1e-8


@pytest.mark.parametrize("seed", range(5))
def test_interior_point_and_pivots_agree_on_boxes(seed: int) -> None:
    problem = boxes_and_cones(seed, cones=0, boxes=24)
    r, residual, _ = solve_boxes(problem, start=None, tolerance=1e-12)
    assert residual <= 1e-12
    inside, residual = interior_point(problem, tolerance=1e-9, budget=plenty(problem))
    assert residual < 1e-6
    np.testing.assert_allclose(problem.slip(inside), problem.slip(r), atol=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_boxes_and_cones_together(seed: int) -> None:
    problem = boxes_and_cones(seed, cones=12, boxes=12)
    r, _, status = solve_blocks(problem, start=None, tolerance=1e-10, budget=plenty(problem))
    assert status.ok
    middle, residual = interior_point(problem, tolerance=1e-9, budget=plenty(problem))
    assert np.isfinite(middle).all()
    assert residual < 1e-2
    assert residual_of(problem, r) <= 1e-10


def test_lemke_takes_over_from_block_pivots() -> None:
    M = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 2.0], [2.0, 0.0, 1.0]])
    chosen, ended, pivots = lemke(M, -np.ones(3), maximum_pivots=100)
    assert ended
    assert chosen.all()
    assert pivots == 4


def test_lemke_ends_on_a_ray_where_there_is_no_solution() -> None:
    _, ended, _ = lemke(np.array([[0.0, 0.0], [0.0, 1.0]]), np.array([-1.0, -1.0]), maximum_pivots=100)
    assert not ended
