"""The Cholesky factor of a sparse symmetric positive definite matrix, and what is computed with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.core.arrays import frozen
from pliant.core.errors import InputError, SingularError
from pliant.core.threads import one_blas_thread, threads_allowed
from pliant.core.types import FloatArray
from pliant.solvers.linear import compliance, multifrontal, substitution
from pliant.solvers.linear.blas import blas, blas_arrays
from pliant.solvers.linear.condensation import csr_parts, mirror, sandwich, touched_columns
from pliant.solvers.linear.divided_front import DividedFront
from pliant.solvers.linear.half_solves import HalfSolvedMotion
from pliant.solvers.linear.halves import (
    Halves,
    Updates,
    condense_halves,
    eliminate_halves,
    eliminate_in_order,
    substitute_halves,
)
from pliant.solvers.linear.response import Motion, SolvedMotion, SolvedResponse

if TYPE_CHECKING:
    from pliant.solvers.linear.symbolic import Symbolic

_FEW = 0.6  # touched columns per row of H below which A⁻¹ is formed on those columns: fewer right-hand sides
PIVOT_TOLERANCE = 1e-14
"""A pivot below this fraction of its diagonal entry of A is rounding: the matrix is singular to working precision."""


class CholeskyFactor(SolvedResponse):
    """P A Pᵀ = L Lᵀ with the order P of `symbolic`; made by `Symbolic.factorize`.

    Vectors are in the caller's numbering, all nodes included: entries of nodes that are not unknowns are ignored in
    what is given and zero in what is returned. The methods only read the factor, so threads may share it.
    """

    def __init__(self, symbolic: Symbolic, values: FloatArray, *, out: CholeskyFactor | None = None) -> None:
        self.symbolic = symbolic
        self._block = symbolic.pattern.block
        self.panels: FloatArray
        self._workspace: FloatArray
        self._beyond: FloatArray | None  # workspace of a second thread
        self._updates: Updates  # those that wait for divided fronts
        if out is not None and out.symbolic is symbolic:
            self.panels, self._workspace, self._beyond = out.panels, out._workspace, out._beyond
            self._updates = out._updates
        else:
            self.panels = np.empty(int(symbolic.fronts.panel[-1]))
            self._workspace = np.empty(symbolic.workspace)
            self._beyond = None
            self._updates = Updates(symbolic.fronts, self._block)
        self._factorize(self._checked_values(values))

    @property
    def storage(self) -> tuple[FloatArray, FloatArray]:
        """What `multifrontal.factorize_all` writes into: the panels of L, and scratch."""
        return self.panels, self._workspace

    @property
    def size(self) -> int:
        """Length of the vectors of `solve`: node_count × block."""
        return self.symbolic.pattern.node_count * self._block

    def solve(self, rhs: Any) -> FloatArray:
        """A⁻¹ rhs for rhs of shape (n b,), (n, b) or (n b, m); the result has the shape of rhs."""
        given = self.checked_rhs(rhs)
        if given.size == 0:
            return np.zeros(given.shape)
        if given.size == self.size:
            x = np.zeros(given.shape)
            self._solve_one(given.reshape(-1), x.reshape(-1))
            return x
        y = self._permuted(given)
        self._solve_many(y)
        return self._unordered(y)

    solve_transposed = solve

    def motion(self, r: FloatArray) -> Motion:
        """The motion A⁻¹ r (n, 3), to which row forces can be added; the second half of its solve waits for them."""
        if self.symbolic.halves is not None or self._block != 3:
            return SolvedMotion(self, self.solve(r))
        return HalfSolvedMotion(self, r)

    def half_solve(self, rhs: Any) -> FloatArray:
        """L⁻¹ P rhs in elimination order, shape (unknowns,) or (unknowns, m); rhsᵀ A⁻¹ rhs is its Gram matrix."""
        given = self.checked_rhs(rhs)
        vector = given.size == self.size
        y = self._permuted(given.reshape(self.size, 1) if vector else given)
        if y.size == 0:
            return y[:, 0] if vector else y
        with one_blas_thread():
            given_to = self.symbolic.fronts, blas(), self._block, self.panels, y, self._rows(y.shape[1])
            substitution.forward(*given_to, 0, len(self.symbolic.fronts.parent))
        return y[:, 0] if vector else y

    def _unordered(self, y: FloatArray) -> FloatArray:
        """Y (unknowns, m), in elimination order, in the caller's numbering: (n b, m), zero where nothing is unknown."""
        x = np.zeros((self.size, y.shape[1]))
        nodal = (-1, self._block, y.shape[1])
        x.reshape(nodal)[self.symbolic.nodes] = y.reshape(nodal)
        return x

    def compliance(self, H: Any) -> FloatArray:
        """W = H A⁻¹ Hᵀ, shape (m, m), exactly symmetric, for H sparse of shape (m, n b).

        Only the part of the elimination tree that each row reaches is visited. Where the rows outnumber the columns
        they touch (many contacts on few nodes) A⁻¹ is formed on those columns first: W = H′ (S A⁻¹ Sᵀ) H′ᵀ.
        """
        ptr, columns, values = csr_parts(H, self.size)
        touched, local = touched_columns(columns, self.size)
        with one_blas_thread():
            if len(touched) > _FEW * (len(ptr) - 1):
                return self._compliance(ptr, columns, values)
            alone = np.arange(len(touched) + 1, dtype=np.int32), touched, np.ones(len(touched))
            inner = self._compliance(*(frozen(array) for array in alone))
        return sandwich(ptr, local, values, inner)

    def condense(
        self, H: Any, W: FloatArray, y: FloatArray, delta: FloatArray, *, alone: bool, few: float = _FEW
    ) -> bool:
        """Add H A⁻¹ Hᵀ to W (m, m), which is zero before where `alone`, and H A⁻¹ r to `delta` (m,) for y = L⁻¹ r,
        unless y is empty. H is given as (indptr, indices, data) of CSR, read-only. False where its rows touch so `few`
        columns that `compliance` is faster.
        """
        symbolic = self.symbolic
        with one_blas_thread():
            added: bool = compliance.condense(
                symbolic.layout, blas_arrays(), self._block, symbolic.position, self.panels, *H, few, alone, W, y, delta
            )
        return added

    def _factorize(self, values: FloatArray) -> None:
        symbolic = self.symbolic
        if symbolic.halves is None:
            given = symbolic.layout, blas_arrays(), values, symbolic.pattern.diagonal, symbolic.nodes, PIVOT_TOLERANCE
            with one_blas_thread():
                failed = multifrontal.factorize_all(*given, *self.storage)
        else:
            failed = self._factorize_halves(values, symbolic.halves)
        if failed >= 0:
            self._raise_singular(failed, values)

    def _factorize_halves(self, values: FloatArray, halves: Halves) -> int:
        """`_factorize` by subtrees that two threads may take, and fronts that they divide."""
        symbolic, updates = self.symbolic, self._updates
        fronts, b = symbolic.fronts, self._block
        scale = np.empty(symbolic.unknown_count)
        multifrontal.diagonal_scale(values, symbolic.pattern.diagonal, symbolic.nodes, scale)

        def eliminate(first: int, last: int, workspace: FloatArray, out: FloatArray) -> int:
            given = fronts, blas(), values, scale, PIVOT_TOLERANCE, self.panels, workspace
            return int(multifrontal.factorize(*given, first, last, out))

        def divide(s: int, update: Callable[[int], FloatArray]) -> int:
            front = DividedFront(fronts, symbolic.layout, b, s, update)
            return front.eliminate(values, self.panels, scale, PIVOT_TOLERANCE)

        with one_blas_thread():
            if threads_allowed() < 2:
                own, none = self._workspace, np.empty(0)
                return eliminate_in_order(
                    len(fronts.parent), halves,
                    lambda first, last: eliminate(first, last, own, none),
                    lambda s: divide(s, updates.within(own)),
                )  # fmt: skip
            if self._beyond is None:
                self._beyond = np.empty(symbolic.workspace)
            both = self._workspace, self._beyond
            return eliminate_halves(
                halves,
                lambda thread, first, root: eliminate(first, root + 1, both[thread], updates.of(root)),
                lambda s: divide(s, updates.of),
            )

    def _raise_singular(self, failed: int, values: FloatArray) -> None:
        """Say why the pivot of unknown `failed` (in elimination order) is not positive."""
        pattern, b = self.symbolic.pattern, self._block
        if not np.isfinite(values).all():
            q = int(np.argwhere(~np.isfinite(values))[0, 0])
            i = int(np.searchsorted(pattern.indptr, q, side="right")) - 1
            raise InputError(
                f"the matrix is not finite in the block of nodes {i} and {int(pattern.indices[q])}; "
                "look for NaN in the state, or an element that is turned inside out or has no volume"
            )
        node, component = int(self.symbolic.nodes[failed // b]), failed % b
        raise SingularError(
            f"the matrix is not positive definite at node {node}, component {component}: "
            "a part is free to move without force, or is compressed beyond its stability. "
            "Clamp the body, give it mass or damping, or take a smaller step",
            row=node * b + component,
        )

    def _checked_values(self, values: FloatArray) -> FloatArray:
        shape = self.symbolic.blocks_shape
        array = np.ascontiguousarray(values, np.float64)
        if array.shape != shape:
            raise InputError(f"values must have shape {shape}, got {array.shape}")
        return array

    def checked_rhs(self, rhs: Any) -> FloatArray:
        """`rhs` as floats, of shape (n b,), (n, b) or (n b, m)."""
        given = np.ascontiguousarray(rhs, np.float64)
        nodes = (self.symbolic.pattern.node_count, self._block)
        if given.shape != nodes and (given.ndim not in (1, 2) or given.shape[0] != self.size):
            raise InputError(f"rhs must have shape ({self.size},), {nodes} or ({self.size}, m), got {given.shape}")
        return given

    def _rows(self, m: int) -> FloatArray:
        return np.empty((self.symbolic.tallest_front, m))

    def _permuted(self, x: FloatArray) -> FloatArray:
        m = x.shape[1]
        picked = x.reshape(self.symbolic.pattern.node_count, self._block, m)[self.symbolic.nodes]
        return np.ascontiguousarray(picked).reshape(self.symbolic.unknown_count, m)

    def _solve_one(self, rhs: FloatArray, x: FloatArray) -> None:
        """Set x to A⁻¹ rhs."""
        symbolic, nodes = self.symbolic, self.symbolic.nodes
        if symbolic.halves is not None:
            y = rhs.reshape(-1, self._block)[nodes].reshape(-1)
            self._solve_halves(y)
            x.reshape(-1, self._block)[nodes] = y.reshape(-1, self._block)
            return
        substitution.solve_one(symbolic.layout, self._block, nodes, self.panels, rhs, x)

    def _solve_many(self, y: FloatArray) -> None:
        """Turn y (unknowns, m), in elimination order, into A⁻¹ y."""
        fronts = self.symbolic.fronts

        def substitute(own: FloatArray, first: int, last: int, forward: bool) -> None:
            kernel = substitution.forward if forward else substitution.backward
            kernel(fronts, blas(), self._block, self.panels, own, self._rows(y.shape[1]), first, last)

        with one_blas_thread():
            if self.symbolic.halves is not None:
                substitute_halves(fronts, self.symbolic.halves, self._block, y, substitute)
                return
            substitute(y, 0, len(fronts.parent), True)
            substitute(y, 0, len(fronts.parent), False)

    def _solve_halves(self, y: FloatArray) -> None:
        """Turn y (unknowns,), in elimination order, into A⁻¹ y, by halves."""
        fronts, halves, tallest = self.symbolic.fronts, self.symbolic.halves, self.symbolic.tallest_front

        def substitute(own: FloatArray, first: int, last: int, forward: bool) -> None:
            kernel = substitution.solve_down if forward else substitution.solve_up
            kernel(fronts, self._block, self.panels, own, np.empty(tallest), first, last)

        assert halves is not None
        substitute_halves(fronts, halves, self._block, y, substitute)

    def _compliance(self, ptr: Any, columns: Any, values: FloatArray) -> FloatArray:
        symbolic, b = self.symbolic, self._block
        fronts, halves = symbolic.fronts, symbolic.halves
        W = np.zeros((len(ptr) - 1, len(ptr) - 1))
        if halves is None:
            self.condense((ptr, columns, values), W, np.empty(0), np.empty(0), alone=True, few=0.0)
            return W
        reach = compliance.find_reach(fronts, b, symbolic.position, ptr.copy(), columns)

        def update(s: int) -> slice:
            width = int(reach.active_ptr[s + 1] - reach.active_ptr[s])
            at, below = int(reach.offset[s]), b * int(fronts.row_ptr[s + 1] - fronts.row_ptr[s])
            return slice(at, at + width * below)

        def some(into: FloatArray, workspace: FloatArray, first: int, last: int) -> None:
            given = fronts, blas(), b, symbolic.position, self.panels, reach, columns, values
            compliance.condense_range(*given, workspace, into, first, last, np.empty(0), np.empty(0))

        condense_halves(fronts, halves, int(reach.sizes[0]), W, update, some)
        mirror(W)
        return W
