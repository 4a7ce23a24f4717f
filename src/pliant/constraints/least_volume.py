"""Rows that keep elements from collapsing: det F of an integration point stays above a bound.

One linear solve does not feel the barrier of a law at det F = 0, and laws such as the corotated one have none. Points
that would invert in a step get a unilateral row each, in the formulation of contacts:

    δ = ℓ (det F − bound) ≥ 0,  λ ≥ 0,  δ λ = 0,     ℓ = w^⅓ of the point's volume w at rest, m

λ is the force (N) with which an element whose volume is used up resists further compression.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from pliant.constraints.keys import VOLUMES, first_key
from pliant.constraints.rows import Constraint, RowLaw, Rows, RowView
from pliant.core.types import FloatArray, IndexArray
from pliant.models.volume import VolumeModel

BOUND = 0.15
"""Least det F of a guarded point: room for what the linearisation of det F over a step leaves out."""
GAIN = 0.02
"""Growth of det F over a step that a point below the bound is asked for: not all at once, which would throw it out."""
RELEASED = 0.25
"""det F from which on a point is no longer guarded in the next step."""
MOST = 64
"""Points of a body that are guarded at most: more than that collapse only where a robot has exploded."""


class VolumeRatios(NamedTuple):
    """det F (p,) of some integration points, and its gradient (p, 3 n) in the positions of the nodes, 1/m."""

    ratio: FloatArray
    gradient: sparse.csr_matrix

    @classmethod
    def at(cls, model: VolumeModel, points: IndexArray, x: FloatArray) -> VolumeRatios:
        """Those of the integration `points` of `model` at the positions x (n, 3), m."""
        p = model.points
        counts = p.ptr[points + 1] - p.ptr[points]
        ends = np.cumsum(counts)
        entries = np.repeat(p.ptr[points] - (ends - counts), counts) + np.arange(counts.sum())
        nodes, G = p.nodes[entries], p.gradients[entries]
        owner = np.repeat(np.arange(len(points)), counts)
        F = np.add.reduceat(x[nodes][:, :, None] * G[:, None, :], ends - counts)
        rows = F.transpose(1, 0, 2)
        cofactor = np.stack([np.cross(rows[1], rows[2]), np.cross(rows[2], rows[0]), np.cross(rows[0], rows[1])], 1)
        ratio = np.einsum("pi,pi->p", F[:, 0], cofactor[:, 0])
        values = np.einsum("kij,kj->ki", cofactor[owner], G)
        columns = 3 * nodes[:, None].astype(np.int64) + np.arange(3)
        gradient = sparse.csr_matrix(
            (values.ravel(), columns.ravel(), 3 * np.concatenate([[0], ends])), shape=(len(points), x.size)
        )
        return cls(ratio, gradient)


def collapsing(model: VolumeModel, x: FloatArray, below: float, others: IndexArray | None = None) -> IndexArray:
    """The integration points of `model` whose det F at x (n, 3), m, is less than `below`, and the `others`; at most
    `MOST`, those of least det F.
    """
    ratio = VolumeRatios.at(model, np.arange(model.points.count), x).ratio
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

    def __init__(self, model: VolumeModel, index: int, points: IndexArray, x: FloatArray | None = None) -> None:
        self.spec = model.spec
        self.model, self.index, self.points, self.x = model, index, points, x

    @property
    def name(self) -> str:
        """Name of the constraint, for people."""
        return f"least volume of {self.model.name}"

    def rows(self, view: RowView, found: None) -> tuple[Rows, None]:
        """A unilateral row for each point."""
        q, start = view.q[self.index], view.start[self.index]
        at = VolumeRatios.at(self.model, self.points, q if self.x is None else self.x)
        ratio = at.ratio if self.x is None else at.ratio + at.gradient @ (q - self.x).ravel()
        began = VolumeRatios.at(self.model, self.points, start).ratio
        length = np.cbrt(self.model.points.weight[self.points])
        H = view.blank(len(self.points))
        H[self.index] = sparse.diags(length) @ at.gradient
        H[self.index] = H[self.index].tocsr()
        gap = length * (ratio - np.minimum(BOUND, began + GAIN))
        return Rows.of(H, gap, RowLaw.SIGNORINI, key=first_key(VOLUMES, self.index) + self.points), None


def guarded(model: VolumeModel, index: int, keys: IndexArray, x: FloatArray) -> IndexArray:
    """The integration points of body `index` to guard from x (n, 3), m, on: all below `RELEASED`, as long as rows
    `keys` of the last step guarded one of the body.
    """
    first = first_key(VOLUMES, index)
    if not ((keys >= first) & (keys < first + model.points.count)).any():
        return np.zeros(0, np.int64)
    return collapsing(model, x, RELEASED)
