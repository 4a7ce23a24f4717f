"""Inertia of a rod: sections are particles at the stations, and matrices come by recursion from tip to base, O(N²).

The mass of a section is integrated by Gauss–Legendre quadrature at its stations. A cross-section that stands at x with
the axes d_y and d_z has the second moments ρI_z along d_y and ρI_y along d_z, so it moves as three particles: x with
the mass per length ρA, and the ends of d_y and d_z with ρI_z and ρI_y. Kinetic energies, momenta and inertia forces
are then sums over particles that go straight from one step to the next, and no Coriolis term has to be written down: it
is in how the Jacobian changes along the step.

The mass matrix between the columns of two poses A and B of the rod, J_Aᵀ μ J_B, needs of everything beyond a section
the mass m, the first moments s_A and s_B, and S = Σ μ x_B x_Aᵀ: a column (ω, v) of B has the momentum m v + ω × s_B,
and about the base, in the configuration A, the angular momentum s_A × v + tr(S) ω − S ω.
"""

from __future__ import annotations

import numpy as np

from pliant.core.kernels import inline, kernel


@kernel
def particle_wrench(frames, forces, moments, out):
    """Moments about the base and forces (S, 2, 3) of particle forces (S, 3, 3) and moments (S, 3) at the stations."""
    for s in range(len(frames)):
        f = forces[s]
        for r in range(3):
            p, q = (r + 1) % 3, (r + 2) % 3
            total = moments[s, r] + frames[s, 0, p] * f[0, q] - frames[s, 0, q] * f[0, p]
            for axis in range(1, 3):
                total += frames[s, 1 + p, axis] * f[axis, q] - frames[s, 1 + q, axis] * f[axis, p]
            out[s, 0, r], out[s, 1, r] = total, f[0, r]


@kernel
def particle_velocities(frames, twist, out):
    """Velocities (S, 3, 3) of the particles under the twists (S, 2, 3) of the stations about the base."""
    for s in range(len(frames)):
        w = twist[s, 0]
        for r in range(3):
            p, q = (r + 1) % 3, (r + 2) % 3
            out[s, 0, r] = twist[s, 1, r] + w[p] * frames[s, 0, q] - w[q] * frames[s, 0, p]
            for axis in range(1, 3):
                out[s, axis, r] = w[p] * frames[s, 1 + q, axis] - w[q] * frames[s, 1 + p, axis]


@inline
def particle_steps(before, after, shift, out):
    """How far (S, 3, 3) the particles x, d_y and d_z went from `before` to `after` (S, 4, 3), the base by `shift`."""
    for s in range(len(before)):
        for r in range(3):
            out[s, 0, r] = after[s, 0, r] - before[s, 0, r] + shift[r]
            for axis in range(1, 3):
                out[s, axis, r] = after[s, 1 + r, axis] - before[s, 1 + r, axis]


@kernel
def add_mass(mu, first, A, C_A, P_A, B, C_B, P_B, same, scale, out):
    """Out (6 + Nn, 6 + Nn) += scale × J_Aᵀ μ J_B, for stations `A` and `B` (S, 4, 3); `same` where A and B are one.

    Rows and columns: translation and spin of the base, then the strains of each section.
    """
    count, kinds = C_A.shape[0], C_A.shape[1]
    S = np.zeros((3, 3))
    s_A, s_B = np.zeros(3), np.zeros(3)
    x_A, x_B, X = np.empty(3), np.empty(3), np.empty((3, 3))  # those of one station
    to_A, to_B = np.empty((kinds, 2, 3)), np.empty((kinds, 2, 3))
    m = 0.0
    for i in range(count - 1, -1, -1):
        row = 6 + i * kinds
        for b in range(kinds):
            beyond = _composite(C_B, i, b, m, s_A, s_B, S, False)
            _set(beyond, to_A, b)
            for a in range(kinds):
                out[row + a, row + b] += scale * _dot(C_A, i, a, beyond)
            if not same:
                _set(_composite(C_A, i, b, m, s_B, s_A, S, True), to_B, b)
        for s in range(first[i], first[i + 1]):
            _moments(mu, A, B, s, x_A, x_B, X)
            for b in range(kinds):
                one = _composite(P_B, s, b, mu[s, 0], x_A, x_B, X, False)
                for a in range(kinds):
                    out[row + a, row + b] += scale * _dot(P_A, s, a, one)
                _accumulate(one, to_A, b)
                if not same:
                    _accumulate(_composite(P_A, s, b, mu[s, 0], x_B, x_A, X, True), to_B, b)
        for b in range(kinds):
            own, other = _values(to_A, b), _values(to_B, b)
            for j in range(i):
                for a in range(kinds):
                    value, column = scale * _dot(C_A, j, a, own), 6 + j * kinds + a
                    out[column, row + b] += value
                    out[row + b, column] += value if same else scale * _dot(C_B, j, a, other)
            for r in range(3):
                out[r, row + b] += scale * to_A[b, 1, r]
                out[3 + r, row + b] += scale * to_A[b, 0, r]
                out[row + b, r] += scale * (to_A[b, 1, r] if same else to_B[b, 1, r])
                out[row + b, 3 + r] += scale * (to_A[b, 0, r] if same else to_B[b, 0, r])
        for s in range(first[i], first[i + 1]):
            _moments(mu, A, B, s, x_A, x_B, X)
            m += mu[s, 0]
            for r in range(3):
                s_A[r] += x_A[r]
                s_B[r] += x_B[r]
                for c in range(3):
                    S[r, c] += X[r, c]
    trace = S[0, 0] + S[1, 1] + S[2, 2]
    for r in range(3):
        out[r, r] += scale * m
        out[3 + r, 3 + r] += scale * trace
        p, q = (r + 1) % 3, (r + 2) % 3
        out[r, 3 + p] += scale * s_B[q]  # e_r · (e_p × s_B)
        out[r, 3 + q] -= scale * s_B[p]
        out[3 + p, r] += scale * s_A[q]
        out[3 + q, r] -= scale * s_A[p]
        for c in range(3):
            out[3 + r, 3 + c] -= scale * S[r, c]


@inline
def _composite(columns, i, b, m, s_here, s_there, S, transposed):
    """Momentum about the base of what moves by columns[i, b] of the other pose: moment and force, six numbers."""
    w0, w1, w2 = columns[i, b, 0, 0], columns[i, b, 0, 1], columns[i, b, 0, 2]
    v0, v1, v2 = columns[i, b, 1, 0], columns[i, b, 1, 1], columns[i, b, 1, 2]
    h0, h1, h2, s0, s1, s2 = s_here[0], s_here[1], s_here[2], s_there[0], s_there[1], s_there[2]
    a01, a02, a12, a10, a20, a21 = S[0, 1], S[0, 2], S[1, 2], S[1, 0], S[2, 0], S[2, 1]
    if transposed:
        a01, a02, a12, a10, a20, a21 = a10, a20, a21, a01, a02, a12
    on0, on1, on2 = S[1, 1] + S[2, 2], S[0, 0] + S[2, 2], S[0, 0] + S[1, 1]
    return (
        h1 * v2 - h2 * v1 + on0 * w0 - a01 * w1 - a02 * w2,
        h2 * v0 - h0 * v2 + on1 * w1 - a10 * w0 - a12 * w2,
        h0 * v1 - h1 * v0 + on2 * w2 - a20 * w0 - a21 * w1,
        m * v0 + w1 * s2 - w2 * s1,
        m * v1 + w2 * s0 - w0 * s2,
        m * v2 + w0 * s1 - w1 * s0,
    )


@inline
def _moments(mu, A, B, s, x_A, x_B, X):
    """First moments of the station s in both poses, and X = Σ μ x_B x_Aᵀ."""
    for r in range(3):
        x_A[r], x_B[r] = mu[s, 0] * A[s, 0, r], mu[s, 0] * B[s, 0, r]
    for r in range(3):
        for c in range(3):
            X[r, c] = (
                x_B[r] * A[s, 0, c]
                + mu[s, 1] * B[s, 1 + r, 1] * A[s, 1 + c, 1]
                + mu[s, 2] * B[s, 1 + r, 2] * A[s, 1 + c, 2]
            )


@inline
def _values(x, b):
    """The six numbers of x[b] (2, 3). Compilers keep them in registers, and load arrays anew that a store might change;
    a slice would be a counted reference.
    """
    return x[b, 0, 0], x[b, 0, 1], x[b, 0, 2], x[b, 1, 0], x[b, 1, 1], x[b, 1, 2]


@inline
def _set(one, totals, b):
    for k in range(2):
        for r in range(3):
            totals[b, k, r] = one[3 * k + r]


@inline
def _accumulate(one, totals, b):
    for k in range(2):
        for r in range(3):
            totals[b, k, r] += one[3 * k + r]


@inline
def _dot(x, i, a, y):
    """Of the column x[i, a] (2, 3) and six numbers."""
    return (
        x[i, a, 0, 0] * y[0]
        + x[i, a, 0, 1] * y[1]
        + x[i, a, 0, 2] * y[2]
        + x[i, a, 1, 0] * y[3]
        + x[i, a, 1, 1] * y[4]
        + x[i, a, 1, 2] * y[5]
    )
