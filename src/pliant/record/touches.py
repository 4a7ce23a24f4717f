"""Where two bodies touched over a run and how hard, step by step: as many contacts as there were each time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.core.types import FloatArray, IndexArray
from pliant.stepping.info import Contacts

_PARTS = ("points", "forces", "starts")


@dataclass(frozen=True, eq=False)
class Touches:
    """The m contacts of a pair that pushed at the T instants of a run, those of one instant after those of the last.

    `points` (m, 3) m and `forces` (m, 3) N on the first body; instant k has those from `starts[k]` to `starts[k + 1]`,
    (T + 1,). Single precision: they are drawn, and the sum of a pair is recorded beside them.
    """

    points: Any
    """Places (m, 3), m."""
    forces: Any
    """On the first body (m, 3), N."""
    starts: IndexArray
    """First contact of each instant, no unit (T + 1,)."""

    @property
    def counts(self) -> IndexArray:
        """How many contacts pushed at each instant, no unit (T,)."""
        return np.diff(self.starts)

    def at(self, instant: int) -> tuple[FloatArray, FloatArray]:
        """Points (k, 3) m and forces (k, 3) N at the instant of this index."""
        own = slice(int(self.starts[instant]), int(self.starts[instant + 1]))
        return np.asarray(self.points[own], float), np.asarray(self.forces[own], float)

    def arrays(self, index: int) -> dict[str, Any]:
        """As arrays of a file, under names of the pair `index`."""
        return {f"touches_{index}_{part}": getattr(self, part) for part in _PARTS}

    @classmethod
    def read(cls, arrays: Mapping[str, Any], index: int) -> Touches | None:
        """Those of the pair `index` in the arrays of a file, None where it has none."""
        names = [f"touches_{index}_{part}" for part in _PARTS]
        return cls(*(arrays[name] for name in names)) if names[0] in arrays else None


class TouchesRecorder:
    """Collects the contacts of a pair that push, step by step, after a first instant without any."""

    def __init__(self) -> None:
        self._points: list[Any] = [np.zeros((0, 3), np.float32)]
        self._forces: list[Any] = [np.zeros((0, 3), np.float32)]

    def add(self, contacts: Contacts) -> None:
        """Record the contacts of one step."""
        pushing = np.any(contacts.forces, axis=1)
        self._points.append(contacts.points[pushing].astype(np.float32))
        self._forces.append(contacts.forces[pushing].astype(np.float32))

    def recorded(self) -> Touches:
        """Those of all steps so far."""
        starts = np.cumsum([0, *(len(points) for points in self._points)])
        return Touches(np.concatenate(self._points), np.concatenate(self._forces), starts)
