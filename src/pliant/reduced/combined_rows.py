"""Combinations Φᵀ H of the rows of contacts, formed from blocks of their gradients without H itself."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from pliant.collision import ContactSet
from pliant.constraints.facing import FacingPair
from pliant.constraints.row_blocks import RowBlocks
from pliant.constraints.rows import RowView
from pliant.core.arrays import csr
from pliant.core.kernels import kernel
from pliant.core.types import FloatArray


def combined_rows(
    pair: FacingPair, view: RowView, contacts: ContactSet, frames: FloatArray, combination: FloatArray
) -> RowBlocks:
    """Φᵀ H over the models for the `combination` Φ (m, rows) of the rows of `contacts`."""
    H = view.blank(combination.shape[1] * pair.width)
    dense: dict[int, FloatArray] = {}
    directions = np.ascontiguousarray(frames[:, : pair.width])
    used, corners = np.unique(contacts.nodes_b, return_inverse=True)
    sides = (
        (pair.a, contacts.nodes_a[:, 0], np.arange(contacts.count)[:, None], np.ones((contacts.count, 1))),
        (pair.b, used, corners.reshape(-1, 3), -contacts.weights_b),
    )
    for side, points, which, weights in sides:
        index = side.index
        assert index is not None
        values, columns = side.map.selected(points).blocks(side.q(view))
        out = dense.setdefault(index, np.zeros((len(H[0].indptr) - 1, view.sizes[index])))
        _combine(combination, directions, values, columns, which.astype(np.int32), weights, out)
    for index, out in dense.items():
        H[index] = _without_zero_columns(out)
    return H


def _without_zero_columns(dense: FloatArray) -> sparse.csr_matrix:
    columns, count = np.flatnonzero(dense.any(axis=0)).astype(np.int32), len(dense)
    starts = len(columns) * np.arange(count + 1, dtype=np.int32)
    values = np.ascontiguousarray(dense[:, columns]).ravel()
    return csr(values, np.tile(columns, count), starts, (count, dense.shape[1]))


@kernel
def _combine(shares, directions, values, columns, which, weights, out):  # type: ignore[no-untyped-def]
    """out[(j, a), columns] += Σ shares[c, j] weights[c, s] directions[c, a] · values[which[c, s]] over the embedded
    points s of contacts c.
    """
    width, wide = directions.shape[1], values.shape[2]
    row = np.empty(wide)
    for c in range(len(shares)):
        for s in range(which.shape[1]):
            r = which[c, s]
            for a in range(width):
                d0, d1, d2 = directions[c, a]
                for b in range(wide):
                    row[b] = weights[c, s] * (d0 * values[r, 0, b] + d1 * values[r, 1, b] + d2 * values[r, 2, b])
                for j in range(shares.shape[1]):
                    share = shares[c, j]
                    if share != 0.0:
                        for b in range(wide):
                            out[j * width + a, columns[r, b]] += share * row[b]
