"""The geometric Jacobian of stations of a rod as a matrix, and its derivative in time, by recursion.

The column b of section i is a twist (ω, v) about the base; the station at x moves by u = v + ω × x. It is turned by the
spin Ω of the section's start, changed by the rates of its own section, and its lever grows with what x moves beyond
that of the section's start, V(x):

    u̇ = Ω × u + v̇ + ω̇ × x + ω × (ẋ − V(x)),      spin:  Ω × ω + ω̇,

with ω̇ and v̇ from the derivatives of the section's screw (`models.rod.screw`).
"""

from __future__ import annotations

import numpy as np

from pliant.core.kernels import inline, kernel
from pliant.models.rod.screw import add_first_derivative, add_second_derivative
from pliant.models.rod.series import even_functions


@kernel
def jacobian(basis, first, x, C, P, moves, turns):
    """Derivatives of points (S, 3, 6 + Nn) at x (S, 3) m from the base, and of their spins, by the active unknowns."""
    count, n = C.shape[0], C.shape[1]
    moves[:] = 0.0
    turns[:] = 0.0
    for k in range(count):
        for s in range(first[k], first[k + 1]):
            for c in range(3):
                for r in range(3):
                    p, q = (r + 1) % 3, (r + 2) % 3
                    moves[s, r, c] = turns[s, r, 3 + c] = basis[r, c]
                    moves[s, r, 3 + c] = basis[p, c] * x[s, q] - basis[q, c] * x[s, p]
            for j in range(k + 1):
                for b in range(n):
                    w, v = (C[j, b, 0], C[j, b, 1]) if j < k else (P[s, b, 0], P[s, b, 1])
                    column = 6 + j * n + b
                    for r in range(3):
                        p, q = (r + 1) % 3, (r + 2) % 3
                        turns[s, r, column] = w[r]
                        moves[s, r, column] = v[r] + w[p] * x[s, q] - w[q] * x[s, p]


@kernel
def jacobian_rates(q, v, basis, kinds, first, fraction, ends, x, C, P, moves, turns):
    """Derivatives in time of what `jacobian` gives, under the rates v (2 + 2N, 3)."""
    count, n = C.shape[0], C.shape[1]
    moves[:] = 0.0
    turns[:] = 0.0
    starts = np.zeros((count + 1, 2, 3))  # twist of each section's start
    for r in range(3):
        for c in range(3):
            starts[0, 0, r] += basis[r, c] * v[1, c]
            starts[0, 1, r] += basis[r, c] * v[0, c]
    for k in range(count):
        for r in range(3):
            starts[k + 1, 0, r], starts[k + 1, 1, r] = starts[k, 0, r], starts[k, 1, r]
            for b in range(n):
                rate = v[2 + 2 * k + kinds[b] // 3, kinds[b] % 3]
                starts[k + 1, 0, r] += rate * C[k, b, 0, r]
                starts[k + 1, 1, r] += rate * C[k, b, 1, r]
    slopes, speed, own, work = np.empty((2, 3, 6)), np.empty(3), np.empty((2, 3)), np.empty(3)
    for k in range(count):
        for s in range(first[k], first[k + 1]):
            own[0], own[1] = starts[k, 0], starts[k, 1]
            for b in range(n):
                rate = v[2 + 2 * k + kinds[b] // 3, kinds[b] % 3]
                for r in range(3):
                    own[0, r] += rate * P[s, b, 0, r]
                    own[1, r] += rate * P[s, b, 1, r]
            _velocity(own, x[s], speed)
            for c in range(3):  # the base: its translations are constant, its spins turn what moves
                for r in range(3):
                    p, o = (r + 1) % 3, (r + 2) % 3
                    moves[s, r, 3 + c] = basis[p, c] * (speed[o] - starts[0, 1, o]) - basis[o, c] * (
                        speed[p] - starts[0, 1, p]
                    )
            for j in range(k + 1):
                t = 1.0 if j < k else fraction[s]
                _screw_rates(q[4 + 2 * j], q[5 + 2 * j], v[2 + 2 * j], v[3 + 2 * j], t, slopes)
                _velocity(starts[j], x[s], work)
                for b in range(n):
                    w, u = (C[j, b, 0], C[j, b, 1]) if j < k else (P[s, b, 0], P[s, b, 1])
                    _column_rate(w, u, starts[j, 0], ends[j], slopes, kinds[b], x[s], speed, work, own)
                    for r in range(3):
                        turns[s, r, 6 + j * n + b] = own[0, r]
                        moves[s, r, 6 + j * n + b] = own[1, r]


@inline
def _velocity(twist, x, out):
    for r in range(3):
        p, q = (r + 1) % 3, (r + 2) % 3
        out[r] = twist[1, r] + twist[0, p] * x[q] - twist[0, q] * x[p]


@inline
def _screw_rates(a, u, rate_a, rate_u, t, out):
    """Out (2, 3, 6): ω̇ and v̇ of the six columns of a section at the fraction t, in the axes of its start."""
    c, y, B, D = np.empty(7), np.empty(3), np.empty((3, 3)), np.empty((3, 3))
    even_functions(t * t * (a[0] * a[0] + a[1] * a[1] + a[2] * a[2]), c)
    out[:] = 0.0
    for r in range(3):
        y[0] = y[1] = y[2] = 0.0
        y[r] = 1.0
        B[:], D[:] = 0.0, 0.0
        add_first_derivative(a, t, y, c, t * t, B)
        add_second_derivative(a, u, t, y, c, t * t, D)
        for j in range(3):
            for i in range(3):
                out[0, r, j] += rate_a[i] * B[i, j]
                out[1, r, 3 + j] += rate_a[i] * B[i, j]
                out[1, r, j] += rate_a[i] * D[i, j] + rate_u[i] * B[i, j]


@inline
def _column_rate(w, v, spin, start, slopes, kind, x, speed, carried, out):
    """Out (2, 3): rates of the spin and of the motion of the point x by one column."""
    dw, dv, u, lever = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    for r in range(3):
        dw[r] = dv[r] = 0.0
        for c in range(3):
            dw[r] += start[1 + r, c] * slopes[0, c, kind]
            dv[r] += start[1 + r, c] * slopes[1, c, kind]
        p, q = (r + 1) % 3, (r + 2) % 3
        u[r] = v[r] + w[p] * x[q] - w[q] * x[p]
        lever[r] = speed[r] - carried[r]
    for r in range(3):
        p, q = (r + 1) % 3, (r + 2) % 3
        out[0, r] = spin[p] * w[q] - spin[q] * w[p] + dw[r]
        # v̇ is one about the section's start
        y_p, y_q = x[p] - start[0, p], x[q] - start[0, q]
        out[1, r] = spin[p] * u[q] - spin[q] * u[p] + dv[r] + dw[p] * y_q - dw[q] * y_p
        out[1, r] += w[p] * lever[q] - w[q] * lever[p]
