"""A step of implicit Euler with one linear solve in all copies at once: the stages of `stepping.stages` over arrays.

    linearize   forces and blocks of K at the displacements u, and the cables' stiffness
    rows        contacts in reach and cables, right-hand sides of the matrix
    factorize   A = L Lᵀ by block columns, with L Y = [Hᵀ r] in the same pass; W = Hᵀ-part of Yᵀ Y
    laws        λ from the laws of the rows
    correct     Lᵀ dx = y_r + Y λ; the motion is cut where elements would invert

A copy whose step fails keeps its state; its status says why. Copies are the last axis of u, v and the forces of
elements, and the first of matrices and rows.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from pliant.batch.gpu import band, laws
from pliant.batch.gpu.arrays import Array, Lowered
from pliant.batch.gpu.cables import PRECISE, Pull, pull
from pliant.batch.gpu.elements import deformation, determinant, linearize

FINE, DIVERGED, CAPACITY, COLLAPSED, UNSOLVED = range(5)
"""How a step ended: well; A not positive definite or dx not finite; more contacts in reach than slots; elements invert
in less than a tenth of the motion; forces of the rows not found.
"""
APPROACH = 1.2
"""`constraints.contact`: safety factor on the predicted approach in a step."""
RECOVERY_SPEED = 0.1
"""`constraints.contact`: speed at which a penetration is removed, m/s."""
SHORTER, KEPT_VOLUME, CUTS = 0.7, 0.1, 7
"""`stepping.parts`: fractions of a cut motion, 0.7 to 0.7⁶, and of the least det F that they leave."""
USABLE = 1e-2
"""`stepping.session`: residual of the laws up to which a step goes on."""


class States(NamedTuple):
    """u, v (n, 3, b) m and m/s of the free nodes, time (b,) s, forces of the rows (b, m) N and the contact point of
    each slot (b, slots), −1 where it has none.
    """

    u: Array
    v: Array
    time: Array
    lam: Array
    point: Array


class Controls(NamedTuple):
    """Commands of the cables (c, ·): `amount` m or N, and whether they are `by_force`; gravity (3, ·) m/s²."""

    amount: Array
    by_force: Array
    gravity: Array


class Report(NamedTuple):
    """status (b,), residual of the laws (b,), δ of the rows (b, m) m at the end, contacts in reach (b,), fraction of
    the motion (b,), and Newton steps of the laws (b,).
    """

    status: Array
    residual: Array
    delta: Array
    contacts: Array
    fraction: Array
    iterations: Array


class Kernels(NamedTuple):
    """What factorizes, solves and finds forces; the tolerance of these, and how many Newton steps they may take."""

    factor: Callable[..., band.Factor]
    backward: Callable[[Array, Array], Array]
    forces: Callable[[laws.Laws, Array, float, int], laws.Found]
    tolerance: float
    most: int


@partial(jax.jit, static_argnums=(2, 3))
def _all_forces(problem: laws.Laws, start: Array, tolerance: float, most: int) -> laws.Found:
    found: laws.Found = jax.vmap(lambda one, lam: laws.find_forces(one, lam, tolerance, most))(problem, start)
    return found


_factor = jax.jit(band.factor_and_solve)
_backward = jax.jit(band.solve_backward)
MOST = 50
TOLERANCES = {"float32": 3e-6, "float64": 1e-10}
"""Residual of the laws: what single precision resolves, and what the ordinary stepper asks for."""


@lru_cache
def library(dtype: Any) -> Kernels:
    """Those of JAX, for every processor."""
    return Kernels(_factor, _backward, _all_forces, TOLERANCES[jnp.dtype(dtype).name], MOST)


@lru_cache
def triton(dtype: Any, *, warps: int = 2) -> Kernels:
    """Those for a card."""
    from pliant.batch.gpu import band_kernels, law_kernel

    factor = jax.jit(partial(band_kernels.factor_and_solve, warps=warps))
    forces = jax.jit(law_kernel.find_all_forces, static_argnums=(2, 3))
    return Kernels(factor, jax.jit(band_kernels.solve_backward), forces, TOLERANCES[jnp.dtype(dtype).name], MOST)


def initial(world: Lowered, count: int, dtype: Any) -> States:
    """Every copy at rest."""
    n, m = world.nodes, 4 * world.capacity
    zero = jnp.zeros((n, 3, count), dtype)
    return States(
        zero, zero, jnp.zeros(count, dtype), jnp.zeros((count, m), dtype),
        jnp.full((count, world.capacity), -1, jnp.int32),
    )  # fmt: skip


def step(world: Lowered, kernels: Kernels, dt: Array, states: States, controls: Controls) -> tuple[States, Report]:
    """The states after a step of dt (s)."""
    damping = jnp.asarray(world.numbers.damping)
    made = linearize(world.elements, world.numbers, states.u, 1.0 + damping[1] / dt)
    values, right, rows = assemble(world, dt, states, controls, made.forces, made.blocks)
    factor = kernels.factor(values, world.source, right)
    problem, Y = condense(factor.Y, world.source, rows)
    found = kernels.forces(problem, rows.start, kernels.tolerance, kernels.most)
    x = kernels.backward(factor.L, joined(Y, world.source, found.lam))
    after: tuple[States, Report] = correct(world, dt, states, made.F, x, factor.definite, problem, rows, found)
    return after


@jax.jit
def assemble(
    world: Lowered, dt: Array, states: States, controls: Controls, forces: Array, blocks: Array
) -> tuple[Array, Array, Rows]:
    """Entries of A, right-hand sides and rows."""
    numbers, slots, u = world.numbers, states.point.shape[1], states.u
    dtype, copies = u.dtype, u.shape[-1]
    dt = dt.astype(dtype)
    count = numbers.lower.shape[0]
    cables = pull(world.cables, u, states.lam[:, 3 * slots : 3 * slots + count].T) if count else None
    mass = numbers.mass.astype(dtype)
    inertia = mass * (1.0 / (dt * dt) + numbers.damping[0].astype(dtype) / dt)
    values = _entries(world, blocks, inertia, cables, copies, dtype)
    r = mass[:, None] * (states.v / dt + controls.gravity.astype(dtype)[None]) + numbers.loads.astype(dtype) - forces
    rows = _rows(world, states, controls, cables, dt)
    gradient = rows.gradient
    return values, _right_hand_sides(world, gradient, r), rows._replace(gradient=jnp.zeros(()))


@jax.jit
def condense(Y: Array, source: Array, rows: Rows) -> tuple[laws.Laws, Array]:
    """The problem of the forces, and Y (b, unknowns, m) without the zeros in front."""
    slots = rows.point.shape[1]
    reach = source.shape[1] - 1
    Y = Y[:, reach:].reshape(Y.shape[0], -1, Y.shape[-1])
    G = jnp.einsum("bxm,bxn->bmn", Y, Y, precision=PRECISE)
    free = rows.gap + G[:, :, -1]
    swapped = jnp.roll(jnp.arange(2 * slots), slots) + slots
    partner = jnp.concatenate([G[:, :slots], G[:, swapped], G[:, 3 * slots :]], 1)
    return laws.Laws(G, partner, free, rows.mu, rows.lower, rows.upper, rows.open), Y


@jax.jit
def joined(Y: Array, source: Array, lam: Array) -> Array:
    """y_r + Y λ (b, columns, width)."""
    y = jnp.einsum("bxm,bm->bx", Y, lam.at[:, -1].set(1.0), precision=PRECISE)
    return y.reshape(len(y), source.shape[0], source.shape[3])


@jax.jit
def correct(
    world: Lowered, dt: Array, states: States, before: Any, x: Array, definite: Array, problem: laws.Laws, rows: Rows,
    found: laws.Found,
) -> tuple[States, Report]:  # fmt: skip
    """The states after the motion x (b, columns, width), and how the step of each copy ended."""
    u, v, dt = states.u, states.v, dt.astype(states.u.dtype)
    n, _, copies = u.shape
    dx = x.reshape(copies, -1)[:, : 3 * n].T.reshape(n, 3, copies)
    fraction = _fraction(before, deformation(world.elements, u + dx))
    good = definite & jnp.isfinite(dx).all((0, 1)) & jnp.isfinite(found.residual)
    status = jnp.where(fraction > 0.0, FINE, COLLAPSED)
    status = jnp.where(found.residual <= USABLE, status, UNSOLVED)
    status = jnp.where(rows.reached > rows.point.shape[1], CAPACITY, status)
    status = jnp.where(good, status, DIVERGED).astype(jnp.int32)
    fine = status == FINE
    moved = fraction * dx
    after = States(
        jnp.where(fine, u + moved, u),
        jnp.where(fine, moved / dt, v),
        jnp.where(fine, states.time + dt, states.time),
        jnp.where(fine[:, None], found.lam, states.lam),
        jnp.where(fine[:, None], rows.point, states.point),
    )
    delta = problem.free + jnp.einsum("bmn,bn->bm", problem.W, found.lam, precision=PRECISE) + rows.target
    return after, Report(status, found.residual, delta, rows.reached, fraction, found.iterations)


def _entries(world: Lowered, blocks: Array, inertia: Array, cables: Pull | None, copies: int, dtype: Any) -> Array:
    """Entries of the blocks of A (b, 9k + 2), with a zero and a one at the end."""
    n = world.nodes
    diagonal = (9 * jnp.arange(n)[:, None] + jnp.array([0, 4, 8])).ravel()
    mass = jnp.broadcast_to(inertia[:, None], (n, 3, inertia.shape[-1])).reshape(3 * n, -1).T
    A = blocks.at[:, diagonal].add(jnp.broadcast_to(mass, (copies, 3 * n)), unique_indices=True)
    if cables is not None:
        touched = (9 * jnp.asarray(world.cables.touched)[:, None] + jnp.arange(9)).ravel()
        A = A.at[:, touched].add(cables.stiffness.reshape(-1, copies).T, unique_indices=True)
    ends = jnp.broadcast_to(jnp.array([0.0, 1.0], dtype), (copies, 2))
    return jnp.concatenate([A, ends], 1)


class Rows(NamedTuple):
    """Rows of all copies, (b, m): gap less target, target, λ to start from, μ, bounds and slots without a row; their
    gradients (b, n, 3, m − 1); the points (b, slots) of the contacts, and how many are in reach (b,).
    """

    gap: Array
    target: Array
    start: Array
    mu: Array
    lower: Array
    upper: Array
    open: Array
    gradient: Array
    point: Array
    reached: Array


def _rows(world: Lowered, states: States, controls: Controls, cables: Pull | None, dt: Array) -> Rows:
    numbers, slots, u, v = world.numbers, states.point.shape[1], states.u, states.v
    dtype, copies, n = u.dtype, u.shape[-1], world.nodes
    own = world.contacts
    points = len(own.node)
    node, pair = jnp.asarray(own.node), jnp.asarray(own.pair)
    frames = jnp.asarray(own.frames, dtype)
    speed = jnp.sqrt(jnp.max(jnp.sum(v * v, 1), 0))
    gravity = jnp.sqrt(jnp.sum(controls.gravity**2, 0)).astype(dtype)
    around = jnp.maximum(jnp.asarray(own.margin, dtype)[:, None], APPROACH * dt * (speed + dt * gravity))
    gap = (jnp.asarray(own.gap, dtype)[:, None] + jnp.sum(frames[:, 0, :, None] * u[node], 1)).T
    near = gap <= around[pair].T
    reached = near.sum(1)
    if points <= slots:
        chosen = jnp.broadcast_to(jnp.arange(points), (copies, points))
        chosen = jnp.pad(chosen, ((0, 0), (0, slots - points)), constant_values=-1)
    else:
        chosen = jax.lax.top_k(jnp.where(near, -gap, -jnp.inf), slots)[1]
    taken = jnp.maximum(chosen, 0)
    used = (chosen >= 0) & jnp.take_along_axis(near, taken, 1)
    point = jnp.where(used, chosen, -1).astype(jnp.int32)
    gaps = jnp.where(used, jnp.maximum(jnp.take_along_axis(gap, taken, 1), -RECOVERY_SPEED * dt), 0.0)
    same = used[:, :, None] & (point[:, :, None] == states.point[:, None, :])
    before = states.lam[:, : 3 * slots].reshape(copies, 3, slots)
    start = jnp.einsum("bij,bgj->bgi", same.astype(dtype), before, precision=PRECISE)
    friction = jnp.broadcast_to(numbers.friction, (numbers.friction.shape[0], copies))[pair].T.astype(dtype)
    mu = jnp.where(used, jnp.take_along_axis(friction, taken, 1), 0.0)
    on = (node[taken][:, None, :] == jnp.arange(n)[:, None]) & used[:, None, :]  # (b, n, slots)
    axes = frames[taken].transpose(0, 3, 2, 1)  # (b, 3, group, slots)
    contact = jnp.where(on[:, :, None, None, :], axes[:, None], 0.0).reshape(copies, n, 3, 3 * slots)
    count = 0 if cables is None else cables.shortening.shape[0]
    spare = slots - count
    drive = jnp.zeros((copies, n, 3, 0), dtype) if cables is None else cables.gradient.transpose(3, 1, 2, 0)
    gradient = jnp.concatenate([contact, drive, jnp.zeros((copies, n, 3, spare - 1), dtype)], -1)

    def drives(values: Any) -> Array:
        """Values (c, ·) of the cables by copy, with zeros for the spare rows."""
        return jnp.pad(jnp.broadcast_to(values, (count, copies)).T, ((0, 0), (0, spare)))

    by_force = jnp.broadcast_to(controls.by_force, (count, copies))
    amount = jnp.broadcast_to(controls.amount, (count, copies)).astype(dtype)
    target = drives(jnp.where(by_force, 0.0, amount))
    shortening = jnp.zeros((0, copies), dtype) if cables is None else cables.shortening
    none = jnp.zeros((copies, 2 * slots), dtype)
    free = jnp.concatenate([gaps, none, drives(shortening) - target], 1)
    lower = drives(jnp.where(by_force, amount, numbers.lower.astype(dtype)))
    upper = drives(jnp.where(by_force, amount, numbers.upper.astype(dtype)))
    missing = jnp.broadcast_to(jnp.arange(slots) >= count, (copies, slots))
    zeros = jnp.zeros((copies, 3 * slots), dtype)
    return Rows(
        free,
        jnp.concatenate([zeros, target], 1),
        jnp.concatenate([start.reshape(copies, -1), states.lam[:, 3 * slots :]], 1),
        jnp.concatenate([mu, mu, mu, jnp.zeros_like(gaps)], 1),
        jnp.concatenate([zeros, lower], 1),
        jnp.concatenate([zeros, upper], 1),
        jnp.concatenate([~used, ~used, ~used, missing], 1),
        gradient,
        point,
        reached,
    )


def _right_hand_sides(world: Lowered, gradient: Array, r: Array) -> Array:
    """(b, columns, width, m): the gradients of the rows, then r."""
    columns, _, width, _ = world.source.shape
    copies, n = gradient.shape[:2]
    joined = jnp.concatenate([gradient, r.transpose(2, 0, 1)[..., None]], -1).reshape(copies, 3 * n, -1)
    padded = jnp.pad(joined, ((0, 0), (0, columns * width - 3 * n), (0, 0)))
    return padded.reshape(copies, columns, width, -1)


def _fraction(before: Any, after: Any) -> Array:
    """The largest fraction of the motion that leaves every element its orientation, 0 where that is too small."""
    inverts = (determinant(after) <= 1e-12).any(0)
    least = KEPT_VOLUME * determinant(before).min(0)
    found = jnp.where(inverts, 0.0, 1.0).astype(least.dtype)
    for cut in range(CUTS - 1, 0, -1):
        part = SHORTER**cut
        there = [[a + part * (b - a) for a, b in zip(*rows, strict=True)] for rows in zip(before, after, strict=True)]
        found = jnp.where(inverts & (determinant(there).min(0) >= least), part, found)
    return jnp.where(jnp.isfinite(determinant(after).min(0)), found, 0.0)
