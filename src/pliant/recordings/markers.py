"""Markers of motion capture on a simulated body: points that stand off it and rotate with it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pliant.core.checks import finite_array, positive, shown
from pliant.core.errors import InputError
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray, IndexArray


@one_line
@dataclass(frozen=True, eq=False)
class BoundMarkers:
    """Markers on stems: centre = foot + R offset, where R rotates with the body at the foot.

    world, body
        A compiled world and a body of it.
    feet
        Points of the body, (k, 3) m, where they stand when the world begins; on a beam or a rod the nearest points of
        its axis carry them.
    offsets
        From foot to centre, (k, 3) m, when the world begins; 0 without them.
    radius
        How far the base of a stem reaches, m: on a volume R is the rotation of the nodes within it about the foot, at
        least of those of the cell there. Beams, rods and rigid bodies have frames of their own.
    """

    world: Any
    body: Any
    feet: Any
    offsets: Any = None
    radius: float = 1e-9

    def __post_init__(self) -> None:
        if not hasattr(self.world, "models"):
            raise InputError(f"world of markers must be a pl.World, scene.compile(), got {shown(self.world)}")
        feet = finite_array("feet of markers", self.feet, shape=(None, 3))
        offsets = np.zeros_like(feet) if self.offsets is None else finite_array("offsets of markers", self.offsets)
        if offsets.shape != feet.shape:
            raise InputError(f"offsets of markers must have the shape {feet.shape} of their feet, got {offsets.shape}")
        positive("radius of markers", self.radius, unit="m")
        object.__setattr__(self, "feet", feet)
        object.__setattr__(self, "offsets", offsets)
        _ = self._map  # a foot off the body is an error here, not at its first use

    def at(self, state: Any) -> FloatArray:
        """Centres of the markers in `state`, (k, 3) m."""
        return self._centers(state.q[self._index])

    def along(self, run: Any) -> FloatArray:
        """Centres of the markers at every instant of a run, (T, k, 3) m."""
        return np.stack([self.at(run.state(k)) for k in range(len(run))])

    @cached_property
    def _index(self) -> int:
        return int(self.world.index(self.body))

    @property
    def _model(self) -> Any:
        return self.world.models[self._index]

    @cached_property
    def _map(self) -> Any:
        return self._model.embed(self.feet, what=f"marker on {self._model.name!r}", placed=True)

    @cached_property
    def _start(self) -> FloatArray:
        """q when the world begins."""
        return np.asarray(self._model.initial()[0])

    def _centers(self, q: FloatArray) -> FloatArray:
        return np.asarray(self._map.points(q) + np.einsum("kij,kj->ki", self.rotations(q), self.offsets))

    def rotations(self, q: FloatArray) -> FloatArray:
        """Rotations of the body at the feet since the world began, (k, 3, 3), no unit, where its positions are q."""
        if self._model.has_frames:
            return np.asarray(self._frames(q) @ self._start_frames.transpose(0, 2, 1))
        return np.stack([_rotation(self._start[nodes], q[nodes]) for nodes in self._nodes])

    def _frames(self, q: FloatArray) -> FloatArray:
        """Frames at the feet, (k, 3, 3); a rigid body has one."""
        if not hasattr(self._map, "frames"):
            return np.broadcast_to(q[1:4], (len(self.feet), 3, 3))
        return np.asarray(self._map.frames(q))

    @cached_property
    def _start_frames(self) -> FloatArray:
        return self._frames(self._start)

    @cached_property
    def _nodes(self) -> list[IndexArray]:
        """Nodes around each foot, whose rotation is that of the stem."""
        near = [np.linalg.norm(self._start - foot, axis=1) <= self.radius for foot in self.feet]
        return [np.union1d(np.flatnonzero(close), nodes) for close, nodes in zip(near, self._map.nodes, strict=True)]


def _rotation(before: FloatArray, after: FloatArray) -> FloatArray:
    """The rotation of least squares of some points about their mean."""
    U, _, Vt = np.linalg.svd((before - before.mean(axis=0)).T @ (after - after.mean(axis=0)))
    return np.asarray(Vt.T @ np.diag([1.0, 1.0, np.sign(np.linalg.det(Vt.T @ U.T))]) @ U.T)
