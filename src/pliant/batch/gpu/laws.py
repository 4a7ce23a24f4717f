"""Forces of the rows of one copy from their laws: contacts with friction, and drives with bounds.

Rows stand in four groups of `slots`: normals, first tangents and second tangents of the contacts, then drives, so that
row i belongs to slot i mod slots. With u = δ the law of a row is a fixed point λ = P(λ − ρ u),

    normal      λₙ = max(0, λₙ − ρ uₙ)
    tangents    λₜ = projection of λₜ − ρ uₜ on the disk of radius μ max(0, λₙ − ρ uₙ)
    drive       λ = min(max(λ − ρ u, lower), upper);  a given force has equal bounds

Newton's method on it (Alart, Curnier 1991) is exact for the pieces that it meets; where it does not come nearer,
accelerated projections go on. All is written with reductions and masks over fixed shapes, so that the same function
runs over all copies at once in JAX and for one copy in a program on the card (`law_kernel`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from pliant.batch.gpu.arrays import Array

PROJECTIONS = 8
"""Accelerated projections before each Newton step: they settle which contacts push."""

LENGTHS = (1.0, 0.5, 0.25, 0.0625)
"""Lengths of a Newton step that are tried."""


class Laws(NamedTuple):
    """The problem of one copy, m rows in four groups.

    W (m, m) m/N, and `partner` the same with the rows of the two tangents exchanged; `free` (m,) m: δ without forces
    less its target; `mu` (m,) of the contact of each row; bounds `lower`, `upper` (m,) N of drives; `open` (m,): rows
    of slots without a contact, and of drives that are not there.
    """

    W: Array
    partner: Array
    free: Array
    mu: Array
    lower: Array
    upper: Array
    open: Array


class Found(NamedTuple):
    """λ (m,) N, how far it is from its laws relative to the gaps without forces, and linear solves."""

    lam: Array
    residual: Array
    iterations: Array


class Linear(NamedTuple):
    """Linear algebra of one copy: W x of (m, m) and (m,), and x of A x = b."""

    product: Callable[[Array, Array], Array]
    solve: Callable[[Array, Array], Array]


def _solve(A: Array, b: Array) -> Array:
    return jnp.linalg.solve(A, b[:, None])[:, 0]


LIBRARY = Linear(partial(jnp.matmul, precision=jax.lax.Precision.HIGHEST), _solve)
"""That of JAX: over all copies at once."""


def find_forces(laws: Laws, start: Array, tolerance: float, most: int, linear: Linear = LIBRARY) -> Found:
    """λ of the rows from `start` (m,), by at most `most` Newton steps; by `linear`."""
    m = start.shape[0]
    group, slots = jax.lax.iota(jnp.int32, m) // (m // 4), m // 4
    across = jax.lax.broadcasted_iota(jnp.int32, (m, m), 1)
    down = jax.lax.broadcasted_iota(jnp.int32, (m, m), 0)
    same = (across % slots) == (down % slots)
    diagonal = jnp.sum(jnp.where(across == down, laws.W, 0.0), 1)
    contact = group < 3

    def each(values: Array, groups: Any) -> Array:
        """The sum over the rows of `groups` of its slot, for every row."""
        chosen = jnp.where(groups(group), values, 0.0).reshape(4, slots)
        return jnp.broadcast_to(jnp.sum(chosen, 0)[None, :], (4, slots)).reshape(m)

    stiffness = jnp.where(contact, each(diagonal, lambda g: g < 3) / 3.0, diagonal)
    rho = jnp.where(laws.open | (stiffness <= 0.0), 1.0, 1.0 / jnp.where(stiffness > 0.0, stiffness, 1.0))
    used = ~laws.open
    couples = jnp.sum(jnp.where(used[None, :], jnp.abs(laws.W), 0.0), 1)
    damped = rho / jnp.maximum(jnp.max(jnp.where(used, rho * couples, 0.0)), 1e-30)
    softness = float(jnp.finfo(start.dtype).eps) ** 0.5  # of redundant rows, which leave λ open
    scale = jnp.sqrt(jnp.sum(jnp.where(used, laws.free * laws.free, 0.0)))
    scale = jnp.where(scale > 0.0, scale, 1.0)

    def gaps(lam: Array) -> Array:
        return laws.free + linear.product(laws.W, lam)

    def projected(lam: Array, u: Array, rho: Array) -> tuple[Array, Array, Array]:
        """P(λ − ρ u), λ − ρ u, and the length of its tangents for every row of the slot."""
        z = lam - rho * u
        bound = laws.mu * jnp.maximum(each(z, lambda g: g == 0), 0.0)
        length = jnp.sqrt(each(z * z, lambda g: (g == 1) | (g == 2)))
        inside = length <= bound
        tangents = jnp.where(inside, z, z * bound / jnp.where(length > 0.0, length, 1.0))
        drives = jnp.minimum(jnp.maximum(z, laws.lower), laws.upper)
        made = jnp.where(group == 0, jnp.maximum(z, 0.0), jnp.where(contact, tangents, drives))
        return jnp.where(laws.open, 0.0, made), z, length

    def off(lam: Array, u: Array) -> Array:
        """How far λ is from its laws."""
        away = (lam - projected(lam, u, rho)[0]) / rho
        return jnp.sqrt(jnp.sum(jnp.where(used, away * away, 0.0))) / scale

    def settled(lam: Array) -> Array:
        """λ after some accelerated projections."""

        def project(_: int, carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
            lam, ahead, t = carry
            made = projected(ahead, gaps(ahead), damped)[0]
            longer = 0.5 * (1.0 + jnp.sqrt(1.0 + 4.0 * t * t))
            turned = jnp.sum((ahead - made) * (made - lam) / damped) > 0.0  # beyond its aim: from here anew
            longer = jnp.where(turned, 1.0, longer)
            pace = jnp.where(turned, 0.0, (t - 1.0) / longer)
            return made, made + pace * (made - lam), longer

        one = jnp.ones((), lam.dtype)
        return jax.lax.fori_loop(0, PROJECTIONS, project, (lam, lam, one))[0]

    def newton(lam: Array, u: Array) -> Array:
        """λ after a step of Newton's method."""
        made, z, length = projected(lam, u, rho)
        push, pushed = each(z, lambda g: g == 0), each(made, lambda g: g == 0)
        tangent = (group == 1) | (group == 2)
        slips = tangent & (length >= laws.mu * push)
        closed = jnp.where(contact, push > 0.0, (z > laws.lower) & (z < laws.upper)) & used
        slips = slips & closed
        safe = jnp.where(length > 0.0, length, 1.0)
        d = jnp.where(length > 0.0, z / safe, 0.0)
        other = jnp.where(tangent, each(d, lambda g: (g == 1) | (g == 2)) - d, 0.0)
        turn = jnp.where(slips, jnp.minimum(laws.mu * pushed / safe, 1.0), 0.0)
        along, cross = turn * (1.0 - d * d), turn * d * other
        keeps = jnp.where(closed & ~slips, 0.0, 1.0)  # rows of λ itself
        on_gap = jnp.where(slips, along, jnp.where(closed, 1.0, 0.0))
        own = jnp.where(across == down, (keeps - along + softness * on_gap)[:, None], 0.0)
        twin = same & (across != down) & (across // slots != 0) & (across // slots != 3)
        J = own + jnp.where(twin, cross[:, None], 0.0)
        J = J - jnp.where(same & (across // slots == 0), jnp.where(slips, laws.mu * d, 0.0)[:, None], 0.0)
        J = J + (on_gap * rho)[:, None] * laws.W - (cross * rho)[:, None] * laws.partner
        normal = each(lam, lambda g: g == 0)
        right = jnp.where(slips, lam - laws.mu * normal * d, jnp.where(closed, rho * u, lam - made))
        return lam - linear.solve(J, right)

    def improve(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        lam, residual, count = carry
        first = settled(lam)
        first_off = off(first, gaps(first))
        nearer = first_off < residual
        best, best_off = jnp.where(nearer, first, lam), jnp.where(nearer, first_off, residual)
        aim = newton(first, gaps(first))
        for length in LENGTHS:
            made = first + length * (aim - first)
            made_off = off(made, gaps(made))
            better = made_off < best_off
            best, best_off = jnp.where(better, made, best), jnp.where(better, made_off, best_off)
        stuck = best_off >= residual
        return jnp.where(stuck, first, best), jnp.where(stuck, first_off, best_off), count + 1

    def unfinished(carry: tuple[Array, Array, Array]) -> Array:
        return (carry[1] > tolerance) & (carry[2] < most)

    start = jnp.where(laws.open, 0.0, start)
    lam, residual, count = jax.lax.while_loop(
        unfinished, improve, (start, off(start, gaps(start)), jnp.zeros((), jnp.int32))
    )
    return Found(lam, residual, count)
