"""Signed singular values and polar rotations against their definitions and against LAPACK."""

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pliant.materials.rotations import EIGEN, LANES, lane_svd, polar_lanes, signed_svd, stretch_lanes

MATRICES = hnp.arrays(
    np.float64, (3, 3), elements=st.floats(-10.0, 10.0, allow_nan=False).map(lambda x: 0.0 if abs(x) < 1e-60 else x)
)


def decompose(F):
    """U, s, V of `signed_svd`; the outputs are poisoned first, so an entry left unwritten is seen."""
    U, s, V = np.full((3, 3), np.inf), np.full(3, np.inf), np.full((3, 3), np.inf)
    signed_svd(np.ascontiguousarray(F, dtype=np.float64), U, s, V)
    return U, s, V


def decompose_by_lanes(F):
    """U, s, V of `lane_svd`, with F in the sixth of eight lanes of quite other matrices."""
    Fs, m = np.random.default_rng(5).normal(size=(9, LANES)), np.full(EIGEN, np.inf)
    Fs[:, 5] = F.ravel()
    stretch_lanes(Fs.ravel(), m)
    U, s, V = np.full((3, 3), np.inf), np.full(3, np.inf), np.full((3, 3), np.inf)
    lane_svd(m, 5, np.ascontiguousarray(F, dtype=np.float64), U, s, V)
    return U, s, V


def assert_signed_svd(F, tolerance=1e-14):
    for found in (decompose(F), decompose_by_lanes(F)):
        assert_svd(F, *found, tolerance)


def assert_svd(F, U, s, V, tolerance):
    scale = np.abs(F).max() or 1.0
    for frame in (U, V):
        np.testing.assert_allclose(frame.T @ frame, np.eye(3), rtol=0.0, atol=tolerance)
        assert np.linalg.det(frame) == pytest.approx(1.0, abs=tolerance)
    np.testing.assert_allclose(U @ np.diag(s / scale) @ V.T, F / scale, rtol=0.0, atol=tolerance)
    slack = tolerance * scale
    assert s[0] >= s[1] - slack
    assert s[1] >= abs(s[2]) - slack
    np.testing.assert_allclose(np.abs(s), np.linalg.svd(F, compute_uv=False), rtol=0.0, atol=slack)


def random_rotation(rng):
    Q, R = np.linalg.qr(rng.normal(size=(3, 3)))
    Q = Q * np.sign(np.diag(R))
    return Q * np.sign(np.linalg.det(Q))


@pytest.mark.parametrize("seed", range(20))
def test_random_matrices(seed):
    for F in np.random.default_rng(seed).normal(size=(50, 3, 3)):
        assert_signed_svd(F)


@settings(deadline=None, max_examples=300)
@given(MATRICES)
def test_any_matrix(F):
    assert_signed_svd(F)


@pytest.mark.parametrize("scale", [1e-60, 1e-12, 1.0, 1e12, 1e60, 1e70])
def test_scale_does_not_matter(scale):
    for F in np.random.default_rng(1).normal(size=(50, 3, 3)):
        assert_signed_svd(scale * F)


@pytest.mark.parametrize(
    "stretches",
    [
        (0.0, 0.0, 0.0),
        (1.0, 0.0, 0.0),
        (2.0, 1.0, 0.0),
        (1.0, 1.0, 0.0),
        (1.0, 1.0, 1.0),
        (1.0, 1.0, -1.0),
        (2.0, 2.0, 1.0),
        (2.0, 1.0, 1.0),
        (2.0, 1.0, -1.0),
        (1.0, 1e-9, 0.0),
        (1.0, 1e-13, 0.0),
        (1.0, 1e-8, 1e-16),
        (1e6, 1.0, 1e-6),
        (1.0 + 1e-12, 1.0, 1.0 - 1e-12),
    ],
)
def test_degenerate_stretches_in_random_frames(stretches):
    rng = np.random.default_rng(2)
    for _ in range(50):
        F = random_rotation(rng) @ np.diag(stretches) @ random_rotation(rng).T
        assert_signed_svd(F)
        for found in (decompose(F), decompose_by_lanes(F)):
            np.testing.assert_allclose(found[1], stretches, rtol=0.0, atol=3e-15 * (stretches[0] or 1.0))


@pytest.mark.parametrize("axis", range(3))
def test_single_columns_rows_and_reflections(axis):
    column = np.zeros((3, 3))
    column[:, axis] = [1.0, -2.0, 3.0]
    assert_signed_svd(column)
    assert_signed_svd(column.T)
    mirror = np.eye(3)
    mirror[axis, axis] = -1.0
    assert_signed_svd(mirror)
    assert decompose(mirror)[1][2] == -1.0


def test_sign_follows_the_determinant():
    for F in np.random.default_rng(3).normal(size=(200, 3, 3)):
        assert np.sign(decompose(F)[1][2]) == np.sign(np.linalg.det(F))


def rotations(F):
    """Rotation factors of eight matrices (8, 3, 3), from poisoned outputs."""
    R = np.full(9 * LANES, np.inf)
    by_lane = np.ascontiguousarray(F.reshape(LANES, 9).T).ravel()
    polar_lanes(by_lane, R, np.empty((3, 3)), np.empty((3, 3)), np.empty(3), np.empty((3, 3)))
    return R.reshape(9, LANES).T.reshape(LANES, 3, 3)


@pytest.mark.parametrize("seed", range(5))
def test_polar_lanes_agree_with_scipy(seed):
    rng = np.random.default_rng(seed)
    F = rng.standard_normal((LANES, 3, 3))
    F *= np.sign(np.linalg.det(F))[:, None, None]
    expected = np.stack([scipy.linalg.polar(x)[0] for x in F])
    np.testing.assert_allclose(rotations(F), expected, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("stretches", [(1e3, 1.0, 1e-3), (100.0, 100.0, 1.0), (1.0, 1.0, 1.0), (1e-4, 1e-4, 1e-4)])
def test_polar_lanes_of_strong_stretches(stretches):
    rng = np.random.default_rng(0)
    Q, W = np.linalg.qr(rng.standard_normal((2, LANES, 3, 3)))[0]
    Q *= np.sign(np.linalg.det(Q))[:, None, None]
    F = Q @ W @ np.diag(stretches) @ W.transpose(0, 2, 1)
    np.testing.assert_allclose(rotations(F), Q, rtol=0.0, atol=1e-9)


def test_polar_lanes_stay_rotations_where_a_matrix_is_inverted_flat_or_zero():
    """An inverted lane gives the closest proper rotation and does not disturb its neighbours."""
    F = np.stack([np.eye(3)] * LANES)
    F[2] = np.diag([1.0, 1.1, -0.3])
    F[4] = np.diag([1.0, 1.0, 0.0])
    F[5] = 0.0
    R = rotations(F)
    np.testing.assert_allclose(np.linalg.det(R), 1.0, atol=1e-12)
    np.testing.assert_allclose(R @ R.transpose(0, 2, 1), np.broadcast_to(np.eye(3), R.shape), atol=1e-12)
    np.testing.assert_allclose(R[[0, 1, 2, 3, 6, 7]], np.broadcast_to(np.eye(3), (6, 3, 3)), atol=1e-12)
