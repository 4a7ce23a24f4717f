"""The functions of `band` as kernels in Triton: one program for each copy, block columns one after the other.

The blocks of a column stay in registers while those before it are subtracted and its columns are eliminated. What was
written is read again by all threads of the program, behind a barrier.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton

from pliant.batch.gpu.arrays import Array
from pliant.batch.gpu.band import Factor


def factor_and_solve(values: Array, source: Array, rhs: Array, *, warps: int = 2, interpret: bool = False) -> Factor:
    """`band.factor_and_solve`."""
    columns, blocks, width, _ = source.shape
    copies, m = values.shape[0], rhs.shape[-1]
    shapes = (
        jax.ShapeDtypeStruct((copies, columns + blocks - 1, blocks, width, width), values.dtype),
        jax.ShapeDtypeStruct((copies, columns + blocks - 1, width, m), values.dtype),
        jax.ShapeDtypeStruct((copies,), values.dtype),
    )
    kernel = partial(_factor_kernel, columns, blocks, width, m, interpret)
    L, Y, least = _call(kernel, shapes, copies, warps, interpret)(values, source, rhs)
    return Factor(L, Y, least > 0.0)


def solve_backward(L: Array, y: Array, *, warps: int = 1, interpret: bool = False) -> Array:
    """`band.solve_backward`."""
    copies, columns, width = y.shape
    blocks = L.shape[2]
    shape = jax.ShapeDtypeStruct((copies, columns + blocks - 1, width), y.dtype)
    kernel = partial(_backward_kernel, columns, blocks, width, interpret)
    return _call(kernel, shape, copies, warps, interpret)(L, y)[:, :columns]


def _call(kernel: Any, shapes: Any, copies: int, warps: int, interpret: bool) -> Any:
    options: Any = {} if interpret else {"compiler_params": triton.CompilerParams(num_warps=warps, num_stages=1)}
    return pl.pallas_call(kernel, out_shape=shapes, grid=(copies,), interpret=interpret, **options)


def _barrier(interpret: bool) -> None:
    if not interpret:
        triton.debug_barrier()


def _factor_kernel(
    columns: int, blocks: int, width: int, m: int, interpret: bool,
    values: Any, source: Any, rhs: Any, L: Any, Y: Any, least: Any,
) -> None:  # fmt: skip
    b, reach, dtype = pl.program_id(0), blocks - 1, L.dtype
    across = jax.lax.broadcasted_iota(jnp.int32, (width, width), 0)
    down = jax.lax.broadcasted_iota(jnp.int32, (width, width), 1)
    place = jax.lax.iota(jnp.int32, width)
    across_rhs = jax.lax.broadcasted_iota(jnp.int32, (width, m), 0)
    for k in range(reach):
        Y[b, k] = jnp.zeros((width, m), dtype)
        for i in range(blocks):
            L[b, k, i] = jnp.zeros((width, width), dtype)
    _barrier(interpret)

    def column(k: Array, smallest: Array) -> Array:
        tiles = tuple(values[b, source[k, i]] for i in range(blocks))
        right = rhs[b, k]

        def subtract(t: Array, carry: Any) -> Any:
            tiles, right = carry
            tiles = list(tiles)
            for j in range(1, blocks):
                row = L[b, k + reach - j, j, t]
                right = right - row[:, None] * Y[b, k + reach - j, t][None, :]
                for i in range(blocks - j):
                    tiles[i] = tiles[i] - row[:, None] * L[b, k + reach - j, i + j, t][None, :]
            return tuple(tiles), right

        def eliminate(c: Array, carry: Any) -> Any:
            tiles, right, smallest = carry
            own = across == c
            below = jnp.sum(jnp.where(down == c, tiles[0], 0.0), 1)
            pivot = jnp.sum(jnp.where(place == c, below, 0.0))
            smallest = jnp.minimum(smallest, pivot)
            scale = 1.0 / jnp.sqrt(jnp.where(pivot > 0.0, pivot, 1.0))
            below = jnp.where(place > c, below * scale, 0.0)
            made = []
            for tile in tiles:
                row = jnp.sum(jnp.where(own, tile, 0.0), 0) * scale
                made.append(jnp.where(own, row[None, :], tile - below[:, None] * row[None, :]))
            row = jnp.sum(jnp.where(across_rhs == c, right, 0.0), 0) * scale
            right = jnp.where(across_rhs == c, row[None, :], right - below[:, None] * row[None, :])
            return tuple(made), right, smallest

        carry = jax.lax.fori_loop(0, width, subtract, (tiles, right))
        tiles, right, smallest = jax.lax.fori_loop(0, width, eliminate, (*carry, smallest))
        L[b, k + reach, 0] = jnp.where(down >= across, tiles[0], 0.0)
        for i in range(1, blocks):
            L[b, k + reach, i] = tiles[i]
        Y[b, k + reach] = right
        _barrier(interpret)
        return smallest

    least[b] = jax.lax.fori_loop(0, columns, column, jnp.asarray(jnp.inf, dtype))


def _backward_kernel(columns: int, blocks: int, width: int, interpret: bool, L: Any, y: Any, x: Any) -> None:
    b, reach, dtype = pl.program_id(0), blocks - 1, x.dtype
    place = jax.lax.iota(jnp.int32, width)
    for i in range(reach):
        x[b, columns + i] = jnp.zeros((width,), dtype)
    _barrier(interpret)

    def column(n: Array, _: Any) -> Any:
        k = columns - 1 - n
        right = y[b, k]
        for i in range(1, blocks):
            right = right - jnp.sum(L[b, k + reach, i] * x[b, k + i][None, :], 1)

        def eliminate(back: Array, right: Array) -> Array:
            r = width - 1 - back
            column = L[b, k + reach, 0, :, r]  # entries of row r of the block, over its columns c ≤ r
            pivot = jnp.sum(jnp.where(place == r, column, 0.0))
            known = jnp.sum(jnp.where(place == r, right, 0.0)) / jnp.where(pivot > 0.0, pivot, 1.0)
            return jnp.where(place == r, known, jnp.where(place < r, right - column * known, right))

        x[b, k] = jax.lax.fori_loop(0, width, eliminate, right)
        _barrier(interpret)
        return 0

    jax.lax.fori_loop(0, columns, column, 0)
