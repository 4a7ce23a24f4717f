"""Where two bodies touched over a run and how hard, step by step: as many contacts as there were each time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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

    @classmethod
    def of(cls, steps: Sequence[Contacts]) -> Touches:
        """Those of each step after a first instant without any."""
        pushing = [np.any(step.forces, axis=1) for step in steps]
        none = np.zeros((0, 3), np.float32)
        return cls(
            np.concatenate(
                [none, *(step.points[p].astype(np.float32) for step, p in zip(steps, pushing, strict=True))]
            ),
            np.concatenate(
                [none, *(step.forces[p].astype(np.float32) for step, p in zip(steps, pushing, strict=True))]
            ),
            np.cumsum([0, 0, *(int(p.sum()) for p in pushing)]),
        )

    @classmethod
    def joined(cls, parts: Sequence[Touches]) -> Touches:
        """Those of runs that follow each other: each but the first begins at the last instant of the one before."""
        counts = np.concatenate([parts[0].counts, *(part.counts[1:] for part in parts[1:])])
        later = [part.starts[1] for part in parts[1:]]
        return cls(
            np.concatenate([parts[0].points, *(part.points[k:] for part, k in zip(parts[1:], later, strict=True))]),
            np.concatenate([parts[0].forces, *(part.forces[k:] for part, k in zip(parts[1:], later, strict=True))]),
            np.concatenate([[0], np.cumsum(counts)]),
        )

    @property
    def counts(self) -> IndexArray:
        """How many contacts pushed at each instant, no unit (T,)."""
        return np.diff(self.starts)

    def at(self, instant: int) -> tuple[FloatArray, FloatArray]:
        """Points (k, 3) m and forces (k, 3) N at the instant of this number."""
        own = slice(int(self.starts[instant]), int(self.starts[instant + 1]))
        return np.asarray(self.points[own], float), np.asarray(self.forces[own], float)

    def arrays(self, number: int) -> dict[str, Any]:
        """As arrays of a file, under names of the pair `number`."""
        return {f"touches_{number}_{part}": getattr(self, part) for part in _PARTS}

    @classmethod
    def read(cls, arrays: Mapping[str, Any], number: int) -> Touches | None:
        """Those of the pair `number` in the arrays of a file, None where it has none."""
        names = [f"touches_{number}_{part}" for part in _PARTS]
        return cls(*(arrays[name] for name in names)) if names[0] in arrays else None
