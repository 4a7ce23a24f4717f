"""Laws of rows, the problem δ = δ_free + W λ under them, and the role of each row in solving it.

Direct, inverse and minimum-energy solves classify rows by `Roles`: forces that are given move to δ_free, rows whose δ
has to meet its target are eliminated (`elimination`), boxes and cones remain.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from pliant.core.arrays import frozen
from pliant.core.checks import finite_array
from pliant.core.errors import InputError
from pliant.core.kernels import kernel
from pliant.core.types import BoolArray, FloatArray, IntArray


class Law(IntEnum):
    """How λ and δ of a row relate; `target` is in m, in N for imposed forces."""

    BILATERAL = 0
    """δ = target, λ free."""
    SIGNORINI = 1
    """δ ≥ target, λ ≥ 0, one of them zero."""
    COULOMB = 2
    """Three consecutive rows, normal and two tangents: Signorini with friction μ on the slip of the step."""
    IMPOSED = 3
    """λ = target, δ free."""
    BOUNDED = 4
    """lower ≤ λ ≤ upper; δ = target inside, δ ≥ target at the lower bound, δ ≤ target at the upper one."""
    CAPSTAN = 5
    """Bounded, by fractions lower and upper of the tension before it: λ of the head row, which stands before the first
    of consecutive rows of this law, less the λ of those between.
    """
    GUIDE = 6
    """Friction in a guide: bounded, by fractions lower and upper of the norm of λ of the two rows before it."""


# Roles: what a solver does with a row. Plain numbers: to compare an array with an enum takes five times as long.
GIVEN = 0
"""λ is given: imposed, fixed by equal bounds, or a tangent of a contact without friction."""
EQUALITY = 1
"""δ = target whatever λ it takes: bilateral, or bounded without bounds."""
BOX = 2
"""One row with bounds on λ, at least one of them finite."""
CONE = 3
"""One of the three rows of a contact with friction."""
FRACTION = 4
"""Bounds are fractions of other forces; a box once these are known."""

_BILATERAL, _SIGNORINI, _COULOMB, _IMPOSED, _BOUNDED, _, _ = (int(law) for law in Law)


@dataclass(frozen=True, eq=False)
class MixedProblem:
    """δ = delta_free + W λ with a law for each row.

    W (m, m) in m/N, delta_free (m,) in m, law (m,) of `Law`. `mu` (m,) is read on the normal rows of Coulomb contacts,
    `lower` and `upper` (m,) in N on bounded rows (±inf for no bound); `target` (m,) on all rows, on
    tangents as the slip of a surface that moves by itself.
    `MixedProblem.of` checks what it is given.
    """

    W: FloatArray
    delta_free: FloatArray
    law: IntArray
    mu: FloatArray
    lower: FloatArray
    upper: FloatArray
    target: FloatArray

    @classmethod
    def of(
        cls, W: Any, delta_free: Any, law: Any, *, mu: Any = 0.0, lower: Any = -np.inf, upper: Any = np.inf,
        target: Any = 0.0,
    ) -> MixedProblem:  # fmt: skip
        """A checked problem; numbers stand for the same value on every row."""
        gaps = finite_array("delta_free", delta_free, shape=(None,))
        m = len(gaps)
        codes = np.broadcast_to(np.asarray(law, np.int32), (m,))

        def rows(value: Any) -> FloatArray:
            return np.array(np.broadcast_to(np.asarray(value, np.float64), (m,)))

        return _checked(
            cls(finite_array("W", W, shape=(m, m)), gaps, codes, rows(mu), rows(lower), rows(upper), rows(target))
        )

    def checked(self) -> MixedProblem:
        """The problem, or an `InputError` that names what is not finite or not allowed.

        A NaN anywhere makes the sum over all entries one, which costs little: what every step can afford. Only then
        are rows looked at one by one.
        """
        if np.isfinite(self.W.sum() + self.delta_free.sum() + self.target.sum() + self.mu.sum()):
            return self
        return self.of(
            self.W, self.delta_free, self.law, mu=self.mu, lower=self.lower, upper=self.upper, target=self.target
        )


class Roles(NamedTuple):
    """The role of each row (m,), `GIVEN` to `FRACTION`; λ (m,) in N where it is given, else 0; and the bounds (m,) of λ
    of a box, in N.
    """

    role: IntArray
    given: FloatArray
    lower: FloatArray
    upper: FloatArray

    @classmethod
    def of(cls, rows: Any) -> Roles:
        """Roles of the rows of a `MixedProblem`, or of anything else with `law`, `mu`, `lower`, `upper`, `target`."""
        m = len(rows.law)
        made = cls(np.empty(m, np.int8), np.empty(m), np.empty(m), np.empty(m))
        given = frozen(rows.law), frozen(rows.mu), frozen(rows.lower), frozen(rows.upper), frozen(rows.target)
        classify(*given, *made)
        return made


@kernel
def classify(
    law: IntArray, mu: FloatArray, lower: FloatArray, upper: FloatArray, target: FloatArray, role: IntArray,
    given: FloatArray, low: FloatArray, high: FloatArray,
) -> None:  # fmt: skip
    """Fill the parts of `Roles`, all (m,), from the laws of the rows."""
    m, i = len(law), 0
    given[:], low[:], high[:] = 0.0, 0.0, np.inf  # a box without bounds of its own is that of Signorini's law
    while i < m:
        kind = law[i]
        if kind == _COULOMB:
            role[i : i + 3] = CONE
            if mu[i] == 0.0:
                role[i] = BOX
                role[i + 1 : i + 3] = GIVEN
            i += 3
            continue
        role[i] = FRACTION
        if kind == _BILATERAL:
            role[i] = EQUALITY
        elif kind == _SIGNORINI:
            role[i] = BOX
        elif kind == _IMPOSED:
            role[i], given[i] = GIVEN, target[i]
        elif kind == _BOUNDED:
            role[i], low[i], high[i] = BOX, lower[i], upper[i]
            if lower[i] == upper[i]:
                role[i], given[i] = GIVEN, lower[i]
            elif lower[i] == -np.inf and upper[i] == np.inf:
                role[i] = EQUALITY
        i += 1


def _checked(p: MixedProblem) -> MixedProblem:
    """The problem, or an `InputError` that names the first wrong row."""
    _require(np.isin(p.law, [int(law) for law in Law]), "law must be one of Law", p.law)
    _require(p.mu >= 0.0, "mu must be ≥ 0", p.mu)
    _require(np.isfinite(p.mu), "mu must be finite", p.mu)
    _require(np.isfinite(p.target), "target must be finite", p.target)
    _require(p.lower <= p.upper, "lower must be ≤ upper", p.lower)
    _require((p.lower < np.inf) & (p.upper > -np.inf), "bounds must leave a finite force between them", p.lower)
    coulomb = np.flatnonzero(p.law == _COULOMB)
    if len(coulomb) % 3 or not np.array_equal(coulomb[::3, None] + np.arange(3), coulomb.reshape(-1, 3)):
        raise InputError(
            f"Coulomb rows must come in threes (normal, tangent, tangent), got {len(coulomb)} rows starting at "
            f"{coulomb[0]}"
        )
    return p


def _require(fine: BoolArray, rule: str, values: Any) -> None:
    if not fine.all():
        row = int(np.argmin(fine))
        raise InputError(f"{rule}, but row {row} has {values[row]:g}")
