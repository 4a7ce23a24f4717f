"""The silicone cantilever of Dubied, Michelis, Spielberg and Katzschmann (srl-ethz/diffPD_sim2real), as a scene.

30 × 30 × 100 mm of Dragon Skin 10, clamped at x = −0.1 m, its tip face at x = 0, z up. A weight hangs at the upper edge
of the tip. Lengths in m.
"""

from __future__ import annotations

from typing import Any

import pliant as pl
from pliant.materials import Material

LENGTH, WIDTH = 0.1, 0.03
GRAVITY = 9.80709
DENSITY = 1070.0
LOAD = 0.51012
"""Weight at the upper edge of the tip, N, in the recordings called load52."""
FEET = ((0.0, 0.015, 0.03), (0.0, 0.0, 0.024), (0.0, 0.03, 0.006))
"""Where the stems of the three tip markers leave the silicone."""
CENTERS = ((0.0, 0.015, 0.036), (0.0, -0.006, 0.024), (0.0, 0.036, 0.006))
"""Centres of the three tip markers."""
CELLS = (30, 9, 9)
"""Hexahedra along the axes: displacements of the tip are within 0.2 % of those of twice as many."""
EDGE = pl.regions.box((-1e-6, -1.0, WIDTH - 1e-6), (1.0, 1.0, 1.0))
"""Nodes of the upper edge of the tip face."""


def beam(material: Material, *, cells: tuple[int, int, int] = CELLS, **options: Any) -> pl.Volume:
    """The clamped beam; `options` are those of `pl.Volume`."""
    mesh = pl.mesh.box((LENGTH, WIDTH, WIDTH), cells, element="hex8").translated((-LENGTH, 0.0, 0.0))
    clamp = pl.regions.plane(axis="x", at=-LENGTH)
    return pl.Volume(mesh, material, clamp=clamp, name="silicone beam", **options)


def scene(volume: pl.Volume, weight: float = 0.0, *, gravity: float = GRAVITY) -> pl.Scene:
    """The beam under its own weight, with a dead force of `weight` (N) at the upper edge of the tip."""
    made = pl.Scene(gravity=(0.0, 0.0, -gravity))
    made.add(volume)
    if weight:
        made.add(pl.PointLoad(volume, EDGE, force=(0.0, 0.0, -weight)))
    return made
