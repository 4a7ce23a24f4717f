"""The active set of a step: what the law of each row says about λ and δ near the solution, as linear equations.

Each row has one equation c(δ, λ) = 0, which holds in a neighbourhood:

    closed, sticking      δ = target
    compliant             δ + C λ = target
    given, separated      λ = λ₀ (a command by force, a bound that is reached, zero)
    slipping              δ_n = target,  λ_t + μ λ_n s/|s| = 0,  s = δ_t − target_t
    a cable that slips    λ = f T,  T = λ_head − Σ λ between,  f = 1 − e^(∓μθ)
    a rod in a channel    λ = ±μ N,  N the norm of the λ of the two rows before it

With B = ∂c/∂δ and E = ∂c/∂λ. At a switch, where two branches meet, the branch is the one that the projection of the
solver takes: the derivative is then that of the step as it was computed, one-sided.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pliant.constraints import Rows
from pliant.constraints.rows import COMPLIANT
from pliant.core.errors import InputError
from pliant.core.types import BoolArray, FloatArray
from pliant.solvers.contact import Law

NONE = 1e-12
"""Force below this fraction of the largest one that counts as none."""
_KNOWN = {int(law) for law in Law} | {COMPLIANT}
_ALIKE = (int(Law.BILATERAL), int(Law.CAPSTAN), int(Law.GUIDE))
"""Laws of rows whose δ meets the target where they do not slip."""
_AT_BOUND = 1e-8
"""Distance of a drop of tension from its bound, relative to the tension, below which the cable slips."""


class ActiveSet(NamedTuple):
    """B and E (m, m) of the rows; `active` (m,) marks rows whose δ matters, `slipping` (m,) normal rows of contacts
    that slip, and `by_friction` (m,) is ∂c/∂μ, N, of guides μ ∂c/∂μ.
    """

    B: FloatArray
    E: FloatArray
    active: BoolArray
    slipping: BoolArray
    by_friction: FloatArray


def active_set(
    rows: Rows, lam: FloatArray, delta: FloatArray, compliance: FloatArray, slips: Sequence[CapstanSlip] | None = None
) -> ActiveSet:
    """The active set at λ (m,) N and δ (m,) m; `compliance` (m,) m/N is the diagonal of W, which weighs slip against
    force, and `slips` are the guides in which cables slip; None: those of λ and the bounds of `rows`.
    """
    m = rows.count
    unknown = rows.law[~np.isin(rows.law, list(_KNOWN))]
    if len(unknown):
        raise InputError(f"gradients know no law of the code {int(unknown[0])}; remove its constraint")
    B, E = np.zeros((m, m)), np.zeros((m, m))
    slipping, by_friction = np.zeros(m, bool), np.zeros(m)
    largest = float(np.abs(lam).max(initial=0.0))
    closed = _closed(rows, lam, NONE * largest)
    slips = capstan_slips(rows, lam) if slips is None else slips
    for i, f, tension, _ in slips:
        head = _head(rows, i)
        B[i, i], E[i, i], E[i, head], E[i, head + 1 : i] = 1.0, 1.0, -f, f
        by_friction[i] = tension * (1.0 - f) * np.log1p(-f) if f < 1.0 else 0.0
    slides = channel_slips(rows, lam, delta, compliance)
    for i in slides:
        pushed = np.sign(lam[i]) * lam[i - 2 : i]
        E[i, i], E[i, i - 2 : i] = 1.0, -rows.upper[i] * pushed / np.linalg.norm(pushed)
        by_friction[i] = -lam[i]
    free = (rows.law == Law.GUIDE) & (lam == 0.0) & (np.abs(delta - rows.target) > NONE)  # nothing presses on them
    E[free, free] = 1.0
    known = np.diag(E).copy() != 0.0
    for i in np.flatnonzero((rows.law != Law.COULOMB) & ~known):
        B[i, i], E[i, i] = (1.0, 0.0) if closed[i] else (0.0, 1.0)
        if rows.law[i] == COMPLIANT:
            B[i, i], E[i, i] = 1.0, rows.upper[i]
    for i in np.flatnonzero(rows.law == Law.COULOMB)[::3]:
        own, mu = slice(i, i + 3), float(rows.mu[i])
        if not lam[i] > NONE * largest:
            E[own, own] = np.eye(3)
            continue
        B[i, i] = 1.0
        slip, force = delta[i + 1 : i + 3] - rows.target[i + 1 : i + 3], lam[i + 1 : i + 3]
        speed, pushed = float(np.hypot(*slip)), force - slip / compliance[i]
        t = slice(i + 1, i + 3)
        if not speed or float(np.hypot(*pushed)) <= mu * lam[i] * (1.0 + 1e-9):
            B[t, t] = np.eye(2)
            continue
        along = slip / speed
        slipping[i] = True
        B[t, t] = mu * lam[i] / speed * (np.eye(2) - np.outer(along, along))
        E[t, t], E[t, i] = np.eye(2), mu * along
        by_friction[t] = lam[i] * along
    active = (B != 0.0).any(axis=1) | (B != 0.0).any(axis=0)
    for i in np.flatnonzero(slipping):
        active[i : i + 3] = True
    for i, *_ in slips:  # what it is a fraction of is one of its unknowns
        active[_head(rows, i) : i + 1] = True
    for i in slides:
        active[i - 2 : i + 1] = True
    return ActiveSet(B, E, active, slipping, by_friction)


class CapstanSlip(NamedTuple):
    """A `row` of a guide in which a cable slips: the `fraction` f of the `tension` T before it, N, that it takes, and
    whether f is the `upper` bound of the row.
    """

    row: int
    fraction: float
    tension: float
    upper: bool

    def drop(self, rows: Rows, row: int) -> float:
        """−f T with the f of the `row` of other rows, and the tension as it was, N."""
        return -self.tension * float((rows.upper if self.upper else rows.lower)[row])


def capstan_slips(rows: Rows, lam: FloatArray, solved: Rows | None = None) -> list[CapstanSlip]:
    """Guides in which a cable slips. Where the cable is slack the drop is zero, whatever f is. `solved` are the same
    rows with the bounds of the last linear solve, which λ met; angles have moved since. None: those of `rows`.
    """
    made, met = [], rows if solved is None else solved
    for i in np.flatnonzero(rows.law == Law.CAPSTAN):
        tension = float(lam[_head(rows, i)] - lam[_head(rows, i) + 1 : i].sum())
        bounds = float(rows.lower[i]), float(rows.upper[i])
        off = [abs(float(lam[i]) - float(f) * tension) for f in (met.lower[i], met.upper[i])]
        nearest = min((0, 1), key=lambda side: (off[side], abs(bounds[side])))
        if off[nearest] <= _AT_BOUND * abs(tension):
            made.append(CapstanSlip(int(i), bounds[nearest], tension, bool(nearest)))
    return made


def channel_slips(rows: Rows, lam: FloatArray, delta: FloatArray, compliance: FloatArray) -> list[int]:
    """Rows of points of channels and sheaths in which a slender body slides against friction: what would hold them in
    place is beyond the bound. Small forces meet their bounds to the tolerance of the largest one only.
    """
    guides = np.flatnonzero((rows.law == Law.GUIDE) & (lam != 0.0))
    bound = rows.upper[guides] * np.hypot(lam[guides - 2], lam[guides - 1])
    pushed = lam[guides] - (delta[guides] - rows.target[guides]) / compliance[guides]
    return [int(i) for i in guides[np.abs(pushed) > (1.0 + 1e-9) * bound]]


def _head(rows: Rows, i: int) -> int:
    """The row before the first of consecutive rows of the law of row i."""
    head = int(i)
    while rows.law[head] == Law.CAPSTAN:
        head -= 1
    return head


def _closed(rows: Rows, lam: FloatArray, none: float) -> BoolArray:
    """Rows (m,) without friction whose δ meets the target."""
    law, lower, upper = rows.law, rows.lower, rows.upper
    inside = (lower < upper) & (lam > lower + none) & (lam < upper - none)
    made: BoolArray = np.isin(law, _ALIKE) | ((law == Law.SIGNORINI) & (lam > none))
    return np.asarray(made | ((law == Law.BOUNDED) & inside))
