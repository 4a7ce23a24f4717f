"""A and its right-hand sides in block columns, factorized and solved forward in one pass, and solved backward.

A of a copy has `columns` block columns of `width` unknowns, and `reach` blocks below each diagonal one:

    L (columns + reach, reach + 1, width, width)    L[k + reach, i, c, r]: row r of block k + i, column c of block k;
                                                    i = 0 holds the inverse of the diagonal block, [r, c]
    Y (columns + reach, width, m)                   L Y = R, one column for each right-hand side

so that a column of a block is contiguous; `reach` block columns of zeros stand in front, which the first ones subtract.
All is products of blocks: diagonal ones are inverted once. Right-hand sides come in two groups, `early` ones, and
`late` ones that are zero before a block column: contacts at the end of a body have no part in those of its other end.
These functions are the twins in plain JAX of the kernels in `band_kernels`, for processors without Triton.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular

from pliant.batch.gpu.arrays import Array


class Factor(NamedTuple):
    """L and Y of all copies, with the copies first, Y in both groups of right-hand sides, and whether each matrix was
    positive definite.
    """

    L: Array
    early: Array
    late: Array
    definite: Array


def factor_and_solve(values: Array, source: Array, early: Array, late: Array) -> Factor:
    """Cholesky factors of all copies and forward solves.

    values  (b, k) entries of A in any order
    source  (columns, reach + 1, width, width) index of each entry of the blocks among `values`
    early   (b, columns, width, m)
    late    (b, last, width, m'): of the last block columns, zero in those before
    """
    columns, blocks, width, _ = source.shape
    reach, copies, m = blocks - 1, values.shape[0], early.shape[-1]
    first = columns - late.shape[1]
    rhs = jnp.concatenate([early, jnp.pad(late, ((0, 0), (first, 0), (0, 0), (0, 0)))], -1)
    L = jnp.zeros((columns + reach, copies, blocks, width, width), values.dtype)
    Y = jnp.zeros((columns + reach, copies, width, rhs.shape[-1]), values.dtype)
    unit = jnp.broadcast_to(jnp.eye(width, dtype=values.dtype), (copies, width, width))

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
        inverse = solve_triangular(corner, unit, lower=True)
        below = _product("bct,bitr->bicr", inverse, block[:, 1:])
        L = jax.lax.dynamic_update_index_in_dim(L, jnp.concatenate([inverse[:, None], below], 1), k + reach, 0)
        Y = jax.lax.dynamic_update_index_in_dim(Y, _product("bct,btm->bcm", inverse, right), k + reach, 0)
        return L, Y, definite

    L, Y, definite = jax.lax.fori_loop(0, columns, column, (L, Y, jnp.ones(copies, bool)))
    Y = Y.swapaxes(0, 1)
    return Factor(L.swapaxes(0, 1), Y[:, reach:, :, :m], Y[:, reach + first :, :, m:], definite)


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
        solved = _product("brc,br->bc", own[:, 0], right)
        return jax.lax.dynamic_update_index_in_dim(x, solved, k, 1)

    x = jnp.zeros((y.shape[0], columns + reach, width), y.dtype)
    return jax.lax.fori_loop(0, columns, column, x)[:, :columns]


def _product(terms: str, a: Array, b: Array) -> Array:
    """A sum of products in full precision: TF32, the default of recent cards, loses definiteness."""
    return jnp.einsum(terms, a, b, precision=jax.lax.Precision.HIGHEST)
