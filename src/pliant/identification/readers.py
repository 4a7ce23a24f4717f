"""Read-outs of a run for measurements, and predictions made of them.

A reader names the output of a run (`gradients.outputs`) from which the prediction of a measurement is made. The
prediction is linear in the flat read-out: of markers with offsets, foot + R · offset.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from pliant.core.types import FloatArray
from pliant.gradients.finite import derivative
from pliant.gradients.losses import Instant
from pliant.gradients.outputs import ContactForce as ForceOutput
from pliant.gradients.outputs import Displacement, Output, Reading, Tension
from pliant.gradients.tangent import StepTangent, Tangent
from pliant.identification.measurements import ActuatorForce, ContactForce, Markers, Measurement
from pliant.recordings import BoundMarkers
from pliant.world import World

_MOTION = 1e-4
"""Largest motion in the differences of rotations, over the length of the body."""


@dataclass(frozen=True, eq=False)
class Reader:
    """The output that a measurement is predicted from. A read-out is the flat array of its values at an instant."""

    output: Output
    directions: Any

    def predicted(self, readout: FloatArray, offsets: FloatArray | None) -> FloatArray:
        """Values (…, *s) from read-outs (…, size), which may be derivatives of them; `offsets` (k, 3), m."""
        if readout.shape[-1] == 1:
            return readout[..., 0]
        return readout if self.directions is None else np.asarray(readout @ self.directions.T)


@dataclass(frozen=True, eq=False)
class MarkerReader(Reader):
    """Feet (k, 3), m, and with offsets the rotations (k, 3, 3) there. `body_length` is the diagonal of the box around
    the body, m.
    """

    count: int
    body_length: float

    def predicted(self, readout: FloatArray, offsets: FloatArray | None) -> FloatArray:
        """Positions of the centres, or their coordinates along the directions."""
        found = readout[..., : 3 * self.count].reshape(*readout.shape[:-1], self.count, 3)
        if offsets is not None:
            found = found + np.einsum("...kij,kj->...ki", self._rotations(readout), offsets)
        return found if self.directions is None else np.asarray(found @ self.directions.T)

    def by_offsets(self, readout: FloatArray) -> FloatArray:
        """∂values/∂offset (…, k, 3 or d, 3) of each marker by its own offset."""
        R = self._rotations(readout)
        return R if self.directions is None else np.asarray(self.directions @ R)

    def _rotations(self, readout: FloatArray) -> FloatArray:
        return readout[..., 3 * self.count :].reshape(*readout.shape[:-1], self.count, 3, 3)


@dataclass(frozen=True, eq=False)
class MarkerOutput(Output):
    """The feet of markers and, where they have offsets, the rotations of the body there, flat."""

    markers: Markers

    def reading(self, world: World) -> Reading:
        """(3 k,) m, or (12 k,)."""
        return _OfMarkers(world, self.markers)


class _OfMarkers(Reading):
    def __init__(self, world: World, markers: Markers) -> None:
        self._index = world.index(markers.body)
        model: Any = world.models[self._index]
        self._map = model.embed(markers.points, what=f"a marker of {markers.label!r}", placed=markers.placed)
        q = model.initial()[0]
        self.length = float(np.linalg.norm(np.ptp(model.node_positions(q), axis=0)))
        self._bound = None
        if markers.turns:
            self._bound = BoundMarkers(world, markers.body, self._map.points(q), radius=markers.radius)

    def value(self, instant: Instant) -> FloatArray:
        return self._at(instant.state.q[self._index])

    def slope(self, instant: Instant, step: StepTangent | None, tangent: Tangent) -> FloatArray:
        q, motion = instant.state.q[self._index], tangent.q[self._index]
        axes = sparse.identity(3 * len(self._map.points(q)), format="csr")
        feet = np.asarray(self._map.pull_back(q, axes) @ motion)
        if self._bound is None:
            return feet
        turns = np.zeros((3 * len(feet), motion.shape[1]))
        if step is not None:
            trial = step.trials[self._index]
            for k in range(motion.shape[1]):
                along = motion[:, k].reshape(trial.dx.shape)
                largest = float(np.abs(along).max())
                if largest:
                    size = _MOTION * (self.length if not trial.model.has_frames else min(self.length, 1.0)) / largest

                    def rotations(s: float, along: FloatArray = along, trial: Any = trial) -> FloatArray:
                        return self._turns(trial.displaced(q, s * along))

                    turns[:, k] = derivative(rotations, size)
        return np.concatenate([feet, turns])

    def _at(self, q: FloatArray) -> FloatArray:
        feet = np.asarray(self._map.points(q)).ravel()
        return feet if self._bound is None else np.concatenate([feet, self._turns(q)])

    def _turns(self, q: FloatArray) -> FloatArray:
        assert self._bound is not None
        return self._bound.rotations(q).ravel()


def reader(world: World, measurement: Measurement) -> Reader:
    """The reader of a measurement in a world, which must have what is measured."""
    if isinstance(measurement, Markers):
        output = MarkerOutput(measurement)
        length = _OfMarkers(world, measurement).length
        return MarkerReader(output, measurement.directions, len(measurement.points), length)
    if isinstance(measurement, ContactForce):
        made: Output = ForceOutput(measurement.a, measurement.b)
        made.reading(world)
        return Reader(made, measurement.directions)
    actuator: Any = measurement.actuator  # type: ignore[attr-defined]
    made = Tension(actuator) if isinstance(measurement, ActuatorForce) else Displacement(actuator)
    made.reading(world)
    return Reader(made, None)
