"""Contacts with play of a slender body inside a hollow one: a rod in the bore of a tube that itself bends.

The free space of the inner axis around the outer one is a disc of the clearance c, the difference of the radii of bore
and inner body. It stands as a regular octagon around that disc, of walls mⱼ that turn with the outer body: a point at d
from the nearest point of the outer axis has the gaps c − mⱼ · d, which are exact towards the middle of a wall and 8 %
of the clearance too wide at a corner. One wall across d would turn with every slip sideways, and a point that is
pressed on it would never come to rest. All points along the inner body touch so, and both mouths of the outer one;
beyond its mouths there is no wall.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True, eq=False)
class BorePair(SlenderPair):
    """The slender body `a` inside the hollow one, `b`."""

    def contact_set(self, view: RowView, previous: ContactSet | None) -> ContactSet:
        """Contacts within the margin at the positions of `view`; those of the `previous` step keep their sides."""
        inner, outer = self.sides
        q_a, q_b, margin = inner.collider.q(view), outer.collider.q(view), self._margin(view)
        contacts = self._walls(q_a, q_b, *self._nearest(q_a, q_b))
        near = np.flatnonzero(contacts.gap <= margin)
        check_capacity(len(near), self.capacity)
        return contacts.selected(near)

    def _nearest(self, q_a: FloatArray, q_b: FloatArray) -> tuple[IntArray, FloatArray, FloatArray]:
        """Names (k,) of what may touch, points of the inner body before mouths, and arc lengths (k,), m, on either
        axis of the points that are nearest to each other.
        """
        inner = self.sides[0]
        nodes = inner.segments.surface.nodes
        x = inner.collider.map.points(q_a)[nodes]
        on_outer = self.sides[1].strand.nearest(q_b, x)
        inside = _within(on_outer, self.sides[1].strand)
        ends = np.array([0.0, self.sides[1].strand.length])
        on_inner = self.sides[0].strand.nearest(q_a, self.sides[1].strand.at(ends).points(q_b))
        through = _within(on_inner, self.sides[0].strand)
        names = np.concatenate([nodes[inside], len(inner.segments.owner) + np.flatnonzero(through)]).astype(np.int32)
        arc_a = np.concatenate([self._arcs[nodes[inside]], on_inner[through]])
        return names, arc_a, np.concatenate([on_outer[inside], ends[through]])

    @property
    def _arcs(self) -> FloatArray:
        """Arc lengths (P,), m, of the points of the inner body."""
        strand = self.sides[0].strand
        arcs = np.zeros(len(self.sides[0].segments.owner))
        arcs[strand.segments[:, 1]] = np.cumsum(strand.lengths)
        return arcs

    def _walls(
        self, q_a: FloatArray, q_b: FloatArray, names: IntArray, arc_a: FloatArray, arc_b: FloatArray
    ) -> ContactSet:
        """The walls around each point."""
        inner, outer = self.sides
        (segment_a, place_a), (segment_b, place_b) = (
            _on_segments(side, arc) for side, arc in ((inner, arc_a), (outer, arc_b))
        )
        there = outer.strand.on_segments(segment_b, place_b)
        x, p = inner.strand.on_segments(segment_a, place_a).points(q_a), there.points(q_b)
        assert outer.strand.bores is not None
        bore, radius = outer.strand.bores[segment_b], inner.strand.radii[segment_a]
        frames = there.frames(q_b)
        walls = np.einsum("kia,aj->kji", frames[:, :, 1:], np.stack([np.cos(_ANGLES), np.sin(_ANGLES)]))
        outward = walls.reshape(-1, 3)
        which = np.repeat(np.arange(len(names)), len(_ANGLES))
        clearance = (bore - radius)[which]
        nodes_a, weights_a = inner.nodes(segment_a[which], place_a[which])
        nodes_b, weights_b = outer.nodes(segment_b[which], place_b[which])
        keys = names.astype(np.int64)[which] * EDGE_LIMIT + np.tile(np.arange(len(_ANGLES)), len(names))
        order = np.argsort(keys, kind="stable")
        return ContactSet(
            kind=np.full(len(which), ContactKind.VERTEX_FACE, np.uint8),
            nodes_a=nodes_a[order],
            weights_a=weights_a[order],
            nodes_b=nodes_b[order],
            weights_b=weights_b[order],
            normal=-outward[order],
            gap=(clearance - np.einsum("mi,mi->m", outward, (x - p)[which]))[order],
            point_a=(x[which] + radius[which, None] * outward)[order],
            point_b=(p[which] + bore[which, None] * outward)[order],
            key=key_base(ContactKind.VERTEX_FACE, self.pair) + keys[order],
            face=segment_b[which][order].astype(np.int32),
            point_count_a=len(inner.segments.owner),
            point_count_b=len(outer.segments.owner),
        )


def slender_pair(
    a: Collider,
    b: Collider,
    models: Sequence[Model],
    mu: float,
    margin: float,
    pair: int,
    capacity: int | None = None,
) -> SlenderPair:
    """The pair of two slender colliders, or of one with itself; one that begins in the other's bore stays there."""
    if a is b:
        side = Side.of(a, _model(a, models))
        return SlenderPair(a, b, mu, margin, pair, capacity, (side, side))
    sides = [Side.of(collider, _model(collider, models)) for collider in (a, b)]
    for inner, outer in ((sides[0], sides[1]), (sides[1], sides[0])):
        bores = outer.strand.bores
        if bores is not None and begins_inside(inner, outer):
            play = float(bores.max() - inner.strand.radii.min())
            margin = max(margin, min(2.0 * play, inner.collider.radius))  # a snug bore is seen all round
            return BorePair(inner.collider, outer.collider, mu, margin, pair, capacity, (inner, outer))
    return SlenderPair(a, b, mu, margin, pair, capacity, tuple(sides))


def _model(collider: Collider, models: Sequence[Model]) -> Model:
    assert collider.index is not None
    return models[collider.index]


def begins_inside(inner: Side, outer: Side) -> bool:
    """Whether `inner` begins in the bore of the hollow body `outer`: it is thinner, and a point of it is in there. A
    network that branches has no one axis, and no bore.
    """
    axis, bores = outer.strand, outer.strand.bores
    if bores is None or bores.min() <= inner.strand.radii.max() or not (inner.strand.is_chain and axis.is_chain):
        return False
    q = axis.model.initial()[0]
    x = inner.collider.map.points(inner.strand.model.initial()[0])[inner.segments.surface.nodes]
    arc = axis.nearest(q, x)
    away = np.linalg.norm(axis.at(arc).points(q) - x, axis=1)
    return bool((_within(arc, axis) & (away < bores.max())).any())


def _within(arc: FloatArray, curve: Axis) -> BoolArray:
    """Which arc lengths are between the ends of a curve, not beyond them."""
    inside: BoolArray = (arc > 1e-9 * curve.length) & (arc < (1.0 - 1e-9) * curve.length)
    return inside


def _on_segments(side: Side, arc: FloatArray) -> tuple[IntArray, FloatArray]:
    """Segments (k,) and parameters (k,) in [0, 1] on them of arc lengths (k,) m along a chain."""
    starts = np.concatenate([[0.0], np.cumsum(side.strand.lengths)[:-1]])
    segment = np.clip(np.searchsorted(starts, arc, side="right") - 1, 0, len(starts) - 1).astype(np.int32)
    return segment, np.clip((arc - starts[segment]) / side.strand.lengths[segment], 0.0, 1.0)
