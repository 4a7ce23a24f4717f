"""Rows that keep elements from collapsing: det F of an integration point stays above a bound.

One linear solve does not feel the barrier of a law at det F = 0, and laws such as the corotated one have none. Points
that would invert in a step get a unilateral row each, in the formulation of contacts:

    δ = ℓ (det F − bound) ≥ 0,  λ ≥ 0,  δ λ = 0,     ℓ = w^⅓ of the point's volume w at rest, m

λ is the force (N) with which an element whose volume is used up resists further compression.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from pliant.constraints.keys import RANGES, VOLUMES, first_key
from pliant.constraints.rows import Constraint, RowLaw, Rows, RowView
from pliant.core.types import FloatArray, IndexArray
from pliant.models.body import Model

BOUND = 0.15
"""Least det F of a guarded point: room for what the linearisation of det F over a step leaves out."""
GAIN = 0.02
"""Growth of det F over a step that a point below the bound is asked for: not all at once, which would throw it out."""
RELEASED = 0.25
"""det F from which on a point is no longer guarded in the next step."""
_END = RANGES["least volumes"][1]
MOST = 64
"""Points of a body that are guarded at most: more than that collapse only where a robot has exploded."""


def collapsing(model: Model, x: FloatArray, below: float, others: IndexArray | None = None) -> IndexArray:
    """The integration points of `model` whose det F at x (n, 3), m, is less than `below`, and the `others`; at most
    `MOST`, those of least det F.
    """
    ratio = model.every_volume_ratio(x)
    taken = ratio < below
    if others is not None:
        taken[others] = True
    points = np.flatnonzero(taken)
    if len(points) > MOST:
        points = np.sort(points[np.argsort(ratio[points], kind="stable")[:MOST]])
    return points


class LeastVolume(Constraint):
    """det F ≥ `BOUND` at the integration `points` of the volume `model`, body `index` of a world, linearised at the
    positions `x` (n, 3), m; None: where the step is.
    """

    def __init__(self, model: Model, index: int, points: IndexArray, x: FloatArray | None = None) -> None:
        self.spec = model.spec
        self.model, self.index, self.points, self.x = model, index, points, x

    @property
    def name(self) -> str:
        """Name of the constraint, for people."""
        return f"least volume of {self.model.name}"

    def rows(self, view: RowView, found: None) -> tuple[Rows, None]:
        """A unilateral row for each point."""
        q, start = view.q[self.index], view.start[self.index]
        at = self.model.volume_ratios(self.points, q if self.x is None else self.x)
        ratio = at.ratio if self.x is None else at.ratio + at.gradient @ (q - self.x).ravel()
        began = self.model.volume_ratios(self.points, start).ratio
        H = view.blank(len(self.points))
        H[self.index] = (sparse.diags(at.length) @ at.gradient).tocsr()
        gap = at.length * (ratio - np.minimum(BOUND, began + GAIN))
        return Rows.of(H, gap, RowLaw.SIGNORINI, key=first_key(VOLUMES, self.index) + self.points), None


def any_guarded(keys: IndexArray) -> bool:
    """Whether rows `keys` (m,) of a step guard a point of any body: those that do stand last."""
    return bool(len(keys)) and VOLUMES <= keys.item(-1) < _END


def guarded(model: Model, index: int, keys: IndexArray, x: FloatArray) -> IndexArray:
    """The integration points of body `index` to guard from x (n, 3), m, on: all below `RELEASED`, as long as rows
    `keys` of the last step guarded one of the body.
    """
    first = first_key(VOLUMES, index)
    if not ((keys >= first) & (keys < first + model.volume_point_count)).any():
        return np.zeros(0, np.int64)
    return collapsing(model, x, RELEASED)
