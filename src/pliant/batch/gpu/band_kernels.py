"""The functions of `band` as kernels in Triton: one program for each copy, block columns one after the other.

The blocks of a column stay in registers while those before it are subtracted, as products of blocks, which double
precision multiplies in tensor cores. The diagonal block is inverted by elimination; the others are products with its
inverse. What was written is read again by all threads of the program, behind a barrier.
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

CHUNK = 16
"""Right-hand sides of one product: the fewest that a card multiplies by blocks."""


def factor_and_solve(
    values: Array, source: Array, early: Array, late: Array, *, warps: int = 2, interpret: bool = False
) -> Factor:
    """`band.factor_and_solve`, with blocks of at least 16 unknowns."""
    if not late.size:  # a card has no empty arrays
        made = factor_and_solve(values, source, early, early[:, -1:], warps=warps, interpret=interpret)
        return made._replace(late=made.late[..., :0])
    columns, blocks, width, _ = source.shape
    reach, copies, last, dtype = blocks - 1, values.shape[0], late.shape[1], values.dtype
    padded = [jnp.pad(rhs, ((0, 0), (0, 0), (0, 0), (0, -rhs.shape[-1] % CHUNK))) for rhs in (early, late)]
    shapes = (
        jax.ShapeDtypeStruct((copies, columns + reach, blocks, width, width), dtype),
        jax.ShapeDtypeStruct((copies, columns + reach, width, padded[0].shape[-1]), dtype),
        jax.ShapeDtypeStruct((copies, last + reach, width, padded[1].shape[-1]), dtype),
        jax.ShapeDtypeStruct((copies,), dtype),
    )
    kernel = partial(_factor_kernel, columns, blocks, width, columns - last, interpret)
    L, Y, Z, least = _call(kernel, shapes, copies, warps, interpret)(values, source, *padded)
    return Factor(L, Y[:, reach:, :, : early.shape[-1]], Z[:, reach:, :, : late.shape[-1]], least > 0.0)


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


def _product(a: Array, b: Array) -> Array:
    """A b in full precision."""
    return jnp.dot(a, b, precision=jax.lax.Precision.HIGHEST)


def _factor_kernel(
    columns: int, blocks: int, width: int, first: int, interpret: bool,
    values: Any, source: Any, early: Any, late: Any, L: Any, Y: Any, Z: Any, least: Any,
) -> None:  # fmt: skip
    b, reach, dtype = pl.program_id(0), blocks - 1, L.dtype

    def chunks(of: Any) -> list[Any]:
        return [pl.ds(start, CHUNK) for start in range(0, of.shape[-1], CHUNK)]

    for k in range(reach):
        for of in (Y, Z):
            for chunk in chunks(of):
                of[b, k, :, chunk] = jnp.zeros((width, CHUNK), dtype)
        for i in range(blocks):
            L[b, k, i] = jnp.zeros((width, width), dtype)
    _barrier(interpret)

    def column(with_late: bool, k: Array, smallest: Array) -> Array:
        own = [(early, Y, k, chunk) for chunk in chunks(Y)]
        if with_late:
            own += [(late, Z, k - first, chunk) for chunk in chunks(Z)]
        tiles = [values[b, source[k, i]] for i in range(blocks)]
        rights = [given[b, at, :, chunk] for given, _, at, chunk in own]
        for j in range(1, blocks):
            row = L[b, k + reach - j, j].T
            for i in range(blocks - j):
                tiles[i] = tiles[i] - _product(row, L[b, k + reach - j, i + j])
            for g, (_, made, at, chunk) in enumerate(own):
                rights[g] = rights[g] - _product(row, made[b, at + reach - j, :, chunk])
        inverse, smallest = _inverse_factor(tiles[0], smallest)
        L[b, k + reach, 0] = inverse
        for i in range(1, blocks):
            L[b, k + reach, i] = _product(inverse, tiles[i])
        for right, (_, made, at, chunk) in zip(rights, own, strict=True):
            made[b, at + reach, :, chunk] = _product(inverse, right)
        _barrier(interpret)
        return smallest

    smallest = jax.lax.fori_loop(0, first, partial(column, False), jnp.asarray(jnp.inf, dtype))
    least[b] = jax.lax.fori_loop(first, columns, partial(column, True), smallest)


def _inverse_factor(tile: Array, smallest: Array) -> tuple[Array, Array]:
    """C⁻¹ [r, c] of a symmetric block C Cᵀ, and the least of `smallest` and its pivots."""
    width = tile.shape[0]
    down = jax.lax.broadcasted_iota(jnp.int32, (width, width), 0)
    across = jax.lax.broadcasted_iota(jnp.int32, (width, width), 1)
    place = jax.lax.iota(jnp.int32, width)

    def eliminate(c: Array, carry: Any) -> Any:
        tile, made, smallest = carry
        own = down == c
        column = jnp.sum(jnp.where(across == c, tile, 0.0), 1)
        pivot = jnp.sum(jnp.where(place == c, column, 0.0))
        smallest = jnp.minimum(smallest, pivot)
        scale = 1.0 / jnp.sqrt(jnp.where(pivot > 0.0, pivot, 1.0))
        below = jnp.where(place > c, column * scale, 0.0)[:, None]
        rows = [jnp.sum(jnp.where(own, one, 0.0), 0) * scale for one in (tile, made)]
        tile, made = (
            jnp.where(own, row[None, :], one - below * row[None, :])
            for one, row in zip((tile, made), rows, strict=True)
        )
        return tile, made, smallest

    unit = jnp.where(down == across, jnp.ones((), tile.dtype), 0.0)
    _, made, smallest = jax.lax.fori_loop(0, width, eliminate, (tile, unit, smallest))
    return made, smallest


def _backward_kernel(columns: int, blocks: int, width: int, interpret: bool, L: Any, y: Any, x: Any) -> None:
    b, reach, dtype = pl.program_id(0), blocks - 1, x.dtype
    for i in range(reach):
        x[b, columns + i] = jnp.zeros((width,), dtype)
    _barrier(interpret)

    def column(n: Array, _: Any) -> Any:
        k = columns - 1 - n
        right = y[b, k]
        for i in range(1, blocks):
            right = right - jnp.sum(L[b, k + reach, i] * x[b, k + i][None, :], 1)
        x[b, k] = jnp.sum(L[b, k + reach, 0] * right[:, None], 0)
        _barrier(interpret)
        return 0

    jax.lax.fori_loop(0, columns, column, 0)
