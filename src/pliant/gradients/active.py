"""The active set of a step: what the law of each row says about λ and δ near the solution, as linear equations.

Each row has one equation c(δ, λ) = 0, which holds in a neighbourhood:

    closed, sticking      δ = target
    compliant             δ + C λ = target
    given, separated      λ = λ₀ (a command by force, a bound that is reached, zero)
    slipping              δ_n = target,  λ_t + μ λ_n s/|s| = 0,  s = δ_t − target_t
    a cable that slips    λ = f T,  T = λ_head − Σ λ between,  f = 1 − e^(∓μθ)

With B = ∂c/∂δ and E = ∂c/∂λ. At a switch, where two branches meet, the branch is the one that the projection of the
solver takes: the derivative is then that of the step as it was computed, one-sided.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pliant.constraints import Rows
from pliant.constraints.rows import COMPLIANT
from pliant.core.errors import InputError
from pliant.core.types import BoolArray, FloatArray
from pliant.solvers.contact import Law

NONE = 1e-12
"""Force below this fraction of the largest one that counts as none."""
_KNOWN = {int(law) for law in (Law.BILATERAL, Law.SIGNORINI, Law.COULOMB, Law.IMPOSED, Law.BOUNDED, Law.CAPSTAN)} | {
    COMPLIANT
}
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


def active_set(rows: Rows, lam: FloatArray, delta: FloatArray, compliance: FloatArray) -> ActiveSet:
    """The active set at λ (m,) N and δ (m,) m; `compliance` (m,) m/N is the diagonal of W, which weighs slip against
    force.
    """
    m = rows.count
    unknown = ~np.isin(rows.law, list(_KNOWN))
    if unknown.any():
        raise InputError(
            f"gradients know no law {Law(int(rows.law[np.argmax(unknown)])).name}: friction between rods and their "
            "guides is not differentiated; set it to 0"
        )
    B, E = np.zeros((m, m)), np.zeros((m, m))
    slipping, by_friction = np.zeros(m, bool), np.zeros(m)
    largest = float(np.abs(lam).max(initial=0.0))
    closed = _closed(rows, lam, NONE * largest)
    for i, f, tension in capstan_slips(rows, lam):
        head = _head(rows, i)
        B[i, i], E[i, i], E[i, head], E[i, head + 1 : i] = 1.0, 1.0, -f, f
        by_friction[i] = tension * (1.0 - f) * np.log1p(-f)
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
    for i, _, _ in capstan_slips(rows, lam):  # what it is a fraction of is one of its unknowns
        active[_head(rows, i) : i + 1] = True
    return ActiveSet(B, E, active, slipping, by_friction)


def capstan_slips(rows: Rows, lam: FloatArray) -> list[tuple[int, float, float]]:
    """Rows of guides in which a cable slips: their index, the fraction f of the tension before them that they take, and
    that tension T, N. Where the cable is slack the drop is zero, whatever f is.
    """
    made = []
    for i in np.flatnonzero(rows.law == Law.CAPSTAN):
        tension = float(lam[_head(rows, i)] - lam[_head(rows, i) + 1 : i].sum())
        bounds = float(rows.lower[i]), float(rows.upper[i])
        off = [abs(float(lam[i]) - f * tension) for f in bounds]
        nearest = int(np.argmin(off))
        if off[nearest] <= _AT_BOUND * abs(tension):
            made.append((int(i), bounds[nearest], tension))
    return made


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
    made: BoolArray = (law == Law.BILATERAL) | (law == Law.CAPSTAN) | ((law == Law.SIGNORINI) & (lam > none))
    return np.asarray(made | ((law == Law.BOUNDED) & inside))
