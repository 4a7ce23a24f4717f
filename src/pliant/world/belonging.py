"""Whether a state belongs to a world: kernels index its arrays without checks, so nothing else may reach them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.core.checks import check_array
from pliant.core.errors import InputError

if TYPE_CHECKING:
    from pliant.world.state import State
    from pliant.world.world import World

_LARGEST = 1e30
"""Largest entry of a state: powers of larger ones are infinite."""
_ORTHOGONAL = 1e-6
"""Largest entry of |R Rᵀ − 1| of the frames of a state: a step keeps them to rounding."""


def check_arrays(state: State) -> None:
    """An error where the arrays of `state` are not those of its world: number, shape, kind, finite values."""
    world = state.world
    for what, given, unit, wanted in (
        ("positions", state.q, "m", world.position_shapes),
        ("velocities", state.v, "m/s", world.velocity_shapes),
    ):
        if len(given) != len(wanted):
            raise InputError(f"a state of {world!r} has {what} of {len(wanted)} bodies, got {len(given)}")
        for array, shape, model in zip(given, wanted, world.models, strict=True):
            check_array(f"{what} of {model.name!r}, {unit},", array, shape)
            if not (np.abs(array) < _LARGEST).all():
                raise InputError(f"{what} of {model.name!r} must be below {_LARGEST:g} {unit}")
            if what == "positions" and model.spec.has_frames:
                _check_frames(model.name, array)
    check_array("multipliers of a state, N,", state.lam, (np.size(state.lam),))
    if state.keys is not None:
        check_array("keys of the multipliers of a state", state.keys, state.lam.shape, np.int64)
    for model, history in zip(world.models if state.histories else (), state.histories, strict=True):
        if history is not None and model.history_shape is None:
            raise InputError(f"{model.name!r} remembers nothing, but the state has a history of it")
        if history is not None and model.history_shape is not None:
            check_array(f"history of {model.name!r}", history, model.history_shape)
    if not np.isfinite(state.time):
        raise InputError(f"time of a state must be finite, got {state.time!r} s")
    if len(state.memories) not in (0, len(world.constraints)):
        raise InputError(
            f"a state of {world!r} has memories of {len(world.constraints)} constraints, got {len(state.memories)}"
        )
    constraints: tuple[Any, ...] = world.constraints
    for constraint, memory in zip(constraints if state.memories else (), state.memories, strict=True):
        if memory is not None:
            constraint.check_memory(memory)


def _check_frames(name: str, q: Any) -> None:
    """An error where frames in the positions `q` of a beam, a rod or a rigid body are no rotations."""
    frames = q[:, 1:] if q.ndim == 3 else q[None, 1:4]
    if np.abs(frames @ frames.transpose(0, 2, 1) - np.eye(3)).max(initial=0.0) > _ORTHOGONAL:
        raise InputError(f"positions of {name!r} must have rotation matrices behind the points, these are none")


@cache
def _state_type() -> type[State]:
    from pliant.world.state import State  # as a module it imports this one

    return State


def check_belongs(state: State, world: World) -> None:
    """An error where `state` is not one of `world`: the same object, or one compiled from an equal scene."""
    if not isinstance(state, _state_type()):
        raise InputError(f"a step starts from a state, such as world.initial_state(), got {type(state).__name__}")
    if state.world is world:
        return
    own, other = world.fingerprint, state.world.fingerprint
    if own is None or own != other:
        raise InputError(
            f"this state belongs to another world, {state.world!r}, not to {world!r}; start from "
            "world.initial_state(), or take its positions and velocities over with world.adopt(state)"
        )
