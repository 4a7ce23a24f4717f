"""A beam of linear tetrahedra that swings under gravity without damping: the same mesh and law in MuJoCo and Drake."""

from __future__ import annotations

from typing import Any

import numpy as np

import pliant as pl
from pliant.core.types import FloatArray
from pliant.materials import Material
from pliant.mesh import Mesh
from validation.peers.asked import Answer, from_script
from validation.row import Row

SIZE, CELLS = (0.1, 0.03, 0.03), (8, 2, 2)
YOUNG, DENSITY, GRAVITY = 2e5, 1e3, 9.81
FRAME, SECONDS = 0.005, 0.3
"""Interval of the frames and length of the run, s: two and a half periods."""
DT = 1e-3
"""Our step, s, of the midpoint rule: half of it changes the curve by less than 0.1 % of the drop."""


def mesh() -> Mesh:
    """The beam along x."""
    return pl.mesh.box(SIZE, CELLS, element="tet4", symmetric="")


def ours(material: Material, **options: Any) -> FloatArray:
    """Mean height of the end face over that at rest, m, every `FRAME`."""
    beam, scene = mesh(), pl.Scene(gravity=(0.0, 0.0, -GRAVITY))
    clamp = pl.regions.plane(axis="x", at=0.0)
    body = scene.add(pl.Volume(beam, material, clamp=clamp, anti_locking=False, **options))
    run = pl.simulate(scene.compile(), pl.ImplicitMidpoint(DT, tolerance=1e-8), until=SECONDS, progress=False)
    end = beam.points[:, 0] > SIZE[0] - 1e-9
    moved = run.points(body)[:: round(FRAME / DT)] - beam.points
    return np.asarray(moved[:, end, 2].mean(axis=1))


def setup(poisson: float) -> dict[str, Any]:
    """What the scripts of MuJoCo and Drake read."""
    beam = mesh()
    numbers = {"young": YOUNG, "poisson": poisson, "density": DENSITY, "gravity": GRAVITY, "frame": FRAME}
    return {"points": beam.points, "cells": beam.cells, "mass": DENSITY * float(np.prod(SIZE)), **numbers}


def mujoco(integrator: str, dt: float) -> Answer:
    """MuJoCo flex with steps of `dt` (s)."""
    return from_script(f"mujoco-{integrator}", "mujoco_swing.py", setup(0.3), integrator, dt, SECONDS)


def drake(dt: float) -> Answer:
    """Drake with steps of `dt` (s)."""
    return from_script(f"drake-{dt:g}", "drake_swing.py", setup(0.0), "kCorotated", dt, SECONDS)


def mujoco_rows() -> list[Row]:
    """St Venant–Kirchhoff with the same mass at every vertex, as MuJoCo has it."""
    points = len(mesh().points)
    rubber = pl.materials.StVenantKirchhoff(young=YOUNG, poisson=0.3, density=DENSITY)
    curve = ours(rubber, mass=np.full(points, DENSITY * np.prod(SIZE) / points))
    fine, own = mujoco("Euler", 2e-5), mujoco("discrete", 1e-3)
    note = f"converged: steps of 0.02 ms by {fine.said_by}; MuJoCo's implicit integrator damps"
    return [
        *_rows(curve, fine.array("tip"), "MuJoCo converged", note, 0.002),
        Row(quantity="rms of the tip over its drop, MuJoCo, discrete, 1 ms", ours=_apart(curve, own.array("tip")),
            reference=0.0, unit="%"),
    ]  # fmt: skip


def drake_rows() -> list[Row]:
    """Corotated at ν = 0, where the laws of both are the same, with the mass consistent with the shape functions."""
    rubber = pl.materials.Corotated(young=YOUNG, poisson=0.0, density=DENSITY)
    curve = ours(rubber, lumped_mass=False)
    coarse, fine = drake(1e-3), drake(5e-4)
    limit = 2.0 * fine.array("tip") - coarse.array("tip")
    note = (
        f"converged: extrapolated from steps of 1 and 0.5 ms by {fine.said_by}; the rest of the difference does not "
        "become smaller with the steps"
    )
    return [
        *_rows(curve, limit, "Drake converged", note, 0.01),
        Row(quantity="rms of the tip over its drop, Drake, 1 ms", ours=_apart(curve, coarse.array("tip")),
            reference=0.0, unit="%"),
    ]  # fmt: skip


def _rows(curve: FloatArray, theirs: FloatArray, who: str, note: str, allowed: float) -> list[Row]:
    times: FloatArray = np.asarray(FRAME * np.arange(len(curve)), dtype=np.float64)
    return [
        Row(quantity=f"rms of the tip over its drop, {who}", ours=_apart(curve, theirs), reference=0.0, unit="%",
            allowed=100.0 * allowed, note=note),
        Row(quantity=f"largest drop of the tip, {who}", ours=-1e3 * float(curve.min()),
            reference=-1e3 * float(theirs.min()), unit="mm", allowed=allowed),
        Row(quantity=f"frequency, {who}", ours=frequency(times, curve), reference=frequency(times, theirs), unit="Hz",
            allowed=allowed),
    ]  # fmt: skip


def _apart(curve: FloatArray, theirs: FloatArray) -> float:
    """Root mean square of the difference over the largest drop, %."""
    return float(100.0 * np.sqrt(np.mean((curve - theirs) ** 2)) / -theirs.min())


def frequency(times: FloatArray, curve: FloatArray) -> float:
    """Frequency, Hz, of the sinusoid about a mean that is nearest to the curve."""

    def left(f: float) -> float:
        turn = 2.0 * np.pi * f * times
        basis = np.stack([np.cos(turn), np.sin(turn), np.ones_like(turn)], axis=1)
        return float(np.sum((basis @ np.linalg.lstsq(basis, curve, rcond=None)[0] - curve) ** 2))

    from scipy.optimize import minimize_scalar

    coarse = np.linspace(2.0, 20.0, 181)
    best = coarse[int(np.argmin([left(f) for f in coarse]))]
    return float(minimize_scalar(left, bounds=(best - 0.1, best + 0.1), method="bounded").x)
