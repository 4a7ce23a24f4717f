"""The pneumatic finger of Fang et al. 2022: six chambers in a row, between them slots that close as it bends.

G. Fang, Y. Tian, A. Weightman, C. C. L. Wang, Collision-aware fast simulation for soft robots by optimization-based
geometric computing, IROS 2022. All its faces are planes at integer millimetres, so a grid represents it exactly.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from pliant.core.checks import non_negative, positive, positive_count
from pliant.core.declared import declared
from pliant.core.types import BoolArray, FloatArray
from pliant.materials import Material
from pliant.materials.silicones import ecoflex_00_30
from pliant.mesh import Mesh, regions
from pliant.mesh.elements import ElementName
from pliant.mesh.lattice import Lattice
from pliant.models.volume import Rayleigh, Volume
from pliant.models.volume.points import AntiLocking
from pliant.robots.robot import DAMPING, Marker, Robot, hollows, silicone

MILLIMETRE = 1e-3
"""One millimetre in m: the paper gives its dimensions in mm."""
_HEIGHT, _HALF_WIDTH, _BASE, _PITCH, _TIP = 20, 5, 12, 10, 12
"""Height along y, half width along z, length before the first slot, pitch of slots, length after the last, mm."""


@declared
def pneumatic_finger(
    *,
    chamber_count: int = 6,
    cell_size: float = 0.001,
    sole: float = 0.001,
    element: ElementName = "tet4",
    material: Material | None = None,
    sole_material: Material | None = None,
    anti_locking: AntiLocking = True,
    damping: Rayleigh = DAMPING,
    name: str = "pneumatic finger",
) -> Robot:
    """A finger along x from its clamped face at x = 0, its stiff sole at y = 0, bent towards −y by air in its `cavity`.

    85 × 20 × 10 mm. Slots of 1 mm cut it from y = 8 mm up between its chambers, boxes of 7 × 12 × 6 mm behind walls of
    1 mm, which ducts along the sole join. At the default `cell_size` it has the 75 000 tetrahedra of the paper.

    chamber_count
        Count of chambers, each of 10 mm length.
    cell_size
        Largest edge of the grid, m; walls and slots are always one cell at least.
    sole
        Height, m, below which cells (by their centre) are of `sole_material`; 0 for none.
    material, sole_material
        None: Ecoflex 00-30 as measured (`pl.materials.ecoflex_00_30`), and silicone of 2 MPa. Walls of Ecoflex balloon
        beyond 4.4 to 4.6 kPa (meshes of 3 and 4 mm): no equilibrium is there. Of `pl.materials.dragon_skin_30` they
        hold 59 kPa.
    """
    count = positive_count("chamber_count", chamber_count)
    size = positive("cell_size", cell_size, unit="m") / MILLIMETRE
    thickness = non_negative("sole", sole, unit="m")
    mesh = _mesh(count, size, element)
    length = mesh.bounds[1][0]
    below = regions.box((-np.inf,) * 3, (np.inf, thickness, np.inf))
    rubber = ecoflex_00_30() if material is None else material
    options: dict[str, Any] = {"anti_locking": anti_locking, "damping": damping, "name": name}
    inclusions = ((below, silicone(sole_material, 2e6)),) if thickness else ()
    body = Volume(mesh, rubber, clamp=regions.plane(axis="x", at=0.0), inclusions=inclusions, **options)
    tip = Marker(body, (length, 0.5 * _HEIGHT * MILLIMETRE, 0.0))
    return Robot(body, tip=tip, cavities=hollows(body, 1, f"{name} air"), margin=0.99 * MILLIMETRE)


def _mesh(count: int, size: float, element: ElementName) -> Mesh:
    """A grid through all faces of the finger, without the cells of slots and chambers."""
    length = _BASE + _PITCH * count + 1 + _TIP
    slots = _BASE + _PITCH * np.arange(count + 1)
    walls = np.concatenate([slots, slots + 1, slots[:-1] + 2, slots[:-1] + 9])
    x = _lines(np.unique(np.concatenate([[0, length], walls])), size)
    y = _lines(np.array([0, 1, 4, 7, 8, 16, _HEIGHT]), size)
    z = _lines(np.array([-_HALF_WIDTH, -3, 0, 3, _HALF_WIDTH]), size)
    cx, cy, cz = (0.5 * (line[1:] + line[:-1]) for line in (x, y, z))
    keep = _solid(cx[:, None, None], cy[None, :, None], cz[None, None, :], slots)
    lattice = Lattice.grid(*(MILLIMETRE * line for line in (x, y, z)), keep=keep)
    px, py, pz = lattice.points.T
    return lattice.mesh(px, py, np.abs(pz), element=element)


def _lines(marks: Any, size: float) -> FloatArray:
    """Coordinates from the first to the last of `marks`, through all of them, at most `size` apart."""
    pieces = [np.linspace(a, b, max(1, round((b - a) / size)) + 1)[:-1] for a, b in pairwise(marks)]
    return np.asarray(np.concatenate([*pieces, marks[-1:]]), np.float64)


def _solid(x: FloatArray, y: FloatArray, z: FloatArray, slots: Any) -> BoolArray:
    """Whether cells with centres x, y, z (mm) belong to the finger."""
    in_slot = np.zeros(np.broadcast_shapes(x.shape, y.shape, z.shape), bool)
    hollow = np.zeros_like(in_slot)
    for slot in slots:
        in_slot |= (x > slot) & (x < slot + 1) & (y > 8)
    for slot in slots[:-1]:
        hollow |= (x > slot + 2) & (x < slot + 9) & (y > 4) & (y < 16) & (np.abs(z) < 3)
    hollow |= (x > slots[0] + 2) & (x < slots[-1] - 1) & (y > 4) & (y < 7) & (np.abs(z) < 3)
    return np.asarray(~(in_slot | hollow))
