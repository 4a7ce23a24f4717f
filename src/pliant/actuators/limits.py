"""Limits of an actuator: bounds of its force λ (N, Pa or N·m), of its displacement δ (m, m³ or rad) and of their rates.

It is commanded by displacement or by force. Rates are per second: a step of dt changes δ by at most rate × dt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import wraps
from math import inf, isfinite
from typing import Any, TypeVar

import numpy as np

from pliant.constraints.rows import RowLaw
from pliant.core.checks import finite_number, positive
from pliant.core.errors import InputError
from pliant.core.immutable import filled

T = TypeVar("T")
_IMPOSED, _BOUNDED = int(RowLaw.IMPOSED), int(RowLaw.BOUNDED)


@dataclass(frozen=True)
class Command:
    """A checked command: `amount` is λ (`by_force`) or δ, in SI units; after one `for_good` all others are ignored."""

    by_force: bool
    amount: float
    for_good: bool = False


FREE = Command(by_force=True, amount=0.0)
"""The command of an actuator without a control: it applies no force."""


@dataclass(frozen=True)
class Limits:
    """Bounds of λ (`lower`, `upper`) and of δ (`least`, `most`), and their largest rates, per second."""

    lower: float = -np.inf
    upper: float = np.inf
    least: float = -np.inf
    most: float = np.inf
    force_rate: float = np.inf
    rate: float = np.inf

    @property
    def rate_limited(self) -> bool:
        """Whether a rate is limited."""
        return self.force_rate < np.inf or self.rate < np.inf

    def check_order(self, name: str) -> None:
        """Raise an `InputError` where a lower bound of the actuator `name` lies above the upper one."""
        reached = self.most > -np.inf and self.least < np.inf and self.upper > -np.inf and self.lower < np.inf
        if not (reached and self.upper > self.lower and self.most >= self.least):
            raise InputError(
                f"the limits of {name!r} leave nothing between them: force {self.lower:g} to {self.upper:g}, "
                f"displacement {self.least:g} to {self.most:g}; give each minimum below its maximum"
            )

    def steady_law(self, command: Command) -> tuple[int, float, float, float]:
        """Law, bounds and target for `command` without limits of rates."""
        if command.by_force:
            return _IMPOSED, -inf, inf, command.amount
        return _BOUNDED, self.lower, self.upper, command.amount

    def law(
        self, command: Command, interval: float, displacement: Callable[[], float], force: Callable[[], float]
    ) -> tuple[int, float, float, float]:
        """Law, bounds and target for `command` in `interval` (s); δ and λ at its start matter for rates only."""
        change, force_change = largest_change(self.rate, interval), largest_change(self.force_rate, interval)
        lam = force() if force_change < np.inf else 0.0
        if command.by_force:
            return RowLaw.IMPOSED, -np.inf, np.inf, _near(command.amount, lam, force_change)
        delta = displacement() if change < np.inf else 0.0
        lower = max(self.lower, min(lam - force_change, self.upper))
        upper = min(self.upper, max(lam + force_change, self.lower))
        return RowLaw.BOUNDED, lower, upper, _near(command.amount, delta, change)


def largest_change(rate: float, interval: float) -> float:
    """Largest change in a step of `interval` (s) at `rate` (per second); unbounded without an interval."""
    return rate * interval if interval and rate < np.inf else np.inf


def refuse_rates(handles: Iterable[Any]) -> None:
    """Raise an `InputError` where one of the `handles` of a step without a time interval limits a rate."""
    for handle in handles:
        if getattr(handle, "rate_limited", False):
            raise InputError(
                f"{handle.name!r} limits a rate, but no time passes in this step: give the stepper a dt (s), "
                "pl.ImplicitEuler(dt) or pl.QuasiStatic(dt=…), or remove the limit"
            )


def check_rates(spec: Any, *names: str) -> None:
    """Check that finite rate limits are > 0."""
    for name in names:
        if np.isfinite(getattr(spec, name)):
            positive(f"{name} of {spec.name!r}", getattr(spec, name))


PER_STEP = {
    "max_variation": "max_rate",
    "max_force_variation": "max_force_rate",
    "max_torque_variation": "max_torque_rate",
    "max_pressure_variation": "max_pressure_rate",
    "max_step": "max_speed",
}
"""Former limits per step, and the rates per second that replaced them."""


def per_second(kind: type[T]) -> type[T]:
    """Class decorator: reject a limit by its former name, per step, with the conversion in the error."""
    made = kind.__init__

    @wraps(made)
    def checked(self: Any, *args: Any, **options: Any) -> None:
        for old in options.keys() & PER_STEP.keys():
            new = PER_STEP[old]
            raise InputError(
                f"{old} of a {kind.__name__} was a change per step; limits are rates now: give {new} = {old}/dt, here "
                f"{options[old]!r} over the dt (s) of the stepper"
            )
        made(self, *args, **options)

    kind.__init__ = checked  # type: ignore[method-assign]
    return kind


_NAMES = {"Pa": "pressure", "m³": "growth", "N·m": "torque", "rad": "angle"}
"""What limits are called in the options of an actuator, by unit, where it is neither displacement nor force."""


def _wrapped(value: Any, kind: Any) -> str:
    """The remedy for a bare number."""
    return (
        f": a number alone has no unit, write pl.{kind.__name__}({value!r})" if isinstance(value, (int, float)) else ""
    )


def command(name: str, value: Any, limits: Limits, *, displacement: tuple[Any, str], force: tuple[Any, str]) -> Command:
    """`value` as a command within `limits`; `displacement` and `force` are the accepted types with their units."""
    if isinstance(value, displacement[0]):
        by_force, unit, least, most = False, displacement[1], limits.least, limits.most
    elif isinstance(value, force[0]):
        by_force, unit, least, most = True, force[1], limits.lower, limits.upper
    else:
        raise InputError(
            f"{name!r} is controlled by pl.{displacement[0].__name__}({displacement[1]}) or "
            f"pl.{force[0].__name__}({force[1]}), not both; got {value!r}{_wrapped(value, displacement[0])}"
        )
    amount = value.value
    if type(amount) is not float or not isfinite(amount):
        amount = finite_number(f"control of {name!r}", amount, unit=unit)
    if not least <= amount <= most:
        limit, word = (least, "min") if amount < least else (most, "max")
        what = _NAMES.get(unit, "force" if by_force else "displacement")
        raise InputError(f"{name!r} is asked for {amount:g} {unit}, its {word}_{what} is {limit:g} {unit}")
    return filled(Command, {"by_force": by_force, "amount": amount})


def _near(amount: float, before: float, change: float) -> float:
    return min(max(amount, before - change), before + change)
