"""Laws of a contact: friction, restitution, and the modes of its state machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Any

from pliant.core.checks import non_negative
from pliant.core.errors import InputError
from pliant.core.one_line import one_line


class Mode(IntEnum):
    """State of a contact, with the values of the paper's figure 1.

    FREE: h > 0 and no force. CONTACT: the stabilised constraint is active and gives λ. BALLISTIC: λ would be tensile,
    so it is zero until the bodies separate (h rises through 0) or approach again (h ≤ 0 and ḣ < 0).
    """

    FREE = 0
    CONTACT = 1
    BALLISTIC = 2


class Grip(IntEnum):
    """State of the friction at a contact: NONE while it carries no force, then STICK or SLIP."""

    NONE = 0
    STICK = 1
    SLIP = 2


class RestitutionLaw(Enum):
    """NEWTON: ḣ⁺ = −e ḣ⁻. POISSON: the impulse of restitution is e times that of compression."""

    NEWTON = "newton"
    POISSON = "poisson"


@one_line
@dataclass(frozen=True)
class Restitution:
    """An impulsive impact: the coefficient of restitution in [0, 1], its law, and a threshold speed.

    An impact slower than `rest_speed` (m/s) is plastic and activates the stabilised contact; with 0 a bouncing body
    bounces infinitely often in finite time, and the run ends as Zeno.
    """

    coefficient: float
    law: RestitutionLaw = RestitutionLaw.NEWTON
    rest_speed: float = 1e-3

    def __post_init__(self) -> None:
        if not 0.0 <= non_negative("coefficient of restitution", self.coefficient) <= 1.0:
            raise InputError(f"the coefficient of restitution must lie in [0, 1], got {self.coefficient:g}")
        non_negative("rest_speed", self.rest_speed, unit="m/s")
        known = [*RestitutionLaw, *(law.value for law in RestitutionLaw)]
        if not isinstance(self.law, (str, RestitutionLaw)) or self.law not in known:
            raise InputError(f'law of restitution must be "newton" or "poisson", got {self.law!r:.60}')
        object.__setattr__(self, "law", RestitutionLaw(self.law))


@one_line
@dataclass(frozen=True, eq=False)
class Friction:
    """Coulomb friction with stick–slip events.

    `coefficient` μ bounds the tangential force by μλ. The tangential motion is given by `slide(q)`, displacements
    (k·d,) m along d = 1 or 2 directions at each of the k contacts of its constraint, or, where no such function exists
    (rolling, spinning), by `rows(q, v)` → T (k·d, n) and the curvature dT/dt·v (k·d,) m/s²: the slip velocity is T v.
    In stick, T v decays at the rate `damping` (1/s), so that integration errors do not accumulate.
    """

    coefficient: float
    slide: Callable[[Any], Any] | None = None
    rows: Callable[..., tuple[Any, Any]] | None = None
    directions: int = 1
    damping: float = 10.0

    def __post_init__(self) -> None:
        non_negative("coefficient of friction", self.coefficient)
        non_negative("damping of the sticking state", self.damping, unit="1/s")
        if (self.slide is None) == (self.rows is None):
            raise InputError("friction needs exactly one of `slide(q)` and `rows(q, v)` for its tangential motion")
        if self.directions not in (1, 2):
            raise InputError(f"friction acts along 1 or 2 directions, got {self.directions}")
