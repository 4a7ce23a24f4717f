"""Continuous collision detection of a contact pair: the first time within a step at which its sides would cross.

Points of deformable bodies move on straight lines within a step, rigid bodies and obstacles turn at a constant rate or
by their own law of motion. The motion is divided so that no point leaves its straight line by more than the tolerance.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pliant.collision import Box, Capsule, Cylinder, Plane, Sphere
from pliant.collision.continuous.crossing import AtRest, Moving, first_crossing
from pliant.collision.continuous.round_paths import ALLOWED, first_entry, first_meeting
from pliant.collision.surface import CollisionSurface
from pliant.constraints.colliders import Collider
from pliant.constraints.contact import ContactPair
from pliant.constraints.rows import RowView
from pliant.core.lie import rotation_exp, rotation_log
from pliant.core.types import BoolArray, FloatArray, IndexArray, IntArray

TOLERANCE = 0.1
"""Depth at which a crossing counts, as a fraction of the margin: at most 2.5 % of the thickness of a body."""
_OF_WALL = 0.08
"""Most of this depth as a fraction of the thinnest wall: five times as deep is nearer to the side that was entered."""
_MOST_PIECES = 64
"""Most parts of a motion; a body that turns so fast that it needs more is cut into shorter steps where it hits."""
_CONVEX = (Plane, Sphere, Capsule, Cylinder, Box)


def crossing_time(pair: ContactPair, view: RowView) -> float:
    """Fraction of the step that ended at `view` at which the sides of `pair` first cross; inf where they do not."""
    tolerance = min(TOLERANCE * pair.margin, _OF_WALL * min(_wall(pair.a), _wall(pair.b)))
    paths = [Path(side, view) for side in ((pair.a,) if pair.a is pair.b else (pair.a, pair.b))]
    count = max(path.pieces(tolerance) for path in paths)
    for k in range(count):
        at = k / count, (k + 1) / count
        time = _crossing(pair, paths[0], paths[-1], at, tolerance)
        if time < np.inf:
            return float(at[0] + time * (at[1] - at[0]))
    return np.inf


def passes(pair: ContactPair, increments: Sequence[RowView]) -> bool:
    """Whether the sides of `pair` cross on the straight motions of load `increments` that outrun detection."""
    return pair.can_cross and any(
        pair.outrun(view, None) > 0.0 and crossing_time(pair, view) < np.inf for view in increments
    )


def _wall(side: Collider) -> float:
    """Thickness of the thinnest wall of a collider, m."""
    surfaces = [each for each in (side.surface, side.facets) if each is not None and each.closed]
    return min((each.wall for each in surfaces), default=np.inf)


class Path:
    """The motion of a collider within the step that ended at `view`."""

    def __init__(self, side: Collider, view: RowView) -> None:
        self.side = side
        self.start, self.end = side.q_start(view), side.q(view)
        self.turns = side.index is None or side.solid is not None
        self._view = view
        self.turn: FloatArray = np.zeros(3)
        if side.index is not None and self.turns:  # the rotation of the step itself: it may be more than half a turn
            self.turn = np.asarray(view.moved[side.index], np.float64).ravel()[3:]
        self._points = None if self.turns else tuple(side.map.points(q) for q in (self.start, self.end))

    def pieces(self, tolerance: float) -> int:
        """Parts of the motion that are straight up to `tolerance` (m)."""
        if not self.turns or (self.side.index is None and self.side.handle.motion is None):
            return 1
        middle, ends = self.points(0.5), (self.points(0.0), self.points(1.0))
        if not len(middle):
            return 1
        bend = float(np.linalg.norm(middle - 0.5 * (ends[0] + ends[1]), axis=1).max())
        turn = self.turn if self.side.index is not None else rotation_log(self.end[1:] @ self.start[1:].T)
        angle = float(np.linalg.norm(turn))
        radius = float(np.linalg.norm(ends[0] - ends[0].mean(axis=0), axis=1).max()) + self.side.radius
        bend = max(bend, 0.125 * angle * angle * radius)
        return int(np.clip(np.ceil(np.sqrt(bend / tolerance)), 1, _MOST_PIECES))

    def pose(self, time: float) -> FloatArray:
        """Pose (4, 3) of a rigid body or an obstacle at a fraction of the step."""
        view = self._view
        if self.side.index is None:
            interval = view.interval or view.dt
            return np.asarray(self.side.handle.pose(view.time - (1.0 - time) * interval))
        turn = rotation_exp(time * self.turn)
        return np.vstack([(1.0 - time) * self.start[0] + time * self.end[0], turn @ self.start[1:]])

    def points(self, time: float) -> FloatArray:
        """Points (n, 3) m at a fraction of the step."""
        if self._points is None:
            return np.asarray(self.side.map.points(self.pose(time)))
        return np.asarray((1.0 - time) * self._points[0] + time * self._points[1])

    def surface(self, surface: CollisionSurface, at: tuple[float, float]) -> Moving:
        """The motion of `surface` between two fractions of the step."""
        start, end = (self.points(time) for time in at)
        edges = surface.taking_part_edges
        corners = start[surface.triangles]
        normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300)
        beside = surface.edge_triangles[edges]
        mean = normal[beside[:, 0]] + np.where(beside[:, 1:] >= 0, normal[beside[:, 1]], 0.0)
        mean /= np.maximum(np.linalg.norm(mean, axis=1, keepdims=True), 1e-300)
        return Moving(
            start, end, surface.triangles[surface.order], surface.edges[edges], mean, surface.opposite_corners[edges],
            surface.nodes, surface.ring_start, surface.ring,
        )  # fmt: skip


def _crossing(pair: ContactPair, a: Path, b: Path, at: tuple[float, float], tolerance: float) -> float:
    """First crossing between two fractions of the step, as a fraction of their difference."""
    if getattr(pair, "sides", ()):
        return _slender(pair, a, b, at)
    own = a.side.surface
    other = b.side.surface if b.side.surface is not None else b.side.facets
    if own is not None and other is not None:
        moving = a.surface(own, at)
        if a is b:
            return first_crossing(moving, moving, tolerance, AtRest(own.rest, pair.margin))
        return first_crossing(moving, b.surface(other, at), tolerance)
    found = [np.inf]
    balls = a.points(at[0])[a.side.nodes], a.points(at[1])[a.side.nodes]
    radii = a.side.ball_radii(a.side.nodes)
    segments, thickness = _segments(pair, a, at)
    if other is not None:  # balls and segments of a slender body, or a sphere, with a surface
        found.append(_with_surface(balls, radii, b, other, at))
        if segments is not None:
            found.append(_with_surface(segments, thickness, b, other, at))
        return min(found)
    solid = b.side.solid
    local = [(x - pose[0]) @ pose[1:] for x, pose in zip(balls, (b.pose(at[0]), b.pose(at[1])), strict=True)]
    allowed = np.maximum(tolerance, ALLOWED * radii)
    convex = isinstance(solid, _CONVEX)
    found.append(first_entry(lambda x: solid.distance(x).gap, local[0], local[1], radii, allowed, convex=convex))
    core = _core(solid)
    if core is not None:
        ends, radius = core
        moved = tuple((pose[0] + ends @ pose[1:].T)[None] for pose in (b.pose(at[0]), b.pose(at[1])))
        if own is not None:
            found.append(_with_surface((moved[0], moved[1]), np.array([radius]), a, own, at))
        elif segments is not None:
            found.append(first_meeting(segments, (moved[0], moved[1]), thickness + radius))
    return min(found)


def _with_surface(
    features: tuple[FloatArray, FloatArray], radii: FloatArray, path: Path, surface: CollisionSurface,
    at: tuple[float, float],
) -> float:  # fmt: skip
    """First meeting of points (n, 3) or segments (n, 2, 3), m, of `radii` (n,) m with the triangles of a surface."""
    first, second = ((x[:, None] if x.ndim == 2 else x) for x in features)
    faces = surface.triangles[surface.order]
    return first_meeting((first, second), (path.points(at[0])[faces], path.points(at[1])[faces]), radii)


def _segments(
    pair: ContactPair, path: Path, at: tuple[float, float]
) -> tuple[tuple[FloatArray, FloatArray] | None, FloatArray]:
    """Chords (s, 2, 3) m of a slender body at both times, None without, and their radii (s,) m."""
    side = getattr(pair, "side", None)
    if side is None:
        return None, np.zeros(0)
    chosen = np.flatnonzero(side.taking_part)
    ends = side.strand.segments[chosen]
    return (path.points(at[0])[ends], path.points(at[1])[ends]), side.strand.radii[chosen]


def _slender(pair: Any, a: Path, b: Path, at: tuple[float, float]) -> float:
    """First meeting of the chords of two slender bodies, or of one with itself."""
    sides, chords = pair.sides, []
    chosen = [np.flatnonzero(side.taking_part) for side in sides]
    for side, path, which in zip(sides, (a, b), chosen, strict=True):
        ends = side.strand.segments[which]
        chords.append((path.points(at[0])[ends], path.points(at[1])[ends]))
    radius = sides[0].strand.radii[chosen[0]]
    reach = radius + float(sides[1].strand.radii[chosen[1]].max())
    skip = _neighbours(sides[0].strand.segments[chosen[0]], sides[0].strand.lengths, reach) if a is b else None
    return first_meeting(chords[0], chords[1], reach, skip)


def _neighbours(segments: IntArray, lengths: FloatArray, reach: FloatArray) -> Any:
    """Which pairs of segments of one chain are closer along it than half a turn of the tightest bend that closes."""
    apart = int(np.ceil(np.pi * float(reach.max()) / float(lengths.min()))) + 1

    def skip(i: IndexArray, j: IndexArray) -> BoolArray:
        near = (segments[i][:, :, None] == segments[j][:, None, :]).any(axis=(1, 2))
        return np.asarray(near | (np.abs(i - j) <= apart))

    return skip


def _core(solid: Any) -> tuple[FloatArray, float] | None:
    """The points of a segment, or one point, and the radius of the round solid around it inside `solid`."""
    if isinstance(solid, Sphere | Capsule):
        return np.asarray(solid.centers), float(solid.radius)
    if isinstance(solid, Cylinder):
        axis = solid.end - solid.start
        length = float(np.linalg.norm(axis))
        radius = min(float(solid.radius), 0.5 * length)
        inset = radius / length * axis
        return np.array([solid.start + inset, solid.end - inset]), radius
    return None
