"""Sums over lists of unequal length as two stages of gathers, which are the same on every run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pliant.batch.gpu.arrays import Sums
from pliant.core.types import IndexArray

TERMS = 4
"""Terms of the first stage of a sum: most blocks off the diagonal have as many or fewer."""


def sums(lists: Sequence[IndexArray], past: int) -> Sums:
    """Sums over `lists` of indices below `past`, in two stages."""
    parts = [[np.asarray(one[k : k + TERMS]) for k in range(0, max(len(one), 1), TERMS)] for one in lists]
    flat = [part for some in parts for part in some]
    first = np.full((len(flat), TERMS), past, np.int32)
    for row, part in zip(first, flat, strict=True):
        row[: len(part)] = part
    second = np.full((len(parts), max((len(some) for some in parts), default=1)), len(flat), np.int32)
    begin = 0
    for row, some in zip(second, parts, strict=True):
        row[: len(some)] = np.arange(begin, begin + len(some))
        begin += len(some)
    return Sums(first, second)
