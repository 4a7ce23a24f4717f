"""A dx = r + Hᵀλ with A = L Lᵀ in two halves, so that the forces λ of a few rows cost no second solve.

    y = L⁻¹ r,   Y = L⁻¹ Hᵀ,     W = YᵀY,   H dx_free = Yᵀy,     dx = L⁻ᵀ (y + Y λ)

Vectors y and the rows of Yᵀ are in elimination order. Forward substitution of a row passes over supernodes in which it
is zero: those that are no ancestors of the nodes of the row in the elimination tree (`solvers.linear.compliance`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.core.arrays import frozen
from pliant.core.kernels import inline, kernel
from pliant.core.types import BoolArray, FloatArray, IndexArray, IntArray
from pliant.solvers.linear.fronts import Fronts
from pliant.solvers.linear.half_products import add_products
from pliant.solvers.linear.matrix import error_squares
from pliant.solvers.linear.panel import solve_lower, solve_lower_four
from pliant.solvers.linear.response import Motion, RowMotion, Solved, SolvedMotion
from pliant.solvers.linear.substitution import solve_down, solve_up

MOST_ROWS = 24
"""Rows up to which Y is kept; beyond, the products of `compliance`, which form W without Y, are faster."""
FOUR = 4
"""Rows that pass through the factor together: each entry of L is loaded once for them."""


class HalfSolvedMotion(Motion):
    """The motion A⁻¹ r of a body, of which y = L⁻¹ r is found together with Y = L⁻¹ Hᵀ of its rows, or where it is
    first asked for; `factor` is that of A.
    """

    def __init__(self, factor: Any, r: FloatArray) -> None:
        self._factor, self._shape, self._r = factor, r.shape, r.reshape(-1)
        self._found: FloatArray | None = None
        self._squares = np.nan
        self._known: FloatArray | None = None

    @property
    def finite(self) -> bool:  # type: ignore[override]
        """Whether all of y is."""
        return self._half_squares() < np.inf

    @property
    def _y(self) -> FloatArray:
        self._half_squares()
        assert self._found is not None
        return self._found

    def _half_squares(self) -> float:
        """‖y‖²; y is found where it is not yet known."""
        if self._found is None:
            factor, symbolic = self._factor, self._factor.symbolic
            self._found = y = np.empty(symbolic.unknown_count)
            given = symbolic.layout, symbolic.pattern.block, symbolic.nodes, factor.panels
            self._squares = forward_one(*given, self._r, y)
        return self._squares

    @property
    def dx(self) -> FloatArray:
        """A⁻¹ r, of the shape of r."""
        if self._known is None:
            self._known = self.under(_NO_ROWS, _NO_FORCES)
        return self._known

    def condense(self, H: Any, W: FloatArray, delta: FloatArray, *, alone: bool = False) -> RowMotion:
        """Add H A⁻¹ Hᵀ to W (m, m) and H A⁻¹ r to `delta` (m,); what the forces of the rows add to the motion."""
        count = len(delta)
        factor, symbolic = self._factor, self._factor.symbolic
        entries = frozen(H.indptr), frozen(H.indices), frozen(H.data)
        if count > MOST_ROWS:
            if factor.condense(entries, W, self._y, delta, alone=alone):
                return ManyRows(self, entries)
            return super().condense(H, W, delta)
        fresh, y = self._found is None, self._found
        if y is None:
            y = self._found = np.empty(symbolic.unknown_count)
        total = count + fresh
        Y = np.empty((total if total % FOUR == 1 else FOUR * ((total + FOUR - 1) // FOUR), len(y)))
        pattern = symbolic.layout, symbolic.pattern.block, symbolic.position, symbolic.nodes
        squares = forward_rows(*pattern, factor.panels, *entries, frozen(self._r), fresh, y, Y, W, delta)
        if fresh:
            self._squares = squares
        return HalfSolvedRows(self, Y, entries)

    def under(self, Y: FloatArray, lam: FloatArray) -> FloatArray:
        """L⁻ᵀ (y + Σ λᵢ Yᵢ), of the shape of r."""
        x = np.zeros(self._shape)
        backward(*self._known_half(), Y, lam, x.reshape(-1))
        return x

    def under_rows(self, H: tuple[IntArray, IntArray, FloatArray], lam: FloatArray) -> FloatArray:
        """A⁻¹ (r + Hᵀ λ) of rows H in CSR, of the shape of r."""
        factor, symbolic = self._factor, self._factor.symbolic
        x = np.zeros(self._shape)
        given = symbolic.layout, symbolic.pattern.block, symbolic.position, symbolic.nodes, factor.panels
        solve_rows(*given, *H, lam, self._y, x.reshape(-1))
        return x

    def solved(self, Y: FloatArray, system: Any, entries: tuple[Any, ...], lam: FloatArray) -> Solved:
        """The same, and how far it is from solving the `system` with the forces of rows of these `entries`, in one
        call.
        """
        x, A = np.zeros(self._shape), system.equation(entries)
        error, total = backward_with_error(*self._known_half(), Y, *A, frozen(lam), x.reshape(-1))
        return x, error, total

    def _known_half(self) -> tuple[Any, ...]:
        """The factor and y, as kernels take them."""
        symbolic = self._factor.symbolic
        return symbolic.layout, symbolic.pattern.block, symbolic.nodes, self._factor.panels, self._y

    def error_squares(self, system: Any, dx: FloatArray, H: Any, lam: FloatArray) -> tuple[float, float]:
        """‖A dx − r − Hᵀλ‖² and ‖r‖² + ‖Hᵀλ‖² over the free DoFs."""
        found: tuple[float, float] = system.error_squares(dx, H, lam)
        return found

    def displaced(self, dx: FloatArray) -> SolvedMotion:
        """The motion `dx` in place of this one, with the same response to row forces."""
        return SolvedMotion(self._factor, self.dx, dx)

    def response(self, H: Any, lam: FloatArray) -> FloatArray:
        """A⁻¹ Hᵀ λ, of the shape of dx."""
        made: FloatArray = self._factor.response(H, lam)
        return made.reshape(self._shape)

    def compliance(self, H: Any) -> FloatArray:
        """H A⁻¹ Hᵀ, (m, m)."""
        made: FloatArray = self._factor.compliance(H)
        return made


class HalfSolvedRows(RowMotion):
    """The motion of a body under its rows, of which Y = L⁻¹ Hᵀ is known."""

    def __init__(self, motion: HalfSolvedMotion, Y: FloatArray, entries: tuple[Any, ...]) -> None:
        self.motion: HalfSolvedMotion = motion
        self._Y, self._entries = Y, entries

    def under(self, lam: FloatArray) -> FloatArray:
        """A⁻¹ (r + Hᵀ λ)."""
        return self.motion.under(self._Y, frozen(lam))

    def solved(self, system: Any, H: Any, lam: FloatArray) -> Solved:
        """Dx of row forces λ (rows,) of all rows H, and how far it is from solving the `system`."""
        return self.motion.solved(self._Y, system, self._entries, lam)


class ManyRows(RowMotion):
    """The motion of a body under rows H in CSR, too many to keep Y = L⁻¹ Hᵀ: their forces pass through L once more."""

    motion: HalfSolvedMotion

    def __init__(self, motion: HalfSolvedMotion, H: tuple[IntArray, IntArray, FloatArray]) -> None:
        self.motion, self._H = motion, H

    def under(self, lam: FloatArray) -> FloatArray:
        """A⁻¹ (r + Hᵀ λ)."""
        return self.motion.under_rows(self._H, frozen(lam))


_NO_ROWS: FloatArray = np.zeros((1, 0))
_NO_FORCES: FloatArray = frozen(np.zeros(0))


@kernel
def forward_one(layout: Any, b: int, nodes: IntArray, panels: FloatArray, rhs: FloatArray, y: FloatArray) -> float:
    """Y := L⁻¹ rhs, rhs in the caller's numbering; returns ‖y‖²."""
    fronts = Fronts(*layout)
    for j in range(len(nodes)):
        for r in range(b):
            y[b * j + r] = rhs[b * nodes[j] + r]
    solve_down(fronts, b, panels, y, np.empty(len(y)), 0, len(fronts.parent))
    squares = 0.0
    for i in range(len(y)):
        squares += y[i] * y[i]
    return squares


@kernel
def backward(
    layout: Any, b: int, nodes: IntArray, panels: FloatArray, y: FloatArray, Y: FloatArray, lam: FloatArray,
    x: FloatArray,
) -> None:  # fmt: skip
    """X := L⁻ᵀ (y + Σ λᵢ Yᵢ), x in the caller's numbering and zero where a node is not an unknown."""
    fronts = Fronts(*layout)
    z = y.copy()
    for i in range(len(lam)):
        if lam[i] != 0.0:
            row = Y[i]
            for j in range(len(z)):
                z[j] += lam[i] * row[j]
    solve_up(fronts, b, panels, z, np.empty(len(y)), 0, len(fronts.parent))
    for j in range(len(nodes)):
        for r in range(b):
            x[b * nodes[j] + r] = z[b * j + r]


@kernel
def solve_rows(
    layout: Any, b: int, position: IntArray, nodes: IntArray, panels: FloatArray, h_ptr: IntArray, h_columns: IntArray,
    h_values: FloatArray, lam: FloatArray, y: FloatArray, x: FloatArray,
) -> None:  # fmt: skip
    """X := L⁻ᵀ (y + L⁻¹ Hᵀ λ), x in the caller's numbering and zero where a node is not an unknown."""
    fronts = Fronts(*layout)
    z = np.zeros(len(y))
    for i in range(len(lam)):
        if lam[i] != 0.0:
            for q in range(h_ptr[i], h_ptr[i + 1]):
                node = position[h_columns[q] // b]
                if node >= 0:
                    z[b * node + h_columns[q] % b] += lam[i] * h_values[q]
    _down_one(fronts, b, panels, z)
    for j in range(len(z)):
        z[j] += y[j]
    solve_up(fronts, b, panels, z, np.empty(len(z)), 0, len(fronts.parent))
    for j in range(len(nodes)):
        for r in range(b):
            x[b * nodes[j] + r] = z[b * j + r]


@kernel
def backward_with_error(
    layout: Any, b: int, nodes: IntArray, panels: FloatArray, y: FloatArray, Y: FloatArray, indptr: IndexArray,
    indices: IntArray, values: FloatArray, fixed: BoolArray, r: FloatArray, h_ptr: IntArray, h_columns: IntArray,
    h_values: FloatArray, lam: FloatArray, x: FloatArray,
) -> tuple[float, float]:  # fmt: skip
    """`backward`, and `matrix.error_squares` of x."""
    backward(layout, b, nodes, panels, y, Y, lam, x)
    squares: tuple[float, float] = error_squares(indptr, indices, values, fixed, r, h_ptr, h_columns, h_values, lam, x)
    return squares


@kernel
def forward_rows(
    layout: Any, b: int, position: IntArray, nodes: IntArray, panels: FloatArray, h_ptr: IntArray, h_columns: IntArray,
    h_values: FloatArray, rhs: FloatArray, fresh: bool, y: FloatArray, Y: FloatArray, W: FloatArray, delta: FloatArray,
) -> float:  # fmt: skip
    """Rows of Yᵀ = (L⁻¹ Hᵀ)ᵀ into `Y`, and where `fresh` y := L⁻¹ rhs, which passes through L as one more row; those
    beyond are zero. W += YᵀY and δ += Yᵀy; returns ‖y‖² where `fresh`.
    """
    fronts = Fronts(*layout)
    rows = len(delta)
    total = rows + 1 if fresh else rows
    Y[:] = 0.0
    for i in range(rows):
        for q in range(h_ptr[i], h_ptr[i + 1]):
            node = position[h_columns[q] // b]
            if node >= 0:
                Y[i, b * node + h_columns[q] % b] += h_values[q]
    if fresh:
        for j in range(len(nodes)):
            for r in range(b):
                Y[rows, b * j + r] = rhs[b * nodes[j] + r]
    i = 0
    while i < total:
        if total - i == 1:
            _down_one(fronts, b, panels, Y[i])
        else:
            _down_four(fronts, b, panels, Y, i)
        i += FOUR
    squares = 0.0
    if fresh:
        for t in range(len(y)):
            y[t] = Y[rows, t]
            squares += y[t] * y[t]
    for i in range(rows):
        row, value = Y[i], 0.0
        for t in range(len(y)):
            value += row[t] * y[t]
        delta[i] += value
    add_products(Y, np.arange(rows), W)
    return squares


@inline
def _down_one(fronts: Fronts, b: int, panels: FloatArray, y: FloatArray) -> None:
    """Forward substitution of y over the supernodes that it reaches."""
    side = np.empty(len(y))
    for s in range(len(fronts.parent)):
        begin = b * fronts.start[s]
        k = b * fronts.start[s + 1] - begin
        reached = False
        for i in range(k):
            side[i] = y[begin + i]
            reached = reached or side[i] != 0.0
        if not reached:
            continue
        rows = fronts.row_ptr[s]
        below = fronts.row_ptr[s + 1] - rows
        height = k + b * below
        for i in range(k, height):
            side[i] = 0.0
        solve_lower(panels, fronts.panel[s], height, k, side)
        for i in range(k):
            y[begin + i] = side[i]
        for i in range(below):
            at = b * fronts.rows[rows + i]
            for r in range(b):
                y[at + r] += side[k + b * i + r]


@inline
def _down_four(fronts: Fronts, b: int, panels: FloatArray, Y: FloatArray, first: int) -> None:
    """Forward substitution of four vectors, Y (n, unknowns) from `first` on, over the supernodes that any of them
    reaches. Slices in the loop over supernodes would be counted references, which cost as much as the substitution.
    """
    count = Y.shape[1]
    s0, s1, s2, s3 = np.empty(count), np.empty(count), np.empty(count), np.empty(count)
    for s in range(len(fronts.parent)):
        begin = b * fronts.start[s]
        k = b * fronts.start[s + 1] - begin
        reached = False
        for i in range(k):
            s0[i], s1[i] = Y[first, begin + i], Y[first + 1, begin + i]
            s2[i], s3[i] = Y[first + 2, begin + i], Y[first + 3, begin + i]
            reached = reached or s0[i] != 0.0 or s1[i] != 0.0 or s2[i] != 0.0 or s3[i] != 0.0
        if not reached:
            continue
        rows = fronts.row_ptr[s]
        below = fronts.row_ptr[s + 1] - rows
        height = k + b * below
        for i in range(k, height):
            s0[i] = s1[i] = s2[i] = s3[i] = 0.0
        solve_lower_four(panels, fronts.panel[s], height, k, s0, s1, s2, s3)
        for i in range(k):
            Y[first, begin + i], Y[first + 1, begin + i] = s0[i], s1[i]
            Y[first + 2, begin + i], Y[first + 3, begin + i] = s2[i], s3[i]
        for i in range(below):
            at, side = b * fronts.rows[rows + i], k + b * i
            for r in range(b):
                Y[first, at + r] += s0[side + r]
                Y[first + 1, at + r] += s1[side + r]
                Y[first + 2, at + r] += s2[side + r]
                Y[first + 3, at + r] += s3[side + r]
