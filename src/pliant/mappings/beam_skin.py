"""The surface of a network of beams, for drawing: the outline of the section swept along each piece, with end caps."""

from __future__ import annotations

import numpy as np

from pliant.core.types import FloatArray, IntArray
from pliant.mappings.beam_map import BeamMap
from pliant.models.beam import BeamModel

STATIONS = 5
"""Outlines along each piece."""


def beam_skin(model: BeamModel) -> tuple[BeamMap, IntArray]:
    """Points (p, 3) m that ride on the beam's surface, and triangles (t, 3) over them, counter-clockwise from outside.

    Every piece has a closed skin of its own, so that forks and open ends need nothing else.
    """
    outline = model.spec.section.outline()
    around, count = len(outline), len(model.elements.edges)
    ring: FloatArray = np.column_stack([np.zeros(around), outline])
    offset = np.concatenate([np.tile(ring, (STATIONS, 1)), np.zeros((2, 3))])
    coordinate = np.concatenate([np.repeat(np.linspace(0.0, 1.0, STATIONS), around), [0.0, 1.0]])
    pieces = np.repeat(np.arange(count), len(offset))
    skin = BeamMap.at(model, pieces, np.tile(coordinate, count), np.tile(offset, (count, 1)))
    one = piece_triangles(around)
    triangles = (one + len(offset) * np.arange(count)[:, None, None]).reshape(-1, 3)
    return skin, triangles.astype(np.int32)


def piece_triangles(around: int) -> IntArray:
    """Triangles of a closed skin: `STATIONS` rings of `around` points, then the centres of both ends."""
    number = np.arange(STATIONS * around).reshape(STATIONS, around)
    a, b = number[:-1], np.roll(number[:-1], -1, axis=1)
    c, d = np.roll(number[1:], -1, axis=1), number[1:]
    sides = [np.stack(t, axis=-1).reshape(-1, 3) for t in ((a, b, c), (a, c, d))]
    first, last = number[0], number[-1]
    caps = [
        np.stack([np.full(around, STATIONS * around), np.roll(first, -1), first], axis=1),
        np.stack([np.full(around, STATIONS * around + 1), last, np.roll(last, -1)], axis=1),
    ]
    return np.concatenate([*sides, *caps])
