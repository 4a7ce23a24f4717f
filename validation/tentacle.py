"""The tendon-driven tentacle of SoRoMoX (tud-phi/soromox): its recordings and a model of it.

A tapered rod of silicone hangs down and two tendons, which end at 0.305 m, bend it. World: z up, tentacle along −z,
(x, y, z) = (X, Z, −Y) of the recordings. Lengths in m.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, permutations
from pathlib import Path

import numpy as np

import pliant as pl
from pliant.core.errors import InputError
from pliant.core.types import FloatArray
from pliant.recordings import BoundMarkers, load_csv

ROOT, SHOULDER, END = 0.01541, 0.00642, 0.0048
"""Radii at the base, at 0.305 m and at the tip."""
DRIVEN, LENGTH = 0.305, 0.36
SECTIONS = (16, 4)
"""Rod sections along the driven part and beyond."""
TENDON, APPROACH = 0.0114, 0.0295
"""Distance of the tendons from the axis at the base, and how much closer they come in a metre."""
ANGLES = (30.0, 150.0)
PULLEY = 0.0325
ARCS = (0.1291, 0.2195, 0.28, 0.36)
"""Arc lengths of the markers."""
OFFSETS = ((0.025, 0.0, 0.0), (-0.021, 0.0, 0.0), (0.02, 0.0, 0.0), (0.0, 0.0, -0.008))
"""From the axis to the centres of the markers, before anything bends."""
BASE = (-0.03, 0.0, 0.013)
"""From the base marker to the base of the tentacle."""
TORQUES = {
    "m1_u005": (0.05, 0.0), "m1_u01": (0.1, 0.0), "m1_u015": (0.15, 0.0), "m1_u02": (0.2, 0.0),
    "m2_u01": (0.0, 0.1), "m2_u02": (0.0, 0.2), "m12_u001": (0.1, 0.1), "m12_u002": (0.2, 0.2),
}  # fmt: skip
"""Torques of both motors, N·m, by recording."""


@dataclass(frozen=True)
class Parameters:
    """What is fitted: modulus (Pa), density (kg/m³), Coulomb's μ between tendons and silicone, and how far the base
    stands from where the drawing has it beside the base marker, (3,) m.
    """

    young: float
    density: float
    friction: float
    shift: tuple[float, float, float]


def measured(data: Path, name: str) -> FloatArray:
    """Mean positions (4, 3), m, of the markers from the base of the tentacle, in the order along it.

    Files have their columns in various orders. The base marker is the highest; the others follow it on the shortest
    path.
    """
    recorded = load_csv(data / f"{name}.csv", unit="m", time=1, first=2)
    if len(recorded.labels) != 5:
        raise InputError(f"{name}.csv must have five markers, got {len(recorded.labels)}")
    world = recorded.mean()[:, [0, 2, 1]] * (1.0, 1.0, -1.0)
    base = int(np.argmax(world[:, 2]))
    paths = permutations([k for k in range(5) if k != base])
    order = min(paths, key=lambda path: float(np.linalg.norm(np.diff(world[[base, *path]], axis=0), axis=1).sum()))
    return np.asarray(world[list(order)] - world[base] - np.array(BASE))


def tentacle(p: Parameters) -> tuple[pl.World, pl.Rod, list[pl.Cable]]:
    """The hanging rod with its tendons."""
    count = sum(SECTIONS)
    ends = np.concatenate([np.linspace(0.0, DRIVEN, SECTIONS[0] + 1), np.linspace(DRIVEN, LENGTH, SECTIONS[1] + 1)[1:]])
    radii = np.interp(ends, (0.0, DRIVEN, LENGTH), (ROOT, SHOULDER, END))
    circles = [pl.sections.Circle(float(radius)) for radius in radii]
    rod = pl.Rod(
        np.diff(ends), count, section=[pl.sections.Taper(a, b) for a, b in pairwise(circles)],
        young=p.young, poisson=0.5, density=p.density, strains=("bend_y", "bend_z", "twist", "stretch"),
        rotation=[[0.0, 1.0, 0.0], [0.0, 0.0, -1.0], [-1.0, 0.0, 0.0]], name="tentacle",
    )  # fmt: skip
    scene = pl.Scene(gravity=(0.0, 0.0, -9.81))
    scene.add(rod)
    along = np.linspace(0.0, DRIVEN, 2 * SECTIONS[0] + 1)
    away = TENDON - APPROACH * along
    cables: list[pl.Cable] = []
    for angle in np.radians(ANGLES):
        via = np.stack([away * np.sin(angle), away * np.cos(angle), -along], axis=1)
        cables.append(scene.add(pl.Cable(rod, via, friction=p.friction, name=f"tendon {len(cables) + 1}")))
    return scene.compile(), rod, cables


def poses(p: Parameters, names: tuple[str, ...]) -> dict[str, FloatArray]:
    """Positions (4, 3), m, of the markers at each pose, and of points of the axis (n, 3) behind them."""
    tensions = [np.array(TORQUES[name]) / PULLEY for name in names]
    shapes = pulled(p, tensions)
    return {name: shape + np.array(p.shift) for name, shape in zip(names, shapes, strict=True)}


def pulled(p: Parameters, tensions: Sequence[FloatArray]) -> list[FloatArray]:
    """Positions of the markers, then of points of the axis, (4 + n, 3), m, under pairs of `tensions` (N)."""
    world, rod, cables = tentacle(p)
    bound = BoundMarkers(world, rod, [(0.0, 0.0, -arc) for arc in ARCS], OFFSETS)
    found = []
    for pair in tensions:
        controls = {cable: pl.Force(float(tension)) for cable, tension in zip(cables, pair, strict=True)}
        state, _ = pl.QuasiStatic()(world, world.initial_state(), controls)
        found.append(np.vstack([bound.at(state), state.points(rod)]))
    return found
