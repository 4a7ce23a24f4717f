"""The tip of a world: the point that the inverse positions and the panel reads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from pliant.actuators import Actuator, ActuatorRows
from pliant.control import Effector
from pliant.core.errors import PliantError
from pliant.core.types import FloatArray
from pliant.robots import Marker
from pliant.world import State, World

_END = 0.02
"""Nodes of the end of a body: those of the last 2 % of its length."""


def tip_position(tip: Marker | Effector | None, world: World) -> Callable[[State], FloatArray | None]:
    """What gives the position (3,) m of a `tip` in a state of `world`: a marker, or the mean point of an effector."""
    if tip is None:
        return lambda state: None
    if isinstance(tip, Marker):
        return tip.at
    measure = replace(tip, barycentre=True, directions=None).bound(world).measure
    return lambda state: np.asarray(measure.error(state.q, np.zeros(3)))


def world_actuators(world: World) -> tuple[Any, ...]:
    """The actuators of a world."""
    return tuple(m.handle for m in world.constraints if isinstance(m, ActuatorRows) and isinstance(m.spec, Actuator))


def inferred_tip(world: World) -> tuple[Marker | None, tuple[Any, ...]]:
    """A marker in the middle of the end of the first actuated body, away from its constrained nodes; and the actuators.

    (None, ()) where no actuated volume is constrained.
    """
    actuators = world_actuators(world)
    for actuator in actuators:
        for body in actuator.bodies:
            model = world.models[world.index(body)]
            constrained = getattr(model, "constrained", None)
            if getattr(body, "mesh", None) is None or constrained is None or not np.any(constrained):
                continue
            rest = body.mesh.points
            return _end_marker(body, rest[np.asarray(constrained).reshape(len(rest), -1).any(axis=1)]), actuators
    return None, ()


def _end_marker(body: Any, fixed: FloatArray) -> Marker:
    """The middle of the end of `body` away from its `fixed` nodes (k, 3) m, or the node nearest to it."""
    rest = body.mesh.points
    base = fixed.mean(axis=0)
    axis = rest.mean(axis=0) - base
    length = float(np.linalg.norm(axis))
    size = float(np.linalg.norm(np.ptp(rest, axis=0)))
    # a body that is fixed all around has no end: then its middle moves most
    along = (rest - base) @ axis / length if length > 1e-3 * size else -np.linalg.norm(rest - base, axis=1)
    end = rest[along >= along.max() - _END * np.ptp(along)]
    middle = end.mean(axis=0)
    try:
        return Marker(body, middle)
    except PliantError:  # the end is hollow: a point outside the cells does not move with them
        return Marker(body, end[int(np.argmin(np.linalg.norm(end - middle, axis=1)))])
