"""From a compiled world of one clamped rod to the plain arrays that a card steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pliant.batch.gpu.arrays import LoweredRod, RodNumbers
from pliant.batch.gpu.lowering import each_of, slots_of
from pliant.batch.gpu.lowering_modes import dense_source
from pliant.core.types import FloatArray
from pliant.world import World


def lower_rod(world: World, changed: Sequence[World], *, slots: int) -> LoweredRod:
    """The arrays of `world`, with the numbers of the worlds `changed` of the copies; a rod has no contacts yet."""
    model, kinds = _rod(world), kinds_of(_rod(world))
    sections = model.spec.sections
    return LoweredRod(
        start=model.start[4:].reshape(sections, 6),
        rest=model.rest[4:].reshape(sections, 6),
        base=model.start[1:4],
        free=~model.constrained[2:].reshape(sections, 6)[:, :kinds],
        fraction=_placed(model.stations, model.stations.fraction),
        numbers=numbers_of_rod(world, changed),
        source=dense_source(kinds * sections),
        slots=np.array(slots_of(world, 0)),
    )


def numbers_of_rod(world: World, changed: Sequence[World]) -> RodNumbers:
    """The numbers of the worlds `changed` of copies of `world`."""
    model, each = _rod(world), each_of(world, changed)
    sections, kinds, stations = model.spec.sections, kinds_of(model), model.stations
    return RodNumbers(
        stiffness=each(lambda one: _rod(one).stiffness.reshape(sections, 6)[:, :kinds]),
        mu=each(lambda one: _placed(stations, _rod(one).stations.mu)),
        forces=each(lambda one: _placed(stations, _rod(one).no_loads[0])),
        damping=each(lambda one: [_rod(one).spec.damping.mass, _rod(one).spec.damping.stiffness]),
        gravity=each(lambda one: one.gravity),
    )


def _placed(stations: Any, values: FloatArray) -> FloatArray:
    """Values of the stations by section (N, m, …); a section with fewer has some without mass."""
    counts = np.diff(stations.first)
    places = np.arange(counts.max()) < counts[:, None]
    made = np.zeros((*places.shape, *values.shape[1:]))
    made[places] = values
    return made


def kinds_of(model: Any) -> int:
    """How many strains of each section of a rod are unknowns: the first three where none stretches or shears."""
    return 3 if model.constrained[3::2].all() else 6


def _rod(world: World) -> Any:
    return world.models[0]
