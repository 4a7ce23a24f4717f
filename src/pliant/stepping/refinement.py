"""Removes the regularization from a linear solve: the solution of K dx = r + Hᵀλ from a factor of A = K + σM.

K may be singular or indefinite as long as it is positive definite where the active constraints leave motion: a balloon
beyond its pressure limit at imposed volume, a beam that its cables hold beyond its buckling load, a body that contacts
alone hold. With the active rows kept as equalities the error of the regularized solve, K e = σM dx + Hᵀ Δλ, H e = 0,
is solved by conjugate gradients with the constraint preconditioner A (Gould, Hribar and Nocedal, SIAM J. Sci. Comput.
23, 2001). A differs from K by a few modes, so a few iterations do.

Forces of the active rows that break their laws, as those of contacts with nearly the same plane may, are brought back
into their bounds. Where that spoils the balance, the laws are solved once more with A, its regularization taken around
the motion found instead of around zero: a step of the proximal point method (Rockafellar, SIAM J. Control Optim. 14,
1976).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from pliant.constraints import Rows
from pliant.constraints.condense import compliance, problem_of
from pliant.constraints.contact_curvature import ContactCurvature
from pliant.constraints.rows import COMPLIANT
from pliant.core.arrays import transposed_product
from pliant.core.errors import ConvergenceError
from pliant.core.types import FloatArray, IndexArray
from pliant.models.free_modes import FreeModes
from pliant.models.model import Factor, System
from pliant.solvers.contact import ConflictingRowsError, Law, MixedProblem
from pliant.stepping.session import solve_in_budget

MOST_ITERATIONS = 25
REDUCTION = 1e-3
"""Factor by which the error of the regularization is reduced: enough for Newton's convergence to stay fast."""
NEGLIGIBLE = 1e-10
"""Eigenvalues of the compliance of the active rows below this fraction of the largest are those of redundant rows."""

LAWLESS = 0.1
"""Change of forces, over the largest of them, by which they may be brought back into their bounds; beyond, other rows
are active.
"""

ENOUGH = 0.1
"""Fraction of the error that may be left where forces were brought back into their bounds; beyond, their laws are
solved again around the motion found.
"""

Motion = list[FloatArray]


class Refined(NamedTuple):
    """dx of each body and λ (rows,) N; whether K has positive curvature along the motions that are left. Where it has
    not, or where lawful λ would balance less, they are those of the regularized solve.
    """

    dx: Motion
    lam: FloatArray
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
    active, springs = _Active(factors, rows, problem, lam, modes), _Springs.of(rows)
    pushes = [np.zeros_like(x) for x in dx] if rows is None else _pulled(rows.H, lam, dx)
    applied = [f + push for f, push in zip(forces, pushes, strict=True)]  # = A dx
    Kx = _product(stiffness, None, dx)
    if curvature is not None:
        total = [x if h is None else x + h for x, h in zip(dx, (s.constrained_dx for s in stiffness), strict=True)]
        Kx = [a + b for a, b in zip(Kx, curvature.products(total), strict=True)]
    rest = [a - b for a, b in zip(applied, Kx, strict=True)]
    e, Ae, g, stable = _without_regularization(stiffness, factors, curvature, active, springs, rest)
    if not stable and curvature is not None:
        return refined(stiffness, factors, rows, problem, dx, lam, forces, modes)
    if not stable:
        return Refined(list(dx), lam, active.slips)
    center = [a + b for a, b in zip(dx, e, strict=True)]
    if rows is None or problem is None:
        return Refined(center, lam, stable)
    asked = active.forces(factors, g, lam)
    new = _lawful(rows, asked)
    change = np.abs(new - asked).max(initial=0.0)
    yielded = springs.yielding(new, e)
    if not change:
        return Refined(center, yielded, stable)
    few = change <= LAWLESS * np.abs(asked).max(initial=0.0)
    if curvature is not None:  # K may exceed A, around which no step would be contracting
        return Refined(center, yielded, stable) if few else Refined(list(dx), lam, stable)
    left = [a + b for a, b in zip(g, _pulled(rows.H, new - lam, dx), strict=True)]
    first, size = _dot(rest, rest), _dot(left, left)
    best, least = ((center, yielded), size) if few and size < first else ((list(dx), lam), first)
    if least <= ENOUGH**2 * first or any(each is not None for each in modes):
        return Refined(*best, stable)
    regularization = [f + a - Kx for f, a, Kx in zip(applied, Ae, _product(stiffness, None, center), strict=True)]
    found = _around(factors, rows, problem, dx, lam, new, regularization)
    if found is not None:
        pushes = _pulled(rows.H, found[1], dx)
        left = [f + push - Kx for f, push, Kx in zip(forces, pushes, _product(stiffness, None, found[0]), strict=True)]
        best = found if _dot(left, left) < least else best
    return Refined(*best, stable)


def _around(
    factors: Sequence[Factor],
    rows: Rows,
    problem: MixedProblem,
    dx: Sequence[FloatArray],
    lam: FloatArray,
    warm: FloatArray,
    regularization: Motion,
) -> tuple[Motion, FloatArray] | None:
    """The solve with the regularization taken around a motion near the solution: dx and lawful λ (rows,) N of
    A dx = forces + (A − K) center + Hᵀλ; None where no λ is found. dx and `lam` are those of the solve around zero.
    """
    moved = [factor.solve(force) for factor, force in zip(factors, regularization, strict=True)]
    shifted = problem.delta_free + sum(H @ x.ravel() for H, x in zip(rows.H, moved, strict=True))
    try:
        new = solve_in_budget(problem_of(problem, problem.W, shifted), warm, follow=True).lam
    except (ConvergenceError, ConflictingRowsError):
        return None
    more = _pulled(rows.H, new - lam, dx)
    parts = zip(dx, moved, factors, more, strict=True)
    return [x + motion + factor.solve(push) for x, motion, factor, push in parts], new


def _without_regularization(
    stiffness: Sequence[System],
    factors: Sequence[Factor],
    curvature: ContactCurvature | None,
    active: _Active,
    springs: _Springs,
    rest: Motion,
) -> tuple[Motion, Motion, Motion, bool]:
    """The motion e that active rows leave with K e = `rest` + Hᵀν, A e, what is left of `rest`, and whether K has
    positive curvature along it.
    """
    e: Motion = [np.zeros_like(x) for x in rest]
    Ae: Motion = [np.zeros_like(x) for x in rest]
    g, first = rest, _dot(rest, rest)
    z, Az = active.projected(factors, g)
    d, Ad, weight = z, Az, _dot(g, z)
    start = weight
    for _ in range(MOST_ITERATIONS):
        if not weight > 0.0 or not first:
            break
        Kd = springs.added(_product(stiffness, curvature, d), d)
        stretch = _dot(d, Kd)
        if stretch <= 1e-12 * weight:
            return e, Ae, g, False
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
    return e, Ae, g, True


def unstable_motion(
    stiffness: Sequence[System],
    factors: Sequence[Factor],
    rows: Rows | None,
    problem: MixedProblem | None,
    lam: FloatArray,
    modes: Sequence[FreeModes | None],
) -> Motion | None:
    """A motion that the active rows leave free and along which K has negative curvature; None where a search from a
    fixed random force finds none, so that the equilibrium is stable. Contacts that slip are taken to stick: friction
    resists a motion that would start from the equilibrium.
    """
    active, rng = _Active(factors, rows, problem, lam, modes, stuck=True), np.random.default_rng(0)
    springs = _Springs.of(rows)
    random = [rng.standard_normal(system.r.shape) for system in stiffness]
    g = [system.product(x) for system, x in zip(stiffness, random, strict=True)]  # zero where DoFs are constrained
    z, _ = active.projected(factors, g)
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
        z, _ = active.projected(factors, g)
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
        return [a + b for a, b in zip(Kx, _pulled(self.H, force, x), strict=True)]

    def yielding(self, lam: FloatArray, e: Motion) -> FloatArray:
        """λ (rows,) of the springs after the further motion e."""
        if len(self.own):
            lam = lam.copy()
            lam[self.own] -= self._resisting(e)
        return lam

    def _resisting(self, x: Motion) -> FloatArray:
        return np.asarray(self.s * sum(H @ each.ravel() for H, each in zip(self.H, x, strict=True)))


class _Active:
    """The active rows, whose δ is kept, with the free rigid motions of bodies as further ones, and the compliance of A
    along them. `slips` says whether a contact slips; with `stuck` all that push are taken to stick.
    """

    def __init__(
        self,
        factors: Sequence[Factor],
        rows: Rows | None,
        problem: MixedProblem | None,
        lam: FloatArray,
        modes: Sequence[FreeModes | None],
        *,
        stuck: bool = False,
    ) -> None:
        self.kept: sparse.csr_matrix = sparse.csr_matrix((0, len(lam)))
        self.slips = False
        if rows is not None and problem is not None:
            self.kept, self.slips = kept_rows(rows, lam, stuck=stuck)
        self.count = self.kept.shape[0]
        free = [np.zeros((0, 0)) if each is None else each.weighted.T for each in modes]
        total = self.count + sum(len(each) for each in free)
        self.H: list[sparse.csr_matrix] | None = None
        if not total:
            return
        H, first = [], self.count
        for index, own in enumerate(free):
            size = own.shape[1] if len(own) else rows.H[index].shape[1] if rows is not None else 0
            above = self.kept @ rows.H[index] if rows is not None else sparse.csr_matrix((0, size))
            before, after = first - self.count, total - first - len(own)
            blank = [sparse.csr_matrix((before, size)), sparse.csr_matrix(own), sparse.csr_matrix((after, size))]
            H.append(sparse.vstack([above, *(part for part in blank if part.shape[0])], format="csr"))
            first += len(own)
        self.H = H
        W = compliance(H, factors)
        values, vectors = np.linalg.eigh(0.5 * (W + W.T))
        fine = values > NEGLIGIBLE * values[-1]
        self.inverse: FloatArray = (vectors[:, fine] / values[fine]) @ vectors[:, fine].T

    def projected(self, factors: Sequence[Factor], g: Motion) -> tuple[Motion, Motion]:
        """z = A⁻¹ (g + Hᵀν) with ν such that H z vanishes, and A z."""
        z = [factor.solve(x) for factor, x in zip(factors, g, strict=True)]
        if self.H is None:
            return z, g
        back = _pulled(self.H, self._multipliers(z), g)
        x = [a + factor.solve(b) for a, factor, b in zip(z, factors, back, strict=True)]
        return x, [a + b for a, b in zip(g, back, strict=True)]

    def forces(self, factors: Sequence[Factor], g: Motion, lam: FloatArray) -> FloatArray:
        """λ with what balances the part of the residual g that active rows resist."""
        if self.H is None:
            return lam
        z = [factor.solve(x) for factor, x in zip(factors, g, strict=True)]
        new: FloatArray = lam + self.kept.T @ self._multipliers(z)[: self.count]
        return new

    def _multipliers(self, z: Motion) -> FloatArray:
        assert self.H is not None
        slope: FloatArray = sum(H @ x.ravel() for H, x in zip(self.H, z, strict=True))
        return -self.inverse @ slope


def kept_rows(rows: Rows, lam: FloatArray, *, stuck: bool) -> tuple[sparse.csr_matrix, bool]:
    """The combinations (k, rows) of rows whose δ stays, and whether a contact slips.

    They are bilateral rows, bounded ones inside their bounds, contacts that push, and tangents of those that stick, or
    with `stuck` of all that push. A contact that slips keeps its slip across the force of friction: that force turns
    with the slip, which is short.
    """
    law = rows.law
    inside = (lam > rows.lower) & (lam < rows.upper)
    kept: Any = (law == Law.BILATERAL) | ((law == Law.BOUNDED) & inside) | ((law == Law.SIGNORINI) & (lam > 0.0))
    cones = np.flatnonzero(law == Law.COULOMB)
    every = sparse.identity(len(lam), format="csr")
    if not len(cones):
        return every[kept], False
    force, mu = lam[cones].reshape(-1, 3), rows.mu[cones[::3]]
    pushes = force[:, 0] > 0.0
    tangential = np.linalg.norm(force[:, 1:], axis=1)
    sticks = pushes if stuck else pushes & (tangential < (1.0 - 1e-6) * mu * force[:, 0])
    kept[cones] = np.stack([pushes, sticks, sticks], axis=1).ravel()
    slipping = np.flatnonzero(pushes & ~sticks & (tangential > 0.0))
    if not len(slipping):
        return every[kept], bool((pushes & ~sticks).any())
    first = cones[3 * slipping + 1]
    across = force[slipping][:, [2, 1]] * (-1.0, 1.0) / tangential[slipping, None]
    columns = np.stack([first, first + 1], axis=1)
    starts = 2 * np.arange(len(slipping) + 1)
    turned = sparse.csr_matrix((across.ravel(), columns.ravel(), starts), shape=(len(slipping), len(lam)))
    return sparse.vstack([every[kept], turned], format="csr"), True


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


def _pulled(H: Sequence[sparse.csr_matrix], lam: FloatArray, like: Sequence[FloatArray]) -> Motion:
    return [transposed_product(own, lam).reshape(x.shape) for own, x in zip(H, like, strict=True)]


def _dot(a: Sequence[FloatArray], b: Sequence[FloatArray]) -> float:
    return sum(float(np.vdot(x, y)) for x, y in zip(a, b, strict=True))
