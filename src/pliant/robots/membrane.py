"""The membrane of Fang et al. 2022: a square rubber sheet deformed by four round chambers below it.

G. Fang, Y. Tian, A. Weightman, C. C. L. Wang, Collision-aware fast simulation for soft robots by optimization-based
geometric computing, IROS 2022, section IV.C. Sheet and chambers are five bodies that only touch each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from pliant.actuators import Cavity
from pliant.actuators.values import VolumeRatio
from pliant.core.checks import non_negative, positive, positive_count
from pliant.core.declared import declared
from pliant.core.errors import InputError
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray
from pliant.materials import Material
from pliant.materials.silicones import dragon_skin_20
from pliant.mesh import Mesh, regions
from pliant.mesh.elements import ElementName
from pliant.mesh.lattice import Lattice, round_keys, stacked_rounds
from pliant.mesh.structured import cell_counts
from pliant.models.volume import Rayleigh, Volume
from pliant.models.volume.points import AntiLocking
from pliant.robots.robot import DAMPING, Marker, Robot, check_lengths, hollows, volume_ratios
from pliant.world import Scene


@one_line
@dataclass(frozen=True, eq=False)
class Membrane:
    """A sheet over four inflatable chambers that are fixed to the ground.

    sheet
        The membrane, clamped at its rim.
    chambers
        Robots of one body and one cavity each, at (−, −), (+, −), (−, +) and (+, +) of x and y; their `tip` is the
        middle of their top.

    `tip` is the middle of the sheet's upper face.
    """

    sheet: Volume
    chambers: tuple[Robot, ...]
    _: KW_ONLY
    tip: Marker
    name: str = "membrane"

    @property
    def parts(self) -> tuple[Any, ...]:
        """What `scene.add(membrane)` adds, in order: the sheet, then each chamber with its cavity."""
        return (self.sheet, *(part for one in self.chambers for part in one.parts))

    @property
    def cavities(self) -> tuple[Cavity, ...]:
        """The cavity of each chamber."""
        return tuple(one.cavity for one in self.chambers)

    def collide(self, scene: Scene, *, margin: float | None = None) -> None:
        """Frictionless contacts of chambers and sheet and between chambers, detected within `margin` (m)."""
        for one in self.chambers:
            scene.collide(self.sheet, one.body, margin=margin)
        for one, other in combinations(self.chambers, 2):
            scene.collide(one.body, other.body, margin=margin)

    def controls(self, ratios: Any) -> dict[Cavity, VolumeRatio]:
        """Controls of a step: the volume of each chamber over that at rest, one number for all or (4,)."""
        return volume_ratios(self.cavities, ratios)

    def top(self, state: Any) -> tuple[FloatArray, FloatArray]:
        """Nodes of the sheet's upper face at rest and in `state`, (k, 3) m each."""
        rest = self.sheet.mesh.points
        upper = np.abs(rest[:, 2] - rest[:, 2].max()) < 1e-9  # m, rounding
        return rest[upper], state.points(self.sheet)[upper]


@declared
def membrane(
    *,
    size: float = 0.250,
    thickness: float = 0.005,
    spacing: float = 0.100,
    radius: float = 0.040,
    wall: float = 0.002,
    heights: Sequence[float] = (0.005, 0.003, 0.002),
    clearance: float = 0.0,
    cells: Any = (50, 2),
    side: int = 16,
    layers: Any = (2, 2, 2),
    element: ElementName = "tet4",
    material: Material | None = None,
    anti_locking: AntiLocking = True,
    damping: Rayleigh = DAMPING,
    name: str = "membrane",
) -> Membrane:
    """A sheet about the z axis, level, over four round chambers that stand on z = 0; all lengths in m.

    The sheet is 250 × 250 × 5 mm and clamped at its rim. The chambers are discs of radius 40 mm, 10 mm high, with air
    of radius 38 mm between 5 and 8 mm of their height, their axes 100 mm apart. By default each has the 8 600
    tetrahedra of the paper, and the sheet 30 000. Everything is mirror-symmetric in x, in y and in x = y.

    size, thickness
        Edges of the sheet.
    spacing, radius, wall
        Distance between the axes of neighbouring chambers, their outer radius, and the thickness of their side wall.
    heights
        Of a chamber's floor, its air and its roof.
    clearance
        Between the roofs and the sheet; 0: they touch.
    cells
        Of the sheet along an edge, an even number, and through its thickness.
    side
        Cells along a side of a chamber's core, an even number; round the rim there are four times as many.
    layers
        Of cells through a chamber's floor, beside its air, and through its roof.
    material
        Of all five bodies. None: Dragon Skin 20 as measured (`pl.materials.dragon_skin_20`).
    """
    check_lengths("membrane", size=size, thickness=thickness, spacing=spacing, radius=radius, wall=wall)
    non_negative("clearance of a membrane", clearance, unit="m")
    if not wall < radius:
        raise InputError(f"a wall of {wall:g} m leaves no air inside a radius of {radius:g} m")
    if not 2.0 * radius < spacing:
        raise InputError(f"chambers {spacing:g} m apart overlap; spacing must exceed twice their radius, {radius:g} m")
    if not spacing + 2.0 * radius < size:
        raise InputError(f"a sheet must cover the chambers: size {size:g} m > {spacing + 2.0 * radius:g} m")
    steps = [positive(f"heights[{k}] of a membrane", h, unit="m") for k, h in enumerate(heights)]
    if len(steps) != 3:
        raise InputError(f"heights of a membrane are those of floor, air and roof, got {len(steps)} of them")
    across, through = cell_counts("cells", cells, ("an edge of the sheet", "its thickness"))
    through_chamber = cell_counts("layers", layers, ("the floor", "the air", "the roof"))
    for label, count in (("cells along an edge of the sheet", across), ("side", positive_count("side", side))):
        if count % 2:
            raise InputError(f"{label} must be even, so that the membrane is symmetric, got {count}")
    rubber = dragon_skin_20() if material is None else material
    options: dict[str, Any] = {"anti_locking": anti_locking, "damping": damping}
    bottom = sum(steps) + clearance
    line = np.linspace(-0.5 * size, 0.5 * size, across + 1, dtype=np.float64)
    lattice = Lattice.grid(line, line, np.linspace(0.0, thickness, through + 1, dtype=np.float64))
    plate = lattice.mesh(*round_keys(lattice.points), element=element).translated((0.0, 0.0, bottom))
    x, y = (regions.plane(axis=a, at=0.5 * size) | regions.plane(axis=a, at=-0.5 * size) for a in "xy")
    sheet = Volume(plate, rubber, clamp=x | y, name=f"{name} sheet", **options)
    disc = _chamber(radius, wall, steps, through_chamber, side, element)
    chambers = tuple(
        _placed(disc, (0.5 * a * spacing, 0.5 * b * spacing, 0.0), rubber, f"{name} chamber {index}", options)
        for index, (a, b) in enumerate(((-1, -1), (1, -1), (-1, 1), (1, 1)))
    )
    return Membrane(sheet, chambers, tip=Marker(sheet, (0.0, 0.0, bottom + thickness)), name=name)


def _chamber(
    radius: float, wall: float, heights: Sequence[float], layers: Sequence[int], side: int, element: ElementName
) -> Mesh:
    ends = np.cumsum([0.0, *heights])
    parts = [np.linspace(ends[k], ends[k + 1], n + 1)[1:] for k, n in enumerate(layers)]
    z = np.concatenate([[0.0], *parts])
    core = np.repeat([True, False, True], layers)
    outer, levels = np.full(len(z), radius), np.column_stack([z, z])
    lattice = stacked_rounds(outer - wall, outer, levels, core=core, ring=np.ones_like(core), side=side)
    return lattice.mesh(*round_keys(lattice.points), element=element)


def _placed(disc: Mesh, position: Any, material: Material, name: str, options: Any) -> Robot:
    body = Volume(disc.translated(position), material, clamp=regions.plane(axis="z", at=0.0), name=name, **options)
    top = Marker(body, (position[0], position[1], disc.bounds[1, 2]))
    return Robot(body, tip=top, cavities=hollows(body, 1, f"{name} air"))
