"""The motion of an obstacle as a table, which can be saved, unlike a function."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.core.checks import finite_array
from pliant.core.errors import InputError
from pliant.core.types import FloatArray


@dataclass(frozen=True, eq=False)
class Waypoints:
    """Displacements `places` (k, 3) m of an obstacle at rising `times` (k,) s, linear in between and constant before
    and after. As `motion` of a `pl.Obstacle` it is saved with its world.
    """

    times: FloatArray
    places: FloatArray

    def __post_init__(self) -> None:
        times = finite_array("times of waypoints", self.times, shape=(None,))
        places = finite_array("places of waypoints", self.places, shape=(len(times), 3))
        if not len(times) or (np.diff(times) <= 0.0).any():
            raise InputError(f"times of waypoints must rise, and there must be one at least; got {times} s")
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "places", places)

    def __call__(self, time: float) -> tuple[FloatArray, FloatArray]:
        """Displacement (3,) m and rotation vector (3,) rad at `time` (s)."""
        k = int(np.searchsorted(self.times, time, side="right"))
        if k in (0, len(self.times)):
            return self.places[max(k - 1, 0)].copy(), np.zeros(3)
        fraction = (time - self.times[k - 1]) / (self.times[k] - self.times[k - 1])
        displacement: FloatArray = self.places[k - 1] + fraction * (self.places[k] - self.places[k - 1])
        return displacement, np.zeros(3)
