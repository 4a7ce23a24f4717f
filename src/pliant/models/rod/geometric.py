"""Geometric stiffness of a rod: how the generalised forces of dead loads change as the rod moves, by recursion, O(N²).

A column (ω_b, v_b) of the Jacobian moves a particle at x by u_b = v_b + ω_b × x. A motion a of a section nearer to the
base turns the whole column; one farther out moves the particle; one of the same section does both:

    a nearer:   ∂ₐ u_b = ω_a × u_b,     a farther:   ∂ₐ u_b = ω_b × u_a,     same:   ∂ₐ v_b + ∂ₐ ω_b × x + ω_b × u_a.

With c_a = Σ u_a × f over the loaded particles beyond, the first two are ω_a·c_b and ω_b·c_a, a symmetric matrix. The
sum needs of everything beyond the force F = Σ f and the matrix G = Σ x fᵀ: c_a = v_a × F + G ω_a − tr(G) ω_a. Moments m
in world axes have no potential: they add ω_a·(ω_b × m) to the first case alone, which leaves the matrix unsymmetric.
"""

from __future__ import annotations

import numpy as np

from pliant.core.kernels import inline, kernel
from pliant.models.rod.screw import add_first_derivative, set_both_derivatives
from pliant.models.rod.series import even_functions


@kernel
def subtract_load_stiffness(q, kinds, first, fraction, ends, frames, C, P, forces, moments, scale, out):
    """Out (6 + Nn, 6 + Nn) −= scale × ∂(Jᵀ f)/∂q for the forces (S, 3, 3) on the particles x, d_y and d_z of the
    stations and moments (S, 3) there, all dead; the spin of the base is one at the end of its motion.
    """
    count, n = C.shape[0], C.shape[1]
    stretches = False
    for b in range(n):
        stretches = stretches or kinds[b] >= 3
    # of what lies beyond the section, and of each station; slices of them would be counted references
    F, M, m, G = np.zeros((1, 3)), np.zeros((1, 3)), np.zeros((1, 3)), np.zeros((1, 3, 3))
    f, t, g = np.empty((len(frames), 3)), np.empty((len(frames), 3)), np.empty((len(frames), 3, 3))
    carried, turned, one = np.empty((n, 3)), np.empty((n, 3)), np.empty((n, 3))
    c, B = np.empty(7), np.empty((6, 6))
    for i in range(count - 1, -1, -1):
        row = 6 + i * n
        _carry(C, i, F, G, 0, carried)
        _add_turning(C, i, carried, m, 0, turned, True)
        _own_block(q, i, 1.0, ends, F, M, 0, m, 0, stretches, c, B)
        _subtract_own(C, i, carried, B, kinds, scale, row, out)
        for s in range(first[i], first[i + 1]):
            _loads(frames, forces, s, f, t, g)
            _carry(P, s, f, g, s, one)
            _own_block(q, i, fraction[s], ends, f, t, s, moments, s, stretches, c, B)
            _subtract_own(P, s, one, B, kinds, scale, row, out)
            for b in range(n):
                for r in range(3):
                    carried[b, r] += one[b, r]
            _add_turning(P, s, one, moments, s, turned, False)
        for b in range(n):
            y0, y1, y2 = scale * turned[b, 0], scale * turned[b, 1], scale * turned[b, 2]
            z0, z1, z2 = scale * carried[b, 0], scale * carried[b, 1], scale * carried[b, 2]
            for j in range(i):
                for k in range(n):
                    w0, w1, w2 = C[j, k, 0, 0], C[j, k, 0, 1], C[j, k, 0, 2]
                    column = 6 + j * n + k
                    out[row + b, column] -= w0 * y0 + w1 * y1 + w2 * y2
                    out[column, row + b] -= w0 * z0 + w1 * z1 + w2 * z2
            for r in range(3):
                out[row + b, 3 + r] -= scale * turned[b, r]
                out[3 + r, row + b] -= scale * carried[b, r]
        for s in range(first[i], first[i + 1]):
            for r in range(3):
                F[0, r] += f[s, r]
                M[0, r] += t[s, r]
                m[0, r] += moments[s, r]
                for k in range(3):
                    G[0, r, k] += g[s, r, k]
    trace = G[0, 0, 0] + G[0, 1, 1] + G[0, 2, 2]
    for r in range(3):
        out[3 + r, 3 + r] += scale * trace
        for k in range(3):
            out[3 + r, 3 + k] -= scale * G[0, r, k]


@inline
def _loads(frames, forces, s, f, t, g):
    """Force f, moment t about the base and g = Σ x fᵀ of the particles of the station s."""
    f0, f1, f2 = forces[s, 0, 0], forces[s, 0, 1], forces[s, 0, 2]
    y0, y1, y2 = forces[s, 1, 0], forces[s, 1, 1], forces[s, 1, 2]
    z0, z1, z2 = forces[s, 2, 0], forces[s, 2, 1], forces[s, 2, 2]
    f[s, 0], f[s, 1], f[s, 2] = f0, f1, f2
    for r in range(3):
        x, d, e = frames[s, 0, r], frames[s, 1 + r, 1], frames[s, 1 + r, 2]
        g[s, r, 0] = x * f0 + d * y0 + e * z0
        g[s, r, 1] = x * f1 + d * y1 + e * z1
        g[s, r, 2] = x * f2 + d * y2 + e * z2
    t[s, 0], t[s, 1], t[s, 2] = g[s, 1, 2] - g[s, 2, 1], g[s, 2, 0] - g[s, 0, 2], g[s, 0, 1] - g[s, 1, 0]


@inline
def _carry(columns, at, F, G, k, out):
    """Σ u × f of each of the columns[at], (n, 3), for F[k] and G[k]."""
    f0, f1, f2 = F[k, 0], F[k, 1], F[k, 2]
    g01, g02, g10, g12, g20, g21 = G[k, 0, 1], G[k, 0, 2], G[k, 1, 0], G[k, 1, 2], G[k, 2, 0], G[k, 2, 1]
    on0, on1, on2 = -G[k, 1, 1] - G[k, 2, 2], -G[k, 0, 0] - G[k, 2, 2], -G[k, 0, 0] - G[k, 1, 1]
    for b in range(columns.shape[1]):
        w0, w1, w2 = columns[at, b, 0, 0], columns[at, b, 0, 1], columns[at, b, 0, 2]
        v0, v1, v2 = columns[at, b, 1, 0], columns[at, b, 1, 1], columns[at, b, 1, 2]
        out[b, 0] = v1 * f2 - v2 * f1 + on0 * w0 + g01 * w1 + g02 * w2
        out[b, 1] = v2 * f0 - v0 * f2 + on1 * w1 + g10 * w0 + g12 * w2
        out[b, 2] = v0 * f1 - v1 * f0 + on2 * w2 + g20 * w0 + g21 * w1


@inline
def _add_turning(columns, at, carried, m, k, out, fresh):
    """Out (n, 3) += carried + ω × m[k] of each of the columns[at]; `fresh` begins with zero."""
    for b in range(columns.shape[1]):
        for r in range(3):
            p, q = (r + 1) % 3, (r + 2) % 3
            value = carried[b, r] + columns[at, b, 0, p] * m[k, q] - columns[at, b, 0, q] * m[k, p]
            out[b, r] = value if fresh else out[b, r] + value


@inline
def _own_block(q, i, t, ends, F, M, k, m, j, stretches, c, B):
    """B[a, b] (6, 6) = F[k]·∂ₐ v_b + (M[k] + m[j])·∂ₐ ω_b, of the six strains of the section i at the fraction t; of
    the first three unless it `stretches` or shears.
    """
    x, y, z, F0, F1, F2 = ends[i, 0, 0], ends[i, 0, 1], ends[i, 0, 2], F[k, 0], F[k, 1], F[k, 2]
    # the moment about the section's start, and both in its axes
    m0 = M[k, 0] + m[j, 0] - (y * F2 - z * F1)
    m1 = M[k, 1] + m[j, 1] - (z * F0 - x * F2)
    m2 = M[k, 2] + m[j, 2] - (x * F1 - y * F0)
    f = (
        ends[i, 1, 0] * F0 + ends[i, 2, 0] * F1 + ends[i, 3, 0] * F2,
        ends[i, 1, 1] * F0 + ends[i, 2, 1] * F1 + ends[i, 3, 1] * F2,
        ends[i, 1, 2] * F0 + ends[i, 2, 2] * F1 + ends[i, 3, 2] * F2,
    )
    about = (
        ends[i, 1, 0] * m0 + ends[i, 2, 0] * m1 + ends[i, 3, 0] * m2,
        ends[i, 1, 1] * m0 + ends[i, 2, 1] * m1 + ends[i, 3, 1] * m2,
        ends[i, 1, 2] * m0 + ends[i, 2, 2] * m1 + ends[i, 3, 2] * m2,
    )
    a = (q[4 + 2 * i, 0], q[4 + 2 * i, 1], q[4 + 2 * i, 2])
    u = (q[5 + 2 * i, 0], q[5 + 2 * i, 1], q[5 + 2 * i, 2])
    even_functions(t * t * (a[0] * a[0] + a[1] * a[1] + a[2] * a[2]), c)
    set_both_derivatives(a, u, t, f, about, c, t * t, B)
    if stretches:
        B[3:] = 0.0
        B[:3, 3:] = 0.0
        add_first_derivative(a, t, f, c, t * t, B[3:, :3])  # by the stretch, of a rotation's velocity; and reverse
        add_first_derivative(a, t, f, c, t * t, B[:3, 3:])


@inline
def _subtract_own(columns, at, carried, B, kinds, scale, row, out):
    """Out −= scale × (B + ω_b·c_a) in the block of one section."""
    for b in range(len(kinds)):
        w0, w1, w2, kind = columns[at, b, 0, 0], columns[at, b, 0, 1], columns[at, b, 0, 2], kinds[b]
        for a in range(len(kinds)):
            value = B[kinds[a], kind] + w0 * carried[a, 0] + w1 * carried[a, 1] + w2 * carried[a, 2]
            out[row + b, row + a] -= scale * value
