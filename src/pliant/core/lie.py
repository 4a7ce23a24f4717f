"""Rotations as 3×3 matrices: the exponential map, its inverse, and the cross-product matrix."""

from __future__ import annotations

import numpy as np

from pliant.core.arrays import frozen
from pliant.core.kernels import kernel
from pliant.core.spins import exponential, multiply, multiply_transposed
from pliant.core.types import FloatArray


def cross_matrix(w: FloatArray) -> FloatArray:
    """[w]× with [w]× x = w × x, (3, 3)."""
    return np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])


def rotation_exp(w: FloatArray) -> FloatArray:
    """Rotation matrix (3, 3) of the rotation vector w (3,), rad (Rodrigues), accurate for tiny angles too."""
    R = np.empty((3, 3))
    _exponential(frozen(np.ascontiguousarray(w, np.float64)), R)
    return R


@kernel
def _exponential(w: FloatArray, R: FloatArray) -> None:
    exponential(w, 1.0, R)


def rotation_log(R: FloatArray) -> FloatArray:
    """Rotation vector (3,), rad, of length ≤ π, of the rotation matrix R (3, 3)."""
    skew = 0.5 * np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    sine, cosine = float(np.linalg.norm(skew)), 0.5 * (float(np.trace(R)) - 1.0)
    angle = float(np.arctan2(sine, cosine))
    if sine > 1e-7:  # else the quotient loses digits, and skew itself is accurate to 1e-14
        return skew * (angle / sine)
    if cosine > 0.0:
        return skew
    column = np.argmax(np.diag(R))  # half a turn: the axis is the largest column of R + I
    axis = R[:, column] + np.eye(3)[column]
    return np.asarray(axis * (np.pi / np.linalg.norm(axis)))


@kernel
def turned_frame(w: FloatArray, fraction: float, R: FloatArray, turned: FloatArray) -> None:
    """exp(`fraction` w) R into `turned` (3, 3), for a rotation vector w (3,), rad, and a rotation matrix R (3, 3), made
    orthonormal again: it removes the rounding of many products.
    """
    S, T = np.empty((3, 3)), np.empty((3, 3))
    exponential(w, fraction, S)
    multiply(S, R, T)
    for _ in range(2):  # T (3 I − TᵀT)/2 leads to the nearest rotation, and squares the distance from it
        multiply_transposed(T, T, S)
        for i in range(3):
            for j in range(3):
                S[i, j] = -0.5 * S[i, j]
            S[i, i] += 1.5
        multiply(T, S, turned)
        T[:] = turned


def perpendicular(axis: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Two unit vectors (3,) that make a right-handed frame with `axis` (3,), a unit vector: axis, second, third."""
    second = np.cross(axis, np.eye(3)[int(np.argmin(np.abs(axis)))])
    second /= np.linalg.norm(second)
    return second, np.asarray(np.cross(axis, second), np.float64)
