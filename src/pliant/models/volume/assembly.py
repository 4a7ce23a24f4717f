"""Assembly kernels: energy, forces and stiffness of all integration points into the fixed block pattern.

For a point with F = Σ xₐ ⊗ Gₐ, stress P and tangent C,

    fₐ = w P Gₐ,                    Kₐᵦ = w Gₐ · C · Gᵦ   (3×3)

In the frames of the singular vectors (ĝₐ = Vᵀ Gₐ) the block has closed form, K̂ᵢᵢ = ψᵢᵢ ĝₐᵢ ĝᵦᵢ + Σⱼ aᵢⱼ ĝₐⱼ ĝᵦⱼ and
K̂ᵢⱼ = ψᵢⱼ ĝₐᵢ ĝᵦⱼ + bᵢⱼ ĝₐⱼ ĝᵦᵢ, and K = U K̂ Uᵀ. With the warped tangent of the corotated law it is, in rotated
gradients g = R G, Kₐᵦ = w (λ gₐ gᵦᵀ + μ gᵦ gₐᵀ + μ (gₐ·gᵦ) I): no singular values are needed.
"""

from __future__ import annotations

import numpy as np

from pliant.core.kernels import inline, kernel
from pliant.materials.laws import COROTATED, LINEAR, SHEAR, VOLUME
from pliant.materials.response import lane_response
from pliant.materials.rotations import EIGEN, LANES, polar_lanes, stretch_lanes


@inline
def deformation_gradient(q, nodes, G, start, stop, F):
    """F = Σ qₐ ⊗ Gₐ over one point's nodes."""
    f00 = f01 = f02 = f10 = f11 = f12 = f20 = f21 = f22 = 0.0
    for k in range(start, stop):
        n = nodes[k]
        x, y, z = q[n, 0], q[n, 1], q[n, 2]
        g0, g1, g2 = G[k, 0], G[k, 1], G[k, 2]
        f00 += x * g0
        f01 += x * g1
        f02 += x * g2
        f10 += y * g0
        f11 += y * g1
        f12 += y * g2
        f20 += z * g0
        f21 += z * g1
        f22 += z * g2
    F[0, 0], F[0, 1], F[0, 2] = f00, f01, f02
    F[1, 0], F[1, 1], F[1, 2] = f10, f11, f12
    F[2, 0], F[2, 1], F[2, 2] = f20, f21, f22


@inline
def _add_forces(force, nodes, G, start, stop, w, P):
    for k in range(start, stop):
        n = nodes[k]
        g0, g1, g2 = w * G[k, 0], w * G[k, 1], w * G[k, 2]
        force[n, 0] += P[0, 0] * g0 + P[0, 1] * g1 + P[0, 2] * g2
        force[n, 1] += P[1, 0] * g0 + P[1, 1] * g1 + P[1, 2] * g2
        force[n, 2] += P[2, 0] * g0 + P[2, 1] * g1 + P[2, 2] * g2


@inline
def gather_gradients(q, ptr, nodes, G, first, Fs, F):
    """F of the eight points from `first` on (the last point again beyond the end), by lanes."""
    last = ptr.shape[0] - 2
    for lane in range(LANES):
        p = min(first + lane, last)
        deformation_gradient(q, nodes, G, ptr[p], ptr[p + 1], F)
        for i in range(3):
            for j in range(3):
                Fs[LANES * (3 * i + j) + lane] = F[i, j]


@inline
def gather_rotations(q, ptr, nodes, G, material, laws, first, Fs, Rs, F, U, s, V):
    """F and its rotation R for the eight points from `first` on, by lanes."""
    gather_gradients(q, ptr, nodes, G, first, Fs, F)
    last = material.shape[0] - 1
    polar_lanes(Fs, Rs, F, U, s, V)
    for lane in range(LANES):
        if laws[material[min(first + lane, last)]] == LINEAR:
            for k in range(9):
                Rs[LANES * k + lane] = 1.0 if k % 4 == 0 else 0.0


@inline
def _corotated_point(law, mu, lam, w, F, R, n, nodes, G, start, stop, force, g):
    """ψ of the linear and corotated laws at lane n; adds the forces of P = R (2μ ε + λ tr(ε) I), ε = sym(RᵀF) − I.

    Fills g = R G.
    """
    r00, r01, r02 = R[n], R[8 + n], R[16 + n]
    r10, r11, r12 = R[24 + n], R[32 + n], R[40 + n]
    r20, r21, r22 = R[48 + n], R[56 + n], R[64 + n]
    p00, p01, p02 = F[n] - r00, F[8 + n] - r01, F[16 + n] - r02
    p10, p11, p12 = F[24 + n] - r10, F[32 + n] - r11, F[40 + n] - r12
    p20, p21, p22 = F[48 + n] - r20, F[56 + n] - r21, F[64 + n] - r22
    if law == LINEAR:  # R = I; RᵀF is not symmetric as it is for the polar rotation
        p01, p02, p12 = 0.5 * (p01 + p10), 0.5 * (p02 + p20), 0.5 * (p12 + p21)
        p10, p20, p21 = p01, p02, p12
    trace = p00 * r00 + p01 * r01 + p02 * r02 + p10 * r10 + p11 * r11 + p12 * r12 + p20 * r20 + p21 * r21 + p22 * r22
    squares = p00 * p00 + p01 * p01 + p02 * p02 + p10 * p10 + p11 * p11 + p12 * p12 + p20 * p20 + p21 * p21 + p22 * p22
    m, t = 2.0 * mu * w, lam * trace * w
    p00, p01, p02 = m * p00 + t * r00, m * p01 + t * r01, m * p02 + t * r02
    p10, p11, p12 = m * p10 + t * r10, m * p11 + t * r11, m * p12 + t * r12
    p20, p21, p22 = m * p20 + t * r20, m * p21 + t * r21, m * p22 + t * r22
    for k in range(start, stop):
        node = nodes[k]
        x, y, z = G[k, 0], G[k, 1], G[k, 2]
        force[node, 0] += p00 * x + p01 * y + p02 * z
        force[node, 1] += p10 * x + p11 * y + p12 * z
        force[node, 2] += p20 * x + p21 * y + p22 * z
        g[k - start, 0] = r00 * x + r01 * y + r02 * z
        g[k - start, 1] = r10 * x + r11 * y + r12 * z
        g[k - start, 2] = r20 * x + r21 * y + r22 * z
    return mu * squares + 0.5 * lam * trace * trace


@inline
def _warped_blocks(values, positions, pair, g, count, lw, mw):
    """Blocks λ gₐ gᵦᵀ + μ gᵦ gₐᵀ + μ (gₐ·gᵦ) I of one point, from its rotated gradients."""
    for a in range(count):
        a0, a1, a2 = g[a, 0], g[a, 1], g[a, 2]
        la0, la1, la2 = lw * a0, lw * a1, lw * a2
        ma0, ma1, ma2 = mw * a0, mw * a1, mw * a2
        for b in range(a + 1):
            k = positions[pair]
            pair += 1
            b0, b1, b2 = g[b, 0], g[b, 1], g[b, 2]
            d = ma0 * b0 + ma1 * b1 + ma2 * b2
            values[k, 0, 0] += la0 * b0 + b0 * ma0 + d
            values[k, 0, 1] += la0 * b1 + b0 * ma1
            values[k, 0, 2] += la0 * b2 + b0 * ma2
            values[k, 1, 0] += la1 * b0 + b1 * ma0
            values[k, 1, 1] += la1 * b1 + b1 * ma1 + d
            values[k, 1, 2] += la1 * b2 + b1 * ma2
            values[k, 2, 0] += la2 * b0 + b2 * ma0
            values[k, 2, 1] += la2 * b1 + b2 * ma1
            values[k, 2, 2] += la2 * b2 + b2 * ma2 + d


@kernel
def assemble_corotated(
    q, ptr, nodes, G, weight, part, material, laws, table, positions, scale, diagonal, mass, inertia, values, force
):
    """`inertia` × lumped `mass` (n,) + `scale` × warped tangent into `values` (blocks, 3, 3), internal forces into
    `force` (n, 3); returns the energy. Where `mass` is empty the tangent is added to what `values` holds.

    For points whose law is linear or corotated.
    """
    if mass.shape[0] > 0:
        set_mass(values, diagonal, mass, inertia)
    force[:] = 0.0
    Fs, Rs = np.empty(9 * LANES), np.empty(9 * LANES)
    F, U, V, s = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3)), np.empty(3)
    g, weights = np.zeros((LANES, _widest(ptr), 3)), np.zeros(LANES)
    S = np.zeros((3 * g.shape[1], 3 * g.shape[1]))
    energy = 0.0
    pair = waiting = 0
    alike = False
    for p in range(weight.shape[0]):
        lane = p % LANES
        if lane == 0:
            gather_rotations(q, ptr, nodes, G, material, laws, p, Fs, Rs, F, U, s, V)
        start, stop, w, m = ptr[p], ptr[p + 1], weight[p], material[p]
        mu = 0.0 if part[p] == VOLUME else table[m, 0]
        lam = 0.0 if part[p] == SHEAR else table[m, 1]
        energy += w * _corotated_point(
            laws[m], mu, lam, w, Fs, Rs, lane, nodes, G, start, stop, force, g[waiting]
        )  # fmt: skip
        before, alike = alike, _alike(ptr, nodes, part, material, p)
        count = stop - start
        if not before and not alike:
            _warped_blocks(values, positions, pair, g[0], count, scale * w * lam, scale * w * mu)
        else:
            weights[waiting] = w
            waiting += 1
            if waiting == LANES or not alike:
                weights[waiting:] = 0.0
                _add_outer(S, g.reshape(LANES, -1), weights, 3 * count)
                waiting = 0
            if not alike:
                _summed_blocks(values, positions, pair, S, count, scale * lam, scale * mu)
        pair += (count * (count + 1)) // 2
    return energy


@inline
def _alike(ptr, nodes, part, material, p):
    """Whether the point after p has the same nodes, part and material: such points are summed before the scatter."""
    if p + 2 >= ptr.shape[0] or part[p] != part[p + 1] or material[p] != material[p + 1]:
        return False
    start, stop = ptr[p], ptr[p + 1]
    if ptr[p + 2] - stop != stop - start:
        return False
    same = True
    for k in range(start, stop):
        same = same and nodes[k] == nodes[k + stop - start]
    return same


@inline
def _add_outer(S, g, w, count):
    """S += Σ w g gᵀ over eight points, its lower triangle of 3×3 blocks."""
    g0, g1, g2, g3, g4, g5, g6, g7 = g[0], g[1], g[2], g[3], g[4], g[5], g[6], g[7]
    for i in range(count):
        x0, x1, x2, x3 = w[0] * g0[i], w[1] * g1[i], w[2] * g2[i], w[3] * g3[i]
        x4, x5, x6, x7 = w[4] * g4[i], w[5] * g5[i], w[6] * g6[i], w[7] * g7[i]
        row = S[i]
        for j in range(3 * (i // 3) + 3):
            row[j] += (x0 * g0[j] + x1 * g1[j] + x2 * g2[j] + x3 * g3[j]) + (
                x4 * g4[j] + x5 * g5[j] + x6 * g6[j] + x7 * g7[j]
            )


@inline
def _summed_blocks(values, positions, pair, S, count, lam, mu):
    """The blocks of `_warped_blocks` from S = Σ w g gᵀ, which is cleared."""
    for a in range(count):
        x, y, z = S[3 * a], S[3 * a + 1], S[3 * a + 2]
        for b in range(0, 3 * a + 3, 3):
            K = values[positions[pair]]
            pair += 1
            d = mu * (x[b] + y[b + 1] + z[b + 2])
            K[0, 0] += (lam + mu) * x[b] + d
            K[0, 1] += lam * x[b + 1] + mu * y[b]
            K[0, 2] += lam * x[b + 2] + mu * z[b]
            K[1, 0] += lam * y[b] + mu * x[b + 1]
            K[1, 1] += (lam + mu) * y[b + 1] + d
            K[1, 2] += lam * y[b + 2] + mu * z[b + 1]
            K[2, 0] += lam * z[b] + mu * x[b + 2]
            K[2, 1] += lam * z[b + 1] + mu * y[b + 2]
            K[2, 2] += (lam + mu) * z[b + 2] + d
        x[:] = 0.0
        y[:] = 0.0
        z[:] = 0.0


@inline
def _widest(ptr):
    widest = 0
    for p in range(ptr.shape[0] - 1):
        widest = max(widest, ptr[p + 1] - ptr[p])
    return widest


@inline
def _rotated_blocks(values, positions, pair, g, count, w, T, U):
    """Blocks U K̂ Uᵀ of one point from the gradients g = Vᵀ G in its right frame; returns the next pair."""
    for a in range(count):
        a0, a1, a2 = w * g[a, 0], w * g[a, 1], w * g[a, 2]
        for b in range(a + 1):
            b0, b1, b2 = g[b, 0], g[b, 1], g[b, 2]
            d0, d1, d2 = a0 * b0, a1 * b1, a2 * b2
            k00 = T[0] * d0 + T[6] * d1 + T[7] * d2
            k11 = T[1] * d1 + T[6] * d0 + T[8] * d2
            k22 = T[2] * d2 + T[7] * d0 + T[8] * d1
            k01 = T[3] * a0 * b1 + T[9] * a1 * b0
            k10 = T[3] * a1 * b0 + T[9] * a0 * b1
            k02 = T[4] * a0 * b2 + T[10] * a2 * b0
            k20 = T[4] * a2 * b0 + T[10] * a0 * b2
            k12 = T[5] * a1 * b2 + T[11] * a2 * b1
            k21 = T[5] * a2 * b1 + T[11] * a1 * b2
            K = values[positions[pair]]
            pair += 1
            for i in range(3):
                u0, u1, u2 = U[i, 0], U[i, 1], U[i, 2]
                x = u0 * k00 + u1 * k10 + u2 * k20
                y = u0 * k01 + u1 * k11 + u2 * k21
                z = u0 * k02 + u1 * k12 + u2 * k22
                K[i, 0] += x * U[0, 0] + y * U[0, 1] + z * U[0, 2]
                K[i, 1] += x * U[1, 0] + y * U[1, 1] + z * U[1, 2]
                K[i, 2] += x * U[2, 0] + y * U[2, 1] + z * U[2, 2]
    return pair


@kernel
def assemble(q, ptr, nodes, G, weight, part, material, laws, table, mode, positions, scale, values, force):
    """Tangent of kind `mode` × `scale` added to `values`, forces to `force`, for any law; returns the energy."""
    Fs, eigen, F, P, T = np.empty(9 * LANES), np.empty(EIGEN), np.empty((3, 3)), np.empty((3, 3)), np.empty(12)
    U, V, s = np.empty((3, 3)), np.empty((3, 3)), np.empty(3)
    g = np.empty((_widest(ptr), 3))
    energy = 0.0
    pair = 0
    for p in range(weight.shape[0]):
        start, stop, m, lane = ptr[p], ptr[p + 1], material[p], p % LANES
        if lane == 0:
            gather_gradients(q, ptr, nodes, G, p, Fs, F)
            stretch_lanes(Fs, eigen)
        energy += weight[p] * lane_response(laws[m], part[p], table[m], mode, Fs, eigen, lane, F, U, s, V, P, T)
        _add_forces(force, nodes, G, start, stop, weight[p], P)
        for k in range(start, stop):
            x, y, z = G[k, 0], G[k, 1], G[k, 2]
            g[k - start, 0] = V[0, 0] * x + V[1, 0] * y + V[2, 0] * z
            g[k - start, 1] = V[0, 1] * x + V[1, 1] * y + V[2, 1] * z
            g[k - start, 2] = V[0, 2] * x + V[1, 2] * y + V[2, 2] * z
        pair = _rotated_blocks(values, positions, pair, g, stop - start, scale * weight[p], T, U)
    return energy


@kernel
def internal_forces(q, ptr, nodes, G, weight, part, material, laws, table, force, density):
    """Internal forces added to `force` (n, 3), energy densities (p,) into `density`; returns the energy."""
    Fs, Rs, F, P = np.empty(9 * LANES), np.empty(9 * LANES), np.empty((3, 3)), np.empty((3, 3))
    U, V, s, T = np.empty((3, 3)), np.empty((3, 3)), np.empty(3), np.empty(12)
    g, eigen = np.empty((_widest(ptr), 3)), np.empty(EIGEN)
    rotates = stretches = False
    for law in laws:
        rotates, stretches = rotates or law <= COROTATED, stretches or law > COROTATED
    energy = 0.0
    for p in range(weight.shape[0]):
        lane = p % LANES
        if lane == 0 and rotates:
            gather_rotations(q, ptr, nodes, G, material, laws, p, Fs, Rs, F, U, s, V)
        if lane == 0 and stretches:
            gather_gradients(q, ptr, nodes, G, p, Fs, F)
            stretch_lanes(Fs, eigen)
        start, stop, w, m = ptr[p], ptr[p + 1], weight[p], material[p]
        if laws[m] <= COROTATED:  # the polar rotation is cheaper than the singular values
            mu = 0.0 if part[p] == VOLUME else table[m, 0]
            lam = 0.0 if part[p] == SHEAR else table[m, 1]
            psi = _corotated_point(laws[m], mu, lam, w, Fs, Rs, lane, nodes, G, start, stop, force, g)
        else:
            psi = lane_response(laws[m], part[p], table[m], 0, Fs, eigen, lane, F, U, s, V, P, T)
            _add_forces(force, nodes, G, start, stop, w, P)
        density[p] = psi
        energy += w * psi
    return energy


@kernel
def point_stresses(q, ptr, nodes, G, weight, part, material, laws, table, stress):
    """Cauchy stress P Fᵀ / J of each point into `stress` (p, 3, 3), Pa."""
    Fs, eigen, F, P, T = np.empty(9 * LANES), np.empty(EIGEN), np.empty((3, 3)), np.empty((3, 3)), np.empty(12)
    U, V, s = np.empty((3, 3)), np.empty((3, 3)), np.empty(3)
    for p in range(weight.shape[0]):
        m, lane = material[p], p % LANES
        if lane == 0:
            gather_gradients(q, ptr, nodes, G, p, Fs, F)
            stretch_lanes(Fs, eigen)
        lane_response(laws[m], part[p], table[m], 0, Fs, eigen, lane, F, U, s, V, P, T)
        if laws[m] == LINEAR:
            stress[p] = P
            continue
        volume_ratio = s[0] * s[1] * s[2]
        for i in range(3):
            for j in range(3):
                total = P[i, 0] * F[j, 0] + P[i, 1] * F[j, 1] + P[i, 2] * F[j, 2]
                stress[p, i, j] = total / volume_ratio


@kernel
def set_mass(values, diagonal, mass, scale):
    """Clear `values` and put `scale` × lumped mass (n,) on the diagonal blocks."""
    values[:] = 0.0
    for n in range(diagonal.shape[0]):
        for i in range(3):
            values[diagonal[n], i, i] = scale * mass[n]


@kernel
def constrain(values, indptr, indices, fixed, diagonal):
    """Decouple the fixed unknowns (`fixed` (n, 3)): their rows and columns become zero, their diagonal stays.

    With a zero right-hand side there the solution is that of the matrix without those unknowns, exactly.
    """
    for n in range(indptr.shape[0] - 1):
        for k in range(indptr[n], indptr[n + 1]):
            m = indices[k]
            for i in range(3):
                for j in range(3):
                    if fixed[n, i] or fixed[m, j]:
                        if n == m and i == j:
                            values[k, i, i] = max(abs(values[k, i, i]), diagonal)
                        else:
                            values[k, i, j] = 0.0
