"""Broad phase of a motion: features whose boxes, swept from its start to its end, overlap."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from pliant.core.types import FloatArray, IndexArray

_CHUNK = 2_000_000
"""Most pairs of boxes compared at a time."""


class Boxes(NamedTuple):
    """Boxes (n, 3) m from `low` to `high` around the motions of features."""

    low: FloatArray
    high: FloatArray


def near_boxes(a: Boxes, b: Boxes, slack: float) -> Iterator[tuple[IndexArray, IndexArray]]:
    """Indices of features whose boxes are nearer than `slack` (m), in chunks."""
    low, high = b.low.min(axis=0) - slack, b.high.max(axis=0) + slack
    chosen = np.flatnonzero(((a.low <= high) & (a.high >= low)).all(axis=1))
    if not len(chosen):
        return
    low, high = a.low[chosen].min(axis=0) - slack, a.high[chosen].max(axis=0) + slack
    other = np.flatnonzero(((b.low <= high) & (b.high >= low)).all(axis=1))
    if not len(other):
        return
    step = max(1, _CHUNK // len(other))
    for begin in range(0, len(chosen), step):
        part = chosen[begin : begin + step]
        near = np.ones((len(part), len(other)), bool)
        for k in range(3):
            near &= a.low[part, None, k] <= b.high[None, other, k] + slack
            near &= a.high[part, None, k] >= b.low[None, other, k] - slack
        i, j = near.nonzero()
        if len(i):
            yield part[i], other[j]
