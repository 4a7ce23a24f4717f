"""Contacts of points with fixed balls and capsules in all copies, beside those with planes.

The twin of `collision.narrow.obstacle_contacts`, and of `collision.speculative` for the contacts that are picked: where
the motion that the velocities predict would close a contact, its plane is taken where the point comes nearest to the
solid on that motion. Edges of the surface are short beside the radius, so that vertices alone bound them.
"""

from __future__ import annotations

import jax.numpy as jnp

from pliant.batch.gpu.arrays import Array, Edges, Rounds

SAME, STILL, BISECTIONS = 0.99, 1e-3, 16
"""`collision.speculative`: the cosine between planes that count as one, the fraction of the tolerance below which an
approach is rounding, and halvings of a motion in the search for its closest approach.
"""
LONG_EDGE = 0.4
"""`collision.narrow.round_contacts`: edges over the radius up to which vertices bound them, 8 DIP."""
AT_AXIS = 1e-12
"""`collision.solids.shape_distance`: distance from the axis over the radius below which a point leaves it outward."""


def gaps_of(own: Rounds, moved: Array) -> Array:
    """Gaps (r, b) m of the points that have `moved` (r, 3, b), m."""
    axis, outward = (jnp.asarray(one, moved.dtype)[..., None] for one in (own.axis, own.outward))
    radius, away = jnp.asarray(own.radius, moved.dtype)[:, None, None], jnp.asarray(own.start, moved.dtype)[..., None]
    return _distance(axis, radius, outward, away + moved, 1)[0][:, 0]


def planes_of(own: Rounds, at: Array, moved: Array, motion: Array, tolerance: Array) -> tuple[Array, Array]:
    """Gaps (b, s), m, and normals (b, s, 3) of contacts of the points `at` (b, s) that have `moved` (b, s, 3), m, ahead
    of a predicted `motion` (b, s, 3), m; planes may be passed by `tolerance` (b, s), m.
    """
    dtype = moved.dtype
    axis, outward = (jnp.asarray(one, dtype)[at] for one in (own.axis, own.outward))
    radius, away = jnp.asarray(own.radius, dtype)[at][..., None], jnp.asarray(own.start, dtype)[at] + moved

    def distance(fraction: Array) -> tuple[Array, Array]:
        gap, normal = _distance(axis, radius, outward, away + fraction * motion, -1)
        return gap[..., 0], normal

    def recedes(normal: Array) -> Array:
        return _dot(normal, motion)[..., None] > 0.0

    gap, normal = distance(jnp.zeros((), dtype))
    passes = recedes(distance(jnp.ones((), dtype))[1])
    low, high = jnp.zeros_like(radius), jnp.ones_like(radius)
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        back = recedes(distance(middle)[1])
        low, high = jnp.where(back, low, middle), jnp.where(back, middle, high)
    fraction = jnp.where(passes, 0.5 * (low + high), 1.0)
    nearest, turned = distance(fraction)
    ahead = nearest - _dot(turned, fraction * motion)  # of where the point is, above the plane there
    closing = (gap > -tolerance) & (gap + _dot(normal, motion) < -STILL * tolerance)
    pressing = (gap <= tolerance) & (_dot(turned, normal) >= SAME)
    taken = closing & ~pressing & (ahead >= -tolerance)
    return jnp.where(taken, ahead, gap), jnp.where(taken[..., None], turned, normal)


def uncovered(own: Edges, moved: Array, reach: Array) -> Array:
    """Whether an edge whose ends have `moved` (2e, 3, b) m comes as near as `reach` (pairs, b) m to its solid and is so
    long there, (b,), that its vertices do not bound it: the ordinary step has contacts of edges and faces then.
    """
    dtype, count = moved.dtype, len(own.radius)
    axis, outward = (jnp.asarray(one, dtype)[..., None] for one in (own.axis, own.outward))
    radius = jnp.asarray(own.radius, dtype)[:, None, None]
    ends = jnp.asarray(own.start, dtype)[..., None] + moved
    first, along = ends[:count], ends[count:] - ends[:count]
    low, high = jnp.zeros_like(along[:, :1]), jnp.ones_like(along[:, :1])
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        _, normal = _distance(axis, radius, outward, first + middle * along, 1)
        rises = jnp.sum(normal * along, 1, keepdims=True) > 0.0
        low, high = jnp.where(rises, low, middle), jnp.where(rises, middle, high)
    gap = _distance(axis, radius, outward, first + 0.5 * (low + high) * along, 1)[0][:, 0]
    length = jnp.sqrt(jnp.sum(along * along, 1))
    bounded = LONG_EDGE * (radius[:, 0] + jnp.minimum(gap, 0.0))
    return ((gap <= reach[jnp.asarray(own.pair)]) & (length > bounded)).any(0)


def frames_around(normal: Array) -> Array:
    """Normals (…, 3) and two tangents each, (…, 3, 3), rows first (Duff et al. 2017)."""
    x, y, z = normal[..., 0], normal[..., 1], normal[..., 2]
    sign = jnp.where(z >= 0.0, 1.0, -1.0).astype(normal.dtype)
    a = -1.0 / (sign + z)
    b = x * y * a
    first = jnp.stack([1.0 + sign * x * x * a, sign * b, -sign * x], -1)
    return jnp.stack([normal, first, jnp.stack([b, sign + y * y * a, -y], -1)], -2)


def _distance(axis: Array, radius: Array, outward: Array, away: Array, along: int) -> tuple[Array, Array]:
    """Gaps and normals of points `away` from the starts of axes, with the three axes of space on one axis `along`."""
    squares = jnp.sum(axis * axis, along, keepdims=True)
    fraction = jnp.sum(axis * away, along, keepdims=True) / jnp.where(squares > 0.0, squares, 1.0)
    d = away - jnp.where(squares > 0.0, jnp.clip(fraction, 0.0, 1.0), 0.0) * axis
    length = jnp.sqrt(jnp.sum(d * d, along, keepdims=True))
    far = length > AT_AXIS * radius
    return length - radius, jnp.where(far, d / jnp.where(far, length, 1.0), outward)


def _dot(a: Array, b: Array) -> Array:
    return jnp.sum(a * b, -1)
