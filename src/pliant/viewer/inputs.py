"""Sliders for whatever a world can be driven by, and the controls they stand for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.actuators import Actuator, BaseDrive, Cable, Cavity, ForcePoint, Hinge, Layer, Slider, Stiffness
from pliant.actuators.values import Angle, AreaGrowth, Displacement, Force, Pressure, Traction, Young
from pliant.core.types import FloatArray
from pliant.models.volume import PointLoad, PressureLoad, Support, TractionLoad, VolumeModel
from pliant.viewer.surfaces import grid_spacing
from pliant.world import World

CABLE_TRAVEL = 0.04
"""Range of a cable without max_displacement, m."""
CAVITY_PRESSURE = 30e3
"""Range of a cavity without max_pressure, Pa."""
POINT_FORCE = 5.0
"""Range of a force point without bounds, N."""
HINGE_TRAVEL = 1.5
"""Range of a hinge without bounds, rad."""
LAYER_GROWTH = 0.2
"""Range of a layer without max_growth, as a share of its area."""
FULL_TRAVEL = 0.5
"""Time in which a control follows its slider over the whole range, s: a jump would be a blow."""
_STEPS = 400


@dataclass(frozen=True, eq=False)
class Range:
    """One handle's sliders, in SI: `low`, `high` and `start` (k,), `labels` (k,), and what makes a control of values.

    `factor` turns SI into the `unit` that the sliders show.
    """

    handle: Any
    labels: tuple[str, ...]
    unit: str
    factor: float
    low: FloatArray
    high: FloatArray
    start: FloatArray
    control: Callable[[FloatArray], Any]


class Inputs:
    """The sliders of a world; `controls(dt)` is what the next step is given."""

    def __init__(self, gui: Any, world: World) -> None:
        self.sliders: dict[Any, list[Any]] = {}
        self._ranges = list(_ranges(world))
        self._values = [r.start.copy() for r in self._ranges]
        names = _unique([_name(r.handle) for r in self._ranges])
        driven = [isinstance(r.handle, Actuator) for r in self._ranges]
        for title, wanted in (("Actuators", True), ("Loads and supports", False)):
            chosen = [k for k, actuates in enumerate(driven) if actuates is wanted]
            if chosen:
                with gui.add_folder(title):
                    for k in chosen:
                        self.sliders[self._ranges[k].handle] = _add_sliders(gui, names[k], self._ranges[k])

    def controls(self, dt: float) -> dict[Any, Any]:
        """Controls of a step of dt (s): every value moves towards its slider, by the whole range in `FULL_TRAVEL`."""
        wanted: dict[Any, Any] = {}
        for number, r in enumerate(self._ranges):
            target = np.array([slider.value for slider in self.sliders[r.handle]]) / r.factor
            most = (r.high - r.low) * dt / FULL_TRAVEL
            moved = self._values[number] + np.clip(target - self._values[number], -most, most)
            self._values[number] = np.clip(moved, r.low, r.high)
            wanted[r.handle] = r.control(self._values[number])
        return wanted

    def reset(self) -> None:
        """Everything back to where it started."""
        for number, r in enumerate(self._ranges):
            self._values[number] = r.start.copy()
            for slider, start in zip(self.sliders[r.handle], r.start, strict=True):
                slider.value = float(start * r.factor)


def _add_sliders(gui: Any, name: str, r: Range) -> list[Any]:
    made = []
    for label, low, high, start in zip(r.labels, r.low, r.high, r.start, strict=True):
        text = " ".join(part for part in (name, label, f"({r.unit})") if part)
        low, high, start = (float(x * r.factor) for x in (low, high, start))
        made.append(gui.add_slider(text, low, high, _step(high - low), start))
    return made


def _step(span: float) -> float:
    """1, 2 or 5 times a power of ten, about 1/400 of `span`."""
    return grid_spacing(np.zeros(1), np.array([10.0 * span / _STEPS]))


def _ranges(world: World) -> Iterator[Range]:
    for maker in world.row_makers:
        handle = getattr(maker, "spec", None)
        if isinstance(handle, Cable):
            high = handle.max_displacement if np.isfinite(handle.max_displacement) else CABLE_TRAVEL
            yield _scalar(handle, "mm", 1e3, (0.0, high, 0.0), Displacement)
        elif isinstance(handle, Cavity):
            low = handle.min_pressure if np.isfinite(handle.min_pressure) else 0.0
            high = handle.max_pressure if np.isfinite(handle.max_pressure) else max(low, 0.0) + CAVITY_PRESSURE
            yield _scalar(handle, "kPa", 1e-3, (low, high, float(np.clip(0.0, low, high))), Pressure)
        elif isinstance(handle, ForcePoint):
            yield _scalar(handle, "N", 1.0, _span(handle.min_force, handle.max_force, POINT_FORCE), Force)
        elif isinstance(handle, Slider) or (isinstance(handle, BaseDrive) and not handle.turns):
            span = _span(handle.min_displacement, handle.max_displacement, CABLE_TRAVEL)
            yield _scalar(handle, "mm", 1e3, span, Displacement)
        elif isinstance(handle, Layer):
            high = min(handle.max_growth, LAYER_GROWTH * handle.rest_area)
            yield _scalar(handle, "mm²", 1e6, (-high, high, 0.0), AreaGrowth)
        elif isinstance(handle, Stiffness):
            start = float(handle.material.young)
            yield _scalar(handle, "kPa", 1e-3, (handle.min_young, handle.max_young, start), Young)
        elif isinstance(handle, Hinge):
            span = _span(handle.min_angle, handle.max_angle, HINGE_TRAVEL)
            yield _scalar(handle, "°", 180.0 / np.pi, span, Angle)
        elif isinstance(handle, BaseDrive):
            span = _span(handle.min_displacement, handle.max_displacement, HINGE_TRAVEL)
            yield _scalar(handle, "°", 180.0 / np.pi, span, Angle)
    for model in world.volumes:
        for load in [load for load, _ in (*model.nodal_loads, *model.pressure_loads)]:
            yield _load_range(load)
        for support in dict.fromkeys(support for support, _, _ in model.supports):
            yield _support_range(support, model)


def _span(low: float, high: float, usual: float) -> tuple[float, float, float]:
    """Bounds, the usual ones where there are none, and 0 or what is nearest to it."""
    low, high = low if np.isfinite(low) else -usual, high if np.isfinite(high) else usual
    return low, high, min(max(0.0, low), high)


def _scalar(
    handle: Any, unit: str, factor: float, span: tuple[float, float, float], kind: Callable[[float], Any]
) -> Range:
    low, high, start = (np.array([x]) for x in span)
    return Range(handle, ("",), unit, factor, low, high, start, lambda values: kind(float(values[0])))


def _load_range(load: Any) -> Range:
    """Twice the load in every direction; a load that starts at zero gets a usual one."""
    start = np.atleast_1d(load.value).astype(float)
    if isinstance(load, PointLoad):
        unit, factor, usual = "N", 1.0, 1.0
    else:
        unit, factor, usual = "kPa", 1e-3, 1e4
    reach = np.full(len(start), 2.0 * float(np.abs(start).max()) or usual)
    if isinstance(load, PressureLoad):
        return _scalar(load, unit, factor, (-reach[0], reach[0], start[0]), Pressure)
    kind = Traction if isinstance(load, TractionLoad) else Force
    return Range(load, ("x", "y", "z"), unit, factor, -reach, reach, start, lambda values: kind(values.copy()))


def _support_range(support: Support, model: VolumeModel) -> Range:
    """About a quarter of the body's size to each side of where the support starts."""
    start = support.value
    size = float(np.linalg.norm(np.ptp(model.rest, axis=0)))
    reach = 2.0 * grid_spacing(np.zeros(1), np.array([size]))
    return Range(
        support,
        tuple(support.axes),
        "mm",
        1e3,
        start - reach,
        start + reach,
        start,
        lambda values: Displacement(values.copy()),
    )


def _name(handle: Any) -> str:
    own = getattr(handle, "name", None)
    if own is not None:
        return str(own)
    words = {PointLoad: "force on", TractionLoad: "traction on", PressureLoad: "pressure on", Support: "support of"}
    return f"{words[type(handle)]} {handle.body.name}"


def _unique(names: Sequence[str]) -> list[str]:
    """`names` with a number after those that occur more than once."""
    total: Mapping[str, int] = Counter(names)
    seen: Counter[str] = Counter()
    numbered = []
    for name in names:
        seen[name] += 1
        numbered.append(name if total[name] == 1 else f"{name} {seen[name]}")
    return numbered
