"""From a compiled world of a reduced volume to the plain arrays that a card steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pliant.batch.gpu.arrays import LoweredModes, ModalCables, ModalNumbers, Modes
from pliant.batch.gpu.limits import cables_of, pairs_of
from pliant.batch.gpu.lowering import (
    WIDTH,
    each_of,
    force_limits,
    segments_of,
    slots_of,
    source_of,
)
from pliant.batch.gpu.lowering_chambers import chambers_in_modes
from pliant.batch.gpu.lowering_contacts import contacts_of, rounds_in_modes
from pliant.core.types import FloatArray, IntArray
from pliant.materials import Part
from pliant.materials.laws import LINEAR
from pliant.reduced.chart import modal_mass
from pliant.reduced.strain_modes import StrainModes
from pliant.world import World


def lower_modes(world: World, changed: Sequence[World], *, slots: int) -> LoweredModes:
    """The arrays of `world`, with the numbers of the worlds `changed` of the copies, in the modes of `world`."""
    model: Any = world.models[0]
    moved = _motions(world)
    source, cables = dense_source(moved.shape[-1]), cables_of(world)
    contacts = contacts_of(world, np.arange(len(model.rest)), 1, WIDTH)
    slopes, owners = segments_of(cables, len(model.rest))
    return LoweredModes(
        modes=_modes(world, moved[contacts.node]),
        cables=ModalCables(np.einsum("sn,nik->sik", slopes, moved), slopes @ model.rest, owners),
        contacts=contacts._replace(columns=np.arange(len(source), dtype=np.int32)),
        numbers=_numbers_of(world, changed, moved),
        source=source,
        slots=np.array(slots_of(world, slots)),
        chambers=chambers_in_modes(world, moved),
        rounds=rounds_in_modes(world, moved),
    )


def dense_source(count: int) -> IntArray:
    """The source of the blocks of a dense matrix of `count` unknowns."""
    columns = -(-count // WIDTH)
    size = (2 * columns - 1) * WIDTH
    dense = np.full((size, size), count * count, np.int32)  # the zero
    dense[:count, :count] = np.arange(count * count).reshape(count, count)
    spare = np.arange(count, columns * WIDTH)
    dense[spare, spare] = count * count + 1
    return source_of(dense, columns, columns - 1)


def _modes(world: World, points: FloatArray) -> Modes:
    model: Any = world.models[0]
    own: StrainModes = model.strain
    every = StrainModes.of(model.points, model.chart.modes, model.laws, model.table)
    return Modes(
        B=own.B,
        weight=own.weight,
        material=np.asarray(own.material),
        shear=own.part != int(Part.VOLUME),
        bulk=own.part != int(Part.SHEAR),
        linear=np.asarray(model.laws) == LINEAR,
        every=every.B,
        points=points,
    )


def _motions(world: World) -> FloatArray:
    """Motions (n, 3, k) of the nodes in each mode."""
    model: Any = world.models[0]
    return np.asarray(model.chart.modes.reshape(len(model.rest), 3, -1))


def numbers_of_modes(world: World, changed: Sequence[World]) -> ModalNumbers:
    """The numbers of the worlds `changed` of copies of `world`."""
    return _numbers_of(world, changed, _motions(world))


def _numbers_of(world: World, changed: Sequence[World], moved: FloatArray) -> ModalNumbers:
    flat = moved.reshape(-1, moved.shape[-1])
    each = each_of(world, changed)

    def volume(one: World) -> Any:
        return one.models[0]

    def loads(one: World) -> FloatArray:
        model = volume(one)
        return np.asarray(flat.T @ model.external_forces(model.rest, np.zeros(3), {}).ravel())

    return ModalNumbers(
        mu=each(lambda one: volume(one).table[:, 0]),
        lam=each(lambda one: volume(one).table[:, 1]),
        mass=each(lambda one: modal_mass(flat, volume(one).mass)),
        damping=each(lambda one: [volume(one).spec.damping.mass, volume(one).spec.damping.stiffness]),
        friction=each(lambda one: [c.mu for c in pairs_of(one)]),
        gravity=each(lambda one: one.gravity),
        weighed=each(lambda one: np.einsum("n,nik->ik", volume(one).mass.nodal, moved)),
        loads=each(loads),
        lower=each(lambda one: force_limits(one, "lower")),
        upper=each(lambda one: force_limits(one, "upper")),
    )
