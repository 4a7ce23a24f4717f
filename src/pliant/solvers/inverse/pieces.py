"""One piece of the problem: which contacts touch is fixed, so contact forces follow from x and a small QP remains.

On a piece the touching contacts have w = 0 and the open ones y = 0, so with B the independent touching contacts

    y_B = −W_BB⁻¹ (C_B x + W_BX y_X + c_B) = Y (x, y_X, 1),

the reduced formulation of Coevoet, Escande and Duriez ("Optimization-based inverse model of soft robots with contact
handling", IEEE RA-L 2017, eq. 14 and 15, there with δ_a and δ_e printed for δ_c), by the Cholesky factor of `factor`.
X are the contact forces that stay variables: those of redundant contacts, which depend on B and whose w = 0 becomes a
row, and in relaxations those of undecided contacts, for which only y ≥ 0 and w ≥ 0 are asked.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.core.types import BoolArray, FloatArray, IndexArray
from pliant.solvers.inverse.factor import append_row, delete_row
from pliant.solvers.inverse.problem import ScaledProblem
from pliant.solvers.inverse.programs import (
    BASE,
    DEPENDENT,
    EMPTY,
    OPEN,
    UNDECIDED,
    UNSOLVED,
    VIOLATION,
    enter_contacts,
    piece_minimum,
    recover_point,
    touching_forces,
)
from pliant.solvers.inverse.quadratic import INFEASIBLE, SOLVED, solve_scaled

_GRADIENT = 1e-8  # largest gradient left at a minimum, for scaled problems
_HOLDS = 1e-12  # how far below zero rounding may bring y and w
_REFRESH = 40  # updates of a factor before it is made anew


@dataclass(eq=False, slots=True)
class PiecePoint:
    """The minimum on a piece, scaled: x (na,), y and w (nc,), the cost, and the multipliers nu of y, mu of w (nc,)."""

    x: FloatArray
    y: FloatArray
    w: FloatArray
    cost: float
    nu: FloatArray
    mu: FloatArray
    active: BoolArray


def _stationary(H: FloatArray, f: FloatArray, A: FloatArray, z: FloatArray, duals: FloatArray) -> bool:
    """Whether the multipliers balance the gradient: flat costs can deceive daqp, and its answer is used as a bound."""
    n = len(f)
    rest = H @ z + f + duals[:n] + duals[n:] @ A
    return bool(np.abs(rest).max() <= _GRADIENT * (1.0 + np.abs(f).max()))


class Piece:
    """The current piece of a scaled problem, moved from one to the next by `flip`.

    Where W is not symmetric every touching force stays a variable.
    """

    def __init__(self, problem: ScaledProblem) -> None:
        na, nc = problem.na, problem.nc
        self.problem = problem
        self.reduced = problem.symmetric
        self.failed = False
        """Whether a QP ended without an answer: then nothing can be proved by the absence of a better point."""
        self.active: BoolArray = np.zeros(nc, np.bool_)
        self._state = np.empty((nc + na + 1, nc))
        self._marks: IndexArray = np.zeros((2, nc), np.int64)
        self.kind = self._marks[0]
        self._k = 0
        self._extra: IndexArray = np.zeros(0, np.int64)
        self._updates = 0
        self._programs: dict[int, tuple[Any, ...]] = {}

    def set(self, active: BoolArray, undecided: Iterable[int] = ()) -> None:
        """Move to the piece where exactly `active` (nc,) touch; `undecided` contacts are neither open nor touching."""
        self.active = active.copy()
        if self.reduced:
            self._k = enter_contacts(self.problem.rows, self._state, self._marks, self.active)
        else:
            self.kind[:] = np.where(self.active, DEPENDENT, OPEN)
        for i in undecided:
            self.kind[i] = UNDECIDED
        self._extra = (self.kind >= DEPENDENT).nonzero()[0]
        self._updates = 0

    def flip(self, i: int) -> None:
        """Open contact i where it touches, close it where it is open."""
        self._updates += 1
        if not self.reduced or self._updates > _REFRESH:
            active = self.active.copy()
            active[i] = not active[i]
            self.set(active)
            return
        self.active[i] = not self.active[i]
        if self.active[i]:
            self._enter(i)
        elif self.kind[i] == DEPENDENT:
            self.kind[i] = OPEN
        else:
            delete_row(self._state, self._marks[1], self._k, i)
            self._k -= 1
            self.kind[i] = OPEN
            for j in self._extra:
                self._enter(int(j))
        if len(self._extra) or self.kind[i] == DEPENDENT:
            self._extra = (self.kind >= DEPENDENT).nonzero()[0]

    def _enter(self, i: int) -> None:
        independent = append_row(self.problem.rows, self._state, self._marks[1], self._k, i)
        self._k += int(independent)
        self.kind[i] = BASE if independent else DEPENDENT

    def holds(self, active: BoolArray, gaps: FloatArray) -> bool:
        """Whether contacts with these `gaps` (nc,) without contact forces touch exactly where `active` says.

        The piece is moved to `active`.
        """
        self.set(active)
        if len(self._extra):
            return False
        least = touching_forces(self.problem.rows, self._state, self._marks, self._k, gaps, np.empty(len(gaps)))
        return bool(least >= -_HOLDS)

    def minimum(self) -> PiecePoint | None:
        """The minimum on this piece, None where the piece is empty under the limits (or `failed` is set)."""
        p, state, marks, k, extra = self.problem, self._state, self._marks, self._k, self._extra
        table, limits, sense, Y = program = self._programs.get(len(extra)) or self._program(len(extra))
        z: FloatArray = np.empty(table.shape[1])
        duals: FloatArray = np.empty(len(sense))
        contacts = np.empty((6, len(self.active)))
        answer, cost, violation = piece_minimum(
            p.rows, p.G, p.bounds, state, marks, k, extra, table, limits, sense, Y, z, duals, contacts
        )
        if answer == EMPTY:
            return None
        if answer == UNSOLVED:
            solved = self._by_daqp(*program[:3])
            if solved is None:
                return None
            z, duals = solved
            cost, violation = recover_point(p.rows, p.G, state, marks, k, extra, table, limits, z, duals, contacts)
        if violation > VIOLATION:
            self.failed = True
            return None
        return PiecePoint(z[: p.na], contacts[0], contacts[1], cost, contacts[2], contacts[3], self.active.copy())

    def _by_daqp(self, table: FloatArray, limits: FloatArray, sense: Any) -> tuple[FloatArray, FloatArray] | None:
        """Variables and multipliers of the QP that `piece_minimum` wrote down; None where it has no point, or none was
        found, which sets `failed`.
        """
        n = table.shape[1]
        H, A, f = table[:n], table[n:-1], table[-1]
        z, duals, flag, _ = solve_scaled(H, f, A, limits[0], limits[1], sense)
        if flag != SOLVED:
            self.failed = self.failed or flag != INFEASIBLE
            return None
        if len(self._extra) and not _stationary(H, f, A, z, duals):
            self.failed = True
            return None
        return z, duals

    def _program(self, extra: int) -> tuple[Any, ...]:
        """The arrays of the QP with `extra` contact forces as variables, as the kernels see them."""
        nc, n, m = len(self.active), self.problem.na + extra, len(self.problem.rows) - len(self.problem.E)
        program = np.empty((n + m + 1, n)), np.empty((2, n + m)), np.zeros(n + m, np.int32), np.empty((n + 2, nc))
        self._programs[extra] = program
        return program
