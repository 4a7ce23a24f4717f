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
    F, M, m, G = np.zeros(3), np.zeros(3), np.zeros(3), np.zeros((3, 3))
    f, t, g, o = np.empty(3), np.empty(3), np.empty((3, 3)), np.empty(3)
    carried, turned, one = np.empty((n, 3)), np.empty((n, 3)), np.empty((n, 3))
    c, B, work = np.empty(7), np.empty((6, 6)), np.empty((3, 3))
    for i in range(count - 1, -1, -1):
        row, a, u, start = 6 + i * n, q[4 + 2 * i], q[5 + 2 * i], ends[i]
        _carry(C[i], F, G, carried)
        _add_turning(C[i], carried, m, turned, True)
        _own_block(a, u, 1.0, start, F, M, m, stretches, c, B, work)
        _subtract_own(C[i], carried, B, kinds, scale, row, out)
        for s in range(first[i], first[i + 1]):
            _loads(frames[s], forces[s], f, t, g)
            for r in range(3):
                o[r] = moments[s, r]
            _carry(P[s], f, g, one)
            _own_block(a, u, fraction[s], start, f, t, o, stretches, c, B, work)
            _subtract_own(P[s], one, B, kinds, scale, row, out)
            for b in range(n):
                for r in range(3):
                    carried[b, r] += one[b, r]
            _add_turning(P[s], one, o, turned, False)
        for b in range(n):
            for j in range(i):
                for k in range(n):
                    w = C[j, k, 0]
                    column = 6 + j * n + k
                    out[row + b, column] -= scale * (w[0] * turned[b, 0] + w[1] * turned[b, 1] + w[2] * turned[b, 2])
                    out[column, row + b] -= scale * (w[0] * carried[b, 0] + w[1] * carried[b, 1] + w[2] * carried[b, 2])
            for r in range(3):
                out[row + b, 3 + r] -= scale * turned[b, r]
                out[3 + r, row + b] -= scale * carried[b, r]
        for s in range(first[i], first[i + 1]):
            _loads(frames[s], forces[s], f, t, g)
            for r in range(3):
                F[r] += f[r]
                M[r] += t[r]
                m[r] += moments[s, r]
                for k in range(3):
                    G[r, k] += g[r, k]
    trace = G[0, 0] + G[1, 1] + G[2, 2]
    for r in range(3):
        out[3 + r, 3 + r] += scale * trace
        for k in range(3):
            out[3 + r, 3 + k] -= scale * G[r, k]


@inline
def _loads(frame, forces, f, t, g):
    """Force f, moment t about the base and g = Σ x fᵀ of the particles of one station."""
    for r in range(3):
        f[r] = forces[0, r]
        for k in range(3):
            g[r, k] = frame[0, r] * forces[0, k]
            for axis in range(1, 3):
                g[r, k] += frame[1 + r, axis] * forces[axis, k]
    t[0], t[1], t[2] = g[1, 2] - g[2, 1], g[2, 0] - g[0, 2], g[0, 1] - g[1, 0]


@inline
def _carry(columns, F, G, out):
    """Σ u × f of each column, (n, 3)."""
    trace = G[0, 0] + G[1, 1] + G[2, 2]
    for b in range(len(columns)):
        w, v = columns[b, 0], columns[b, 1]
        for r in range(3):
            p, q = (r + 1) % 3, (r + 2) % 3
            out[b, r] = v[p] * F[q] - v[q] * F[p] - trace * w[r] + G[r, 0] * w[0] + G[r, 1] * w[1] + G[r, 2] * w[2]


@inline
def _add_turning(columns, carried, m, out, fresh):
    """Out (n, 3) += carried + ω × m of each column; `fresh` begins with zero."""
    for b in range(len(columns)):
        w = columns[b, 0]
        for r in range(3):
            p, q = (r + 1) % 3, (r + 2) % 3
            value = carried[b, r] + w[p] * m[q] - w[q] * m[p]
            out[b, r] = value if fresh else out[b, r] + value


@inline
def _own_block(a, u, t, start, F, M, m, stretches, c, B, work):
    """B[i, j] (6, 6) = F·∂ᵢ vⱼ + (M + m)·∂ᵢ ωⱼ, of the six strains of one section at the fraction t; of the first three
    unless it `stretches` or shears.
    """
    x = start[0]
    about, f, y = work[0], work[1], work[2]  # the moment about the section's start, and both in its axes
    about[0] = M[0] + m[0] - (x[1] * F[2] - x[2] * F[1])
    about[1] = M[1] + m[1] - (x[2] * F[0] - x[0] * F[2])
    about[2] = M[2] + m[2] - (x[0] * F[1] - x[1] * F[0])
    for r in range(3):
        f[r] = start[1, r] * F[0] + start[2, r] * F[1] + start[3, r] * F[2]
        y[r] = start[1, r] * about[0] + start[2, r] * about[1] + start[3, r] * about[2]
    even_functions(t * t * (a[0] * a[0] + a[1] * a[1] + a[2] * a[2]), c)
    set_both_derivatives(a, u, t, f, y, c, t * t, B)
    if stretches:
        B[3:] = 0.0
        B[:3, 3:] = 0.0
        add_first_derivative(a, t, f, c, t * t, B[3:, :3])  # by the stretch, of a rotation's velocity; and reverse
        add_first_derivative(a, t, f, c, t * t, B[:3, 3:])


@inline
def _subtract_own(columns, carried, B, kinds, scale, row, out):
    """Out −= scale × (B + ω_b·c_a) in the block of one section."""
    for a in range(len(kinds)):
        for b in range(len(kinds)):
            w = columns[b, 0]
            value = B[kinds[a], kinds[b]] + w[0] * carried[a, 0] + w[1] * carried[a, 1] + w[2] * carried[a, 2]
            out[row + b, row + a] -= scale * value
