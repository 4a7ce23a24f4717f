"""Designs of experiments: levels, orders of Hadamard matrices, products of factors."""

import numpy as np
import pytest

import pliant as pl
from pliant.reduction.designs import (
    _hadamard,
    _is_prime,
    fractional_factorial_levels,
    full_factorial_levels,
    latin_hypercube_levels,
    plackett_burman_levels,
)


def test_levels_of_designs():
    np.testing.assert_allclose(full_factorial_levels(1, 5)[:, 0], [-1, -0.5, 0, 0.5, 1])
    table = full_factorial_levels(3, 4)
    assert table.shape == (64, 3)
    assert len({tuple(row) for row in table.round(9)}) == 64
    assert len(full_factorial_levels(12, 2)) == 4096
    with pytest.raises(pl.InputError, match="8192 runs"):
        full_factorial_levels(13, 2)
    with pytest.raises(pl.InputError, match="2 levels or more, got 1"):
        full_factorial_levels(2, 1)
    for runs in (1, 7, 50):
        levels = latin_hypercube_levels(4, runs, seed=3)
        parts = np.floor((levels + 1.0) / 2.0 * runs)
        np.testing.assert_array_equal(np.sort(parts, axis=0), np.tile(np.arange(runs)[:, None], 4))


def test_hadamard_matrices_of_all_orders_that_the_constructions_give():
    """H Hᵀ = n I with entries ±1, to order 100; Paley over fields of 25 and 49 elements would give 52 and 100."""
    for order in range(1, 101):
        found = _hadamard(order)
        known = order in (1, 2) or (order % 4 == 0 and order not in (52, 92, 100))
        assert (found is not None) is known, order
        if found is not None:
            assert set(np.unique(found)) <= {-1.0, 1.0}
            np.testing.assert_array_equal(found @ found.T, order * np.eye(order))


@pytest.mark.parametrize("count", [1, 3, 4, 7, 8, 11, 15, 16, 19, 23, 91])
def test_designs_of_two_levels_have_the_least_runs_of_their_kind(count):
    levels = plackett_burman_levels(count)
    least = 4 * (count // 4 + 1)
    assert len(levels) == (96 if least == 92 else least)
    np.testing.assert_array_equal(levels.T @ levels, len(levels) * np.eye(count))
    assert (levels == 1.0).all(axis=1).any(), "one run has all factors high"


def test_generators_are_products_of_factors():
    table = fractional_factorial_levels("a b -ab +b")
    assert len(table) == 4
    np.testing.assert_array_equal(table[:, 2], -table[:, 0] * table[:, 1])
    np.testing.assert_array_equal(table[:, 3], table[:, 1])
    assert len({tuple(row) for row in table[:, :2]}) == 4
    for bad in ("", "a ab", "a 1", "a aa", "a -"):
        with pytest.raises(pl.InputError, match="generators"):
            fractional_factorial_levels(bad)


def test_primes():
    assert [n for n in range(-2, 60) if _is_prime(n)] == [
        2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59,
    ]  # fmt: skip
