"""How the free rotation of a step follows its start, by differences.

A step of implicit Euler that takes the rotation of a free body by itself (`models.volume.free_rotation`) begins with
another velocity u(q, v) in place of v, and ends with v⁺ = dx/h + o(q, v) + δω × (x⁺ − c), δω of x⁺, u + o and L(q, v).
Of these the derivatives are central differences of fourth order, four evaluations for each coordinate.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pliant.core.errors import InputError
from pliant.core.types import FloatArray
from pliant.models.adjoint import Pulled
from pliant.models.volume.free_rotation import FreeRotation, free_rotation
from pliant.models.volume.mass import Mass

_STEP = 1e-3
"""Change of a coordinate over the size of the body, and of a velocity over the largest."""
_WEIGHTS = ((1.0, 8.0), (-1.0, -8.0), (2.0, -1.0), (-2.0, 1.0))


class RotationSlope(NamedTuple):
    """The rotation of a step of `dt` (s) from q and v (n, 3) of a body with a `mass`, whose displacement is `dx`."""

    name: str
    q: FloatArray
    v: FloatArray
    dx: FloatArray
    mass: Mass
    dt: float

    def of_velocity(self, g: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The derivatives of g · u by q and v, (n, 3) each."""
        by_q = _gradient(lambda q: float(np.vdot(g, self._at(q, self.v).velocity)), self.q, self._length)
        return by_q, _gradient(lambda v: float(np.vdot(g, self._at(self.q, v).velocity)), self.v, self._speed)

    def of_offset(self, g: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The derivatives of g · o by q and v, (n, 3) each."""
        by_q = _gradient(lambda q: float(np.vdot(g, self._at(q, self.v).offset)), self.q, self._length)
        return by_q, _gradient(lambda v: float(np.vdot(g, self._at(self.q, v).offset)), self.v, self._speed)

    def of_end(self, g: FloatArray) -> Pulled:
        """The derivatives of g · v⁺ by x⁺, q and v."""
        own, x = self._at(self.q, self.v), self.q + self.dx

        def value(found: FreeRotation, x: FloatArray, q: FloatArray) -> float:
            return float(np.vdot(g, found.velocities(x, x - q, self.mass, self.dt)))

        end = _gradient(lambda y: value(own, y, self.q), x, self._length)
        by_q = _gradient(lambda q: value(self._at(q, self.v), x, q), self.q, self._length)
        by_v = _gradient(lambda v: value(self._at(self.q, v), x, self.q), self.v, self._speed)
        return Pulled(end, by_q, by_v)

    def velocity_along(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """The change of u by motions q and v (n, 3) of the start, (n, 3)."""
        return self._along(lambda s: self._at(self.q + s * q, self.v + s * v).velocity, q, v)

    def end_along(self, end: FloatArray, q: FloatArray, v: FloatArray) -> FloatArray:
        """The change of v⁺ by motions of the end and the start, (n, 3)."""

        def value(s: float) -> FloatArray:
            x, begun = self.q + self.dx + s * end, self.q + s * q
            return self._at(begun, self.v + s * v).velocities(x, x - begun, self.mass, self.dt)

        return self._along(value, np.abs(end) + np.abs(q), v)

    @property
    def _length(self) -> float:
        return _STEP * float(np.ptp(self.q, axis=0).max())

    @property
    def _speed(self) -> float:
        return _STEP * float(np.abs(self.v).max())

    def _along(self, function: Callable[[float], Any], q: FloatArray, v: FloatArray) -> FloatArray:
        most = max(float(np.abs(q).max()) / self._length, float(np.abs(v).max()) / self._speed)
        if not most:
            return np.zeros(self.q.shape)
        made: FloatArray = sum(weight * function(at / most) for at, weight in _WEIGHTS) * (most / 12.0)
        return made

    def _at(self, q: FloatArray, v: FloatArray) -> FreeRotation:
        found = free_rotation(q, v, self.mass, self.dt)
        if found is None:
            raise InputError(
                f"{self.name!r} turns by so little in a step that its rotation is about to be left out: there the step "
                "has no derivative; take another dt"
            )
        return found


def _gradient(function: Callable[[FloatArray], float], x: FloatArray, step: float) -> FloatArray:
    """The derivative of a number by each coordinate of x (n, 3)."""
    made, there = np.empty(x.shape), x.copy()
    for place in np.ndindex(x.shape):
        total = 0.0
        for at, weight in _WEIGHTS:
            there[place] = x[place] + at * step
            total += weight * function(there)
        there[place] = x[place]
        made[place] = total / (12.0 * step)
    return made
