"""What several tasks need: rigid bodies at other places, and the parameters of a world, imported when they are used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pliant.core.lie import rotation_exp
from pliant.world import State


def placed(state: State, body: Any, place: Sequence[float | None], turn: float) -> State:
    """`state` with a rigid body at `place` (3,), m, where not None, and turned by `turn`, rad, about the vertical."""
    index = state.world.index(body)
    pose = state.q[index].copy()
    for axis, given in enumerate(place):
        if given is not None:
            pose[0, axis] = given
    pose[1:4] = rotation_exp(np.array([0.0, 0.0, turn])) @ pose[1:4]
    return replace(state, q=tuple(pose if k == index else q for k, q in enumerate(state.q)))


def parameters() -> Any:
    """`pl.parameters`."""
    from pliant.gradients import parameters as found

    return found
