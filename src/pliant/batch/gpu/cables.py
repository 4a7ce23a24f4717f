"""Cables through a volume in all copies: shortening, its gradient, and the stiffness of the last tensions.

The twin of `actuators.cable` and `models.volume.segments`: δ = L₀ − L, H = −∂L/∂q, K = T ∂²L/∂q², with lengths rounded
where points meet (`models.polyline`) and the stiffness bounded where a segment is short.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from pliant.batch.gpu.arrays import Array, Cables

ROUNDED = 0.01
"""`models.polyline`: length over the mean one below which a segment is rounded."""
SHORT = 0.5
"""`actuators.cable`: length over that at rest below which the stiffness is bounded."""
PRECISE = jax.lax.Precision.HIGHEST
"""Recent cards multiply single precision in TF32 unless told otherwise: of 11 bits matrices lose definiteness."""


class Pull(NamedTuple):
    """δ (c, b) m of the cables, their gradients H (c, n, 3, b), and the blocks (k, 9, b) N/m that stiffen `touched`."""

    shortening: Array
    gradient: Array
    stiffness: Array


def pull(cables: Cables, u: Array, tension: Array) -> Pull:
    """The cables at the displacements u (n, 3, b) m of the nodes, under the last tensions (c, b) N."""
    dtype = u.dtype
    slope, rest = jnp.asarray(cables.slope, dtype), jnp.asarray(cables.rest, dtype)
    count = tension.shape[0]
    own = jnp.asarray(cables.cable)
    member = (own[None, :] == jnp.arange(count)[:, None]).astype(dtype)  # (c, s)
    moved = jnp.einsum("ns,nib->sib", slope, u, precision=PRECISE)
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
    gradient = -jnp.einsum("cs,ns,sib->cnib", member, slope, unit, precision=PRECISE)
    squares = jnp.sum(unit * unit, 1)
    turned = now < least  # not from the squares, of which single precision makes 1 − 10⁻⁷
    across = jnp.maximum(tension, 0.0)[own] / rounded * jnp.where(turned, 0.5 * (1.0 + squares), 1.0)
    bounded = jnp.clip(2.0 * (1.0 - rounded / (SHORT * rounded_rest)), 0.0, 1.0)
    bounded = jnp.where(turned, 1.0, bounded)
    d = unit * jnp.sqrt(1.0 - bounded)[:, None]
    outer = d[:, :, None] * d[:, None, :]
    S = across[:, None, None] * (jnp.eye(3, dtype=dtype)[None, :, :, None] - outer)
    couplings = jnp.asarray(cables.couplings, dtype)
    blocks = jnp.einsum("sk,sxb->kxb", couplings, S.reshape(S.shape[0], 9, -1), precision=PRECISE)
    return Pull(-_of(member, change), gradient, blocks)


def _of(member: Array, values: Array) -> Any:
    """Sums over the segments of each cable, (c, b)."""
    return jnp.einsum("cs,sb->cb", member, values, precision=PRECISE)
