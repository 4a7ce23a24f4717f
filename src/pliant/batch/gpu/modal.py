"""A volume whose unknowns are the coordinates of its modes, in all copies: its part of the matrix and of the rows.

The twin of `reduced.strain_modes` and `reduced.subspace_trial`: with F = I + B y and D = RᵀB,

    forces     Σ w P : Bₘ
    stiffness  Σ w (2μ sym Dₘ : sym Dₙ + λ tr Dₘ tr Dₙ)
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from pliant.batch.gpu.arrays import Array, LoweredModes
from pliant.batch.gpu.cables import PRECISE, Pull, pull
from pliant.batch.gpu.chambers import Growth, grow
from pliant.batch.gpu.elements import Matrix, rotations, stress
from pliant.batch.gpu.step_types import Linearization

_einsum = partial(jnp.einsum, precision=PRECISE)
_OFF = ((0, 1), (0, 2), (1, 2))


@jax.jit
def linearize(world: LoweredModes, y: Array, stiffness: Array) -> Linearization:
    """Forces and `stiffness` (·,) × K along the modes at their coordinates y (k, b)."""
    modes, numbers, dtype = world.modes, world.numbers, y.dtype
    B = jnp.asarray(modes.B, dtype)
    F = _gradient(B, y)
    linear = modes.linear[modes.material][:, None]
    R = [[jnp.where(linear, float(i == j), one) for j, one in enumerate(row)] for i, row in enumerate(rotations(F))]
    P, mu, lam = stress(modes, numbers, F, R)
    forces = _einsum("pcb,pcm->mb", jnp.stack([P[i][j] for i in range(3) for j in range(3)], 1), B)
    turned = jnp.stack([jnp.stack(row, 0) for row in R], 0)  # (i, j, p, b)
    D = _einsum("ripb,prjm->pijmb", turned, B.reshape(len(B), 3, 3, -1))
    trace = D[:, 0, 0] + D[:, 1, 1] + D[:, 2, 2]
    parts = [*(D[:, i, i] for i in range(3)), *(D[:, i, j] + D[:, j, i] for i, j in _OFF), trace]
    weights = [2.0 * mu] * 3 + [mu] * 3 + [lam]
    S = jnp.stack(parts, 0)  # (7, p, k, b)
    scale = jnp.broadcast_to(jnp.stack(weights, 0) * stiffness.astype(dtype), (7, *S.shape[1:2], S.shape[-1]))
    S = S.reshape(-1, *S.shape[2:])
    K = _einsum("xmb,xnb->bmn", S * scale.reshape(-1, 1, scale.shape[-1]), S)
    return Linearization(forces, K.reshape(len(K), -1), gradients(world, y))


def gradients(world: LoweredModes, y: Array) -> Matrix:
    """F of the points that must not invert."""
    return _gradient(jnp.asarray(world.modes.every, y.dtype), y)


def _gradient(B: Array, y: Array) -> Matrix:
    """I + B y of each point, nine arrays (p, b)."""
    made = _einsum("pcm,mb->cpb", B, y)
    return [[made[3 * i + j] + float(i == j) for j in range(3)] for i in range(3)]


def cable_pull(world: LoweredModes, y: Array, tension: Array) -> Pull:
    """The cables at y under the last tensions (c, b) N."""
    moved = _einsum("sim,mb->sib", jnp.asarray(world.cables.slope, y.dtype), y)
    return pull(world.cables.cable, world.cables.rest, moved, tension)


def entries(world: LoweredModes, made: Linearization, inertia: Array, cables: Pull | None) -> Array:
    """The entries (b, k²) of A, with the mass times `inertia` (·,) 1/s²."""
    dtype, k = made.stiffness.dtype, world.shape[0]
    mass = (world.numbers.mass.astype(dtype) * inertia.astype(dtype)).reshape(k * k, -1).T
    A = made.stiffness + mass
    if cables is not None:
        slope = jnp.asarray(world.cables.slope, dtype)
        along = _einsum("sim,sijb->bsjm", slope, cables.stiffness)
        A = A + _einsum("bsjm,sjn->bmn", along, slope).reshape(len(A), -1)
    return A


def residual(world: LoweredModes, v: Array, dt: Array, gravity: Array, forces: Array) -> Array:
    """r (b, k) of the linear solve: momentum over dt, gravity (3, ·) m/s² and loads less the internal `forces`."""
    numbers, dtype = world.numbers, v.dtype

    def each(values: Any) -> Array:
        return jnp.broadcast_to(values.astype(dtype), (*values.shape[:-1], v.shape[-1]))

    momentum = _einsum("mnb,nb->mb", each(numbers.mass), v / dt)
    weight = _einsum("imb,ib->mb", each(numbers.weighed), each(gravity))
    return (momentum + weight + numbers.loads.astype(dtype) - forces).T


def speed(world: LoweredModes, v: Array) -> Array:
    """Of the fastest contact point (b,), m/s."""
    return jnp.sqrt(jnp.max(jnp.sum(moved_points(world, v) ** 2, 1), 0, initial=0.0))


def moved_points(world: LoweredModes, y: Array) -> Array:
    """How far the contact points have moved, (c, 3, b) m."""
    return _einsum("cim,mb->cib", jnp.asarray(world.modes.points, y.dtype), y)


def moved_edges(world: LoweredModes, y: Array) -> Array:
    """How far the ends of edges beside round obstacles have moved, (2e, 3, b) m."""
    return _einsum("sim,mb->sib", jnp.asarray(world.rounds.edges.ends, y.dtype), y)


def contact_gradient(world: LoweredModes, point: Array, directions: Array, used: Array, first: int) -> Array:
    """Gradients (b, k, 3 slots) of contacts of the points `point` (b, slots) along the `directions` (b, 3, 3, slots),
    axes before rows; zero where a slot is not `used`. All modes have a part in a contact: `first` is 0.
    """
    assert first == 0
    if not len(world.modes.points):
        return jnp.zeros((len(point), world.shape[0], 3 * point.shape[1]), directions.dtype)
    motions = jnp.asarray(world.modes.points, directions.dtype)[point]  # (b, slots, 3, k)
    made = _einsum("bsim,bigs->bmgs", jnp.where(used[:, :, None, None], motions, 0.0), directions)
    return made.reshape(len(made), made.shape[1], -1)


def cable_gradient(world: LoweredModes, cables: Pull) -> Array:
    """Gradients (b, k, c) of the shortenings."""
    slope = jnp.asarray(world.cables.slope, cables.direction.dtype)
    return -_einsum("cs,sim,sib->bmc", cables.member, slope, cables.direction)


def chamber_growth(world: LoweredModes, y: Array) -> Growth:
    """The chambers at y."""
    return grow(world.chambers, _einsum("sim,mb->sib", jnp.asarray(world.chambers.ends, y.dtype), y))


def chamber_gradient(world: LoweredModes, made: Growth) -> Array:
    """Gradients (b, k, c) of the growths."""
    owner = jnp.asarray(world.chambers.owner)
    member = (owner[None, :] == jnp.arange(len(world.chambers.area))[:, None]).astype(made.slope.dtype)
    ends = jnp.asarray(world.chambers.ends, made.slope.dtype)
    return _einsum("cs,sim,sib->bmc", member, ends, made.slope)
