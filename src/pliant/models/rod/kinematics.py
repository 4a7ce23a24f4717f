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
def pose_in_section(starts, rod, k, t, c, T, R, x):
    """Rotation R (3, 3) and position x (3,) at the fraction t of the section k of `rod`, q of `sweep`, which begins at
    the pose starts[k] (4, 3); T = T(ta), c (7,) too. Slices of arrays would be counted references.
    """
    px, py, pz = t * rod[4 + 2 * k, 0], t * rod[4 + 2 * k, 1], t * rod[4 + 2 * k, 2]
    u0, u1, u2 = rod[5 + 2 * k, 0], rod[5 + 2 * k, 1], rod[5 + 2 * k, 2]
    even_functions(px * px + py * py + pz * pz, c)
    polynomial(px, py, pz, c[0], c[1], T)
    for r in range(3):
        s0, s1, s2 = starts[k, 1 + r, 0], starts[k, 1 + r, 1], starts[k, 1 + r, 2]
        for s in range(3):
            R[r, s] = s0 * T[0, s] + s1 * T[1, s] + s2 * T[2, s]
    polynomial(px, py, pz, c[1], c[2], T)
    y0 = t * (T[0, 0] * u0 + T[0, 1] * u1 + T[0, 2] * u2)
    y1 = t * (T[1, 0] * u0 + T[1, 1] * u1 + T[1, 2] * u2)
    y2 = t * (T[2, 0] * u0 + T[2, 1] * u1 + T[2, 2] * u2)
    for r in range(3):
        x[r] = starts[k, 0, r] + starts[k, 1 + r, 0] * y0 + starts[k, 1 + r, 1] * y1 + starts[k, 1 + r, 2] * y2


@inline
def columns_in_section(starts, rod, i, t, c, T, Q, kinds, out, j):
    """Columns out[j] (n, 2, 3), spin and velocity about the base, at the fraction t of the section i; T and c as left
    by the pose.
    """
    a = (rod[4 + 2 * i, 0], rod[4 + 2 * i, 1], rod[4 + 2 * i, 2])
    u = (rod[5 + 2 * i, 0], rod[5 + 2 * i, 1], rod[5 + 2 * i, 2])
    jacobian_slope(a, u, t, c, Q)
    x0, x1, x2 = starts[i, 0, 0], starts[i, 0, 1], starts[i, 0, 2]
    for k in range(len(kinds)):
        kind = kinds[k]
        if kind < 3:
            w0, w1, w2 = t * T[0, kind], t * T[1, kind], t * T[2, kind]
            v0, v1, v2 = t * Q[0, kind], t * Q[1, kind], t * Q[2, kind]
        else:
            w0 = w1 = w2 = 0.0
            v0, v1, v2 = t * T[0, kind - 3], t * T[1, kind - 3], t * T[2, kind - 3]
        for r in range(3):
            s0, s1, s2 = starts[i, 1 + r, 0], starts[i, 1 + r, 1], starts[i, 1 + r, 2]
            out[j, k, 0, r] = s0 * w0 + s1 * w1 + s2 * w2
            out[j, k, 1, r] = s0 * v0 + s1 * v1 + s2 * v2
        w0, w1, w2 = out[j, k, 0, 0], out[j, k, 0, 1], out[j, k, 0, 2]
        out[j, k, 1, 0] += x1 * w2 - x2 * w1
        out[j, k, 1, 1] += x2 * w0 - x0 * w2
        out[j, k, 1, 2] += x0 * w1 - x1 * w0


@kernel
def sweep(q, kinds, first, fraction, ends, frames, C, P):
    """Poses and columns from base to tip.

    `ends` (N + 1, 4, 3) are the poses of the sections' ends, positions relative to the base, `frames` (S, 4, 3) those
    of the stations; C (N, n, 2, 3) and P (S, n, 2, 3) the columns of section ends and of stations, for the strains
    `kinds` (n,). Where C has no room only poses are made.
    """
    count = (len(q) - 4) // 2
    c, T, R, x = np.empty(7), np.empty((3, 3)), np.empty((3, 3)), np.empty(3)
    for r in range(3):
        ends[0, 0, r] = 0.0
        for s in range(3):
            ends[0, 1 + r, s] = q[1 + r, s]
    for k in range(count):
        if len(C):
            for s in range(first[k], first[k + 1]):
                _pose_and_columns(ends, q, k, fraction[s], c, kinds, frames, s, P, s)
            _pose_and_columns(ends, q, k, 1.0, c, kinds, ends, k + 1, C, k)
            continue
        for s in range(first[k], first[k + 1]):
            pose_in_section(ends, q, k, fraction[s], c, T, R, x)
            _store(R, x, frames, s)
        pose_in_section(ends, q, k, 1.0, c, T, R, x)
        _store(R, x, ends, k + 1)


@inline
def _pose_and_columns(starts, rod, k, t, c, kinds, poses, i, columns, j):
    """The pose (4, 3) poses[i] and the columns (n, 2, 3) columns[j] at the fraction t of the section k of `rod`, q of
    `sweep`, which begins at starts[k]: `pose_in_section` and `columns_in_section` in scalars. Compilers keep matrices
    of nine scalars in registers, and store arrays that might overlap after every sum; slices of arrays are counted
    references, which cost as much as a pose. A step makes three sweeps.
    """
    x, y, z = t * rod[4 + 2 * k, 0], t * rod[4 + 2 * k, 1], t * rod[4 + 2 * k, 2]
    p, q, r = t * rod[5 + 2 * k, 0], t * rod[5 + 2 * k, 1], t * rod[5 + 2 * k, 2]
    even_functions(x * x + y * y + z * z, c)
    al, be, ga, b1, g1 = c[0], c[1], c[2], c[3], c[4]
    s00, s01, s02 = starts[k, 1, 0], starts[k, 1, 1], starts[k, 1, 2]
    s10, s11, s12 = starts[k, 2, 0], starts[k, 2, 1], starts[k, 2, 2]
    s20, s21, s22 = starts[k, 3, 0], starts[k, 3, 1], starts[k, 3, 2]
    o0, o1, o2 = starts[k, 0, 0], starts[k, 0, 1], starts[k, 0, 2]
    xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
    # the rotation I + α [ta]× + β [ta]×²
    m00, m01, m02 = 1.0 - be * (yy + zz), be * xy - al * z, be * xz + al * y
    m10, m11, m12 = be * xy + al * z, 1.0 - be * (xx + zz), be * yz - al * x
    m20, m21, m22 = be * xz - al * y, be * yz + al * x, 1.0 - be * (xx + yy)
    poses[i, 1, 0], poses[i, 1, 1] = s00 * m00 + s01 * m10 + s02 * m20, s00 * m01 + s01 * m11 + s02 * m21
    poses[i, 2, 0], poses[i, 2, 1] = s10 * m00 + s11 * m10 + s12 * m20, s10 * m01 + s11 * m11 + s12 * m21
    poses[i, 3, 0], poses[i, 3, 1] = s20 * m00 + s21 * m10 + s22 * m20, s20 * m01 + s21 * m11 + s22 * m21
    poses[i, 1, 2] = s00 * m02 + s01 * m12 + s02 * m22
    poses[i, 2, 2] = s10 * m02 + s11 * m12 + s12 * m22
    poses[i, 3, 2] = s20 * m02 + s21 * m12 + s22 * m22
    # T = I + β [ta]× + γ [ta]×², in world axes
    m00, m01, m02 = 1.0 - ga * (yy + zz), ga * xy - be * z, ga * xz + be * y
    m10, m11, m12 = ga * xy + be * z, 1.0 - ga * (xx + zz), ga * yz - be * x
    m20, m21, m22 = ga * xz - be * y, ga * yz + be * x, 1.0 - ga * (xx + yy)
    w00, w01 = s00 * m00 + s01 * m10 + s02 * m20, s00 * m01 + s01 * m11 + s02 * m21
    w10, w11 = s10 * m00 + s11 * m10 + s12 * m20, s10 * m01 + s11 * m11 + s12 * m21
    w20, w21 = s20 * m00 + s21 * m10 + s22 * m20, s20 * m01 + s21 * m11 + s22 * m21
    w02 = s00 * m02 + s01 * m12 + s02 * m22
    w12 = s10 * m02 + s11 * m12 + s12 * m22
    w22 = s20 * m02 + s21 * m12 + s22 * m22
    poses[i, 0, 0] = o0 + w00 * p + w01 * q + w02 * r
    poses[i, 0, 1] = o1 + w10 * p + w11 * q + w12 * r
    poses[i, 0, 2] = o2 + w20 * p + w21 * q + w22 * r
    # Q = T′(ta)[tu] as in `jacobian_slope`, in world axes
    dot = x * p + y * q + z * r
    d1, e1 = b1 * dot, g1 * dot
    on = -e1 * (xx + yy + zz) - 2.0 * ga * dot
    wx, wy, wz = d1 * x + be * p, d1 * y + be * q, d1 * z + be * r
    m00, m11, m22 = on + e1 * xx + 2.0 * ga * x * p, on + e1 * yy + 2.0 * ga * y * q, on + e1 * zz + 2.0 * ga * z * r
    k0, k1, k2 = e1 * xy + ga * (x * q + y * p), e1 * xz + ga * (x * r + z * p), e1 * yz + ga * (y * r + z * q)
    m01, m10, m02, m20, m12, m21 = k0 - wz, k0 + wz, k1 + wy, k1 - wy, k2 - wx, k2 + wx
    for n in range(len(kinds)):
        kind = kinds[n]
        if kind % 3 == 0:
            i0, i1, i2 = t * w00, t * w10, t * w20
        elif kind % 3 == 1:
            i0, i1, i2 = t * w01, t * w11, t * w21
        else:
            i0, i1, i2 = t * w02, t * w12, t * w22
        if kind >= 3:  # a stretch or a shear moves what lies beyond without turning it
            columns[j, n, 0, 0] = columns[j, n, 0, 1] = columns[j, n, 0, 2] = 0.0
            columns[j, n, 1, 0], columns[j, n, 1, 1], columns[j, n, 1, 2] = i0, i1, i2
            continue
        if kind == 0:
            j0, j1, j2 = t * m00, t * m10, t * m20
        elif kind == 1:
            j0, j1, j2 = t * m01, t * m11, t * m21
        else:
            j0, j1, j2 = t * m02, t * m12, t * m22
        columns[j, n, 0, 0], columns[j, n, 0, 1], columns[j, n, 0, 2] = i0, i1, i2
        columns[j, n, 1, 0] = s00 * j0 + s01 * j1 + s02 * j2 + o1 * i2 - o2 * i1
        columns[j, n, 1, 1] = s10 * j0 + s11 * j1 + s12 * j2 + o2 * i0 - o0 * i2
        columns[j, n, 1, 2] = s20 * j0 + s21 * j1 + s22 * j2 + o0 * i1 - o1 * i0


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
def _store(R, x, poses, i):
    for r in range(3):
        poses[i, 0, r] = x[r]
        for s in range(3):
            poses[i, 1 + r, s] = R[r, s]


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
