"""Non-negative least squares, against SciPy's and against its optimality conditions."""

import numpy as np
import pytest
from scipy import optimize

import pliant as pl
from pliant.reduction.nnls import sparse_nnls


@pytest.mark.parametrize("shape", [(30, 10), (20, 60), (8, 8)])
@pytest.mark.parametrize("seed", range(4))
def test_without_tolerance_it_is_the_solution_of_scipy(shape, seed):
    random = np.random.default_rng(seed)
    G, b = random.standard_normal(shape), random.standard_normal(shape[0])
    found = sparse_nnls(G, b, tolerance=0.0)
    x = np.zeros(shape[1])
    x[found.support] = found.values
    wanted, norm = optimize.nnls(G, b)
    assert found.residual * np.linalg.norm(b) == pytest.approx(norm, abs=1e-9)
    if shape[0] >= shape[1]:
        np.testing.assert_allclose(x, wanted, atol=1e-9)
    slope = G.T @ (b - G @ x)
    assert slope.max() <= 1e-9 * np.linalg.norm(G)
    np.testing.assert_allclose(slope[found.support], 0.0, atol=1e-9)


def test_it_stops_early_with_few_entries():
    """Sums of smooth columns need far fewer of them, and the residual is the one asked for."""
    x = np.linspace(0.0, 1.0, 4000)
    G = np.stack([np.cos(np.pi * k * x) for k in range(20)]) + 1.0
    b = G.sum(axis=1)
    sizes = []
    for tolerance in (1e-1, 1e-2, 1e-4):
        found = sparse_nnls(G, b, tolerance=tolerance)
        assert found.residual <= tolerance
        assert (found.values > 0.0).all()
        missed = np.linalg.norm(G[:, found.support] @ found.values - b) / np.linalg.norm(b)
        assert missed == pytest.approx(found.residual, rel=1e-6, abs=1e-12)
        sizes.append(len(found.support))
    assert sizes == sorted(sizes)
    assert sizes[-1] <= 20


def test_repeated_and_empty_columns_do_no_harm():
    random = np.random.default_rng(5)
    column = random.random((10, 3))
    G = np.hstack([np.zeros((10, 1)), column, column, column + 1e-14])
    b = column @ np.array([1.0, 2.0, 3.0])
    found = sparse_nnls(G, b, tolerance=1e-10)
    assert len(found.support) <= 3


def test_what_cannot_be_matched_is_an_error():
    with pytest.raises(pl.ConvergenceError, match=r"at least 1\.00e"):
        sparse_nnls(np.ones((3, 2)), -np.ones(3), tolerance=1e-3)
    with pytest.raises(pl.InputError, match="b is zero"):
        sparse_nnls(np.ones((3, 2)), np.zeros(3))


def test_weights_of_given_modes_are_those_of_lawson_and_hanson():
    rng = np.random.default_rng(0)
    basis, S = rng.random((30, 6)), rng.random((30, 8))
    basis[:, 4] = 0.0
    weights = pl.reduction.non_negative_fit(basis, S)
    for k in range(8):
        np.testing.assert_allclose(weights[:, k], optimize.nnls(basis, S[:, k])[0], atol=1e-12)


def test_snapshots_need_the_contacts_of_the_modes():
    with pytest.raises(pl.InputError, match="basis has 3 contacts, the snapshots 4"):
        pl.reduction.non_negative_fit(np.ones((3, 2)), np.ones((4, 2)))
    assert pl.reduction.fit_error(np.ones((3, 1)), np.zeros((3, 2))) == 0.0
    assert pl.reduction.fit_error(np.zeros((3, 1)), np.ones((3, 2))) == 1.0


def test_a_column_of_zeros_has_no_weight_wherever_it_stands():
    """Its direction is none: it never enters, and the others are found as without it."""
    random = np.random.default_rng(6)
    G, b = random.random((12, 4)), random.random(12)
    alone = sparse_nnls(G, b, tolerance=0.0)
    for place in range(5):
        wide = np.insert(G, place, 0.0, axis=1)
        found = sparse_nnls(wide, b, tolerance=0.0)
        assert place not in found.support
        assert found.residual == pytest.approx(alone.residual, rel=1e-12)
        np.testing.assert_allclose(wide[:, found.support] @ found.values, G[:, alone.support] @ alone.values)
