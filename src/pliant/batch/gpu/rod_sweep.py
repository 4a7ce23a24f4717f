"""Where the sections of a rod stand, and what their strains move, in all copies: the twin of `models.rod.kinematics`.

Vectors are lists of three arrays, matrices of three rows, so that one pass computes all of them; the last axis of each
array is that of the copies. A column is a twist about the base in world axes, six arrays: spin, then velocity.
"""

from __future__ import annotations

from math import factorial
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from pliant.batch.gpu.arrays import Array

Vector = list[Array]
Matrix = list[list[Array]]

TERMS = 15
"""`models.rod.series`: terms of the series, and the square of the angle, rad², below which they are summed."""
BELOW = 9.0


def _coefficients(first: int, derivative: int) -> list[float]:
    """Of the derivative (0: f, 1: f₁, 2: f₂; `models.rod.series`) of Σ (−z)ᵏ/(2k + first)!."""
    ks = [k + derivative for k in range(TERMS)]
    rises = [2**derivative * factorial(n) // factorial(n - derivative) for n in ks]
    return [(-1) ** n * rise / factorial(2 * n + first) for n, rise in zip(ks, rises, strict=True)]


_SERIES = np.array([_coefficients(*of) for of in ((1, 0), (2, 0), (3, 0), (2, 1), (3, 1), (2, 2), (3, 2))])


def even_functions(z: Array) -> list[Array]:
    """α, β, γ, β₁, γ₁, β₂, γ₂ at θ² = z, rad²."""
    near = jnp.minimum(z, BELOW)
    made = []
    for row in _SERIES.tolist():
        total = jnp.full_like(z, row[-1])
        for coefficient in row[-2::-1]:
            total = coefficient + near * total
        made.append(total)
    far = jnp.maximum(z, BELOW)
    angle = jnp.sqrt(far)
    half, cosine, a = jnp.sin(0.5 * angle), jnp.cos(angle), jnp.sin(angle) / angle
    b = 2.0 * half * half / far
    c = (1.0 - a) / far
    b1, c1 = (a - 2.0 * b) / far, (b - 3.0 * c) / far
    closed = [a, b, c, b1, c1, ((cosine - a) / far - 4.0 * b1) / far, (b1 - 5.0 * c1) / far]
    return [jnp.where(z < BELOW, series, other) for series, other in zip(made, closed, strict=True)]


class Sweep(NamedTuple):
    """Sections at the fractions t: rotation and position there, the spins and velocities (K, 2, 3) that K strains cause
    there, in world axes about the base, and what the derivatives of these need: `start`, the pose (rotation,
    position) of each section's start, and ta, tu and the even functions of ta.
    """

    R: Matrix
    x: Vector
    columns: list[list[Vector]]
    start: tuple[Matrix, Vector]
    a: Vector
    u: Vector
    even: list[Array]


def cross(x: Vector, y: Vector) -> Vector:
    """x × y."""
    return [x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]]


def dot(x: Vector, y: Vector) -> Array:
    """x · y."""
    return x[0] * y[0] + x[1] * y[1] + x[2] * y[2]


def rotated(R: Matrix, x: Vector) -> Vector:
    """R x."""
    return [dot(row, x) for row in R]


def rotated_back(R: Matrix, x: Vector) -> Vector:
    """Rᵀ x."""
    return [R[0][c] * x[0] + R[1][c] * x[1] + R[2][c] * x[2] for c in range(3)]


def product(A: Matrix, B: Matrix) -> Matrix:
    """A B."""
    return [[row[0] * B[0][c] + row[1] * B[1][c] + row[2] * B[2][c] for c in range(3)] for row in A]


def polynomial(w: Vector, b: Array, c: Array) -> Matrix:
    """I + b [w]× + c [w]×²."""
    x, y, z = w
    return [
        [1.0 - c * (y * y + z * z), c * x * y - b * z, c * x * z + b * y],
        [c * x * y + b * z, 1.0 - c * (x * x + z * z), c * y * z - b * x],
        [c * x * z - b * y, c * y * z + b * x, 1.0 - c * (x * x + y * y)],
    ]


def jacobian_slope(a: Vector, u: Vector, even: list[Array]) -> Matrix:
    """T′(a)[u] of the left Jacobian T, from the even functions of a."""
    _, b, c, b1, c1, *_ = even
    au = dot(a, u)
    w = [b1 * au * x + b * p for x, p in zip(a, u, strict=True)]
    on = -c1 * au * dot(a, a) - 2.0 * c * au
    skew = [[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]]
    return [
        [
            c1 * au * a[i] * a[j] + c * (a[i] * u[j] + u[i] * a[j]) + skew[i][j] + (on if i == j else 0.0)
            for j in range(3)
        ]
        for i in range(3)
    ]


def sweep(strains: Array, base: Array, fraction: Array, kinds: int) -> Sweep:
    """The sections of strains (N, 6, b), rotation vectors (rad) and stretch vectors (m), at the fractions (N, m) of
    their lengths, of which the last are 1: arrays (N, m, b), with the columns of the first `kinds` strains.
    """
    t = fraction[:, :, None].astype(strains.dtype)
    a = [t * strains[:, c, None] for c in range(3)]
    u = [t * strains[:, 3 + c, None] for c in range(3)]
    even = even_functions(dot(a, a))
    turn, T = polynomial(a, even[0], even[1]), polynomial(a, even[1], even[2])
    along = rotated(T, u)
    R0, x0 = _starts(turn, along, base)
    x = [o + d for o, d in zip(x0, rotated(R0, along), strict=True)]
    W, Q = product(R0, T), product(R0, jacobian_slope(a, u, even))
    columns = []
    for kind in range(kinds):
        spin = [t * W[r][kind % 3] for r in range(3)]
        if kind < 3:
            about = cross(x0, spin)
            columns.append([spin, [t * Q[r][kind] + about[r] for r in range(3)]])
        else:
            columns.append([[jnp.zeros_like(one) for one in spin], spin])
    return Sweep(product(R0, turn), x, columns, (R0, x0), a, u, even)


def _starts(turn: Matrix, along: Vector, base: Array) -> tuple[Matrix, Vector]:
    """Rotations and positions (N, 1, b) of the starts of sections that end after `turn` and `along`, from the rotation
    of the base (3, 3) on.
    """
    zero = jnp.zeros_like(along[0][0, -1])
    R: Matrix = [[zero + base[i, j].astype(zero.dtype) for j in range(3)] for i in range(3)]
    x: Vector = [zero, zero, zero]
    rotations, positions = [R], [x]
    for k in range(len(along[0]) - 1):
        step = rotated(R, [one[k, -1] for one in along])
        x = [one + d for one, d in zip(x, step, strict=True)]
        R = product(R, [[one[k, -1] for one in row] for row in turn])
        rotations.append(R)
        positions.append(x)
    return (
        [[jnp.stack([one[i][j] for one in rotations])[:, None] for j in range(3)] for i in range(3)],
        [jnp.stack([one[i] for one in positions])[:, None] for i in range(3)],
    )


def own_slopes(at: Sweep, t: Array, force: Vector, moment: Vector) -> Matrix:
    """B[i][j] (6, 6) = F·∂ᵢ vⱼ + M·∂ᵢ ωⱼ of the six strains of one section at the fraction t, for a `force` F (N) and a
    `moment` M about the base (N·m): the twin of `models.rod.geometric` and of `models.rod.screw`.
    """
    R0, x0 = at.start
    about = [m - c for m, c in zip(moment, cross(x0, force), strict=True)]
    f, y, a, u = rotated_back(R0, force), rotated_back(R0, about), at.a, at.u
    _, b, c, b1, c1, b2, c2 = at.even
    square, au, scale = dot(a, a), dot(a, u), t * t
    none = jnp.zeros_like(au)

    def permutation(w: Vector, factor: Array) -> Matrix:
        p = [factor * one for one in w]
        return [[none, p[2], -p[1]], [-p[2], none, p[0]], [p[1], -p[0], none]]

    def first(w: Vector) -> Matrix:
        """w·T′(a)[eᵢ] eⱼ."""
        n, aw, P = cross(w, a), dot(a, w), permutation(w, b)
        return [
            [
                a[i] * (b1 * n[j] + c1 * (a[j] * aw - w[j] * square) - 2.0 * c * w[j])
                + c * w[i] * a[j]
                + P[i][j]
                + (c * aw if i == j else 0.0)
                for j in range(3)
            ]
            for i in range(3)
        ]

    def second(w: Vector) -> Matrix:
        """w·T″(a)[u, eᵢ] eⱼ."""
        n, m, aw, uw, P = cross(w, a), cross(w, u), dot(a, w), dot(u, w), permutation(w, b1 * au)
        made = []
        for i in range(3):
            row = []
            for j in range(3):
                n2 = a[j] * aw - w[j] * square
                along_a = b2 * au * n[j] + c2 * au * n2 + b1 * m[j] + c1 * (aw * u[j] + uw * a[j] - 4.0 * au * w[j])
                along_u = b1 * n[j] + c1 * n2 - 2.0 * c * w[j]
                value = a[i] * along_a + u[i] * along_u + w[i] * (c1 * au * a[j] + c * u[j]) + P[i][j]
                row.append(value + (c1 * au * aw + c * uw if i == j else 0.0))
            made.append(row)
        return made

    turning, stretching = (first(y), second(f)), first(f)
    blocks: Matrix = [[none] * 6 for _ in range(6)]
    for i in range(3):
        for j in range(3):
            blocks[i][j] = scale * (turning[0][i][j] + turning[1][i][j])
            blocks[3 + i][j] = scale * stretching[i][j]
            blocks[i][3 + j] = scale * stretching[i][j]
    return blocks
