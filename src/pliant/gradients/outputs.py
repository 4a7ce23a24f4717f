"""Outputs: what is read from a run at each instant, with its derivatives by the motion of the bodies and by the forces.

An output gives arrays, a loss (`gradients.losses`) one number. `pl.sensitivities` reads outputs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from pliant.core.checks import finite_array
from pliant.core.declared import check_declared
from pliant.core.errors import InputError
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray
from pliant.gradients.finite import derivative
from pliant.gradients.losses import Instant
from pliant.gradients.tangent import StepTangent, Tangent
from pliant.models.model import size_of
from pliant.world import World

__all__ = ["ContactForce", "Coordinates", "Displacement", "Output", "Points", "Tension"]

_MOTION = 1e-5
"""Largest motion of an unknown in the differences of contact forces, over the size of its body."""


class Reading:
    """An output of one world."""

    motion: tuple[int, ...] | None = None
    """The shape in which its derivative is told, None for that of its values."""

    def value(self, instant: Instant) -> FloatArray:
        """What is read at an instant."""
        raise NotImplementedError

    def slope(self, instant: Instant, step: StepTangent | None, tangent: Tangent) -> FloatArray:
        """Its derivative, (size, columns), by the parameters that `tangent` follows; `step` is None at the start."""
        raise NotImplementedError


class Output:
    """What can be read from a run at each instant."""

    def reading(self, world: World) -> Reading:
        """The output of a world."""
        raise NotImplementedError


@one_line
@dataclass(frozen=True, eq=False)
class Points(Output):
    """Positions of markers, (n, 3), m.

    body, points
        A body, and points (n, 3) m on it in the frame in which it was made; or a `pl.robots.Marker` alone.
    """

    body: Any
    points: Any = None

    def __post_init__(self) -> None:
        if self.points is None and not (hasattr(self.body, "position") and hasattr(self.body, "body")):
            raise InputError(
                f"pl.outputs.Points takes a body and points (n, 3), or a pl.robots.Marker, got {self.body!r:.60}"
            )
        if self.points is not None:
            finite_array("points of an output", self.points, shape=(None, 3))

    def reading(self, world: World) -> Reading:
        """(n, 3), m."""
        points = np.asarray(self.body.position if self.points is None else self.points, np.float64).reshape(-1, 3)
        return _OfPoints(world, self.body.body if self.points is None else self.body, points)


@one_line
@dataclass(frozen=True, eq=False)
class Coordinates(Output):
    """The positions of a body as a state holds them, such as the nodes of a volume (n, 3), m. Derivatives are those of
    the coordinates of a step's motion: (2, 3) of a rigid body, m and rad about the axes of the world.
    """

    body: Any

    def reading(self, world: World) -> Reading:
        """Of the shape of the positions."""
        return _OfCoordinates(world, self.body)


@one_line
@dataclass(frozen=True, eq=False)
class Tension(Output):
    """The force of an `actuator`: of a cable N, of a chamber Pa, of a hinge N·m. Zero at the start of a run."""

    actuator: Any

    def reading(self, world: World) -> Reading:
        """One number."""
        return _OfRow(world.constraint_index(self.actuator), force=True)


@one_line
@dataclass(frozen=True, eq=False)
class Displacement(Output):
    """The displacement of an `actuator`: of a cable m, of a chamber m³, of a hinge rad. Zero at the start of a run."""

    actuator: Any

    def reading(self, world: World) -> Reading:
        """One number."""
        return _OfRow(world.constraint_index(self.actuator), force=False)


@one_line
@dataclass(frozen=True, eq=False)
class ContactForce(Output):
    """The force that body `b` exerts on body `a`, (3,), N. Zero at the start of a run."""

    a: Any
    b: Any

    def __post_init__(self) -> None:
        check_declared(self)

    def reading(self, world: World) -> Reading:
        """(3,), N."""
        return _OfContact(world, world.pairs(self.a, self.b))


class _OfPoints(Reading):
    def __init__(self, world: World, body: Any, points: FloatArray) -> None:
        self._index = world.index(body)
        self._map = world.models[self._index].embed(points, what="points of an output")

    def value(self, instant: Instant) -> FloatArray:
        return np.array(self._map.points(instant.state.q[self._index]))

    def slope(self, instant: Instant, step: StepTangent | None, tangent: Tangent) -> FloatArray:
        q = instant.state.q[self._index]
        axes = sparse.identity(3 * len(self._map.points(q)), format="csr")
        made: FloatArray = self._map.pull_back(q, axes) @ tangent.q[self._index]
        return made


class _OfCoordinates(Reading):
    def __init__(self, world: World, body: Any) -> None:
        self._index = world.index(body)
        self.motion = world.shapes[self._index]

    def value(self, instant: Instant) -> FloatArray:
        return np.array(instant.state.q[self._index])

    def slope(self, instant: Instant, step: StepTangent | None, tangent: Tangent) -> FloatArray:
        return tangent.q[self._index].copy()


class _OfRow(Reading):
    def __init__(self, constraint: int, *, force: bool) -> None:
        self._constraint, self._force = constraint, force

    def value(self, instant: Instant) -> FloatArray:
        info = instant.info
        if info is None:
            return np.zeros(())
        assert info.assembly is not None
        assert info.lam is not None
        values = info.lam if self._force else info.delta
        return np.array(values[info.assembly.slices[self._constraint].start])

    def slope(self, instant: Instant, step: StepTangent | None, tangent: Tangent) -> FloatArray:
        if instant.info is None:
            return np.zeros((1, tangent.q[0].shape[1]))
        assert instant.info.assembly is not None
        row = instant.info.assembly.slices[self._constraint].start
        return (tangent.lam if self._force else tangent.gap)[row : row + 1].copy()


class _OfContact(Reading):
    """Forces turn with the planes of contact: they are differentiated along each column of the tangent."""

    def __init__(self, world: World, pairs: list[tuple[int, float]]) -> None:
        self._pairs = pairs

    def value(self, instant: Instant) -> FloatArray:
        info = instant.info
        if info is None or info.assembly is None or info.lam is None:
            return np.zeros(3)
        return self._total(info.assembly, info.lam)

    def slope(self, instant: Instant, step: StepTangent | None, tangent: Tangent) -> FloatArray:
        count = tangent.q[0].shape[1]
        made = np.zeros((3, count))
        if step is None or step.ends is None:
            return made
        ends = step.ends
        pushing = np.isin(ends.owner, [index for index, _ in self._pairs]) & (ends.lam != 0.0)
        if not pushing.any():
            return made
        motions = tangent.q if step.begun is None else step.begun
        for k in range(count):
            motion = [x[:, k].reshape(trial.dx.shape) for x, trial in zip(motions, step.trials, strict=True)]
            scale = max(_relative(trial, x) for trial, x in zip(step.trials, motion, strict=True))
            lam = tangent.lam[:, k]
            size = _MOTION / scale if scale else 1.0

            def force(s: float, motion: list[FloatArray] = motion, lam: FloatArray = lam) -> FloatArray:
                assembly, forces = ends.assembled(ends.bodies.moved(motion, s), ends.lam + s * lam)
                return self._total(assembly, forces)

            made[:, k] = derivative(force, size)
        return made

    def _total(self, assembly: Any, lam: FloatArray) -> FloatArray:
        made = np.zeros(3)
        for index, sign in self._pairs:
            made += sign * assembly.memories[index].forces(lam[assembly.slices[index]]).sum(axis=0)
        return made


def _relative(trial: Any, motion: FloatArray) -> float:
    """The largest motion of a node over the size of its body, or of a frame in rad."""
    size = size_of(trial.model, trial.positions())
    largest = float(np.abs(motion).max(initial=0.0))
    return largest / size if not trial.model.has_frames else max(largest, largest / size)
