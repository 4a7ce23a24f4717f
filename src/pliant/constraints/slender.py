"""Contacts between slender bodies, rods and beams: round segments against round segments, or one body with itself.

`collision.narrow.segments` finds where chords are close. Newton's iteration along the tangents then moves the nearest
points to the curved axes, so that gaps are those of the bodies, not of their chords. A contact acts on both bodies at
one point, half-way through its gap: forces and moments of the two are then opposite to the last digit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from pliant.collision.contacts import ContactKind, ContactSet, check_capacity, key_base
from pliant.collision.narrow.segments import SegmentSet, segment_contacts
from pliant.collision.surface import EDGE_LIMIT
from pliant.constraints.colliders import Collider
from pliant.constraints.contact import APPROACH, ContactPair
from pliant.constraints.rows import RowView
from pliant.core.types import BoolArray, FloatArray, IndexArray, IntArray
from pliant.models.axis import Axis
from pliant.models.body import Model

_ROUNDS = 2
"""Newton iterations from the chords to the axes; each squares the error."""
_ALONG = 1e-9
"""Axes closer than this fraction of the sum of their radii have no direction between them."""
_PARALLEL = 1e-3
"""Axes that intersect at a smaller sine of their angle count as parallel: any normal of theirs will do."""
_PASSED = -0.5
"""Cosine of the normals of two steps below which the axes have passed each other, 120 degrees."""


@dataclass(frozen=True, eq=False)
class Side:
    """A slender collider with the segments of its axis."""

    collider: Collider
    strand: Axis
    segments: SegmentSet
    taking_part: BoolArray

    @classmethod
    def of(cls, collider: Collider, models: Sequence[Model]) -> Side:
        """The segments between the colliding points of `collider`, the body of one of `models`."""
        assert collider.index is not None
        model = models[collider.index]
        strand = model.axis()
        rest = collider.map.points(model.initial()[0])
        taking_part: BoolArray = np.asarray(np.isin(strand.segments, collider.nodes).all(axis=1))
        return cls(collider, strand, SegmentSet.build(strand.segments, strand.radii, rest, taking_part), taking_part)

    @cached_property
    def listed(self) -> IndexArray:
        """Indices of the segments that take part."""
        return np.flatnonzero(self.taking_part)

    @cached_property
    def middles(self) -> Any:
        """The map of the middles of these."""
        return self.strand.on_segments(self.listed, np.full(len(self.listed), 0.5))

    def chords(self, q: FloatArray) -> tuple[FloatArray, float]:
        """The vertices (P, 3), m, and the largest distance of the axis from its chords, m."""
        points, along = self.collider.map.points(q), self.collider.map.frames(q)[:, :, 0]
        ends = along[self.strand.segments]
        turned = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)
        return points, float((0.125 * self.strand.lengths * turned).max())

    def axis(self, q: FloatArray, segments: IntArray, parameters: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Positions (m, 3) on the axis, m, and their derivatives by the parameters in [0, 1], m."""
        there = self.strand.on_segments(segments, parameters)
        return there.points(q), there.frames(q)[:, :, 0] * self.strand.lengths[segments, None]

    def nodes(self, segments: IntArray, parameters: FloatArray) -> tuple[IntArray, FloatArray]:
        """Vertices (m, 3) and weights (m, 3) of points at `parameters` of segments, as a contact set has them."""
        none = np.full((len(segments), 1), -1, np.int32)
        weights = np.stack([1.0 - parameters, parameters, np.zeros(len(parameters))], axis=1)
        return np.hstack([self.strand.segments[segments], none]), weights

    def gradient(
        self, view: RowView, nodes: IntArray, weights: FloatArray, points: FloatArray, directions: FloatArray
    ) -> sparse.csr_matrix:
        """Rows (m w, unknowns) of `points` (m, 3) m on sections at `nodes`, `weights`, along `directions` (m, w, 3)."""
        q = self.collider.q(view)
        there = self.strand.on_segments(self.segments.index_of(nodes), weights[:, 1])
        return there.carrying(q, points).pull_back_along(q, directions)


@dataclass(frozen=True, eq=False)
class SlenderPair(ContactPair):
    """Two slender bodies that collide, or one that touches itself; `sides` are those of `a` and `b`."""

    sides: tuple[Side, ...] = ()

    @property
    def direction_models(self) -> tuple[int, ...]:
        """Indices of both models: points of their axes are no linear functions of the unknowns."""
        return tuple(side.collider.index for side in self.sides if side.collider.index is not None)

    def contact_set(self, view: RowView, previous: ContactSet | None) -> ContactSet:
        """Contacts within the margin at the positions of `view`; those of the `previous` step keep their sides."""
        a, b = self.sides
        q_a, q_b = a.collider.q(view), b.collider.q(view)
        margin = self._margin(view)
        points_a, slack_a = a.chords(q_a)
        points_b, slack_b = (points_a, slack_a) if a is b else b.chords(q_b)
        found = segment_contacts(a.segments, points_a, b.segments, points_b, margin=margin + slack_a + slack_b)
        parameters = self._on_axes(q_a, q_b, found.side, found.segments, found.parameters)
        contacts = self._contact_set(q_a, q_b, found.side, found.segments, parameters, previous)
        near = np.flatnonzero(contacts.gap <= margin)
        check_capacity(len(near), self.capacity)
        return contacts.selected(near)

    def _on_axes(
        self, q_a: FloatArray, q_b: FloatArray, side: IntArray, segments: IntArray, parameters: FloatArray
    ) -> FloatArray:
        """Parameters (m, 2) of the nearest points on the axes, from those on the chords; vertices keep theirs."""
        a, b = self.sides
        moves = np.stack([side != 0, side != 1], axis=1)
        for _ in range(_ROUNDS):
            p, u = a.axis(q_a, segments[:, 0], parameters[:, 0])
            r, v = b.axis(q_b, segments[:, 1], parameters[:, 1])
            parameters = np.clip(parameters + _nearest_on_lines(p - r, u, v, moves), 0.0, 1.0)
        return parameters

    def _contact_set(
        self, q_a: FloatArray, q_b: FloatArray, side: IntArray, segments: IntArray, parameters: FloatArray,
        previous: ContactSet | None,
    ) -> ContactSet:  # fmt: skip
        a, b = self.sides
        p, u = a.axis(q_a, segments[:, 0], parameters[:, 0])
        r, v = b.axis(q_b, segments[:, 1], parameters[:, 1])
        radius_a, radius_b = a.strand.radii[segments[:, 0]], b.strand.radii[segments[:, 1]]
        normal, distance = _directions(p - r, u, v, radius_a + radius_b)
        nodes_a, weights_a = a.nodes(segments[:, 0], parameters[:, 0])
        nodes_b, weights_b = b.nodes(segments[:, 1], parameters[:, 1])
        kind = np.array([ContactKind.VERTEX_FACE, ContactKind.FACE_VERTEX, ContactKind.EDGE_EDGE], np.uint8)[side]
        keys = self._keys(side, segments, parameters)
        passed = _passed(keys, normal, previous) & (side == 2)
        normal[passed] *= -1.0
        distance[passed] *= -1.0
        order = np.argsort(keys, kind="stable")
        return ContactSet(
            kind=kind[order], key=keys[order], face=segments[order, 1],
            nodes_a=nodes_a[order], weights_a=weights_a[order], nodes_b=nodes_b[order], weights_b=weights_b[order],
            normal=normal[order], gap=(distance - radius_a - radius_b)[order],
            point_a=(p - radius_a[:, None] * normal)[order], point_b=(r + radius_b[:, None] * normal)[order],
            point_count_a=len(a.segments.owner), point_count_b=len(b.segments.owner),
        )  # fmt: skip

    def _keys(self, side: IntArray, segments: IntArray, parameters: FloatArray) -> Any:
        """Identities: two crossing segments, or a vertex and the rank of the contact among those of the vertex."""
        rows = np.arange(len(side))
        ends = np.rint(parameters).astype(np.int64)
        vertex = np.where(
            side == 0,
            self.sides[0].strand.segments[segments[:, 0]][rows, ends[:, 0]],
            self.sides[1].strand.segments[segments[:, 1]][rows, ends[:, 1]],
        ).astype(np.int64)
        first = np.where(side == 2, segments[:, 0], vertex)
        order = np.lexsort((segments[:, 1], segments[:, 0], first, side))
        new = np.ones(len(side), bool)
        new[1:] = (np.diff(first[order]) != 0) | (np.diff(side[order]) != 0)
        rank = np.empty(len(side), np.int64)
        rank[order] = rows - np.maximum.accumulate(np.where(new, rows, 0))
        kinds = (ContactKind.VERTEX_FACE, ContactKind.FACE_VERTEX, ContactKind.EDGE_EDGE)
        bases = np.array([key_base(kind, self.pair) for kind in kinds], np.int64)
        return bases[side] + first * np.int64(EDGE_LIMIT) + np.where(side == 2, segments[:, 1], rank)

    def _margin(self, view: RowView) -> float:
        """The margin, m, widened to the approach of the sides in the step at their present speeds."""
        if not view.dt or self.a is not self.b:
            return super()._margin(view)
        v = self.a.velocities(view)
        fastest = 2.0 * float(np.linalg.norm(v - v.mean(axis=0), axis=1).max())
        return max(self.margin, APPROACH * view.dt * fastest)

    def _gradient(self, view: RowView, first: bool, contacts: ContactSet, directions: FloatArray) -> sparse.csr_matrix:
        """Rows of one side, at the points half-way through the gaps."""
        c, points = contacts, 0.5 * (contacts.point_a + contacts.point_b)
        if first:
            return self.sides[0].gradient(view, c.nodes_a, c.weights_a, points, directions)
        return self.sides[1].gradient(view, c.nodes_b, c.weights_b, points, -directions)


def _nearest_on_lines(d: FloatArray, u: FloatArray, v: FloatArray, moves: BoolArray) -> FloatArray:
    """Changes (m, 2) of parameters that minimise ‖d + s u − t v‖; those that do not move stay."""
    uu, vv, uv = (np.einsum("mi,mi->m", x, y) for x, y in ((u, u), (v, v), (u, v)))
    du, dv = np.einsum("mi,mi->m", d, u), np.einsum("mi,mi->m", d, v)
    both = moves.all(axis=1)
    determinant = np.where(both, uu * vv - uv * uv, 1.0)
    s = np.where(both, (uv * dv - vv * du) / determinant, -du / uu)
    t = np.where(both, (uu * dv - uv * du) / determinant, dv / vv)
    return np.stack([s, t], axis=1) * moves


def _directions(d: FloatArray, u: FloatArray, v: FloatArray, size: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Unit directions (m, 3) and lengths (m,), m, of d; perpendicular to both axes where they intersect."""
    distance = np.linalg.norm(d, axis=1)
    clear = distance > _ALONG * size
    normal = d / np.where(clear, distance, 1.0)[:, None]
    if not clear.all():
        least = np.eye(3)[np.argmin(np.abs(u[~clear]), axis=1)]
        across = np.cross(u[~clear], v[~clear])
        flat = np.linalg.norm(across, axis=1) < _PARALLEL * np.linalg.norm(u[~clear], axis=1) ** 2
        across[flat] = np.cross(u[~clear], least)[flat]
        normal[~clear] = across / np.linalg.norm(across, axis=1, keepdims=True)
    return normal, distance


def _passed(keys: Any, normal: FloatArray, previous: ContactSet | None) -> BoolArray:
    """Which contacts have their axes on other sides of each other than in the last step."""
    if previous is None or not previous.count:
        return np.zeros(len(keys), bool)
    found = np.minimum(np.searchsorted(previous.key, keys), previous.count - 1)
    cosine = np.einsum("mi,mi->m", previous.normal[found], normal)
    return np.asarray((previous.key[found] == keys) & (cosine < _PASSED))
