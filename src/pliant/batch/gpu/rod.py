"""A step of implicit Euler of a clamped rod with one linear solve in all copies: the twin of `models.rod.euler`.

Each section has m stations, and its end, where it carries everything beyond: with loads and inertia of what a position
carries, every sum over stations and sections is one over the m + 1 positions of each section. The unknowns are the K
strains of each section, all six, or three where none stretches or shears; those that may not change have the rows of a
unit matrix.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from pliant.batch.gpu.arrays import Array, LoweredRod
from pliant.batch.gpu.rod_sweep import Matrix, Sweep, Vector, cross, dot, own_slopes, sweep
from pliant.batch.gpu.step_types import DIVERGED, FINE, Controls, Kernels, Report, States

Particles = list[Vector]
"""Of each station the axis x and the ends of d_y and d_z, m: `models.rod.inertia`."""


class Carried(NamedTuple):
    """Arrays (N, m + 1, b) of what the positions carry. Inertia: mass (kg), first moments s (kg·m) and second ones S
    (kg·m²) about the base; loads: force F (N), moment M about the base and G = Σ x fᵀ (N·m).
    """

    mass: Array
    s: Vector
    S: Matrix
    F: Vector
    M: Vector
    G: Matrix


def step(world: LoweredRod, kernels: Kernels, dt: Array, states: States, controls: Controls) -> tuple[States, Report]:
    """The states after a step of dt (s)."""
    values, r = begin(world, dt, states, controls)
    u, definite = _solved(world, kernels, values, r, states.u)
    values, p = momentum(world, dt, states.u, u)
    rates, positive = _solved(world, kernels, values, p, None)
    after: tuple[States, Report] = settle(dt, states, u, rates, definite & positive)
    return after


def _solved(world: LoweredRod, kernels: Kernels, values: Array, r: Array, start: Array | None) -> tuple[Array, Array]:
    """`start` + A⁻¹ r (N, K, b), and where A is positive definite."""
    factor = kernels.factor(values, world.source, r, r[:, -1:, :, :0])
    x = kernels.backward(factor.L, factor.early[..., 0])
    return _moved(world, start, x), factor.definite


@jax.jit
def _moved(world: LoweredRod, start: Array | None, x: Array) -> Array:
    """`start` moved by x (b, columns, width)."""
    n, kinds = world.shape
    made = x.reshape(len(x), -1)[:, : n * kinds].T.reshape(n, kinds, len(x))
    return made if start is None else start + made


@jax.jit
def begin(world: LoweredRod, dt: Array, states: States, controls: Controls) -> tuple[Array, Array]:
    """Entries (b, N² K² + 2) of A and the right-hand side (b, columns, width, 1) of the linear solve, about the free
    motion dt × v.
    """
    numbers, q, v = world.numbers, states.u, states.v
    dtype, base = q.dtype, jnp.asarray(world.base)
    dt = dt.astype(dtype)
    mu = numbers.mu.astype(dtype)
    damping = numbers.damping.astype(dtype)
    rate, momentum_rate, lagged = 1.0 / (dt * dt) + damping[0] / dt, 1.0 / dt, damping[1] / dt
    here = _swept(world, q, base)
    free = dt * v
    there = _swept(world, q + free, base)
    begun, moved = particles(here), particles(there)
    weight = [mu[..., 0, :] * one for one in controls.gravity.astype(dtype)]
    speeds = _velocities(here, v)
    forces = []
    for axis in range(3):
        row = []
        for c in range(3):
            external: Array = weight[c] + numbers.forces.astype(dtype)[:, :, c] if axis == 0 else jnp.zeros((), dtype)
            push = momentum_rate * speeds[axis][c] - rate * (moved[axis][c] - begun[axis][c])
            row.append(external + mu[..., axis, :] * push)
        forces.append(row)
    carried = _carried(mu, moved, forces)
    stiffness = numbers.stiffness.astype(dtype)
    strained = q + free + (world.start - world.rest).astype(dtype)[:, : q.shape[1], None]
    r = _pulled(there, carried) - stiffness * (strained + lagged * free)
    A = _mass(there, carried, rate) - _load_stiffness(world, there, carried)
    A = _with_diagonal(A, (1.0 + lagged) * stiffness)
    r = r + jnp.sum(A * free[None, None], (2, 3))
    return _unknowns(world, A), _right_hand_side(world, r)


@jax.jit
def momentum(world: LoweredRod, dt: Array, start: Array, end: Array) -> tuple[Array, Array]:
    """Entries (b, N² K² + 2) of the mass matrix at the `end` (N, K, b) of a step, and the momentum there as a
    right-hand side.
    """
    dtype, base = end.dtype, jnp.asarray(world.base)
    mu = world.numbers.mu.astype(dtype)
    there = _swept(world, end, base)
    begun, ended = particles(_swept(world, start, base)), particles(there)
    carried = [
        [mu[..., axis, :] * (ended[axis][c] - begun[axis][c]) / dt.astype(dtype) for c in range(3)] for axis in range(3)
    ]
    loads = _carried(mu, ended, carried)
    p = _right_hand_side(world, _pulled(there, loads))
    return _unknowns(world, _mass(there, loads, jnp.ones((), dtype))), p


@jax.jit
def settle(dt: Array, states: States, u: Array, v: Array, definite: Array) -> tuple[States, Report]:
    """The states at the strains u (N, K, b) with the rates v, and how the step of each copy ended."""
    copies, dtype = u.shape[-1], u.dtype
    fine = definite & jnp.isfinite(u).all((0, 1)) & jnp.isfinite(v).all((0, 1))
    after = states._replace(
        u=jnp.where(fine, u, states.u),
        v=jnp.where(fine, v, states.v),
        time=jnp.where(fine, states.time + dt.astype(dtype), states.time),
    )
    none, zero = jnp.zeros(copies, jnp.int32), jnp.zeros(copies, dtype)
    status = jnp.where(fine, FINE, DIVERGED).astype(jnp.int32)
    return after, Report(status, zero, jnp.zeros_like(states.lam), none, jnp.ones(copies, dtype), none)


def _swept(world: LoweredRod, u: Array, base: Array) -> Sweep:
    """All positions of the sections at the strains u less those at the start: stations, then the end."""
    fraction = jnp.asarray(world.fraction)
    ends = jnp.concatenate([fraction, jnp.ones_like(fraction[:, :1])], 1)
    strains = jnp.pad(u, ((0, 0), (0, 6 - u.shape[1]), (0, 0)))
    return sweep(strains + jnp.asarray(world.start, u.dtype)[:, :, None], base, ends, u.shape[1])


def particles(at: Sweep) -> Particles:
    """Of the stations, the positions without the ends of sections."""
    return [
        [one[:, :-1] for one in at.x],
        [at.R[r][1][:, :-1] for r in range(3)],
        [at.R[r][2][:, :-1] for r in range(3)],
    ]


def _velocities(at: Sweep, v: Array) -> Particles:
    """Of the particles under the rates v (N, K, b)."""
    columns = jnp.stack([jnp.stack([*w, *u]) for w, u in at.columns])  # (K, 6, N, m + 1, b)
    twist = jnp.sum(columns * v.swapaxes(0, 1)[:, None, :, None], 0)
    before = [_before(one[:, -1])[:, None] + one[:, :-1] for one in twist]
    w, u = before[:3], before[3:]
    x, d, e = particles(at)
    return [[a + b for a, b in zip(u, cross(w, x), strict=True)], cross(w, d), cross(w, e)]


def _before(values: Array) -> Array:
    """Sums (N, b) over the sections before each."""
    return jnp.cumsum(jnp.concatenate([jnp.zeros_like(values[:1]), values[:-1]]), 0)


def _with_beyond(values: Array) -> Array:
    """(N, m + 1, b) of values (N, m, b) of the stations: those, and the sum of all in the sections beyond."""
    each = values.sum(1)
    beyond = jnp.cumsum(jnp.concatenate([jnp.zeros_like(each[:1]), each[:0:-1]]), 0)[::-1]
    return jnp.concatenate([values, beyond[:, None]], 1)


def _carried(mu: Array, at: Particles, forces: Particles) -> Carried:
    """What positions carry of particles with masses mu (N, m, 3, ·) under forces."""
    copies = at[0][0].shape[-1]
    masses = [jnp.broadcast_to(mu[..., axis, :], (*mu.shape[:2], copies)) for axis in range(3)]
    S = [[sum(m * p[r] * p[c] for m, p in zip(masses, at, strict=True)) for c in range(3)] for r in range(3)]
    G = [[sum(p[r] * f[c] for p, f in zip(at, forces, strict=True)) for c in range(3)] for r in range(3)]
    G = [[_with_beyond(one) for one in row] for row in G]
    return Carried(
        _with_beyond(masses[0]),
        [_with_beyond(masses[0] * one) for one in at[0]],
        [[_with_beyond(one) for one in row] for row in S],
        [_with_beyond(one) for one in forces[0]],
        [G[1][2] - G[2][1], G[2][0] - G[0][2], G[0][1] - G[1][0]],
        G,
    )


def _pulled(at: Sweep, carried: Carried) -> Array:
    """Generalised forces (N, K, b) of the loads."""
    return jnp.stack([(dot(w, carried.M) + dot(v, carried.F)).sum(1) for w, v in at.columns], 1)


def _mass(at: Sweep, carried: Carried, rate: Array) -> Array:
    """`rate` × the mass matrix (N, K, N, K, b)."""
    trace = carried.S[0][0] + carried.S[1][1] + carried.S[2][2]
    responses = []
    for w, v in at.columns:
        linear = [carried.mass * a + b for a, b in zip(v, cross(w, carried.s), strict=True)]
        turned = cross(carried.s, v)
        angular = [turned[r] + trace * w[r] - dot(carried.S[r], w) for r in range(3)]
        responses.append([*(rate * one for one in angular), *(rate * one for one in linear)])
    return _joined(at, responses)


def _load_stiffness(world: LoweredRod, at: Sweep, carried: Carried) -> Array:
    """∂(Jᵀ f)/∂q of the loads (N, K, N, K, b): `models.rod.geometric`."""
    trace = carried.G[0][0] + carried.G[1][1] + carried.G[2][2]
    none = jnp.zeros_like(trace)
    responses = []
    for w, v in at.columns:
        turned = cross(v, carried.F)
        responses.append([*(turned[r] + dot(carried.G[r], w) - trace * w[r] for r in range(3)), none, none, none])
    fraction = jnp.asarray(world.fraction, trace.dtype)
    ends = jnp.concatenate([fraction, jnp.ones_like(fraction[:, :1])], 1)[:, :, None]
    slopes = own_slopes(at, ends, carried.F, carried.M)[: len(at.columns)]
    own = jnp.stack([jnp.stack([one.sum(1) for one in row[: len(slopes)]], 1) for row in slopes], 2)
    return _joined(at, responses) + _blocks(own)


def _joined(at: Sweep, responses: list[list[Array]]) -> Array:
    """The symmetric matrix (N, K, N, K, b) of the columns against `responses` (K, 6) of all positions: of a section to
    those nearer to the base through the columns of their ends, and to itself at each position.
    """
    columns, pushes = (
        jnp.stack([jnp.stack(row) for row in rows]) for rows in ([[*w, *v] for w, v in at.columns], responses)
    )  # (K, 6, N, m + 1, b)
    own = jnp.sum(columns[:, None] * pushes[None], (2, 4))  # (K, K, N, b)
    left, right = (one.transpose(2, 0, 1, 3) for one in (columns[..., -1, :], pushes.sum(3)))
    across = sum(left[:, :, None, None, c] * right[None, None, :, :, c] for c in range(6))
    section = jnp.arange(len(left))
    nearer = (section[:, None] < section[None, :])[:, None, :, None, None]
    farther = (section[:, None] > section[None, :])[:, None, :, None, None]
    both = jnp.where(nearer, across, jnp.where(farther, across.transpose(2, 3, 0, 1, 4), 0.0))
    return both + _blocks(own.transpose(2, 0, 1, 3))


def _blocks(own: Array) -> Array:
    """The matrix (N, K, N, K, b) with the blocks `own` (N, K, K, b) on its diagonal."""
    here = jnp.eye(len(own), dtype=bool)[:, None, :, None, None]
    return jnp.where(here, own[:, :, None], 0.0)


def _with_diagonal(A: Array, values: Array) -> Array:
    """A + the diagonal matrix of values (N, K, ·)."""
    n = A.shape[0]
    unit = jnp.eye(n * A.shape[1], dtype=bool).reshape(*A.shape[:4], 1)
    return A + jnp.where(unit, values[:, :, None, None], 0.0)


def _open(world: LoweredRod) -> Array:
    """Strains that may change, (N, K, 1)."""
    return jnp.asarray(world.free)[:, :, None]


def _right_hand_side(world: LoweredRod, r: Array) -> Array:
    """(b, columns, width, 1) of generalised forces (N, K, b), zero for strains that may not change."""
    columns, _, width, _ = world.source.shape
    flat = jnp.where(_open(world), r, 0.0).reshape(-1, r.shape[-1]).T
    return jnp.pad(flat, ((0, 0), (0, columns * width - flat.shape[1]))).reshape(len(flat), columns, width, 1)


def _unknowns(world: LoweredRod, A: Array) -> Array:
    """The entries (b, N² K² + 2) of A (N, K, N, K, b) over the strains that may change, with a zero and a one."""
    free = _open(world)
    kept = jnp.where(free[:, :, None, None] & free[None, None], A, 0.0)
    kept = _with_diagonal(kept, jnp.where(free, 0.0, 1.0).astype(A.dtype))
    flat = kept.reshape(-1, kept.shape[-1]).T
    ends = jnp.broadcast_to(jnp.array([0.0, 1.0], A.dtype), (len(flat), 2))
    made: Any = jnp.concatenate([flat, ends], 1)
    return made
