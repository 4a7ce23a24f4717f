"""The surface of a network of beams, for drawing: the outline of the section swept along each piece, with end caps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pliant.core.types import FloatArray, IntArray
from pliant.models.beam.beam_map import BeamMap

if TYPE_CHECKING:
    from pliant.models.beam.model import BeamModel

STATIONS = 5
"""Outlines along each piece."""


def beam_skin(model: BeamModel, *, stations: int = STATIONS, every: int = 1) -> tuple[BeamMap, IntArray]:
    """Points (p, 3) m that ride on the beam's surface, and triangles (t, 3) over them, counter-clockwise from outside.

    Every piece has a closed skin of its own, so that forks and open ends need nothing else. It has `stations` outlines
    along it, two at least, with each `every`-th point of a round one.
    """
    outline = thinned(model.spec.section.outline(), every)
    around, count = len(outline), len(model.elements.edges)
    ring: FloatArray = np.column_stack([np.zeros(around), outline])
    offset = np.concatenate([np.tile(ring, (stations, 1)), np.zeros((2, 3))])
    coordinate = np.concatenate([np.repeat(np.linspace(0.0, 1.0, stations), around), [0.0, 1.0]])
    pieces = np.repeat(np.arange(count), len(offset))
    skin = BeamMap.at(model, pieces, np.tile(coordinate, count), np.tile(offset, (count, 1)))
    one = piece_triangles(around, stations)
    triangles = (one + len(offset) * np.arange(count)[:, None, None]).reshape(-1, 3)
    return skin, triangles.astype(np.int32)


def thinned(outline: FloatArray, every: int) -> FloatArray:
    """Each `every`-th point of a round `outline` (k, 2) m; one with few corners keeps them all."""
    return outline[::every] if len(outline) >= 6 * every else outline


def piece_triangles(around: int, stations: int = STATIONS) -> IntArray:
    """Triangles of a closed skin: `stations` rings of `around` points, then the centres of both ends."""
    number = np.arange(stations * around).reshape(stations, around)
    a, b = number[:-1], np.roll(number[:-1], -1, axis=1)
    c, d = np.roll(number[1:], -1, axis=1), number[1:]
    sides = [np.stack(t, axis=-1).reshape(-1, 3) for t in ((a, b, c), (a, c, d))]
    first, last = number[0], number[-1]
    caps = [
        np.stack([np.full(around, stations * around), np.roll(first, -1), first], axis=1),
        np.stack([np.full(around, stations * around + 1), last, np.roll(last, -1)], axis=1),
    ]
    return np.concatenate([*sides, *caps])
