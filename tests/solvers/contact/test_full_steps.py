"""Sweeps and full Newton steps from a warm start: redundant contacts, limits, and the last bits."""

import numpy as np
import pytest

from pliant.solvers.contact.blocks import BlockProblem, Blocks, projected, residual_of
from pliant.solvers.contact.full_steps import full_steps
from pliant.solvers.linear.lapack import lapack

TOLERANCE = 1e-8


def redundant(seed: int, cones: int = 8, boxes: int = 30, freedom: int = 30) -> BlockProblem:
    """More rows than degrees of freedom, of unit mean compliance and free gaps of norm 1."""
    rng = np.random.default_rng(seed)
    m = 3 * cones + boxes
    J = rng.standard_normal((m, freedom)) / np.sqrt(freedom)
    q = J @ rng.standard_normal(freedom) - 0.3 * (np.arange(m) < 3 * cones) * (np.arange(m) % 3 == 0)
    blocks = Blocks(
        3 * np.arange(cones), np.full(cones, 0.5), 3 * cones + np.arange(boxes), np.zeros(boxes), np.full(boxes, np.inf)
    )
    return BlockProblem(J @ J.T, q / np.linalg.norm(q), blocks)


def solved(p: BlockProblem, start: np.ndarray, *, limit: int = 1000, operations: float = 1e9):  # type: ignore[no-untyped-def]
    r = projected(start, p.blocks)
    columns = np.ascontiguousarray(p.W.T)
    return r, full_steps(p.W, columns, p.q, p.blocks, r, TOLERANCE, limit, operations, lapack())


@pytest.mark.parametrize("seed", range(6))
def test_redundant_contacts_converge_from_a_warm_start(seed: int) -> None:
    p = redundant(seed)
    first, _ = solved(p, np.zeros(len(p.q)))
    rng = np.random.default_rng(seed)
    moved = BlockProblem(p.W, p.q + 1e-3 * p.W @ rng.standard_normal(len(p.q)), p.blocks)
    r, (residual, iterations, _) = solved(moved, first)
    assert residual <= TOLERANCE
    assert residual == pytest.approx(residual_of(moved, r), rel=1e-3, abs=1e-15)
    assert 0 < iterations <= 40


@pytest.mark.parametrize("seed", range(3))
def test_motions_do_not_depend_on_the_last_bits(seed: int) -> None:
    """The forces of redundant contacts are not unique, the motions W r are: to much less than the tolerance."""
    p = redundant(seed)
    start, _ = solved(p, np.zeros(len(p.q)))
    q = p.q + 1e-3 * p.W @ np.random.default_rng(seed).standard_normal(len(p.q))
    one, _ = solved(BlockProblem(p.W, q, p.blocks), start)
    other, _ = solved(BlockProblem(p.W, np.nextafter(q, np.inf), p.blocks), np.nextafter(start, 0.0))
    np.testing.assert_allclose(p.W @ one, p.W @ other, atol=0.1 * TOLERANCE)


def test_forces_within_the_tolerance_stay() -> None:
    p = redundant(0)
    start, _ = solved(p, np.zeros(len(p.q)))
    r, (_, iterations, taken) = solved(p, start)
    np.testing.assert_allclose(r, start, rtol=0.0, atol=1e-12)
    assert iterations == taken == 0


def test_limits_are_kept_and_the_best_iterate_is_returned() -> None:
    p = redundant(1)
    at_rest = residual_of(p, np.zeros(len(p.q)))
    for limit in (0, 1, 4, 8):
        r, (residual, iterations, _) = solved(p, np.zeros(len(p.q)), limit=limit)
        assert iterations <= limit
        assert residual <= at_rest
        assert residual == pytest.approx(residual_of(p, r), rel=1e-6)
    _, (_, _, taken) = solved(p, np.zeros(len(p.q)), operations=5e4)
    assert taken <= 5e4
