"""Contacts of a slender body, a rod or a beam, with a solid or a surface, along its whole axis.

The contact points of a slender body are balls at the ends of its segments. A narrow solid fits between two of them. So
each segment has a contact of its own where the distance of its axis from the other side is least, if that is between
its ends. It acts on the cross-section there. Where the least distance passes from one segment to the next, both
contacts coincide with that of the ball between them, so gaps change continuously.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from pliant.collision import Box, Capsule, ContactSet, Cylinder, MeshObstacle, Sphere, concatenate
from pliant.collision.contacts import ContactKind, check_capacity, key_base
from pliant.collision.narrow.axis_distance import (
    BISECTIONS,
    DIP,
    SAMPLES,
    lowest_points,
    no_contacts,
    solids_within_reach,
    within_reach,
)
from pliant.collision.solids.obstacles import Primitive
from pliant.collision.solids.surface_distance import SurfaceDistance
from pliant.collision.surface import EDGE_LIMIT, Pose
from pliant.constraints.colliders import Collider
from pliant.constraints.contact import ContactPair
from pliant.constraints.rows import RowView
from pliant.constraints.slender import Side
from pliant.core.arrays import frozen, selected_rows, stacked
from pliant.core.types import BoolArray, FloatArray, IndexArray, IntArray
from pliant.models.body import Model

_ANALYTIC = (Sphere, Capsule, Cylinder, Box)
_SOLIDS = (*_ANALYTIC, MeshObstacle)
"""Solids that may fit between two balls. Planes and the insides of tubes do not."""


@dataclass(frozen=True, eq=False)
class FixedSolids:
    """Analytic solids that never move: `kinds` (s,), `shapes` (s, k), `positions` (s, 3) m, `rotations` (s, 3, 3) and
    the `margins` (s,), m, of their pairs with one slender body.
    """

    kinds: IndexArray
    shapes: FloatArray
    positions: FloatArray
    rotations: FloatArray
    margins: FloatArray

    @classmethod
    def of(cls, pairs: Sequence[ContactPair]) -> FixedSolids:
        """The solids of the sides b of `pairs`."""
        solids, poses = [pair.b.solid for pair in pairs], [pair.b.handle.pose(0.0) for pair in pairs]
        shapes = np.zeros((len(pairs), max(len(solid.numbers) for solid in solids)))
        for row, solid in zip(shapes, solids, strict=True):
            row[: len(solid.numbers)] = solid.numbers
        parts = (
            np.array([solid.kind for solid in solids], np.int64), shapes, np.array([pose[0] for pose in poses]),
            np.array([pose[1:] for pose in poses]), np.array([pair.margin for pair in pairs]),
        )  # fmt: skip
        return cls(*(frozen(part) for part in parts))

    def near(self, points: FloatArray, reach: FloatArray, approach: float) -> list[bool]:
        """Whether any of the `points` (p, 3) m is nearer to each solid than the margin, which is at least `approach` m,
        and its `reach` (p,) m.
        """
        margins, near = np.maximum(self.margins, approach), np.empty(len(self.kinds), np.bool_)
        own = self.kinds, self.shapes, self.positions, self.rotations
        solids_within_reach(*own, frozen(margins), points, reach, near)
        return near.tolist()  # type: ignore[no-any-return]


class Nearest(NamedTuple):
    """Of p points: distance (p,) m, negative inside; unit normal (p, 3) and foot (p, 3) m in world axes; vertices
    (p, 3) and weights (p, 3) of the foot on a surface, −1 and 0 on a solid; its triangle, −1 on a solid; whether it
    takes part.
    """

    gap: FloatArray
    normal: FloatArray
    foot: FloatArray
    nodes: IntArray
    weights: FloatArray
    face: IntArray
    takes_part: BoolArray


@dataclass(frozen=True, eq=False)
class AxisPair(ContactPair):
    """A slender body `a`, whose segments are those of `side`, that collides with the solid or the surface of `b`.

    `solids` are the fixed ones that it may meet, that of `b` is number `place` of them: one call says which are near.
    """

    side: Side | None = None
    solids: FixedSolids | None = None
    place: int = 0

    @property
    def direction_models(self) -> tuple[int, ...]:
        """Index of the slender model: points of its axis are no linear functions of the unknowns."""
        return () if self.a.index is None else (self.a.index,)

    def detect(self, view: RowView) -> Any:
        """Contacts within the margin at the positions of `view`."""
        if self.solids is not None:
            near, none = self._near(view, self.solids)
            if not near[self.place]:
                return none
        return super().detect(view)

    def _near(self, view: RowView, solids: FixedSolids) -> tuple[list[bool], ContactSet]:
        """Whether anything of the body is nearer to each of the `solids` than its margin, and no contacts."""
        index = self.a.index
        assert index is not None
        motion = (view.start[index], view.speeds[index]) if view.dt else ()
        sources = view.q[index], *motion, view.dt, view.gravity, view.approach

        def made() -> tuple[list[bool], ContactSet]:
            return solids.near(*self._probes(view), self._approach(view)), no_contacts(len(self.a.points(view)))

        return self.a.once(view, "near", sources, made)

    def contact_set(self, view: RowView, previous: ContactSet | None) -> ContactSet:
        """Contacts of the balls and of the segments between them, within the margin at the positions of `view`."""
        margin = self._margin(view)
        within = self._within(view, margin)
        if within is not None and not len(within):
            return no_contacts(len(self.a.points(view)))
        contacts = super().contact_set(view, previous)
        between = self._between(view, margin, within)
        if between is None:
            return contacts
        check_capacity(contacts.count + between.count, self.capacity)
        return concatenate([contacts, between]) if contacts.count else between

    def _nearest(self, view: RowView) -> Callable[[FloatArray], Nearest]:
        """What is nearest on side b to world points."""
        b = self.b
        if b.solid is None:
            return _on_surface(b.pose(view))
        distance = b.world_distance(view)

        def nearest(points: FloatArray) -> Nearest:
            gap, normal, foot = distance(points)
            none = np.full((len(gap), 3), -1, np.int32)
            return Nearest(gap, normal, foot, none, np.zeros((len(gap), 3)), none[:, 0], np.ones(len(gap), bool))

        return nearest

    def _between(self, view: RowView, margin: float, within: IndexArray | None) -> ContactSet | None:
        """Contacts at the lowest points of segments, where these are between their ends; None without any. `within` are
        the probes that are near, where they are known.
        """
        assert self.side is not None
        q, strand, points = self.a.q(view), self.side.strand, self.a.points(view)
        nearest = self._nearest(view)
        if within is None:
            middles, reach = (part[len(self.a.nodes) :] for part in self._probes(view))
            segments = self.side.listed[nearest(middles).gap <= margin + reach]
        else:
            segments = self.side.listed[within[within >= len(self.a.nodes)] - len(self.a.nodes)]
        if not len(segments):
            return None
        segments, fractions = self._lowest(view, segments, nearest)
        if not len(segments):
            return None
        x = strand.on_segments(segments, fractions).points(q)
        found = nearest(x)
        near = (found.gap <= margin + strand.radii[segments]) & found.takes_part
        if not near.any():
            return None
        return self._contacts(segments[near], fractions[near], x[near], nearest(x[near]), len(points), view)

    def _probes(self, view: RowView) -> tuple[FloatArray, FloatArray]:
        """Balls and middles of the segments that take part, (p, 3) m, and the reach of both around these, (p,) m."""
        assert self.side is not None
        side, q = self.side, self.a.q(view)

        def made() -> tuple[FloatArray, FloatArray]:
            points = self.a.points(view)
            ends = points[side.strand.segments[side.listed]]
            half = 0.5 * np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)
            probes = np.concatenate([points[self.a.nodes], side.middles.points(q)])
            reach = np.concatenate([self.a.ball_radii(self.a.nodes), side.strand.radii[side.listed] + half])
            return frozen(probes), frozen(reach)

        return self.a.once(view, "probes", (q,), made)

    def _within(self, view: RowView, margin: float) -> IndexArray | None:
        """Indices of the probes that are nearer to an analytic solid than `margin` (m); None of another side b."""
        solid = self.b.solid
        if not isinstance(solid, Primitive):
            return None
        pose, (probes, reach) = self.b.q(view), self._probes(view)
        found = np.empty(len(probes), np.int64)
        place = frozen(pose[0]), frozen(pose[1:])
        count = within_reach(solid.kind, solid.numbers, *place, probes, reach, margin, found)
        return found[: int(count)]

    def _lowest(
        self, view: RowView, segments: IndexArray, nearest: Callable[[FloatArray], Nearest]
    ) -> tuple[IndexArray, FloatArray]:
        """Those of `segments` whose axis is lowest between the ends, and the fractions (m,) at which it is."""
        assert self.side is not None
        strand, steps, solid = self.side.strand, np.linspace(0.0, 1.0, SAMPLES + 1), self.b.solid
        many = strand.on_segments(np.repeat(segments, len(steps)), np.tile(steps, len(segments)))
        x = many.points(self.a.q(view)).reshape(len(segments), len(steps), 3)
        if isinstance(solid, Primitive):
            place, fractions, lowest = self.b.q(view), np.empty(len(x)), np.empty(len(x), np.bool_)
            lowest_points(solid.kind, solid.numbers, frozen(place[0]), frozen(place[1:]), frozen(x), fractions, lowest)
            return segments[lowest], fractions[lowest]
        gap = nearest(x.reshape(-1, 3)).gap.reshape(len(segments), -1)
        best = gap[:, 1:-1].argmin(axis=1) + 1
        rows, length = np.arange(len(segments)), np.linalg.norm(x[:, -1] - x[:, 0], axis=1)
        # the lowest point may be between an end and the first sample
        low, high = np.maximum(best - 1, 0), np.minimum(best + 1, SAMPLES)
        p, m, r = x[rows, low], x[rows, best], x[rows, high]

        def curve(s: FloatArray) -> tuple[FloatArray, FloatArray]:
            """Points (m, 3) of the parabola through three samples at s (m,) in [−1, 1], and its tangents."""
            t = s[:, None]
            slope, bend = 0.5 * (r - p), 0.5 * (r + p) - m
            return m + t * (slope + t * bend), slope + 2.0 * t * bend

        lower: FloatArray = np.full(len(rows), -1.0)
        upper: FloatArray = np.full(len(rows), 1.0)
        for _ in range(BISECTIONS):
            s = 0.5 * (lower + upper)
            at, along = curve(s)
            falls = np.einsum("mi,mi->m", nearest(at).normal, along) < 0.0
            lower, upper = np.where(falls, s, lower), np.where(falls, upper, s)
        s = 0.5 * (lower + upper)
        least = nearest(curve(s)[0]).gap
        kept = least < np.minimum(gap[:, 0], gap[:, -1]) - DIP * length
        return segments[kept], ((best + s) / SAMPLES)[kept]

    def _contacts(
        self, segments: IndexArray, fractions: FloatArray, x: FloatArray, found: Nearest, count: int, view: RowView
    ) -> ContactSet:
        """Contacts of points x (m, 3) m of the axis with what is nearest to them."""
        assert self.side is not None
        radii = self.side.strand.radii[segments]
        nodes, weights = self.side.nodes(segments.astype(np.int32), fractions)
        on_solid = self.b.solid is not None
        kind = ContactKind.VERTEX_OBSTACLE if on_solid else ContactKind.VERTEX_FACE
        return ContactSet(
            kind=np.full(len(segments), kind, np.uint8),
            nodes_a=nodes.astype(np.int32),
            weights_a=weights,
            nodes_b=found.nodes,
            weights_b=found.weights,
            normal=found.normal,
            gap=found.gap - radii,
            point_a=x - radii[:, None] * found.normal,
            point_b=found.foot,
            key=key_base(ContactKind.EDGE_EDGE, self.pair) + segments.astype(np.int64) * EDGE_LIMIT,
            face=found.face.astype(np.int32),
            point_count_a=count,
            point_count_b=0 if on_solid else len(self.b.map.points(self.b.q(view))),
        )

    def _gradient(self, view: RowView, first: bool, contacts: ContactSet, directions: FloatArray) -> sparse.csr_matrix:
        """Rows of one side; those of a segment act on the cross-section at its contact."""
        between = contacts.nodes_a[:, 1] >= 0
        if not first or not between.any():
            return super()._gradient(view, first, contacts, directions)
        assert self.side is not None
        width = directions.shape[1]
        balls, others = np.flatnonzero(~between), np.flatnonzero(between)
        c = contacts
        parts = [
            self.side.gradient(view, c.nodes_a[others], c.weights_a[others], c.point_a[others], directions[others])
        ]
        if len(balls):
            parts.append(super()._gradient(view, True, c.selected(balls), directions[balls]))
        order = np.argsort(np.concatenate([others, balls]), kind="stable")
        rows = (order[:, None] * width + np.arange(width)).ravel()
        return selected_rows(stacked(parts), rows)


def axis_pair(
    a: Collider, b: Collider, models: Sequence[Model], mu: float, margin: float, pair: int, capacity: int | None = None
) -> ContactPair:
    """The pair of a slender collider `a` with the solid or the surface of `b`."""
    if b.solid is not None and not isinstance(b.solid, _SOLIDS):
        return ContactPair(a, b, mu, margin, pair, capacity)
    return AxisPair(a, b, mu, margin, pair, capacity, Side.of(a, models))


def with_fixed_solids(pairs: Sequence[ContactPair]) -> list[ContactPair]:
    """`pairs`, those of a slender body with several fixed analytic solids with all of these."""
    found = list(pairs)
    groups: dict[Collider, list[int]] = {}
    for k, pair in enumerate(pairs):
        fixed = pair.b.index is None and isinstance(pair.b.solid, _ANALYTIC) and pair.b.handle.motion is None
        if fixed and pair.a.handle.slender:
            groups.setdefault(pair.a, []).append(k)
    for members in groups.values():
        if len(members) > 1:
            solids = FixedSolids.of([pairs[k] for k in members])
            for place, k in enumerate(members):
                found[k] = replace(pairs[k], solids=solids, place=place)  # type: ignore[call-arg]
    return found


def _on_surface(pose: Pose) -> Callable[[FloatArray], Nearest]:
    distance = SurfaceDistance(pose)

    def nearest(points: FloatArray) -> Nearest:
        found = distance(points)
        nodes = pose.surface.triangles[found.face]
        foot = np.einsum("mk,mki->mi", found.weights, pose.points[nodes])
        return Nearest(found.gap, found.normal, foot, nodes, found.weights, found.face, found.takes_part)

    return nearest
