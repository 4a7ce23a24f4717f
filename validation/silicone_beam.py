"""The silicone cantilever of Dubied, Michelis, Spielberg and Katzschmann (srl-ethz/diffPD_sim2real), as a scene.

30 × 30 × 100 mm of Dragon Skin 10, clamped at x = −0.1 m, its tip face at x = 0, z up. A weight hangs at the upper edge
of the tip. Lengths in m.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

import pliant as pl
from pliant.materials import Material
from pliant.recordings import BoundMarkers

LENGTH, WIDTH = 0.1, 0.03
GRAVITY = 9.80709
DENSITY = 1070.0
LOAD = 0.51012
"""Weight at the upper edge of the tip, N, in the recordings called load52."""
FEET = ((0.0, 0.015, 0.03), (0.0, 0.0, 0.024), (0.0, 0.03, 0.006))
"""Where the stems of the three tip markers leave the silicone."""
CENTERS = ((0.0, 0.015, 0.036), (0.0, -0.006, 0.024), (0.0, 0.036, 0.006))
"""Centres of the three tip markers."""
FINE = (30, 9, 9)
"""Hexahedra along the axes: displacements of the tip are within 0.2 % of the authors' COMSOL model."""
CELLS = (16, 4, 4)
"""Blocks of six smoothed tetrahedra: displacements of the tip are within 0.6 % of those of the fine hexahedra."""
EDGE = pl.regions.box((-1e-6, -1.0, WIDTH - 1e-6), (1.0, 1.0, 1.0))
"""Nodes of the upper edge of the tip face."""
STRING = 0.2
"""Length of the string of the weight, m. It is not published; the weight stays behind sideways at any length."""

LAG = 0.014
"""Time between the release of the beam and that of the weight, s: the string pulls taut so much later than if both were
let go at once. Chosen with an oscillator of one mass; the first 0.11 s of the takes ask for 20 and 17 ms here.
"""
MARKER_MASS = 0.35e-3
"""Mass of a marker with its stem, kg. It is not published; the frequencies at both loads agree on it."""

YOUNG, POISSON = 274e3, 0.499
"""Relaxed modulus (Pa)."""
BRANCHES = ((0.1176, 0.05), (0.0113, 1.0))
"""Fractions of the instantaneous shear modulus that relax, and their times (s)."""
VISCOSITY = 1.66e-3
"""Time ζ (s) of a viscous stress ζ Ṡ. With the branches the loss factor is 0.10 at 4.3 Hz and 0.11 at 7.7 Hz."""


def silicone() -> Material:
    """Dragon Skin 10 as this beam shows it, in all cases with the same numbers."""
    base = pl.materials.NeoHookean(young=YOUNG, poisson=POISSON, density=DENSITY)
    return pl.materials.Viscoelastic(base, BRANCHES, viscosity=VISCOSITY)


def beam(
    material: Material, *, cells: tuple[int, int, int] = CELLS, element: Literal["tet4", "hex8"] = "tet4"
) -> pl.Volume:
    """The clamped beam. Its mass is that of the shape functions: a lumped one shifts frequencies of coarse meshes."""
    mesh = pl.mesh.box((LENGTH, WIDTH, WIDTH), cells, element=element).translated((-LENGTH, 0.0, 0.0))
    clamp = pl.regions.plane(axis="x", at=-LENGTH)
    return pl.Volume(mesh, material, clamp=clamp, lumped_mass=False, name="silicone beam")


def scene(volume: pl.Volume, weight: float = 0.0, *, marked: bool = False, gravity: float = GRAVITY) -> pl.Scene:
    """The beam under its own weight, with a dead force of `weight` (N) at the upper edge of the tip; `marked` with the
    masses of the markers at its tip.
    """
    made = pl.Scene(gravity=(0.0, 0.0, -gravity))
    made.add(volume)
    if weight:
        made.add(pl.PointLoad(volume, EDGE, force=(0.0, 0.0, -weight)))
    for number, foot in enumerate(FEET if marked else (), 1):
        ball = pl.RigidBody.sphere(radius=0.006, mass=MARKER_MASS, position=foot, name=f"marker {number}")
        made.attach(volume, made.add(ball), points=np.array([foot]))
    return made


def markers(world: pl.World, volume: pl.Volume) -> BoundMarkers:
    """The three tip markers; their stems stand on 6 mm of silicone."""
    return BoundMarkers(world, volume, FEET, np.subtract(CENTERS, FEET), radius=0.006)


def sag(material: Material, weight: float, *, cells: tuple[int, int, int] = CELLS) -> Any:
    """Displacements (3, 3), m, of the tip markers from the level beam to its equilibrium."""
    volume = beam(material, cells=cells)
    world = scene(volume, weight, marked=True).compile()
    state, _ = pl.QuasiStatic()(world, world.initial_state())
    return markers(world, volume).at(state) - np.array(CENTERS)


@dataclass(frozen=True)
class Motion:
    """Displacements (T, 3, 3), m, of the tip markers at `times` (T,), s, after the release from the level beam."""

    times: Any
    displacements: Any


def release(
    material: Material,
    weight: float,
    *,
    until: float,
    cells: tuple[int, int, int] = CELLS,
    dt: float = 0.005,
    lag: float = LAG,
) -> Motion:
    """The motion after the level beam is let go, with `weight` (N) on a string.

    The tip accelerates faster than a body that falls, so that the string is loose at first; it pulls only. The hand
    carries the weight for `lag` (s) longer than the beam.
    """
    volume = beam(material, cells=cells)
    made = scene(volume, marked=True)
    if not weight:
        world = made.compile()
        run = pl.simulate(world, pl.ImplicitMidpoint(dt / 2.0, tolerance=1e-6), until=until)
        return Motion(run.times, markers(world, volume).along(run) - np.array(CENTERS))
    edge = volume.mesh.points[EDGE.nodes(volume.mesh.points, what="edge of the tip")]
    middle = (0.0, WIDTH / 2.0, WIDTH)
    hook = made.add(pl.RigidBody.box(size=(1e-3, WIDTH, 1e-3), mass=1e-4, position=middle, name="hook"))
    below = (middle[0], middle[1], middle[2] - STRING)
    hung = made.add(pl.RigidBody.sphere(radius=0.01, mass=weight / GRAVITY, position=below, name="weight"))
    made.attach(volume, hook, points=edge)
    string = made.add(pl.Cable([hook, hung], np.zeros((2, 3)), name="string"))
    hand = made.add(pl.ForcePoint(hung, (0.0, 0.0, 0.0), direction=(0.0, 0.0, 1.0), name="hand"))
    world = made.compile()

    def control(t: float, state: pl.State) -> dict[Any, Any]:
        carried = float(np.clip((lag - t) / dt, 0.0, 1.0))  # fraction of this step
        return {string: pl.Displacement(0.0), hand: pl.Force(weight * carried)}

    run = pl.simulate(world, pl.DampedMidpoint(dt, tolerance=1e-6), until=until, control=control)
    return Motion(run.times, markers(world, volume).along(run) - np.array(CENTERS))
