"""A soft gripper closes on a cube, lifts it off the floor by friction, holds it, sets it down and lets it go.

Three cable fingers, contacts with Coulomb friction between fingers, cube and floor; arrows show the forces with which
the fingers push the cube.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from demos.outcome import Outcome, stage_table, write_outcome
from demos.recording import record, smooth
from pliant.core.errors import ConvergenceError
from pliant.core.types import FloatArray
from pliant.mesh import box
from pliant.record import Run
from pliant.robots import Gripper, gripper
from pliant.robots.scenes import robot_world
from pliant.stepping import ImplicitEuler
from pliant.viewer.export_surfaces import Shown, shown_run
from pliant.viewer.shapes import revolve
from pliant.viewer.surfaces import SurfaceFrames
from pliant.world import World

DURATION, DT, FPS = 2.7, 0.01, 50.0
PULL, RISE = 0.016, 0.03
"""How far the cables are pulled and the fingers raised, m."""
HOLDING = 1.4
"""An instant at which the cube is held up, s."""
METRES_PER_NEWTON = 0.06
"""Length of an arrow, m/N."""
BEHIND = 0.02
"""From the side of the cube to the head of an arrow, m: a finger is in between."""
ARROW, MOUNT = "#1fa37a", "#8a93a3"
_ARROW_PROFILE = np.array([(0.0, 0.0), (0.0012, 0.0), (0.0012, 0.65), (0.003, 0.65), (0.0, 1.0)])
"""Radius (m) over the position along the arrow, 0 to 1."""


@dataclass(frozen=True, eq=False)
class Bench:
    """The compiled scene with its gripper."""

    world: World
    robot: Gripper
    stepper: ImplicitEuler

    def control(self, t: float, state: Any) -> dict[Any, Any]:
        """Pull of the cables and height of the fingers at time t (s)."""
        close, lift = motion(t)
        return dict(self.robot.controls(close=close, lift=lift))


def motion(t: float) -> tuple[float, float]:
    """How far the cables are pulled and the fingers raised at time t (s), m."""
    close = smooth((t - 0.1) / 0.4) - smooth((t - 2.2) / 0.25)
    lift = smooth((t - 0.55) / 0.5) - smooth((t - 1.6) / 0.5)
    return PULL * close, RISE * lift


def build() -> Bench:
    """Three fingers over a cube that stands on a floor."""
    robot = gripper()
    return Bench(robot_world(robot, touches_itself=True), robot, ImplicitEuler(dt=DT))


def check(run: Run, bench: Bench) -> None:
    """Raise unless the cube was lifted, carried by friction, and set down again."""
    height = run.poses(bench.robot.cube)[:, 0, 2]
    held = np.searchsorted(run.times, HOLDING)
    carried = float(sum(run.contact_force(bench.robot.cube, one.body)[held, 2] for one in bench.robot.fingers))
    weight = 9.81 * bench.robot.cube.mass
    if not (height[held] - height[0] > 0.8 * RISE and height[-1] - height[0] < 0.1 * RISE):
        raise ConvergenceError(f"the cube rose by {height[held] - height[0]:.4f} m and ended {height[-1]:.4f} m high")
    if not abs(carried - weight) < 0.1 * weight:
        raise ConvergenceError(f"the fingers carry {carried:.3f} N of {weight:.3f} N")


def surfaces(bench: Bench, run: Run) -> Shown:
    """Fingers, cube, the plate that carries the fingers, and arrows for the contact forces."""
    shown = shown_run(run, fps=FPS, cables=False, arrows=False)
    lifts = np.array([motion(float(t))[1] for t in shown.times])
    plate = _plate(bench, lifts)
    arrows = [_arrow(run, bench, index, shown.frames) for index in range(len(bench.robot.fingers))]
    return Shown((*shown.surfaces, plate, *arrows), shown.times, shown.frames, 0.0)


def run(out: Path) -> Outcome:
    """Simulate, write the picture, the page and the recorded run into `out`."""
    bench = build()
    recorded = record(bench, check, until=DURATION)
    shown = surfaces(bench, recorded)
    cells = sum(one.body.mesh.cell_count for one in bench.robot.fingers)
    return write_outcome(
        out,
        "lift",
        recorded,
        shown,
        frames=[int(np.searchsorted(shown.times, HOLDING))],
        title="A soft gripper lifts a cube",
        caption="Three fingers pulled by cables; arrows are the forces with which they push the cube.",
        stats={"time step": f"{1e3 * DT:.0f} ms", "tetrahedra": f"{cells}"},
        table=stage_table(recorded, title=f"3 fingers, {cells} tetrahedra, friction"),
    )


def _plate(bench: Bench, lifts: FloatArray) -> SurfaceFrames:
    """The plate above the fingers, drawn only."""
    tops = np.array([one.body.mesh.bounds for one in bench.robot.fingers])
    lower, upper = tops[:, 0].min(axis=0), tops[:, 1].max(axis=0)
    margin, thickness = 0.006, 0.008
    size = (*(upper - lower)[:2] + 2.0 * margin, thickness)
    plate = box(size, (1, 1, 1)).translated((lower[0] - margin, lower[1] - margin, upper[2]))
    frames = plate.points + lifts[:, None, None] * np.array([0.0, 0.0, 1.0])
    return SurfaceFrames(plate.surface().triangles.astype(np.int64), frames, color=MOUNT)


def _arrow(run: Run, bench: Bench, index: int, frames: Any) -> SurfaceFrames:
    """The contact force of finger `index` on the cube, as an arrow whose head is at the back of the finger."""
    cube, finger = bench.robot.cube, bench.robot.fingers[index]
    half = 0.5 * float(np.ptp(cube.shape.points[:, 0])) + BEHIND
    middle = float(finger.body.mesh.bounds[:, 1].mean())
    drawn = []
    for position, force in zip(run.poses(cube)[frames, 0], run.contact_force(cube, finger.body)[frames], strict=True):
        size = float(np.linalg.norm(force))
        along = force / size if size > 0.02 else np.array([1.0, 0.0, 0.0])
        length = METRES_PER_NEWTON * size if size > 0.02 else 0.0
        head = position + np.array([-np.sign(along[0]) * half, middle, 0.0])
        profile = _ARROW_PROFILE * np.array([1.0 if length else 0.0, length])
        points, triangles = revolve(profile, head - length * along, along)
        drawn.append(points)
    return SurfaceFrames(triangles, np.stack(drawn), label="contact forces" if index == 0 else "", color=ARROW)
