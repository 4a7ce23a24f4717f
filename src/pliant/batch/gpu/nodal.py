"""A volume whose unknowns are the displacements of its nodes, in all copies: its part of the matrix and of the rows."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from pliant.batch.gpu import elements
from pliant.batch.gpu.arrays import Array, Lowered
from pliant.batch.gpu.cables import PRECISE, Pull, pull
from pliant.batch.gpu.chambers import Growth, grow
from pliant.batch.gpu.elements import deformation, with_zero
from pliant.batch.gpu.step_types import Linearization


def linearize(world: Lowered, u: Array, stiffness: Array) -> Linearization:
    """Forces and `stiffness` (·,) × K at the displacements u (n, 3, b), m."""
    return elements.linearize(world.elements, world.numbers, u, stiffness)


def gradients(world: Lowered, u: Array) -> Any:
    """F of the points that must not invert."""
    return deformation(world.elements, u)


def cable_pull(world: Lowered, u: Array, tension: Array) -> Pull:
    """The cables at u under the last tensions (c, b) N."""
    moved = jnp.einsum("ns,nib->sib", jnp.asarray(world.cables.slope, u.dtype), u, precision=PRECISE)
    return pull(world.cables.cable, world.cables.rest, moved, tension)


def entries(world: Lowered, made: Linearization, inertia: Array, cables: Pull | None) -> Array:
    """The entries (b, 9k) of the blocks of A, with the mass times `inertia` (·,) 1/s²."""
    numbers, copies, dtype = world.numbers, made.stiffness.shape[0], made.stiffness.dtype
    n = world.shape[0]
    mass = numbers.mass.astype(dtype) * inertia.astype(dtype)
    diagonal = (9 * jnp.arange(n)[:, None] + jnp.array([0, 4, 8])).ravel()
    on_diagonal = jnp.broadcast_to(mass[:, None], (n, 3, mass.shape[-1])).reshape(3 * n, -1).T
    A = made.stiffness.at[:, diagonal].add(jnp.broadcast_to(on_diagonal, (copies, 3 * n)), unique_indices=True)
    if cables is not None:
        couplings = jnp.asarray(world.cables.couplings, dtype)
        S = cables.stiffness.reshape(len(couplings), 9, copies)
        blocks: Array = jnp.einsum("sk,sxb->kxb", couplings, S, precision=PRECISE)
        touched = (9 * jnp.asarray(world.cables.touched)[:, None] + jnp.arange(9)).ravel()
        A = A.at[:, touched].add(blocks.reshape(-1, copies).T, unique_indices=True)
    return A


def residual(world: Lowered, v: Array, dt: Array, gravity: Array, forces: Array) -> Array:
    """r (b, 3n) N of the linear solve: momentum over dt, gravity (3, ·) m/s² and loads less the internal `forces`."""
    numbers, dtype = world.numbers, v.dtype
    mass = numbers.mass.astype(dtype)
    r = mass[:, None] * (v / dt + gravity.astype(dtype)[None]) + numbers.loads.astype(dtype) - forces
    return r.reshape(-1, r.shape[-1]).T


def speed(_: Lowered, v: Array) -> Array:
    """Of the fastest node (b,), m/s."""
    return jnp.sqrt(jnp.max(jnp.sum(v * v, 1), 0))


def moved_points(world: Lowered, u: Array) -> Array:
    """How far the contact points have moved, (c, 3, b) m."""
    return u[jnp.asarray(world.contacts.node)]


def moved_edges(world: Lowered, u: Array) -> Array:
    """How far the ends of edges beside round obstacles have moved, (2e, 3, b) m."""
    return with_zero(u)[world.rounds.edges.ends]


def contact_gradient(world: Lowered, point: Array, directions: Array, used: Array, first: int) -> Array:
    """Gradients (b, unknowns from `first`, 3 slots) of contacts of the points `point` (b, slots) along the `directions`
    (b, 3, 3, slots), axes before rows; zero where a slot is not `used`.
    """
    n, begin = world.shape[0], first // 3
    if not len(world.contacts.node):
        return jnp.zeros((len(point), 3 * n - first, 3 * point.shape[1]), directions.dtype)
    node = jnp.asarray(world.contacts.node)
    on = (node[point][:, None, :] == jnp.arange(begin, n)[:, None]) & used[:, None, :]  # (b, n, slots)
    made = jnp.where(on[:, :, None, None, :], directions[:, None], 0.0)
    return made.reshape(len(made), 3 * (n - begin), -1)[:, first - 3 * begin :]


def cable_gradient(world: Lowered, cables: Pull) -> Array:
    """Gradients (b, 3n, c) of the shortenings."""
    slope = jnp.asarray(world.cables.slope, cables.direction.dtype)
    made = -jnp.einsum("cs,ns,sib->bnic", cables.member, slope, cables.direction, precision=PRECISE)
    return made.reshape(len(made), -1, made.shape[-1])


def chamber_growth(world: Lowered, u: Array) -> Growth:
    """The chambers at u."""
    return grow(world.chambers, with_zero(u)[world.chambers.ends.node])


def chamber_gradient(world: Lowered, made: Growth) -> Array:
    """Gradients (b, 3n, c) of the growths."""
    slope = with_zero(made.slope)[world.chambers.ends.point]  # (n, c, 3, b)
    return slope.transpose(3, 0, 2, 1).reshape(slope.shape[-1], -1, slope.shape[1])
