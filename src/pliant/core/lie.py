"""Rotations as 3×3 matrices: the exponential map, its inverse, and the cross-product matrix."""

from __future__ import annotations

import numpy as np

from pliant.core.types import FloatArray


def cross_matrix(w: FloatArray) -> FloatArray:
    """[w]× with [w]× x = w × x, (3, 3)."""
    return np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])


def rotation_exp(w: FloatArray) -> FloatArray:
    """Rotation matrix (3, 3) of the rotation vector w (3,), rad (Rodrigues), accurate for tiny angles too."""
    angle2 = float(w @ w)
    angle = np.sqrt(angle2)
    if angle < 1e-4:  # the next terms of the series are below 1e-16
        a, b = 1.0 - angle2 / 6.0, 0.5 - angle2 / 24.0
    else:
        a, b = np.sin(angle) / angle, 2.0 * np.sin(0.5 * angle) ** 2 / angle2
    K = cross_matrix(w)
    return np.eye(3) + a * K + b * (K @ K)


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


def orthonormal(R: FloatArray) -> FloatArray:
    """The rotation nearest to R (3, 3): removes the rounding of many products."""
    U, _, V = np.linalg.svd(R)
    return np.asarray(U @ V)


def perpendicular(axis: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Two unit vectors (3,) that make a right-handed frame with `axis` (3,), a unit vector: axis, second, third."""
    second = np.cross(axis, np.eye(3)[int(np.argmin(np.abs(axis)))])
    second /= np.linalg.norm(second)
    return second, np.asarray(np.cross(axis, second), np.float64)
