"""Contacts of points with fixed planes in all copies: which are in reach of a step, their gaps and directions."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from pliant.batch.gpu.arrays import Array, Contacts

APPROACH = 1.2
"""`constraints.contact`: safety factor on the predicted approach in a step."""
RECOVERY_SPEED = 0.1
"""`constraints.contact`: speed at which a penetration is removed, m/s."""


class Picked(NamedTuple):
    """The contact of each slot: its `point` (b, slots), −1 without one, its `gap` (b, slots) m or as much of a
    penetration as a step removes, the `directions` (b, 3, 3, slots), axes before the three rows, and μ (b, slots); how
    many contacts are in reach (b,).
    """

    point: Array
    gap: Array
    directions: Array
    mu: Array
    reached: Array

    @property
    def used(self) -> Array:
        """Slots with a contact."""
        return self.point >= 0

    def carried(self, lam: Array, point: Array) -> Array:
        """Forces (b, 3 slots) of the contacts of the last step at the slots of the same points now."""
        copies, slots = point.shape
        same = self.used[:, :, None] & (self.point[:, :, None] == point[:, None, :])
        before = lam[:, : 3 * slots].reshape(copies, 3, slots)
        found = jnp.einsum("bij,bgj->bgi", same.astype(lam.dtype), before, precision=jax.lax.Precision.HIGHEST)
        return found.reshape(copies, -1)


def pick(own: Contacts, slots: int, moved: Array, around: Array, friction: Array, dt: Array) -> Picked:
    """The `slots` nearest contacts in reach, of points that have `moved` (c, 3, b) m and can come nearer by `around`
    (b,) m in a step, or than their margin.
    """
    dtype, copies, points = moved.dtype, moved.shape[-1], len(own.node)
    if not points:
        none = jnp.zeros((copies, slots), dtype)
        directions = jnp.zeros((copies, 3, 3, slots), dtype)
        return Picked(jnp.full((copies, slots), -1, jnp.int32), none, directions, none, jnp.zeros(copies, jnp.int32))
    pair, frames = jnp.asarray(own.pair), jnp.asarray(own.frames, dtype)
    reach = jnp.maximum(jnp.asarray(own.margin, dtype)[:, None], around)
    gap = (jnp.asarray(own.gap, dtype)[:, None] + jnp.sum(frames[:, 0, :, None] * moved, 1)).T
    near = gap <= reach[pair].T
    if points <= slots:
        chosen = jnp.broadcast_to(jnp.arange(points), (copies, points))
        chosen = jnp.pad(chosen, ((0, 0), (0, slots - points)), constant_values=-1)
    else:
        chosen = jax.lax.top_k(jnp.where(near, -gap, -jnp.inf), slots)[1]
    taken = jnp.maximum(chosen, 0)
    used = (chosen >= 0) & jnp.take_along_axis(near, taken, 1)
    gaps = jnp.where(used, jnp.maximum(jnp.take_along_axis(gap, taken, 1), -RECOVERY_SPEED * dt), 0.0)
    each = jnp.broadcast_to(friction, (friction.shape[0], copies))[pair].T.astype(dtype)
    mu = jnp.where(used, jnp.take_along_axis(each, taken, 1), 0.0)
    point = jnp.where(used, chosen, -1).astype(jnp.int32)
    return Picked(point, gaps, frames[taken].transpose(0, 3, 2, 1), mu, near.sum(1))
