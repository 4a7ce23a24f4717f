"""Curves of a run over time: displacements, actuation and contact forces, as columns and as a table."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.actuators import ActuatorRows, Stiffness
from pliant.core.checks import finite_array
from pliant.core.errors import InputError, MissingExtraError
from pliant.core.replacing import replacing
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
    """`values` (steps,) in `unit` of a run; `panel` is the heading of this quantity, `name` whose it is."""

    panel: str
    name: str
    unit: str
    values: FloatArray

    @property
    def label(self) -> str:
        """Heading of a column: quantity, owner and unit."""
        return f"{self.panel}: {self.name} ({self.unit})"


def curves(run: Run, points: Any = None, *, own: Any = None, only: Any = None) -> list[Curve]:
    """All curves of `run`: positions of `points`, largest displacements of bodies, actuation, contact forces, and `own`
    ones by name; `only` those whose heading or name is listed. See `Run.plot`.
    """
    found = [*_markers(run, points), *_travels(run)]
    constraints = () if run.world is None else run.world.constraints
    specs = {rows.spec.name: rows.spec for rows in constraints if isinstance(rows, ActuatorRows)}
    for rows in run.forces:
        if rows.values.shape[1] == 3:
            length = np.linalg.norm(rows.values, axis=1)
            found.append(Curve("contact force", " – ".join(rows.names), "N", length))
        else:
            found += _actuation(rows.names[0], specs.get(rows.names[0]), rows.values)
    found += _own(run, own)
    if only is None:
        return found
    names = [only] if isinstance(only, str) else list(only) if isinstance(only, (tuple, list)) else []
    if not names or not all(isinstance(name, str) for name in names):
        raise InputError(f"only must be names of curves, got {only!r:.60}")
    return _chosen(found, names)


def save_curves(run: Run, path: str | Path, **options: Any) -> Path:
    """Write the curves of `run` as a CSV table with a row for each instant, and return its path; `options` are those of
    `curves`.
    """
    target, found = Path(path), curves(run, **options)
    with replacing(target) as part, part.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["time (s)", *(curve.label for curve in found)])
        for k, time in enumerate(run.times):
            writer.writerow([f"{time:.9g}", *(f"{curve.values[k]:.9g}" for curve in found)])
    return target


def curves_frame(run: Run, **options: Any) -> Any:
    """The curves of `run` as a pandas DataFrame indexed by time; `options` are those of `curves`."""
    try:
        pandas = import_module("pandas")
    except ImportError as error:
        raise MissingExtraError("run.to_dataframe needs pandas: pip install pandas; or run.save_curves(…)") from error
    columns = {curve.label: curve.values for curve in curves(run, **options)}
    return pandas.DataFrame(columns, index=pandas.Index(run.times, name="time (s)"))


def _own(run: Run, own: Any) -> list[Curve]:
    """Curves by name: 'bend (°)' has the unit °."""
    if own is not None and not isinstance(own, Mapping):
        raise InputError(f"curves must be a dictionary {{name: values}}, got {own!r:.60}")
    found = []
    for label, given in (own or {}).items():
        values = finite_array(f"curve {label!r}", given, shape=(len(run),))
        name, _, unit = str(label).rstrip(")").rpartition(" (") if str(label).endswith(")") else (str(label), "", "")
        found.append(Curve(name, name, unit, values))
    return found


def _chosen(found: list[Curve], only: list[str]) -> list[Curve]:
    chosen = [curve for curve in found if any(text in (curve.panel, curve.name) for text in only)]
    missing = [text for text in only if all(text not in (curve.panel, curve.name) for curve in found)]
    if missing:
        known = ", ".join(dict.fromkeys(name for curve in found for name in (curve.panel, curve.name)))
        raise InputError(f"this run has no curve {missing[0]!r}; its headings and names are {known}")
    return chosen


def _markers(run: Run, points: Any) -> list[Curve]:
    if points is None:
        return []
    found = []
    for name, marker in _named(points).items():
        if not hasattr(marker, "along"):
            raise InputError(f"points must be markers, such as robot.tip, got a {type(marker).__name__}")
        path = 1e3 * run.points(marker)
        found += [Curve("position", f"{name} {axis}", "mm", path[:, k]) for k, axis in enumerate("xyz")]
    return found


def _named(points: Any) -> dict[str, Any]:
    """Markers by name: as given, "tip" for one, "point 1"… for a list."""
    if hasattr(points, "items"):
        return dict(points)
    if isinstance(points, (tuple, list)):
        return {f"point {k}": marker for k, marker in enumerate(points, start=1)}
    return {"tip": points}


def _travels(run: Run) -> list[Curve]:
    """Largest displacement of a point of each body from its first position."""
    found = []
    for index, body in enumerate(run.bodies):
        points = run.points(index)
        away = 1e3 * np.linalg.norm(points - points[0], axis=2).max(axis=1)
        found.append(Curve("largest displacement", body.name, "mm", away))
    return found


def _actuation(name: str, spec: Any, values: FloatArray) -> list[Curve]:
    """Both curves of an actuator in the units of its control values; in "SI" where the run has no world."""
    if isinstance(spec, Stiffness):
        kinds = [("strain energy / modulus", "mL", -1e6), ("added modulus", "kPa", 1e-3)]
    elif spec is None:
        kinds = [("actuator displacement", "SI", 1.0), ("actuator force", "SI", 1.0)]
    else:
        general = ("actuator displacement", "actuator force")
        kinds = [_SHOWN.get(unit, (what, unit, 1.0)) for what, (_, unit) in zip(general, spec.kinds, strict=True)]
    return [Curve(panel, name, unit, factor * values[:, k]) for k, (panel, unit, factor) in enumerate(kinds)]
