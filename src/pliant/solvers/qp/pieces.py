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
from pliant.solvers.qp.problem import ScaledProblem
from pliant.solvers.qp.programs import (
    BASE,
    DEPENDENT,
    OPEN,
    UNDECIDED,
    VIOLATION,
    enter_contact,
    enter_contacts,
    leave_contact,
    packed,
    recover_point,
    reduced_program,
    sizes,
    touching_forces,
)
from pliant.solvers.qp.quadratic import solve_scaled

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


class Piece:
    """The current piece of a scaled problem, moved from one to the next by `flip`.

    `reduced=False` keeps every touching force as a variable, which also serves an unsymmetric W; `updated=False` makes
    the factor anew at each flip.
    """

    def __init__(self, problem: ScaledProblem, *, reduced: bool = True, updated: bool = True) -> None:
        na, nc = problem.na, problem.nc
        self.problem = problem
        self.reduced = reduced and problem.symmetric
        self.updated = updated
        self.failed = False
        """Whether a QP ended without an answer: then nothing can be proved by the absence of a better point."""
        self.active: BoolArray = np.zeros(nc, np.bool_)
        self.kind: IndexArray = np.zeros(nc, np.int64)
        self._given, self._shape = packed(problem), sizes(problem)
        self._state = np.empty(nc * nc + (na + 1) * nc)
        self._base: IndexArray = np.zeros(nc, np.int64)
        self._k = 0
        self._extra: IndexArray = np.zeros(0, np.int64)
        self._updates = 0
        self._programs: dict[int, tuple[Any, ...]] = {}

    def set(self, active: BoolArray, undecided: Iterable[int] = ()) -> None:
        """Move to the piece where exactly `active` (nc,) touch; `undecided` contacts are neither open nor touching."""
        self.active = active.copy()
        if self.reduced:
            self._k = enter_contacts(self._given, self._shape, self._state, self._base, self.active, self.kind)
        else:
            self.kind[:] = np.where(self.active, DEPENDENT, OPEN)
        for i in undecided:
            self.kind[i] = UNDECIDED
        self._extra = (self.kind >= DEPENDENT).nonzero()[0]
        self._updates = 0

    def flip(self, i: int) -> None:
        """Open contact i where it touches, close it where it is open."""
        self._updates += 1
        if not self.reduced or not self.updated or self._updates > _REFRESH:
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
            leave_contact(self._shape, self._state, self._base, self._k, i)
            self._k -= 1
            self.kind[i] = OPEN
            for j in self._extra:
                self._enter(int(j))
        if len(self._extra) or self.kind[i] == DEPENDENT:
            self._extra = (self.kind >= DEPENDENT).nonzero()[0]

    def _enter(self, i: int) -> None:
        independent = enter_contact(self._given, self._shape, self._state, self._base, self._k, i)
        self._k += int(independent)
        self.kind[i] = BASE if independent else DEPENDENT

    def holds(self, active: BoolArray, gaps: FloatArray) -> bool:
        """Whether contacts with these `gaps` (nc,) without contact forces touch exactly where `active` says.

        The piece is moved to `active`.
        """
        self.set(active)
        if len(self._extra):
            return False
        y = np.zeros(len(gaps))
        least = touching_forces(self._given, self._shape, self._state, self._base, self._k, gaps, y)
        return bool(least >= -_HOLDS)

    def minimum(self) -> PiecePoint | None:
        """The minimum on this piece, None where the piece is empty under the limits (or `failed` is set)."""
        shape, state, base, k, kind, extra = self._shape, self._state, self._base, self._k, self.kind, self._extra
        H, f, A, lower, upper, sense, out = self._programs.get(len(extra)) or self._program(len(extra))
        if not reduced_program(self._given, shape, state, base, k, kind, extra, out, sense):
            return None
        z, duals, flag, _ = solve_scaled(H, f, A, lower, upper, sense)
        if flag != 1:
            self.failed = self.failed or flag != -1
            return None
        contacts = np.empty((5, shape[1]))
        cost, violation = recover_point(self._given, shape, state, base, k, kind, extra, out, z, duals, contacts)
        if violation > VIOLATION:
            self.failed = True
            return None
        return PiecePoint(z[: shape[0]], contacts[0], contacts[1], cost, contacts[2], contacts[3], self.active.copy())

    def _program(self, extra: int) -> tuple[Any, ...]:
        """The arrays of the QP with `extra` contact forces as variables, views of one buffer; made once."""
        na, nc, _, nr = self._shape
        n, m = na + extra, nc + nr
        ends = np.cumsum([n * n, n, m * n, n + m, n + m])
        out = np.empty(ends[-1] + (n + 1) * nc)
        H, f, A, lower, upper, _ = np.split(out, ends)
        program = (H.reshape(n, n), f, A.reshape(m, n), lower, upper, np.zeros(n + m, np.int32), out)
        self._programs[extra] = program
        return program
