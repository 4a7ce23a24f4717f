"""Obstacles that a user drags while a world is simulated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from pliant.collision import Plane, Tubes
from pliant.core.types import FloatArray
from pliant.models.rigid import Obstacle, Waypoints
from pliant.viewer.shapes import shape_triangles
from pliant.world import World
from pliant.world.scene import Scene


class DraggedMotion:
    """The motion of a dragged obstacle: displacements (3,) m from its initial position, linear in time between."""

    def __init__(self) -> None:
        self._times: list[float] = [0.0]
        self._displacements: list[FloatArray] = [np.zeros(3)]

    @property
    def displacement(self) -> FloatArray:
        """The last displacement, (3,) m."""
        return self._displacements[-1]

    @property
    def moved(self) -> bool:
        """Whether it was ever dragged."""
        return len(self._times) > 1

    def __call__(self, time: float) -> tuple[FloatArray, FloatArray]:
        """Displacement (3,) m and rotation vector (3,) rad at `time` (s)."""
        if time >= self._times[-1] or len(self._times) == 1:
            return self._displacements[-1], np.zeros(3)
        last = slice(-2, None) if time >= self._times[-2] else slice(None)  # older times are seldom asked for
        return Waypoints(np.array(self._times[last]), np.array(self._displacements[last]))(time)

    def move(self, begin: float, end: float, displacement: FloatArray) -> None:
        """Rest until `begin` (s), then move to `displacement` (3,) m by `end` (s); replaces motions after `begin`."""
        while self._times[-1] > begin and len(self._times) > 1:
            self._times.pop()
            self._displacements.pop()
        if np.array_equal(displacement, self._displacements[-1]):
            return
        if begin > self._times[-1]:
            self._times.append(begin)
            self._displacements.append(self._displacements[-1])
        self._times.append(end)
        self._displacements.append(displacement.copy())

    def reset(self) -> None:
        """Back to the initial position, at time 0."""
        self.__init__()  # type: ignore[misc]

    def recorded(self) -> Waypoints:
        """The same motion in a form that can be saved."""
        return Waypoints(np.array(self._times), np.array(self._displacements))


def draggable(obstacle: Obstacle) -> bool:
    """Whether a user may drag an obstacle: it is fixed, and neither a half-space nor the inside of tubes."""
    return obstacle.motion is None and not isinstance(obstacle.shape.solid, (Plane, Tubes))


def center_of(obstacle: Obstacle) -> FloatArray:
    """Middle of an obstacle, (3,) m."""
    listed = shape_triangles(obstacle.shape, half_width=0.0)
    assert listed is not None
    return np.asarray(0.5 * (listed[0].min(axis=0) + listed[0].max(axis=0)))


def with_motions(world: World, motions: Mapping[int, Any]) -> World:
    """`world` with other motions of obstacles, by index; bodies, actuators and loads are the same objects."""
    if not motions:
        return world
    old = world.obstacles
    new = {id(old[k]): replace(old[k], motion=motion) for k, motion in motions.items()}
    things = [(new.get(id(thing), thing), placed) for thing, placed in world.source.things]
    pairs = [replace(p, a=new.get(id(p.a), p.a), b=new.get(id(p.b), p.b)) for p in world.source.pairs]
    return Scene.of(world.gravity, things, pairs).compile()
