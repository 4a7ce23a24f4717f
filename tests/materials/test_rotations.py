"""Signed singular values and polar rotations against their definitions and against LAPACK."""

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pliant.materials.rotations import polar_rotation, signed_svd

MATRICES = hnp.arrays(
    np.float64, (3, 3), elements=st.floats(-10.0, 10.0, allow_nan=False).map(lambda x: 0.0 if abs(x) < 1e-60 else x)
)


def decompose(F):
    """U, s, V of `signed_svd`; the outputs are poisoned first, so an entry left unwritten is seen."""
    U, s, V = np.full((3, 3), np.inf), np.full(3, np.inf), np.full((3, 3), np.inf)
    signed_svd(np.ascontiguousarray(F, dtype=np.float64), U, s, V)
    return U, s, V


def assert_signed_svd(F, tolerance=1e-14):
    U, s, V = decompose(F)
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
        np.testing.assert_allclose(decompose(F)[1], stretches, rtol=0.0, atol=3e-15 * (stretches[0] or 1.0))


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


@pytest.mark.parametrize("seed", range(10))
def test_polar_rotation_agrees_with_scipy(seed):
    rng = np.random.default_rng(seed)
    for F in rng.normal(size=(50, 3, 3)):
        F = F if np.linalg.det(F) > 0.0 else -F
        if np.linalg.cond(F) > 1e3:
            continue
        R = np.full((3, 3), np.inf)
        assert polar_rotation(F, R)
        expected = scipy.linalg.polar(F)[0]
        np.testing.assert_allclose(R, expected, rtol=0.0, atol=1e-13 * np.linalg.cond(F))
        U, _, V = decompose(F)
        np.testing.assert_allclose(R, U @ V.T, rtol=0.0, atol=1e-13 * np.linalg.cond(F))


@pytest.mark.parametrize("scale", [1e-9, 1e-3, 1.0, 1e3, 1e9])
def test_polar_rotation_of_a_scaled_rotation(scale):
    Q = random_rotation(np.random.default_rng(4))
    R = np.full((3, 3), np.inf)
    assert polar_rotation(scale * Q, R)
    np.testing.assert_allclose(R, Q, rtol=0.0, atol=1e-14)


@pytest.mark.parametrize("stretches", [(1.0, 1.0, 1e-6), (1e6, 1.0, 1.0), (1e4, 1.0, 1e-4), (3.0, 1.0, 0.01)])
def test_polar_rotation_of_strong_stretches(stretches):
    rng = np.random.default_rng(5)
    for _ in range(20):
        Q, W = random_rotation(rng), random_rotation(rng)
        R = np.full((3, 3), np.inf)
        assert polar_rotation(Q @ W @ np.diag(stretches) @ W.T, R)
        condition = max(stretches) / min(stretches)
        np.testing.assert_allclose(R, Q, rtol=0.0, atol=1e-14 * (10.0 + condition))


@pytest.mark.parametrize("F", [np.zeros((3, 3)), np.diag([1.0, 1.0, 0.0]), np.diag([1.0, 1.0, -1.0]), -np.eye(3)])
def test_polar_rotation_refuses_what_is_not_orientable(F):
    assert not polar_rotation(F, np.empty((3, 3)))
