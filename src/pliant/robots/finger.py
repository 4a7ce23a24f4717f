"""The cable finger: three phalanges on a continuous back, curled by one cable that runs out and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.actuators import Cable
from pliant.constraints.facing import Facing
from pliant.core.checks import positive_count
from pliant.core.declared import declared
from pliant.core.errors import InputError
from pliant.core.types import FloatArray
from pliant.materials import Material
from pliant.mesh import Mesh, regions
from pliant.mesh.elements import ElementName
from pliant.mesh.estimate import MOST_CELLS
from pliant.mesh.lattice import Lattice, grid_triangles
from pliant.mesh.structured import cell_counts
from pliant.models.volume import Rayleigh, Volume
from pliant.robots.robot import DAMPING, Marker, Robot, check_lengths, silicone

_VALLEY = 0.1
"""Fraction of the depth of a notch, from its valley, without contact points: there the flanks meet at rest."""


@declared
def finger(
    *,
    base: float = 0.016,
    phalanx: float = 0.028,
    phalanx_count: int = 3,
    width: float = 0.015,
    height: float = 0.015,
    back: float = 0.005,
    notch: float = 0.005,
    cable_depth: float = 0.0025,
    cable_spread: float = 0.010,
    cells: Any = (3, 2, 2),
    element: ElementName = "tet4",
    material: Material | None = None,
    anti_locking: bool = True,
    damping: Rayleigh = DAMPING,
    contact_points: int = 0,
    name: str = "finger",
) -> Robot:
    """A finger along x from its clamped base at x = 0, palm in the plane z = 0 and facing −z, middle at y = 0.

    Pulling its cable curls it towards −z. Defaults: 100 × 15 × 15 mm, 162 nodes and 396 tetrahedra; 14 mm
    of cable bring the phalanges together, 40 mm press them hard against each other. All lengths in m.

    base, phalanx, phalanx_count
        Length of the base block, length of each phalanx along the back, and count of phalanges.
    width, height, back
        Size along y and z, and thickness of the continuous back above the notches.
    notch
        Opening of the V-shaped notches at the palm.
    cable_depth, cable_spread
        Depth of the cable below the palm, and distance between its two strands along y. The cable enters the base at
        y = −spread/2, turns round in the fingertip and is anchored in the base at y = +spread/2.
    cells
        Along each phalanx, across the width, and through the depth of a notch.
    material
        None: silicone of 0.6 MPa, ν = 0.45, 1080 kg/m³.
    contact_points
        Count of points on the far flanks of the notches that may touch triangles on the near flanks, equal in every
        notch: self-contact with a collision model of its own, in `facings`, instead of ``scene.collide``. 0: none.
    """
    check_lengths("finger", base=base, phalanx=phalanx, width=width, height=height, back=back, notch=notch)
    count = positive_count("phalanx_count", phalanx_count)
    if back >= height:
        raise InputError(f"back ({back:g} m) of a finger must be thinner than its height ({height:g} m)")
    if notch >= 0.8 * phalanx or notch >= base:
        raise InputError(f"notch ({notch:g} m) leaves nothing of a phalanx of {phalanx:g} m or a base of {base:g} m")
    if not 0.0 < cable_spread < width:
        raise InputError(f"cable_spread ({cable_spread:g} m) must be between 0 and the width ({width:g} m)")
    counts = cell_counts("cells", cells, ("x", "y", "z"))
    mesh = _mesh(base, phalanx, count, (width, height, back), notch, counts, element)
    rubber, clamp = silicone(material, 0.6e6), regions.box((-np.inf,) * 3, (0.5 * base, np.inf, np.inf))
    body = Volume(mesh, rubber, clamp=clamp, anti_locking=anti_locking, damping=damping, name=name)
    route = _route(base, phalanx, count, notch, height - back, cable_depth, cable_spread)
    tip = Marker(body, (base + count * phalanx, 0.0, height - 0.5 * back))
    facings: tuple[Facing, ...] = ()
    if contact_points:
        facings = (_notches(body, contact_points, (base, phalanx, count), (width, height - back, notch)),)
    cables = (Cable(body, route, name=f"{name} cable"),)
    return Robot(body, tip=tip, cables=cables, margin=0.4 * notch, facings=facings)


def _mesh(
    base: float,
    phalanx: float,
    count: int,
    section: tuple[float, float, float],
    notch: float,
    cells: tuple[int, ...],
    element: ElementName,
) -> Mesh:
    along, across, deep = cells
    width, height, back = section
    backs = max(1, round(deep * back / (height - back)))
    y: FloatArray = np.linspace(-0.5 * width, 0.5 * width, across + 1, dtype=np.float64)
    z = np.concatenate([np.linspace(0.0, height - back, deep + 1), np.linspace(height - back, height, backs + 1)[1:]])
    base_cells = max(1, round(1.2 * along * base / phalanx))
    if base_cells > MOST_CELLS:
        raise InputError(f"the base of the finger, {base:g} m, is too long for phalanges of {phalanx:g} m: give metres")
    blocks = [_block(0.0, base, base_cells, y, z, height - back, (0.0, 0.5 * notch))]
    for index in range(count):
        start = base + index * phalanx
        blocks.append(_block(start, phalanx, along, y, z, height - back, (0.5 * notch, 0.5 * notch)))
    lattice = Lattice.welded(*blocks)
    x, y_, z_ = lattice.points.T
    return lattice.mesh(x, np.abs(y_), z_, element=element)


def _block(
    start: float, length: float, count: int, y: FloatArray, z: FloatArray, apex: float, tapers: tuple[float, float]
) -> Lattice:
    """A block from x = `start`, shortened by `tapers` at its two ends at the palm, at full length below the back."""
    lattice = Lattice.grid(np.linspace(0.0, 1.0, count + 1, dtype=np.float64), y, z)
    along, depth = lattice.points[:, 0], np.clip(1.0 - lattice.points[:, 2] / apex, 0.0, 1.0)
    x = start + along * length + depth * ((1.0 - along) * tapers[0] - along * tapers[1])
    return Lattice(np.column_stack([x, lattice.points[:, 1:]]), lattice.cells)


def _route(
    base: float, phalanx: float, count: int, notch: float, apex: float, depth: float, spread: float
) -> FloatArray:
    """Points of the cable: out along −y, back along +y, a little inside the ends of every block."""
    inset = 0.5 * notch * (1.0 - depth / apex) + 0.05 * phalanx
    x = [0.1 * base, base - inset]
    for index in range(count):
        start = base + index * phalanx
        x += [start + inset, start + phalanx - inset]
    out = np.column_stack([x, np.full(len(x), -0.5 * spread), np.full(len(x), depth)])
    return np.vstack([out, (out * (1.0, -1.0, 1.0))[::-1]])


def _notches(body: Volume, points: int, along: tuple[float, float, int], notch: tuple[float, float, float]) -> Facing:
    """`points` on the far flanks of all notches, against triangles on the near ones."""
    (base, phalanx, count), (width, depth, opening) = along, notch
    each, rest = divmod(positive_count("contact_points", points), count)
    deep = min((n for n in range(1, each + 1) if each % n == 0), key=lambda n: abs(n * n * width / depth - each))
    if rest or not 2 <= deep < each:
        raise InputError(
            f"contact_points must be a grid in each of the {count} notches, such as {count} × 11 × 15, got {points}"
        )
    own = _flank(np.linspace(_VALLEY, 0.98, deep), np.linspace(-0.48, 0.48, each // deep), notch, 0.5)
    faced = _flank(np.linspace(0.5 * _VALLEY, 1.0, 7), np.linspace(-0.5, 0.5, 6), notch, -0.5)
    triangles = grid_triangles(7, 6)
    starts = np.zeros((count, 1, 3))
    starts[:, 0, 0] = base + phalanx * np.arange(count)
    faces = (triangles + len(faced) * np.arange(count)[:, None, None]).reshape(-1, 3)
    return Facing(
        *(body, body, (own + starts).reshape(-1, 3), (faced + starts).reshape(-1, 3), faces),
        point_group=np.repeat(np.arange(count), len(own)),
        triangle_group=np.repeat(np.arange(count), len(triangles)),
        margin=0.08 * opening,
        reach=1e-3 * opening,
        name=f"{body.name} notches",
    )


def _flank(down: Any, across: Any, notch: tuple[float, float, float], side: float) -> FloatArray:
    """Points (k, 3) m on a flank, `down` from the valley to the palm and `across` the width, both as fractions."""
    width, depth, opening = notch
    s, y = (part.ravel() for part in np.meshgrid(down, across, indexing="ij"))
    return np.column_stack([side * opening * s, width * y, depth * (1.0 - s)])
