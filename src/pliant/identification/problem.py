"""The least-squares problem of all experiments: residuals r(z) and their Jacobian."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pliant.core.errors import InputError
from pliant.core.types import FloatArray
from pliant.gradients.parameters import Parameter
from pliant.identification.channel import Channel
from pliant.identification.derivatives import differences, slopes
from pliant.identification.experiment import Experiment, readouts
from pliant.identification.frames import Frame, Motion
from pliant.identification.measurements import Markers
from pliant.identification.readers import Reader
from pliant.identification.unknowns import Part, Unknown, Vector
from pliant.world import World
from pliant.world.changed import changed

NOTHING = 1e-6
"""A parameter whose change by its scale changes all data by less than this fraction of the noise does nothing."""


class Problem:
    """Residuals of `experiments` in worlds like `world` with other values of the unknowns."""

    def __init__(self, world: World, experiments: Sequence[Experiment], unknowns: Sequence[Any]) -> None:
        self.world, self.experiments = world, tuple(experiments)
        self._wrapped = [each if isinstance(each, Unknown) else _unknown(each) for each in unknowns]
        parts = [each.part(world, key) for key, each in zip(unknowns, self._wrapped, strict=True)]
        self.parameter_count = sum(part.size for part in parts)
        self.channels = [
            [Channel(world, one, each.clock(world)) for one in each.measurements] for each in self.experiments
        ]
        self._channels = [channel for row in self.channels for channel in row]
        parts += self._nuisances(parts)
        self.vector = Vector(parts)
        self.runs = 0
        self._place_nuisances()
        self.known, self.prior_mean, self.prior_deviation = self.vector.priors()
        self.refused: dict[Experiment, str] = {}
        self._last: tuple[bytes, list[list[FloatArray]]] | None = None
        self._begin()

    # Set-up

    def _nuisances(self, parts: list[Part]) -> list[Part]:
        """Parts of z for frames and for offsets of markers."""
        made: list[Part] = []
        for frame in self._frames():
            names = tuple(f"{kind} {axis} of {frame.name!r}" for kind in ("turn", "shift") for axis in "xyz")
            made.append(_free(frame, names, (6,), np.ones(6)))
        for channel in self._channels:
            markers = channel.measurement
            if isinstance(markers, Markers) and markers.offset_deviation is not None:
                given = np.zeros_like(markers.points) if markers.offsets is None else markers.offsets
                names = tuple(
                    f"offset {axis} of marker {k} of {markers.label!r}" for k in range(len(given)) for axis in "xyz"
                )
                channel.offset_scale = markers.offset_deviation
                made.append(_free(markers, names, given.shape, np.full(given.size, markers.offset_deviation), given))
        return made

    def _frames(self) -> list[Frame]:
        found = [getattr(channel.measurement, "frame", None) for channel in self._channels]
        return list(dict.fromkeys(frame for frame in found if frame is not None))

    def _place_nuisances(self) -> None:
        place = {id(part.key): own for part, own in zip(self.vector.parts, self.vector.slices, strict=True)}
        for channel in self._channels:
            frame = getattr(channel.measurement, "frame", None)
            channel.frame = None if frame is None else place[id(frame)]
            channel.offsets = place.get(id(channel.measurement))

    def _begin(self) -> None:
        """Compare data and model at the start of the search, and register the frames."""
        motions: dict[Frame, Motion] = {}
        for row, found in zip(self.channels, self._readouts(self.start), strict=True):
            for channel, readout in zip(row, found, strict=True):
                frame = getattr(channel.measurement, "frame", None)
                motion = channel.begin(readout, None if frame is None else motions.get(frame))
                if frame is not None and motion is not None:
                    motions[frame] = motion

    # Values

    @property
    def start(self) -> FloatArray:
        """z where the search begins."""
        return self.vector.gathered("start")

    def world_at(self, z: FloatArray) -> World:
        """The world with the parameters at z."""
        numbers: dict[Parameter, Any] = {}
        for wrapped, part, own in zip(self._wrapped, self.vector.parts, self.vector.slices, strict=False):
            numbers[wrapped.parameter] = part.shaped(part.to_value(z[own]))
        return changed(self.world, numbers)

    def residual(self, z: FloatArray) -> FloatArray:
        """Weighted residuals of the data, then those of the priors."""
        found = self._readouts(z)
        rows = [
            channel.residual(readout, z)
            for row, own in zip(self.channels, found, strict=True)
            for channel, readout in zip(row, own, strict=True)
        ]
        return np.concatenate([*rows, ((z - self.prior_mean) / self.prior_deviation)[self.known]])

    def jacobian(self, z: FloatArray) -> FloatArray:
        """∂residual/∂z."""
        rows = []
        for experiment, row, found in zip(self.experiments, self.channels, self._readouts(z), strict=True):
            slopes = self._slopes(experiment, [channel.reader for channel in row], z)
            rows += [channel.jacobian(r, s, z) for channel, r, s in zip(row, found, slopes, strict=True)]
        prior = np.diag(1.0 / self.prior_deviation)[self.known]
        return np.concatenate([*rows, prior])

    def _slopes(self, experiment: Experiment, readers: list[Reader], z: FloatArray) -> list[FloatArray]:
        """∂ readouts/∂z by the parameters: exact where the steps have derivatives."""
        own = z[: self.parameter_count]
        if experiment not in self.refused:
            try:
                found = slopes(self.world_at(own), experiment, readers, [each.parameter for each in self._wrapped])
            except InputError as error:
                self.refused[experiment] = str(error)
            else:
                self.runs += 1
                return [each * self._by_z(own) for each in found]
        lower, upper = (self.vector.gathered(side)[: self.parameter_count] for side in ("lower", "upper"))
        self.runs += 2 * self.parameter_count
        return differences(self.world_at, experiment, readers, own, lower, upper)

    def _by_z(self, z: FloatArray) -> FloatArray:
        """∂value/∂z of the parameters, (p,)."""
        pairs = list(zip(self.vector.parts, self.vector.slices, strict=True))[: len(self._wrapped)]
        return np.concatenate([part.slope(z[own]) for part, own in pairs])

    @property
    def method(self) -> str:
        """How derivatives were computed."""
        if not self.refused:
            return "forward sensitivities"
        named: dict[str, list[str]] = {}
        for each, text in self.refused.items():
            named.setdefault(text, []).append(repr(each.name))
        why = "; ".join(f"{', '.join(names)}: {text}" for text, names in named.items())
        which = "central differences" if len(self.refused) == len(self.experiments) else "partly central differences"
        return f"{which} ({why})"

    @property
    def data_count(self) -> int:
        """Number of values that are no gaps."""
        return sum(channel.count for channel in self._channels)

    def _readouts(self, z: FloatArray) -> list[list[FloatArray]]:
        key = z[: self.parameter_count].tobytes()
        if self._last is None or self._last[0] != key:
            world = self.world_at(z)
            found = [
                readouts(world, experiment, [channel.reader for channel in row])
                for experiment, row in zip(self.experiments, self.channels, strict=True)
            ]
            self.runs += len(found)
            self._last = key, found
        return self._last[1]

    def differences(self, z: FloatArray) -> dict[Any, FloatArray]:
        """Measured − predicted by measurement, in its unit."""
        return {
            channel.measurement: -channel.difference(readout, z)
            for row, own in zip(self.channels, self._readouts(z), strict=True)
            for channel, readout in zip(row, own, strict=True)
        }

    def motions(self) -> dict[Frame, tuple[Motion, slice]]:
        """The motion of each frame, and its slice of z."""
        return {
            channel.measurement.frame: (channel.motion, channel.frame)  # type: ignore[attr-defined]
            for channel in self._channels
            if channel.motion is not None and channel.frame is not None
        }

    def check_effects(self, jacobian: FloatArray) -> None:
        """An error where a parameter changes no measurement."""
        norms = np.linalg.norm(jacobian[: self.data_count], axis=0)
        for name, norm in zip(self.vector.names[: self.parameter_count], norms, strict=False):
            if not norm > NOTHING:
                raise InputError(
                    f"{name} changes none of the measurements where the search begins: remove it, start elsewhere, or "
                    "measure something that it changes"
                )


def _free(key: Any, names: tuple[str, ...], shape: tuple[int, ...], scale: FloatArray, start: Any = None) -> Part:
    """A part without bounds; with a prior of one scale where a `start` is given."""
    first = np.zeros(len(names)) if start is None else np.ravel(start)
    none = np.full(len(names), np.inf)
    prior = None if start is None else (first, scale)
    return Part(key, names, shape, scale, False, first, -none, none, prior)


def _unknown(given: Any) -> Unknown:
    """A bare parameter begins at its value in the world."""
    if not isinstance(given, Parameter):
        raise InputError(
            f"parameters of identify() must be of pl.parameters, or pl.identification.Unknown, got {given!r:.60}"
        )
    return Unknown(given)
