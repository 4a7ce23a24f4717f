"""A and its right-hand sides in block columns, factorized and solved forward in one pass, and solved backward.

A of a copy has `columns` block columns of `width` unknowns, and `reach` blocks below each diagonal one:

    L (columns + reach, reach + 1, width, width)    L[k + reach, i, c, r]: row r of block k + i, column c of block k
    Y (columns + reach, width, m)                   L Y = R, one column for each right-hand side

so that a column of a block is contiguous; `reach` block columns of zeros stand in front, which the first ones subtract.
These functions are the twins in plain JAX of the kernels in `band_kernels`, for processors without Triton.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular

from pliant.batch.gpu.arrays import Array


class Factor(NamedTuple):
    """L and Y of all copies, with the copies first, and whether each matrix was positive definite."""

    L: Array
    Y: Array
    definite: Array


def factor_and_solve(values: Array, source: Array, rhs: Array) -> Factor:
    """Cholesky factors of all copies and forward solves.

    values  (b, k) entries of A in any order
    source  (columns, reach + 1, width, width) index of each entry of the blocks among `values`
    rhs     (b, columns, width, m)
    """
    columns, blocks, width, _ = source.shape
    reach, copies = blocks - 1, values.shape[0]
    m = rhs.shape[-1]
    L = jnp.zeros((columns + reach, copies, blocks, width, width), values.dtype)
    Y = jnp.zeros((columns + reach, copies, width, m), values.dtype)

    def column(k: Array, carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        L, Y, definite = carry
        block = jnp.take(values, source[k], axis=1)
        right = jax.lax.dynamic_index_in_dim(rhs, k, 1, keepdims=False)
        for j in range(1, blocks):
            before = jax.lax.dynamic_index_in_dim(L, k + reach - j, 0, keepdims=False)
            row = before[:, j]
            block = block.at[:, : blocks - j].add(-_product("btc,bitr->bicr", row, before[:, j:]))
            solved = jax.lax.dynamic_index_in_dim(Y, k + reach - j, 0, keepdims=False)
            right = right - _product("btc,btm->bcm", row, solved)
        corner = jnp.linalg.cholesky(block[:, 0], symmetrize_input=False)  # symmetric: [c, r] as well as [r, c]
        definite = definite & jnp.isfinite(corner).all((1, 2))
        below = block.transpose(0, 2, 1, 3).reshape(copies, width, -1)
        below = solve_triangular(corner, jnp.concatenate([below[:, :, width:], right], -1), lower=True)
        rest = below[:, :, : width * reach].reshape(copies, width, reach, width).transpose(0, 2, 1, 3)
        made = jnp.concatenate([corner.transpose(0, 2, 1)[:, None], rest], 1)
        L = jax.lax.dynamic_update_index_in_dim(L, made, k + reach, 0)
        Y = jax.lax.dynamic_update_index_in_dim(Y, below[:, :, width * reach :], k + reach, 0)
        return L, Y, definite

    L, Y, definite = jax.lax.fori_loop(0, columns, column, (L, Y, jnp.ones(copies, bool)))
    return Factor(L.swapaxes(0, 1), Y.swapaxes(0, 1), definite)


def solve_backward(L: Array, y: Array) -> Array:
    """x (b, columns, width) with Lᵀ x = y (b, columns, width)."""
    reach, width = L.shape[2] - 1, L.shape[3]
    columns = y.shape[1]

    def column(n: Array, x: Array) -> Array:
        k = columns - 1 - n
        own = jax.lax.dynamic_index_in_dim(L, k + reach, 1, keepdims=False)
        right = jax.lax.dynamic_index_in_dim(y, k, 1, keepdims=False)
        after = jax.lax.dynamic_slice_in_dim(x, k + 1, reach, 1)
        right = right - _product("bicr,bir->bc", own[:, 1:], after)
        solved = solve_triangular(own[:, 0], right[..., None], lower=False)[..., 0]
        return jax.lax.dynamic_update_index_in_dim(x, solved, k, 1)

    x = jnp.zeros((y.shape[0], columns + reach, width), y.dtype)
    return jax.lax.fori_loop(0, columns, column, x)[:, :columns]


def _product(terms: str, a: Array, b: Array) -> Array:
    """A sum of products in full precision: TF32, the default of recent cards, loses definiteness."""
    return jnp.einsum(terms, a, b, precision=jax.lax.Precision.HIGHEST)
