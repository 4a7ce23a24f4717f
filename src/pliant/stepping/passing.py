"""Whether bodies have passed through each other in a quasi-static solve, by the states that its load path goes through.

Within an increment bodies are taken to move straight, rigid ones at a constant rate of rotation. Where they do not
cross on this path, they are on the side of each other on which they began.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from pliant.constraints import RowView
from pliant.constraints.continuous import passes
from pliant.core.immutable import evolve
from pliant.core.lie import rotation_log
from pliant.core.types import FloatArray
from pliant.stepping.stages import Step

Waypoint = tuple[float, Sequence[FloatArray]]
"""Time, s, and positions or poses of all models in an equilibrium on the load path."""

_PASSED = (
    "{pair} crossed on the straight motion from one equilibrium of the load path to the next and may have passed "
    "through each other: go there in several calls, with smaller changes of the commands, or take a wider margin in "
    "scene.collide"
)


def increments(step: Step, passed: Sequence[Waypoint]) -> list[RowView]:
    """What constraints see of each increment between the equilibria `passed`, and of the last one, which ends at
    `step`.
    """
    last = step.bodies.view()
    begin: Waypoint = (step.bodies.start.time, step.bodies.start.q)
    return [*(_between(last, one, other) for one, other in pairwise([*passed, begin])), last]


_OF_A_FRAME = 6
"""Unknowns of a rigid body: a volume of four nodes has positions of the same shape."""


def crosses(step: Step) -> bool:
    """Whether bodies cross on the straight motion from the start of a quasi-static `step` to its end."""
    pairs: list[Any] = [each for each in step.world.constraints if each.is_contact]
    view = step.bodies.view() if pairs else None
    return view is not None and any(passes(pair, [view]) for pair in pairs)


def passing_warnings(step: Step, passed: Sequence[Waypoint]) -> tuple[str, ...]:
    """A warning for each pair whose sides cross on the way through the equilibria `passed` to the end of `step`."""
    pairs: list[Any] = [each for each in step.world.constraints if each.is_contact]
    if not pairs or step.bodies.scheme.dt:
        return ()
    views = increments(step, passed)
    return tuple(_PASSED.format(pair=pair.name) for pair in pairs if passes(pair, views))


def _between(view: RowView, begin: Waypoint, end: Waypoint) -> RowView:
    """`view` of the motion from `begin` to `end`."""
    (start_time, start), (time, q) = begin, end
    rigid = [x.shape == (4, 3) and size == _OF_A_FRAME for x, size in zip(start, view.sizes, strict=True)]
    moved = [_motion(a, b) if turns else b - a for a, b, turns in zip(start, q, rigid, strict=True)]
    return evolve(view, start=start, q=q, moved=moved, time=time, interval=time - start_time)


def _motion(start: FloatArray, end: FloatArray) -> FloatArray:
    """Translation (m) and rotation vector, (2, 3), from one pose (4, 3) to another."""
    return np.array([end[0] - start[0], rotation_log(end[1:] @ start[1:].T)])
