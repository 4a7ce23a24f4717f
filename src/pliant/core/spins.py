"""Rotations inside kernels: exponential, logarithm, composition, and the derivative of the exponential.

All work in place on arrays (3,) and (3, 3), so that kernels allocate nothing in their loops. A *spin* δθ changes R to
exp(δθ) R, in world axes; the left Jacobian T(w) takes a change of the rotation vector w to the spin of exp(w).
"""

from __future__ import annotations

import numpy as np

from pliant.core.kernels import inline

_TINY = 1e-8
"""Squared angle (rad²) below which two terms of a series are used: the third is below rounding."""


@inline
def rotate(R, x, y):
    """Y = R x."""
    a, b, c = x[0], x[1], x[2]
    for i in range(3):
        y[i] = R[i, 0] * a + R[i, 1] * b + R[i, 2] * c


@inline
def rotate_back(R, x, y):
    """Y = Rᵀ x."""
    a, b, c = x[0], x[1], x[2]
    for i in range(3):
        y[i] = R[0, i] * a + R[1, i] * b + R[2, i] * c


@inline
def cross(x, y, z):
    """Z = x × y."""
    a = x[1] * y[2] - x[2] * y[1]
    b = x[2] * y[0] - x[0] * y[2]
    z[2] = x[0] * y[1] - x[1] * y[0]
    z[0], z[1] = a, b


@inline
def multiply(A, B, C):
    """C = A B; C must be neither of them."""
    for i in range(3):
        for j in range(3):
            C[i, j] = A[i, 0] * B[0, j] + A[i, 1] * B[1, j] + A[i, 2] * B[2, j]


@inline
def multiply_transposed(A, B, C):
    """C = Aᵀ B; C must be neither of them."""
    for i in range(3):
        for j in range(3):
            C[i, j] = A[0, i] * B[0, j] + A[1, i] * B[1, j] + A[2, i] * B[2, j]


@inline
def exponential(w, scale, R):
    """R = exp(scale w) by Rodrigues' formula."""
    x, y, z = scale * w[0], scale * w[1], scale * w[2]
    square = x * x + y * y + z * z
    if square < _TINY:
        a, b = 1.0 - square / 6.0, 0.5 - square / 24.0
    else:
        angle = np.sqrt(square)
        half = np.sin(0.5 * angle)
        a, b = np.sin(angle) / angle, 2.0 * half * half / square
    R[0, 0], R[0, 1], R[0, 2] = 1.0 - b * (y * y + z * z), b * x * y - a * z, b * x * z + a * y
    R[1, 0], R[1, 1], R[1, 2] = b * x * y + a * z, 1.0 - b * (x * x + z * z), b * y * z - a * x
    R[2, 0], R[2, 1], R[2, 2] = b * x * z - a * y, b * y * z + a * x, 1.0 - b * (x * x + y * y)


@inline
def logarithm(R, w):
    """W with exp(w) = R, of length ≤ π, through the unit quaternion: accurate at small angles and near half a turn."""
    trace = R[0, 0] + R[1, 1] + R[2, 2]
    if trace >= 0.0:
        s = np.sqrt(1.0 + trace)
        scalar, c = 0.5 * s, 0.5 / s
        w[0], w[1], w[2] = c * (R[2, 1] - R[1, 2]), c * (R[0, 2] - R[2, 0]), c * (R[1, 0] - R[0, 1])
    else:
        i = 0
        if R[1, 1] > R[0, 0]:
            i = 1
        if R[2, 2] > R[i, i]:
            i = 2
        j, k = (i + 1) % 3, (i + 2) % 3
        s = np.sqrt(1.0 + R[i, i] - R[j, j] - R[k, k])
        c = 0.5 / s
        scalar = c * (R[k, j] - R[j, k])
        w[i], w[j], w[k] = 0.5 * s, c * (R[i, j] + R[j, i]), c * (R[i, k] + R[k, i])
    _from_quaternion(scalar, w)


@inline
def compose(first, then, w):
    """W with exp(w) = exp(then) exp(first), of length ≤ π; w may be one of them."""
    a, b = np.empty(3), np.empty(3)
    p, q = _half(first, a), _half(then, b)
    scalar = p * q - (a[0] * b[0] + a[1] * b[1] + a[2] * b[2])
    cross(b, a, w)
    for i in range(3):
        w[i] += q * a[i] + p * b[i]
    _from_quaternion(scalar, w)


@inline
def _half(w, vector):
    """Vector part (3,) of the unit quaternion of w; returns its scalar part."""
    square = w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
    if square < _TINY:
        a, scalar = 0.5 - square / 48.0, 1.0 - square / 8.0
    else:
        angle = np.sqrt(square)
        a, scalar = np.sin(0.5 * angle) / angle, np.cos(0.5 * angle)
    for i in range(3):
        vector[i] = a * w[i]
    return scalar


@inline
def _from_quaternion(scalar, vector):
    """Turn the vector part of a unit quaternion into its rotation vector, in place."""
    if scalar < 0.0:
        scalar = -scalar
        vector[0], vector[1], vector[2] = -vector[0], -vector[1], -vector[2]
    square = vector[0] * vector[0] + vector[1] * vector[1] + vector[2] * vector[2]
    sine = np.sqrt(square)
    c = 2.0 + square / 3.0 if square < _TINY else 2.0 * np.arctan2(sine, scalar) / sine
    vector[0], vector[1], vector[2] = c * vector[0], c * vector[1], c * vector[2]


@inline
def left_jacobian(w, scale, T):
    """T(scale w) = I + (1 − cos θ)/θ² [w]× + (θ − sin θ)/θ³ [w]×²."""
    x, y, z = scale * w[0], scale * w[1], scale * w[2]
    square = x * x + y * y + z * z
    if square < 1e-4:  # angle below 0.01 rad: terms left out are below 1e-16, the closed form cancels
        b, c = 0.5 - square / 24.0 + square * square / 720.0, 1.0 / 6.0 - square / 120.0 + square * square / 5040.0
    else:
        angle = np.sqrt(square)
        half = np.sin(0.5 * angle)
        b, c = 2.0 * half * half / square, (angle - np.sin(angle)) / (square * angle)
    _polynomial(x, y, z, b, c, T)


@inline
def left_jacobian_inverse(w, scale, T):
    """T(scale w)⁻¹ = I − ½ [w]× + (1 − ½ θ cot(½ θ))/θ² [w]×²."""
    x, y, z = scale * w[0], scale * w[1], scale * w[2]
    square = x * x + y * y + z * z
    if square < 1e-4:  # angle below 0.01 rad: terms left out are below 1e-16, the closed form cancels
        c = 1.0 / 12.0 + square / 720.0 + square * square / 30240.0
    else:
        half = 0.5 * np.sqrt(square)
        c = (1.0 - half / np.tan(half)) / square
    _polynomial(x, y, z, -0.5, c, T)


@inline
def _polynomial(x, y, z, b, c, T):
    """T = I + b [w]× + c [w]×²."""
    T[0, 0], T[0, 1], T[0, 2] = 1.0 - c * (y * y + z * z), c * x * y - b * z, c * x * z + b * y
    T[1, 0], T[1, 1], T[1, 2] = c * x * y + b * z, 1.0 - c * (x * x + z * z), c * y * z - b * x
    T[2, 0], T[2, 1], T[2, 2] = c * x * z - b * y, c * y * z + b * x, 1.0 - c * (x * x + y * y)
