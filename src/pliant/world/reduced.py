"""A world with some models or constraints replaced by reduced ones; it is stepped as any other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from pliant.core.declared import declared
from pliant.core.errors import InputError
from pliant.world.world import World


class Reduction(Protocol):
    """Replaces models or constraints by reduced ones: a `Subspace` of a volume, a basis of contacts."""

    def covers(self, part: Any) -> bool:
        """Whether it reduces this model or constraint."""

    def reduced(self, part: Any) -> Any:
        """The reduced model or constraint."""


@dataclass(frozen=True)
class Training:
    """The actuation `plan` by which a world was reduced, as JSON: stored with the world, without effect on it."""

    plan: str

    def covers(self, part: Any) -> bool:
        """False."""
        return False

    def reduced(self, part: Any) -> Any:
        """`part` itself."""
        return part


@declared
def reduced(world: World, reductions: Sequence[Reduction]) -> World:
    """`world` with every model and constraint that one of `reductions` covers replaced by its reduced one.

    States keep their shapes: positions (n, 3), m, of all nodes. Reductions are saved with the world.
    """
    models, constraints = list(world.models), list(world.constraints)
    for reduction in reductions:
        found = False
        for parts in (models, constraints):
            for index, part in enumerate(parts):
                if reduction.covers(part):
                    found = True
                    parts[index] = reduction.reduced(part)
        if not found and not isinstance(reduction, Training):
            raise InputError(f"{reduction!r} covers no model or constraint of this world: it is for another one")
    applied = (*world.reductions, *reductions)
    return replace(world, models=tuple(models), constraints=tuple(constraints), reductions=applied)
