"""Obstacles that are dragged while a world runs, and worlds built again with other materials and friction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import fields, replace
from typing import Any

import numpy as np

from pliant.collision import Plane, Tubes
from pliant.core.errors import InputError
from pliant.core.types import FloatArray
from pliant.materials import Material
from pliant.models.rigid import Obstacle, Waypoints
from pliant.models.volume import Volume
from pliant.viewer.shapes import shape_triangles
from pliant.world import World
from pliant.world.scene import Scene
from pliant.world.world import Pair

MODULI = ("young", "c1", "c2", "c3", "m", "bulk")
"""Fields of materials that are stiffnesses, Pa."""


class Dragged:
    """The motion of an obstacle that a person drags: where it was at each time, (3,) m from where it stood."""

    def __init__(self) -> None:
        self._times: list[float] = [0.0]
        self._displacements: list[FloatArray] = [np.zeros(3)]

    @property
    def displacement(self) -> FloatArray:
        """Where it is now, (3,) m from where it stood."""
        return self._displacements[-1]

    @property
    def moved(self) -> bool:
        """Whether it was ever dragged."""
        return len(self._times) > 1

    def __call__(self, time: float) -> tuple[FloatArray, FloatArray]:
        """Displacement (3,) m and rotation vector (3,) rad at `time` (s)."""
        if time >= self._times[-1] or len(self._times) == 1:
            return self._displacements[-1], np.zeros(3)
        last = slice(-2, None) if time >= self._times[-2] else slice(None)  # the whole way is seldom asked for
        return Waypoints(np.array(self._times[last]), np.array(self._displacements[last]))(time)

    def go(self, begin: float, end: float, displacement: FloatArray) -> None:
        """Be at `place` at the time `end` (s), having rested where it was until `begin`; what was to come after that,
        in a step that failed, is forgotten.
        """
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
        """Back to where it stood, at time 0."""
        self.__init__()  # type: ignore[misc]

    def recorded(self) -> Waypoints:
        """The same motion as something that can be saved."""
        return Waypoints(np.array(self._times), np.array(self._displacements))


def draggable(obstacle: Obstacle) -> bool:
    """Whether a person may move it: it stands still, and it is no floor and no labyrinth."""
    return obstacle.motion is None and not isinstance(obstacle.shape.solid, (Plane, Tubes))


def center_of(obstacle: Obstacle) -> FloatArray:
    """Middle of an obstacle, (3,) m."""
    listed = shape_triangles(obstacle.shape, half_width=0.0)
    assert listed is not None
    return np.asarray(0.5 * (listed[0].min(axis=0) + listed[0].max(axis=0)))


def with_motions(world: World, motions: Mapping[int, Any]) -> World:
    """`world` with other motions of obstacles, by number; bodies, actuators and loads are the same objects."""
    if not motions:
        return world
    old = world.obstacles
    new = {id(old[k]): replace(old[k], motion=motion) for k, motion in motions.items()}
    things = [(new.get(id(thing), thing), placed) for thing, placed in world.source.things]
    pairs = [replace(p, a=new.get(id(p.a), p.a), b=new.get(id(p.b), p.b)) for p in world.source.pairs]
    return Scene.of(world.gravity, things, pairs).compile()


def materials_of(world: World) -> list[tuple[str, Material]]:
    """The materials of the volumes of a world, each once, with a name."""
    listed: dict[int, tuple[str, Material]] = {}
    for thing, _ in world.source.things:
        if isinstance(thing, Volume):
            listed.setdefault(id(thing.material), (thing.name, thing.material))
            for _, material in thing.inclusions:
                listed.setdefault(id(material), (f"{thing.name}, other part", material))
    return list(listed.values())


def pair_names(world: World) -> list[str]:
    """Names of the pairs that collide."""
    return [p.a.name if p.a is p.b else f"{p.a.name} – {p.b.name}" for p in world.source.pairs]


def stiffened(material: Material, factor: float) -> Material:
    """`material` with all its moduli times `factor`."""
    own = {item.name: getattr(material, item.name) for item in fields(material) if item.name in MODULI}  # type: ignore[arg-type]
    return replace(material, **{name: factor * value for name, value in own.items() if value is not None})  # type: ignore[type-var]


def rebuilt(world: World, *, stiffness: Sequence[float], friction: Sequence[float], others: Any) -> tuple[World, Any]:
    """`world` compiled anew with the moduli of its materials times `stiffness` (in the order of `materials_of`) and
    the coefficients `friction` of its pairs; and `others`, objects that mention its things, mentioning the new ones.
    """
    if world.reductions:
        raise InputError("a reduced world keeps its materials and friction: its modes were trained with them")
    memo: dict[int, Any] = {}
    for (_, material), factor in zip(materials_of(world), stiffness, strict=True):
        memo[id(material)] = stiffened(material, factor)
    things, pairs, translated = deepcopy((world.source.things, world.source.pairs, others), memo)
    changed: list[Pair] = [replace(p, friction=float(mu)) for p, mu in zip(pairs, friction, strict=True)]
    return Scene.of(world.gravity, things, changed).compile(), translated
