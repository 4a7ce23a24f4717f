"""Values of the parameters of a design in a world, and the world and the start with other ones."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pliant.core.errors import InputError
from pliant.core.immutable import evolve
from pliant.core.types import BoolArray, FloatArray
from pliant.gradients.parameters import InitialVelocities, Parameter
from pliant.world import State, World
from pliant.world.changed import Number, changed


def present_values(world: World, parameter: Parameter) -> FloatArray:
    """The values that `parameter` has in `world`, in its own unit and shape."""
    if isinstance(parameter, InitialVelocities):
        index = world.index(parameter.body)
        return np.array(world.initial_state().v[index], np.float64).reshape(world.velocity_shapes[index])
    if not isinstance(parameter, Number):
        raise InputError(
            f"pl.variables.Design takes numbers of a world and initial velocities, not {parameter!r:.60}; what acts "
            "over time is a pl.variables.Command"
        )
    return np.array(parameter.value(world), np.float64)


def movable(world: World, parameter: Parameter, shape: tuple[int, ...]) -> BoolArray:
    """Which entries have an effect at all: not those of clamped nodes."""
    if isinstance(parameter, InitialVelocities):
        return np.asarray(~world.models[world.index(parameter.body)].constrained.reshape(shape))
    return np.ones(shape, bool)


def with_values(
    world: World, start: State | None, values: Mapping[Parameter, FloatArray]
) -> tuple[World, State]:  # fmt: skip
    """The world with other values of parameters, and the first state of its run: `start`, or its initial state."""
    numbers = {each: value for each, value in values.items() if isinstance(each, Number)}
    made = changed(world, numbers) if numbers else world
    if start is None:
        state = made.initial_state()
    else:
        state = start if made is world else made.adopt(start)
    velocities = {each.body: value for each, value in values.items() if isinstance(each, InitialVelocities)}
    if velocities:
        v = list(state.v)
        for body, value in velocities.items():
            index = made.index(body)
            v[index] = value.reshape(v[index].shape)
        state = evolve(state, v=tuple(v))
    return made, state
