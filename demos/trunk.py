"""A trunk whose tip draws a figure in the air: told where the tip is to be, the inverse finds the pull of eight cables.

Every step is dynamic, one Newton iteration, with the inverse problem solved over the compliance of that step. A small
ball shows the target; cables are coloured by their tension.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from demos.outcome import Outcome, stage_table, write_outcome
from demos.recording import record, smooth
from pliant.control import Effector, Inverse
from pliant.core.errors import ConvergenceError
from pliant.core.types import FloatArray
from pliant.record import Run
from pliant.robots import Robot, trunk
from pliant.robots.scenes import robot_world
from pliant.stepping import ImplicitEuler
from pliant.viewer.export_surfaces import Shown, shown_run
from pliant.viewer.shapes import ball, tube_frames
from pliant.viewer.surfaces import SurfaceFrames
from pliant.world import World

DURATION, DT, FPS = 2.7, 0.01, 50.0
RADIUS, HEIGHT, TOP, END = 0.05, 0.165, 0.195, 0.18
START, ROUND = 0.45, 0.95
"""When the tip has reached its figure, and the time of one round, s."""
TARGET, TRACE = "#d1458c", "#e9a9c6"


@dataclass(frozen=True, eq=False)
class Bench:
    """The compiled scene with the handles that the motion needs."""

    world: World
    robot: Robot
    tip: Effector
    stepper: ImplicitEuler

    def control(self, t: float, state: Any) -> dict[Any, Any]:
        """The target of the tip at time t (s)."""
        return {self.tip: target(t)}


def build() -> Bench:
    """A trunk that stands on the floor under gravity, with its tip as the effector and its cables as unknowns."""
    robot = trunk()
    tip = Effector(robot.tip)
    stepper = ImplicitEuler(dt=DT, solver=Inverse(effectors=[tip], actuators=robot.cables))
    return Bench(robot_world(robot), robot, tip, stepper)


def target(t: float) -> FloatArray:
    """Where the tip is to be at time t (s), (3,) m: out to a circle without a jolt, round it twice, and back."""
    out = smooth(t / START) * smooth((DURATION - t) / 0.35)
    # cables pull and never push: at the end it cannot be as long as it was made, under its own weight
    upright = np.array([0.0, 0.0, TOP if t < START else END])
    angle = 2.0 * np.pi * max(t - START, 0.0) / ROUND
    place = np.array([RADIUS * np.cos(angle), RADIUS * np.sin(angle), HEIGHT])
    return np.asarray((1.0 - out) * upright + out * place)


def errors(run: Run, bench: Bench) -> FloatArray:
    """Distance of the tip from its target at each instant, m, (steps,)."""
    path = bench.robot.tip.along(run.points(bench.robot))
    distance: FloatArray = np.linalg.norm(path - [target(float(t)) for t in run.times], axis=1)
    return distance


def check(run: Run, bench: Bench) -> None:
    """Raise unless the tip followed its target."""
    worst = float(errors(run, bench).max())
    if not worst < 2e-3:
        raise ConvergenceError(f"the tip strayed by {1e3 * worst:.2f} mm from its target; expected less than 2 mm")


def surfaces(bench: Bench, run: Run) -> Shown:
    """The trunk and its cables, the target as a ball, and the circle."""
    shown = shown_run(run, fps=FPS)
    points, triangles = ball(np.zeros(3), 0.0035)
    goals = np.array([target(float(t)) for t in shown.times])
    angle = np.linspace(0.0, 2.0 * np.pi, 73)
    ring = np.stack([RADIUS * np.cos(angle), RADIUS * np.sin(angle), np.full_like(angle, HEIGHT)], axis=1)
    circle, sides = tube_frames(ring[None], 0.0007)
    extra = (
        SurfaceFrames(triangles, goals[:, None] + points, label="target", color=TARGET),
        SurfaceFrames(sides, circle, color=TRACE),
    )
    return Shown((*shown.surfaces, *extra), shown.times, shown.frames, 0.0)


def run(out: Path) -> Outcome:
    """Simulate, write the picture, the page and the recorded run into `out`."""
    bench = build()
    recorded = record(bench, check, until=DURATION)
    shown = surfaces(bench, recorded)
    error = 1e3 * float(errors(recorded, bench)[recorded.times > START].mean())
    cells = bench.robot.body.mesh.cell_count
    return write_outcome(
        out,
        "trunk",
        recorded,
        shown,
        frames=[0, round(0.6 * (len(shown.times) - 1))],
        title="A trunk that reaches",
        caption="Told where its tip is to be, the inverse finds the pull of eight cables, in every step.",
        stats={"mean error of the moving tip": f"{error:.2f} mm", "tetrahedra": f"{cells}"},
        table=stage_table(recorded, title=f"{cells} tetrahedra, 8 cables, inverse"),
    )
