"""Starts of a factorization: signs, scales, extreme rays of cones that are known."""

import numpy as np
import pytest

from pliant.reduction.starts import extreme_snapshots, from_chance, from_extremes, from_singular_vectors


def cone(rank=5, contacts=20, seed=0):
    """Snapshots of a cone whose extreme rays stand at known places, among mixtures of them, of many intensities."""
    rng = np.random.default_rng(seed)
    rays = rng.random((contacts, rank)) * (rng.random((contacts, rank)) < 0.6) + np.eye(contacts, rank)
    mixed = rays @ rng.dirichlet(np.ones(rank), size=40).T
    S = np.hstack([mixed[:, :17], rays, mixed[:, 17:]]) * rng.uniform(0.1, 10.0, 40 + rank)
    return S, np.arange(17, 17 + rank), rays


@pytest.mark.parametrize("seed", range(4))
def test_extreme_snapshots_are_the_corners_of_their_cone(seed):
    S, corners, _ = cone(seed=seed)
    assert sorted(extreme_snapshots(S, 5)) == corners.tolist()
    assert len(extreme_snapshots(S, 3)) == 3
    assert set(extreme_snapshots(S, 3)) <= set(corners)
    assert set(corners) <= set(extreme_snapshots(S, 9)), "beyond the rank nothing is farther than rounding"
    first = extreme_snapshots(S, 1)[0]
    shares = S / S.sum(axis=0)
    assert first == np.argmax((shares**2).sum(axis=0))


def test_no_more_are_taken_than_there_are():
    S = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
    assert sorted(extreme_snapshots(S, 5)) == [0, 1]


def test_faint_snapshots_define_no_mode():
    """A ray of its own, a thousandth as strong as the others, is noise; just above that it counts."""
    S, _, _ = cone()
    other = np.zeros(len(S))
    other[-1] = S.sum(axis=0).max()
    for factor, counts in ((0.9e-3, False), (1.1e-3, True)):
        whole = np.column_stack([factor * other, S])
        assert (0 in extreme_snapshots(whole, 6)) is counts


def test_modes_of_extremes_have_unit_norm_and_the_weights_of_each_alone():
    S, _, _ = cone()
    W, H = from_extremes(S, 5, np.random.default_rng(0))
    picked = extreme_snapshots(S, 5)
    np.testing.assert_allclose(np.linalg.norm(W, axis=1), 1.0)
    np.testing.assert_allclose(W * np.linalg.norm(S[:, picked], axis=0)[:, None], S[:, picked].T)
    np.testing.assert_allclose(H, W @ S / 5)
    lone = np.outer(np.arange(1.0, 5.0), np.arange(1.0, 8.0))
    W, H = from_extremes(lone, 3, np.random.default_rng(0))
    assert (W > 0.0).all()
    assert (H > 0.0).all()
    np.testing.assert_allclose(W[0], np.arange(1.0, 5.0) / np.sqrt(30.0))


def test_factors_by_chance_have_the_mean_of_the_snapshots():
    S = 7.0 * np.random.default_rng(1).random((300, 400))
    W, H = from_chance(S, 6, np.random.default_rng(2))
    assert (W.shape, H.shape) == ((6, 300), (6, 400))
    assert (W.T @ H).mean() == pytest.approx(S.mean(), rel=0.05)
    assert W.min() >= 0.0
    assert W.max() <= 2.0 * np.sqrt(S.mean() / 6)


@pytest.mark.parametrize("flip", [1.0, -1.0])
def test_singular_vectors_keep_their_larger_part(flip):
    """NNDSVD by a full decomposition: of each pair the sign with more weight, scaled by √(σ m); zeros get the mean."""
    rng = np.random.default_rng(3)
    S = rng.random((12, 15)) + 3.0 * np.outer(np.arange(12) < 4, np.arange(15) < 5)
    W, H = from_singular_vectors(S, 4, np.random.default_rng(0))
    U, sigma, Vt = np.linalg.svd(S, full_matrices=False)
    for k in range(4):
        u, v = flip * U[:, k], flip * Vt[k]
        parts = [(np.maximum(s * u, 0.0), np.maximum(s * v, 0.0)) for s in (1.0, -1.0)]
        weights = [np.linalg.norm(a) * np.linalg.norm(b) for a, b in parts]
        a, b = parts[int(np.argmax(weights))]
        size = np.sqrt(sigma[k] * max(weights))
        for found, part in ((W[k], a), (H[k], b)):
            expected = size * part / np.linalg.norm(part)
            np.testing.assert_allclose(found, np.where(expected > 0.0, expected, S.mean()), rtol=1e-5, atol=1e-7)
    wide, tall = from_singular_vectors(S[:3], 5, np.random.default_rng(0))
    np.testing.assert_allclose(wide[3:], S[:3].mean())
    np.testing.assert_allclose(tall[3:], S[:3].mean())
