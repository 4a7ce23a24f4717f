"""Contacts with clearance of a slender body inside a hollow one: a rod in the bore of a tube that bends too.

The inner axis is free within a disc around the outer one, whose radius is the clearance c: the radius of the bore less
that of the inner body. A regular octagon around the disc, with wall normals mⱼ that turn with the outer body, replaces
it: a point at d from the nearest point of the outer axis has the gaps c − mⱼ · d. They are exact towards the middle of
a wall and 8 % of the clearance too wide at a corner. A single wall across d would turn with every sideways slip, and a
point pressed against it would never come to rest. Contacts are all points along the inner body and both ends of the
outer one; beyond its ends there is no wall.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pliant.collision.contacts import ContactKind, ContactSet, check_capacity, key_base
from pliant.collision.surface import EDGE_LIMIT
from pliant.constraints.colliders import Collider
from pliant.constraints.rows import RowView
from pliant.constraints.slender import Side, SlenderPair
from pliant.core.types import BoolArray, FloatArray, IntArray
from pliant.models.axis import Axis
from pliant.models.body import Model

_ANGLES = 0.25 * np.pi * np.arange(8)
"""Directions of the walls, rad: eight keep the corners within 8 % of the clearance."""
_END = 1e-9
"""A nearest point this close to an end of an axis, as a fraction of its length, lies beyond that end."""
_PLAY_SEEN = 2.0
"""The margin of a bore is at least this multiple of the play, so that the walls all round are detected."""


@dataclass(frozen=True, eq=False)
class BorePair(SlenderPair):
    """The slender body `a` inside the hollow one, `b`."""

    encloses: ClassVar[bool] = True
    can_cross: ClassVar[bool] = False

    def contact_set(self, view: RowView, previous: ContactSet | None) -> ContactSet:
        """Contacts within the margin at the positions of `view`; those of the `previous` step keep their sides."""
        inner, outer = self.sides
        q_a, q_b, margin = inner.collider.q(view), outer.collider.q(view), self._margin(view)
        contacts = self._walls(q_a, q_b, *self._nearest(q_a, q_b))
        near = np.flatnonzero(contacts.gap <= margin)
        check_capacity(len(near), self.capacity)
        return contacts.selected(near)

    def _nearest(self, q_a: FloatArray, q_b: FloatArray) -> tuple[IntArray, FloatArray, FloatArray]:
        """Ids (k,) of points of the inner body, then ends of the outer; arc lengths (k,), m, of the nearest points."""
        inner, outer = self.sides
        nodes = inner.segments.surface.nodes
        on_outer = outer.strand.nearest(q_b, inner.collider.map.points(q_a)[nodes])
        inside = _within(on_outer, outer.strand)
        ends = np.array([0.0, outer.strand.length])
        on_inner = inner.strand.nearest(q_a, outer.strand.at(ends).points(q_b))
        through = _within(on_inner, inner.strand)
        ids = np.concatenate([nodes[inside], len(inner.segments.owner) + np.flatnonzero(through)]).astype(np.int32)
        arc_a = np.concatenate([self._arcs[nodes[inside]], on_inner[through]])
        return ids, arc_a, np.concatenate([on_outer[inside], ends[through]])

    @property
    def _arcs(self) -> FloatArray:
        """Arc lengths (P,), m, of the points of the inner body."""
        strand = self.sides[0].strand
        arcs = np.zeros(len(self.sides[0].segments.owner))
        arcs[strand.segments[:, 1]] = np.cumsum(strand.lengths)
        return arcs

    def _walls(
        self, q_a: FloatArray, q_b: FloatArray, ids: IntArray, arc_a: FloatArray, arc_b: FloatArray
    ) -> ContactSet:
        """The contacts of the points `ids` (k,) with the walls around them."""
        inner, outer = self.sides
        segment_a, t_a = _on_segments(inner, arc_a)
        segment_b, t_b = _on_segments(outer, arc_b)
        there = outer.strand.on_segments(segment_b, t_b)
        x, p = inner.strand.on_segments(segment_a, t_a).points(q_a), there.points(q_b)
        assert outer.strand.bores is not None
        bore, radius = outer.strand.bores[segment_b], inner.strand.radii[segment_a]
        frames = there.frames(q_b)
        walls = np.einsum("kia,aj->kji", frames[:, :, 1:], np.stack([np.cos(_ANGLES), np.sin(_ANGLES)]))
        outward = walls.reshape(-1, 3)
        which = np.repeat(np.arange(len(ids)), len(_ANGLES))
        clearance = (bore - radius)[which]
        nodes_a, weights_a = inner.nodes(segment_a[which], t_a[which])
        nodes_b, weights_b = outer.nodes(segment_b[which], t_b[which])
        keys = ids.astype(np.int64)[which] * EDGE_LIMIT + np.tile(np.arange(len(_ANGLES)), len(ids))
        order = np.argsort(keys, kind="stable")
        return ContactSet(
            kind=np.full(len(which), ContactKind.VERTEX_FACE, np.uint8),
            key=key_base(ContactKind.VERTEX_FACE, self.pair) + keys[order],
            face=segment_b[which][order].astype(np.int32),
            nodes_a=nodes_a[order], weights_a=weights_a[order], nodes_b=nodes_b[order], weights_b=weights_b[order],
            normal=-outward[order], gap=(clearance - np.einsum("mi,mi->m", outward, (x - p)[which]))[order],
            point_a=(x[which] + radius[which, None] * outward)[order],
            point_b=(p[which] + bore[which, None] * outward)[order],
            point_count_a=len(inner.segments.owner), point_count_b=len(outer.segments.owner),
        )  # fmt: skip


def slender_pair(
    a: Collider, b: Collider, models: Sequence[Model], mu: float, margin: float, pair: int, capacity: int | None = None
) -> SlenderPair:
    """The pair of two slender colliders, or of one with itself; one that starts in the other's bore stays inside."""
    if a is b:
        side = Side.of(a, models)
        return SlenderPair(a, b, mu, margin, pair, capacity, (side, side))
    sides = [Side.of(collider, models) for collider in (a, b)]
    for inner, outer in ((sides[0], sides[1]), (sides[1], sides[0])):
        bores = outer.strand.bores
        if bores is not None and begins_inside(inner, outer):
            play = float(bores.max() - inner.strand.radii.min())
            margin = max(margin, min(_PLAY_SEEN * play, inner.collider.radius))
            return BorePair(inner.collider, outer.collider, mu, margin, pair, capacity, (inner, outer))
    return SlenderPair(a, b, mu, margin, pair, capacity, tuple(sides))


def begins_inside(inner: Side, outer: Side) -> bool:
    """Whether `inner` starts in the bore of `outer`, an unbranched hollow body: it is thinner, with a point inside."""
    axis, bores = outer.strand, outer.strand.bores
    if bores is None or bores.min() <= inner.strand.radii.max() or not (inner.strand.is_chain and axis.is_chain):
        return False
    q = axis.model.initial()[0]
    x = inner.collider.map.points(inner.strand.model.initial()[0])[inner.segments.surface.nodes]
    arc = axis.nearest(q, x)
    away = np.linalg.norm(axis.at(arc).points(q) - x, axis=1)
    return bool((_within(arc, axis) & (away < bores.max())).any())


def _within(arc: FloatArray, curve: Axis) -> BoolArray:
    """Which arc lengths (k,), m, lie between the ends of a curve."""
    return np.asarray((arc > _END * curve.length) & (arc < (1.0 - _END) * curve.length))


def _on_segments(side: Side, arc: FloatArray) -> tuple[IntArray, FloatArray]:
    """Segments (k,) and parameters (k,) in [0, 1] on them of arc lengths (k,) m along a chain."""
    starts = np.concatenate([[0.0], np.cumsum(side.strand.lengths)[:-1]])
    segment = np.clip(np.searchsorted(starts, arc, side="right") - 1, 0, len(starts) - 1).astype(np.int32)
    return segment, np.clip((arc - starts[segment]) / side.strand.lengths[segment], 0.0, 1.0)
