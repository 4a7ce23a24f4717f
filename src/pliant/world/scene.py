"""The scene: what a person writes, before it is frozen into a world."""

from __future__ import annotations

from typing import Any, TypeVar

from pliant.core.checks import finite_array
from pliant.core.errors import InputError
from pliant.core.types import FloatArray
from pliant.mesh import Mesh
from pliant.models.volume import PointLoad, PressureLoad, Support, TractionLoad, Volume, VolumeModel
from pliant.world.world import World

Thing = TypeVar("Thing")

_LOADS = (PointLoad, TractionLoad, PressureLoad)


class Scene:
    """Bodies, loads and supports under one gravity (m/s², shape (3,))."""

    def __init__(self, *, gravity: Any = (0.0, 0.0, 0.0)) -> None:
        self.gravity: FloatArray = finite_array("gravity", gravity, shape=(3,))
        self._bodies: list[tuple[Volume, Mesh]] = []
        self._loads: list[Any] = []
        self._supports: list[Support] = []

    def add(self, thing: Thing, *, position: Any = None, rotation: Any = None) -> Thing:
        """Add a body, a load or a support and return it, to be used as its handle.

        `position` (m, (3,)) and `rotation` (3×3, rotation vector or scipy Rotation) place a body: it is rotated about
        the origin of its mesh, then translated.
        """
        if isinstance(thing, Volume):
            self._check_new(thing)
            self._bodies.append((thing, _placed(thing.mesh, position, rotation)))
            return thing
        if position is not None or rotation is not None:
            raise InputError(f"position and rotation place bodies; a {type(thing).__name__} stands where its body is")
        if not isinstance(thing, (*_LOADS, Support)):
            raise InputError(f"{thing!r} cannot be added to a scene; add bodies, loads and supports")
        if all(thing.body is not body for body, _ in self._bodies):
            raise InputError(f"add the body {thing.body.name!r} to the scene before its {type(thing).__name__}")
        chosen: list[Any] = self._supports if isinstance(thing, Support) else self._loads
        chosen.append(thing)
        return thing

    def compile(self) -> World:
        """Freeze the scene: everything that does not change from step to step is computed here."""
        if not self._bodies:
            raise InputError("the scene is empty; add a body, for example pl.Volume(mesh, material)")
        models = tuple(
            VolumeModel.build(
                body,
                placed,
                [load for load in self._loads if load.body is body],
                [support for support in self._supports if support.body is body],
            )
            for body, placed in self._bodies
        )
        handles = frozenset([*self._loads, *self._supports])
        return World(models=models, gravity=self.gravity.copy(), handles=handles)

    def _check_new(self, body: Volume) -> None:
        if any(other is body for other, _ in self._bodies):
            raise InputError(f"the body {body.name!r} is in the scene already; make another with dataclasses.replace")


def _placed(mesh: Mesh, position: Any, rotation: Any) -> Mesh:
    if rotation is not None:
        mesh = mesh.rotated(rotation)
    if position is not None:
        mesh = mesh.translated(finite_array("position", position, shape=(3,)))
    return mesh
