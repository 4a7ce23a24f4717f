"""Symbolic analysis: everything about a factorization that depends on the pattern only. Done once per model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pliant.core.checks import finite_array
from pliant.core.errors import InputError
from pliant.core.types import BoolArray, FloatArray, IntArray
from pliant.solvers.linear.amalgamation import amalgamate
from pliant.solvers.linear.elimination import elimination_tree, postorder, supernodes
from pliant.solvers.linear.factor import CholeskyFactor
from pliant.solvers.linear.fronts import Fronts, lay_out
from pliant.solvers.linear.halves import Halves, find_halves
from pliant.solvers.linear.ordering import adjacency, nested_dissection
from pliant.solvers.linear.pattern import BlockPattern


@dataclass(frozen=True, eq=False)
class Symbolic:
    """Elimination order, tree and memory layout of the factor of any matrix on `pattern`.

    nodes      (kept,)        node eliminated i-th
    position   (node_count,)  index of every node in that order, −1 where it is not an unknown
    fronts                    layout of the dense fronts
    workspace                 scalars of scratch that a numeric factorization needs
    """

    pattern: BlockPattern
    nodes: IntArray
    position: IntArray
    fronts: Fronts
    workspace: int

    @cached_property
    def blocks_shape(self) -> tuple[int, int, int]:
        """Shape of the blocks of a matrix."""
        return self.pattern.block_count, self.pattern.block, self.pattern.block

    @cached_property
    def unknown_count(self) -> int:
        """Scalar unknowns: block × kept nodes."""
        return self.pattern.block * len(self.nodes)

    @property
    def factor_nonzeros(self) -> int:
        """Entries of L, stored zeros of merged supernodes included."""
        k, u = self._front_sizes()
        return int(np.sum(k * (k + 1) / 2 + k * u))

    @property
    def flops(self) -> float:
        """Floating-point operations of one numeric factorization."""
        k, u = self._front_sizes()
        return float(np.sum(k**3 / 3 + k**2 * u + k * u**2))

    @cached_property
    def layout(self) -> tuple[Any, ...]:
        """The arrays of `fronts` as a plain tuple: Numba takes five times as long to recognise a named one."""
        return tuple(self.fronts)

    @cached_property
    def tallest_front(self) -> int:
        """Scalar rows of the tallest front."""
        k, u = self._front_sizes()
        return int((k + u).max(initial=0.0))

    @cached_property
    def halves(self) -> Halves | None:
        """Subtrees that two threads may eliminate beside each other; None where that is not worth it."""
        return find_halves(self.fronts, self.pattern.block)

    def factorize(self, values: FloatArray, *, out: CholeskyFactor | None = None) -> CholeskyFactor:
        """L Lᵀ = P A Pᵀ for the blocks `values`, shape (nnzb, b, b).

        `out` is an earlier factor of this analysis that is no longer needed: its memory is reused, which saves the
        page faults of a fresh allocation. Raises `SingularError` where A is not positive definite.
        """
        return CholeskyFactor(self, values, out=out)

    def _front_sizes(self) -> tuple[FloatArray, FloatArray]:
        b = float(self.pattern.block)
        return b * np.diff(self.fronts.start), b * np.diff(self.fronts.row_ptr)


def analyze(pattern: BlockPattern, *, coordinates: Any = None, keep: Any = None) -> Symbolic:
    """Order, tree and layout for factorizing matrices on `pattern`.

    `coordinates` are node positions in metres, shape (node_count, 3), any configuration: they only guide the ordering.
    `keep` is a mask of the nodes that are unknowns, shape (node_count,); the others are constrained and ignored.
    """
    kept = _kept_nodes(pattern, keep)
    number = np.full(pattern.node_count, -1, np.int32)
    number[kept] = np.arange(len(kept), dtype=np.int32)
    where = None
    if coordinates is not None:
        where = finite_array("coordinates", coordinates, shape=(pattern.node_count, None))[kept]
    ptr, neighbours = adjacency(pattern.indptr, pattern.indices, number, len(kept))
    order = nested_dissection(ptr, neighbours, where)
    order = order[postorder(elimination_tree(ptr, neighbours, order))]
    fine = supernodes(ptr, neighbours, order, elimination_tree(ptr, neighbours, order))
    tree, columns = amalgamate(fine, block=pattern.block)
    nodes = kept[order[columns]]
    position = np.full(pattern.node_count, -1, np.int32)
    position[nodes] = np.arange(len(nodes), dtype=np.int32)
    fronts, workspace = lay_out(tree, pattern.indptr, pattern.indices, position, pattern.block)
    return Symbolic(pattern, nodes, position, fronts, workspace)


def _kept_nodes(pattern: BlockPattern, keep: Any) -> IntArray:
    if keep is None:
        return np.arange(pattern.node_count, dtype=np.int32)
    mask: BoolArray = np.asarray(keep)
    if mask.shape != (pattern.node_count,) or mask.dtype != np.bool_:
        raise InputError(f"keep must be a boolean mask of shape ({pattern.node_count},), got {mask.dtype} {mask.shape}")
    return np.flatnonzero(mask).astype(np.int32)
