"""Small convex programs by the dual active-set method: optimality conditions, and an independent solver."""

import numpy as np
import pytest

from pliant.solvers.inverse.active_set import least_cost
from pliant.solvers.inverse.quadratic import FREE


def program(rng, n, m):
    """H, A, f and limits with a point between them."""
    root = rng.normal(size=(n, n))
    H, A, f = root @ root.T + 0.1 * np.eye(n), rng.normal(size=(m, n)), 3.0 * rng.normal(size=n)
    inside = rng.normal(size=n)
    middle = np.concatenate([inside, A @ inside])
    low, high = middle - rng.exponential(size=n + m), middle + rng.exponential(size=n + m)
    low[rng.random(n + m) < 0.3], high[rng.random(n + m) < 0.3] = -FREE, FREE
    return H, A, f, low, high


def solved(H, A, f, low, high):
    z, duals = np.full(len(f), np.nan), np.full(len(low), np.nan)
    found = least_cost(np.vstack([H, A, f]), np.stack([low, high]), z, duals)
    return found, z, duals


@pytest.mark.parametrize("seed", range(40))
def test_conditions_of_optimality(seed):
    """Within the limits, forces balanced, and multipliers of the right sign at limits alone."""
    rng = np.random.default_rng(seed)
    H, A, f, low, high = program(rng, int(rng.integers(1, 7)), int(rng.integers(0, 12)))
    found, x, duals = solved(H, A, f, low, high)
    assert found
    rows = np.vstack([np.eye(len(f)), A])
    value, size = rows @ x, 1.0 + np.abs(rows @ x)
    assert (value >= low - 1e-9 * size).all()
    assert (value <= high + 1e-9 * size).all()
    np.testing.assert_allclose(H @ x + f + rows.T @ duals, 0.0, atol=1e-8 * (1.0 + np.abs(f).max()))
    at_low, at_high = np.abs(value - low) <= 1e-8 * size, np.abs(value - high) <= 1e-8 * size
    assert (duals[~at_low & ~at_high] == 0.0).all()
    assert (duals[at_high & ~at_low] >= 0.0).all()
    assert (duals[at_low & ~at_high] <= 0.0).all()


def test_an_interior_point_method_finds_the_same():
    piqp = pytest.importorskip("piqp")
    for seed in range(20):
        H, A, f, low, high = program(np.random.default_rng(100 + seed), 4, 6)
        found, x, _ = solved(H, A, f, low, high)
        solver = piqp.DenseSolver()
        none = {"x_l": np.where(low[:4] > -FREE, low[:4], -np.inf), "x_u": np.where(high[:4] < FREE, high[:4], np.inf)}
        solver.setup(H, f, None, None, A, low[4:], high[4:], none["x_l"], none["x_u"])
        solver.solve()
        assert found
        np.testing.assert_allclose(x, solver.result.x, atol=1e-5 * (1.0 + np.abs(x).max()))


def test_what_cannot_be_trusted_is_left_open():
    """A flat cost, and limits that no point meets."""
    A, f = np.array([[1.0, 1.0]]), np.array([1.0, -1.0])
    wide = (np.full(3, -FREE), np.full(3, FREE))
    assert not solved(np.diag([1.0, 0.0]), A, f, *wide)[0]
    low, high = np.array([1.0, 1.0, -FREE]), np.array([2.0, 2.0, 1.5])
    assert not solved(np.eye(2), A, f, low, high)[0]
