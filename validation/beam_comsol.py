"""The silicone beam against the finite-element model of its authors: same law, same modulus, same loads."""

from __future__ import annotations

import numpy as np

import pliant as pl
from pliant.robots.robot import Marker
from validation.row import Row
from validation.silicone_beam import DENSITY, FEET, FINE, LOAD, beam, scene

YOUNG, POISSON = 263824.0, 0.499
COMSOL = {
    "own weight": ((1.0147, 15.001, 23.226), (0.51624, -0.001, 17.248), (-0.96361, 30.0, -0.69132)),
    "52 g": ((2.0836, 15.015, 12.669), (0.46708, -0.106, 7.1591), (-3.4292, 30.016, -10.282)),
}
"""Feet of the three tip markers at rest in the authors' COMSOL model, mm."""


def rows(cells: tuple[int, int, int] = FINE) -> list[Row]:
    """Deflection of the feet of the markers, and the largest distance between both models."""
    made = []
    for name, weight in (("own weight", 0.0), ("52 g", LOAD)):
        volume = beam(
            pl.materials.NeoHookean(young=YOUNG, poisson=POISSON, density=DENSITY), cells=cells, element="hex8"
        )
        world = scene(volume, weight).compile()
        state, _ = pl.QuasiStatic()(world, world.initial_state())
        ours = 1e3 * np.array([Marker(volume, foot).at(state) for foot in FEET])
        theirs = np.array(COMSOL[name])
        sag, published = (float(np.mean(x[:, 2] - 1e3 * np.array(FEET)[:, 2])) for x in (ours, theirs))
        made.append(
            Row(quantity=f"mean deflection of the tip, {name}", ours=sag, reference=published, unit="mm", allowed=0.015)
        )
        apart = float(np.linalg.norm(ours - theirs, axis=1).max())
        made.append(
            Row(
                quantity=f"largest distance of a marker's foot, {name}", ours=apart, reference=0.0, unit="mm",
                allowed=0.015 * abs(published),
            )
        )  # fmt: skip
    return made
