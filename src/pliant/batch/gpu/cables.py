"""Cables through a volume in all copies: shortening, its gradient, and the stiffness of the last tensions.

The twin of `actuators.cable` and `models.volume.segments`: δ = L₀ − L, H = −∂L/∂q, K = T ∂²L/∂q², with lengths rounded
where points meet (`models.polyline`) and the stiffness bounded where a segment is short.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from pliant.batch.gpu.arrays import Array

ROUNDED = 0.01
"""`models.polyline`: length over the mean one below which a segment is rounded."""
SHORT = 0.5
"""`actuators.cable`: length over that at rest below which the stiffness is bounded."""
PRECISE = jax.lax.Precision.HIGHEST
"""Recent cards multiply single precision in TF32 unless told otherwise: of 11 bits matrices lose definiteness."""


class Pull(NamedTuple):
    """δ (c, b) m of the cables; of their segments the `direction` (s, 3, b), by which δ decreases as they lengthen, and
    the `stiffness` (s, 3, 3, b) N/m under the last tensions. `member` (c, s) is one where a segment is of a cable.
    """

    shortening: Array
    direction: Array
    stiffness: Array
    member: Array


def pull(cable: Array, rest: Array, moved: Array, tension: Array) -> Pull:
    """The segments `rest` (s, 3) m of cables `cable` (s,), whose vectors have changed by `moved` (s, 3, b) m, under the
    last tensions (c, b) N.
    """
    dtype = moved.dtype
    rest, own = jnp.asarray(rest, dtype), jnp.asarray(cable)
    count = tension.shape[0]
    member = (own[None, :] == jnp.arange(count)[:, None]).astype(dtype)  # (c, s)
    vector = rest[:, :, None] + moved
    was = jnp.sqrt(jnp.sum(rest * rest, 1))[:, None]
    now = jnp.sqrt(jnp.sum(vector * vector, 1))
    longer = jnp.sum((2.0 * rest[:, :, None] + moved) * moved, 1) / (now + was)  # of small motions all digits
    pieces = jnp.sum(member, 1)[:, None]
    least = (ROUNDED * (_of(member, now) / pieces))[own]
    at_rest = (ROUNDED * (_of(member, was) / pieces))[own]
    rounded_rest = jnp.where(was < at_rest, 0.5 * (was * was / at_rest + at_rest), was)
    rounded = jnp.where(now < least, 0.5 * (now * now / least + least), now)
    change = jnp.where((now < least) | (was < at_rest), rounded - rounded_rest, longer)
    unit = vector / jnp.maximum(now, least)[:, None]
    squares = jnp.sum(unit * unit, 1)
    turned = now < least  # not from the squares, of which single precision makes 1 − 10⁻⁷
    across = jnp.maximum(tension, 0.0)[own] / rounded * jnp.where(turned, 0.5 * (1.0 + squares), 1.0)
    bounded = jnp.clip(2.0 * (1.0 - rounded / (SHORT * rounded_rest)), 0.0, 1.0)
    bounded = jnp.where(turned, 1.0, bounded)
    d = unit * jnp.sqrt(1.0 - bounded)[:, None]
    outer = d[:, :, None] * d[:, None, :]
    S = across[:, None, None] * (jnp.eye(3, dtype=dtype)[None, :, :, None] - outer)
    return Pull(-_of(member, change), unit, S, member)


def _of(member: Array, values: Array) -> Array:
    """Sums over the segments of each cable, (c, b)."""
    made: Array = jnp.einsum("cs,sb->cb", member, values, precision=PRECISE)
    return made
