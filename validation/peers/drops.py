"""A soft block that falls on a smooth floor and bounces, not damped: the same mesh and law in MuJoCo and Drake."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Literal

import numpy as np

import pliant as pl
from pliant.core.types import FloatArray
from pliant.mesh import Mesh
from validation.peers.asked import Answer, from_script
from validation.row import Row

SIDE, CELLS, FALL = 0.03, (3, 3, 3), 0.005
YOUNG, DENSITY, GRAVITY = 2e5, 1e3, 9.81
FRAME, SECONDS = 0.002, 0.07
"""Interval of the frames and length of the run, s: the fall, 5 ms of contact, and the flight beyond its top."""
DT = 5e-5
"""Our step, s: twice of it changes the height by less than 0.1 mm (rms)."""
COARSE = 1e-3
"""A usual step, s."""

Peer = Literal["MuJoCo", "Drake"]


def mesh() -> Mesh:
    """The block, `FALL` above the floor z = 0."""
    return pl.mesh.box((SIDE, SIDE, SIDE), CELLS, element="tet4", symmetric="").translated((0.0, 0.0, FALL))


@lru_cache(maxsize=4)
def ours(peer: Peer, stepper: Any) -> FloatArray:
    """Mean height of the nodes, m, every `FRAME`, with the law and the masses of `peer`."""
    block, scene = mesh(), pl.Scene(gravity=(0.0, 0.0, -GRAVITY))
    count = len(block.points)
    if peer == "MuJoCo":  # the same mass at every vertex
        rubber: Any = pl.materials.StVenantKirchhoff(young=YOUNG, poisson=0.3, density=DENSITY)
        options: dict[str, Any] = {"mass": np.full(count, DENSITY * SIDE**3 / count)}
    else:
        rubber, options = pl.materials.Corotated(young=YOUNG, poisson=0.0, density=DENSITY), {"lumped_mass": False}
    body = scene.add(pl.Volume(block, rubber, anti_locking=False, **options))
    scene.collide(body, scene.add(pl.Obstacle.plane()))
    run = pl.simulate(scene.compile(), stepper, until=SECONDS, progress=False)
    return np.asarray(run.points(body)[:: round(FRAME / stepper.dt), :, 2].mean(axis=1))


FINE = pl.DampedMidpoint(DT, tolerance=1e-8)
"""Damped, so that the nodes that touch do not ring."""


def setup(poisson: float) -> dict[str, Any]:
    """What the scripts of MuJoCo and Drake read."""
    block = mesh()
    numbers = {"young": YOUNG, "poisson": poisson, "density": DENSITY, "gravity": GRAVITY, "frame": FRAME}
    return {"points": block.points, "cells": block.cells, "mass": DENSITY * SIDE**3, **numbers}


def mujoco(dt: float, stiffness: float) -> Answer:
    """MuJoCo flex with steps of `dt` (s) and contacts of the `stiffness` (1/s²)."""
    return from_script(f"mujoco-drop-{dt:g}", "mujoco_drop.py", setup(0.3), dt, SECONDS, stiffness)


def drake(dt: float) -> Answer:
    """Drake with steps of `dt` (s)."""
    return from_script(f"drake-drop-{dt:g}", "drake_drop.py", setup(0.0), "kCorotated", "lagged", dt, SECONDS)


def mujoco_rows() -> list[Row]:
    """Height of the block and top of its rebound: MuJoCo with stiff contacts and small steps; ours at a usual step."""
    found = mujoco(5e-6, 1e9)
    theirs = found.array("height")
    sunk = -1e6 * float(found.values["lowest"])
    note = f"converged: steps of 5 µs by {found.said_by}; its vertices sink into the floor by {sunk:.0f} µm"
    rows = _rows(ours("MuJoCo", FINE), theirs, "MuJoCo converged", note, 0.01)
    euler = ours("MuJoCo", pl.ImplicitEuler(COARSE))
    return [
        *rows,
        Row(
            quantity="top of the rebound, ours by implicit Euler, 1 ms",
            ours=rebound(euler), reference=rebound(theirs), unit="mm", note="implicit Euler damps the oscillations",
        ),
    ]  # fmt: skip


def drake_rows() -> list[Row]:
    """The same with Drake, whose bounce becomes higher with smaller steps."""
    curve, coarse, fine = ours("Drake", FINE), drake(2.5e-4), drake(5e-5)
    rows = _rows(curve, fine.array("height"), "Drake, 0.05 ms", f"by {fine.said_by}; not converged", None)
    high = rebound(coarse.array("height"))
    return [*rows, Row(quantity="top of the rebound, Drake, 0.25 ms", ours=rebound(curve), reference=high, unit="mm")]


def _rows(curve: FloatArray, theirs: FloatArray, who: str, note: str, allowed: float | None) -> list[Row]:
    apart = 100.0 * float(np.sqrt(np.mean((curve - theirs) ** 2))) / FALL
    limit = None if allowed is None else 100.0 * allowed
    return [
        Row(quantity=f"rms of the height over the fall, {who}", ours=apart, reference=0.0, unit="%", allowed=limit,
            note=note),
        Row(quantity=f"top of the rebound, {who}", ours=rebound(curve), reference=rebound(theirs), unit="mm",
            allowed=allowed),
    ]  # fmt: skip


def rebound(curve: FloatArray) -> float:
    """Largest mean height after the bounce, mm, over that of the block at rest: a parabola through three frames."""
    first = round(0.04 / FRAME)  # the fall takes 32 ms, the contact 5
    top = first + int(np.argmax(curve[first:-1]))
    a, b, c = np.polyfit([-1.0, 0.0, 1.0], curve[top - 1 : top + 2], 2)
    return float(1e3 * (c - b * b / (4.0 * a) - 0.5 * SIDE))
