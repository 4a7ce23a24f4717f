"""Positions of markers over time, as motion capture measured them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pliant.core.checks import number_array, positive, shown
from pliant.core.errors import InputError
from pliant.core.one_line import one_line
from pliant.core.types import BoolArray, FloatArray
from pliant.recordings.registration import Registration


@one_line
@dataclass(frozen=True, eq=False)
class Recording:
    """Positions of markers in frames of equal duration, immutable.

    points
        (frames, markers, 3) in m; NaN where a marker was not seen.
    rate
        Frames a second, Hz.
    labels
        Names of the markers, (markers,).
    """

    points: FloatArray
    rate: float
    labels: tuple[str, ...]

    def __post_init__(self) -> None:
        points = np.array(number_array("points of a recording", self.points))
        if not isinstance(self.labels, (tuple, list)) or not all(isinstance(label, str) for label in self.labels):
            raise InputError(f"labels of a recording must be a list of texts, got {shown(self.labels)}")
        if points.ndim != 3 or points.shape[2] != 3:
            raise InputError(f"points of a recording must have the shape (frames, markers, 3), got {points.shape}")
        points[~np.isfinite(points).all(axis=2)] = np.nan  # a marker of which a coordinate is missing was not seen
        points.setflags(write=False)
        if len(self.labels) != points.shape[1]:
            raise InputError(f"a recording of {points.shape[1]} markers needs as many labels, got {len(self.labels)}")
        positive("rate of a recording", self.rate, unit="Hz")
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "labels", tuple(self.labels))

    def __len__(self) -> int:
        """Number of frames."""
        return len(self.points)

    @property
    def times(self) -> FloatArray:
        """Time of each frame after the first, (frames,), s."""
        return np.arange(len(self.points)) / self.rate

    @property
    def gaps(self) -> BoolArray:
        """Where a marker was not seen, (frames, markers)."""
        return np.isnan(self.points[:, :, 0])

    @property
    def gap_count(self) -> int:
        """Number of positions that are missing."""
        return int(self.gaps.sum())

    def marker(self, label: str) -> FloatArray:
        """Positions (frames, 3), m, of the marker called `label`."""
        if self.labels.count(label) != 1:
            found = "several" if label in self.labels else "no"
            raise InputError(f"the recording has {found} markers called {label!r}; it has {', '.join(self.labels)}")
        return self.points[:, self.labels.index(label)]

    def mean(self, first: int = 0, last: int | None = None) -> FloatArray:
        """Mean position of each marker over the frames `first` … `last` (left out), (markers, 3), m; gaps are skipped.

        A marker that was seen in none of them is NaN.
        """
        chosen = self.points[first:last]
        seen = (~np.isnan(chosen[:, :, :1])).sum(axis=0)
        with np.errstate(invalid="ignore"):
            return np.asarray(np.nansum(chosen, axis=0) / np.where(seen, seen, np.nan))

    def cut(self, first: int, last: int | None = None) -> Recording:
        """The frames `first` … `last` (left out)."""
        if not len(self.points[first:last]):
            raise InputError(f"frames {first} … {last} are none of the {len(self)} frames of the recording")
        return replace(self, points=self.points[first:last])

    def moved(self, by: Registration) -> Recording:
        """The recording in the frame into which the registration `by` leads."""
        return replace(self, points=by.apply(self.points))

    def select(self, markers: Any) -> Recording:
        """Some of the markers, by label or index, in that order."""
        index = [self.labels.index(m) if isinstance(m, str) and m in self.labels else m for m in markers]
        if not all(isinstance(m, (int, np.integer)) and 0 <= m < len(self.labels) for m in index):
            raise InputError(f"markers {list(markers)!r} are not all of this recording: {', '.join(self.labels)}")
        return replace(self, points=self.points[:, index], labels=tuple(self.labels[m] for m in index))
