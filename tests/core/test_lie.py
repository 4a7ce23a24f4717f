"""Rotations: the axioms of the exponential map and its inverse."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import expm

from pliant.core.lie import cross_matrix, rotation_exp, rotation_log, turned_frame

VECTORS = st.tuples(*[st.floats(-3.0, 3.0)] * 3).map(np.array)


@given(VECTORS, VECTORS)
def test_cross_matrix_is_the_cross_product(w, x):
    np.testing.assert_allclose(cross_matrix(w) @ x, np.cross(w, x), atol=1e-12)


@given(VECTORS)
def test_exp_is_the_matrix_exponential_and_a_rotation(w):
    R = rotation_exp(w)
    np.testing.assert_allclose(R, expm(cross_matrix(w)), atol=1e-12)
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-13)
    assert np.linalg.det(R) == pytest.approx(1.0)
    np.testing.assert_allclose(R @ w, w, atol=1e-12)


@given(VECTORS)
def test_negating_the_vector_inverts_the_rotation(w):
    np.testing.assert_allclose(rotation_exp(-w), rotation_exp(w).T, atol=1e-13)


@given(VECTORS, st.floats(-1.0, 1.0), st.floats(-1.0, 1.0))
def test_rotations_about_one_axis_add(w, s, t):
    np.testing.assert_allclose(rotation_exp(s * w) @ rotation_exp(t * w), rotation_exp((s + t) * w), atol=1e-12)


@given(VECTORS)
def test_log_undoes_exp_below_half_a_turn(w):
    if np.linalg.norm(w) < np.pi - 1e-3:
        np.testing.assert_allclose(rotation_log(rotation_exp(w)), w, atol=1e-9)
    assert np.linalg.norm(rotation_log(rotation_exp(w))) <= np.pi + 1e-12


@pytest.mark.parametrize("angle", [0.0, 1e-300, 1e-12, 1e-8, 9.9e-5, 1.01e-4, 1e-3])
def test_tiny_angles_lose_no_digits(angle):
    """R − I to relative precision, on both sides of the switch to the series."""
    w = angle * np.array([0.6, 0.0, 0.8])
    exact = angle * np.array([[0, -0.8, 0], [0.8, 0, -0.6], [0, 0.6, 0]])
    np.testing.assert_allclose(0.5 * (rotation_exp(w) - rotation_exp(w).T), exact, rtol=2e-7, atol=0.0)
    np.testing.assert_allclose(rotation_log(rotation_exp(w)), w, rtol=1e-9, atol=1e-16)


@pytest.mark.parametrize("axis", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (0.6, 0, 0.8), (-0.6, 0.8, 0), (1, -1, 1)])
@pytest.mark.parametrize("short", [0.0, 1e-9, 1e-6, 1e-3])
def test_log_near_half_a_turn(axis, short):
    """exp(log R) = R; the axis may flip at exactly half a turn, where both are right."""
    w = (np.pi - short) * np.array(axis) / np.linalg.norm(axis)
    R = rotation_exp(w)
    np.testing.assert_allclose(rotation_exp(rotation_log(R)), R, atol=1e-7)


def test_a_turned_frame_returns_to_the_rotations():
    R, still = rotation_exp(np.array([0.3, -1.2, 0.7])), np.zeros(3)
    near, noisy = np.empty((3, 3)), R + 1e-6 * np.random.default_rng(0).normal(size=(3, 3))
    turned_frame(still, 1.0, noisy, near)
    np.testing.assert_allclose(near @ near.T, np.eye(3), atol=1e-14)
    U, _, V = np.linalg.svd(noisy)
    np.testing.assert_allclose(near, U @ V, atol=1e-14)
    turned_frame(still, 1.0, R, near)
    np.testing.assert_allclose(near, R, atol=1e-14)


@given(VECTORS, st.floats(-1.0, 1.0))
def test_a_turned_frame_is_turned_by_the_fraction(w, fraction):
    R, turned = rotation_exp(np.array([0.3, -1.2, 0.7])), np.empty((3, 3))
    turned_frame(w, fraction, R, turned)
    np.testing.assert_allclose(turned, rotation_exp(fraction * w) @ R, atol=1e-13)
