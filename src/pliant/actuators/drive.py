"""What an actuator is: a thing that a person adds to a scene, and the constraint that it makes.

One of your own is a subclass of each: `Actuator` says its limits and commands, `DriveRow` gives δ and its gradient. All
steppers, the inverse, runs and the viewer then know it (`docs/extending.md`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pliant.actuators.limits import Command, Limits, command
from pliant.actuators.values import Displacement, Force
from pliant.constraints.rows import Constraint, RowView
from pliant.core.types import FloatArray, IndexArray, IntArray
from pliant.models.body import Model
from pliant.models.volume import Fibre

USUAL_FORCE = 5.0
"""Range of a slider of a force without bounds, N."""
USUAL_TRAVEL = {"m": 0.04, "rad": 1.5}
"""Range of a slider of a displacement without bounds, by its unit."""
SHOWN: dict[str, tuple[str, float, str]] = {
    "m": ("mm", 1e3, ".1f"),
    "N": ("N", 1.0, ".2f"),
    "rad": ("°", 180.0 / np.pi, ".1f"),
    "N·m": ("N·m", 1.0, ".3f"),
    "m³": ("mL", 1e6, "+.2f"),
    "Pa": ("kPa", 1e-3, ".2f"),
    "m²": ("mm²", 1e6, "+.2f"),
    "N/m": ("N/m", 1.0, ".2f"),
}
"""Shown unit, factor and format of a quantity by its SI unit; others are shown in their own unit."""


def _shown(unit: str, value: float) -> str:
    name, factor, form = SHOWN.get(unit, (unit, 1.0, ".4g"))
    return f"{factor * value:{form}}{'' if name == '°' else ' '}{name}"


def span(low: float, high: float, usual: float) -> tuple[float, float, float]:
    """Bounds, the usual ones where there are none, and 0 or what is nearest to it."""
    low, high = low if np.isfinite(low) else -usual, high if np.isfinite(high) else usual
    return low, high, min(max(0.0, low), high)


@dataclass(frozen=True, eq=False)
class ControlRange:
    """What a slider of an actuator may command: `make` turns a number in `unit` into a control value, `low`, `high` and
    `start` are its ends and where it begins.
    """

    make: Callable[[float], Any]
    unit: str
    low: float
    high: float
    start: float

    @classmethod
    def of_travel(cls, actuator: Any) -> ControlRange:
        """The displacement or angle of `actuator` between its limits."""
        unit, limits = actuator.kinds[0][1], actuator.limits
        return cls(actuator.moving, unit, *span(limits.least, limits.most, USUAL_TRAVEL[unit]))


class Actuator:
    """What every actuator is: commanded by displacement or by force, and the source of the rows that do it."""

    name: str
    body: Any
    kinds: tuple[tuple[Any, str], tuple[Any, str]] = ((Displacement, "m"), (Force, "N"))
    """The control values that command displacement and force, each with its unit."""

    @property
    def bodies(self) -> tuple[Any, ...]:
        """The bodies that the actuator acts on, each once; `body` where it does not say otherwise."""
        return (self.body,)

    @property
    def limits(self) -> Limits:
        """What the drive may do."""
        raise NotImplementedError

    @property
    def rate_limited(self) -> bool:
        """Whether the limits contain a rate, so that steps must know how much time passes."""
        return self.limits.rate_limited

    def constraint(self, key: int) -> ActuatorRows:
        """The rows of the actuator, the drive first, before its bodies are compiled; `key` identifies the drive's."""
        raise NotImplementedError

    def command(self, value: Any) -> Command:
        """A checked command from a control value."""
        return command(self.name, value, self.limits, displacement=self.kinds[0], force=self.kinds[1])

    def reading(self, values: FloatArray) -> str:
        """What it does, in words: `values` (2,) are δ and λ of its row."""
        shown = [_shown(unit, float(value)) for (_, unit), value in zip(self.kinds, values, strict=True)]
        return "  ".join(shown)

    def control_range(self) -> ControlRange:
        """What a slider may command: its force, as far as it goes."""
        make, unit = self.imposing, self.kinds[1][1]
        return ControlRange(make, unit, *span(self.limits.lower, self.limits.upper, USUAL_FORCE))

    def guides(self) -> list[Fibre]:
        """Fibres that it adds to volumes; none as a rule."""
        return []

    def moving(self, amount: float) -> Any:
        """The control value that asks for a displacement of `amount`, m, m³ or rad."""
        return self.kinds[0][0](amount)

    def imposing(self, amount: float) -> Any:
        """The control value that imposes the force λ = `amount`, N, Pa or N·m."""
        return self.kinds[1][0](amount)


class ActuatorRows(Constraint):
    """The constraint of an actuator: the row `key` of `spec`, and what comes with it."""

    spec: Any
    key: int

    drawn_as: ClassVar[str | None] = None
    """"cable" (it has a `path`) or "chamber" (it has a `surface`) where it is drawn."""

    def couplings(self, body: Any) -> list[IntArray]:
        """Node sets that the stiffness of the row couples: none beyond those of the cells."""
        return []


@dataclass(frozen=True, eq=False)
class DriveRow(ActuatorRows):
    """The row `key` of the actuator `spec` on one body, model `number` of its world."""

    spec: Any
    key: int
    number: int = -1

    stiffens: ClassVar[bool] = False
    """Whether λ of the row adds stiffness to the model (`stiffness`)."""

    @property
    def name(self) -> str:
        """Name of the actuator."""
        return str(self.spec.name)

    @property
    def keys(self) -> IndexArray:
        """Identity of the row."""
        return np.array([self.key])

    @property
    def stiff_keys(self) -> IndexArray:
        """Identity of the row."""
        return self.keys

    @property
    def stiff_models(self) -> tuple[int, ...]:
        """Index of the model, where λ stiffens it."""
        return (self.number,) if self.stiffens else ()

    @property
    def numbers(self) -> tuple[int, ...]:
        """Number of the model."""
        return (self.number,)

    def displacement(self, q: Sequence[FloatArray]) -> float:
        """δ with the models at q."""
        raise NotImplementedError

    def law(self, view: RowView, command: Command) -> tuple[int, float, float, float]:
        """Law, bounds and target of the row for `command`."""
        limits: Limits = self.spec.limits
        start, key = view.start, self.key
        return limits.law(command, view.interval, lambda: self.displacement(start), lambda: view.last_force(key))

    def model_number(self, models: Sequence[Model]) -> int:
        """Number of the actuator's body among `models`."""
        return next(k for k, model in enumerate(models) if model.spec is self.spec.body)
