"""Stresses that a step is expected to lead to, and what they add to matrix and forces; called by `mixed`.

With the second Piola–Kirchhoff stress S = F⁻¹P a point has the forces fₐ = w F S Gₐ, and the stiffness of stresses
w (Gₐ·S Gᵦ) I. In the frames of F = U diag(s) Vᵀ, with hats for components in them,

    Ŝᵢᵢ = ψᵢ/sᵢ,     δŜᵢⱼ = (δP̂ᵢⱼ − δF̂ᵢⱼ ψⱼ/sⱼ) / sᵢ.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.core.kernels import kernel
from pliant.core.threads import beside
from pliant.core.types import FloatArray, IndexArray, IntArray
from pliant.materials.laws import LINEAR
from pliant.materials.response import lane_response
from pliant.materials.rotations import EIGEN, LANES, stretch_lanes
from pliant.models.volume.assembly import deformation_gradient, gather_gradients
from pliant.models.volume.halved import halves


def expected_stresses(
    q: FloatArray,
    dx: FloatArray,
    ptr: IndexArray,
    nodes: IntArray,
    G: FloatArray,
    weight: FloatArray,
    part: IntArray,
    material: IntArray,
    laws: Any,
    table: FloatArray,
    stress: FloatArray,
) -> None:
    """S + δS of each point for a step dx (n, 3), m, from q (n, 3), m, into `stress` (p, 6), Pa: 00 11 22 01 02 12; NaN
    where F is singular or the law knows no rotation.
    """

    def some(of: slice) -> None:
        ends = ptr[of.start : of.stop + 1]
        point_stresses(q, dx, ends, nodes, G, weight[of], part[of], material[of], laws, table, stress[of])

    lower, upper = halves(len(weight))
    beside(lambda: some(lower), lambda: some(upper))


@kernel
def point_stresses(q, dx, ptr, nodes, G, weight, part, material, laws, table, stress):
    """`expected_stresses` of some points."""
    F, D, P, T = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3)), np.empty(12)
    Fs, eigen = np.empty(9 * LANES), np.empty(EIGEN)
    U, V, s = np.empty((3, 3)), np.empty((3, 3)), np.empty(3)
    H, A, h = np.empty((3, 3)), np.empty((3, 3)), np.empty(3)
    for p in range(weight.shape[0]):
        m, lane = material[p], p % LANES
        if lane == 0:
            gather_gradients(q, ptr, nodes, G, p, Fs, F)
            stretch_lanes(Fs, eigen)
        stress[p] = np.nan
        if laws[m] == LINEAR:
            continue
        deformation_gradient(dx, nodes, G, ptr[p], ptr[p + 1], D)
        lane_response(laws[m], part[p], table[m], 0, Fs, eigen, lane, F, U, s, V, P, T)
        if min(abs(s[0]), abs(s[1]), abs(s[2])) < 1e-6:  # flat element: its stress is not defined
            continue
        for i in range(3):
            for j in range(3):
                A[i, j] = D[i, 0] * V[0, j] + D[i, 1] * V[1, j] + D[i, 2] * V[2, j]
        for i in range(3):
            for j in range(3):
                H[i, j] = U[0, i] * A[0, j] + U[1, i] * A[1, j] + U[2, i] * A[2, j]
            h[i] = 0.0
            for a in range(3):
                h[i] += U[a, i] * (P[a, 0] * V[0, i] + P[a, 1] * V[1, i] + P[a, 2] * V[2, i])
            h[i] /= s[i]
        d00 = T[0] * H[0, 0] + T[3] * H[1, 1] + T[4] * H[2, 2]
        d11 = T[3] * H[0, 0] + T[1] * H[1, 1] + T[5] * H[2, 2]
        d22 = T[4] * H[0, 0] + T[5] * H[1, 1] + T[2] * H[2, 2]
        A[0, 0] = h[0] + (d00 - H[0, 0] * h[0]) / s[0]
        A[1, 1] = h[1] + (d11 - H[1, 1] * h[1]) / s[1]
        A[2, 2] = h[2] + (d22 - H[2, 2] * h[2]) / s[2]
        A[0, 1] = (T[6] * H[0, 1] + T[9] * H[1, 0] - H[0, 1] * h[1]) / s[0]
        A[0, 2] = (T[7] * H[0, 2] + T[10] * H[2, 0] - H[0, 2] * h[2]) / s[0]
        A[1, 2] = (T[8] * H[1, 2] + T[11] * H[2, 1] - H[1, 2] * h[2]) / s[1]
        A[1, 0], A[2, 0], A[2, 1] = A[0, 1], A[0, 2], A[1, 2]
        for k, i, j in ((0, 0, 0), (1, 1, 1), (2, 2, 2), (3, 0, 1), (4, 0, 2), (5, 1, 2)):
            total = 0.0
            for a in range(3):
                total += V[i, a] * (A[a, 0] * V[j, 0] + A[a, 1] * V[j, 1] + A[a, 2] * V[j, 2])
            stress[p, k] = total


@kernel
def stress_stiffness(ptr, G, weight, stress, positions, values):
    """Blocks w (Gₐ·S Gᵦ) I of the stresses S (p, 6) added to `values`; those that are NaN add nothing."""
    pair = 0
    for p in range(weight.shape[0]):
        start, count, S, w = ptr[p], ptr[p + 1] - ptr[p], stress[p], weight[p]
        if np.isnan(S[0]):
            pair += count * (count + 1) // 2
            continue
        for a in range(start, start + count):
            x = w * (S[0] * G[a, 0] + S[3] * G[a, 1] + S[4] * G[a, 2])
            y = w * (S[3] * G[a, 0] + S[1] * G[a, 1] + S[5] * G[a, 2])
            z = w * (S[4] * G[a, 0] + S[5] * G[a, 1] + S[2] * G[a, 2])
            for b in range(start, a + 1):
                k = x * G[b, 0] + y * G[b, 1] + z * G[b, 2]
                K = values[positions[pair]]
                pair += 1
                K[0, 0] += k
                K[1, 1] += k
                K[2, 2] += k


@kernel
def stress_forces(q, ptr, nodes, G, weight, stress, force):
    """Forces w F S Gₐ of the stresses S (p, 6) added to `force`; those that are NaN add nothing."""
    F = np.empty((3, 3))
    for p in range(weight.shape[0]):
        S, w = stress[p], weight[p]
        if np.isnan(S[0]):
            continue
        deformation_gradient(q, nodes, G, ptr[p], ptr[p + 1], F)
        for k in range(ptr[p], ptr[p + 1]):
            x = w * (S[0] * G[k, 0] + S[3] * G[k, 1] + S[4] * G[k, 2])
            y = w * (S[3] * G[k, 0] + S[1] * G[k, 1] + S[5] * G[k, 2])
            z = w * (S[4] * G[k, 0] + S[5] * G[k, 1] + S[2] * G[k, 2])
            n = nodes[k]
            for i in range(3):
                force[n, i] += F[i, 0] * x + F[i, 1] * y + F[i, 2] * z
