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

from pliant.core.kernels import inline, kernel
from pliant.core.types import BoolArray, FloatArray, IndexArray, IntArray
from pliant.solvers.qp.factor import append_contact, delete_contact, factorize_contacts
from pliant.solvers.qp.problem import ScaledProblem
from pliant.solvers.qp.quadratic import FREE, solve_scaled

OPEN, BASE, DEPENDENT, UNDECIDED = 0, 1, 2, 3
"""Kinds of contacts: y = 0; w = 0 and eliminated; w = 0 with y a variable; y ≥ 0 and w ≥ 0 with y a variable."""
VIOLATION = 1e-8
"""The largest violation of a scaled constraint that counts as satisfied."""
_ZERO = 1e-9  # coefficients of a redundant row below this are zero
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
        self.kind = np.zeros(nc, np.int32)
        self._L, self._V = np.zeros((nc, nc)), np.zeros((nc, na + 1))
        self._base = np.zeros(nc, np.int64)
        self._dependent = np.zeros(nc, np.bool_)
        self._k = 0
        self._extra: IndexArray = np.zeros(0, np.int64)
        self._updates = 0
        self._arrays: dict[int, tuple[Any, ...]] = {}

    def set(self, active: BoolArray, undecided: Iterable[int] = ()) -> None:
        """Move to the piece where exactly `active` (nc,) touch; `undecided` contacts are neither open nor touching."""
        p = self.problem
        self.active = active.copy()
        if self.reduced:
            self._k = factorize_contacts(p.W, p.Q, self._L, self._V, self._base, self.active, self._dependent)
            self.kind[:] = self.active
            self.kind[self._dependent] = DEPENDENT
        else:
            self.kind[:] = np.where(self.active, DEPENDENT, OPEN)
        for i in undecided:
            self.kind[i] = UNDECIDED
        self._extra = np.flatnonzero(self.kind >= DEPENDENT)
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
            delete_contact(self._L, self._V, self._base, self._k, i)
            self._k -= 1
            self.kind[i] = OPEN
            for j in self._extra:
                self._enter(int(j))
        if len(self._extra) or self.kind[i] == DEPENDENT:
            self._extra = np.flatnonzero(self.kind >= DEPENDENT)

    def _enter(self, i: int) -> None:
        p = self.problem
        independent = append_contact(p.W, p.Q, self._L, self._V, self._base, self._k, i)
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
        return bool(touching_forces(self.problem.W, self._base, self._k, self._L, gaps, y) >= -_HOLDS)

    def minimum(self) -> PiecePoint | None:
        """The minimum on this piece, None where the piece is empty under the limits (or `failed` is set)."""
        p = self.problem
        extra = self._extra
        H, f, A, lower, upper, sense, Y, point = self._workspace(len(extra))
        if not reduced_program(
            p.E, p.Ec, p.G, p.R, p.Rc, p.Q, p.W, p.lower, p.upper, self.kind, self._base, self._k, self._L, self._V,
            extra, H, f, A, lower, upper, sense, Y,
        ):  # fmt: skip
            return None
        z, duals, flag, _ = solve_scaled(H, f, A, lower, upper, sense)
        if flag != 1:
            self.failed = self.failed or flag not in (-1, -6)
            return None
        contacts = np.empty((4, p.nc))
        y, w, nu, mu = contacts[0], contacts[1], contacts[2], contacts[3]
        cost, violation = recover_point(
            p.E, p.Ec, p.G, p.Rc, p.W, self.kind, self._base, self._k, self._L, extra, A, lower, upper, z, duals,
            y, w, nu, mu, point,
        )  # fmt: skip
        if violation > VIOLATION:
            self.failed = True
            return None
        return PiecePoint(z[: p.na], y, w, cost, nu, mu, self.active.copy())

    def _workspace(self, extra: int) -> tuple[Any, ...]:
        """Arrays of the QP with `extra` contact forces as variables, made once for each number."""
        if extra not in self._arrays:
            p = self.problem
            n, m = p.na + extra, p.nc + len(p.lower) - p.na
            self._arrays[extra] = (
                np.empty((n, n)), np.empty(n), np.empty((m, n)), np.empty(n + m), np.empty(n + m),
                np.zeros(n + m, np.int32), np.empty((p.nc, n + 1)), np.empty(p.nc),
            )  # fmt: skip
        return self._arrays[extra]


@kernel
def reduced_program(
    E: FloatArray, Ec: FloatArray, G: FloatArray, R: FloatArray, Rc: FloatArray, Q: FloatArray, W: FloatArray,
    x_lower: FloatArray, x_upper: FloatArray, kind: IntArray, base: IndexArray, k: int, L: FloatArray, V: FloatArray,
    extra: IndexArray, H: FloatArray, f: FloatArray, A: FloatArray, lower: FloatArray, upper: FloatArray,
    sense: IntArray, Y: FloatArray,
) -> bool:  # fmt: skip
    """Fill the QP in (x, y_X); False where a redundant contact shows that the piece is empty.

    Variables: x, then the forces of `extra`. Rows: one for each contact (its y where it is eliminated, else its w),
    then the limited rows. Y (k, n + 1) maps (x, y_X, 1) to y_B.
    """
    nc, na, nx = len(kind), len(G), len(extra)
    n = na + nx
    for a in range(k):  # Y = −L⁻ᵀ L⁻¹ [C_B W_BX c_B]
        for j in range(na):
            Y[a, j] = -V[a, j]
        Y[a, n] = -V[a, na]
        for j in range(nx):
            value = -W[base[a], extra[j]]
            for b in range(a):
                value -= L[a, b] * Y[b, na + j]
            Y[a, na + j] = value / L[a, a]
    for a in range(k - 1, -1, -1):
        inverse = 1.0 / L[a, a]
        for j in range(n + 1):
            Y[a, j] *= inverse
        for b in range(a):
            factor = L[a, b]
            for j in range(n + 1):
                Y[b, j] -= factor * Y[a, j]
    row = np.empty(n + 1)
    for j in range(na):
        lower[j], upper[j], sense[j] = x_lower[j], x_upper[j], 5 if x_lower[j] == x_upper[j] else 0
    for j in range(nx):
        lower[na + j], upper[na + j], sense[na + j] = 0.0, FREE, 0
    for a in range(k):
        i = base[a]
        for j in range(n):
            A[i, j] = Y[a, j]
        lower[n + i], upper[n + i], sense[n + i] = -Y[a, n], FREE, 0
    for i in range(nc):
        if kind[i] == BASE:
            continue
        for j in range(na):
            row[j] = Q[i, j]
        for j in range(nx):
            row[na + j] = W[i, extra[j]]
        row[n] = Q[i, na]
        for a in range(k):
            factor = W[i, base[a]]
            for j in range(n + 1):
                row[j] += factor * Y[a, j]
        largest = 0.0
        for j in range(n):
            if kind[i] == DEPENDENT and abs(row[j]) <= _ZERO:
                row[j] = 0.0
            largest = max(largest, abs(row[j]))
            A[i, j] = row[j]
        lower[n + i], upper[n + i], sense[n + i] = -row[n], FREE, 0
        if kind[i] == DEPENDENT:
            upper[n + i], sense[n + i] = -row[n], 5
            if largest == 0.0:
                if abs(row[n]) > VIOLATION:
                    return False
                lower[n + i], upper[n + i], sense[n + i] = -FREE, FREE, 0
        elif largest == 0.0:
            if row[n] < -VIOLATION:
                return False
            lower[n + i] = -FREE
    for i in range(len(R)):
        _mapped(R[i], Rc[i], base, k, Y, extra, row)
        largest = 0.0
        for j in range(n):
            A[nc + i, j] = row[j]
            largest = max(largest, abs(row[j]))
        low, high = x_lower[na + i], x_upper[na + i]
        if largest <= 1e-14:
            if row[n] < low - VIOLATION or row[n] > high + VIOLATION:
                return False
            low, high = -FREE, FREE
        equal = low == high
        if low > -FREE:
            low -= row[n]
        if high < FREE:
            high -= row[n]
        lower[n + nc + i], upper[n + nc + i], sense[n + nc + i] = low, low if equal else high, 5 if equal else 0
    for a in range(n):
        f[a] = 0.0
        for b in range(n):
            H[a, b] = G[a, b] if a < na and b < na else 0.0
    for i in range(len(E)):
        _mapped(E[i], Ec[i], base, k, Y, extra, row)
        for a in range(n):
            f[a] += row[a] * row[n]
            for b in range(n):
                H[a, b] += row[a] * row[b]
    return True


@kernel
def touching_forces(
    W: FloatArray, base: IndexArray, k: int, L: FloatArray, gaps: FloatArray, y: FloatArray
) -> float:  # fmt: skip
    """y (nc,) that closes the contacts of the factor; returns the least of its forces and of the gaps it leaves."""
    least = np.inf
    for a in range(k):
        value = -gaps[base[a]]
        for b in range(a):
            value -= L[a, b] * y[base[b]]
        y[base[a]] = value / L[a, a]
    for a in range(k - 1, -1, -1):
        y[base[a]] /= L[a, a]
        value = y[base[a]]
        least = min(least, value)
        for b in range(a):
            y[base[b]] -= L[a, b] * value
    for i in range(len(gaps)):
        value = gaps[i]
        inside = False
        for a in range(k):
            value += W[i, base[a]] * y[base[a]]
            inside |= base[a] == i
        if not inside:
            least = min(least, value)
    return least


@inline
def _mapped(
    given: FloatArray, by_contacts: FloatArray, base: IndexArray, k: int, Y: FloatArray, extra: IndexArray,
    row: FloatArray,
) -> None:  # fmt: skip
    """A row over (x, 1) and all contact forces as a row over (x, y_X, 1)."""
    na, nx = len(given) - 1, len(extra)
    n = na + nx
    for j in range(na):
        row[j] = given[j]
    for j in range(nx):
        row[na + j] = by_contacts[extra[j]]
    row[n] = given[na]
    for a in range(k):
        factor = by_contacts[base[a]]
        for j in range(n + 1):
            row[j] += factor * Y[a, j]


@kernel
def recover_point(
    E: FloatArray, Ec: FloatArray, G: FloatArray, Rc: FloatArray, W: FloatArray, kind: IntArray, base: IndexArray,
    k: int, L: FloatArray, extra: IndexArray, A: FloatArray, lower: FloatArray, upper: FloatArray, z: FloatArray,
    duals: FloatArray, y: FloatArray, w: FloatArray, nu: FloatArray, mu: FloatArray, t: FloatArray,
) -> tuple[float, float]:  # fmt: skip
    """Fill y, w and their multipliers from the QP's answer z; returns the cost and the largest violation.

    The multipliers satisfy E_cᵀ(E_a x + E_c y + e) + R_cᵀ rho − nu − Wᵀ mu = 0: those that the reduced QP hides follow
    from it.
    """
    nc, na, nx = len(kind), len(G), len(extra)
    n = na + nx
    violation = 0.0
    for j in range(n):
        violation = max(violation, lower[j] - z[j], z[j] - upper[j])
    for i in range(len(A)):
        value = 0.0
        for j in range(n):
            value += A[i, j] * z[j]
        violation = max(violation, lower[n + i] - value, value - upper[n + i])
        if i < nc:
            value -= lower[n + i] if lower[n + i] > -FREE else 0.0
            y[i] = w[i] = nu[i] = mu[i] = t[i] = 0.0
            if kind[i] == BASE:
                y[i], nu[i] = max(value, 0.0), -duals[n + i]
            else:
                mu[i] = -duals[n + i]
                if kind[i] != DEPENDENT:
                    w[i] = max(value, 0.0)
    for j in range(nx):
        y[extra[j]] = max(z[na + j], 0.0)
        nu[extra[j]] = -duals[na + j]
    cost = 0.0
    for i in range(len(E)):
        rest = E[i, na]
        for j in range(na):
            rest += E[i, j] * z[j]
        for j in range(nc):
            rest += Ec[i, j] * y[j]
        cost += 0.5 * rest * rest
        for j in range(nc):
            t[j] += Ec[i, j] * rest
    for i in range(na):
        for j in range(na):
            cost += 0.5 * z[i] * G[i, j] * z[j]
    for i in range(len(Rc)):
        rho = duals[n + nc + i]
        if rho != 0.0:
            for j in range(nc):
                t[j] += rho * Rc[i, j]
    for i in range(nc):
        if mu[i] != 0.0:
            for j in range(nc):
                t[j] -= mu[i] * W[i, j]
    for a in range(k):  # W_BB mu_B = t_B − nu_B by the factor
        value = t[base[a]] - nu[base[a]]
        for b in range(a):
            value -= L[a, b] * mu[base[b]]
        mu[base[a]] = value / L[a, a]
    for a in range(k - 1, -1, -1):
        mu[base[a]] /= L[a, a]
        value = mu[base[a]]
        for b in range(a):
            mu[base[b]] -= L[a, b] * value
    for a in range(k):
        value = mu[base[a]]
        for j in range(nc):
            t[j] -= value * W[base[a], j]
    for i in range(nc):
        if kind[i] == OPEN:
            nu[i] = t[i]
    return cost, violation
