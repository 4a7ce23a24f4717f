"""The tower: four storeys with an air chamber each, between them slots that close under pressure."""

from __future__ import annotations

import numpy as np

from pliant.core.declared import declared
from pliant.core.errors import InputError
from pliant.materials import Material
from pliant.mesh import Mesh, regions
from pliant.mesh.elements import ElementName
from pliant.mesh.lattice import Lattice
from pliant.models.volume import Rayleigh, Volume
from pliant.robots.robot import DAMPING, Marker, Robot, check_lengths, hollows, silicone

_HINGES = (((-1, None), (0, None)), ((0, 1), (0, None)), ((0, None), (-1, None)), ((0, None), (0, 1)))
"""Cells along x and y that bridge each slot, from the lowest up: at +x, −x, +y and −y."""


@declared
def tower(
    *,
    width: float = 0.040,
    wall: float = 0.006,
    floor: float = 0.005,
    ceiling: float = 0.0025,
    chamber: float = 0.009,
    slot: float = 0.0015,
    element: ElementName = "tet4",
    material: Material | None = None,
    anti_locking: bool = True,
    damping: Rayleigh = DAMPING,
    name: str = "tower",
) -> Robot:
    """A square tower along z on a clamped foot at z = 0, middle at x = y = 0; all lengths in m.

    Each of the four storeys has one chamber (`cavities`, from the lowest up) and above it a slot open on three sides.
    The ceiling of an inflated chamber presses against the floor above and tilts the upper part about the bridge
    of that slot: the first chamber bends the tower towards +x, the second towards −x, the third towards +y, the fourth
    towards −y. This needs self-contact: ``scene.collide(tower, tower)``. Defaults: 40 × 40 × 77 mm, 546 nodes.

    wall, floor, ceiling
        Thickness of the side walls, of the floor under a chamber, which stays flat, and of the ceiling, which swells.
    chamber, slot
        Height of a chamber, and of a slot.
    material
        None: silicone of 0.2 MPa, ν = 0.45, 1080 kg/m³.
    """
    check_lengths("tower", width=width, wall=wall, floor=floor, ceiling=ceiling, chamber=chamber, slot=slot)
    if 2.0 * wall >= width:
        raise InputError(f"walls of {wall:g} m leave no chamber in a tower {width:g} m wide")
    mesh = _mesh(width, wall, (floor, 0.5 * chamber, 0.5 * chamber, ceiling, slot), element)
    rubber, clamp = silicone(material, 0.2e6), regions.plane(axis="z", at=0.0)
    body = Volume(mesh, rubber, clamp=clamp, anti_locking=anti_locking, damping=damping, name=name)
    top = Marker(body, (0.0, 0.0, mesh.bounds[1, 2]))
    return Robot(body, tip=top, cavities=hollows(body, len(_HINGES), f"{name} chamber "), margin=0.6 * slot)


def _mesh(width: float, wall: float, storey: tuple[float, ...], element: ElementName) -> Mesh:
    half = 0.5 * width
    x = np.array([-half, wall - half, 0.0, half - wall, half])
    z = np.concatenate([[0.0], np.cumsum([*storey * len(_HINGES), storey[0]])])
    keep = np.ones((4, 4, len(z) - 1), dtype=bool)
    for index, (along_x, along_y) in enumerate(_HINGES):
        first = index * len(storey)
        keep[1:-1, 1:-1, first + 1 : first + 3] = False
        keep[:, :, first + 4] = False
        keep[slice(*along_x), slice(*along_y), first + 4] = True
    lattice = Lattice.grid(x, x, z, keep=keep)
    aside = np.abs(lattice.points)
    return lattice.mesh(lattice.points[:, 2], aside[:, 0], aside[:, 1], element=element)
