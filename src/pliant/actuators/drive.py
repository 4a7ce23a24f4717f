"""Actuators: what is added to a scene (`Actuator`), and the constraint it becomes in a world (`DriveRow`).

A new actuator subclasses both: `Actuator` gives limits and commands, `DriveRow` δ and its gradient. All steppers, the
inverse, runs and the viewer then handle it (`docs/extending.md`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from pliant.actuators.limits import FREE, Command, Limits, check_rates, command
from pliant.actuators.values import Displacement, Force
from pliant.constraints.rows import Constraint, Rows, RowView, model_index
from pliant.core.declared import check_declared
from pliant.core.errors import InputError
from pliant.core.types import FloatArray, IndexArray, IntArray
from pliant.models.body import Model
from pliant.models.volume import Fibre

UNBOUND: Any = None
"""Default of the fields that `bound` fills: rows are evaluated only once they are bound to models."""
USUAL_FORCE = 5.0
"""Slider range of a force without bounds, N: what small soft robots take."""
USUAL_TRAVEL = {"m": 0.04, "rad": 1.5}
"""Slider range of a displacement without bounds, by its unit: 4 cm bend a hand-sized robot, 1.5 rad are 86°."""
USUAL_SHORTENING = 0.25
"""Slider range of a cable without bounds over its length: more bends most arms back on themselves."""
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
    """Bounds, `usual` ones where there are none, and the value between them closest to 0."""
    low, high = low if np.isfinite(low) else -usual, high if np.isfinite(high) else usual
    return low, high, min(max(0.0, low), high)


@dataclass(frozen=True, eq=False)
class ControlRange:
    """The range of a slider, `low` to `high` from `start`, in `unit`; `make` turns a number into a control value.

    `missing` names the limits that the actuator was not given, where the range is a usual one; else it is empty.
    """

    make: Callable[[float], Any]
    unit: str
    low: float
    high: float
    start: float
    missing: str = ""

    @classmethod
    def of_travel(cls, actuator: Any) -> ControlRange:
        """The displacement or angle of `actuator` between its limits; its force where only that is limited."""
        limits = actuator.limits
        if not np.isfinite([limits.least, limits.most]).any() and np.isfinite([limits.lower, limits.upper]).all():
            return cls.of_force(actuator)
        unit = actuator.kinds[0][1]
        kind = "angle" if unit == "rad" else "displacement"
        missing = _missing(limits.least, limits.most, kind)
        return cls(actuator.moving, unit, *span(limits.least, limits.most, USUAL_TRAVEL[unit]), missing)

    @classmethod
    def of_force(cls, actuator: Any) -> ControlRange:
        """The force or torque of `actuator` between its limits."""
        unit, limits = actuator.kinds[1][1], actuator.limits
        missing = _missing(limits.lower, limits.upper, "torque" if unit == "N·m" else "force")
        return cls(actuator.imposing, unit, *span(limits.lower, limits.upper, USUAL_FORCE), missing)


def _missing(low: float, high: float, kind: str) -> str:
    """Names of the limits of `kind` that are not finite."""
    names = [name for name, bound in ((f"min_{kind}", low), (f"max_{kind}", high)) if not np.isfinite(bound)]
    return ", ".join(names)


class Actuator:
    """An actuator, commanded by displacement δ or by force λ."""

    name: str
    body: Any
    kinds: tuple[tuple[Any, str], tuple[Any, str]] = ((Displacement, "m"), (Force, "N"))
    """The control values that command displacement and force, each with its unit."""

    @property
    def bodies(self) -> tuple[Any, ...]:
        """The bodies that the actuator acts on, each once; `body` by default."""
        return (self.body,)

    @property
    def limits(self) -> Limits:
        """Bounds of δ and λ and of their rates."""
        raise NotImplementedError

    @property
    def rate_limited(self) -> bool:
        """Whether a rate is limited, so that a step needs a time interval."""
        return self.limits.rate_limited

    def constraint(self, key: int) -> ActuatorRows:
        """Its constraint, not yet bound to models; `key` identifies the actuated row, which is the first."""
        raise NotImplementedError

    def command(self, value: Any) -> Command:
        """A checked command from a control value."""
        return command(self.name, value, self.limits, displacement=self.kinds[0], force=self.kinds[1])

    def reading(self, values: FloatArray) -> str:
        """δ and λ of its row, `values` (2,), as text."""
        return "  ".join(_shown(unit, float(value)) for (_, unit), value in zip(self.kinds, values, strict=True))

    def control_range(self) -> ControlRange:
        """The range of a slider: the force between its limits."""
        return ControlRange.of_force(self)

    def slider_amount(self, displacement: float, force: float) -> float:
        """The quantity of its slider, of the δ and λ of a step: whichever of them `control_range` commands."""
        return displacement if self.control_range().unit == self.kinds[0][1] else force

    def guides(self) -> list[Fibre]:
        """Fibres that it adds to volumes; none by default."""
        return []

    def moving(self, amount: float) -> Any:
        """The control value of a displacement δ = `amount`, m, m³ or rad."""
        return self.kinds[0][0](amount)

    def imposing(self, amount: float) -> Any:
        """The control value of a force λ = `amount`, N, Pa or N·m."""
        return self.kinds[1][0](amount)


@dataclass(frozen=True, eq=False)
class ForceActuator(Actuator):
    """An actuator with limits in N and m (N·m and rad), all keyword-only."""

    _: KW_ONLY
    min_force: float = -np.inf
    max_force: float = np.inf
    max_displacement: float = np.inf
    max_rate: float = np.inf
    max_force_rate: float = np.inf

    def __post_init__(self) -> None:
        check_declared(self)
        check_rates(self, "max_rate", "max_force_rate")
        if not self.max_force > self.min_force:
            raise InputError(f"max_force of {self.name!r} is {self.max_force:g} N, but min_force {self.min_force:g} N")

    @cached_property
    def limits(self) -> Limits:
        """Bounds of δ and λ and of their rates."""
        rates = {"force_rate": self.max_force_rate, "rate": self.max_rate}
        return Limits(self.min_force, self.max_force, most=self.max_displacement, **rates)


@dataclass(frozen=True, eq=False)
class TwoWayActuator(ForceActuator):
    """A `ForceActuator` whose displacement is bounded on both sides."""

    _: KW_ONLY
    min_displacement: float = -np.inf

    def __post_init__(self) -> None:
        check_declared(self)
        check_rates(self, "max_rate", "max_force_rate")
        self.limits.check_order(self.name)

    @cached_property
    def limits(self) -> Limits:
        """Bounds of δ and λ and of their rates."""
        return replace(super().limits, least=self.min_displacement)

    def control_range(self) -> ControlRange:
        """Its displacement or angle between its limits."""
        return ControlRange.of_travel(self)


class ActuatorRows(Constraint):
    """The constraint of the actuator `spec`; `key` identifies its actuated row."""

    spec: Any
    key: int

    drawn_as: ClassVar[str | None] = None
    """"cable" (it has a `path`) or "chamber" (it has a `surface`) where it is drawn."""

    def displacement(self, q: Sequence[FloatArray]) -> float:
        """δ of the actuated row with the models at q."""
        raise NotImplementedError

    def law(self, view: RowView, idle: Command = FREE, start: float | None = None) -> tuple[int, float, float, float]:
        """Law, bounds and target of the actuated row under its command in `view`, `idle` without one.

        `start` is δ at the start of the step where `displacement` cannot tell it.
        """
        return self.law_of(view.controls.get(self.handle, idle), view, start)

    def law_of(self, given: Command, view: RowView, start: float | None = None) -> tuple[int, float, float, float]:
        """`law` under the command `given`."""
        limits: Limits = self.spec.limits
        if not limits.rate_limited:
            return limits.steady_law(given)
        return limits.law(
            given,
            view.interval,
            lambda: self.displacement(view.start) if start is None else start,
            lambda: view.last_force(self.key),
        )

    def rates(self, view: RowView, rows: Rows, memory: Any) -> FloatArray:
        """The mean rate of δ of the actuated row over the step, which a command prescribes; zero for the others."""
        rates = np.zeros(rows.count)
        rates[0] = sum(float((h[0] @ np.ravel(x))[0]) for h, x in zip(rows.H, view.moved, strict=True)) / view.dt
        return rates

    def couplings(self, body: Any) -> list[IntArray]:
        """Node sets that the stiffness of the rows couples beyond those of the cells; none by default."""
        return []


@dataclass(frozen=True, eq=False)
class DriveRow(ActuatorRows):
    """The single row of an actuator on one body, model `index` of its world."""

    spec: Any
    key: int
    index: int = -1

    stiffens: ClassVar[bool] = False
    """Whether λ of the row adds stiffness to the model (`stiffness`)."""

    @property
    def stiff_keys(self) -> IndexArray:
        """Identity of the row."""
        return np.array([self.key])

    @property
    def stiff_models(self) -> tuple[int, ...]:
        """Index of the model, where λ stiffens it."""
        return (self.index,) if self.stiffens else ()

    def row(self, view: RowView, gap: float, gradient: sparse.csr_matrix, start: float | None = None) -> Rows:
        """The row with δ = `gap` and H = `gradient` (1, unknowns) under its command in `view`."""
        H = view.blank(1)
        H[self.index] = gradient
        return Rows.drive(H, gap, self.law(view, start=start), self.key)

    def model_index(self, models: Sequence[Model]) -> int:
        """Index of the actuator's body among `models`."""
        return model_index(models, self.spec.body)
