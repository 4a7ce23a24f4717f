"""Where the factors of a step come from: each matrix is factorized, or what `pl.LaggedFactors` hands out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pliant.core.types import FloatArray
from pliant.models.model import Factor, System
from pliant.world import State


@dataclass(frozen=True)
class FactorUse:
    """Which factors the linear solves of a step used.

    `age` is the largest age of a factor, in linear solves; `iterations` counts those of conjugate gradients; `awaited`
    the matrices whose own factor was waited for because W had many rows, `redone` those whose own factor was needed
    because the iteration did not reach its tolerance.
    """

    age: int = 0
    iterations: int = 0
    awaited: int = 0
    redone: int = 0


class FactorSource(Protocol):
    """Gives factors to the linear solves of one step."""

    @property
    def use(self) -> FactorUse:
        """What was used so far."""

    def factorize(self, systems: Sequence[System], shapes: Sequence[FloatArray]) -> list[Factor]:
        """A factor of every system, taken at the given shape q of its model; a `SingularError` where there is none."""

    def release(self, systems: Sequence[System], factors: Sequence[Factor]) -> None:
        """Take back the memory of systems and factors after a linear solve."""

    def end(self, advanced: State) -> None:
        """The step is done and has led to `advanced`."""


class ExactFactors:
    """Every matrix is factorized."""

    use = FactorUse()

    def factorize(self, systems: Sequence[System], shapes: Sequence[FloatArray]) -> list[Factor]:
        """The numeric factor of every system."""
        return [system.factorize() for system in systems]

    def release(self, systems: Sequence[System], factors: Sequence[Factor]) -> None:
        """Hand memory back to the models."""
        for system, factor in zip(systems, factors, strict=True):
            system.release(factor)

    def end(self, advanced: State) -> None:
        """Nothing to remember."""
