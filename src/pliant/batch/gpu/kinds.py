"""The kinds of body that a card steps, one line each: what it cannot step of them, their arrays, unknowns and step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from pliant.batch.gpu import rod, step
from pliant.batch.gpu.coordinates import Coordinates, OfModes, OfNodes, OfStrains
from pliant.batch.gpu.limits import check_modes, check_nodes, check_rod, refuse
from pliant.batch.gpu.lowering import lower_nodes, numbers_of_nodes, order_of
from pliant.batch.gpu.lowering_modes import lower_modes, numbers_of_modes
from pliant.batch.gpu.lowering_rod import kinds_of, lower_rod, numbers_of_rod
from pliant.models.rod import RodModel
from pliant.models.volume.model import VolumeModel
from pliant.reduced.subspace_model import SubspaceModel
from pliant.world import World


class Kind(NamedTuple):
    """`check` raises an error that names what a card cannot step of a world of one such body; `numbers` are those of
    its arrays in which copies may differ.
    """

    check: Callable[[World], None]
    lower: Callable[..., Any]
    numbers: Callable[[World, Sequence[World]], Any]
    coordinates: Callable[[World], Coordinates]
    step: Callable[..., Any]


_KINDS: dict[type, Kind] = {
    VolumeModel: Kind(
        check_nodes, lower_nodes, numbers_of_nodes, lambda world: OfNodes(_body(world).rest, order_of(world)), step.step
    ),
    SubspaceModel: Kind(
        check_modes, lower_modes, numbers_of_modes, lambda world: OfModes(_body(world).chart), step.step
    ),
    RodModel: Kind(
        check_rod, lower_rod, numbers_of_rod, lambda world: OfStrains(_body(world).start, kinds_of(_body(world))),
        rod.step,
    ),
}  # fmt: skip


def kind_of(world: World) -> Kind:
    """That of the one body of a world that a card can step; an `InputError` names what it cannot."""
    found = _KINDS.get(type(world.models[0])) if len(world.models) == 1 else None
    if found is None:
        kinds = ", ".join(repr(str(model.name)) for model in world.models)
        refuse(
            f"the bodies {kinds}", "it steps one pl.Volume with cables, chambers and obstacles, or one clamped pl.Rod"
        )
    if world.timed_loads:
        refuse(f"the loads over time of {str(_body(world).name)!r}", "leave them out")
    found.check(world)
    return found


def lower(world: World, changed: Sequence[World], *, slots: int) -> Any:
    """The arrays of `world`, with the numbers of the worlds `changed` of the copies and `slots` of contacts."""
    return kind_of(world).lower(world, changed, slots=slots)


def _body(world: World) -> Any:
    return world.models[0]
