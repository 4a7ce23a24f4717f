"""Non-negative factorization: signs, normalisation, repeatability, cones that are known, ranks that grow."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

import pliant as pl
from pliant.core.status import Status
from pliant.core.threads import one_blas_thread
from pliant.reduction.hals import Factors, hals
from pliant.reduction.nnmf import _agree, grown, pruned


def patches(contacts=90, steps=60, runs=2, seed=0):
    """Contact patches that grow while they are pressed, as snapshots of a robot that folds."""
    rng = np.random.default_rng(seed)
    x = np.linspace(0.0, 1.0, 30)
    columns = []
    for _ in range(runs):
        load = rng.normal(size=contacts // 30)
        for step in range(steps):
            pressed = np.maximum(2.0 * load * (step + 1) / steps - 0.3, 0.0)
            width = 0.05 + 0.3 * np.sqrt(pressed)
            bells = pressed[:, None] * np.maximum(1.0 - ((x - 0.3) / width[:, None]) ** 2, 0.0)
            columns.append(bells.ravel())
    return np.array(columns).T


def separable(contacts=40, snapshots=120, rank=6, seed=0):
    """Snapshots of a known cone: each generator occurs alone in one of them."""
    rng = np.random.default_rng(seed)
    modes = rng.random((contacts, rank)) * (rng.random((contacts, rank)) < 0.5)
    weights = rng.dirichlet(np.full(rank, 0.5), size=snapshots).T * rng.uniform(0.5, 3.0, size=snapshots)
    weights[:, :rank] = np.diag(rng.uniform(0.5, 3.0, size=rank))
    return modes, (modes @ weights)[:, rng.permutation(snapshots)]


@pytest.mark.parametrize("method", ["hals", "als"])
def test_factors_are_non_negative_and_normalised_and_the_error_is_theirs(method):
    S = patches()
    found = pl.reduction.nnmf(S, rank=5, seed=0, method=method)
    assert found.basis.shape == (90, 5)
    assert found.weights.shape == (5, 120)
    assert found.basis.min() >= 0.0
    assert found.weights.min() >= 0.0
    live = found.weights.any(axis=1)  # clipping may take all of a published mode away
    assert live.all() or method == "als"
    assert np.linalg.norm(found.basis, axis=0) == pytest.approx(live.astype(float))
    assert found.error == pytest.approx(np.linalg.norm(S - found.basis @ found.weights) / np.linalg.norm(S), rel=1e-9)
    assert 0.0 < found.error < 0.3
    assert found.status.ok or found.status is pl.Status.ITERATION_LIMIT
    assert found.iterations > 0


@pytest.mark.parametrize("method", ["hals", "als"])
def test_the_same_seed_gives_the_same_bits(method):
    S = patches(seed=3)
    first, again = (pl.reduction.nnmf(S, rank=4, seed=7, method=method) for _ in range(2))
    assert first.basis.tobytes() == again.basis.tobytes()
    assert first.weights.tobytes() == again.weights.tobytes()


@pytest.mark.parametrize("seed", range(4))
def test_the_generating_cone_of_separable_data_is_recovered(seed):
    modes, S = separable(seed=seed)
    found = pl.reduction.nnmf(S, rank=6, seed=0, tolerance=1e-8, iterations=2000)
    assert found.error < 1e-4
    cosines = (modes / np.linalg.norm(modes, axis=0)).T @ found.basis
    assert np.sort(cosines.argmax(axis=1)).tolist() == list(range(6)), "every generator is one mode"
    assert cosines.max(axis=1).min() > 1.0 - 1e-6


def test_als_is_the_published_algorithm_and_keeps_its_best_iterate():
    S = patches(seed=1)
    S = S[S.any(axis=1)][:, S.any(axis=0)]
    basis, errors = np.random.default_rng(5).random((len(S), 4)), []
    for _ in range(40):
        weights = np.maximum(np.linalg.lstsq(basis, S, rcond=None)[0], 0.0)
        basis = np.maximum(np.linalg.lstsq(weights.T, S.T, rcond=None)[0].T, 0.0)
        errors.append(np.linalg.norm(S - basis @ weights) / np.linalg.norm(S))
    found = pl.reduction.nnmf(S, rank=4, seed=5, method="als", restarts=1, iterations=40)
    assert found.error == pytest.approx(min(errors), rel=1e-6)


def test_hals_never_rises_and_ends_at_a_stationary_point():
    S = patches(seed=2)[:60]
    rng = np.random.default_rng(0)
    W, H = rng.random((4, 60)), rng.random((4, S.shape[1]))
    with one_blas_thread():
        errors = [hals(S, W, H, iterations=n, tolerance=1e-14).squared for n in (1, 2, 5, 10, 20, 50, 100, 400, 3000)]
        end = hals(S, W, H, iterations=20000, tolerance=1e-14)
    assert (np.diff(errors) <= 1e-12 * errors[0]).all()
    gradient = end.W @ (end.W.T @ end.H - S)  # of the weights: ≥ 0, and zero where they are not (Karush, Kuhn, Tucker)
    scale = np.abs(end.W @ S).max()
    assert gradient.min() > -1e-3 * scale
    assert np.abs(gradient * end.H).max() < 1e-3 * scale * end.H.max()


def test_rank_one_is_the_leading_singular_pair():
    S = np.random.default_rng(0).random((30, 20))
    sigma = np.linalg.svd(S, compute_uv=False)
    found = pl.reduction.nnmf(S, rank=1, seed=0, tolerance=1e-10, iterations=1000)
    assert found.error == pytest.approx(np.sqrt((sigma[1:] ** 2).sum() / (sigma**2).sum()), rel=1e-8)


def test_the_error_never_rises_with_the_rank():
    S = patches(contacts=120, runs=4, seed=4)
    family = list(pl.reduction.nnmf_family(S, ranks=range(1, 31), seed=0))
    errors = np.array([found.error for found in family])
    assert [found.rank for found in family] == list(range(1, 31))
    assert (np.diff(errors) <= 0.0).all()
    assert errors[-1] < 0.01
    assert errors[0] > 0.3


def test_contacts_that_never_touch_and_steps_without_contact_change_nothing():
    S = patches(seed=1)
    S = S[S.any(axis=1)][:, S.any(axis=0)]
    wide = np.zeros((2 * len(S), 3 * S.shape[1]))
    wide[::2, ::3] = S
    lean, found = (pl.reduction.nnmf(matrix, rank=4, seed=0) for matrix in (S, wide))
    np.testing.assert_array_equal(found.basis[::2], lean.basis)
    np.testing.assert_array_equal(found.weights[:, ::3], lean.weights)
    assert not found.basis[1::2].any()


def test_no_forces_have_no_modes():
    found = pl.reduction.nnmf(np.zeros((5, 7)), rank=2, seed=0)
    assert found.error == 0.0
    assert not found.basis.any()


@pytest.mark.parametrize(
    ("snapshots", "options", "message"),
    [
        (-np.eye(3), {"rank": 1}, r"snapshots\[0, 0\] is -1 N"),
        (np.eye(3) * np.nan, {"rank": 1}, "finite"),
        (np.zeros((0, 3)), {"rank": 1}, "empty"),
        (np.eye(3), {"rank": 4}, "rank 4 exceeds the 3 contacts"),
        (np.eye(3), {"rank": 0}, "rank must be"),
        (np.eye(3), {"rank": 1, "method": "svd"}, "method"),
    ],
)
def test_bad_input_is_named(snapshots, options, message):
    with pytest.raises(pl.InputError, match=message):
        pl.reduction.nnmf(snapshots, seed=0, **options)


def digits(seed):
    """Pictures of handwritten digits, (64, 150)."""
    data = pytest.importorskip("sklearn.datasets").load_digits().data
    return data[np.random.default_rng(seed).permutation(len(data))[:150]].T


def decays(seed):
    """Mixtures of nine exponentials."""
    rng = np.random.default_rng(seed)
    rates = np.exp(rng.uniform(0.0, 4.0, 9))
    return np.exp(-np.linspace(0.0, 1.0, 120)[:, None] * rates) @ rng.dirichlet(np.full(9, 0.3), size=120).T


def counts(seed):
    """Poisson counts of ten sources."""
    rng = np.random.default_rng(seed)
    return rng.poisson(rng.gamma(0.3, 2.0, (120, 10)) @ rng.gamma(0.3, 2.0, (10, 120))).astype(float)


def spots(seed):
    """Three spots that wander over a square of 12 × 12 points."""
    rng = np.random.default_rng(seed)
    x, y = (axis.ravel()[:, None] for axis in np.meshgrid(*2 * [np.linspace(0.0, 1.0, 12)]))
    S = np.zeros((144, 120))
    for _ in range(3):
        time = np.outer(rng.uniform(1.0, 5.0, 2), np.linspace(0.0, 3.0, 120)) + rng.uniform(0.0, 6.0, (2, 1))
        a, b = 0.5 + 0.4 * np.sin(time)
        S += rng.uniform(0.5, 2.0) * np.maximum(1.0 - ((x - a) ** 2 + (y - b) ** 2) / rng.uniform(0.01, 0.05), 0.0)
    return S


def noise(seed):
    """Nothing to find."""
    return np.random.default_rng(seed).random((120, 120))


FOREIGN = {digits: 8, decays: 5, counts: 10, spots: 9, noise: 8}
"""Families that no setting was chosen on, and ranks."""


@pytest.mark.filterwarnings("ignore:Maximum number of iterations")
@pytest.mark.parametrize("seed", range(3))
def test_the_objective_is_no_worse_than_that_of_scikit_learn(seed):
    decomposition = pytest.importorskip("sklearn.decomposition")
    ratios = []
    for family, rank in {(lambda k: patches(contacts=300, runs=4, seed=10 + k)): 8, **FOREIGN}.items():
        S = family(seed)
        found = pl.reduction.nnmf(S, rank=rank, seed=seed)
        for init in ("nndsvda", "random"):
            model = decomposition.NMF(rank, init=init, random_state=seed, max_iter=200).fit(S)
            ratios.append(found.error / (model.reconstruction_err_ / np.linalg.norm(S)))
    assert max(ratios) < 1.01  # minima of one matrix differ in the third digit
    assert np.exp(np.log(ratios).mean()) < 1.0


def sparse_factors(rank, contacts=40, snapshots=60, seed=0):
    """Factors of which each mode has contacts and times of its own."""
    rng = np.random.default_rng(seed)
    W, H = np.zeros((contacts, rank)), np.zeros((rank, snapshots))
    for k in range(rank):
        W[k::rank, k] = rng.uniform(0.5, 1.0, len(W[k::rank]))
        H[k, k::rank] = rng.uniform(0.5, 1.0, len(H[k, k::rank])) * (k + 1)
    return W, H


@pytest.mark.parametrize("method", ["hals", "als"])
def test_modes_have_unit_norm_and_the_largest_come_first(method):
    W, H = sparse_factors(5)
    found = pl.reduction.nnmf(W @ H, rank=5, seed=0, method=method, restarts=3, tolerance=1e-12, iterations=2000)
    np.testing.assert_allclose(np.linalg.norm(found.basis, axis=0), 1.0, rtol=1e-12)
    assert (found.basis >= 0.0).all()
    assert (found.weights >= 0.0).all()
    sizes = np.linalg.norm(found.weights, axis=1)
    assert (np.diff(sizes) <= 0.0).all()
    expected = np.sort(np.linalg.norm(H, axis=1) * np.linalg.norm(W, axis=0))[::-1]
    np.testing.assert_allclose(sizes, expected, rtol=1e-4)
    assert found.error == pytest.approx(
        np.linalg.norm(W @ H - found.basis @ found.weights) / np.linalg.norm(W @ H), abs=1e-12
    )


def test_modes_that_are_not_needed_are_zero():
    W, H = sparse_factors(2)
    found = pl.reduction.nnmf(W @ H, rank=4, seed=0, tolerance=1e-12, iterations=500)
    live = found.basis.any(axis=0)
    np.testing.assert_array_equal(live, found.weights.any(axis=1))
    assert found.error < 1e-6
    np.testing.assert_allclose(np.linalg.norm(found.basis[:, live], axis=0), 1.0)


@pytest.mark.parametrize(
    ("errors", "agree"),
    [((4.0, 4.0), True), ((4.0, 4.0 * (1 + 1.9e-3)), True), ((4.0 * (1 + 1.9e-3), 4.0), True),
     ((4.0, 4.0 * (1 + 2.1e-3)), False), ((0.01, 0.02), False), ((4.0,), False), ((4.0, 4.0, 4.0), False)],
)  # fmt: skip
def test_two_starts_agree_where_their_squared_errors_differ_by_two_in_a_thousand(errors, agree):
    assert _agree([SimpleNamespace(squared=error) for error in errors]) is agree


def test_a_basis_grows_by_what_is_left_of_its_worst_snapshot():
    W, H = sparse_factors(3)
    S = W @ H
    less = Factors(W.T[:1].copy(), H[:1].copy(), 0.0, 0, Status.CONVERGED)
    more_W, more_H = grown(S, less, 3)
    assert (more_W.shape, more_H.shape) == ((3, 40), (3, 60))
    np.testing.assert_array_equal(more_W[0], W.T[0])
    left = S - np.outer(W[:, 0], H[0])
    worst = int((left**2).sum(axis=0).argmax())
    np.testing.assert_allclose(more_W[1], left[:, worst], atol=1e-15)
    np.testing.assert_array_equal(more_H[1], np.eye(60)[worst])
    left = left - np.outer(more_W[1], more_H[1])
    np.testing.assert_allclose(more_W[2], left[:, int((left**2).sum(axis=0).argmax())], atol=1e-15)


def test_the_mode_that_adds_least_is_pruned():
    """By hand: of a mode twice, one goes though it is large; else the one of the least weight."""
    W, H = np.eye(3, 5), np.diag([3.0, 1.0, 2.0])
    kept_W, kept_H = pruned(Factors(W, H, 0.0, 0, Status.CONVERGED))
    np.testing.assert_array_equal(kept_W, W[[0, 2]])
    np.testing.assert_array_equal(kept_H, H[[0, 2]])
    long = np.array([[1.0, 1.0, 1.0, 0.0], [2.0, 0.0, 0.0, 0.0], [0.0, 3.0, 0.0, 0.0]])
    np.testing.assert_array_equal(pruned(Factors(W, long, 0.0, 0, Status.CONVERGED))[1], long[1:])
    double = np.vstack([W, W[:1]])
    kept_W, kept_H = pruned(Factors(double, np.diag([3.0, 1.0, 2.0, 3.5]), 0.0, 0, Status.CONVERGED))
    np.testing.assert_array_equal(kept_W, double[1:])
    np.testing.assert_array_equal(kept_H, np.diag([3.0, 1.0, 2.0, 3.5])[1:])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"restarts": -1}, "restarts"), ({"restarts": True}, "restarts"), ({"restarts": 1.0}, "restarts"),
        ({"tolerance": 0.0}, "tolerance"), ({"iterations": 0}, "iterations"), ({"rank": 3}, "rank 3 exceeds"),
    ],
)  # fmt: skip
def test_options_out_of_range_are_named(options, message):
    for S in (np.ones((2, 5)), np.ones((5, 2))):
        with pytest.raises(pl.InputError, match=message):
            pl.reduction.nnmf(S, **{"rank": 1, "seed": 0} | options)
    with pytest.raises(pl.InputError, match="ranks must ascend"):
        pl.reduction.nnmf_family(np.ones((4, 4)), ranks=[1, 1], seed=0)
    with pytest.raises(pl.InputError, match="ranks must ascend"):
        pl.reduction.nnmf_family(np.ones((4, 4)), ranks=[], seed=0)


def test_a_family_of_snapshots_without_force_and_of_full_rank():
    assert [(f.rank, f.error) for f in pl.reduction.nnmf_family(np.zeros((4, 4)), ranks=[1, 3], seed=0)] == [
        (1, 0.0), (3, 0.0),
    ]  # fmt: skip
    W, H = sparse_factors(2)
    family = list(pl.reduction.nnmf_family(W @ H, ranks=[1, 2, 3, 5], seed=0, restarts=1))
    assert [found.rank for found in family] == [1, 2, 3, 5]
    assert [found.basis.shape[1] for found in family] == [1, 2, 3, 5]
    assert (np.diff([found.error for found in family]) <= 0.0).all()
    assert family[0].error > 0.1 > 1e-3 > family[1].error


def test_sparse_snapshots_are_those_of_their_array():
    W, H = sparse_factors(3)
    dense, thin = (pl.reduction.nnmf(S, rank=3, seed=1) for S in (W @ H, sparse.csr_matrix(W @ H)))
    np.testing.assert_array_equal(dense.basis, thin.basis)
