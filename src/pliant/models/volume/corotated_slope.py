"""How a step of one linear solve of linear and corotated laws changes with its start, in one pass over the points.

The elastic part of such a step is R = f(q) + s K(q) d with the warped stiffness K and the motion d. For a w, each point
has with F_w = Σ w ⊗ G, the rotation R of F = R U and B = RᵀF, Bʷ = RᵀF_w, Bᵈ = RᵀF_d

    wᵀ ∂f/∂q:          P = R (2μ Bʷ + λ tr(Bʷ) I + (λ tr(U − I) − 2μ) [ω]),      (tr(U) I − U) ω = axl(Bʷ − Bʷᵀ)
    ∂(wᵀ K d)/∂q:      P = −R [τ],      (tr(U) I − U) τ = axl(Z − Zᵀ),      Z = S(Bᵈ) Bʷᵀ + S(Bʷ) Bᵈᵀ

    wᵀ s K:            P = s R S(Bʷ)

with S(B) = μ (B + Bᵀ) + λ tr(B) I. At a fixed end of the step, where d = q⁺ − q, the first two count and the third is
subtracted. Laws of small strain have R = I and neither ω nor τ. All is linear in the constants μ and λ of the
materials, so that the same pass gives ∂(wᵀR)/∂μ and ∂(wᵀR)/∂λ of each.
"""

from __future__ import annotations

import numpy as np

from pliant.core.kernels import inline, kernel
from pliant.core.spins import multiply_transposed
from pliant.materials.laws import LINEAR, SHEAR, VOLUME
from pliant.materials.rotations import LANES
from pliant.models.volume.assembly import deformation_gradient, gather_rotations


@inline
def _stress(mu, lam, B, S):
    """S = μ (B + Bᵀ) + λ tr(B) I."""
    t = lam * (B[0, 0] + B[1, 1] + B[2, 2])
    for i in range(3):
        for j in range(3):
            S[i, j] = mu * (B[i, j] + B[j, i])
        S[i, i] += t


@inline
def _inverse_of_turn(U, X):
    """X = (tr(U) I − U)⁻¹ of a symmetric U."""
    a, b, c = U[1, 1] + U[2, 2], U[0, 0] + U[2, 2], U[0, 0] + U[1, 1]
    d, e, f = -0.5 * (U[0, 1] + U[1, 0]), -0.5 * (U[0, 2] + U[2, 0]), -0.5 * (U[1, 2] + U[2, 1])
    x, y, z = b * c - f * f, e * f - c * d, d * f - b * e
    scale = 1.0 / (a * x + d * y + e * z)
    X[0, 0], X[0, 1], X[0, 2] = scale * x, scale * y, scale * z
    X[1, 0], X[1, 1], X[1, 2] = scale * y, scale * (a * c - e * e), scale * (d * e - a * f)
    X[2, 0], X[2, 1], X[2, 2] = scale * z, scale * (d * e - a * f), scale * (a * b - d * d)


@inline
def _turn(X, r0, r1, r2):
    return (
        X[0, 0] * r0 + X[0, 1] * r1 + X[0, 2] * r2,
        X[1, 0] * r0 + X[1, 1] * r1 + X[1, 2] * r2,
        X[2, 0] * r0 + X[2, 1] * r1 + X[2, 2] * r2,
    )


@inline
def _add_cross(x, y, z, P):
    """P += [(x, y, z)]."""
    P[2, 1] += x
    P[1, 2] -= x
    P[0, 2] += y
    P[2, 0] -= y
    P[1, 0] += z
    P[0, 1] -= z


@inline
def _contracted(A, B):
    total = 0.0
    for i in range(3):
        for j in range(3):
            total += A[i, j] * B[i, j]
    return total


@kernel
def corotated_slope(q, d, w, ptr, nodes, G, weight, part, material, laws, table, scale, force, constants):
    """Add ∂(wᵀ (f + `scale` K d))/∂q at fixed q + d to `force` (n, 3), and the derivatives by μ and λ to `constants`
    (materials, 2), of points whose law is linear or corotated.
    """
    Fs, Rs = np.empty(9 * LANES), np.empty(9 * LANES)
    F, U, V, s = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3)), np.empty(3)
    R, Fw, Fd, Bw, Bd = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    Sw, Sd, X, P, RP = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    for p in range(weight.shape[0]):
        lane = p % LANES
        if lane == 0:
            gather_rotations(q, ptr, nodes, G, material, laws, p, Fs, Rs, F, U, s, V)
        for i in range(3):
            for j in range(3):
                F[i, j] = Fs[LANES * (3 * i + j) + lane]
                R[i, j] = Rs[LANES * (3 * i + j) + lane]
        start, stop, v, m = ptr[p], ptr[p + 1], weight[p], material[p]
        sheared, swollen = part[p] != VOLUME, part[p] != SHEAR
        mu, lam = table[m, 0] if sheared else 0.0, table[m, 1] if swollen else 0.0
        deformation_gradient(w, nodes, G, start, stop, Fw)
        deformation_gradient(d, nodes, G, start, stop, Fd)
        multiply_transposed(R, F, U)
        multiply_transposed(R, Fw, Bw)
        multiply_transposed(R, Fd, Bd)
        _stress(mu, lam, Bw, Sw)
        stretch = U[0, 0] + U[1, 1] + U[2, 2] - 3.0
        trace_w, trace_d = Bw[0, 0] + Bw[1, 1] + Bw[2, 2], Bd[0, 0] + Bd[1, 1] + Bd[2, 2]
        if sheared:
            along = 0.0
            for i in range(3):
                for j in range(3):
                    strain = 0.5 * (U[i, j] + U[j, i]) - (1.0 if i == j else 0.0)
                    along += (Bw[i, j] + Bw[j, i]) * (strain + 0.5 * scale * (Bd[i, j] + Bd[j, i]))
            constants[m, 0] += v * along
        if swollen:
            constants[m, 1] += v * trace_w * (stretch + scale * trace_d)
        if laws[m] == LINEAR:
            for i in range(3):
                for j in range(3):
                    P[i, j] = (1.0 - scale) * Sw[i, j]
        else:
            _stress(mu, lam, Bd, Sd)
            _inverse_of_turn(U, X)
            x, y, z = _turn(X, Bw[2, 1] - Bw[1, 2], Bw[0, 2] - Bw[2, 0], Bw[1, 0] - Bw[0, 1])
            for i in range(3):
                for j in range(3):
                    P[i, j] = 2.0 * mu * Bw[i, j] - scale * Sw[i, j]
                P[i, i] += lam * trace_w
            k = lam * stretch - 2.0 * mu
            if scale != 0.0:
                for i in range(3):  # Z
                    for j in range(3):
                        RP[i, j] = (
                            Sd[i, 0] * Bw[j, 0] + Sd[i, 1] * Bw[j, 1] + Sd[i, 2] * Bw[j, 2]
                            + Sw[i, 0] * Bd[j, 0] + Sw[i, 1] * Bd[j, 1] + Sw[i, 2] * Bd[j, 2]
                        )  # fmt: skip
                a, b, c = _turn(X, RP[2, 1] - RP[1, 2], RP[0, 2] - RP[2, 0], RP[1, 0] - RP[0, 1])
                _add_cross(k * x - scale * a, k * y - scale * b, k * z - scale * c, P)
            else:
                _add_cross(k * x, k * y, k * z, P)
        for i in range(3):
            for j in range(3):
                RP[i, j] = v * (R[i, 0] * P[0, j] + R[i, 1] * P[1, j] + R[i, 2] * P[2, j])
        for k in range(start, stop):
            n = nodes[k]
            g0, g1, g2 = G[k, 0], G[k, 1], G[k, 2]
            force[n, 0] += RP[0, 0] * g0 + RP[0, 1] * g1 + RP[0, 2] * g2
            force[n, 1] += RP[1, 0] * g0 + RP[1, 1] * g1 + RP[1, 2] * g2
            force[n, 2] += RP[2, 0] * g0 + RP[2, 1] * g1 + RP[2, 2] * g2
