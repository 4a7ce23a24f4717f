"""One frame of the animation: configurations, cable tensions, chamber pressures, contact forces and readings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pliant.actuators import ActuatorRows
from pliant.core.types import FloatArray
from pliant.stepping import StepInfo
from pliant.world import State

_NO_ARROWS = (np.zeros((0, 3)), np.zeros((0, 3)))


@dataclass(frozen=True, eq=False)
class Frame:
    """What is drawn at `time` (s): positions and poses `q` of the bodies, and poses (4, 3) of the `obstacles`.

    `tensions` (k,) N are those of the cables, `pressures` (c,) Pa those of the chambers, `arrows` the points (m, 3) m
    and forces (m, 3) N of the contacts, `tip` (3,) m the controlled point, `readings` names and values.
    """

    time: float
    q: tuple[FloatArray, ...]
    obstacles: tuple[FloatArray, ...] = ()
    tensions: FloatArray = field(default_factory=lambda: np.zeros(0))
    pressures: FloatArray = field(default_factory=lambda: np.zeros(0))
    arrows: tuple[FloatArray, FloatArray] = _NO_ARROWS
    tip: FloatArray | None = None
    readings: tuple[tuple[str, str], ...] = ()


def world_frame(state: State, info: StepInfo | None, tip: FloatArray | None = None) -> Frame:
    """The frame of a world after a step, or before the first where `info` is None."""
    world = state.world
    obstacles = tuple(obstacle.pose(state.time) for obstacle in world.obstacles)
    if info is None or info.assembly is None or info.lam is None:
        drawn = [getattr(constraint, "drawn_as", None) for constraint in world.constraints]
        cables, chambers = (np.zeros(drawn.count(kind)) for kind in ("cable", "chamber"))
        return Frame(state.time, state.q, obstacles, cables, chambers, tip=tip)
    delta, lam = info.delta, info.lam
    readings, points, forces = [], [], []
    tensions: list[float] = []
    pressures: list[float] = []
    for index, constraint in enumerate(world.constraints):
        if constraint.is_contact:
            name, contacts = _contacts(constraint, info)
            points.append(contacts.points)
            forces.append(contacts.forces)
            total = float(np.linalg.norm(contacts.forces.sum(axis=0)))
            readings.append((name, f"{total:.3f} N" if len(contacts.gaps) else "apart"))
        elif isinstance(constraint, ActuatorRows):
            row = info.assembly.slices[index].start
            values = np.array([delta[row], lam[row]])
            readings.append((constraint.spec.name, reading_text(constraint.spec, values)))
            if constraint.drawn_as == "cable":
                tensions.append(values[1])
            if constraint.drawn_as == "chamber":
                pressures.append(values[1])
    arrows = (np.concatenate(points), np.concatenate(forces)) if points else _NO_ARROWS
    return Frame(
        state.time, state.q, obstacles, np.array(tensions), np.array(pressures), arrows, tip, tuple(readings)
    )  # fmt: skip


def _contacts(pair: Any, info: StepInfo) -> tuple[str, Any]:
    first, *others = pair.handles
    names = [first.name, *(other.name for other in others if other is not first)]
    return " – ".join(names), info.contacts(*pair.handles)


def reading_text(actuator: Any, values: FloatArray) -> str:
    """The actuation of an actuator in practical units, or the norm of a contact force (3,) N."""
    if len(values) == 3:
        return f"{float(np.linalg.norm(values)):.3f} N"
    return str(actuator.reading(values))
