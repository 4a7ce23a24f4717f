"""The twisting robot of Fang et al. 2022: a rod with a helical chamber that coils under pressure.

G. Fang, Y. Tian, A. Weightman, C. C. L. Wang, IROS 2022, after M. Yang and others, Optics Express 28, 2020. The grid of
its section rotates with the chamber, so that the helix is a column of cells.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from pliant.core.checks import positive_count, shown
from pliant.core.declared import declared
from pliant.core.errors import InputError
from pliant.core.types import BoolArray, FloatArray
from pliant.materials import Material, MooneyRivlin
from pliant.mesh import Mesh, drop_unused_nodes, regions
from pliant.mesh.elements import ElementName
from pliant.mesh.lattice import Lattice
from pliant.mesh.structured import round_section
from pliant.models.volume import Rayleigh, Volume
from pliant.models.volume.points import AntiLocking
from pliant.robots.robot import DAMPING, Marker, Robot, hollows

RADIUS, LENGTH = 6.75e-3, 90e-3
"""Of the rod, m."""
INNER, OUTER, AREA = 1.75e-3, 4.25e-3, 4.86e-6
"""Radii that bound the chamber, m, and the area of its section, m²."""
BEGIN, END, TURNS = 15e-3, 75e-3, -1.0
"""Ends of the chamber along the rod, m, and its turns between them."""


@declared
def twister(
    *,
    cells: Any = (2, 2, 48),
    side: int = 5,
    element: ElementName = "tet4",
    material: Material | None = None,
    anti_locking: AntiLocking = "volume",
    damping: Rayleigh = DAMPING,
    name: str = "twister",
) -> Robot:
    """A rod along y from its clamped end at y = 0, 90 mm long and 13.5 mm thick, wound up by air in its `cavity`.

    The chamber makes one turn between y = 15 and 75 mm. By default about the 29 000 tetrahedra of the paper.

    cells
        Through the chamber along the radius, from it to the outside, and along the rod; these a multiple of 6.
    side
        Cells along a side of the core; around the rod there are four times as many, two of them across the chamber.
    element
        "tet4", "tet10" or "hex8"; use "hex8" to inflate the chamber to more than 15 times its volume.
    anti_locking
        As of `pl.Volume`; "volume" for the large strains of its walls.
    material
        None: the paper's Ecoflex 00-30, Mooney–Rivlin with 41.8 and 10.6 kPa, ν = 0.49, 1070 kg/m³.
    """
    if not isinstance(cells, (tuple, list)) or len(cells) != 3:
        raise InputError(f"cells of a twister must be three whole numbers, got {shown(cells)}")
    inside, outside, along = (positive_count(f"cells[{k}] of a twister", n) for k, n in enumerate(cells))
    if along % 6:
        raise InputError(f"cells along a twister must be a multiple of 6, so that its chamber fits, got {along}")
    mesh = _mesh(inside, outside, along, positive_count("side of a twister", side), element)
    rubber = MooneyRivlin(c1=41.8e3, c2=10.6e3, poisson=0.49, density=1070.0) if material is None else material
    clamp = regions.plane(axis="y", at=0.0)
    body = Volume(mesh, rubber, clamp=clamp, anti_locking=anti_locking, damping=damping, name=name)
    return Robot(body, tip=Marker(body, (0.0, LENGTH, 0.0)), cavities=hollows(body, 1, f"{name} air"))


def _mesh(inside: int, outside: int, along: int, side: int, element: ElementName) -> Mesh:
    _, disc, quads, rim = round_section(side)
    radii = np.concatenate([np.linspace(INNER, OUTER, inside + 1), np.linspace(OUTER, RADIUS, outside + 1)[1:]])
    section = np.vstack([INNER * disc, *(radius * disc[rim] for radius in radii[1:])])
    count = len(rim)
    rings = [rim, *(len(disc) + count * k + np.arange(count) for k in range(len(radii) - 1))]
    walls = [np.column_stack([a, b, np.roll(b, -1), np.roll(a, -1)]) for a, b in pairwise(rings)]
    faces = np.vstack([quads, *walls])
    section = _spread(section, np.arctan2(*disc[rim[:3], ::-1].T))
    hollow = np.zeros(len(faces), bool)
    for ring in range(inside):
        hollow[len(quads) + ring * count + np.arange(2)] = True
    heights: FloatArray = np.linspace(0.0, LENGTH, along + 1, dtype=np.float64)
    lattice = _stacked(section, faces, hollow, heights)
    x, y, z = lattice.points.T
    return lattice.mesh(y, np.hypot(x, z), np.arctan2(z, x), element=element)


def _spread(section: FloatArray, edges: FloatArray) -> FloatArray:
    """The section with its angles stretched so that the two cells between three `edges` have the chamber's area."""
    wanted = 2.0 * AREA / (OUTER**2 - INNER**2)
    angle, radius = np.arctan2(section[:, 1], section[:, 0]), np.hypot(section[:, 0], section[:, 1])
    first, width = edges[0], (edges[2] - edges[0]) % (2.0 * np.pi)
    offset = (angle - first) % (2.0 * np.pi)
    offset = np.where(2.0 * np.pi - offset < 1e-9, 0.0, offset)
    moved = np.interp(offset, [0.0, width, 2.0 * np.pi], [-0.5 * wanted, 0.5 * wanted, 2.0 * np.pi - 0.5 * wanted])
    return np.column_stack([radius * np.cos(moved), radius * np.sin(moved)])


def _stacked(section: FloatArray, faces: Any, hollow: BoolArray, heights: FloatArray) -> Lattice:
    """Layers of the section, rotated with the chamber, without the cells of the chamber."""
    turn = 2.0 * np.pi * TURNS * np.clip((heights - BEGIN) / (END - BEGIN), 0.0, 1.0)
    cos, sin = np.cos(turn)[:, None], np.sin(turn)[:, None]
    x, z = section[:, 0] * cos - section[:, 1] * sin, section[:, 0] * sin + section[:, 1] * cos
    points = np.stack([x, np.broadcast_to(heights[:, None], x.shape), z], axis=-1).reshape(-1, 3)
    middle, size = 0.5 * (heights[1:] + heights[:-1]), len(section)
    cells = [
        np.hstack([kept + layer * size, kept + (layer + 1) * size])
        for layer, y in enumerate(middle)
        for kept in (faces[~hollow] if BEGIN < y < END else faces,)
    ]
    return Lattice(*drop_unused_nodes(points, np.vstack(cells).astype(np.int32)))
