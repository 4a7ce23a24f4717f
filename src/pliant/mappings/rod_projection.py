"""The place of a rod that is nearest to a point.

Along a section of constant strain the axis is a helix x(t), t ∈ [0, 1], with x′ = R u and x″ = R (a × u). Each section
is sampled finely enough for its curvature, the best sample of the rod starts Newton's iteration on (x − p)·x′ = 0,
bracketed between its neighbours.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.core.kernels import kernel
from pliant.core.types import FloatArray
from pliant.models.rod.kinematics import pose_in_section
from pliant.models.rod.rod import section_ends

_SAMPLES = 4  # of a straight section; two more for each radian


def nearest_places(q: FloatArray, lengths: FloatArray, points: Any) -> FloatArray:
    """Arc lengths (k,), m, of the places of the rod at q (4 + 2N, 3) that are nearest to `points` (k, 3) m."""
    given = np.ascontiguousarray(np.atleast_2d(np.asarray(points, np.float64)) - q[0])
    section, fraction = np.empty(len(given), np.int32), np.empty(len(given))
    _project(q if q.flags.writeable else q.copy(), section_ends(q), given, section, fraction)
    starts = np.concatenate([[0.0], np.cumsum(lengths)])
    return np.asarray(starts[section] + fraction * lengths[section])


@kernel
def _project(q, ends, points, section, fraction):  # type: ignore[no-untyped-def]
    """Section and fraction of the place nearest to each of `points` (k, 3), given from the base's position."""
    c, T, R, x = np.empty(7), np.empty((3, 3)), np.empty((3, 3)), np.empty(3)
    slope, bend, turned = np.empty(3), np.empty(3), np.empty(3)
    for p in range(len(points)):
        best, step = np.inf, 1.0
        for k in range(len(ends) - 1):
            a, u = q[4 + 2 * k], q[5 + 2 * k]
            count = _SAMPLES + int(2.0 * np.sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]))
            for i in range(count + 1):
                pose_in_section(ends[k], a, u, i / count, c, T, R, x)
                d = (x[0] - points[p, 0]) ** 2 + (x[1] - points[p, 1]) ** 2 + (x[2] - points[p, 2]) ** 2
                if d < best:
                    best, section[p], fraction[p], step = d, k, i / count, 1.0 / count
        k, t = section[p], fraction[p]
        a, u = q[4 + 2 * k], q[5 + 2 * k]
        low, high = max(t - step, 0.0), min(t + step, 1.0)
        bend[0], bend[1], bend[2] = a[1] * u[2] - a[2] * u[1], a[2] * u[0] - a[0] * u[2], a[0] * u[1] - a[1] * u[0]
        for _ in range(50):
            pose_in_section(ends[k], a, u, t, c, T, R, x)
            value = curve = 0.0
            for r in range(3):
                slope[r] = R[r, 0] * u[0] + R[r, 1] * u[1] + R[r, 2] * u[2]
                turned[r] = R[r, 0] * bend[0] + R[r, 1] * bend[1] + R[r, 2] * bend[2]
                value += (x[r] - points[p, r]) * slope[r]
                curve += slope[r] * slope[r] + (x[r] - points[p, r]) * turned[r]
            if value > 0.0:
                high = t
            else:
                low = t
            following = t - value / curve if curve > 0.0 else 0.5 * (low + high)
            if not low <= following <= high:
                following = 0.5 * (low + high)
            if abs(following - t) < 1e-15:
                break
            t = following
        fraction[p] = t
