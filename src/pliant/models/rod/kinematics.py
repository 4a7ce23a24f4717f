"""Where a rod stands: one pass from base to tip gives poses and the geometric Jacobian, O(N).

q (4 + 2N, 3) holds the base's position (m) and the rows of its rotation, then for each section its rotation vector a
(rad) and its stretch vector u (m), the strain times the length: ψ of `models.rod.screw`. A *station* is a point of a
section at a fraction of its length; stations are sorted by section, `first` (N + 1,) points to those of each.

A column of the Jacobian is a twist (ω, v) in world axes about the base's position: the point at x (from the base)
moves by v + ω × x. Everything beyond section k moves by `ends`-columns of k, a station in it by its own.
"""

from __future__ import annotations

import numpy as np

from pliant.core.kernels import inline, kernel
from pliant.core.spins import compose, exponential, multiply, rotate
from pliant.models.rod.screw import jacobian_slope, polynomial
from pliant.models.rod.series import even_functions


@kernel
def advance(q, dx, basis, fraction, out):
    """Out (4 + 2N, 3) = q moved by `fraction` of dx (2 + 2N, 3); the base's motion is given in `basis` (3, 3)."""
    turn, R, spin = np.empty((3, 3)), np.empty((3, 3)), np.empty(3)
    rotate(basis, dx[1], spin)
    exponential(spin, fraction, turn)
    multiply(turn, q[1:4], R)
    for r in range(3):
        out[0, r] = q[0, r]
        for c in range(3):
            out[0, r] += fraction * basis[r, c] * dx[0, c]
        for s in range(3):  # one step of Newton–Schulz keeps R orthonormal to rounding
            total = 1.5 * R[r, s]
            for k in range(3):
                total -= 0.5 * R[r, k] * (R[0, k] * R[0, s] + R[1, k] * R[1, s] + R[2, k] * R[2, s])
            out[1 + r, s] = total
    for k in range(4, len(q)):
        for c in range(3):
            out[k, c] = q[k, c] + fraction * dx[k - 2, c]


@kernel
def add_step(dx, step, basis, scale, out):
    """Out (2 + 2N, 3): the displacement dx followed by `scale` × step, the base's spins composed by exp."""
    for k in range(len(dx)):
        for c in range(3):
            out[k, c] = dx[k, c] + scale * step[k, c]
    first, then, both = np.empty(3), np.empty(3), np.empty(3)
    rotate(basis, dx[1], first)
    rotate(basis, step[1], then)
    for c in range(3):
        then[c] *= scale
    compose(first, then, both)
    for c in range(3):
        out[1, c] = basis[0, c] * both[0] + basis[1, c] * both[1] + basis[2, c] * both[2]


@inline
def pose_in_section(start, a, u, t, c, T, R, x):
    """Rotation R (3, 3) and position x (3,) at the fraction t beyond the pose `start` (4, 3); T = T(ta), c (7,) too."""
    px, py, pz = t * a[0], t * a[1], t * a[2]
    even_functions(px * px + py * py + pz * pz, c)
    polynomial(px, py, pz, c[0], c[1], T)
    multiply(start[1:], T, R)
    polynomial(px, py, pz, c[1], c[2], T)
    for r in range(3):
        x[r] = t * (T[r, 0] * u[0] + T[r, 1] * u[1] + T[r, 2] * u[2])
    y0, y1, y2 = x[0], x[1], x[2]
    for r in range(3):
        x[r] = start[0, r] + start[1 + r, 0] * y0 + start[1 + r, 1] * y1 + start[1 + r, 2] * y2


@inline
def columns_in_section(start, a, u, t, c, T, Q, kinds, out):
    """Columns (n, 2, 3), spin and velocity about the base, at the fraction t; T and c as left by the pose."""
    jacobian_slope(a, u, t, c, Q)
    for k in range(len(kinds)):
        kind = kinds[k]
        if kind < 3:
            w0, w1, w2 = t * T[0, kind], t * T[1, kind], t * T[2, kind]
            v0, v1, v2 = t * Q[0, kind], t * Q[1, kind], t * Q[2, kind]
        else:
            w0 = w1 = w2 = 0.0
            v0, v1, v2 = t * T[0, kind - 3], t * T[1, kind - 3], t * T[2, kind - 3]
        for r in range(3):
            out[k, 0, r] = start[1 + r, 0] * w0 + start[1 + r, 1] * w1 + start[1 + r, 2] * w2
            out[k, 1, r] = start[1 + r, 0] * v0 + start[1 + r, 1] * v1 + start[1 + r, 2] * v2
        x, w = start[0], out[k, 0]
        out[k, 1, 0] += x[1] * w[2] - x[2] * w[1]
        out[k, 1, 1] += x[2] * w[0] - x[0] * w[2]
        out[k, 1, 2] += x[0] * w[1] - x[1] * w[0]


@kernel
def sweep(q, kinds, first, fraction, ends, frames, C, P):
    """Poses and columns from base to tip.

    `ends` (N + 1, 4, 3) are the poses of the sections' ends, positions relative to the base, `frames` (S, 4, 3) those
    of the stations; C (N, n, 2, 3) and P (S, n, 2, 3) the columns of section ends and of stations, for the strains
    `kinds` (n,). Where C has no room only poses are made.
    """
    count = (len(q) - 4) // 2
    c, T, Q, R, x = np.empty(7), np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3)), np.empty(3)
    for r in range(3):
        ends[0, 0, r] = 0.0
        for s in range(3):
            ends[0, 1 + r, s] = q[1 + r, s]
    for k in range(count):
        a, u, start = q[4 + 2 * k], q[5 + 2 * k], ends[k]
        for s in range(first[k], first[k + 1]):
            pose_in_section(start, a, u, fraction[s], c, T, R, x)
            _store(R, x, frames[s])
            if len(C):
                columns_in_section(start, a, u, fraction[s], c, T, Q, kinds, P[s])
        pose_in_section(start, a, u, 1.0, c, T, R, x)
        _store(R, x, ends[k + 1])
        if len(C):
            columns_in_section(start, a, u, 1.0, c, T, Q, kinds, C[k])


@inline
def unpacked(space, sections, stations, kinds):
    """Views `ends`, `frames`, C and P of a sweep in the memory `space` (12 (N + 1 + S) + 6n (N + S),)."""
    a = 12 * (sections + 1)
    b = a + 12 * stations
    c = b + 6 * kinds * sections
    d = c + 6 * kinds * stations
    return (
        space[:a].reshape((sections + 1, 4, 3)),
        space[a:b].reshape((stations, 4, 3)),
        space[b:c].reshape((sections, kinds, 2, 3)),
        space[c:d].reshape((stations, kinds, 2, 3)),
    )


@inline
def _store(R, x, pose):
    for r in range(3):
        pose[0, r] = x[r]
        for s in range(3):
            pose[1 + r, s] = R[r, s]


@kernel
def twists(v, basis, kinds, first, C, P, out):
    """Spins and velocities about the base (S, 2, 3) of the stations under the rates v (2 + 2N, 3): J v, O(N)."""
    w, u = np.empty(3), np.empty(3)
    rotate(basis, v[1], w)
    rotate(basis, v[0], u)
    for k in range(len(C)):
        for s in range(first[k], first[k + 1]):
            for r in range(3):
                out[s, 0, r], out[s, 1, r] = w[r], u[r]
            for n in range(len(kinds)):
                rate = v[2 + 2 * k + kinds[n] // 3, kinds[n] % 3]
                for r in range(3):
                    out[s, 0, r] += rate * P[s, n, 0, r]
                    out[s, 1, r] += rate * P[s, n, 1, r]
        for n in range(len(kinds)):
            rate = v[2 + 2 * k + kinds[n] // 3, kinds[n] % 3]
            for r in range(3):
                w[r] += rate * C[k, n, 0, r]
                u[r] += rate * C[k, n, 1, r]


@kernel
def pull(wrench, basis, kinds, first, C, P, out):
    """Out (2 + 2N, 3) = Jᵀ of moments (about the base, N·m) and forces (N) of the stations, `wrench` (S, 2, 3), O(N).

    Strains that are not among `kinds` get 0.
    """
    M, F = np.zeros(3), np.zeros(3)
    for k in range(len(C) - 1, -1, -1):
        for c in range(3):
            out[2 + 2 * k, c] = out[3 + 2 * k, c] = 0.0
        for n in range(len(kinds)):
            total = 0.0
            for r in range(3):
                total += C[k, n, 0, r] * M[r] + C[k, n, 1, r] * F[r]
            for s in range(first[k], first[k + 1]):
                for r in range(3):
                    total += P[s, n, 0, r] * wrench[s, 0, r] + P[s, n, 1, r] * wrench[s, 1, r]
            out[2 + 2 * k + kinds[n] // 3, kinds[n] % 3] = total
        for s in range(first[k], first[k + 1]):
            for r in range(3):
                M[r] += wrench[s, 0, r]
                F[r] += wrench[s, 1, r]
    for c in range(3):
        out[0, c] = basis[0, c] * F[0] + basis[1, c] * F[1] + basis[2, c] * F[2]
        out[1, c] = basis[0, c] * M[0] + basis[1, c] * M[1] + basis[2, c] * M[2]
