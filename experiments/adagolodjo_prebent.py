"""A pre-bent rod in a straight soft body: turned about its axis at the base, it sweeps the body's tip round.

Adagolodjo, Renda, Duriez, IEEE RA-L 2021: section IV.A, figure 8, which shows shapes and no numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.adagolodjo_parts import DT, damped_rod
from experiments.report import Report
from pliant.actuators import BaseDrive
from pliant.actuators.values import Angle
from pliant.constraints.channel import Channel
from pliant.core.types import FloatArray
from pliant.materials import Corotated
from pliant.mesh import box, regions
from pliant.models.rod import Rod, Turn
from pliant.models.volume import Rayleigh, Volume
from pliant.record import Recorder, Run
from pliant.stepping import ImplicitEuler
from pliant.world import Scene, State, World

LENGTH, WIDTH = 0.1, 0.012
"""Of the soft body, a straight bar, m."""
CELLS = (14, 2, 2)
SILICONE = Corotated(young=1e5, poisson=0.45, density=1080.0)
RADIUS, SECTIONS, CURVATURE = 0.8e-3, 10, 8.0
"""Radius of the rod (m), its sections, and its curvature without stress (1/m)."""
POINTS = 15
SETTLING = 60
"""Steps in which the rod, straight at first, bends the body."""


@dataclass(frozen=True, eq=False)
class Bench:
    """The bar with its rod."""

    world: World
    bar: Volume
    rod: Rod
    drive: BaseDrive

    def aside(self, state: State) -> FloatArray:
        """Where the middle of the bar's end stands beside its axis, (y, z), m."""
        ends = self.bar.mesh.points[:, 0] > LENGTH * (1.0 - 1e-9)
        place: FloatArray = state.points(self.bar)[ends].mean(axis=0)
        return place[1:] - 0.5 * WIDTH


def build() -> Bench:
    """The bar along x, clamped at x = 0, with the rod along its middle, whose base turns about x."""
    scene = Scene()
    mesh = box((LENGTH, WIDTH, WIDTH), CELLS)
    bar = scene.add(
        Volume(
            mesh, SILICONE, clamp=regions.plane(axis="x", at=0.0), damping=Rayleigh(stiffness=0.01), name="bar",
        )
    )  # fmt: skip
    middle = (0.0, 0.5 * WIDTH, 0.5 * WIDTH)
    rod = scene.add(
        damped_rod(
            LENGTH,
            SECTIONS,
            radius=RADIUS,
            position=middle,
            base=Turn((1.0, 0.0, 0.0)),
            rest_strain=(0.0, 0.0, CURVATURE, 0.0, 0.0, 0.0),
            start_strain=np.zeros(6),
        )
    )
    points = np.array(middle) + np.outer(np.linspace(1.0 / POINTS, 1.0, POINTS), (LENGTH, 0.0, 0.0))
    scene.add(Channel(bar, points, rod))
    drive = scene.add(BaseDrive(rod, name="motor"))
    return Bench(scene.compile(), bar, rod, drive)


@dataclass(frozen=True, eq=False)
class Swept:
    """The path (k, 2) m of the bar's end beside its axis while the base turns by `angles` (k,) rad; the largest twist
    of the rod (1/m) and the largest torque of the motor (N·m) on the way; and the recorded run.
    """

    angles: FloatArray
    path: FloatArray
    twist: float
    torque: float
    run: Run

    @property
    def radii(self) -> FloatArray:
        """Distances from the axis, (k,), m."""
        return np.asarray(np.linalg.norm(self.path, axis=1))

    @property
    def swept(self) -> float:
        """Angle about the axis from the first place to the last, followed through full turns, rad."""
        around = np.unwrap(np.arctan2(self.path[:, 1], self.path[:, 0]))
        return float(around[-1] - around[0])


def sweep(bench: Bench, turn: float, count: int) -> Swept:
    """Let the rod bend the bar, then turn its base by `turn` rad in `count` steps, and let it rest."""
    state, stepper = bench.world.initial_state(), ImplicitEuler(DT)
    recorder = Recorder(bench.world, state, stepper)
    model: Any = bench.world.models[bench.world.index(bench.rod)]
    angles = np.concatenate([np.zeros(SETTLING), np.linspace(0.0, turn, count + 1)[1:], np.full(SETTLING, turn)])
    path, twists, torques = [], [], []
    for angle in angles:
        controls = {bench.drive: Angle(float(angle))}
        state, info = stepper(bench.world, state, controls)
        recorder.add(state, info, controls)
        path.append(bench.aside(state))
        twists.append(float(np.abs(model.strains(state.q[bench.world.index(bench.rod)])[:, 0]).max()))
        torques.append(abs(float(info.actuation(bench.drive)[1])))
    kept = slice(SETTLING - 1, None)
    return Swept(angles[kept], np.array(path)[kept], max(twists[kept]), max(torques[kept]), recorder.run())


def run(*, full: bool) -> Report:
    """Turn the base by half a turn; a whole one in full."""
    turn, count = (2.0 * np.pi, 240) if full else (np.pi, 120)
    swept = sweep(build(), turn, count)
    metrics = {
        "turned_deg": float(np.degrees(turn)),
        "swept_deg": float(np.degrees(swept.swept)),
        "least_radius_mm": 1e3 * float(swept.radii.min()),
        "largest_radius_mm": 1e3 * float(swept.radii.max()),
        "free_radius_mm": 1e3 * (1.0 - float(np.cos(CURVATURE * LENGTH))) / CURVATURE,
        "largest_twist_per_m": swept.twist,
        "largest_torque_mNm": 1e3 * swept.torque,
    }
    notes = (
        f"the body is a bar of {1e3 * LENGTH:g} × {1e3 * WIDTH:g} × {1e3 * WIDTH:g} mm and 0.1 MPa, the rod one of "
        f"2 GPa, radius {1e3 * RADIUS:g} mm and rest curvature {CURVATURE:g} 1/m: sizes and materials are ours",
        "radius is the distance of the middle of the body's end from the axis, free_radius that of the rod without "
        "the body; twist and torque are the largest while turning",
    )
    return Report(
        title="Pre-bent rod turned in a soft body (Adagolodjo 2021, figure 8)",
        metrics=metrics,
        paper={},
        notes=notes,
        run=swept.run,
        full=full,
    )
