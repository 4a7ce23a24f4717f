"""Forces of a run: of each actuator, of each colliding pair and of its single contacts, at every step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.core.checks import check_array, check_indices
from pliant.core.errors import InputError
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray, IndexArray
from pliant.stepping.info import Contacts

_ARRAYS = ("points", "forces", "starts")


@one_line
@dataclass(frozen=True, eq=False)
class Touches:
    """The m contacts of a pair with a force, at the T instants of a run, in the order of the instants.

    Single precision: they are drawn, and the total force of the pair is recorded beside them.
    """

    points: Any
    """Positions (m, 3), m."""
    forces: Any
    """On the first body (m, 3), N."""
    starts: IndexArray
    """Instant k has the contacts starts[k] to starts[k + 1], no unit (T + 1,)."""

    @property
    def counts(self) -> IndexArray:
        """Count of contacts at each instant, no unit (T,)."""
        return np.diff(self.starts)

    def at(self, instant: int) -> tuple[FloatArray, FloatArray]:
        """Points (k, 3) m and forces (k, 3) N at the instant of this index."""
        own = slice(int(self.starts[instant]), int(self.starts[instant + 1]))
        return np.asarray(self.points[own], float), np.asarray(self.forces[own], float)

    def arrays(self, index: int) -> dict[str, Any]:
        """Arrays of a file, named after the pair `index`."""
        return {f"touches_{index}_{name}": getattr(self, name) for name in _ARRAYS}

    def check(self, instants: int) -> None:
        """An error where the arrays, read from a file, do not belong together or to so many instants."""
        count = len(self.points)
        check_array("points of contacts", self.points, (count, 3), np.float32)
        check_array("forces of contacts", self.forces, (count, 3), np.float32)
        check_array("starts of contacts", self.starts, (instants + 1,), np.int64)
        check_indices("starts of contacts", self.starts, 0, count + 1)
        if (np.diff(self.starts) < 0).any():
            raise InputError("starts of contacts must not go back")

    @classmethod
    def read(cls, arrays: Mapping[str, Any], index: int) -> Touches | None:
        """Those of the pair `index` in the arrays of a file, None where it has none."""
        names = [f"touches_{index}_{name}" for name in _ARRAYS]
        return cls(*(arrays[name] for name in names)) if names[0] in arrays else None


class TouchesRecorder:
    """Collects the contacts of a pair that have a force, step by step; none at the first instant."""

    def __init__(self) -> None:
        self._points: list[Any] = [np.zeros((0, 3), np.float32)]
        self._forces: list[Any] = [np.zeros((0, 3), np.float32)]

    def add(self, contacts: Contacts) -> None:
        """Record the contacts of one step."""
        loaded = np.any(contacts.forces, axis=1)
        self._points.append(contacts.points[loaded].astype(np.float32))
        self._forces.append(contacts.forces[loaded].astype(np.float32))

    def recorded(self) -> Touches:
        """Those of all steps so far."""
        starts = np.cumsum([0, *(len(points) for points in self._points)])
        return Touches(np.concatenate(self._points), np.concatenate(self._forces), starts)


@one_line
@dataclass(frozen=True, eq=False)
class RecordedRows:
    """Forces of an actuator or a colliding pair over a run.

    `names` is that of the actuator, or both of a pair. `values` (steps, 2) are displacement (m) and tension (N), or
    growth (m³) and pressure (Pa); of a pair (steps, 3) the force (N) that the second body exerts on the first, of a
    `pl.Facing` under its own name that on its points.
    `handles` as in `RecordedBody`. `touches` are the single contacts of a pair, None in files of an older version.
    """

    names: tuple[str, ...]
    values: FloatArray
    handles: tuple[Any, ...] = ()
    touches: Touches | None = None

    def concerns(self, things: tuple[Any, ...]) -> bool:
        """Whether these are the forces of `things`, given by handle or name."""
        if len(things) != len(self.names):
            return False
        handles = self.handles or (None,) * len(things)
        return all(t == n or (h is not None and t is h) for t, n, h in zip(things, self.names, handles, strict=True))
