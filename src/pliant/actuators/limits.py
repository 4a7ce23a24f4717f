"""What an actuator may do: bounds of its force and of its displacement, and how fast both may change.

It is commanded in one of two ways: by displacement δ (m, m³ or rad) or by force λ (N, Pa or N·m). Rates are per
second: a step of dt seconds changes δ by at most rate × dt, so that a motor is as fast with any dt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from pliant.constraints.rows import RowLaw
from pliant.core.checks import finite_number, positive
from pliant.core.errors import InputError

T = TypeVar("T")


@dataclass(frozen=True)
class Command:
    """One checked command: `by_force` says whether `amount` is λ or δ, in SI units; `for_good` that none can follow."""

    by_force: bool
    amount: float
    for_good: bool = False


@dataclass(frozen=True)
class Limits:
    """Bounds of λ (`lower`, `upper`) and of δ (`least`, `most`), and the largest rate of each, per second."""

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

    def law(
        self, command: Command, interval: float, displacement: Callable[[], float], force: Callable[[], float]
    ) -> tuple[int, float, float, float]:
        """Law, bounds and target of the row for `command` in a step of `interval` (s); δ and λ at the start of the
        step are asked for where they limit it.
        """
        change, force_change = largest_change(self.rate, interval), largest_change(self.force_rate, interval)
        lam = force() if force_change < np.inf else 0.0
        if command.by_force:
            return RowLaw.IMPOSED, -np.inf, np.inf, _near(command.amount, lam, force_change)
        delta = displacement() if change < np.inf else 0.0
        lower = max(self.lower, min(lam - force_change, self.upper))
        upper = min(self.upper, max(lam + force_change, self.lower))
        return RowLaw.BOUNDED, lower, upper, _near(command.amount, delta, change)


def largest_change(rate: float, interval: float) -> float:
    """Largest change in a step of `interval` (s) at `rate` (per second); without bound where no time is known, which
    steppers refuse for what they are given (`refuse_rates`).
    """
    return rate * interval if interval and rate < np.inf else np.inf


def refuse_rates(handles: Iterable[Any]) -> None:
    """An error where one of the `handles` that a step is given limits a rate: the step knows no time."""
    for handle in handles:
        if getattr(handle, "rate_limited", False):
            raise InputError(
                f"{handle.name!r} limits a rate, but no time passes in this step: give the stepper a dt (s), "
                "pl.ImplicitEuler(dt) or pl.QuasiStatic(dt=…), or remove the limit"
            )


def check_rates(spec: Any, *names: str) -> None:
    """Limits of rates must be > 0."""
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
"""Limits that were changes per step, and the rates per second that replaced them."""


def per_second(kind: type[T]) -> type[T]:
    """Class decorator: a limit by its old name, per step, is refused with the conversion."""
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


def command(name: str, value: Any, limits: Limits, *, displacement: tuple[Any, str], force: tuple[Any, str]) -> Command:
    """`value` as a command of one of the two kinds, each a type of control value with its unit, within `limits`."""
    for by_force, (kind, unit), least, most, words in (
        (False, displacement, limits.least, limits.most, ("min_displacement", "max_displacement")),
        (True, force, limits.lower, limits.upper, ("min_force", "max_force")),
    ):
        if isinstance(value, kind):
            amount = finite_number(f"control of {name!r}", value.value, unit=unit)
            for bad, limit, word in ((amount < least, least, words[0]), (amount > most, most, words[1])):
                if bad:
                    raise InputError(f"{name!r} is asked for {amount:g} {unit}, its {word} is {limit:g} {unit}")
            return Command(by_force, amount)
    raise InputError(
        f"{name!r} is controlled by pl.{displacement[0].__name__}({displacement[1]}) or "
        f"pl.{force[0].__name__}({force[1]}), not both; got {value!r}"
    )


def _near(amount: float, before: float, change: float) -> float:
    return min(max(amount, before - change), before + change)
