"""Straight segments between points embedded in a volume: the stiffness that cables and fibres add.

A segment is a vector x₁ − x₀ = Σ cₐ qₐ + (a part from other bodies). Its second derivatives are blocks
cₐ cᵦ P for every pair of its nodes, with P = kₙ u uᵀ + kₜ (I − u uᵀ) for a segment of direction u.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from pliant.core.arrays import frozen
from pliant.core.immutable import filled
from pliant.core.kernels import kernel
from pliant.core.types import FloatArray, IndexArray, IntArray
from pliant.mesh import Mesh
from pliant.models.model import GeometricStiffness
from pliant.models.pieces import ROUNDED, Ends, Path, Pieces
from pliant.models.volume.barycentric import BarycentricMap, path_segments
from pliant.solvers.linear.pattern import BlockPattern

End = tuple[IntArray, FloatArray]
"""Nodes of an embedded point and its weights on them, with a sign where it is the end of a segment."""


@dataclass(frozen=True, eq=False)
class Segments:
    """s segments over the nodes of one volume: `ptr` (s+1,), `nodes` and `coefficients` are a compressed list by
    segment, nodes ascending; `positions` are those of their node pairs in the pattern of the matrix.
    """

    ptr: IndexArray
    nodes: IntArray
    coefficients: FloatArray
    positions: IntArray | None = None

    @classmethod
    def of(cls, pieces: Sequence[Sequence[End]]) -> Segments:
        """Segments from their signed ends in the volume, one or two each."""
        sets = [_combined(ends) for ends in pieces]
        ptr = np.concatenate([[0], np.cumsum([len(nodes) for nodes, _ in sets])]).astype(np.int64)
        nodes = np.concatenate([nodes for nodes, _ in sets]).astype(np.int32)
        return cls(ptr, nodes, np.concatenate([c for _, c in sets]))

    @classmethod
    def between(cls, nodes: IntArray, weights: FloatArray) -> Segments:
        """The segments between neighbours of a list of embedded points, nodes (k, j) and weights (k, j)."""
        return cls.of([[(nodes[k], -weights[k]), (nodes[k + 1], weights[k + 1])] for k in range(len(nodes) - 1)])

    @classmethod
    def joined(cls, parts: Sequence[Segments]) -> Segments:
        """The segments of all `parts`, which are placed, one after the other."""
        ptr = np.concatenate([[0], np.cumsum(np.concatenate([np.diff(part.ptr) for part in parts]))])
        names = "nodes", "coefficients", "positions"
        return cls(ptr.astype(np.int64), *(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    @property
    def terms(self) -> tuple[IndexArray, IntArray, FloatArray]:
        """`ptr`, nodes and coefficients as kernels take them."""
        return self.ptr, self.nodes, self.coefficients

    def node_sets(self) -> list[IntArray]:
        """Nodes of each segment, which its stiffness couples."""
        return np.split(self.nodes, self.ptr[1:-1])

    def placed(self, pattern: BlockPattern) -> Segments:
        """The segments with their positions in `pattern`."""
        return replace(self, positions=pattern.clique_positions(self.ptr, self.nodes)[1])

    def add_blocks(self, along: FloatArray, across: FloatArray, units: FloatArray, values: FloatArray) -> None:
        """Add cₐ cᵦ (along u uᵀ + across (I − u uᵀ)), N/m, of each segment to the blocks `values`."""
        assert self.positions is not None
        add_segment_blocks(self.ptr, self.coefficients, self.positions, along, across, units, values)

    def vectors(self, q: FloatArray) -> FloatArray:
        """x₁ − x₀ of segments with both ends in the volume, (s, 3), m."""
        terms = self.coefficients[:, None] * q[self.nodes]
        return np.asarray(np.add.reduceat(terms, self.ptr[:-1], axis=0))

    def add_forces(self, along: FloatArray, force: FloatArray) -> None:
        """Add cₐ × `along` (s, 3), N, of each segment to the nodal forces (n, 3)."""
        by_node = np.repeat(along, np.diff(self.ptr), axis=0) * self.coefficients[:, None]
        np.add.at(force, self.nodes, by_node)


@dataclass(frozen=True, eq=False)
class SegmentStiffness(GeometricStiffness):
    """Σ cₐ cᵦ (along u uᵀ + across (I − u uᵀ)) of `segments`; directions `units` (s, 3), `along`, `across` (s,) N/m."""

    segments: Segments
    along: FloatArray
    across: FloatArray
    units: FloatArray

    def add_to(self, matrix: FloatArray) -> None:
        """Add K to the blocks (b, 3, 3) of a volume."""
        self.segments.add_blocks(self.along, self.across, self.units, matrix)

    def add_product(self, y: FloatArray, product: FloatArray) -> None:
        """Add K y to `product`, (n, 3) both, without the blocks."""
        add_segment_product(*self.segments.terms, self.along, self.across, self.units, frozen(y), product)


class PathStiffness(SegmentStiffness):
    """`segments` of a path (`BarycentricMap.segments`) under one `tension` (N): across = tension / length."""

    _path: tuple[Any, ...]

    def add_to(self, matrix: FloatArray) -> None:
        """Add K to the blocks (b, 3, 3) of a volume, in one call."""
        own = self.segments
        assert own.positions is not None
        add_path_blocks(*self._path, own.ptr, own.coefficients, own.positions, matrix)

    def __getattr__(self, name: str) -> Any:
        """`along`, `across` and `units`, measured when first asked for."""
        if name not in ("along", "across", "units"):
            raise AttributeError(name)
        count = len(self.segments.ptr) - 1
        across, units = np.empty(count), np.empty((count, 3))
        measure_path(*self._path, across, units)
        self.__dict__.update(along=np.zeros(count), across=across, units=units)
        return self.__dict__[name]


def _combined(ends: Sequence[End]) -> End:
    """Distinct nodes, ascending, with the sum of their weights."""
    nodes = np.concatenate([nodes for nodes, _ in ends])
    weights = np.concatenate([weights for _, weights in ends])
    unique, index = np.unique(nodes, return_inverse=True)
    summed = np.zeros(len(unique))
    np.add.at(summed, index, weights)
    return unique, summed


@kernel
def add_segment_blocks(ptr, coefficients, positions, along, across, units, values):  # type: ignore[no-untyped-def]
    """Blocks cₐ cᵦ (along u uᵀ + across (I − u uᵀ)) of each segment, lower pairs in the order of its nodes."""
    pair = 0
    for s in range(ptr.shape[0] - 1):
        x, y, z = units[s, 0], units[s, 1], units[s, 2]
        t, d = across[s], along[s] - across[s]
        for a in range(ptr[s], ptr[s + 1]):
            for b in range(ptr[s], a + 1):
                c = coefficients[a] * coefficients[b]
                K = values[positions[pair]]
                pair += 1
                K[0, 0] += c * (t + d * x * x)
                K[1, 1] += c * (t + d * y * y)
                K[2, 2] += c * (t + d * z * z)
                K[0, 1] += c * d * x * y
                K[1, 0] += c * d * x * y
                K[0, 2] += c * d * x * z
                K[2, 0] += c * d * x * z
                K[1, 2] += c * d * y * z
                K[2, 1] += c * d * y * z


@kernel
def add_segment_product(ptr, nodes, coefficients, along, across, units, y, product):  # type: ignore[no-untyped-def]
    """The blocks of `add_segment_blocks` times y (n, 3), added to `product` (n, 3)."""
    v = np.empty(3)
    for s in range(ptr.shape[0] - 1):
        v[:] = 0.0
        for a in range(ptr[s], ptr[s + 1]):
            for i in range(3):
                v[i] += coefficients[a] * y[nodes[a], i]
        u, t = units[s], across[s]
        axial = (along[s] - t) * (u[0] * v[0] + u[1] * v[1] + u[2] * v[2])
        for a in range(ptr[s], ptr[s + 1]):
            for i in range(3):
                product[nodes[a], i] += coefficients[a] * (t * v[i] + axial * u[i])


@kernel
def measure_path(q, nodes, weights, order, fixed, tension, rest, short, across, units):  # type: ignore[no-untyped-def]
    """`across` (s,) N/m and directions `units` (s, 3) of the segments of a path under one tension; bounded where one is
    rounded, or shorter than the fraction `short` of its length `rest` (s,), as `CableRows.bounded_stiffness` says.
    """
    count = len(fixed) - 1
    path_segments(q, nodes, weights, order, fixed, across, units)
    for s in range(count):
        u, length, bounded = units[s], across[s], 0.0
        across[s] = tension / length
        squares = u[0] * u[0] + u[1] * u[1] + u[2] * u[2]
        if squares < ROUNDED:  # λ ℓ is λ ℓ²/2ε there, of the stiffness λ/ε all around
            across[s] *= 0.5 * (1.0 + squares)
            bounded = 1.0
        if short > 0.0:
            bounded = max(bounded, min(max(2.0 * (1.0 - length / (short * rest[s])), 0.0), 1.0))
        if bounded > 0.0:
            for i in range(3):
                u[i] *= np.sqrt(1.0 - bounded)


@kernel
def add_path_blocks(q, nodes, weights, order, fixed, tension, rest, short, ptr, coefficients, positions, values):  # type: ignore[no-untyped-def]
    """`add_segment_blocks` of the segments of a path under one tension."""
    count = len(fixed) - 1
    across, units = np.empty(count), np.empty((count, 3))
    measure_path(q, nodes, weights, order, fixed, tension, rest, short, across, units)
    add_segment_blocks(ptr, coefficients, positions, np.zeros(count), across, units, values)


@kernel
def measure_paths(q, nodes, weights, order, fixed, points, ends, tensions, rest, short, across, units):  # type: ignore[no-untyped-def]
    """`measure_path` of paths one after the other, under one tension each: path c goes through the points `points`[c]
    to `points`[c + 1] of those with `nodes`, and holds the rows `ends`[c] to `ends`[c + 1] of `fixed`.
    """
    for c in range(len(tensions)):
        own, path = slice(points[c], points[c + 1]), slice(ends[c], ends[c + 1])
        pieces = slice(ends[c] - c, ends[c + 1] - c - 1)
        measure_path(
            q, nodes[own], weights[own], order[own], fixed[path], tensions[c], rest[pieces], short, across[pieces],
            units[pieces],
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class VolumePieces(Pieces):
    """Segments of a cable in a volume, located before it is compiled, since its matrix couples their nodes."""

    _: KW_ONLY
    segments: Segments

    @classmethod
    def of(
        cls, body: Any, mesh: Mesh, points: FloatArray, ends: Sequence[Ends], what: str, reach: float
    ) -> VolumePieces:
        """Segments with `ends` among `points` (p, 3), m, of the `mesh` of `body`."""
        located = BarycentricMap.of_points(mesh, points, what=what, reach=reach)
        signed = [[(located.nodes[p], sign * located.weights[p]) for p, sign in piece] for piece in ends]
        return cls(body, points, ends, what, reach, located, segments=Segments.of(signed))

    def joins(self, fixed: FloatArray) -> bool:
        """Whether all segments of the path end in the volume."""
        return len(self.segments.ptr) == len(fixed)

    @classmethod
    def joined(cls, paths: Sequence[Path]) -> VolumePaths:
        """Several paths on one body, in one."""
        parts, orders, fixed = zip(*paths, strict=True)
        return VolumePaths(
            Segments.joined([part.segments for part in parts]),
            BarycentricMap.joined([part.map for part in parts]),
            frozen(np.concatenate(orders)),
            frozen(np.concatenate(fixed)),
            _beginnings(orders),
            _beginnings(fixed),
        )

    def couplings(self) -> list[IntArray]:
        """Nodes of each segment."""
        return self.segments.node_sets()

    def bound(self, model: Any) -> VolumePieces:
        """The segments with their blocks in the matrix of the volume."""
        return replace(self, segments=self.segments.placed(model.pattern))

    def stiffness(self, q: FloatArray, across: FloatArray, units: FloatArray) -> SegmentStiffness:
        """Blocks of the nodes of each segment."""
        return SegmentStiffness(self.segments, np.zeros(len(across)), across, units)

    def path_stiffness(
        self, q: FloatArray, order: IntArray, fixed: FloatArray, tension: float, bound: tuple[FloatArray, float]
    ) -> PathStiffness | None:
        """Blocks of the nodes of each segment, where all segments of the path end in the volume."""
        if not self.joins(fixed):
            return None
        path = (frozen(q), *self.map.means, order, fixed, tension, *bound)
        return filled(PathStiffness, {"segments": self.segments, "_path": path})


@dataclass(frozen=True, eq=False)
class VolumePaths:
    """Paths through the points of `map`, one after the other, with all their `segments`: `order` (p,) are the indices
    of the points in their paths, `fixed` (k, 3) m all points of the paths; `points` and `ends` (c + 1,) are where each
    path begins among both.
    """

    segments: Segments
    map: BarycentricMap
    order: IntArray
    fixed: FloatArray
    points: IndexArray
    ends: IndexArray

    def shortenings(self, q: FloatArray) -> tuple[FloatArray, sparse.csr_matrix]:
        """Lengths L (c,), m, and the rows −∂L/∂q (c, 3n)."""
        return self.map.shortenings(q, self.order, self.fixed, self.points, self.ends)

    def stiffness(self, q: FloatArray, tensions: FloatArray, rest: FloatArray, short: float) -> SegmentStiffness:
        """`PathStiffness` of all paths."""
        count = len(self.segments.ptr) - 1
        across, units = np.empty(count), np.empty((count, 3))
        paths = self.order, self.fixed, self.points, self.ends
        measure_paths(frozen(q), *self.map.means, *paths, frozen(tensions), rest, short, across, units)
        return SegmentStiffness(self.segments, np.zeros(count), across, units)


def _beginnings(parts: Sequence[Any]) -> IndexArray:
    """Where each of `parts` begins in all of them, and their end."""
    ends = np.cumsum([len(part) for part in parts])
    return np.asarray(frozen(np.concatenate([[0], ends]).astype(np.int64)))
