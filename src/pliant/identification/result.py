"""What `pl.identify` found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.core.errors import InputError
from pliant.core.one_line import one_line
from pliant.core.types import BoolArray, FloatArray
from pliant.identification.experiment import Experiment
from pliant.identification.frames import Frame
from pliant.recordings import Registration
from pliant.world import World


@one_line
@dataclass(frozen=True, eq=False)
class Identified:
    """The values of the parameters, how far they can be trusted, and what the model leaves unexplained.

    values, intervals, deviations
        By parameter, as it was given: the value, in the unit of the parameter; the interval (low, high) of the `level`;
        the standard deviation. Arrays of the shape of the parameter where it is none number.
    residuals
        By measurement: measured − predicted, (T, *s), in the unit of the measurement, in the world; NaN at gaps.
    frames, offsets
        The `Registration` of each `Frame`, and the offsets (k, 3), m, of markers whose offsets were unknown.
    names, covariance
        All unknowns in order (n,), and the covariance of their dimensionless numbers z (n, n): ln(value) on a
        logarithmic scale, else value / scale. Infinite where nothing is known.
    noise_factor
        How many times larger the residuals are than the given noise; near 1 where model and noise are right.
    method, warnings, undetermined
        How derivatives were computed, what was warned of, and of that the combinations that the data leave open.
    world
        The world with these values.
    """

    values: Mapping[Any, Any]
    intervals: Mapping[Any, tuple[Any, Any]]
    deviations: Mapping[Any, Any]
    residuals: Mapping[Any, FloatArray]
    frames: Mapping[Frame, Registration]
    offsets: Mapping[Any, FloatArray]
    names: tuple[str, ...]
    labels: Mapping[Any, str]
    covariance: FloatArray
    level: float
    loss: str
    noise_factor: float
    iterations: int
    runs: int
    failed: int
    method: str
    warnings: tuple[str, ...]
    undetermined: tuple[str, ...]
    experiments: tuple[Experiment, ...]
    world: World

    def __getitem__(self, parameter: Any) -> Any:
        """The value of a parameter."""
        if parameter not in self.values:
            raise InputError(f"{parameter!r:.80} is none of the parameters that were identified")
        return self.values[parameter]

    @property
    def _parameter_count(self) -> int:
        """Entries of the parameters, which are the first of all unknowns."""
        return sum(int(np.size(value)) for value in self.values.values())

    @property
    def correlation(self) -> FloatArray:
        """Correlations of the unknowns, (n, n), no unit; NaN where nothing is known."""
        with np.errstate(invalid="ignore"):
            deviation = np.sqrt(np.diag(self.covariance))
            return np.asarray(self.covariance / np.outer(deviation, deviation))

    def rms(self, measurement: Any) -> float:
        """Root mean square of the residuals of a measurement, in its unit; of markers over distances, m."""
        if measurement not in self.residuals:
            raise InputError(f"{measurement!r:.80} is none of the measurements of this identification")
        return _rms(self.residuals[measurement], per_point=measurement.is_position)

    def report(self) -> str:
        """A table of the values with their intervals, of the residuals of each measurement, how well the data tell the
        parameters apart, and the warnings.
        """
        lines = [f"identified in {self.iterations} iterations, {self.runs} runs, by {self.method}"]
        rows: list[tuple[str, ...]] = [("parameter", "value", f"{100.0 * self.level:g} % interval", "")]
        for key, label in self.labels.items():
            value, low, high = (np.ravel(each) for each in (self.values[key], *self.intervals[key]))
            for i in range(len(value)):
                name = label if len(value) == 1 else f"{label}[{i}]"
                half = 50.0 * (high[i] - low[i]) / abs(value[i]) if value[i] else np.inf
                rows.append((name, f"{value[i]:.5g}", f"{low[i]:.5g} … {high[i]:.5g}", f"± {half:.2g} %"))
        lines += _aligned(rows)
        rows = [("measurement", "values", "gaps", "rms residual", "noise")]
        for each in self.experiments:
            for one in each.measurements:
                left = self.residuals[one]
                gaps = int(np.isnan(left).sum())
                rms = f"{self.rms(one):.3g} {one.unit}"
                rows.append((f"{each.name}: {one.label}", str(left.size - gaps), str(gaps), rms, f"{one.noise:.3g}"))
        lines += ["", *_aligned(rows), "", f"residuals are {self.noise_factor:.3g} times the given noise"]
        for frame, motion in self.frames.items():
            lines.append(f"frame {frame.name!r}: rms {1e3 * motion.rms:.3g} mm over {motion.used} positions")
        lines.append(self._identifiability())
        lines += [f"warning: {text}" for text in self.warnings]
        return "\n".join(lines)

    def _identifiability(self) -> str:
        """One line: whether the data determine the parameters, and which two of them they confuse most."""
        if self.undetermined:
            return "the data do not determine all parameters: see the warnings"
        told = "the data determine each parameter"
        count = self._parameter_count
        if count < 2:
            return told
        between = np.triu(self.correlation[:count, :count], 1)
        i, j = np.unravel_index(int(np.argmax(np.abs(between))), between.shape)
        return f"{told}; the largest correlation, {between[i, j]:+.2f}, is that of {self.names[i]} and {self.names[j]}"

    def as_json(self) -> dict[str, Any]:
        """The numbers by name, for files."""
        made: dict[str, Any] = {}
        size = self._parameter_count
        for key, label in self.labels.items():
            low, high = self.intervals[key]
            made[label] = {
                "value": _plain(self.values[key]), "interval": [_plain(low), _plain(high)],
                "standard_deviation": _plain(self.deviations[key]),
            }  # fmt: skip
        rms = {
            f"{each.name}: {one.label}": {"rms": _plain(self.rms(one)), "unit": one.unit, "noise": one.noise}
            for each in self.experiments
            for one in each.measurements
        }
        return {
            "parameters": made, "level": self.level, "measurements": rms, "noise_factor": self.noise_factor,
            "loss": self.loss, "iterations": self.iterations, "runs": self.runs, "failed_runs": self.failed,
            "derivatives": self.method, "warnings": list(self.warnings), "undetermined": list(self.undetermined),
            "correlation": _plain(self.correlation[:size, :size]), "names": list(self.names[:size]),
        }  # fmt: skip

    def plot(self, path: Any = None) -> Any:
        """A Matplotlib figure of the residuals of each measurement, over time and as quantiles of the noise; written to
        `path` where one is given.
        """
        from pliant.identification.pictures import plot_residuals

        return plot_residuals(self, path)


def _rms(left: FloatArray, *, per_point: bool) -> float:
    squares = np.nansum(left**2, axis=-1)[~np.isnan(left).any(axis=-1)] if per_point else left[~np.isnan(left)] ** 2
    return float(np.sqrt(np.mean(squares))) if squares.size else float("nan")


def _aligned(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]


def _plain(value: Any) -> Any:
    """Numbers and lists of them; None for what is not finite, which JSON does not know."""
    array = np.asarray(value, np.float64)
    made = array.astype(object)
    made[~np.isfinite(array)] = None
    return made.tolist()


def at_bounds(z: FloatArray, lower: FloatArray, upper: FloatArray) -> BoolArray:
    """Entries of z that ended at a bound."""
    return (z - lower < 1e-6) | (upper - z < 1e-6)
