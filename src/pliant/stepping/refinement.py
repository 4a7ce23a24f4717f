"""Removes the regularization from a linear solve: the solution of K dx = r + Hᵀλ from a factor of A = K + σM.

K may be singular or indefinite as long as it is positive definite where the active constraints leave motion: a balloon
beyond its pressure limit at imposed volume, a beam that its cables hold beyond its buckling load, a body that contacts
alone hold. With the active rows kept as equalities the error of the regularized solve, K e = σM dx + Hᵀ Δλ, H e = 0,
is solved by conjugate gradients with the constraint preconditioner A (Gould, Hribar and Nocedal, SIAM J. Sci. Comput.
23, 2001). A differs from K by a few modes, so a few iterations do. Friction of contacts that slip follows their normal
forces and turns with the slip (`stepping.active_rows`); the equations are not symmetric then.

Forces of the active rows that break their laws, as those of contacts with nearly the same plane may, are brought back
into their bounds. Where that spoils the balance, the laws are solved once more with A, its regularization taken around
the motion found instead of around zero: a step of the proximal point method (Rockafellar, SIAM J. Control Optim. 14,
1976).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse

from pliant.constraints import Rows
from pliant.constraints.condense import problem_of
from pliant.constraints.contact_curvature import ContactCurvature
from pliant.constraints.rows import COMPLIANT
from pliant.core.errors import ConvergenceError
from pliant.core.types import FloatArray, IndexArray
from pliant.models.free_modes import FreeModes
from pliant.models.model import Factor, System
from pliant.solvers.contact import ConflictingRowsError, Law, MixedProblem
from pliant.stepping.active_rows import ActiveRows, Motion, pulled
from pliant.stepping.session import solve_in_budget

MOST_ITERATIONS = 25
REDUCTION = 1e-3
"""Factor by which the error of the regularization is reduced: enough for Newton's convergence to stay fast."""
LAWLESS = 0.1
"""Change of forces, over the largest of them, by which they may be brought back into their bounds; beyond, other rows
are active.
"""

CLOSING = 0.05
"""Depth to which open contacts may close in the motion without regularization, over its largest displacement: facets
turn by more in a linear solve. Deeper ones take part when the laws are solved again around that motion.
"""
TURNS = 6
"""Most solves of the laws around the motion found; each is one of the frictional problem, without a factorization."""
ENOUGH = 0.1
"""Fraction of the error that may be left where forces were brought back into their bounds; beyond, their laws are
solved again around the motion found.
"""


class Refined(NamedTuple):
    """dx of each body and λ (rows,) N; whether K has positive curvature along the motions that are left. Where it has
    not, or where lawful λ would balance less, they are those of the regularized solve.
    """

    dx: Motion
    lam: FloatArray
    stable: bool


class Remainder(NamedTuple):
    """The motion e, A e, what is left of the residual without the forces of active rows, those (k,) of rows with a
    compliance, and whether K has positive curvature along e.
    """

    e: Motion
    Ae: Motion
    left: Motion
    nu: FloatArray | None
    stable: bool


def refined(
    stiffness: Sequence[System],
    factors: Sequence[Factor],
    rows: Rows | None,
    problem: MixedProblem | None,
    dx: Sequence[FloatArray],
    lam: FloatArray,
    forces: Sequence[FloatArray],
    modes: Sequence[FreeModes | None],
    curvature: ContactCurvature | None = None,
) -> Refined:
    """The solve dx, λ of A dx = `forces` + Hᵀλ turned into that of K dx = `forces` + Hᵀλ.

    `stiffness` are K of each body, `factors` those of A. `forces` are the right-hand sides of each body without those
    of constraints, N (and N·m). `modes` are the free rigid motions of bodies, which stay out of dx. The geometric
    stiffness of contacts, `curvature`, is a part of K where it is given and leaves it positive definite.
    """
    springs, stable = _Springs.of(rows), True
    pushes = [np.zeros_like(x) for x in dx] if rows is None else pulled(rows.H, lam, dx)
    still = solve = _Solve(list(dx), lam, [f + push for f, push in zip(forces, pushes, strict=True)], problem)
    best, first, least = Refined(list(dx), lam, stable), np.inf, np.inf
    for turn in range(TURNS):
        active = ActiveRows(factors, rows, solve.problem, solve.lam, modes)
        rest = _left(stiffness, curvature, rows, forces, solve)
        e, Ae, g, nu, stable = _without_regularization(stiffness, factors, curvature, active, springs, rest)
        if not stable and turn:
            return best
        if not stable and curvature is not None:
            return refined(stiffness, factors, rows, problem, dx, lam, forces, modes)
        if not stable:
            return Refined(list(dx), lam, active.slips)
        center = [a + b for a, b in zip(solve.dx, e, strict=True)]
        if rows is None or solve.problem is None:
            return Refined(center, lam, stable)
        asked = active.forces(factors, g, solve.lam, nu)
        new = _lawful(rows, asked)
        change = np.abs(new - asked).max(initial=0.0)
        lawful = Refined(center, springs.yielding(new, e), stable)
        few = change <= LAWLESS * np.abs(asked).max(initial=0.0)
        closes = _closes(rows, solve, e, center)
        if not closes and (not change or (few and curvature is not None)):
            return lawful
        if not turn:
            first = least = _dot(rest, rest)
        size = _size(g, pulled(rows.H, new - solve.lam, dx))
        if few and not closes and size < least:
            best, least = lawful, size
        if (not closes and least <= ENOUGH**2 * first) or any(each is not None for each in modes):
            break
        there = [a + b for a, b in zip(solve.applied, Ae, strict=True)]
        found = _around(stiffness, factors, curvature, rows, still, center, there, new)
        if found is None:
            break
        solve = found
        left = _left(stiffness, curvature, rows, forces, solve)
        size = _dot(left, left)
        if size < least:
            best, least = Refined(solve.dx, solve.lam, stable), size
    return best


def _closes(rows: Rows, solve: _Solve, e: Motion, center: Motion) -> bool:
    """Whether contacts that do not push overlap after the further motion e, much deeper than before."""
    problem = solve.problem
    assert problem is not None
    normal = rows.law == Law.SIGNORINI
    normal[np.flatnonzero(rows.law == Law.COULOMB)[::3]] = True
    open_rows = np.flatnonzero(normal & (solve.lam <= 0.0))
    if not len(open_rows):
        return False
    before = problem.delta_free[open_rows] + problem.W[open_rows] @ solve.lam
    after = before + np.asarray(sum(H[open_rows] @ x.ravel() for H, x in zip(rows.H, e, strict=True)))
    longest = max(float(np.abs(x).max(initial=0.0)) for x in center)
    return bool((after < np.minimum(before, 0.0) - CLOSING * longest).any())


class _Solve(NamedTuple):
    """dx of each body and λ (rows,) N of a regularized solve, its forces A dx, and its problem."""

    dx: Motion
    lam: FloatArray
    applied: Motion
    problem: MixedProblem | None


def _resisting(stiffness: Sequence[System], curvature: ContactCurvature | None, dx: Sequence[FloatArray]) -> Motion:
    """K dx of each body, with what its constrained motion adds to the curvature of contacts."""
    Kx = _product(stiffness, None, dx)
    if curvature is None:
        return Kx
    total = [x if h is None else x + h for x, h in zip(dx, (s.constrained_dx for s in stiffness), strict=True)]
    return [a + b for a, b in zip(Kx, curvature.products(total), strict=True)]


def _left(
    stiffness: Sequence[System],
    curvature: ContactCurvature | None,
    rows: Rows | None,
    forces: Sequence[FloatArray],
    solve: _Solve,
) -> Motion:
    """What a solve leaves out of balance: `forces` + Hᵀλ − K dx of each body."""
    pushes = [np.zeros_like(x) for x in solve.dx] if rows is None else pulled(rows.H, solve.lam, solve.dx)
    Kx = _resisting(stiffness, curvature, solve.dx)
    return [f + push - each for f, push, each in zip(forces, pushes, Kx, strict=True)]


def _around(
    stiffness: Sequence[System],
    factors: Sequence[Factor],
    curvature: ContactCurvature | None,
    rows: Rows,
    still: _Solve,
    center: Motion,
    there: Motion,
    warm: FloatArray,
) -> _Solve | None:
    """The solve with the regularization taken around the motion `center`: dx and lawful λ (rows,) N of
    A dx = forces + (A − K) center + Hᵀλ; None where no λ is found. `there` is A center, `still` the solve around zero,
    and `warm` forces to start from.
    """
    assert still.problem is not None
    regularization = [a - b for a, b in zip(there, _resisting(stiffness, curvature, center), strict=True)]
    moved = [factor.solve(force) for factor, force in zip(factors, regularization, strict=True)]
    shifted = still.problem.delta_free + sum(H @ x.ravel() for H, x in zip(rows.H, moved, strict=True))
    problem = problem_of(still.problem, still.problem.W, shifted)
    try:
        lam = solve_in_budget(problem, warm, follow=True).lam
    except (ConvergenceError, ConflictingRowsError):
        return None
    more = pulled(rows.H, lam - still.lam, center)
    parts = zip(still.dx, moved, factors, more, strict=True)
    dx = [x + motion + factor.solve(push) for x, motion, factor, push in parts]
    applied = [a + b + c for a, b, c in zip(still.applied, regularization, more, strict=True)]
    return _Solve(dx, lam, applied, problem)


def _without_regularization(
    stiffness: Sequence[System],
    factors: Sequence[Factor],
    curvature: ContactCurvature | None,
    active: ActiveRows,
    springs: _Springs,
    rest: Motion,
) -> Remainder:
    """The motion e that active rows leave with K e = `rest` + Fᵀν."""
    e: Motion = [np.zeros_like(x) for x in rest]
    Ae: Motion = [np.zeros_like(x) for x in rest]
    g, first = rest, _dot(rest, rest)
    if not active.symmetric:
        return _with_slip(stiffness, factors, curvature, active, springs, rest)
    z, Az = active.projected(factors, g)
    d, Ad, weight = z, Az, _dot(g, z)
    start = weight
    for _ in range(MOST_ITERATIONS):
        if not weight > 0.0 or not first:
            break
        Kd = springs.added(_product(stiffness, curvature, d), d)
        stretch = _dot(d, Kd)
        if stretch <= 1e-12 * weight:
            return Remainder(e, Ae, g, None, False)
        s = weight / stretch
        e = [a + s * b for a, b in zip(e, d, strict=True)]
        Ae = [a + s * b for a, b in zip(Ae, Ad, strict=True)]
        g = [a - s * b for a, b in zip(g, Kd, strict=True)]
        z, Az = active.projected(factors, g)
        before, weight = weight, _dot(g, z)
        if weight <= REDUCTION**2 * start:
            break
        d = [a + weight / before * b for a, b in zip(z, d, strict=True)]
        Ad = [a + weight / before * b for a, b in zip(Az, Ad, strict=True)]
    return Remainder(e, Ae, g, None, True)


def _with_slip(
    stiffness: Sequence[System],
    factors: Sequence[Factor],
    curvature: ContactCurvature | None,
    active: ActiveRows,
    springs: _Springs,
    rest: Motion,
) -> Remainder:
    """The same where contacts slip and their friction follows: the operator is not symmetric, and Arnoldi's process in
    the scalar product of A takes the place of conjugate gradients (Saad and Schultz, SIAM J. Sci. Stat. Comput. 7,
    1986). A vector is a motion and the forces of the active rows in it.
    """
    still = [np.zeros_like(x) for x in rest]
    v, image = active.answer(factors, rest)
    start = np.sqrt(max(float(v @ image), 0.0))
    if not start:
        return Remainder(still, still, rest, None, True)
    basis, images, products = [v / start], [image / start], []
    h: FloatArray = np.zeros((MOST_ITERATIONS + 1, MOST_ITERATIONS))
    first: FloatArray = start * np.eye(MOST_ITERATIONS + 1)[0]
    y: FloatArray = np.zeros(0)
    for k in range(MOST_ITERATIONS):
        motion, nu = active.parts(basis[k], rest)
        products.append(springs.added(_product(stiffness, curvature, motion), motion))
        v, image = active.answer(factors, [a - b for a, b in zip(products[k], active.pushes(nu, rest), strict=True)])
        for i in range(k + 1):
            h[i, k] = basis[i] @ image
            v, image = v - h[i, k] * basis[i], image - h[i, k] * images[i]
        h[k + 1, k] = np.sqrt(max(float(v @ image), 0.0))
        y = np.asarray(np.linalg.lstsq(h[: k + 2, : k + 1], first[: k + 2], rcond=None)[0], np.float64)
        left = float(np.linalg.norm(first[: k + 2] - h[: k + 2, : k + 1] @ y))
        if left <= REDUCTION * start or not h[k + 1, k]:
            break
        basis.append(v / h[k + 1, k])
        images.append(image / h[k + 1, k])
    square = h[: len(y), : len(y)]
    if np.linalg.eigvalsh(0.5 * (square + square.T))[0] <= 1e-12:
        return Remainder(still, still, rest, None, False)
    e, nu = active.parts(y @ np.array(basis[: len(y)]), rest)
    Ae, _ = active.parts(y @ np.array(images[: len(y)]), rest)
    Ke = [np.tensordot(y, np.array(each), 1) for each in zip(*products, strict=True)]
    return Remainder(e, Ae, [a - b for a, b in zip(rest, Ke, strict=True)], nu, True)


def unstable_motion(
    stiffness: Sequence[System],
    factors: Sequence[Factor],
    rows: Rows | None,
    problem: MixedProblem | None,
    lam: FloatArray,
    modes: Sequence[FreeModes | None],
    seed: int = 0,
) -> Motion | None:
    """A motion that the active rows leave free and along which K has negative curvature; None where a search from the
    random force of a `seed` finds none, so that the equilibrium is stable. Contacts that slip are taken to stick:
    friction resists a motion that would start from the equilibrium.

    Conjugate gradients with projected residuals (Gould, Hribar and Nocedal, SIAM J. Sci. Comput. 23, 2001): the part of
    a residual that rows and rigid motions take is removed in each iteration. Left in, it outgrows the rest, and its
    rounding brings rigid motions back, along which K may well be negative.
    """
    active, rng = ActiveRows(factors, rows, problem, lam, modes, stuck=True), np.random.default_rng(seed)
    springs = _Springs.of(rows)
    random = [rng.standard_normal(system.r.shape) for system in stiffness]
    g = [system.product(x) for system, x in zip(stiffness, random, strict=True)]  # zero where DoFs are constrained
    z, g = active.projected(factors, g)
    d, weight = z, _dot(g, z)
    for _ in range(MOST_ITERATIONS):
        if not weight > 0.0:
            return None
        Kd = springs.added([system.product(x) for system, x in zip(stiffness, d, strict=True)], d)
        curvature = _dot(d, Kd)
        if curvature < -1e-9 * weight:
            return d
        if curvature <= 1e-12 * weight:
            return None
        s = weight / curvature
        g = [a - s * b for a, b in zip(g, Kd, strict=True)]
        z, g = active.projected(factors, g)
        before, weight = weight, _dot(g, z)
        d = [a + weight / before * b for a, b in zip(z, d, strict=True)]
    return None


class _Springs(NamedTuple):
    """The rows `own` (k,) of springs, their H (k, unknowns) and stiffness s (k,), N/m, which belong to K."""

    own: IndexArray
    H: list[sparse.csr_matrix]
    s: FloatArray

    @classmethod
    def of(cls, rows: Rows | None) -> _Springs:
        """Those among `rows`."""
        if rows is None or not (rows.law == COMPLIANT).any():
            return cls(np.zeros(0, np.int64), [], np.zeros(0))
        own = np.flatnonzero(rows.law == COMPLIANT)
        return cls(own, [H[own] for H in rows.H], 1.0 / rows.upper[own])

    def added(self, Kx: Motion, x: Motion) -> Motion:
        """`Kx` with the stiffness of the springs in the motion x."""
        if not len(self.own):
            return Kx
        force = self._resisting(x)
        return [a + b for a, b in zip(Kx, pulled(self.H, force, x), strict=True)]

    def yielding(self, lam: FloatArray, e: Motion) -> FloatArray:
        """λ (rows,) of the springs after the further motion e."""
        if len(self.own):
            lam = lam.copy()
            lam[self.own] -= self._resisting(e)
        return lam

    def _resisting(self, x: Motion) -> FloatArray:
        return np.asarray(self.s * sum(H @ each.ravel() for H, each in zip(self.H, x, strict=True)))


def _lawful(rows: Rows, lam: FloatArray) -> FloatArray:
    """λ brought into the bounds of its rows and into the cones of friction."""
    law, made = rows.law, lam.copy()
    pushing = law == Law.SIGNORINI
    made[pushing] = np.maximum(made[pushing], 0.0)
    bounded = law == Law.BOUNDED
    made[bounded] = np.clip(made[bounded], rows.lower[bounded], rows.upper[bounded])
    cones = np.flatnonzero(law == Law.COULOMB)
    if len(cones):
        force, mu = made[cones].reshape(-1, 3), rows.mu[cones[::3]]
        force[:, 0] = np.maximum(force[:, 0], 0.0)
        tangential, most = np.linalg.norm(force[:, 1:], axis=1), mu * force[:, 0]
        force[:, 1:] *= np.where(tangential > most, most / np.maximum(tangential, 1e-300), 1.0)[:, None]
        made[cones] = force.ravel()
    return made


def _product(stiffness: Sequence[System], curvature: ContactCurvature | None, x: Sequence[FloatArray]) -> Motion:
    """K x of each body."""
    made = [system.product(each) for system, each in zip(stiffness, x, strict=True)]
    if curvature is None:
        return made
    return [a + b for a, b in zip(made, curvature.products(x), strict=True)]


def _dot(a: Sequence[FloatArray], b: Sequence[FloatArray]) -> float:
    return sum(float(np.vdot(x, y)) for x, y in zip(a, b, strict=True))


def _size(a: Sequence[FloatArray], b: Sequence[FloatArray]) -> float:
    """The square of the norm of a + b."""
    return sum(float(np.vdot(x + y, x + y)) for x, y in zip(a, b, strict=True))
