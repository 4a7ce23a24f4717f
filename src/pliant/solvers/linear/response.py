"""How a body moves under given forces and those of rows."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isfinite, sqrt
from typing import Any

import numpy as np

from pliant.core.arrays import add_product, csr, frozen, transposed_product
from pliant.core.checks import all_finite
from pliant.core.kernels import kernel
from pliant.core.types import FloatArray, IndexArray, IntArray

Solved = tuple[FloatArray, float, float]
"""The motion dx of a body, ‖A dx − r − Hᵀλ‖², not finite where dx is not, and ‖r‖² + ‖Hᵀλ‖² over the free DoFs."""


class RowMotion:
    """The motion of a body under its forces r and those of rows, as condensed: dx = A⁻¹ (r + Hᵀ λ). `motion` is that
    without the latter.
    """

    motion: Motion

    def under(self, lam: FloatArray) -> FloatArray:
        """Dx of row forces λ (rows,), of the shape of r."""
        raise NotImplementedError

    def solved(self, system: Any, H: Any, lam: FloatArray) -> Solved:
        """Dx of row forces λ (rows,) of all rows H, and how far it is from solving the `system`."""
        return self.motion.checked(system, self.under(lam), H, lam)


class Motion:
    """The motion dx = A⁻¹ r of a body without row forces, m (and rad). `finite` tells whether all of it is."""

    finite: bool

    @property
    def dx(self) -> FloatArray:
        """A⁻¹ r, of the shape of r."""
        raise NotImplementedError

    def condense(self, H: Any, W: FloatArray, delta: FloatArray, *, alone: bool = False) -> RowMotion:
        """Add H A⁻¹ Hᵀ to W (m, m) and H dx to `delta` (m,); what the forces of the rows H add to the motion. `alone`
        says that W is zero before.
        """
        add_product(H, self.dx, delta)
        touching, rows = touching_rows(H)
        if rows is None:
            W += self.compliance(H)
        else:
            add_block(rows, frozen(np.ascontiguousarray(self.compliance(touching))), W)
        return SolvedRows(self, touching, rows)

    def error_squares(self, system: Any, dx: FloatArray, H: Any, lam: FloatArray) -> tuple[float, float]:
        """‖A dx − r − Hᵀλ‖² and ‖r‖² + ‖Hᵀλ‖² over the free DoFs, for the motion `dx` under forces λ of rows H (None
        where there are none). Of λ = 0 where the motion without them was solved first.
        """
        raise NotImplementedError

    def checked(self, system: Any, dx: FloatArray, H: Any, lam: FloatArray) -> Solved:
        """`dx` with its `error_squares`."""
        error, total = self.error_squares(system, dx, H, lam)
        return dx, error if all_finite(dx) else inf, total

    def displaced(self, dx: FloatArray) -> Motion:
        """The motion `dx` in place of this one, with the same response to row forces."""
        raise NotImplementedError

    def compliance(self, H: Any) -> FloatArray:
        """H A⁻¹ Hᵀ, (m, m)."""
        raise NotImplementedError

    def response(self, H: Any, lam: FloatArray) -> FloatArray:
        """A⁻¹ Hᵀ λ, of the shape of dx."""
        raise NotImplementedError


class SolvedMotion(Motion):
    """A⁻¹ r of `factor`, `solved` (of the shape of r), or a motion `dx` that was made from it."""

    def __init__(self, factor: Any, solved: FloatArray, dx: FloatArray | None = None) -> None:
        self._factor, self._solved = factor, solved
        self._dx = solved if dx is None else dx
        self.finite = all_finite(solved)

    @property
    def dx(self) -> FloatArray:
        """The motion, of the shape of r."""
        return self._dx

    def displaced(self, dx: FloatArray) -> SolvedMotion:
        """The motion `dx` in place of this one, with the same response to row forces."""
        return type(self)(self._factor, self._solved, dx)

    def error_squares(self, system: Any, dx: FloatArray, H: Any, lam: FloatArray) -> tuple[float, float]:
        """‖A dx − r‖² and ‖r‖² of the motion without row forces."""
        found: tuple[float, float] = system.error_of(self._solved)
        return found

    def compliance(self, H: Any) -> FloatArray:
        """H A⁻¹ Hᵀ, (m, m)."""
        made: FloatArray = self._factor.compliance(H)
        return made

    def response(self, H: Any, lam: FloatArray) -> FloatArray:
        """A⁻¹ Hᵀ λ, of the shape of dx."""
        made: FloatArray = self._factor.response(H, lam)
        return made.reshape(self._dx.shape)


class SolvedRows(RowMotion):
    """A known motion dx, to which the response to row forces is added."""

    def __init__(self, motion: Motion, H: Any, rows: IndexArray | None) -> None:
        self.motion, self._H, self._rows = motion, H, rows

    def under(self, lam: FloatArray) -> FloatArray:
        """Dx + A⁻¹ Hᵀ λ."""
        lam = lam if self._rows is None else lam[self._rows]
        if not np.count_nonzero(lam):  # faster than `any`
            return self.motion.dx
        return self.motion.dx + self.motion.response(self._H, lam)


def linear_residual(solved: Sequence[Solved]) -> float:
    """‖A dx − r − Hᵀλ‖ / ‖(r, Hᵀλ)‖ over the free DoFs of all bodies; of λ = 0 where a body was solved so first. Not
    finite where a dx is not.
    """
    error = total = 0.0
    for _, rest, size in solved:
        error += rest
        total += size
    if not isfinite(error):
        return inf
    return sqrt(error / total) if total else 0.0


def touching_rows(H: Any) -> tuple[Any, IndexArray | None]:
    """The rows of H that are not empty, and their indices (k,); None where all are."""
    count = H.shape[0]
    rows, starts = np.empty(count, np.int64), np.empty(count + 1, H.indptr.dtype)
    filled = _find_filled(frozen(H.indptr), rows, starts)
    if filled == count:
        return H, None
    return csr(H.data, H.indices, starts[: filled + 1], (filled, H.shape[1])), rows[:filled]


@kernel
def _find_filled(indptr: IntArray, rows: IndexArray, starts: IntArray) -> int:
    """Fill `rows` with those that are not empty and `starts` with where they begin; return their count."""
    count = 0
    for i in range(len(indptr) - 1):
        if indptr[i + 1] > indptr[i]:
            rows[count], starts[count] = i, indptr[i]
            count += 1
            starts[count] = indptr[i + 1]  # rows between them are empty
    return count


@kernel
def add_block(rows: IndexArray, block: FloatArray, W: FloatArray) -> None:
    """W[rows, rows] += block."""
    for i in range(len(rows)):
        for j in range(len(rows)):
            W[rows[i], rows[j]] += block[i, j]


class PickedRows(RowMotion):
    """The motion under the forces of some rows of a problem, `picked` (k,)."""

    def __init__(self, own: RowMotion, picked: IndexArray) -> None:
        self.motion, self._own, self._picked = own.motion, own, picked

    def under(self, lam: FloatArray) -> FloatArray:
        """Dx of the forces λ (rows,) of all rows."""
        return self._own.under(lam[self._picked])


class SolvedResponse:
    """A factor of A whose A⁻¹ Hᵀ λ is one more solve."""

    def solve(self, rhs: Any) -> FloatArray:
        """A⁻¹ rhs, of the shape of rhs."""
        raise NotImplementedError

    def response(self, H: Any, lam: FloatArray) -> FloatArray:
        """A⁻¹ Hᵀ λ, (unknowns,), of rows H (rows, unknowns) with forces λ (rows,)."""
        return self.solve(transposed_product(H, lam))

    def motion(self, r: FloatArray) -> Motion:
        """The motion A⁻¹ r, to which row forces can be added."""
        return SolvedMotion(self, self.solve(r))
