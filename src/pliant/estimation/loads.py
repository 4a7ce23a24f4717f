"""Known external loads on the bodies, and the row by which a step carries them.

A push along the normal follows the surface. Its generalized force changes with the motion of the three nodes of its
triangle, F = w β n(q), by the unsymmetric stiffness w β ∂n/∂q.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy import sparse

from pliant.constraints.rows import Constraint, RowLaw, Rows, RowView
from pliant.core.lie import cross_matrix
from pliant.core.types import FloatArray, IntArray
from pliant.mesh.queries import nearest_triangles
from pliant.mesh.tree import BoxTree, build_tree
from pliant.models.point_map import PointMap
from pliant.models.volume.model import VolumeModel


class Load(Protocol):
    """A load on the body `index`."""

    @property
    def index(self) -> int:
        """Index of the body."""

    def generalized(self, q: FloatArray) -> FloatArray:
        """Its generalized force (unknowns,), N (and N·m), with the body at q."""


@dataclass(frozen=True, eq=False)
class Place:
    """Points of the body `index`."""

    index: int
    map: PointMap


@dataclass(frozen=True, eq=False)
class PointLoad:
    """A dead force (3,), N, at a place."""

    place: Place
    force: FloatArray

    @property
    def index(self) -> int:
        """Index of the body."""
        return self.place.index

    def generalized(self, q: FloatArray) -> FloatArray:
        """See `Load`."""
        return np.asarray(self.place.map.pull_back_row(q, self.force[None]).toarray()).ravel()


@dataclass(frozen=True, eq=False)
class NodalLoad:
    """Dead forces on the nodes of a volume, flat (3 n,), N."""

    index: int
    forces: FloatArray

    def generalized(self, q: FloatArray) -> FloatArray:
        """See `Load`."""
        return self.forces


@dataclass(frozen=True, eq=False)
class Skin:
    """Triangles (t, 3) of the surface of the body `index` on which a push is looked for."""

    index: int
    model: VolumeModel
    triangles: IntArray

    @property
    def length(self) -> float:
        """Largest extent of the body, m."""
        return float(np.ptp(self.model.rest, axis=0).max())

    def inward(self, q: FloatArray) -> FloatArray:
        """Unit normals into the body where its nodes are at q, (t, 3)."""
        a, b, c = (q[self.triangles[:, i]] for i in range(3))
        normal = np.cross(c - a, b - a)
        return np.asarray(normal / np.linalg.norm(normal, axis=1, keepdims=True))

    def between(self, one: Spot, other: Spot, fraction: float) -> tuple[int, FloatArray]:
        """The triangle and weights nearest to the point a `fraction` of the way from one place to the other."""
        rest = self.model.rest
        start, end = (spot.weights @ rest[spot.nodes] for spot in (one, other))
        found, foot = nearest_triangles(rest, self.triangles, self._tree, (start + fraction * (end - start))[None])
        corners = rest[self.triangles[found[0]]]
        edges = np.stack([corners[1] - corners[0], corners[2] - corners[0]], axis=1)
        v = np.linalg.lstsq(edges, foot[0] - corners[0], rcond=None)[0]
        weights = np.clip([1.0 - v.sum(), *v], 0.0, 1.0)
        return int(found[0]), weights / weights.sum()

    @cached_property
    def _tree(self) -> BoxTree:
        corners = self.model.rest[self.triangles]
        return build_tree(corners.min(axis=1), corners.max(axis=1))


@dataclass(frozen=True, eq=False)
class Spot:
    """A push on the triangle of `nodes` (3,) of the body `index`, at barycentric `weights` (3,): of `force` (3,) N, or,
    where `size` (N) is not None, along the inward normal.
    """

    index: int
    nodes: IntArray
    weights: FloatArray
    force: FloatArray
    size: float | None

    def at(self, q: FloatArray) -> FloatArray:
        """The force (3,), N, where the nodes are at q."""
        return self.force if self.size is None else self.size * _inward(q[self.nodes])[0]

    def generalized(self, q: FloatArray) -> FloatArray:
        """See `Load`."""
        made = np.zeros(q.shape)
        np.add.at(made, self.nodes, np.outer(self.weights, self.at(q)))
        return made.ravel()

    def stiffness(self, q: FloatArray) -> FloatArray:
        """∂F/∂q (9, 9) over the corners; zero for a dead force, N/m."""
        if self.size is None:
            return np.zeros((9, 9))
        return np.asarray(self.size * np.kron(self.weights[:, None], _inward(q[self.nodes])[1]))

    def unknowns(self) -> IntArray:
        """The unknowns (9,) of the corners."""
        return np.asarray((3 * self.nodes[:, None] + np.arange(3)).ravel())


def _inward(corners: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The unit normal (3,) into the body of a triangle (3, 3), and its derivative (3, 9) by the corners, 1/m."""
    a, b, c = corners
    first, second = c - a, b - a
    normal = np.cross(first, second)
    length = float(np.linalg.norm(normal))
    n = normal / length
    by_first, by_second = -cross_matrix(second), cross_matrix(first)
    by = np.hstack([-by_first - by_second, by_second, by_first])
    return n, (np.eye(3) - np.outer(n, n)) @ by / length


@dataclass(frozen=True, eq=False)
class AppliedLoads(Constraint):
    """Loads as one row: H is their generalized force, and λ = 1."""

    loads: tuple[Load, ...]
    name: str = "loads"

    def rows(self, view: RowView, found: object = None) -> tuple[Rows, None]:
        """The row; its δ has no meaning."""
        H = view.blank(1)
        for index, whole in summed(self.loads, view.q).items():
            H[index] = sparse.csr_matrix(whole[None])
        return Rows.of(H, np.zeros(1), int(RowLaw.IMPOSED), target=1.0), None


def summed(loads: Sequence[Load], q: Sequence[FloatArray]) -> dict[int, FloatArray]:
    """The generalized forces of `loads` by body."""
    made: dict[int, FloatArray] = {}
    for load in loads:
        own = load.generalized(q[load.index])
        made[load.index] = own if load.index not in made else made[load.index] + own
    return made
