"""The surface of a rod, for drawing: the outline of each section swept along it, with end caps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pliant.core.types import IntArray
from pliant.models.beam.skin import STATIONS, piece_triangles, thinned
from pliant.models.rod.rod_map import RodMap

if TYPE_CHECKING:
    from pliant.models.rod.model import RodModel


def rod_skin(model: RodModel, *, stations: int = STATIONS, every: int = 1) -> tuple[RodMap, IntArray]:
    """Points (p, 3) m that ride on the rod's surface, and triangles (t, 3) over them, counter-clockwise from outside.

    Every section has a closed skin of its own, so that steps of a taper need nothing else; `stations` and `every` as in
    `beam_skin`.
    """
    parts, sections, fractions, triangles, count = [], [], [], [], 0
    for number, section in enumerate(model.spec.section_list):
        outline = thinned(section.outline(), every)
        around = len(outline)
        ring = np.column_stack([np.zeros(around), outline])
        parts.append(np.concatenate([np.tile(ring, (stations, 1)), np.zeros((2, 3))]))
        fractions.append(np.concatenate([np.repeat(np.linspace(0.0, 1.0, stations), around), [0.0, 1.0]]))
        sections.append(np.full(len(parts[-1]), number, np.int32))
        triangles.append(count + piece_triangles(around, stations))
        count += len(parts[-1])
    skin = RodMap(
        np.concatenate(sections),
        np.concatenate(fractions),
        np.concatenate(parts),
        model.spec.lengths,
        model.spec.active,
        model.basis,
    )
    return skin, np.concatenate(triangles).astype(np.int32)
