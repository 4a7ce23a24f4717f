"""A world with some of its parts replaced by smaller ones: again a world, which steps the same way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

from pliant.core.errors import InputError
from pliant.world.world import World


class Reduction(Protocol):
    """What makes models or makers of rows smaller: a `Subspace` of a volume, a basis of contacts."""

    def covers(self, part: Any) -> bool:
        """Whether it reduces this model or maker of rows."""

    def reduced(self, part: Any) -> Any:
        """The smaller one."""


def reduced(world: World, reductions: Sequence[Reduction]) -> World:
    """`world` with every model and maker of rows that one of `reductions` covers replaced by its smaller one.

    States keep their shapes: positions (n, 3), m, of all nodes. Reductions are saved with the world.
    """
    models, makers = list(world.models), list(world.row_makers)
    for reduction in reductions:
        found = False
        for parts in (models, makers):
            for number, part in enumerate(parts):
                if reduction.covers(part):
                    found = True
                    parts[number] = reduction.reduced(part)
        if not found:
            raise InputError(f"{reduction!r} covers nothing in this world; it was made for things of another one")
    return replace(
        world,
        models=tuple(models),
        row_makers=tuple(makers),
        reductions=(*world.reductions, *reductions),
    )
