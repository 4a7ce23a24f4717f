"""Rods of the convergence study side by side, coloured by their bending (Adagolodjo 2021, figure 6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from experiments.adagolodjo_parts import RodFinger
from pliant.core.types import FloatArray, IntArray
from pliant.models.rod import RodModel
from pliant.models.rod.rod_map import RodMap
from pliant.viewer.picture import write_picture
from pliant.viewer.shapes import balls
from pliant.viewer.surfaces import SurfaceFrames
from pliant.world import State

THICKER = 4.0
"""How many times thicker than they are rods are drawn: a wire of half a millimetre has no room for a colour."""
_TARGET, _APART = "#e8c63a", 0.02  # colour of the targets; m from rod to rod


@dataclass(frozen=True, eq=False)
class BentRod:
    """The skin of a rod as it is drawn: `points` (p, 3) m, `triangles` (t, 3), and the `bending` (p,) 1/m there."""

    sections: int
    points: FloatArray
    triangles: IntArray
    bending: FloatArray
    radius: float

    @classmethod
    def of(cls, bench: RodFinger, state: State) -> BentRod:
        """The rod of `bench` at `state`."""
        assert bench.rod is not None
        number = bench.world.index(bench.rod)
        model, q = bench.world.models[number], state.q[number]
        assert isinstance(model, RodModel)
        drawn = model.skin()
        skin, triangles = drawn.map, drawn.triangles
        assert isinstance(skin, RodMap)
        bending = np.linalg.norm(model.strains(q)[:, 1:3], axis=1)
        points = replace(skin, offset=THICKER * skin.offset).points(q)
        radius = THICKER * model.spec.section_list[0].radius
        return cls(model.spec.sections, points, triangles, bending[skin.section], radius)


def write_bending(rods: Sequence[BentRod], folder: Path, *, targets: FloatArray) -> list[Path]:
    """Write `bending.png` into `folder`: the rods beside each other, the coarsest in front, and each with `targets`
    (k, 3) m.
    """
    surfaces = []
    for place, rod in enumerate(rods):
        aside = np.array([0.0, place * _APART, 0.0])
        surfaces.append(
            SurfaceFrames(
                rod.triangles.astype(np.int64),
                (rod.points + aside)[None],
                rod.bending[None],
                f"{rod.sections} sections",
                "bending (1/m)",
            )
        )
        points, triangles = balls(targets + aside, 1.8 * rod.radius)
        surfaces.append(SurfaceFrames(triangles, points[None], label="targets", color=_TARGET))
    counts = ", ".join(str(rod.sections) for rod in rods)
    title = f"Bending of the rod with {counts} sections, front to back"
    return [write_picture(folder / "bending.png", surfaces=surfaces, title=title)]
