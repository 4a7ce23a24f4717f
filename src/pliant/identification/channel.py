"""One measurement beside the run that predicts it: weighted residuals and their derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.core.errors import InputError, UnitError
from pliant.core.types import FloatArray
from pliant.identification.frames import Motion, first_motion
from pliant.identification.measurements import ActuatorDisplacement, ActuatorForce, Markers, Measurement
from pliant.identification.readers import MarkerReader, Reader, reader
from pliant.world import World

FARTHEST = 10.0
"""Markers farther from a body than so many of its lengths at the start are in another unit or frame."""
OTHER_UNIT = 300.0
"""Values of actuators so many times larger, or smaller, than those of the model at the start are in another unit."""


class Channel:
    """A measurement in its experiment. `frame` and `offsets` are slices of z, None where these are known."""

    def __init__(self, world: World, measurement: Measurement, clock: FloatArray) -> None:
        self.measurement = measurement
        self.reader: Reader = reader(world, measurement)
        self.before, fraction = measurement.times_or_steps(clock)
        self.after = np.minimum(self.before + 1, len(clock) - 1)
        self._fraction = fraction[:, None]
        self.data = measurement.instants
        self.seen = np.isfinite(self.data)
        self.frame: slice | None = None
        self.offsets: slice | None = None
        self.motion: Motion | None = None
        self.offset_scale = 1.0

    @property
    def count(self) -> int:
        """Number of values that are no gaps."""
        return int(self.seen.sum())

    def begin(self, readout: FloatArray, motion: Motion | None) -> Motion | None:
        """Compare the data with the prediction at the start; the motion of its frame, registered where `motion` is
        None.
        """
        if not isinstance(self.measurement, Markers):
            if ((self.before == 0) & (self._fraction[:, 0] < 1.0))[self.seen.reshape(len(self.seen), -1).any(1)].any():
                raise InputError(
                    f"{self.measurement.label!r} is measured before the end of the first step, where no force is known "
                    "yet: leave these instants out"
                )
            self._check_size(self._given(self._between(readout)))
            return None
        found = self._given(self._between(readout))
        assert isinstance(self.reader, MarkerReader)
        length = self.reader.body_length
        if self.measurement.frame is not None:
            self.motion = motion or first_motion(self.measurement.frame, self.data, found, length)
        away = float(np.nanmedian(np.abs(self._in_world(np.zeros(6)) - found)))
        if away > FARTHEST * length:
            raise UnitError(
                f"{self.measurement.label!r} are {away:.3g} m (median) from where the model has them, on a body of "
                f"{length:.3g} m: check their unit (m) and frame, or give them a frame= to be registered"
            )
        return self.motion

    def _check_size(self, found: FloatArray) -> None:
        """Measured forces and displacements of actuators beside what the model has at the start, (T,)."""
        one = self.measurement
        if not isinstance(one, ActuatorForce | ActuatorDisplacement):
            return
        have, want = (float(np.sqrt(np.mean(each[self.seen] ** 2))) for each in (self.data, found))
        if want > 0.0 and have > 0.0 and not 1.0 / OTHER_UNIT < have / want < OTHER_UNIT:
            raise UnitError(
                f"the values of {one.label!r} are {have / want:.3g} times those of the model where the search begins: "
                "check their unit (N, Pa, m, m³…), or start nearer"
            )

    def predicted(self, readout: FloatArray, z: FloatArray) -> FloatArray:
        """What the model says at the instants of the data, (T, *s), in the world."""
        rows = self._between(readout)
        if self.offsets is None:
            return self._given(rows)
        return self.reader.predicted(rows, self.offsets_at(z))

    def offsets_at(self, z: FloatArray) -> FloatArray:
        """Offsets of the markers, (k, 3), m, where they are unknown."""
        return np.asarray(self.offset_scale * z[self.offsets].reshape(-1, 3))

    def difference(self, readout: FloatArray, z: FloatArray) -> FloatArray:
        """Prediction − measurement, (T, *s), in the unit of the measurement; NaN at gaps."""
        return np.asarray(self.predicted(readout, z) - self._in_world(z if self.frame is None else z[self.frame]))

    def residual(self, readout: FloatArray, z: FloatArray) -> FloatArray:
        """Differences over the noise, (rows,), without gaps."""
        return np.asarray(self.difference(readout, z)[self.seen] / self.measurement.noise)

    def jacobian(self, readout: FloatArray, slopes: FloatArray, z: FloatArray) -> FloatArray:
        """∂residual/∂z (rows, n); `slopes` (steps + 1, size, p) are those of the read-out by the first p entries."""
        made = np.zeros((self.count, len(z)))
        known = self._known_offsets() if self.offsets is None else self.offsets_at(z)
        for k in range(slopes.shape[2]):
            made[:, k] = self.reader.predicted(self._between(slopes[:, :, k]), known)[self.seen]
        if self.offsets is not None:
            assert isinstance(self.reader, MarkerReader)
            by = self.reader.by_offsets(self._between(readout))  # (T, k, d, 3)
            for k in range(by.shape[1]):
                for axis in range(3):
                    own = np.zeros(self.data.shape)
                    own[:, k] = by[:, k, :, axis]
                    made[:, self.offsets.start + 3 * k + axis] = self.offset_scale * own[self.seen]
        if self.frame is not None:
            assert self.motion is not None
            made[:, self.frame] = -self.motion.slope(z[self.frame], self.data)[self.seen]
        return made / self.measurement.noise

    def _in_world(self, z: FloatArray) -> FloatArray:
        return self.data if self.motion is None else self.motion.apply(z, self.data)

    def _given(self, rows: FloatArray) -> FloatArray:
        return self.reader.predicted(rows, self._known_offsets())

    def _known_offsets(self) -> Any:
        given = getattr(self.measurement, "offsets", None)
        if given is None and isinstance(self.measurement, Markers) and self.measurement.turns:
            return np.zeros_like(self.measurement.points)
        return given

    def _between(self, readout: FloatArray) -> FloatArray:
        """Read-outs at the instants of the data, interpolated between those of the run."""
        first, second, f = readout[self.before], readout[self.after], self._fraction
        return np.asarray(np.where(f == 0.0, first, np.where(f == 1.0, second, (1.0 - f) * first + f * second)))
