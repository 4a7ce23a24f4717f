"""Sliders for whatever a world can be driven by, and the controls they stand for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import numpy as np

from pliant.actuators import Actuator
from pliant.actuators.drive import SHOWN
from pliant.actuators.values import Displacement, Force, Placement, Pressure, Traction
from pliant.core.types import FloatArray
from pliant.models.beam import BeamModel
from pliant.models.rod import RodLoad, RodModel, RodMoments
from pliant.models.volume import PointLoad, PressureLoad, Support, TractionLoad
from pliant.viewer.driver import Driver
from pliant.viewer.surfaces import grid_spacing
from pliant.world import World

FULL_TRAVEL = 0.5
"""Time in which a control follows its slider over the whole range, s: a jump would be a blow."""
_STEPS = 400  # of a slider over its range: about one a pixel
_LOADS = (PointLoad, TractionLoad, PressureLoad, RodLoad, RodMoments, Support)
_SHOWN_LOADS: dict[type, tuple[str, float, float, Any]] = {
    PointLoad: ("N", 1.0, 1.0, Force),
    TractionLoad: ("kPa", 1e-3, 1e4, Traction),
    PressureLoad: ("kPa", 1e-3, 1e4, Pressure),
}
"""Shown unit, factor, usual range in SI and control value of a load."""


@dataclass(frozen=True, eq=False)
class Range:
    """One handle's sliders, in SI: `low`, `high` and `start` (k,), `labels` (k,), and what makes a control of values,
    or controls of several handles, by handle.

    `factor` (one, or (k,)) turns SI into the `unit` that the sliders show; over `travel` s a value follows its slider
    from end to end, or by `stride` in a step where steps have no time. `missing` names limits that were not given.
    """

    handle: Any
    labels: tuple[str, ...]
    unit: str | tuple[str, ...]
    factor: Any
    low: FloatArray
    high: FloatArray
    start: FloatArray
    control: Callable[[FloatArray], Any]
    travel: float = FULL_TRAVEL
    stride: float | None = None
    missing: str = ""


class Inputs:
    """The sliders of `ranges`; `controls(dt)` is what the next step is given."""

    def __init__(self, gui: Any, ranges: Sequence[Range], driver: Driver, *, order: float = 0.0) -> None:
        self.sliders: dict[Any, list[Any]] = {}
        self.folders: list[Any] = []
        self._driver = driver
        self._ranges = list(ranges)
        self._values = [r.start.copy() for r in self._ranges]
        names = _unique([_name(r.handle) for r in self._ranges])
        driven = [not isinstance(r.handle, _LOADS) for r in self._ranges]
        for title, wanted in (("Actuators", True), ("Loads and supports", False)):
            chosen = [k for k, actuates in enumerate(driven) if actuates is wanted]
            if chosen:
                self.folders.append(gui.add_folder(title, order=order + len(self.folders)))
                with self.folders[-1]:
                    for k in chosen:
                        sliders = _add_sliders(gui, names[k], self._ranges[k])
                        self.sliders[self._ranges[k].handle] = [driver.guard(slider) for slider in sliders]
                    note = _missing_limits([(names[k], self._ranges[k].missing) for k in chosen])
                    if note:
                        gui.add_html(f'<div class="pliant-note">{escape(note)}</div>')

    def controls(self, dt: float) -> dict[Any, Any]:
        """Controls of a step of dt (s): every value moves towards its slider, by the whole range in `FULL_TRAVEL`."""
        wanted: dict[Any, Any] = {}
        for index, r in enumerate(self._ranges):
            target = np.array([self._driver.value(slider) for slider in self.sliders[r.handle]]) / r.factor
            most = (r.high - r.low) * dt / r.travel if r.stride is None else np.full(len(r.low), r.stride)
            moved = self._values[index] + np.clip(target - self._values[index], -most, most)
            self._values[index] = np.clip(moved, r.low, r.high)
            value = r.control(self._values[index])
            wanted.update(value if isinstance(value, dict) else {r.handle: value})
        return wanted

    @property
    def settled(self) -> bool:
        """Whether every value has reached its slider."""
        return all(
            np.allclose(
                [self._driver.value(s) for s in self.sliders[r.handle]], value * r.factor, rtol=1e-9, atol=1e-12
            )
            for r, value in zip(self._ranges, self._values, strict=True)
        )

    def follow(self, handle: Any, amount: float) -> None:
        """Let the slider and the value of a scalar control stand at `amount`, in SI: what an inverse found."""
        for index, r in enumerate(self._ranges):
            if r.handle is handle and len(r.low) == 1:
                self._values[index] = np.clip(np.array([amount]), r.low, r.high)
                (slider,) = self.sliders[handle]
                steps = np.round(self._values[index][0] * r.factor / slider.step)
                slider.value = float(f"{steps * slider.step:.6g}")

    def set_disabled(self, handles: Sequence[Any]) -> None:
        """Switch the sliders of `handles` off, and all others on."""
        for handle, sliders in self.sliders.items():
            for slider in sliders:
                slider.disabled = handle in handles

    def reset(self) -> None:
        """Everything back to where it started."""
        for index, r in enumerate(self._ranges):
            self._values[index] = r.start.copy()
            for slider, start in zip(self.sliders[r.handle], r.start * r.factor, strict=True):
                slider.value = float(start)


def _missing_limits(named: Sequence[tuple[str, str]]) -> str:
    """What the panel says of actuators, by name, whose limits are `missing`; empty where none is."""
    lacking = [(name, missing) for name, missing in named if missing]
    if not lacking:
        return ""
    listed = ", ".join(f"{name} ({missing})" for name, missing in lacking[:3])
    others = f" and {len(lacking) - 3} more" if len(lacking) > 3 else ""
    return f"Usual ranges, since no limits are given: {listed}{others}."


def _add_sliders(gui: Any, name: str, r: Range) -> list[Any]:
    made = []
    units = r.unit if isinstance(r.unit, tuple) else (r.unit,) * len(r.labels)
    ends = zip(*(x * r.factor for x in (r.low, r.high, r.start)), strict=True)
    for label, unit, (low, high, start) in zip(r.labels, units, ends, strict=True):
        text = " ".join(part for part in (name, label, f"({unit})" if unit else "") if part)
        low, high, start = float(low), float(high), float(start)
        made.append(gui.add_slider(text, low, high, _step(high - low), start))
    return made


def _step(span: float) -> float:
    """1, 2 or 5 times a power of ten, about 1/400 of `span`."""
    return grid_spacing(np.zeros(1), np.array([10.0 * span / _STEPS]))


def world_ranges(world: World) -> Iterator[Range]:
    """Of every actuator, load and support of a world."""
    for constraint in world.constraints:
        handle = getattr(constraint, "spec", None)
        if isinstance(handle, Actuator):
            r = handle.control_range()
            unit, factor, _ = SHOWN.get(r.unit, (r.unit, 1.0, ""))
            yield replace(scalar(handle, unit, factor, (r.low, r.high, r.start), r.make), missing=r.missing)
    for model in world.volumes:
        for load in [load for load, _ in (*model.nodal_loads, *model.pressure_loads)]:
            if type(load) in _SHOWN_LOADS and load.amplitude is None and load.value.shape in ((), (3,)):
                yield _load_range(load)  # a slider cannot set a field, and would end an amplitude
        for support in dict.fromkeys(support for support, _, _ in model.supports):
            yield _support_range(support, model.rest)
    models: list[Any] = list(world.models)
    for slender in models:
        if slender.spec.slender:
            for support in dict.fromkeys(support for support, _, _ in slender.supports):
                yield _frame_range(support, slender)


def scalar(
    handle: Any,
    unit: str,
    factor: float,
    span: tuple[float, float, float],
    kind: Callable[[float], Any],
    travel: float = FULL_TRAVEL,
) -> Range:
    """The range of one number: `span` is its low and high end and where it starts, in SI."""
    low, high, start = (np.array([x]) for x in span)
    return Range(handle, ("",), unit, factor, low, high, start, lambda values: kind(float(values[0])), travel)


def _load_range(load: Any) -> Range:
    """Twice the load in every direction; a load that starts at zero gets a usual one."""
    start = np.atleast_1d(load.value).astype(float)
    unit, factor, usual, kind = _SHOWN_LOADS[type(load)]
    half_range = np.full(len(start), 2.0 * float(np.abs(start).max()) or usual)
    if len(start) == 1:
        return scalar(load, unit, factor, (-half_range[0], half_range[0], start[0]), kind)
    return Range(
        load, ("x", "y", "z"), unit, factor, -half_range, half_range, start, lambda values: kind(values.copy())
    )


def _support_range(support: Support, rest: FloatArray) -> Range:
    """About a quarter of the body's size to each side of where the support starts; `rest` (n, 3) m."""
    start = support.value
    size = float(np.linalg.norm(np.ptp(rest, axis=0)))
    half_range = 2.0 * grid_spacing(np.zeros(1), np.array([size]))

    def moved(values: FloatArray) -> Displacement:
        return Displacement(values.copy())

    return Range(support, tuple(support.axes), "mm", 1e3, start - half_range, start + half_range, start, moved)


def _frame_range(support: Support, model: BeamModel | RodModel) -> Range:
    """A support of a beam or a rod; one that holds frames along all axes is pushed along its rod and turned about x."""
    nodes = support.body.node_points
    if support.rotation is None or len(support.axes) < 3:
        return _support_range(support, nodes)
    start, turn = support.placement(None)
    assert turn is not None
    axis = model.start[1:4, 0] if isinstance(model, RodModel) else np.array([1.0, 0.0, 0.0])
    half_range = 2.0 * grid_spacing(np.zeros(1), np.array([float(np.linalg.norm(np.ptp(nodes, axis=0)))]))

    def placed(values: FloatArray) -> Placement:
        return Placement([start + values[0] * axis, turn + values[1] * axis])

    ends, zero = np.array([half_range, np.pi]), np.zeros(2)
    return Range(support, ("push", "turn"), ("mm", "°"), np.array([1e3, 180.0 / np.pi]), -ends, ends, zero, placed)


def _name(handle: Any) -> str:
    own = handle if isinstance(handle, str) else getattr(handle, "name", None)
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
