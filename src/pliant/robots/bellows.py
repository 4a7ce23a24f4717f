"""The bellows: a corrugated tube closed at both ends that extends under pressure."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.core.checks import positive_count
from pliant.core.declared import declared
from pliant.core.errors import InputError
from pliant.materials import Material
from pliant.mesh import Mesh, regions
from pliant.mesh.elements import ElementName
from pliant.mesh.lattice import round_keys, stacked_rounds
from pliant.mesh.structured import cell_counts
from pliant.models.volume import Rayleigh, Volume
from pliant.robots.robot import DAMPING, Marker, Robot, check_lengths, hollows, silicone


@declared
def bellows(
    *,
    radius: float = 0.018,
    depth: float = 0.006,
    wall: float = 0.002,
    cap: float = 0.004,
    pitch: float = 0.010,
    fold_count: int = 5,
    cells: Any = (4, 6),
    element: ElementName = "tet4",
    material: Material | None = None,
    anti_locking: bool = True,
    damping: Rayleigh = DAMPING,
    name: str = "bellows",
) -> Robot:
    """A bellows along z on a clamped end at z = 0, with one closed `cavity`; all lengths in m.

    Defaults: ⌀36 × 58 mm. Inflated it extends towards +z, emptied it shortens.

    radius, depth
        Outer radius at the crests of the folds, and depth of the folds.
    wall, cap
        Thickness of the corrugated wall along the radius, and of the two ends.
    pitch, fold_count
        Length of a fold along z, and count of folds.
    cells
        Quadrilaterals along a side of the ends (a quarter of those round the circumference), and cells along a fold.
    material
        None: silicone of 0.5 MPa, ν = 0.45, 1080 kg/m³. Its linear law holds up to 20 kPa; beyond that elements
        collapse. Of `pl.materials.dragon_skin_30` as measured the folds balloon at 15 kPa, with a `wall` of 4 mm at
        36 kPa: no equilibrium is beyond these.
    """
    check_lengths("bellows", radius=radius, depth=depth, wall=wall, cap=cap, pitch=pitch)
    if depth + wall >= radius:
        raise InputError(f"folds of {depth:g} m and a wall of {wall:g} m leave no air inside a radius of {radius:g} m")
    count = positive_count("fold_count", fold_count)
    side, along = cell_counts("cells", cells, ("a side of the ends", "a fold"))
    mesh = _mesh((radius, depth, wall, cap, pitch), count, side, along, element)
    rubber, clamp = silicone(material, 0.5e6), regions.plane(axis="z", at=0.0)
    body = Volume(mesh, rubber, clamp=clamp, anti_locking=anti_locking, damping=damping, name=name)
    top = Marker(body, (0.0, 0.0, mesh.bounds[1, 2]))
    return Robot(body, tip=top, cavities=hollows(body, 1, f"{name} air"), margin=0.2 * pitch)


def _mesh(sizes: tuple[float, ...], count: int, side: int, along: int, element: ElementName) -> Mesh:
    radius, depth, wall, cap, pitch = sizes
    inside = np.linspace(0.0, count * pitch, count * along + 1)
    fold = 0.5 * (1.0 - np.cos(2.0 * np.pi * inside / pitch))
    outer = radius - depth + depth * fold
    outer = np.concatenate([outer[:1], outer, outer[-1:]])
    z = np.concatenate([[0.0], cap + inside, [2.0 * cap + inside[-1]]])
    ring = np.ones(len(z) - 1, dtype=bool)
    core = np.zeros_like(ring)
    core[[0, -1]] = True
    lattice = stacked_rounds(outer - wall, outer, np.column_stack([z, z]), core=core, ring=ring, side=side)
    return lattice.mesh(*round_keys(lattice.points), element=element)
