"""What a drive may do: bounds of its force and of its displacement, and how fast both may change.

A drive is commanded in one of two ways: by displacement δ (m, m³ or rad) or by force λ (N, Pa or N·m).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.constraints.rows import RowLaw
from pliant.core.checks import finite_number
from pliant.core.errors import InputError


@dataclass(frozen=True)
class Command:
    """One checked command: `by_force` says whether `amount` is λ or δ, in SI units; `for_good` that none can follow."""

    by_force: bool
    amount: float
    for_good: bool = False


@dataclass(frozen=True)
class Limits:
    """Bounds of λ (`lower`, `upper`) and of δ (`least`, `most`), and the largest change of each in a step."""

    lower: float = -np.inf
    upper: float = np.inf
    least: float = -np.inf
    most: float = np.inf
    force_change: float = np.inf
    change: float = np.inf

    def law(
        self, command: Command, displacement: Callable[[], float], force: Callable[[], float]
    ) -> tuple[int, float, float, float]:
        """Law, bounds and target of the row for `command`; δ and λ at the start of the step are asked for where they
        limit it.
        """
        lam = force() if self.force_change < np.inf else 0.0
        if command.by_force:
            return RowLaw.IMPOSED, -np.inf, np.inf, _near(command.amount, lam, self.force_change)
        delta = displacement() if self.change < np.inf else 0.0
        lower = max(self.lower, min(lam - self.force_change, self.upper))
        upper = min(self.upper, max(lam + self.force_change, self.lower))
        return RowLaw.BOUNDED, lower, upper, _near(command.amount, delta, self.change)


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
