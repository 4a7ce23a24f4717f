"""Points embedded in a network of beams: between the nodes, off the axis, with a frame of their own.

With ξ ∈ [0, 1] along a piece, triads t₁ and t₂ at its ends (first columns e₁ and e₂), d = x₂ − x₁ and l = |d|, the
axis is the cubic of Hermite and the frame goes round the arc from one triad to the other,

    p(ξ) = x₁ + ξ²(3 − 2ξ) d + l (ξ(1 − ξ)² e₁ − ξ²(1 − ξ) e₂),    F(ξ) = t₁ exp(ξ ψ),   ψ = log(t₁ᵀ t₂),

and a point stands at p + F offset. Both turn with the piece. With T the left Jacobian of exp the spin of F is

    ω = δθ₁ + Y (δθ₂ − δθ₁),   Y = ξ t₁ T(ξψ) T(ψ)⁻¹ t₁ᵀ,

so the derivatives below are exact.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from pliant.core.arrays import csr, writable
from pliant.core.checks import check_array, check_indices
from pliant.core.errors import InputError
from pliant.core.kernels import kernel
from pliant.core.spins import (
    cross,
    exponential,
    left_jacobian,
    left_jacobian_inverse,
    logarithm,
    multiply,
    multiply_transposed,
    rotate,
)
from pliant.core.types import FloatArray, IndexArray, IntArray
from pliant.models.point_map import CarrierBound, PointMap

if TYPE_CHECKING:
    from pliant.models.beam.model import BeamModel


@dataclass(frozen=True, eq=False)
class BeamMap(PointMap):
    """p points on pieces of a network of n nodes.

    `nodes` (p, 2) are the ends of each point's piece, `triads` (p, 2, 3, 3) the piece's frame in the frames of its
    ends, `coordinate` (p,) is ξ, `offset` (p, 3) m the position in the frame F. q is (n, 4, 3), dx (n, 2, 3).
    """

    nodes: IntArray
    triads: FloatArray
    coordinate: FloatArray
    offset: FloatArray
    node_count: int

    @classmethod
    def at(cls, model: BeamModel, pieces: Any, coordinate: Any, offset: Any = None) -> BeamMap:
        """Points at `coordinate` (p,), in [0, 1], along `pieces` (p,) with `offset` (p, 3) m in their frames."""
        chosen = np.asarray(pieces, np.int64)
        along = np.ascontiguousarray(coordinate, np.float64)
        if len(along) and (along.min() < 0.0 or along.max() > 1.0):
            raise InputError(f"coordinates along {model.name!r} must be in [0, 1], got {along.min()} … {along.max()}")
        offsets = np.zeros((len(chosen), 3)) if offset is None else np.ascontiguousarray(offset, np.float64)
        elements = model.elements
        nodes = np.ascontiguousarray(elements.edges[chosen])
        return cls(nodes, np.ascontiguousarray(elements.triads[chosen]), along, offsets, model.node_count)

    def check(self, shape: tuple[int, ...]) -> None:
        """An error where the arrays of the map, read from a file, do not belong together or to a q of `shape`."""
        if shape[1:] != (4, 3) or self.node_count != shape[0]:
            raise InputError(f"points of a beam of {self.node_count} nodes do not belong to positions of shape {shape}")
        count = len(self.nodes)
        check_array("nodes of points on a beam", self.nodes, (count, 2), np.int32)
        check_indices("nodes of points on a beam", self.nodes, 0, shape[0])
        check_array("frames of points on a beam", self.triads, (count, 2, 3, 3))
        check_array("coordinates of points on a beam", self.coordinate, (count,))
        check_array("offsets of points on a beam", self.offset, (count, 3))

    @classmethod
    def of_points(cls, model: BeamModel, points: FloatArray, *, what: str, reach: float = 0.0) -> BeamMap:
        """Embedded points (p, 3), m, as the world begins, each on the nearest element.

        One farther from the axis than the section's radius plus `reach` (m) is an error that names it.
        """
        points = np.atleast_2d(np.asarray(points, np.float64))
        ends = model.rest[model.elements.edges, 0]
        fractions, away = chord_projection(ends[:, 0], ends[:, 1], points)
        distances = np.linalg.norm(away, axis=2)
        pieces = np.argmin(distances, axis=1)
        rows = np.arange(len(points))
        along, distance = fractions[rows, pieces], distances[rows, pieces]
        radius = float(np.linalg.norm(model.spec.section.outline(), axis=1).max())
        if (distance > (1.0 + 1e-9) * (radius + reach)).any():
            worst = int(np.argmax(distance))
            raise InputError(
                f"{what}: point {worst} at {points[worst]} m is {distance[worst]:.3g} m from the axis of "
                f"{model.name!r}, whose section reaches {radius:.3g} m; move it, or raise reach"
            )
        axis = cls.at(model, pieces, along)
        return axis.carrying(model.initial()[0], points)

    def carrying(self, q: FloatArray, points: FloatArray) -> BeamMap:
        """The map whose points stand at `points` (p, 3) m when the network is at q, on the same pieces."""
        centers, frames, *_ = self.centered()._evaluated(q, jacobian=False)
        offset = np.einsum("pri,pr->pi", frames, points - centers)
        return BeamMap(self.nodes, self.triads, self.coordinate, offset, self.node_count)

    def at_fractions(self, fractions: FloatArray) -> BeamMap:
        """The map of the same points at `fractions` (p,) along their pieces."""
        return replace(self, coordinate=fractions)

    def centered(self) -> BeamMap:
        """The map of the points on the axis beside these."""
        return BeamMap(self.nodes, self.triads, self.coordinate, np.zeros_like(self.offset), self.node_count)

    def selected(self, which: Any) -> BeamMap:
        """The map of some of the points, in the order of `which`."""
        nodes, triads = np.ascontiguousarray(self.nodes[which]), np.ascontiguousarray(self.triads[which])
        return BeamMap(nodes, triads, self.coordinate[which], np.ascontiguousarray(self.offset[which]), self.node_count)

    def points(self, q: FloatArray) -> FloatArray:
        """Positions of the embedded points, (p, 3), m."""
        return self._evaluated(q, jacobian=False)[0]

    def frames(self, q: FloatArray) -> FloatArray:
        """Frames F at the embedded points, (p, 3, 3), first columns along the axis."""
        return self._evaluated(q, jacobian=False)[1]

    def pull_back(self, q: FloatArray, H: sparse.csr_matrix) -> sparse.csr_matrix:
        """Rows over the nodes, (m, 6n), from rows over the points' coordinates, (m, 3p)."""
        return H @ self._matrix(self._evaluated(q, jacobian=True)[2])

    def pull_back_row(self, q: FloatArray, slope: FloatArray) -> sparse.csr_matrix:
        """The row over the nodes, (1, 6n), of one row over all points, `slope` (p, 3); nodes may occur twice."""
        values = np.einsum("pr,prc->pc", slope, self.moves(q)).ravel()
        columns, _ = self._columns
        return csr(values, columns, np.array([0, len(values)], np.int32), (1, self.unknown_count))

    def blocks(self, q: FloatArray) -> tuple[FloatArray, IntArray]:
        """Derivatives (p, 3, 12) of the embedded points by the unknowns of their pieces' ends, and their columns."""
        return self.moves(q), self._columns[0].reshape(-1, 12)

    def moves(self, q: FloatArray) -> FloatArray:
        """Derivatives (p, 3, 12) of the points by x₁ (m), ϑ₁ (rad), x₂ and ϑ₂ of the nodes of their pieces."""
        return self._evaluated(q, jacobian=True)[2]

    def spins(self, q: FloatArray) -> FloatArray:
        """Spins (p, 3, 12) of the points' frames by x₁, ϑ₁, x₂ and ϑ₂ of the nodes of their pieces, rad."""
        return self._evaluated(q, jacobian=True)[3]

    def pull_back_spins(self, q: FloatArray, H: sparse.csr_matrix) -> sparse.csr_matrix:
        """Rows over the nodes, (m, 6n), from rows over the spins of the points' frames, (m, 3p)."""
        return H @ self._matrix(self._evaluated(q, jacobian=True)[3])

    def node_poses(self, q: FloatArray) -> FloatArray:
        """Poses of the nodes, (n, 4, 3), m."""
        return q

    def carriers(self, q: FloatArray) -> FloatArray:
        """Poses of the nodes, (n, 4, 3), m."""
        return q

    def carrier_velocities(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Velocities of the nodes, (n, 3), m/s."""
        return np.asarray(v[:, 0])

    def carrier_bound(self, which: IndexArray) -> CarrierBound:
        """How the points `which` (k,) follow the nodes of their pieces.

        The cubic's two bows sum to s (1 − s) ≤ ¼ of the length, which changes by twice what the ends move at most; the
        frame between two triads turns no more than half again as much as the farther turned of them.
        """
        arms = 1.5 * np.linalg.norm(self.offset[which], axis=1)
        return CarrierBound(self.nodes[which], np.full(len(which), 1.5), arms, 0.25)

    def _evaluated(self, q: FloatArray, *, jacobian: bool) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        count = len(self.coordinate)
        wide = (count if jacobian else 0, 3, 12)
        points, frames, moves, turns = np.empty((count, 3)), np.empty((count, 3, 3)), np.empty(wide), np.empty(wide)
        given = writable(q)
        _evaluate(given, self.nodes, self.triads, self.coordinate, self.offset, points, frames, moves, turns)
        return points, frames, moves, turns

    def _matrix(self, blocks: FloatArray) -> sparse.csr_matrix:
        own, ends = self._columns
        columns = np.repeat(own.reshape(-1, 12), 3, axis=0).ravel()
        return csr(blocks.ravel(), columns, ends, (len(ends) - 1, self.unknown_count))

    @property
    def unknown_count(self) -> int:
        """Six for each node."""
        return 6 * self.node_count

    @cached_property
    def _columns(self) -> tuple[IntArray, IntArray]:
        """Columns of the twelve unknowns of each point, (12p,), and row ends of three rows a point, (3p + 1,)."""
        own = (6 * self.nodes[:, :, None] + np.arange(6, dtype=np.int32)).ravel()
        return own, 12 * np.arange(3 * len(self.nodes) + 1, dtype=np.int32)


def sampled(model: BeamModel, count: int) -> BeamMap:
    """Points on the axis: every node, and between the ends of each piece so many that it has `count` steps."""
    edges = model.elements.edges
    first = np.zeros((model.node_count, 2), np.int64)  # a piece of each node, and which of its ends the node is
    first[edges[::-1, ::-1].ravel(), 0] = np.repeat(np.arange(len(edges))[::-1], 2)
    first[:, 1] = edges[first[:, 0], 1] == np.arange(model.node_count)
    inner = np.arange(1, count) / count
    pieces = np.concatenate([first[:, 0], np.repeat(np.arange(len(edges)), count - 1)])
    return BeamMap.at(model, pieces, np.concatenate([first[:, 1], np.tile(inner, len(edges))]))


def chord_projection(start: FloatArray, end: FloatArray, points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Fractions (p, m) of m chords nearest to `points` (p, 3), and the vectors (p, m, 3), m, from there to these."""
    chord = end - start
    away = points[:, None] - start
    along = np.clip(np.einsum("pmi,mi->pm", away, chord) / np.einsum("mi,mi->m", chord, chord), 0.0, 1.0)
    return along, away - along[:, :, None] * chord


@kernel
def _evaluate(q, nodes, triads, coordinate, offset, points, frames, moves, turns):  # type: ignore[no-untyped-def]
    """Positions, frames, and where `moves` has room their derivatives (p, 3, 12) in (x₁, ϑ₁, x₂, ϑ₂)."""
    t1, t2, R, T, Y = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    psi, d, arm, work, unit = np.empty(3), np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    for p in range(len(coordinate)):
        i, j, s = nodes[p, 0], nodes[p, 1], coordinate[p]
        multiply(q[i, 1:], triads[p, 0], t1)
        multiply(q[j, 1:], triads[p, 1], t2)
        multiply_transposed(t1, t2, R)
        logarithm(R, psi)
        exponential(psi, s, R)
        multiply(t1, R, T)
        for r in range(3):
            d[r] = q[j, 0, r] - q[i, 0, r]
            for c in range(3):
                frames[p, r, c] = T[r, c]
        length = np.sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2])
        middle, first, second = s * s * (3.0 - 2.0 * s), s * (1.0 - s) ** 2, -s * s * (1.0 - s)
        rotate(T, offset[p], arm)
        for r in range(3):
            bow = first * t1[r, 0] + second * t2[r, 0]
            points[p, r] = q[i, 0, r] + middle * d[r] + length * bow + arm[r]
        if len(moves) == 0:
            continue
        left_jacobian(psi, s, R)
        left_jacobian_inverse(psi, 1.0, T)
        multiply(R, T, Y)
        multiply(t1, Y, R)
        for r in range(3):
            for c in range(3):
                Y[r, c] = s * (R[r, 0] * t1[c, 0] + R[r, 1] * t1[c, 1] + R[r, 2] * t1[c, 2])
        for r in range(3):
            for c in range(3):
                one = 1.0 if r == c else 0.0
                slope = middle * one + (first * t1[r, 0] + second * t2[r, 0]) * d[c] / length
                moves[p, r, c], moves[p, r, 6 + c] = one - slope, slope
                turns[p, r, c] = turns[p, r, 6 + c] = 0.0
                turns[p, r, 3 + c], turns[p, r, 9 + c] = one - Y[r, c], Y[r, c]
        for c in range(3):  # column c of the spins: δθ × l h e + ω × arm
            for end in range(2):
                for r in range(3):
                    unit[r] = turns[p, r, 3 + 6 * end + c]
                cross(unit, arm, work)
                for r in range(3):
                    moves[p, r, 3 + 6 * end + c] = work[r]
                    unit[r] = 1.0 if r == c else 0.0
                for r in range(3):
                    d[r] = length * (first * t1[r, 0] if end == 0 else second * t2[r, 0])
                cross(unit, d, work)
                for r in range(3):
                    moves[p, r, 3 + 6 * end + c] += work[r]
