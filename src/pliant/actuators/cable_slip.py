"""How the slip of a cable in its guides, and the angles by which these deflect it, follow the bodies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from pliant.actuators.strands import Strand
from pliant.constraints.rows import RowView
from pliant.core.types import FloatArray

_STRAIGHT = 1e-12
"""Sine of a deflection below which it has no direction."""


def beyond_guides(units: FloatArray) -> FloatArray:
    """Derivatives (k, k + 2, 3) of the length beyond each of k guides by all points, from directions of segments."""
    inner = len(units) - 1
    beyond = np.triu(np.ones((inner, inner + 1)), 1)  # the segments beyond each via point
    slope = np.zeros((inner, inner + 2, 3))
    slope[:, :-1] -= beyond[:, :, None] * units
    slope[:, 1:] += beyond[:, :, None] * units
    return slope


def slips_by_start(strands: Sequence[Strand], view: RowView, units: FloatArray) -> list[sparse.csr_matrix]:
    """∂δ/∂q (1 + k, unknowns) of each model by the start of a step, with the directions `units` (s, 3) there."""
    slips = beyond_guides(units)
    made = [sparse.csr_matrix((1 + len(slips), size)) for size in view.sizes]
    for strand in strands:
        points = sparse.csr_matrix(-slips[:, strand.order].reshape(len(slips), 3 * len(strand.order)))
        rows = strand.pieces.map.pull_back(view.start[strand.index], points)
        blank = sparse.csr_matrix((1, view.sizes[strand.index]))
        made[strand.index] = sparse.vstack([blank, rows], format="csr")
    return made


def turn_slopes(
    strands: Sequence[Strand], q: Sequence[FloatArray], guide: int, lengths: FloatArray, units: FloatArray
) -> list[tuple[int, sparse.csr_matrix]]:
    """∂θ/∂q (1, unknowns) of the angle at a `guide`, by the index of the model, from lengths (s,) and directions (s, 3)
    of the segments.
    """
    slope = np.zeros((len(units) + 1, 3))
    before, after = units[guide], units[guide + 1]
    for one, other, piece in ((before, after, guide), (after, before, guide + 1)):
        across = other - (one @ other) * one
        size = float(np.linalg.norm(across))
        if size > _STRAIGHT:
            change = -across / size / lengths[piece]
            slope[piece] -= change
            slope[piece + 1] += change
    made = []
    for strand in strands:
        points = sparse.csr_matrix(slope[strand.order].reshape(1, -1))
        made.append((strand.index, strand.pieces.map.pull_back(q[strand.index], points)))
    return made
