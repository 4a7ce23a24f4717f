"""The pose of a rigid body after a displacement: few operations, for which NumPy takes a hundred times as long."""

from __future__ import annotations

from math import sin, sqrt

import numpy as np

from pliant.core.kernels import inline, kernel
from pliant.core.types import FloatArray

_ORTHONORMAL = 1e-15  # largest entry of R Rᵀ − I that rounding leaves
_MOST = 8  # steps: one removes rounding, a rotation known to six digits takes three


@kernel
def displaced_pose(q: FloatArray, dx: FloatArray, fraction: float, pose: FloatArray) -> None:
    """Fill `pose` (4, 3), position and rows of the rotation: q (4, 3) after `fraction` of dx (2, 3), a motion and a
    rotation vector (Rodrigues' formula, as `core.lie.rotation_exp`).

    The rotation is made orthonormal by R ← R (3 I − Rᵀ R)/2 (G. Schulz, "Iterative Berechnung der reziproken Matrix",
    ZAMM 13, 1933), which leads to the nearest one.
    """
    w = fraction * dx[1]
    square = w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
    angle = sqrt(square)
    if angle < 1e-4:  # the next terms of the series are below 1e-16
        a, b = 1.0 - square / 6.0, 0.5 - square / 24.0
    else:
        a, b = sin(angle) / angle, 2.0 * sin(0.5 * angle) ** 2 / square
    turn = np.empty((3, 3))
    for i in range(3):
        for j in range(3):
            turn[i, j] = b * w[i] * w[j] + (1.0 - b * square if i == j else 0.0)
    turn[0, 1] -= a * w[2]
    turn[1, 0] += a * w[2]
    turn[0, 2] += a * w[1]
    turn[2, 0] -= a * w[1]
    turn[1, 2] -= a * w[0]
    turn[2, 1] += a * w[0]
    R, correction = np.empty((3, 3)), np.empty((3, 3))
    _product(turn, q[1:], R)
    for _ in range(_MOST):
        off = 0.0
        for i in range(3):
            for j in range(3):
                value = R[0, i] * R[0, j] + R[1, i] * R[1, j] + R[2, i] * R[2, j]
                off = max(off, abs(value - (1.0 if i == j else 0.0)))
                correction[i, j] = (1.5 if i == j else 0.0) - 0.5 * value
        if off <= _ORTHONORMAL:
            break
        turn[:] = R
        _product(turn, correction, R)
    for j in range(3):
        pose[0, j] = q[0, j] + fraction * dx[0, j]
        for i in range(3):
            pose[i + 1, j] = R[i, j]


@inline
def _product(A: FloatArray, B: FloatArray, out: FloatArray) -> None:
    """Out = A B, (3, 3)."""
    for i in range(3):
        for j in range(3):
            out[i, j] = A[i, 0] * B[0, j] + A[i, 1] * B[1, j] + A[i, 2] * B[2, j]
