"""The point of a rod that is nearest to a given point.

A point of a section of length |u| is no nearer to p than (|p − start| + |p − end| − |u|)/2: most sections are too far.
Along a section of constant strain the axis is a helix x(t), t ∈ [0, 1], with x′ = R u and x″ = R (a × u). Each section
is sampled finely enough for its curvature, and where it may be the nearest its best sample starts Newton's iteration on
(x − p)·x′ = 0, bracketed between the neighbours. Where the point is closer than the radius of curvature |u|/|a| the
distance is convex along the section: the slopes at its ends say whether the nearest point lies between them, and where
the iteration starts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.core.arrays import writable
from pliant.core.kernels import inline, kernel
from pliant.core.types import FloatArray
from pliant.models.rod.kinematics import pose_in_section
from pliant.models.rod.rod import section_ends

_SAMPLES = 4
"""Samples of a straight section, two more for each radian: enough for Newton to start in the right valley."""

_CONVEX = 0.5
"""Distance of a point from a section over its radius of curvature, up to which the distance counts as convex along it;
the radius itself is the limit.
"""


def nearest_arc_lengths(q: FloatArray, lengths: FloatArray, points: Any) -> FloatArray:
    """Arc lengths (k,), m, of the points of the rod at q (4 + 2N, 3) nearest to `points` (k, 3) m."""
    given = np.ascontiguousarray(np.atleast_2d(np.asarray(points, np.float64)) - q[0])
    section, fraction = np.empty(len(given), np.int32), np.empty(len(given))
    project(writable(q), section_ends(q), given, section, fraction)
    starts = np.concatenate([[0.0], np.cumsum(lengths)])
    return np.asarray(starts[section] + fraction * lengths[section])


@kernel
def project(q, ends, points, section, fraction):  # type: ignore[no-untyped-def]
    """Section and fraction of the point nearest to each of `points` (k, 3), given from the base's position."""
    c, T, R, x = np.empty(7), np.empty((3, 3)), np.empty((3, 3)), np.empty(3)
    for p in range(len(points)):
        best = nearest_end = np.inf
        for k in range(len(ends)):
            nearest_end = min(nearest_end, _from_end(ends, k, points, p))
        nearest_end = np.sqrt(nearest_end)
        for k in range(len(ends) - 1):
            span = np.sqrt(q[5 + 2 * k, 0] ** 2 + q[5 + 2 * k, 1] ** 2 + q[5 + 2 * k, 2] ** 2)
            both = np.sqrt(_from_end(ends, k, points, p)) + np.sqrt(_from_end(ends, k + 1, points, p))
            if 0.5 * (both - span) > min(nearest_end, np.sqrt(best)) + 1e-9 * span:
                continue  # no point of the section is nearer than that to the point
            bend = np.sqrt(q[4 + 2 * k, 0] ** 2 + q[4 + 2 * k, 1] ** 2 + q[4 + 2 * k, 2] ** 2)
            if bend * (0.5 * both + span) < _CONVEX * span:
                t = _between(q, ends, k, points, p, c, T, R, x)
                d = _square_distance(x, points, p)
                if d < best:
                    best, section[p], fraction[p] = d, k, t
                continue
            count = _SAMPLES + int(2.0 * bend)
            least, t = np.inf, 0.0
            for i in range(count + 1):
                pose_in_section(ends, q, k, i / count, c, T, R, x)
                d = _square_distance(x, points, p)
                if d < least:
                    least, t = d, i / count
            if np.sqrt(least) - 0.5 * span / count > np.sqrt(best):
                continue
            t = _refined(q, ends, k, max(t - 1.0 / count, 0.0), t, min(t + 1.0 / count, 1.0), points, p, c, T, R, x)
            pose_in_section(ends, q, k, t, c, T, R, x)
            d = _square_distance(x, points, p)
            if d < best:
                best, section[p], fraction[p] = d, k, t


@inline
def _between(q, ends, k, points, p, c, T, R, x):  # type: ignore[no-untyped-def]
    """The fraction t of the nearest point of a section along which the distance is convex; x (3,) is that point."""
    first = last = 0.0
    u0, u1, u2 = q[5 + 2 * k, 0], q[5 + 2 * k, 1], q[5 + 2 * k, 2]
    for r in range(3):
        begins = ends[k, 1 + r, 0] * u0 + ends[k, 1 + r, 1] * u1 + ends[k, 1 + r, 2] * u2
        arrives = ends[k + 1, 1 + r, 0] * u0 + ends[k + 1, 1 + r, 1] * u1 + ends[k + 1, 1 + r, 2] * u2
        first += (ends[k, 0, r] - points[p, r]) * begins
        last += (ends[k + 1, 0, r] - points[p, r]) * arrives
    if first >= 0.0 or last <= 0.0:
        for r in range(3):
            x[r] = ends[k, 0, r] if first >= 0.0 else ends[k + 1, 0, r]
        return 0.0 if first >= 0.0 else 1.0
    t = _refined(q, ends, k, 0.0, first / (first - last), 1.0, points, p, c, T, R, x)
    pose_in_section(ends, q, k, t, c, T, R, x)
    return t


@inline
def _square_distance(x, points, p):  # type: ignore[no-untyped-def]
    return (x[0] - points[p, 0]) ** 2 + (x[1] - points[p, 1]) ** 2 + (x[2] - points[p, 2]) ** 2


@inline
def _from_end(ends, k, points, p):  # type: ignore[no-untyped-def]
    x, y, z = ends[k, 0, 0] - points[p, 0], ends[k, 0, 1] - points[p, 1], ends[k, 0, 2] - points[p, 2]
    return x**2 + y**2 + z**2


@inline
def _refined(q, ends, k, low, t, high, points, p, c, T, R, x):  # type: ignore[no-untyped-def]
    """The fraction t in [low, high] with (x − p)·x′ = 0, or the end that is nearer."""
    a0, a1, a2 = q[4 + 2 * k, 0], q[4 + 2 * k, 1], q[4 + 2 * k, 2]
    u0, u1, u2 = q[5 + 2 * k, 0], q[5 + 2 * k, 1], q[5 + 2 * k, 2]
    b0, b1, b2 = a1 * u2 - a2 * u1, a2 * u0 - a0 * u2, a0 * u1 - a1 * u0
    for _ in range(50):
        pose_in_section(ends, q, k, t, c, T, R, x)
        value = curve = 0.0
        for r in range(3):
            slope = R[r, 0] * u0 + R[r, 1] * u1 + R[r, 2] * u2
            bend = R[r, 0] * b0 + R[r, 1] * b1 + R[r, 2] * b2
            value += (x[r] - points[p, r]) * slope
            curve += slope * slope + (x[r] - points[p, r]) * bend
        if value > 0.0:
            high = t
        else:
            low = t
        following = t - value / curve if curve > 0.0 else 0.5 * (low + high)
        if not low <= following <= high:
            following = 0.5 * (low + high)
        if abs(following - t) < 1e-15:  # of a section: rounding
            break
        t = following
    return t
