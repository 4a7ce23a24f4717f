"""Contacts of points with fixed solids in all copies: which are in reach of a step, their gaps and directions."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from pliant.batch.gpu.arrays import Array, Contacts, Rounds
from pliant.batch.gpu.rounds import frames_around, gaps_of, planes_of

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


def pick(
    own: Contacts, slots: int, moved: Array, around: Array, friction: Array, dt: Array, rounds: Rounds | None = None,
    motion: Array | None = None,
) -> Picked:  # fmt: skip
    """The `slots` nearest contacts in reach, of points that have `moved` (c, 3, b) m and can come nearer by `around`
    (b,) m in a step, or than their margin. Those with `rounds` follow the predicted `motion` (c, 3, b) m.
    """
    dtype, copies, points = moved.dtype, moved.shape[-1], len(own.node)
    if not points:
        none = jnp.zeros((copies, slots), dtype)
        directions = jnp.zeros((copies, 3, 3, slots), dtype)
        return Picked(jnp.full((copies, slots), -1, jnp.int32), none, directions, none, jnp.zeros(copies, jnp.int32))
    pair, frames = jnp.asarray(own.pair), jnp.asarray(own.frames, dtype)
    reach = jnp.maximum(jnp.asarray(own.margin, dtype)[:, None], around)
    gap = (jnp.asarray(own.gap, dtype)[:, None] + jnp.sum(frames[:, 0, :, None] * moved, 1)).T
    if rounds is not None:
        first = points - len(rounds.radius)
        gap = jnp.concatenate([gap[:, :first], gaps_of(rounds, moved[first:]).T], 1)
    near = gap <= reach[pair].T
    if points <= slots:
        chosen = jnp.broadcast_to(jnp.arange(points), (copies, points))
        chosen = jnp.pad(chosen, ((0, 0), (0, slots - points)), constant_values=-1)
    else:
        chosen = jax.lax.top_k(jnp.where(near, -gap, -jnp.inf), slots)[1]
    taken = jnp.maximum(chosen, 0)
    used = (chosen >= 0) & jnp.take_along_axis(near, taken, 1)
    gaps = jnp.take_along_axis(gap, taken, 1)
    if rounds is not None and motion is not None:
        places = [jnp.take_along_axis(one.transpose(2, 0, 1), taken[..., None], 1) for one in (moved, motion)]
        tolerance = jnp.asarray(rounds.tolerance, dtype)[pair[taken]]
        is_round = taken >= first
        ahead, normal = planes_of(rounds, jnp.maximum(taken - first, 0), places[0], places[1], tolerance)
        gaps = jnp.where(is_round, ahead, gaps)
    gaps = jnp.where(used, jnp.maximum(gaps, -RECOVERY_SPEED * dt), 0.0)
    each = jnp.broadcast_to(friction, (friction.shape[0], copies))[pair].T.astype(dtype)
    mu = jnp.where(used, jnp.take_along_axis(each, taken, 1), 0.0)
    point = jnp.where(used, chosen, -1).astype(jnp.int32)
    directions = frames[taken].transpose(0, 3, 2, 1)
    if rounds is not None:
        directions = jnp.where(is_round[:, None, None], frames_around(normal).transpose(0, 3, 2, 1), directions)
    return Picked(point, gaps, directions, mu, near.sum(1))
