"""How a step of one linear solve of hyperelastic laws changes with its start, in one pass over the points.

With the exact tangent C = ∂P/∂F and the motion d such a step has R = f(q) + s K(q) d, and each point

    ∂(wᵀ (f + s K d))/∂q at fixed q + d:          (1 − s) C(F) : F_w + s ∂(C(F) : F_d)/∂F : F_w

The last term is the second derivative of P along F_w and F_d: a central difference of fourth order along F_w, of
which each point has a step of its own. No matrix is assembled. The derivatives of wᵀ (f + s K d) by constants of the
laws come from its values for several tables of them.
"""

from __future__ import annotations

import numpy as np

from pliant.core.kernels import inline, kernel
from pliant.materials.laws import LINEAR
from pliant.materials.response import framed_response, lane_response
from pliant.materials.rotations import EIGEN, LANES, lane_svd, stretch_lanes
from pliant.models.volume.assembly import deformation_gradient, gather_gradients

_STEP = 1e-3
"""Change of F in the difference: truncation 1e-12, and tangents of nearly equal stretches are known to 1e-10."""


@inline
def _in_frames(U, V, D, Q, H):
    """H = Uᵀ D V; Q (3, 3) is scratch."""
    for i in range(3):
        for j in range(3):
            Q[i, j] = U[0, i] * D[0, j] + U[1, i] * D[1, j] + U[2, i] * D[2, j]
    for i in range(3):
        for j in range(3):
            H[i, j] = Q[i, 0] * V[0, j] + Q[i, 1] * V[1, j] + Q[i, 2] * V[2, j]


@inline
def _stress(T, H, Q):
    """Q = C : H, all in the frames of the tangent T (`materials.response`)."""
    x, y, z = H[0, 0], H[1, 1], H[2, 2]
    Q[0, 0] = T[0] * x + T[3] * y + T[4] * z
    Q[1, 1] = T[3] * x + T[1] * y + T[5] * z
    Q[2, 2] = T[4] * x + T[5] * y + T[2] * z
    Q[0, 1], Q[1, 0] = T[6] * H[0, 1] + T[9] * H[1, 0], T[6] * H[1, 0] + T[9] * H[0, 1]
    Q[0, 2], Q[2, 0] = T[7] * H[0, 2] + T[10] * H[2, 0], T[7] * H[2, 0] + T[10] * H[0, 2]
    Q[1, 2], Q[2, 1] = T[8] * H[1, 2] + T[11] * H[2, 1], T[8] * H[2, 1] + T[11] * H[1, 2]


@inline
def _add_product(T, U, V, D, scale, H, Q, S):
    """S += `scale` C : D, of the tangent T in the frames U and V; H and Q (3, 3) are scratch."""
    _in_frames(U, V, D, Q, H)
    _stress(T, H, Q)
    for i in range(3):
        for j in range(3):
            H[i, j] = U[i, 0] * Q[0, j] + U[i, 1] * Q[1, j] + U[i, 2] * Q[2, j]
    for i in range(3):
        for j in range(3):
            S[i, j] += scale * (H[i, 0] * V[j, 0] + H[i, 1] * V[j, 1] + H[i, 2] * V[j, 2])


@kernel
def hyperelastic_slope(q, d, w, ptr, nodes, G, weight, part, material, laws, table, scale, force):
    """Add ∂(wᵀ (f + `scale` K d))/∂q at fixed q + d to `force` (n, 3)."""
    count = weight.shape[0]
    Fs, Ws, Fh = np.empty(9 * LANES), np.empty(9 * LANES), np.empty(9 * LANES)
    eigen, steps, S = np.empty(EIGEN), np.empty(LANES), np.empty((LANES, 3, 3))
    F, U, V, s = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3)), np.empty(3)
    P, T, W, D = np.empty((3, 3)), np.empty(12), np.empty((3, 3)), np.empty((LANES, 3, 3))
    H, Q = np.empty((3, 3)), np.empty((3, 3))
    for first in range(0, count, LANES):
        gather_gradients(q, ptr, nodes, G, first, Fs, F)
        gather_gradients(w, ptr, nodes, G, first, Ws, F)
        S[:] = 0.0
        for lane in range(LANES):
            p = min(first + lane, count - 1)
            deformation_gradient(d, nodes, G, ptr[p], ptr[p + 1], D[lane])
            most = 0.0
            for k in range(9):
                most = max(most, abs(Ws[LANES * k + lane]))
            steps[lane] = _STEP / most if most > 0.0 else 0.0
        for at in range(-2, 3):
            if (scale == 1.0) if at == 0 else (scale == 0.0):
                continue
            for k in range(9):
                for lane in range(LANES):
                    Fh[LANES * k + lane] = Fs[LANES * k + lane] + at * steps[lane] * Ws[LANES * k + lane]
            stretch_lanes(Fh, eigen)
            for lane in range(LANES):
                p = first + lane
                if p >= count or steps[lane] == 0.0:
                    continue
                m = material[p]
                lane_response(laws[m], part[p], table[m], 0, Fh, eigen, lane, F, U, s, V, P, T)
                if at == 0:
                    for i in range(3):
                        for j in range(3):
                            W[i, j] = Ws[LANES * (3 * i + j) + lane]
                    _add_product(T, U, V, W, 1.0 - scale, H, Q, S[lane])
                else:
                    weigh = (8.0 if abs(at) == 1 else -1.0) * (1.0 if at > 0 else -1.0)
                    _add_product(T, U, V, D[lane], scale * weigh / (12.0 * steps[lane]), H, Q, S[lane])
        for p in range(first, min(first + LANES, count)):
            v, X = weight[p], S[p - first]
            for k in range(ptr[p], ptr[p + 1]):
                n = nodes[k]
                g0, g1, g2 = v * G[k, 0], v * G[k, 1], v * G[k, 2]
                force[n, 0] += X[0, 0] * g0 + X[0, 1] * g1 + X[0, 2] * g2
                force[n, 1] += X[1, 0] * g0 + X[1, 1] * g1 + X[1, 2] * g2
                force[n, 2] += X[2, 0] * g0 + X[2, 1] * g1 + X[2, 2] * g2


@kernel
def hyperelastic_work(q, d, w, ptr, nodes, G, weight, part, material, laws, tables, scale, work):
    """Fill `work` (k,), J, with wᵀ (f + `scale` K d) for each of the `tables` (k, materials, constants)."""
    count = weight.shape[0]
    Fs, eigen, X = np.empty(9 * LANES), np.empty(EIGEN), np.empty((3, 3))
    F, U, V, s = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3)), np.empty(3)
    P, T, W, D = np.empty((3, 3)), np.empty(12), np.empty((3, 3)), np.empty((3, 3))
    H, Q = np.empty((3, 3)), np.empty((3, 3))
    work[:] = 0.0
    for p in range(count):
        m, lane = material[p], p % LANES
        if lane == 0:
            gather_gradients(q, ptr, nodes, G, p, Fs, F)
            stretch_lanes(Fs, eigen)
        deformation_gradient(w, nodes, G, ptr[p], ptr[p + 1], W)
        deformation_gradient(d, nodes, G, ptr[p], ptr[p + 1], D)
        if laws[m] != LINEAR:
            for i in range(3):
                for j in range(3):
                    F[i, j] = Fs[LANES * (3 * i + j) + lane]
            lane_svd(eigen, lane, F, U, s, V)
            _in_frames(U, V, W, Q, X)
            _in_frames(U, V, D, Q, H)
        for k in range(len(work)):
            if laws[m] == LINEAR:
                lane_response(LINEAR, part[p], tables[k, m], 0, Fs, eigen, lane, F, U, s, V, P, T)
                _in_frames(U, V, W, Q, X)
                _in_frames(U, V, D, Q, H)
            else:
                framed_response(laws[m], part[p], tables[k, m], 0, U, s, V, P, T)
            _stress(T, H, Q)
            total = 0.0
            for i in range(3):
                for j in range(3):
                    total += P[i, j] * W[i, j] + scale * Q[i, j] * X[i, j]
            work[k] += weight[p] * total
