"""The active set of a step: what the law of each row says about λ and δ near the solution, as linear equations.

Each row has one equation c(δ, λ) = 0, which holds in a neighbourhood:

    closed, sticking      δ = target
    compliant             δ + C λ = target
    given, separated      λ = λ₀ (a command by force, a bound that is reached, zero)
    slipping              δ_n = target,  λ_t + μ λ_n s/|s| = 0,  s = δ_t − target_t

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
_KNOWN = {int(law) for law in (Law.BILATERAL, Law.SIGNORINI, Law.COULOMB, Law.IMPOSED, Law.BOUNDED)} | {COMPLIANT}


class ActiveSet(NamedTuple):
    """B and E (m, m) of the rows; `active` (m,) marks rows whose δ matters, `slipping` (m,) normal rows of contacts
    that slip, and `by_friction` (m,) is ∂c/∂μ, N.
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
            f"gradients know no law {Law(int(rows.law[np.argmax(unknown)])).name}: friction between cables or rods and "
            "their guides is not differentiated; set the friction of the cable to 0"
        )
    B, E = np.zeros((m, m)), np.zeros((m, m))
    slipping, by_friction = np.zeros(m, bool), np.zeros(m)
    largest = float(np.abs(lam).max(initial=0.0))
    closed = _closed(rows, lam, NONE * largest)
    for i in np.flatnonzero(rows.law != Law.COULOMB):
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
    return ActiveSet(B, E, active, slipping, by_friction)


def _closed(rows: Rows, lam: FloatArray, none: float) -> BoolArray:
    """Rows (m,) without friction whose δ meets the target."""
    law, lower, upper = rows.law, rows.lower, rows.upper
    inside = (lower < upper) & (lam > lower + none) & (lam < upper - none)
    made: BoolArray = (law == Law.BILATERAL) | ((law == Law.SIGNORINI) & (lam > none))
    return np.asarray(made | ((law == Law.BOUNDED) & inside))
