"""Forces and stiffness of a volume in all copies, the last axis of every array.

The twin of `models.volume.assembly.assemble_corotated`: with g = R G the rotated gradients,

    forces  w P G,  P = R (2μ ε + λ tr(ε) I),  ε = sym(RᵀF) − I
    blocks  w (λ gₐ gᵦᵀ + μ gᵦ gₐᵀ + μ (gₐ·gᵦ) I)

Displacements are the unknowns, so that strains keep their digits in single precision.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from pliant.batch.gpu.arrays import Array, Elements, Numbers
from pliant.batch.gpu.step_types import Linearization

SWEEPS = 9
"""Iterations of the polar decomposition: scaled at first, 3 bring a stretch of 0.1 near 1, 6 more are exact."""
_SCALED = 3

Matrix = list[list[Array]]
"""Nine arrays (p, b), kept apart so that one pass computes all of them."""


def summed(values: Array, terms: Any) -> Array:
    """Sums (r, …) of the rows `terms` (r, s) of `values` (t, …); t stands for zero."""
    padded = with_zero(values)
    total = padded[terms[:, 0]]
    for s in range(1, terms.shape[1]):
        total = total + padded[terms[:, s]]
    return total


def with_zero(values: Array) -> Array:
    """With a zero past the end."""
    return jnp.concatenate([values, jnp.zeros_like(values[:1])])


def deformation(elements: Elements, u: Array) -> Matrix:
    """F of the points at the displacements u (n, 3, b) of the nodes, m."""
    nodes, G = elements.nodes, elements.gradients.astype(u.dtype)
    padded = with_zero(u)
    ends = [padded[nodes[:, a]] for a in range(nodes.shape[1])]
    return [
        [
            sum((end[:, i] * G[:, a, j, None] for a, end in enumerate(ends)), jnp.asarray(float(i == j), u.dtype))
            for j in range(3)
        ]
        for i in range(3)
    ]


def determinant(F: Matrix) -> Array:
    """det F, (p, b)."""
    C = _cofactors(F)
    return F[0][0] * C[0][0] + F[0][1] * C[0][1] + F[0][2] * C[0][2]


def _cofactors(F: Matrix) -> Matrix:
    (a, b, c), (d, e, f), (g, h, i) = F
    return [
        [e * i - f * h, f * g - d * i, d * h - e * g],
        [c * h - b * i, a * i - c * g, b * g - a * h],
        [b * f - c * e, c * d - a * f, a * e - b * d],
    ]


def rotations(F: Matrix) -> Matrix:
    """Rotation factors of F, of positive determinant, by Newton's iteration X ← (γ X + X⁻ᵀ/γ)/2 (Higham 1986)."""
    X = F
    for sweep in range(SWEEPS):
        C = _cofactors(X)
        inverse = 1.0 / (X[0][0] * C[0][0] + X[0][1] * C[0][1] + X[0][2] * C[0][2])
        grow, shrink = 0.5, 0.5 * inverse
        if sweep < _SCALED:
            size, other = _square(X), _square(C) * inverse * inverse
            gamma = (other / size) ** 0.25
            grow, shrink = 0.5 * gamma, shrink / gamma
        X = [[grow * X[i][j] + shrink * C[i][j] for j in range(3)] for i in range(3)]
    return X


def _square(X: Matrix) -> Array:
    return sum((X[i][j] * X[i][j] for i in range(3) for j in range(3)), jnp.zeros((), X[0][0].dtype))


@jax.jit
def strained(elements: Elements, u: Array) -> tuple[Matrix, Matrix]:
    """F and its rotation R of the points, the identity where strains are small, at the displacements u (n, 3, b) m."""
    F = deformation(elements, u)
    R = rotations(F)
    linear = elements.linear[elements.material][:, None]
    return F, [[jnp.where(linear, float(i == j), R[i][j]) for j in range(3)] for i in range(3)]


@jax.jit
def stressed(elements: Elements, numbers: Numbers, F: Matrix, R: Matrix) -> tuple[Array, Array, Array, Array]:
    """w P G and g = R G of every entry of the nodes, (p w, 3, b) N and 1/m, and w μ and w λ of the points, (p, ·) J."""
    P, mu, lam = stress(elements, numbers, F, R)
    return _along(elements, P), _along(elements, R), mu, lam


def stress(points: Any, numbers: Any, F: Matrix, R: Matrix) -> tuple[Matrix, Array, Array]:
    """w P (p, b), and w μ and w λ (p, ·) J, of `points` with weights, materials and parts, from F and rotations R."""
    dtype = F[0][0].dtype
    linear = points.linear[points.material][:, None]
    weight = points.weight[:, None]
    mu = jnp.where(points.shear[:, None], weight * numbers.mu[points.material], 0.0).astype(dtype)
    lam = jnp.where(points.bulk[:, None], weight * numbers.lam[points.material], 0.0).astype(dtype)
    E = [[F[i][j] - R[i][j] for j in range(3)] for i in range(3)]
    E = [[jnp.where(linear, 0.5 * (E[i][j] + E[j][i]), E[i][j]) for j in range(3)] for i in range(3)]  # else symmetric
    trace = sum((E[i][j] * R[i][j] for i in range(3) for j in range(3)), jnp.zeros((), dtype))
    return [[2.0 * mu * E[i][j] + lam * trace * R[i][j] for j in range(3)] for i in range(3)], mu, lam


def _along(elements: Elements, M: Matrix) -> Array:
    """M G of every entry of the nodes, (p w, 3, b)."""
    G = elements.gradients.astype(M[0][0].dtype)
    columns = [jnp.stack([M[i][j] for i in range(3)], 1)[:, None] for j in range(3)]  # (p, 1, 3, b)
    made = sum((columns[j] * G[:, :, j, None, None] for j in (1, 2)), columns[0] * G[:, :, 0, None, None])
    return made.reshape(-1, *made.shape[2:])


@jax.jit
def partial_sums(
    elements: Elements, pushes: Array, g: Array, mu: Array, lam: Array, stiffness: Array
) -> tuple[Array, Array]:
    """The first stage of the forces (r, 3, b), N, and of the blocks of `stiffness` (·,) × K, (q, 3, 3, b) N/m."""
    width = elements.nodes.shape[1]
    g, mu, lam = with_zero(g), with_zero(mu), with_zero(lam)
    unit = jnp.eye(3, dtype=g.dtype)[None, :, :, None]
    total: Any = 0.0
    for s in range(elements.left.shape[1]):
        a, b = g[elements.left[:, s]], g[elements.right[:, s]]
        point = elements.left[:, s] // width
        m, n = mu[point][:, None, None], lam[point][:, None, None]
        dot = (a[:, 0] * b[:, 0] + a[:, 1] * b[:, 1] + a[:, 2] * b[:, 2])[:, None, None]
        total = total + n * a[:, :, None] * b[:, None] + m * (b[:, :, None] * a[:, None] + unit * dot)
    return summed(pushes, elements.forces.first), total * stiffness.astype(g.dtype)


@jax.jit
def whole_sums(elements: Elements, forces: Array, blocks: Array) -> tuple[Array, Array]:
    """Internal forces (n, 3, b), N, and the entries of the blocks (b, 9k), N/m."""
    entries = summed(blocks, elements.blocks)
    return summed(forces, elements.forces.second), entries.reshape(-1, entries.shape[-1]).T


def linearize(elements: Elements, numbers: Numbers, u: Array, stiffness: Array) -> Linearization:
    """Forces and blocks of `stiffness` (·,) × K at the displacements u (n, 3, b) of the nodes, m.

    Each stage is compiled by itself: in one, compilers compute its terms anew wherever they are gathered.
    """
    F, R = strained(elements, u)
    pushes, g, mu, lam = stressed(elements, numbers, F, R)
    forces, blocks = whole_sums(elements, *partial_sums(elements, pushes, g, mu, lam, stiffness))
    return Linearization(forces, blocks, F)
