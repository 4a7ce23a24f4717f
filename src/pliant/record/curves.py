"""Curves of a run: what actuators, contacts and bodies did over time, as columns and as a table."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.actuators import ActuatorRows, Stiffness
from pliant.core.errors import InputError
from pliant.core.types import FloatArray

if TYPE_CHECKING:
    from pliant.record.run import Run

_SHOWN: dict[str, tuple[str, str, float]] = {
    "m": ("actuator displacement", "mm", 1e3),
    "N": ("actuator force", "N", 1.0),
    "rad": ("angle", "°", 180.0 / np.pi),
    "N·m": ("torque", "N·m", 1.0),
    "m³": ("growth", "mL", 1e6),
    "Pa": ("pressure", "kPa", 1e-3),
    "m²": ("area growth", "mm²", 1e6),
    "N/m": ("spreading pressure", "N/m", 1.0),
}
"""Heading, shown unit and factor of an actuator's quantity by its SI unit; others are shown in their own unit."""


@dataclass(frozen=True, eq=False)
class Curve:
    """One quantity of a run.

    values (steps,), in `unit`; `panel` is the heading that curves of one kind share, `name` whose it is.
    """

    panel: str
    name: str
    unit: str
    values: FloatArray

    @property
    def label(self) -> str:
        """What, whose and in which unit: the head of a column."""
        return f"{self.panel}: {self.name} ({self.unit})"


def curves(run: Run, points: Any = None) -> list[Curve]:
    """All curves of `run`: positions of `points`, how far bodies moved, actuators, contact forces.

    `points` are markers by name, such as ``{"tip": robot.tip}``, or one marker.
    """
    found = [*_markers(run, points), *_travels(run)]
    specs = {} if run.world is None else {rows.spec.name: rows.spec for rows in _actuators(run)}
    for rows in run.forces:
        if rows.values.shape[1] == 3:
            length = np.linalg.norm(rows.values, axis=1)
            found.append(Curve("contact force", " – ".join(rows.names), "N", length))
        else:
            found += _actuation(rows.names[0], specs.get(rows.names[0]), rows.values)
    return found


def save_curves(run: Run, path: str | Path, *, points: Any = None) -> Path:
    """Write the curves of `run` as a CSV table with a line for each instant, and return its path."""
    target, found = Path(path), curves(run, points)
    with target.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["time (s)", *(curve.label for curve in found)])
        for number, time in enumerate(run.times):
            writer.writerow([f"{time:.9g}", *(f"{curve.values[number]:.9g}" for curve in found)])
    return target


def _markers(run: Run, points: Any) -> list[Curve]:
    if points is None:
        return []
    markers = dict(points) if hasattr(points, "items") else {"tip": points}
    found = []
    for name, marker in markers.items():
        if not hasattr(marker, "along"):
            raise InputError(f"points must be markers, such as robot.tip, got {marker!r}")
        path = 1e3 * marker.along(run.points(marker.body))
        found += [Curve("position", f"{name} {axis}", "mm", path[:, k]) for k, axis in enumerate("xyz")]
    return found


def _travels(run: Run) -> list[Curve]:
    """How far the farthest point of each body is from where it began."""
    found = []
    for number, body in enumerate(run.bodies):
        points = run.points(number)
        away = 1e3 * np.linalg.norm(points - points[0], axis=2).max(axis=1)
        found.append(Curve("largest displacement", body.name, "mm", away))
    return found


def _actuators(run: Run) -> list[ActuatorRows]:
    assert run.world is not None
    return [constraint for constraint in run.world.constraints if isinstance(constraint, ActuatorRows)]


def _actuation(name: str, spec: Any, values: FloatArray) -> list[Curve]:
    """Both curves of an actuator in the units of its control values; in "SI" where the run does not know it."""
    if isinstance(spec, Stiffness):
        kinds = [("strain energy / modulus", "mL", -1e6), ("added modulus", "kPa", 1e-3)]
    elif spec is None:
        kinds = [("actuator displacement", "SI", 1.0), ("actuator force", "SI", 1.0)]
    else:
        general = ("actuator displacement", "actuator force")
        kinds = [_SHOWN.get(unit, (what, unit, 1.0)) for what, (_, unit) in zip(general, spec.kinds, strict=True)]
    return [Curve(panel, name, unit, factor * values[:, k]) for k, (panel, unit, factor) in enumerate(kinds)]
