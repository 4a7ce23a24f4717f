"""`laws.find_forces` as a kernel in Triton: one program for each copy, which ends when its own forces are found."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton

from pliant.batch.gpu.arrays import Array
from pliant.batch.gpu.laws import Found, Laws, Linear, find_forces


def find_all_forces(
    laws: Laws, start: Array, tolerance: float, most: int, *, warps: int = 4, interpret: bool = False
) -> Found:
    """`laws.find_forces` of all copies, which come first in every array."""
    copies, m = start.shape
    dtype = start.dtype
    shapes = (
        jax.ShapeDtypeStruct((copies, m), dtype),
        jax.ShapeDtypeStruct((copies,), dtype),
        jax.ShapeDtypeStruct((copies,), jnp.int32),
    )

    def kernel(W: Any, partner: Any, free: Any, mu: Any, lower: Any, upper: Any, idle: Any, start: Any,
               lam: Any, residual: Any, iterations: Any) -> None:  # fmt: skip
        b = pl.program_id(0)
        own = Laws(W[b], partner[b], free[b], mu[b], lower[b], upper[b], idle[b] != 0)
        found = find_forces(own, start[b], tolerance, most, _INSIDE)
        lam[b], residual[b], iterations[b] = found

    options: Any = {} if interpret else {"compiler_params": triton.CompilerParams(num_warps=warps, num_stages=1)}
    call = pl.pallas_call(kernel, out_shape=shapes, grid=(copies,), interpret=interpret, **options)
    return Found(*call(*laws[:-1], laws.open.astype(jnp.int32), start))


def _product(A: Array, x: Array) -> Array:
    return jnp.sum(A * x[None, :], 1)


def _solve(A: Array, b: Array) -> Array:
    """x of A x = b by elimination without pivots: rows are scaled to a diagonal near one."""
    m = b.shape[0]
    down = jax.lax.broadcasted_iota(jnp.int32, (m, m), 0)
    across = jax.lax.broadcasted_iota(jnp.int32, (m, m), 1)
    place = jax.lax.iota(jnp.int32, m)

    def eliminate(k: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        A, b = carry
        column = jnp.sum(jnp.where(across == k, A, 0.0), 1)
        pivot = jnp.sum(jnp.where(place == k, column, 0.0))
        row = jnp.sum(jnp.where(down == k, A, 0.0), 0) / pivot
        known = jnp.sum(jnp.where(place == k, b, 0.0)) / pivot
        A = jnp.where(down == k, row[None, :], A - column[:, None] * row[None, :])
        return A, jnp.where(place == k, known, b - column * known)

    return jax.lax.fori_loop(0, m, eliminate, (A, b))[1]


_INSIDE = Linear(_product, _solve)
