"""The tendon-driven tentacle of SoRoMoX (tud-phi/soromox) against motion capture: fitted on half of the poses.

A tapered rod of silicone hangs down and two tendons, which end at 0.305 m, bend it. World: z up, tentacle along −z,
(x, y, z) = (X, Z, −Y) of the recordings. Lengths in m.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, permutations
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import least_squares

import pliant as pl
from pliant.core.errors import InputError
from pliant.core.types import FloatArray
from pliant.recordings import BoundMarkers, load_csv
from validation.row import Row

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
PUBLISHED = (0.012, 0.011, 0.012, 0.028)
"""Published rms distance of each marker over eight poses, with E 315 kPa and density 1318 kg/m³, m."""
ALLOWED = (10.0, 9.0, 10.0, 17.0)
TRAINING = ("m1_u005", "m1_u02", "m2_u02", "m12_u002")
"""Poses of the smallest and the largest torques, on which parameters are fitted."""
TESTING = ("m1_u01", "m1_u015", "m2_u01", "m12_u001")
"""Poses between them, unseen by the fit."""
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

    @classmethod
    def of(cls, x: Any) -> Parameters:
        """From numbers of order one: 100 kPa, 1000 kg/m³, 0.1, and 10 mm."""
        return cls(1e5 * x[0], 1e3 * x[1], 0.1 * x[2], (0.01 * x[3], 0.01 * x[4], 0.01 * x[5]))


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
    world, rod, cables = tentacle(p)
    feet = [(0.0, 0.0, -arc) for arc in ARCS]
    bound = BoundMarkers(world, rod, feet, OFFSETS)
    found = {}
    for name in names:
        tensions = np.array(TORQUES[name]) / PULLEY
        controls = {cable: pl.Force(float(tension)) for cable, tension in zip(cables, tensions, strict=True)}
        state, _ = pl.QuasiStatic()(world, world.initial_state(), controls)
        found[name] = np.vstack([bound.at(state), state.points(rod)]) + np.array(p.shift)
    return found


@lru_cache(maxsize=4)
def fitted(data: Path, names: tuple[str, ...]) -> Parameters:
    """The parameters of least squares of the distances of all markers at the poses `names`, from the published ones."""
    wanted = np.stack([measured(data, name) for name in names])

    def apart(x: FloatArray) -> FloatArray:
        found = poses(Parameters.of(x), names)
        return np.asarray(np.stack([found[name][:4] for name in names]) - wanted).ravel() / 0.01

    start = [3.15, 1.318, 1.0, 0.0, 0.0, 0.0]
    bounds = ([1.0, 0.8, 0.0, -2.0, -2.0, -2.0], [6.0, 2.0, 5.0, 2.0, 2.0, 2.0])
    return Parameters.of(least_squares(apart, start, bounds=bounds, diff_step=0.01, max_nfev=10).x)


def errors(data: Path, training: tuple[str, ...], testing: tuple[str, ...]) -> FloatArray:
    """Mean distance (4,), mm, of each marker over the poses `testing` with the parameters fitted to `training`."""
    found = poses(fitted(data, training), testing)
    distances = [np.linalg.norm(found[name][:4] - measured(data, name), axis=1) for name in testing]
    return np.asarray(1e3 * np.mean(distances, axis=0))


def rows(data: Path) -> list[Row]:
    """Mean error of each marker on unseen poses; then with the halves exchanged, where the poses lie outside."""
    inside, outside = errors(data, TRAINING, TESTING), errors(data, TESTING, TRAINING)
    p = fitted(data, TRAINING)
    note = (
        f"fitted: E {1e-3 * p.young:.0f} kPa, density {p.density:.0f} kg/m³, μ {p.friction:.2f}, base "
        f"{', '.join(f'{1e3 * x:.1f}' for x in p.shift)} mm from the drawing; published: rms of poses that were fitted"
    )
    made = [
        Row(
            quantity=f"mean error of marker {k + 1} on unseen poses", ours=float(inside[k]), reference=0.0, unit="mm",
            published=1e3 * PUBLISHED[k], allowed=ALLOWED[k], note="" if k else note,
        )
        for k in range(4)
    ]  # fmt: skip
    return made + [
        Row(
            quantity=f"the same of marker {k + 1}, fitted between and tested at the smallest and largest torques",
            ours=float(outside[k]), reference=0.0, unit="mm", published=1e3 * PUBLISHED[k],
        )
        for k in range(4)
    ]  # fmt: skip
