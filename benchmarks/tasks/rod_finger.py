"""The finger with a rod of twelve sections as its cable, pulled by 0, 10 and 20 mm, timed once it rests.

The cable of the finger runs out on one side and back on the other; the rod runs out only, in the middle between both,
and is held at its tip where the cable turns. Its base slides.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.tasks.measure import measure_steps
from benchmarks.tasks.touch import DT, cables_of_data
from pliant.actuators import BaseDrive, Cable
from pliant.actuators.values import Displacement
from pliant.constraints.channel import Channel
from pliant.core.types import FloatArray
from pliant.models.beam import Circle
from pliant.models.rod import Rod, Slide
from pliant.models.volume import Rayleigh
from pliant.robots import finger
from pliant.stepping import ImplicitEuler
from pliant.world import Scene, World

SECTIONS = 12
PULLS = (0.0, 0.01, 0.02)
"""Pulls of the base, m."""
RISING, RESTING = 50, 250
"""Steps in which the pull grows, and in which the finger comes to rest."""
OUTSIDE = 0.005
"""Length of the rod before its channel where the cable has no pull point, m."""
YOUNG, RADIUS, DENSITY = 2e9, 0.25e-3, 1100.0
"""Nylon: Pa, m, kg/m³."""
DAMPING = 6e-7
"""EI times the Rayleigh coefficient of the rod, N·m²·s."""


def rod_finger_reports(data: Path | None, steps: int) -> dict[str, dict[str, Any]]:
    """Reports of the finger by the name of its pull: those of every bench, the "pull_mm", the "force_N" that holds it,
    and the "rest_speed", the largest speed of a node after the finger came to rest, m/s.
    """
    return {f"finger_{1e3 * pull:.0f}_mm": _report(data, pull, steps) for pull in PULLS}


def _report(data: Path | None, pull: float, steps: int) -> dict[str, Any]:
    world, drive = _rod_finger(data)
    state, step = world.initial_state(), ImplicitEuler(DT)
    for number in range(RISING + RESTING):
        state, info = step(world, state, {drive: Displacement(pull * min(1.0, (number + 1) / RISING))})
    measured = measure_steps(world, dt=DT, steps=steps, start=state, controls={drive: Displacement(pull)})
    return measured.report() | {
        "pull_mm": 1e3 * pull,
        "force_N": float(info.actuation(drive)[1]),
        "rest_speed": float(np.linalg.norm(state.v[0], axis=1).max()),
        "sections": SECTIONS,
    }


def _rod_finger(data: Path | None) -> tuple[World, BaseDrive]:
    scene = Scene(gravity=(0.0, -9.81, 0.0))
    if data is None:
        robot = finger(anti_locking=False, damping=Rayleigh(mass=0.1, stiffness=0.1))
        scene.add(robot.body)
        cable = robot.cables[0]
    else:
        (cable,) = cables_of_data(scene, "finger", data, False)
    points, begin = _middle(cable)
    way = points[-1] - begin
    length = float(np.linalg.norm(way))
    section = Circle(RADIUS)
    damping = Rayleigh(stiffness=DAMPING / (YOUNG * section.second_moments[0]))
    turn = np.arctan2(way[1], way[0])
    rod = scene.add(
        Rod(
            length,
            SECTIONS,
            section=section,
            young=YOUNG,
            poisson=0.3,
            density=DENSITY,
            position=begin,
            rotation=(0.0, 0.0, turn),
            base=Slide((-1.0, 0.0, 0.0)),
            damping=damping,
            name="rod",
        )
    )
    scene.add(Channel(cable.body, points, rod, reach=cable.reach))
    drive = scene.add(BaseDrive(rod, min_force=0.0, name="pull"))
    return scene.compile(), drive


def _middle(cable: Cable) -> tuple[FloatArray, FloatArray]:
    """Points (k, 3) m between both legs of the cable, and where the rod begins (3,) m."""
    via = np.asarray(cable.via_points, float)
    half = len(via) // 2
    points = 0.5 * (via[:half] + via[: half - 1 : -1])
    along = (points[-1] - points[0]) / np.linalg.norm(points[-1] - points[0])
    if cable.pull_point is None:
        return points, points[0] - OUTSIDE * along
    return points, points[0] + ((np.asarray(cable.pull_point) - points[0]) @ along) * along
