"""Pairs of boxes: distances between their vertices, faces and edges, their scopes, and derivatives.

A pair has 240 features, each a smooth function of the coordinates: 8 vertices of the second box over 6 faces of the
first, 8 of the first over 6 of the second, and 12 × 12 edges,

    vertex over face   h = n·(p − c) − half,         edge over edge   h = w·(p′ − p)/|w|,  w = ± a × b.

Such an h is the gap of the boxes only while its feature is the closest one. Its `scope` in m is the signed distance to
the boundary of that region, positive inside: the vertex is over the face, or the edges cross within their lengths and
each is the outermost of its box along w (Gilbert et al. 1988; Erleben et al. 2005), and no other face separates the
boxes by much more. Boxes do not overlap where h ≥ 0 for every feature in scope.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.core.checks import finite_array
from pliant.core.errors import InputError
from pliant.core.kernels import inline, kernel
from pliant.core.types import FloatArray
from pliant.hybrid.bodies.free_bodies import FreeBodies, cross, rotations

FEATURES = 240
EDGE = 1e-6
"""Distance of a vertex beyond the rim of a face at which it is still in scope, relative to the smallest half side."""
ARC = 0.02
"""rad; angle by which the normal of two edges may leave the arc between the faces that meet there."""
PARALLEL = 0.05
"""Sine of the angle below which edges count as parallel; vertices near their ends separate the boxes then."""
DEEP = 0.05
"""Extra depth of a face over the most separating one at which it is in scope, relative to the smallest half side."""
TIE = 1e-4
"""Extra depth of edges over the most separating face, likewise, where the boxes do not overlap."""

_SIGNS = np.array([[i, j, k] for i in (-1.0, 1.0) for j in (-1.0, 1.0) for k in (-1.0, 1.0)])
_FACE_AXIS = np.repeat(np.arange(3), 2)
_FACE_SIGN = np.tile([-1.0, 1.0], 3)
_EDGE_AXIS = np.repeat(np.arange(3), 4)
_SIDES = np.array([[1, 2], [2, 0], [0, 1]])
"""The axes of the two faces that meet at an edge along each axis."""
_EDGE_SIGNS = np.tile([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]], (3, 1))


def _edge_middles() -> FloatArray:
    """Middles (12, 3) of the edges of a box of half sides 1."""
    out = np.zeros((12, 3))
    np.put_along_axis(out, _SIDES[_EDGE_AXIS], _EDGE_SIGNS, axis=1)
    return out


_MIDDLES = _edge_middles()
_OUT = np.eye(3)[_SIDES[_EDGE_AXIS]] * _EDGE_SIGNS[:, :, None]
"""Outward normals (12, 2, 3) of the two faces at each edge."""


class BoxPairs:
    """All pairs i < j of free `bodies`, boxes of half sides `halves` (k, 3) m; row 240 p + f is feature f of pair p."""

    def __init__(self, bodies: FreeBodies, halves: Any) -> None:
        self.bodies = bodies
        self.halves = finite_array("half sides of the boxes", halves, shape=(bodies.count, 3))
        if (self.halves <= 0.0).any() or bodies.count < 2:
            raise InputError("pairs of boxes need two boxes at least, with half sides > 0")
        self.first, self.second = np.triu_indices(bodies.count, 1)
        self.count = FEATURES * len(self.first)
        self.length = float(self.halves.min())
        self._cache: Any = None
        self._radii = np.sqrt((self.halves**2).sum(axis=1))

    def near(self, q: FloatArray, search_distance: float) -> Any:
        """Rows (k,) of the pairs whose bounding spheres are closer than `search_distance` (m)."""
        x = self.bodies.split(q)[0]
        d = x[self.second] - x[self.first]
        gap = np.sqrt((d * d).sum(axis=1)) - self._radii[self.first] - self._radii[self.second]
        return (FEATURES * np.flatnonzero(gap < search_distance)[:, None] + np.arange(FEATURES)).ravel()

    def moved(self, q: FloatArray, then: FloatArray) -> float:
        """The most (m) by which the distance of two bounding spheres changed."""
        d = self.bodies.split(q - then)[0]
        return 2.0 * float(np.sqrt((d * d).sum(axis=1).max()))

    def gap(self, q: Any, which: Any) -> Any:
        """h (k,) m of features."""
        if np.iscomplexobj(q):
            return self.rows(q, np.zeros(len(q)), which)[0]
        return self._features(q, which)[0]

    def scope(self, q: FloatArray, which: Any) -> FloatArray:
        """Signed distance (k,) m of features to the boundary of their scope, positive inside."""
        return self._features(q, which)[1]

    def _features(self, q: FloatArray, which: Any) -> tuple[FloatArray, FloatArray]:
        """h and scope (k,) m of features; those of their pairs are cached for the same q."""
        which = np.asarray(which)
        pairs, pair_index = np.unique(which // FEATURES, return_inverse=True)
        cached, state = self._cache, q.tobytes() + pairs.tobytes()
        if cached is None or cached[0] != state:
            (x, theta), i, j = self.bodies.split(q), self.first[pairs], self.second[pairs]
            h, scope = box_features(np.ascontiguousarray(x), rotations(theta), self.halves, i, j, self.length)
            cached = self._cache = state, h, scope
        return cached[1][pair_index, which % FEATURES], cached[2][pair_index, which % FEATURES]

    def rows(self, q: Any, v: Any, which: Any) -> tuple[Any, Any, Any]:
        """h (k,), H (k, n) and vᵀ∇²h v (k,) of features."""
        which = np.asarray(which)
        pair, feature = which // FEATURES, which % FEATURES
        i, j = self.first[pair], self.second[pair]
        h, c = np.empty(len(which), np.result_type(q, v, float)), np.empty(len(which), np.result_type(q, v, float))
        H = np.zeros((len(which), self.bodies.count, 6), h.dtype)
        for mine, one, other, local in (
            (np.flatnonzero(feature < 48), i, j, feature),
            (np.flatnonzero((feature >= 48) & (feature < 96)), j, i, feature - 48),
        ):
            if len(mine):
                face, vertex = one[mine], other[mine]
                h[mine], H[mine, face], H[mine, vertex], c[mine] = self._vertex_rows(q, v, face, vertex, local[mine])
        mine = np.flatnonzero(feature >= 96)
        if len(mine):
            a, b = i[mine], j[mine]
            h[mine], H[mine, a], H[mine, b], c[mine] = self._edge_rows(q, v, a, b, feature[mine] - 96)
        return h, H.reshape(len(which), -1), c

    def _vertex_rows(self, q: Any, v: Any, face: Any, vertex: Any, feature: Any) -> tuple[Any, Any, Any, Any]:
        """h, ∂h by the box of the face, ∂h by the box of the vertex, and curvature."""
        bodies, axis, sign = self.bodies, _FACE_AXIS[feature % 6], _FACE_SIGN[feature % 6]
        p, J, bend = bodies.point_rows(q, v, vertex, self.halves[vertex] * _SIGNS[feature // 6])
        n, Jn, turn = self._directions(q, v, face, sign[:, None] * _EYE[axis])
        rates = v.reshape(-1, 6)
        d = p - bodies.split(q)[0][face]
        d_rate = np.einsum("kij,kj->ki", J, rates[vertex]) - rates[face, :3]
        n_rate = np.einsum("kij,kj->ki", Jn, rates[face, 3:])
        by_face = np.concatenate([-n, np.einsum("ki,kij->kj", d, Jn)], axis=1)
        curve = _dot(n, bend) + 2.0 * _dot(n_rate, d_rate) + _dot(turn, d)
        h = _dot(n, d) - self.halves[face, axis]
        return h, by_face, np.einsum("ki,kij->kj", n, J), curve

    def _edge_rows(self, q: Any, v: Any, i: Any, j: Any, feature: Any) -> tuple[Any, Any, Any, Any]:
        """h, ∂h by the first box, ∂h by the second, and curvature, of edges that cross."""
        bodies, rates, (e, f) = self.bodies, v.reshape(-1, 6), (feature // 12, feature % 12)
        p, Jp, bend_p = bodies.point_rows(q, v, i, self.halves[i] * _MIDDLES[e])
        r, Jr, bend_r = bodies.point_rows(q, v, j, self.halves[j] * _MIDDLES[f])
        a, Ja, turn_a = self._directions(q, v, i, _EYE[_EDGE_AXIS[e]])
        b, Jb, turn_b = self._directions(q, v, j, _EYE[_EDGE_AXIS[f]])
        outward = self._directions(q, v, i, _OUT[e].sum(axis=1))[0]
        sign = np.where(_dot(cross(a, b), outward).real < 0.0, -1.0, 1.0)[:, None]
        a, Ja, turn_a = sign * a, sign[:, :, None] * Ja, sign * turn_a
        w, d = cross(a, b), r - p
        length = np.sqrt(_dot(w, w) + 1e-300)  # parallel edges have no normal and are never in scope
        n, h = w / length[:, None], _dot(w, d) / length
        curl = (h / length**2)[:, None]
        by_a = cross(b, d) / length[:, None] - curl * cross(b, w)
        by_b = cross(d, a) / length[:, None] - curl * cross(w, a)
        by_i, by_j = -np.einsum("ki,kij->kj", n, Jp), np.einsum("ki,kij->kj", n, Jr)
        by_i[:, 3:] += np.einsum("ki,kij->kj", by_a, Ja)
        by_j[:, 3:] += np.einsum("ki,kij->kj", by_b, Jb)
        a_rate, b_rate = (np.einsum("kij,kj->ki", J, rates[k, 3:]) for J, k in ((Ja, i), (Jb, j)))
        d_rate = np.einsum("kij,kj->ki", Jr, rates[j]) - np.einsum("kij,kj->ki", Jp, rates[i])
        w_rate = cross(a_rate, b) + cross(a, b_rate)
        w_bend = cross(turn_a, b) + 2.0 * cross(a_rate, b_rate) + cross(a, turn_b)
        volume_rate = _dot(w_rate, d) + _dot(w, d_rate)
        volume_bend = _dot(w_bend, d) + 2.0 * _dot(w_rate, d_rate) + _dot(w, bend_r - bend_p)
        length_rate = _dot(w, w_rate) / length
        length_bend = (_dot(w_rate, w_rate) + _dot(w, w_bend) - length_rate**2) / length
        rate = (volume_rate - h * length_rate) / length
        return h, by_i, by_j, (volume_bend - 2.0 * rate * length_rate - h * length_bend) / length

    def _directions(self, q: Any, v: Any, owner: Any, local: FloatArray) -> tuple[Any, Any, Any]:
        """Directions (k, 3) fixed in boxes, their derivative (k, 3, 3) by the rotation vector, and their second time
        derivative (k, 3) while v does not change.
        """
        x, J, bend = self.bodies.point_rows(q, v, owner, local)
        return x - self.bodies.split(q)[0][owner], J[:, :, 3:], bend


_EYE = np.eye(3)


def _dot(a: Any, b: Any) -> Any:
    return (a * b).sum(axis=1)


@kernel
def box_features(x: Any, R: Any, halves: Any, first: Any, second: Any, length: Any) -> Any:
    """h and scope (pairs, 240) m of all features of pairs of boxes at x (k, 3), turned by R (k, 3, 3)."""
    h, scope = np.empty((len(first), FEATURES)), np.empty((len(first), FEATURES))
    p, r, w = np.empty(3), np.empty(3), np.empty(3)
    for pair in range(len(first)):
        i, j = first[pair], second[pair]
        faces = -1e300  # how far the most separating face separates the boxes
        for start in (0, 48):
            one, other = (i, j) if start == 0 else (j, i)
            for c in range(8):
                for k in range(3):
                    p[k] = 0.0
                    for m in range(3):
                        corner = x[other, m] - x[one, m]
                        for b in range(3):
                            corner += R[other, m, b] * halves[other, b] * _SIGNS[c, b]
                        p[k] += R[one, m, k] * corner
                for f in range(6):
                    k, u, t = f // 2, _SIDES[f // 2, 0], _SIDES[f // 2, 1]
                    h[pair, start + 6 * c + f] = _FACE_SIGN[f] * p[k] - halves[one, k]
                    rim = min(halves[one, u] - abs(p[u]), halves[one, t] - abs(p[t]))
                    scope[pair, start + 6 * c + f] = rim + EDGE * length
            for f in range(6):
                faces = max(faces, h[pair, start + f : start + 48 : 6].min())
        for start in (0, 48):
            for f in range(6):
                depth = h[pair, start + f : start + 48 : 6].min() - faces + DEEP * length
                for c in range(8):
                    scope[pair, start + 6 * c + f] = min(scope[pair, start + 6 * c + f], depth)
        for e in range(12):
            for f in range(12):
                gap, counts = _crossing(x, R, halves, i, j, e, f, length, p, r, w)
                h[pair, 96 + 12 * e + f] = gap
                slack = min(2.0 * max(-faces, 0.0), DEEP * length) + TIE * length
                scope[pair, 96 + 12 * e + f] = min(counts, gap - faces + slack)
    return h, scope


@inline
def _crossing(x: Any, R: Any, halves: Any, i: Any, j: Any, e: Any, f: Any, length: Any, p: Any, d: Any, n: Any) -> Any:
    """h of edge e of box i over edge f of box j, and its scope but for depth, both in m; p, d, n (3,) are room."""
    a, b = _EDGE_AXIS[e], _EDGE_AXIS[f]
    A, B = R[i, :, a], R[j, :, b]
    sine = 0.0
    for k in range(3):
        u, t = (k + 1) % 3, (k + 2) % 3
        n[k] = A[u] * B[t] - A[t] * B[u]
        sine += n[k] * n[k]
        d[k] = x[j, k] - x[i, k]
        for m in range(3):
            d[k] += R[j, k, m] * halves[j, m] * _MIDDLES[f, m] - R[i, k, m] * halves[i, m] * _MIDDLES[e, m]
    sine = max(np.sqrt(sine), 1e-12)
    lean = np.zeros(4)  # how the normal leans towards the faces at both edges
    for k in range(3):
        for s in range(2):
            for m in range(3):
                lean[s] += n[k] * R[i, k, m] * _OUT[e, s, m] / sine
                lean[2 + s] -= n[k] * R[j, k, m] * _OUT[f, s, m] / sine
    sign = -1.0 if lean[0] + lean[1] < 0.0 else 1.0
    gap = along_a = along_b = 0.0
    for k in range(3):
        u, t = (k + 1) % 3, (k + 2) % 3
        gap += sign * n[k] * d[k] / sine
        along_a += (d[u] * B[t] - d[t] * B[u]) * n[k] / sine**2
        along_b += (d[u] * A[t] - d[t] * A[u]) * n[k] / sine**2
    arc = (sign * lean).min() + ARC
    rim = min(halves[i, a] - abs(along_a), halves[j, b] - abs(along_b)) + EDGE * length
    return gap, min(rim, length * min(arc, sine - PARALLEL))
