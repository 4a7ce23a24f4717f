"""Polylines through embedded points: lengths and directions of their segments, and how their length changes."""

from __future__ import annotations

import numpy as np

from pliant.core.kernels import inline, kernel
from pliant.core.types import FloatArray

_ROUNDED = 0.01
"""Length ε of a segment over the mean one, below which ℓ is rounded to (ℓ² + ε²)/2ε: where two points meet, ℓ alone has
no derivative, and an iteration would go to and fro between opposite directions. Guides are no smaller than that.
"""


def segments(path: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Lengths (s,), m, rounded near zero, and their slopes (s, 3), the directions, of a path (s + 1, 3), m."""
    lengths, units = np.empty(len(path) - 1), np.empty((len(path) - 1, 3))
    _measure(path, lengths, units)
    return lengths, units


def shortening_slope(units: FloatArray) -> FloatArray:
    """−∂L/∂x of the points of a path (s + 1, 3), from the directions of its segments."""
    slope = np.empty((len(units) + 1, 3))
    slope[:-1], slope[-1] = units, 0.0
    slope[1:] -= units
    return slope


@inline
def measure_segments(path: FloatArray, lengths: FloatArray, units: FloatArray) -> float:
    """Fill the lengths, rounded near zero, and directions of the segments of a path; returns the sum of the lengths."""
    total = 0.0
    for s in range(len(lengths)):
        squares = 0.0
        for c in range(3):
            units[s, c] = path[s + 1, c] - path[s, c]
            squares += units[s, c] ** 2
        lengths[s] = np.sqrt(squares)
        total += lengths[s]
    least, rounded = _ROUNDED * total / len(lengths), 0.0
    for s in range(len(lengths)):
        slope = max(lengths[s], least)
        for c in range(3):
            units[s, c] /= slope
        if lengths[s] < least:
            lengths[s] = 0.5 * (lengths[s] ** 2 / least + least)
        rounded += lengths[s]
    return rounded


@kernel
def _measure(path: FloatArray, lengths: FloatArray, units: FloatArray) -> None:
    measure_segments(path, lengths, units)
