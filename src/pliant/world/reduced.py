"""A world with some of its parts replaced by smaller ones: again a world, which steps the same way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from pliant.core.errors import InputError
from pliant.world.world import World


class Reduction(Protocol):
    """What makes models or constraints smaller: a `Subspace` of a volume, a basis of contacts."""

    def covers(self, part: Any) -> bool:
        """Whether it reduces this model or constraint."""

    def reduced(self, part: Any) -> Any:
        """The smaller one."""


@dataclass(frozen=True)
class Training:
    """What a reduced world was made from: the actuation `plan` of the experiments, as JSON. It reduces nothing."""

    plan: str

    def covers(self, part: Any) -> bool:
        """False."""
        return False

    def reduced(self, part: Any) -> Any:
        """The same."""
        return part


def reduced(world: World, reductions: Sequence[Reduction]) -> World:
    """`world` with every model and constraint that one of `reductions` covers replaced by its smaller one.

    States keep their shapes: positions (n, 3), m, of all nodes. Reductions are saved with the world.
    """
    models, constraints = list(world.models), list(world.constraints)
    for reduction in reductions:
        found = False
        for parts in (models, constraints):
            for number, part in enumerate(parts):
                if reduction.covers(part):
                    found = True
                    parts[number] = reduction.reduced(part)
        if not found and not isinstance(reduction, Training):
            raise InputError(f"{reduction!r} covers nothing in this world; it was made for things of another one")
    return replace(
        world,
        models=tuple(models),
        constraints=tuple(constraints),
        reductions=(*world.reductions, *reductions),
    )
