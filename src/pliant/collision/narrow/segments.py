"""Contacts of slender bodies with each other: round segments, in chains or networks.

Two polylines touch where their distance has a local minimum. A minimum in the interior of two crossing segments is one
contact. Elsewhere every vertex has a contact at each local minimum of its distance from the other polyline: parallel
segments touch at all their vertices, and contacts do not jump while the segments rotate. Candidates come from
bounding-volume trees (`collision.broad.tree`) over the segments as triangles without area.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse

from pliant.collision.broad.pairs import triangle_pairs
from pliant.collision.broad.tree import median_order
from pliant.collision.closest import PARALLEL, clamp, dot, segment_parameters
from pliant.collision.surface import EDGE_LIMIT, CollisionSurface
from pliant.core.errors import InputError
from pliant.core.kernels import kernel
from pliant.core.types import BoolArray, FloatArray, IndexArray, IntArray

_END = 1e-6
"""Fraction of a segment within which a nearest point counts as its end: above rounding, far below any feature."""
_SAME = 0.02
"""Fraction of a segment within which two opposite vertices make one contact: two would be redundant."""
_TURN = np.pi
"""Arc length along a body, over its radius, below which it does not touch itself: half a turn of a bend as tight as
the body is thick."""


@dataclass(frozen=True, eq=False)
class SegmentSet:
    """S segments between P vertices that may touch others.

    segments  (S, 2) vertices
    radii     (S,) m
    owner     (P,) the segment that represents a vertex, −1 where none does
    surface   the segments as triangles without area, with their tree; its fans are the segments at each vertex
    apart     ascending codes i S + j, i < j, of segments that are too near along the body to touch each other
    """

    segments: IntArray
    radii: FloatArray
    owner: IntArray
    surface: CollisionSurface
    apart: IndexArray

    @classmethod
    def build(cls, segments: IntArray, radii: FloatArray, rest: FloatArray, taking_part: BoolArray) -> SegmentSet:
        """Segments (S, 2) of `radii` (S,) m over vertices `rest` (P, 3) m; `taking_part` (S,) are those that touch."""
        if len(segments) >= EDGE_LIMIT:
            raise InputError(f"{len(segments)} segments collide; at most {EDGE_LIMIT - 1} can: take fewer points")
        members = np.flatnonzero(taking_part)
        if not len(members):
            raise InputError("no segment of the body takes part, so nothing could collide; widen the region")
        ends = segments.ravel()
        start = np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=len(rest)))]).astype(np.int32)
        fan = (np.argsort(ends, kind="stable") // 2).astype(np.int32)
        owner = np.full(len(rest), -1, np.int32)
        owner[segments[members[::-1]].ravel()] = np.repeat(members[::-1], 2)
        order, leaf_start = median_order(rest[segments[members]].mean(axis=1))
        blank, bits = np.zeros((len(segments), 3), np.int32), np.zeros(len(segments), np.uint8)
        surface = CollisionSurface(
            triangles=np.ascontiguousarray(segments[:, [0, 1, 1]]),
            rest=np.array(rest, order="C"),
            rest_normals=np.zeros((len(segments), 3)),
            edges=np.array(segments, order="C"),
            triangle_edges=blank,
            edge_triangles=blank[:, :2].copy(),
            fan_start=start,
            fan=fan,
            ring_start=np.zeros(len(rest) + 1, np.int32),
            ring=np.zeros(0, np.int32),
            nodes=np.unique(segments[members]).astype(np.int32),
            vertex_mask=bits,
            edge_mask=bits.copy(),
            order=members[order].astype(np.int32),
            leaf_start=leaf_start,
        )
        apart = _near_along(segments, radii, rest)
        for array in (radii, owner, apart):
            array.setflags(write=False)
        return cls(surface.edges, radii, owner, surface, apart)

    def index_of(self, nodes: IntArray) -> IndexArray:
        """The segments whose vertices are `nodes` (m, 2)."""
        codes = self.segments[:, 0] * np.int64(len(self.owner)) + self.segments[:, 1]
        order = np.argsort(codes, kind="stable")
        wanted = nodes[:, 0] * np.int64(len(self.owner)) + nodes[:, 1]
        found: IndexArray = order[np.searchsorted(codes[order], wanted)]
        return found


@dataclass(frozen=True, eq=False)
class SegmentContacts:
    """m contacts: `side` (m,) is 0 for a vertex of a, 1 for a vertex of b, 2 for crossing segments; `segments` (m, 2)
    those of a and b, `parameters` (m, 2) in [0, 1] the positions on them.
    """

    side: IntArray
    segments: IntArray
    parameters: FloatArray


def segment_contacts(
    a: SegmentSet, points_a: FloatArray, b: SegmentSet, points_b: FloatArray, *, margin: float
) -> SegmentContacts:
    """Contacts of segments of `a` at `points_a` (P, 3) m with those of `b` whose surfaces are nearer than `margin` (m);
    with `a` twice, self-contacts.
    """
    reach = margin + float(a.radii.max() + b.radii.max())
    pose = a.surface.at(points_a)
    other = pose if a is b else b.surface.at(points_b)
    pairs = triangle_pairs(pose, other, margin=reach, facing=np.inf)  # segments have no normals
    if a is b:
        pairs = np.sort(pairs, axis=1)
    bodies = _body(pose.points, a), _body(other.points, b)
    room = max(64, 2 * len(pairs))
    while True:
        ints, places = np.empty((room, 3), np.int32), np.empty((room, 2))
        count = _search(pairs, a is b, margin, a.apart, *bodies, ints, places)
        if count <= room:
            break
        room = count
    kept = np.flatnonzero(_once(a, b, ints[:count], places[:count]))
    order = kept[np.lexsort((ints[kept, 2], ints[kept, 1], ints[kept, 0]))]
    return SegmentContacts(ints[order, 0], ints[order, 1:], places[order])


def _near_along(segments: IntArray, radii: FloatArray, rest: FloatArray) -> IndexArray:
    """Codes of the pairs of segments that are nearer along the body than `_TURN` radii."""
    from scipy.sparse import csgraph  # takes a while to import

    length = np.linalg.norm(rest[segments[:, 1]] - rest[segments[:, 0]], axis=1)
    limit = _TURN * float(radii.max())
    graph = sparse.csr_matrix((length, (segments[:, 0], segments[:, 1])), shape=(len(rest), len(rest)))
    count, codes = len(segments), []
    for first in range(0, count, 256):
        chosen = np.arange(first, min(first + 256, count))
        away = np.minimum(
            *(csgraph.dijkstra(graph, directed=False, indices=segments[chosen, end], limit=limit) for end in (0, 1))
        )
        near = np.isfinite(away[:, segments]).any(axis=2)
        i, j = np.nonzero(near)
        i = chosen[i]
        codes.append((i * np.int64(count) + j)[i < j])
    return np.sort(np.concatenate(codes)).astype(np.int64)


def _once(a: SegmentSet, b: SegmentSet, ints: IntArray, places: FloatArray) -> BoolArray:
    """Which contacts to keep: opposite vertices of both sides have two contacts, of which the one of a is kept."""
    ends = np.rint(places).astype(np.int64)
    at_vertices = (np.abs(places - ends) < _SAME).all(axis=1)
    rows = np.arange(len(ints))
    v = a.segments[ints[:, 1]][rows, ends[:, 0]] * np.int64(len(b.owner))
    codes = v + b.segments[ints[:, 2]][rows, ends[:, 1]]
    seen = codes[at_vertices & (ints[:, 0] == 0)]
    kept: BoolArray = ~(at_vertices & (ints[:, 0] == 1) & np.isin(codes, seen))
    return kept


class _Body(NamedTuple):
    """One side for the kernel: the arrays of its `SegmentSet`, with the positions of its vertices."""

    points: FloatArray
    segments: IntArray
    radii: FloatArray
    owner: IntArray
    start: IntArray
    fan: IntArray


def _body(points: FloatArray, body: SegmentSet) -> _Body:
    return _Body(points, body.segments, body.radii, body.owner, body.surface.fan_start, body.surface.fan)


@kernel
def _search(
    pairs: IntArray,
    same: bool,
    margin: float,
    apart: IndexArray,
    a: _Body,
    b: _Body,
    ints: IntArray,
    places: FloatArray,
) -> int:
    """Write as many contacts as there is room for, and return how many there are."""
    count = 0
    for n in range(len(pairs)):
        e, f = pairs[n, 0], pairs[n, 1]
        if same:
            code = e * np.int64(len(a.segments)) + f
            at = np.searchsorted(apart, code)
            if at < len(apart) and apart[at] == code:
                continue
        reach = margin + a.radii[e] + b.radii[f]
        i, j, k, m = a.segments[e, 0], a.segments[e, 1], b.segments[f, 0], b.segments[f, 1]
        s, t, squared, sine = segment_parameters(a.points, i, j, b.points, k, m)
        if squared > reach * reach:
            continue
        if sine > PARALLEL and _END < s < 1.0 - _END and _END < t < 1.0 - _END:
            if count < len(ints):
                ints[count, 0], ints[count, 1], ints[count, 2] = 2, e, f
                places[count, 0], places[count, 1] = s, t
            count += 1
        for side in range(2):  # vertices of a over the segment of b, then the other way
            if side == 0:
                own, other, mine, theirs = e, f, a, b
            else:
                own, other, mine, theirs = f, e, b, a
            q, k, m = theirs.points, theirs.segments[other, 0], theirs.segments[other, 1]
            u0, u1, u2 = q[m, 0] - q[k, 0], q[m, 1] - q[k, 1], q[m, 2] - q[k, 2]
            for end in range(2):
                v = mine.segments[own, end]
                if mine.owner[v] != own:
                    continue
                p = mine.points[v]
                r0, r1, r2 = p[0] - q[k, 0], p[1] - q[k, 1], p[2] - q[k, 2]
                t = clamp(dot(u0, u1, u2, r0, r1, r2) / dot(u0, u1, u2, u0, u1, u2))
                r0, r1, r2 = r0 - t * u0, r1 - t * u1, r2 - t * u2
                if dot(r0, r1, r2, r0, r1, r2) > reach * reach:
                    continue
                least = True
                if t <= 0.0 or t >= 1.0:  # a vertex too: nearer than its other segments, and seen from one of them
                    w = k if t <= 0.0 else m
                    least = theirs.owner[w] == other
                    for place in range(theirs.start[w], theirs.start[w + 1]):
                        g = theirs.fan[place]
                        z = theirs.segments[g, 0] + theirs.segments[g, 1] - w
                        d0, d1, d2 = q[z, 0] - q[w, 0], q[z, 1] - q[w, 1], q[z, 2] - q[w, 2]
                        least = least and dot(r0, r1, r2, d0, d1, d2) <= 0.0
                if least:
                    if count < len(ints):
                        ints[count, 0], ints[count, 1], ints[count, 2] = side, e, f
                        places[count, side], places[count, 1 - side] = float(end), t
                    count += 1
    return count
