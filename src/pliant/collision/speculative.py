"""Contacts ahead of a motion: their planes must not stand across a motion that would miss.

A contact that is still open is a plane through the nearest points. Near an edge or a corner many planes separate the
two bodies, and the one across the line between the nearest points may stand across the way of a body that would pass.
Where the motion predicted from the velocities would close such a contact, the plane is taken at the end of that motion
instead, provided that it separates the bodies now: it is as safe, and does not act on a motion that misses. A contact
that is closed already keeps its plane and its feet unless the plane turns: bodies press each other there. Two edges
that would pass beyond each other's ends are no contact; their vertices have contacts of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from pliant.collision.contacts import ContactKind, ContactSet, key_base
from pliant.collision.narrow.valleys import VALLEY
from pliant.collision.solids.obstacles import Distance
from pliant.collision.solids.surface_distance import SurfaceDistance
from pliant.collision.surface import EDGE_LIMIT, Pose
from pliant.core.arrays import frozen
from pliant.core.kernels import inline, kernel
from pliant.core.types import BoolArray, FloatArray, IndexArray, IntArray

_STILL = 1e-3
"""Fraction of the tolerance below which an approach is the rounding of a body at rest."""
_SAME = 0.99
"""Cosine between two planes, 8°, from which on they are one where bodies touch: they press each other there, and the
contact keeps its feet, which would change with every velocity."""

_BISECTIONS = 16
"""Halvings of a motion in the search for its closest approach: 2e-5 of it."""
_MOST_PAIRS = 1_000_000
"""Most ordered pairs of points for which the relative motion in self-contact is measured; beyond, it is bounded."""


class MovingSide(NamedTuple):
    """A side of a pair: its surface when called, None for a solid without triangles; the motion (n, 3) m of its points
    until the end of the step; the distance of points in world axes from its solid, None where there is none; and the
    radii (n,) m of balls around its points, None without.
    """

    pose: Callable[[], Pose] | None
    motion: FloatArray
    distance: Callable[[FloatArray], Distance] | None = None
    radii: FloatArray | None = None


def on_predicted_motion(
    contacts: ContactSet, a: MovingSide, b: MovingSide, *, tolerance: float, pair: int
) -> ContactSet:
    """`contacts` with planes that do not stand across the predicted motion; planes may be passed by `tolerance` (m)."""
    c = contacts
    move_a, move_b, end_gap = np.empty((c.count, 3)), np.empty((c.count, 3)), np.empty(c.count)
    closing = np.empty(c.count, np.bool_)
    sides = c.nodes_a, c.weights_a, _packed(a.motion), c.nodes_b, c.weights_b, _packed(b.motion)
    if not _predict(c.gap, c.normal, *sides, tolerance, move_a, move_b, end_gap, closing):
        return c
    arrays: dict[str, Any] = {name: np.array(getattr(c, name)) for name in _TURNED}
    closing &= ~_in_valleys(c, pair)
    crossing = closing & (c.kind == ContactKind.EDGE_EDGE) & (b.pose is not None)
    face_vertex = closing & (c.kind == ContactKind.FACE_VERTEX)
    radius = np.zeros(c.count) if a.radii is None else a.radii[c.nodes_a[:, 0]]
    _turn(arrays, closing & ~crossing & ~face_vertex, (move_a, move_b), b, "b", radius)
    _turn(arrays, face_vertex, (move_b, move_a), a, "a", np.zeros(c.count))
    # an edge ahead of a ball that rolls over it is open by less than the tolerance, and must not hold it back
    touching = np.where((c.kind == ContactKind.EDGE_EDGE) & ~crossing, _STILL, 1.0) * tolerance
    pressing = (c.gap <= touching) & (np.einsum("mi,mi->m", arrays["normal"], c.normal) >= _SAME)
    usable = (arrays["gap"] >= -tolerance) & ~pressing
    for name, array in arrays.items():
        array[~usable] = getattr(c, name)[~usable]
    kept = np.ones(c.count, bool)
    if crossing.any():
        features = c.key[crossing] - key_base(ContactKind.EDGE_EDGE, pair)
        opened = np.maximum(c.gap[crossing], 0.0)
        fraction = opened / (opened - end_gap[crossing])
        kept[crossing] = _edges_meet(features, fraction, a, b, tolerance)
    return replace(c, **arrays).selected(kept)


def _in_valleys(contacts: ContactSet, pair: int) -> BoolArray:
    """Which are second contacts of vertices (m,): each has the plane of its own face."""
    bases = np.array([key_base(kind, pair) for kind in (ContactKind.VERTEX_FACE, ContactKind.FACE_VERTEX)])
    kind = contacts.kind
    of_vertex = (kind == ContactKind.VERTEX_FACE) | (kind == ContactKind.FACE_VERTEX)
    feature = contacts.key - bases[np.where(kind == ContactKind.FACE_VERTEX, 1, 0)]
    return np.asarray(of_vertex & (feature >= VALLEY) & (feature < EDGE_LIMIT * EDGE_LIMIT))


_TURNED = ("nodes_a", "weights_a", "nodes_b", "weights_b", "normal", "gap", "point_a", "point_b", "face")


def fastest_approach(a: FloatArray, b: FloatArray) -> float:
    """Largest speed, m/s, at which points with velocities `a` (n, 3) approach points with velocities `b` (m, 3)."""
    return float(_fastest(_packed(a), _packed(b)))


def _packed(array: FloatArray) -> FloatArray:
    """The array as kernels are compiled for it: contiguous and read-only."""
    packed: FloatArray = frozen(np.ascontiguousarray(array))
    return packed


@kernel
def _fastest(a: FloatArray, b: FloatArray) -> float:
    m0, m1, m2 = b[:, 0].mean(), b[:, 1].mean(), b[:, 2].mean()
    total = 0.0
    for v in (a, b):
        most = 0.0
        for k in range(len(v)):
            d0, d1, d2 = v[k, 0] - m0, v[k, 1] - m1, v[k, 2] - m2
            squared = d0 * d0 + d1 * d1 + d2 * d2
            most = max(most, squared)
        total += np.sqrt(most)
    return total


@kernel
def _predict(
    gap: FloatArray,
    normal: FloatArray,
    nodes_a: IntArray,
    weights_a: FloatArray,
    motion_a: FloatArray,
    nodes_b: IntArray,
    weights_b: FloatArray,
    motion_b: FloatArray,
    tolerance: float,
    move_a: FloatArray,
    move_b: FloatArray,
    end_gap: FloatArray,
    closing: BoolArray,
) -> bool:
    """Write the motions (m, 3) m of the two points of each contact, its gap (m,) m at the end of them and whether it
    closes (m,); returns whether one does.
    """
    _move(nodes_a, weights_a, motion_a, move_a)
    _move(nodes_b, weights_b, motion_b, move_b)
    some = False
    for m in range(len(gap)):
        end = gap[m]
        for axis in range(3):
            end += normal[m, axis] * (move_a[m, axis] - move_b[m, axis])
        end_gap[m] = end
        closing[m] = gap[m] > -tolerance and end < -_STILL * tolerance
        some |= closing[m]
    return some


@inline
def _move(nodes: IntArray, weights: FloatArray, motion: FloatArray, move: FloatArray) -> None:
    """Motion (m, 3) m of the points of `nodes` (m, 3) and `weights` (m, 3); of a solid that of its frame."""
    for m in range(len(nodes)):
        for axis in range(3):
            moved = 0.0
            for k in range(nodes.shape[1]):
                if nodes[m, k] >= 0:
                    moved += weights[m, k] * motion[nodes[m, k], axis]
            if nodes[m, 0] < 0:
                moved = motion[:, axis].mean()
            move[m, axis] = moved


def _turn(
    arrays: dict[str, Any],
    which: BoolArray,
    moves: tuple[FloatArray, FloatArray],
    other: MovingSide,
    name: str,
    radius: FloatArray,
) -> None:
    """Take the planes of the contacts `which` (m,) where their points and the side `other`, called `name`, will be;
    `moves` (m, 3) m are the motions of the points and of what they touch, `radius` (m,) m that of the balls around
    the points.
    """
    index = np.flatnonzero(which)
    if not len(index):
        return
    own, radius = "a" if name == "b" else "b", radius[index]
    points = arrays[f"point_{own}"][index] + radius[:, None] * arrays["normal"][index]  # centres of the balls
    if arrays[f"nodes_{name}"][index[0], 0] >= 0 and other.pose is not None:
        pose = other.pose()
        found = SurfaceDistance(pose.surface.at(pose.points + other.motion))(points + moves[0][index])
        nodes = pose.surface.triangles[found.face]
        normal, foot = found.normal, np.einsum("mk,mki->mi", found.weights, pose.points[nodes])
        used = found.takes_part
        arrays[f"nodes_{name}"][index[used]], arrays["face"][index[used]] = nodes[used], found.face[used]
        arrays[f"weights_{name}"][index[used]] = found.weights[used]
    elif other.distance is not None:
        solid = _at_closest_approach(other.distance, points, (moves[0] - moves[1])[index])
        normal, foot, used = solid.normal, solid.point, np.isfinite(solid.gap)
    else:
        return
    chosen = index[used]
    arrays["normal"][chosen] = (1.0 if name == "b" else -1.0) * normal[used]
    arrays["gap"][chosen] = np.einsum("mi,mi->m", normal[used], points[used] - foot[used]) - radius[used]
    arrays[f"point_{own}"][chosen] = points[used] - radius[used, None] * normal[used]
    arrays[f"point_{name}"][chosen] = foot[used]


def _at_closest_approach(
    distance: Callable[[FloatArray], Distance], points: FloatArray, motion: FloatArray
) -> Distance:
    """Distances (m,) of a solid from `points` (m, 3) m where they are closest to it on the `motion` (m, 3) m: at the
    end, or before it where a point recedes again, as beside a ball that rolls over it.
    """
    end = distance(points + motion)
    passes = np.flatnonzero(np.isfinite(end.gap) & (np.einsum("mi,mi->m", end.normal, motion) > 0.0))
    if not len(passes):
        return end
    start, along = points[passes], motion[passes]
    low: FloatArray = np.zeros(len(passes))
    high: FloatArray = np.ones(len(passes))
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        recedes = np.einsum("mi,mi->m", distance(start + middle[:, None] * along).normal, along) > 0.0
        low, high = np.where(recedes, low, middle), np.where(recedes, middle, high)
    nearest = distance(start + (0.5 * (low + high))[:, None] * along)
    for whole, part in zip(end, nearest, strict=True):
        whole[passes] = part
    return end


def _edges_meet(
    features: IndexArray, fraction: FloatArray, a: MovingSide, b: MovingSide, tolerance: float
) -> BoolArray:
    """Whether pairs of edges (m,) cross between their ends after the `fraction` (m,) of the motion at which their
    contact would close; within `tolerance` (m) of an end they do not.
    """
    ends = []
    for side, edge in ((a, features // EDGE_LIMIT), (b, features % EDGE_LIMIT)):
        assert side.pose is not None
        pose = side.pose()
        nodes = pose.surface.edges[edge]
        ends.append(pose.points[nodes] + fraction[:, None, None] * side.motion[nodes])
    u, v, r = ends[0][:, 1] - ends[0][:, 0], ends[1][:, 1] - ends[1][:, 0], ends[1][:, 0] - ends[0][:, 0]
    across = np.cross(u, v)
    squared = np.maximum(np.einsum("mi,mi->m", across, across), 1e-300)
    meet = np.ones(len(features), bool)
    for moment, line in ((np.cross(r, v), u), (np.cross(r, u), v)):
        along = np.einsum("mi,mi->m", moment, across) / squared
        slack = tolerance / np.linalg.norm(line, axis=1)
        meet &= (along >= slack) & (along <= 1.0 - slack)
    return meet


def largest_closing(start: FloatArray, end: FloatArray, margin: float, spacing: float) -> float:
    """Largest relative motion of two points of one body, m, among those close enough to meet, themselves or the faces
    of size `spacing` (m) around them; an upper bound where it is within the margin or the pairs are too many.
    """
    from scipy.spatial import cKDTree  # a tenth of a second to import, which only self-contact needs

    shift = end - start
    most = 2.0 * float(np.sqrt(((shift - shift.mean(axis=0)) ** 2).sum(axis=1).max()))
    if most <= margin:
        return most
    tree = cKDTree(start)
    if tree.count_neighbors(tree, most + spacing) > _MOST_PAIRS:
        return most
    i, j = tree.query_pairs(most + spacing, output_type="ndarray").T
    return float(np.sqrt(((shift[i] - shift[j]) ** 2).sum(axis=1).max(initial=0.0)))
