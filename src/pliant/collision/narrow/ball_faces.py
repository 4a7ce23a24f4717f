"""Contacts of a ball with faces of a surface in a quasi-static solve: of every one that it stands above.

A face bounds the ball at the foot of its centre, which travels over the face as both move. A contact begins where the
foot is well within the face. It stays while it is within, and on the rim as long as no edge or vertex has the same
contact: none goes with a force, as Newton's iteration requires.
"""

from __future__ import annotations

import numpy as np

from pliant.collision.contacts import ContactKind, ContactSet, key_base, no_side_b
from pliant.collision.surface import CollisionSurface
from pliant.core.types import BoolArray, FloatArray, IntArray

_INSIDE = 0.05
"""Weight that every corner has at the foot where a contact begins: nearer to an edge, the two would hardly differ."""
_BEHIND = 0.5
"""Fraction of the radius by which the centre may be behind a face that pushes it out."""
_END = 1e-9
"""Weight of a corner below which a point is on the opposite edge."""


def ball_face_contacts(
    surface: CollisionSurface,
    points: FloatArray,
    center: FloatArray,
    radius: float,
    edges: ContactSet,
    *,
    margin: float,
    pair: int = 0,
    feature: int = 0,
    dip: float = 0.0,
    previous: ContactSet | None = None,
) -> ContactSet:
    """Contacts of `surface` at `points` (n, 3) m, side a, with a ball of `radius` m around `center` (3,) m, beside
    those `edges` of its edges. `feature` tells the balls of one solid apart. The longest edge of a face has to dip by
    more than the fraction `dip` of its length between ends that touch. Contacts of the `previous` solve stay.
    """
    base = key_base(ContactKind.FACE_VERTEX, pair) + feature + 2
    triangles, reach = surface.triangles[surface.order], radius + margin
    corners = points[triangles]
    near = ((corners.min(axis=1) <= center + reach) & (corners.max(axis=1) >= center - reach)).all(axis=1)
    faces, corners = surface.order[near], corners[near]
    sides = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2)
    large = sides.max(axis=1, initial=0.0) > 8.0 * dip * radius
    faces, corners = faces[large], corners[large]
    key = base + 2 * faces.astype(np.int64)
    known = np.zeros(len(faces), bool) if previous is None else np.isin(key, previous.key)
    weights, height = _feet(corners, center)
    least = np.where(known, 0.0, _INSIDE)[:, None]
    chosen = (height > -_BEHIND * radius) & (height <= reach) & (weights >= least).all(axis=1)
    left = known & ~chosen & (height > 0.0)
    weights[left] = _on_rim(corners[left], center)
    chosen[left] = ~_is_listed(surface.triangles[faces[left]], weights[left] > _END, edges)
    faces, corners, weights, key = faces[chosen], corners[chosen], weights[chosen], key[chosen]
    foot = np.einsum("mk,mki->mi", weights, corners)
    away, left, height = foot - center, left[chosen], height[chosen]
    distance = np.where(left, np.linalg.norm(away, axis=1), height)
    good = (distance <= reach) & (~left | (distance > 0.0))
    normal = -_normals(corners[good])
    normal[left[good]] = (away[left] / distance[left, None])[good[left]]
    return ContactSet(
        nodes_a=surface.triangles[faces[good]].astype(np.int32),
        weights_a=weights[good],
        normal=normal,
        gap=distance[good] - radius,
        point_a=foot[good],
        point_b=center + radius * normal,
        key=key[good],
        face=faces[good].astype(np.int32),
        point_count_a=len(points),
        point_count_b=0,
        **no_side_b(int(good.sum()), ContactKind.FACE_VERTEX),
    )


def _feet(corners: FloatArray, point: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Weights (f, 3) of the corners (f, 3, 3) at the feet of a point on the planes of triangles, and its heights (f,)
    m above them; −1 for triangles without area.
    """
    u, v, away = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0], point - corners[:, 0]
    across = np.cross(u, v)
    squared = np.einsum("fi,fi->f", across, across)
    flat = squared > 0.0
    squared = np.where(flat, squared, 1.0)
    second = np.einsum("fi,fi->f", np.cross(away, v), across) / squared
    third = np.einsum("fi,fi->f", np.cross(u, away), across) / squared
    height = np.einsum("fi,fi->f", away, across) / np.sqrt(squared)
    return np.column_stack([1.0 - second - third, second, third]), np.where(flat, height, -1.0)


def _normals(corners: FloatArray) -> FloatArray:
    """Unit normals (f, 3) of the triangles (f, 3, 3)."""
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    made: FloatArray = across / np.linalg.norm(across, axis=1, keepdims=True)
    return made


def _on_rim(corners: FloatArray, point: FloatArray) -> FloatArray:
    """Weights (f, 3) of the corners (f, 3, 3) at the points of the rims of triangles nearest to a point."""
    ends = np.roll(corners, -1, axis=1)
    along = ends - corners
    t = np.einsum("fki,fki->fk", point - corners, along) / np.maximum(np.einsum("fki,fki->fk", along, along), 1e-300)
    t = np.clip(t, 0.0, 1.0)
    away = corners + t[:, :, None] * along - point
    row, side = np.arange(len(corners)), np.einsum("fki,fki->fk", away, away).argmin(axis=1)
    weights = np.zeros((len(corners), 3))
    weights[row, side] = 1.0 - t[row, side]
    weights[row, (side + 1) % 3] += t[row, side]
    return weights


def _is_listed(triangles: IntArray, used: BoolArray, edges: ContactSet) -> BoolArray:
    """Whether points on the rims of `triangles` (f, 3), between the corners `used` (f, 3), are at a vertex, or on an
    edge among the contacts `edges`.
    """
    listed = {(int(i), int(j)) for i, j in np.sort(edges.nodes_a[:, :2], axis=1)}
    made: BoolArray = used.sum(axis=1) < 2
    for m in np.flatnonzero(~made):
        i, j = np.sort(triangles[m][used[m]])[:2]
        made[m] = (int(i), int(j)) in listed
    return made
