"""A step of implicit Euler with one linear solve in all copies at once: the stages of `stepping.stages` over arrays.

    linearize   forces and stiffness at the displacements u
    assemble    A, contacts in reach and cables, right-hand sides of the matrix
    factorize   A = L Lᵀ by block columns, with L Y = [Hᵀ r] in the same pass
    condense    W = Hᵀ-part of Yᵀ Y
    laws        λ from the laws of the rows
    correct     Lᵀ dx = y_r + Y λ; the motion is cut where elements would invert

What depends on the unknowns, displacements of nodes or coordinates of modes, stands in `nodal` and `modal`. A copy
whose step fails keeps its state; its status says why. Copies are the last axis of u, v and forces, and the first of
matrices and rows.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from pliant.batch.gpu import band, laws, modal, nodal
from pliant.batch.gpu.arrays import Array, Lowered, LoweredModes
from pliant.batch.gpu.cables import PRECISE, Pull
from pliant.batch.gpu.chambers import Growth
from pliant.batch.gpu.elements import determinant
from pliant.batch.gpu.planes import APPROACH, Picked, pick
from pliant.batch.gpu.rounds import uncovered
from pliant.batch.gpu.step_types import (
    CAPACITY,
    COLLAPSED,
    DIVERGED,
    FINE,
    UNCOVERED,
    UNSOLVED,
    Controls,
    Kernels,
    Linearization,
    Report,
    States,
)

SHORTER, KEPT_VOLUME, CUTS = 0.7, 0.1, 7
"""`stepping.parts`: fractions of a cut motion, 0.7 to 0.7⁶, and of the least det F that they leave."""
USABLE = 1e-2
"""`stepping.session`: residual of the laws up to which a step goes on."""
World = Lowered | LoweredModes


@partial(jax.jit, static_argnums=(2, 3))
def _all_forces(problem: laws.Laws, start: Array, tolerance: float, most: int) -> laws.Found:
    found: laws.Found = jax.vmap(lambda one, lam: laws.find_forces(one, lam, tolerance, most))(problem, start)
    return found


_factor = jax.jit(band.factor_and_solve)
_backward = jax.jit(band.solve_backward)
MOST = 50
IN_KERNELS = 32
"""Slots up to which one program on the card finds the forces of a copy."""
LAW_WARPS = {"float32": 4, "float64": 2}
"""Warps of that program, the fastest of those measured on an H200."""
TOLERANCES = {"float32": 3e-6, "float64": 1e-10}
"""Residual of the laws: what single precision resolves, and what the ordinary stepper asks for."""


@lru_cache
def library(dtype: Any) -> Kernels:
    """Those of JAX, for every processor."""
    return Kernels(_factor, _backward, _all_forces, TOLERANCES[jnp.dtype(dtype).name], MOST)


@lru_cache
def triton(dtype: Any, *, slots: int) -> Kernels:
    """Those for a card, for copies with so many `slots` of contacts."""
    from pliant.batch.gpu import band_kernels, law_kernel

    name = jnp.dtype(dtype).name
    inside = jax.jit(partial(law_kernel.find_all_forces, warps=LAW_WARPS[name]), static_argnums=(2, 3))
    forces = inside if slots <= IN_KERNELS else _all_forces
    return Kernels(jax.jit(band_kernels.factor_and_solve), jax.jit(band_kernels.solve_backward), forces,
                   TOLERANCES[name], MOST)  # fmt: skip


def form_of(world: World) -> Any:
    """What depends on the unknowns of a world."""
    return modal if isinstance(world, LoweredModes) else nodal


def initial(world: World, count: int, dtype: Any) -> States:
    """Every copy at rest."""
    slots = int(world.slots)
    zero = jnp.zeros((*world.shape, count), dtype)
    return States(
        zero, zero, jnp.zeros(count, dtype), jnp.zeros((count, 4 * slots), dtype),
        jnp.full((count, slots), -1, jnp.int32),
    )  # fmt: skip


def step(world: World, kernels: Kernels, dt: Array, states: States, controls: Controls) -> tuple[States, Report]:
    """The states after a step of dt (s)."""
    damping = jnp.asarray(world.numbers.damping)
    made = form_of(world).linearize(world, states.u, 1.0 + damping[1] / dt)
    values, early, late, rows = assemble(world, dt, states, controls, made._replace(F=None))
    factor = kernels.factor(values, world.source, early, late)
    problem, Y, Z = condense(factor.early, factor.late, rows)
    found = kernels.forces(problem, rows.start, kernels.tolerance, kernels.most)
    x = kernels.backward(factor.L, joined(Y, Z, world.source, found.lam))
    after: tuple[States, Report] = correct(world, dt, states, made.F, x, factor.definite, problem, rows, found)
    return after


@jax.jit
def assemble(
    world: World, dt: Array, states: States, controls: Controls, made: Linearization
) -> tuple[Array, Array, Array, Rows]:
    """Entries of A, both groups of right-hand sides and the rows."""
    form, numbers, slots, u = form_of(world), world.numbers, states.point.shape[1], states.u
    dtype, copies, drive_count = u.dtype, u.shape[-1], world.numbers.lower.shape[0]
    count = drive_count - chamber_count(world)
    dt = dt.astype(dtype)
    cables = form.cable_pull(world, u, states.lam[:, 3 * slots : 3 * slots + count].T) if count else None
    A = form.entries(world, made, 1.0 / (dt * dt) + numbers.damping[0].astype(dtype) / dt, cables)
    values = jnp.concatenate([A, jnp.broadcast_to(jnp.array([0.0, 1.0], dtype), (copies, 2))], 1)
    gravity = jnp.sqrt(jnp.sum(controls.gravity**2, 0)).astype(dtype)
    around = APPROACH * dt * (form.speed(world, states.v) + dt * gravity)
    motion = None if world.rounds is None else dt * form.moved_points(world, states.v)
    moved = form.moved_points(world, u)
    picked = pick(world.contacts, slots, moved, around, numbers.friction, dt, world.rounds, motion)
    bare = None
    if world.rounds is not None:
        reach = jnp.maximum(jnp.asarray(world.contacts.margin, dtype)[:, None], around)
        bare = uncovered(world.rounds.edges, form.moved_edges(world, u), reach)
    r = form.residual(world, states.v, dt, controls.gravity, made.forces)
    drives = form.cable_gradient(world, cables) if cables is not None else jnp.zeros((*r.shape, 0), dtype)
    growth = form.chamber_growth(world, u) if count < drive_count else None
    if growth is not None:
        drives = jnp.concatenate([drives, form.chamber_gradient(world, growth)], -1)
    spare = jnp.zeros((*r.shape, slots - drive_count - 1), dtype)
    columns, _, width, _ = world.source.shape
    first = columns - len(world.contacts.columns)
    contact = form.contact_gradient(world, jnp.maximum(picked.point, 0), picked.directions, picked.used, first * width)
    early = _blocked(jnp.concatenate([drives, spare, r[..., None]], -1), columns, width)
    late = _blocked(contact, columns - first, width)
    rows = _rows(world, states, controls, cables, growth, picked)
    return values, early, late, rows._replace(uncovered=bare)


@jax.jit
def condense(early: Array, late: Array, rows: Rows) -> tuple[laws.Laws, Array, Array]:
    """The problem of the forces, and Y (b, unknowns, ·) of both groups of right-hand sides."""
    slots = rows.point.shape[1]
    Y, Z = (made.reshape(len(made), -1, made.shape[-1]) for made in (early, late))
    first = Y.shape[1] - Z.shape[1]
    across = _product(Z, Y[:, first:])
    G = jnp.concatenate([
        jnp.concatenate([_product(Z, Z), across], 2),
        jnp.concatenate([across.swapaxes(1, 2), _product(Y, Y)], 2),
    ], 1)  # fmt: skip
    free = rows.gap + G[:, :, -1]
    swapped = jnp.roll(jnp.arange(2 * slots), slots) + slots
    partner = jnp.concatenate([G[:, :slots], G[:, swapped], G[:, 3 * slots :]], 1)
    return laws.Laws(G, partner, free, rows.mu, rows.lower, rows.upper, rows.open), Y, Z


def _product(Y: Array, Z: Array) -> Array:
    """Yᵀ Z of each copy."""
    return jnp.einsum("bxm,bxn->bmn", Y, Z, precision=PRECISE)


@jax.jit
def joined(Y: Array, Z: Array, source: Array, lam: Array) -> Array:
    """y_r + Y λ (b, columns, width)."""
    contacts = Z.shape[-1]
    y = jnp.einsum("bxm,bm->bx", Y, lam[:, contacts:].at[:, -1].set(1.0), precision=PRECISE)
    y = y.at[:, y.shape[1] - Z.shape[1] :].add(jnp.einsum("bxm,bm->bx", Z, lam[:, :contacts], precision=PRECISE))
    return y.reshape(len(y), source.shape[0], source.shape[3])


@jax.jit
def correct(
    world: World, dt: Array, states: States, before: Any, x: Array, definite: Array, problem: laws.Laws, rows: Rows,
    found: laws.Found,
) -> tuple[States, Report]:  # fmt: skip
    """The states after the motion x (b, columns, width), and how the step of each copy ended."""
    u, v, dt = states.u, states.v, dt.astype(states.u.dtype)
    copies, axes = u.shape[-1], tuple(range(u.ndim - 1))
    dx = x.reshape(copies, -1)[:, : u[..., 0].size].T.reshape(u.shape)
    fraction = _fraction(before, form_of(world).gradients(world, u + dx))
    good = definite & jnp.isfinite(dx).all(axes) & jnp.isfinite(found.residual)
    status = jnp.where(fraction > 0.0, FINE, COLLAPSED)
    status = jnp.where(found.residual <= USABLE, status, UNSOLVED)
    if rows.uncovered is not None:
        status = jnp.where(rows.uncovered, UNCOVERED, status)
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
    return after, Report(status, found.residual, delta, rows.reached, fraction, found.iterations, rows.directions)


class Rows(NamedTuple):
    """Rows of all copies, (b, m): gap less target, target, λ to start from, μ, bounds and slots without a row; the
    points (b, slots) of the contacts, and how many are in reach (b,); their directions where they change, and whether
    edges are too long for contacts of vertices (b,).
    """

    gap: Array
    target: Array
    start: Array
    mu: Array
    lower: Array
    upper: Array
    open: Array
    point: Array
    reached: Array
    directions: Array | None
    uncovered: Array | None = None


def chamber_count(world: World) -> int:
    """How many chambers a world has."""
    return 0 if world.chambers is None else len(world.chambers.area)


def _in_newtons(world: World, count: int, amount: Array, by_force: Array, bounds: list[Array]) -> list[Array]:
    """The amounts and bounds (c, ·) of `count` cables and of chambers, these in m and N in place of m³ and Pa."""
    if world.chambers is None:
        return [amount, *bounds]
    area = jnp.asarray(world.chambers.area, amount.dtype)
    scale = jnp.concatenate([jnp.ones(count, amount.dtype), area])[:, None]
    return [jnp.where(by_force, scale * amount, amount / scale), *(scale * one for one in bounds)]


def _rows(
    world: World, states: States, controls: Controls, cables: Pull | None, growth: Growth | None, picked: Picked
) -> Rows:
    """The rows of contacts, and those of cables and chambers."""
    numbers, (copies, slots) = world.numbers, picked.point.shape
    dtype, count = states.u.dtype, numbers.lower.shape[0]
    spare = slots - count

    def drives(values: Any) -> Array:
        """Values (c, ·) of the cables by copy, with zeros for the spare rows."""
        return jnp.pad(jnp.broadcast_to(values, (count, copies)).T, ((0, 0), (0, spare)))

    by_force = jnp.broadcast_to(controls.by_force, (count, copies))
    amount = jnp.broadcast_to(controls.amount, (count, copies)).astype(dtype)
    bounds = [numbers.lower.astype(dtype), numbers.upper.astype(dtype)]
    amount, *bounds = _in_newtons(world, count - chamber_count(world), amount, by_force, bounds)
    target = drives(jnp.where(by_force, 0.0, amount))
    shortening = jnp.zeros((0, copies), dtype) if cables is None else cables.shortening
    if growth is not None:
        shortening = jnp.concatenate([shortening, growth.growth])
    lower, upper = (drives(jnp.where(by_force, amount, bound)) for bound in bounds)
    missing = jnp.broadcast_to(jnp.arange(slots) >= count, (copies, slots))
    zeros, used = jnp.zeros((copies, 3 * slots), dtype), picked.used
    return Rows(
        gap=jnp.concatenate([picked.gap, zeros[:, slots:], drives(shortening) - target], 1),
        target=jnp.concatenate([zeros, target], 1),
        start=jnp.concatenate([picked.carried(states.lam, states.point), states.lam[:, 3 * slots :]], 1),
        mu=jnp.concatenate([picked.mu, picked.mu, picked.mu, zeros[:, :slots]], 1),
        lower=jnp.concatenate([zeros, lower], 1),
        upper=jnp.concatenate([zeros, upper], 1),
        open=jnp.concatenate([~used, ~used, ~used, missing], 1),
        point=picked.point,
        reached=picked.reached,
        directions=None if world.rounds is None else picked.directions,
    )


def _blocked(values: Array, columns: int, width: int) -> Array:
    """(b, columns, width, m) of (b, unknowns, m), with zeros past the last unknown."""
    copies, unknowns, m = values.shape
    padded = jnp.pad(values, ((0, 0), (0, columns * width - unknowns), (0, 0)))
    return padded.reshape(copies, columns, width, m)


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
