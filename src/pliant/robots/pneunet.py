"""The pneunet: a row of connected chambers over a stiff sole, bent by pressure (extra `mesh`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.core.checks import non_negative
from pliant.core.declared import declared
from pliant.materials import Material
from pliant.materials.silicones import dragon_skin_30
from pliant.mesh import chambered_finger, regions
from pliant.models.volume import Rayleigh, Volume
from pliant.robots.robot import DAMPING, Marker, Robot, hollows, silicone


@declared
def pneunet(
    *,
    sole: float = 0.001,
    material: Material | None = None,
    sole_material: Material | None = None,
    anti_locking: bool = True,
    damping: Rayleigh = DAMPING,
    name: str = "pneunet",
    **shape: Any,
) -> Robot:
    """A finger along x from its clamped face at x = 0, its stiff sole at z = 0, bent towards −z by air in its `cavity`.

    `shape` goes to `pl.mesh.chambered_finger`: `length`, `height`, `width`, `chamber_count`, `cell_size`, `element`…,
    in m; its height is along z here. Default: 85 × 10 × 20 mm with six chambers. It is meshed by Gmsh:
    ``pip install 'pliant[mesh]'``.

    sole
        Height, m, below which cells (by their centre) are of `sole_material`; 0 for none.
    material, sole_material
        None: Dragon Skin 30 as measured (`pl.materials.dragon_skin_30`), of which such actuators are cast, and silicone
        of 2 MPa. The chambers balloon at 56 kPa (cells of 2.5 mm); those of silicone of 0.2 MPa at 20 to 26 kPa.

    An inverse needs ``pl.Inverse(…, tolerance=…)``: for a tip 29 mm away it finds 1.22 times the volume, to 0.02 mm.
    One linear solve a call does not follow such rubber: ``pl.QuasiStatic(newton_iterations=1)`` ends at 1.5 to 6 times
    the volume in 4 to 32 calls along the straight line to it, ``pl.ImplicitEuler(0.02)`` 1 mm off in 50.
    """
    thickness = non_negative("sole", sole, unit="m")
    mesh = chambered_finger(**shape).rotated((0.5 * np.pi, 0.0, 0.0))
    lower, upper = mesh.bounds
    below = regions.box((-np.inf,) * 3, (np.inf, np.inf, lower[2] + thickness))
    rubber = dragon_skin_30() if material is None else material
    clamp = regions.plane(axis="x", at=lower[0])
    options: dict[str, Any] = {"anti_locking": anti_locking, "damping": damping, "name": name}
    inclusions = ((below, silicone(sole_material, 2e6)),) if thickness else ()
    body = Volume(mesh, rubber, clamp=clamp, inclusions=inclusions, **options)
    middle = (upper[0], *(0.5 * (lower + upper))[1:])
    return Robot(body, tip=Marker(body, middle), cavities=hollows(body, 1, f"{name} air"))
