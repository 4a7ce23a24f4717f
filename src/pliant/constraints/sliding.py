"""The kernels of a channel at one state of a rod and a volume: its rows, and their stiffness.

A point of the channel is embedded in a cell of the volume; the nearest point of the axis follows the strains of the
rod. The equations stand in `constraints.channel` and in the kernels of `models.rod`; here are the sums over points.
"""

from __future__ import annotations

import numpy as np

from pliant.core.kernels import inline, kernel
from pliant.models.rod.geometric import subtract_load_stiffness
from pliant.models.rod.kinematics import columns_in_section, pose_in_section, sweep
from pliant.models.rod.projection import project
from pliant.models.rod.step import in_basis


@inline
def locate(q, q_v, kinds, starts, nodes, weights, fixed_end, x, section, fraction, slides, frames, ends, C, P):
    """Positions x (k, 3) m of the points of a channel, and the points of the axis nearest to them.

    `section` (k,) and `fraction` (k,) of the latter, which points slide, `slides` (k,), and their poses `frames` (k, 4,
    3) and columns P (k, n, 2, 3); `ends` (N + 1, 4, 3) and C (N, n, 2, 3) are those of the sections, which begin at arc
    lengths `starts` (N + 1,) m. Poses and columns are relative to the position of the base.
    """
    count, n = len(ends) - 1, len(kinds)
    _ride(q_v, nodes, weights, x)
    sweep(q, kinds, np.zeros(count + 1, np.int32), np.empty(0), ends, np.empty((0, 4, 3)), C, np.empty((0, n, 2, 3)))
    away = np.empty(x.shape)
    for p in range(len(x)):
        for r in range(3):
            away[p, r] = x[p, r] - q[0, r]
    project(q, ends, away, section, fraction)
    last = len(x) - 1
    if fixed_end:
        section[last], fraction[last] = count - 1, 1.0
    c, T, Q, R, y = np.empty(7), np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3)), np.empty(3)
    for p in range(len(x)):
        k = section[p]
        arc = starts[k] + fraction[p] * (starts[k + 1] - starts[k])
        # the tip itself, within rounding, is past
        slides[p] = arc < starts[count] * (1.0 - 1e-9) and not (fixed_end and p == last)
        pose_in_section(ends, q, k, fraction[p], c, T, R, y)
        for r in range(3):
            frames[p, 0, r] = y[r]
            for s in range(3):
                frames[p, 1 + r, s] = R[r, s]
        columns_in_section(ends, q, k, fraction[p], c, T, Q, kinds, P, p)


@kernel
def sliding_rows(
    q, base, q_v, start_v, kinds, basis, starts, nodes, weights, held, capture, fixed_end, width, slides, gap, own, rod
):  # fmt: skip
    """Fill the rows of a channel and which points slide, `slides` (k,); return the count of rows, `width` for each of
    these: along the normals and, with three, along the axis. A fixed end has three more. Points that were not `held`
    (k,) before and are farther from the axis than `capture` (m) have none.

    `gap` (m,), the gradient in the volume at the nodes of the cell, `own` (m, 3j), and that in the active unknowns of
    the rod, `rod` (m, 6 + Nn). `base` and `start_v` are q of rod and volume at the start of the step, for the slip
    along the axis.
    """
    points, count, n = len(nodes), len(starts) - 1, len(kinds)
    x, section, fraction = np.empty((points, 3)), np.empty(points, np.int32), np.empty(points)
    frames, P = np.empty((points, 4, 3)), np.empty((points, n, 2, 3))
    ends, C = np.empty((count + 1, 4, 3)), np.empty((count, n, 2, 3))
    locate(q, q_v, kinds, starts, nodes, weights, fixed_end, x, section, fraction, slides, frames, ends, C, P)
    row = 0
    for p in range(points):
        away = 0.0
        for r in range(3):
            away += (x[p, r] - q[0, r] - frames[p, 0, r]) ** 2
        slides[p] = slides[p] and (held[p] or away <= capture * capture)
        if slides[p]:
            for j in range(width):
                _row(q, basis, x, frames, section, C, P, nodes, weights, p, (j + 1) % 3, row, gap, own, rod)
                row += 1
    if width == 3:
        _slip(base, start_v, nodes, weights, x, q, frames, section, fraction, slides, gap)
    if fixed_end:
        for j in range(3):
            _row(q, basis, x, frames, section, C, P, nodes, weights, points - 1, j, row, gap, own, rod)
            row += 1
    return row


@kernel
def sliding_stiffness(q, q_v, kinds, basis, starts, nodes, weights, fixed_end, lam, scale, K):
    """K (6 + Nn, 6 + Nn) = −scale ∂(Jᵀ f)/∂q of the dead forces −f of a channel on its rod, at fixed points of axis.

    `lam` (k + 1, 3) are the forces of the points along both normals and the axis, and those of a fixed end.
    """
    points, count, n = len(nodes), len(starts) - 1, len(kinds)
    x, section, fraction = np.empty((points, 3)), np.empty(points, np.int32), np.empty(points)
    slides, frames, P = np.empty(points, np.bool_), np.empty((points, 4, 3)), np.empty((points, n, 2, 3))
    ends, C = np.empty((count + 1, 4, 3)), np.empty((count, n, 2, 3))
    locate(q, q_v, kinds, starts, nodes, weights, fixed_end, x, section, fraction, slides, frames, ends, C, P)
    order, first = np.argsort(section, kind="mergesort"), np.zeros(count + 1, np.int32)
    forces, moments = np.zeros((points, 3, 3)), np.zeros((points, 3))
    for p in range(points):
        first[section[p] + 1] += 1
    for k in range(count):
        first[k + 1] += first[k]
    for s in range(points):
        p = order[s]
        for r in range(3):
            R0, R1, R2 = frames[p, 1 + r, 0], frames[p, 1 + r, 1], frames[p, 1 + r, 2]
            if slides[p]:
                forces[s, 0, r] = -(R1 * lam[p, 0] + R2 * lam[p, 1] + R0 * lam[p, 2])
            elif fixed_end and p == points - 1:
                forces[s, 0, r] = -(R0 * lam[points, 0] + R1 * lam[points, 1] + R2 * lam[points, 2])
    K[:] = 0.0
    subtract_load_stiffness(
        q, kinds, first, fraction[order], ends, frames[order], C, P[order], forces, moments, scale, K
    )  # fmt: skip
    in_basis(basis, K)


@inline
def _ride(q_v, nodes, weights, x):
    for p in range(len(nodes)):
        for r in range(3):
            x[p, r] = 0.0
            for j in range(nodes.shape[1]):
                x[p, r] += weights[p, j] * q_v[nodes[p, j], r]


@inline
def _row(q, basis, x, frames, section, C, P, nodes, weights, p, axis, row, gap, own, rod):
    """The row of point p along column `axis` of the frame on the axis."""
    d0, d1, d2 = frames[p, 1, axis], frames[p, 2, axis], frames[p, 3, axis]
    y0, y1, y2 = frames[p, 0, 0], frames[p, 0, 1], frames[p, 0, 2]
    gap[row] = d0 * (x[p, 0] - q[0, 0] - y0) + d1 * (x[p, 1] - q[0, 1] - y1) + d2 * (x[p, 2] - q[0, 2] - y2)
    for j in range(nodes.shape[1]):
        w = weights[p, j]
        own[row, 3 * j], own[row, 3 * j + 1], own[row, 3 * j + 2] = w * d0, w * d1, w * d2
    m0, m1, m2 = y1 * d2 - y2 * d1, y2 * d0 - y0 * d2, y0 * d1 - y1 * d0
    for c in range(3):
        rod[row, c] = -(d0 * basis[0, c] + d1 * basis[1, c] + d2 * basis[2, c])
        rod[row, 3 + c] = -(m0 * basis[0, c] + m1 * basis[1, c] + m2 * basis[2, c])
    n = C.shape[1]
    for k in range(len(C)):
        for b in range(n):
            value = 0.0
            if k < section[p]:
                value = _moved(C, k, b, d0, d1, d2, m0, m1, m2)
            elif k == section[p]:
                value = _moved(P, p, b, d0, d1, d2, m0, m1, m2)
            rod[row, 6 + k * n + b] = -value


@inline
def _moved(columns, i, b, d0, d1, d2, m0, m1, m2):
    """Motion along d of a point with the moment m of d about the base, by columns[i, b]."""
    turned = m0 * columns[i, b, 0, 0] + m1 * columns[i, b, 0, 1] + m2 * columns[i, b, 0, 2]
    return d0 * columns[i, b, 1, 0] + d1 * columns[i, b, 1, 1] + d2 * columns[i, b, 1, 2] + turned


@inline
def _slip(base, start_v, nodes, weights, x, q, frames, section, fraction, slides, gap):
    """Slip of the sliding points along the axis in the step, relative to the points of the axis under them."""
    count, before = (len(base) - 4) // 2, np.empty(x.shape)
    _ride(start_v, nodes, weights, before)
    ends, none = np.empty((count + 1, 4, 3)), np.empty((0, 0, 2, 3))
    sweep(
        base, np.empty(0, np.int32), np.zeros(count + 1, np.int32), np.empty(0), ends, np.empty((0, 4, 3)), none, none
    )
    c, T, R, y = np.empty(7), np.empty((3, 3)), np.empty((3, 3)), np.empty(3)
    row = 2
    for p in range(len(x)):
        if slides[p]:
            k = section[p]
            pose_in_section(ends, base, k, fraction[p], c, T, R, y)
            gap[row] = 0.0
            for r in range(3):
                moved = x[p, r] - before[p, r] - (frames[p, 0, r] + q[0, r] - y[r] - base[0, r])
                gap[row] += frames[p, 1 + r, 0] * moved
            row += 3
