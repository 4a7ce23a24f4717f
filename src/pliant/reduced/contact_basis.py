"""Contacts in a few modes: λ ≈ Ψ β with Ψ ≥ 0 and β ≥ 0, a problem of k modes instead of one of all points.

With H and the gaps of all points that a mode touches, near or far,

    Ĥ = Ψᵀ H,    gap̂ = Ψᵀ gap,    0 ≤ β ⊥ gap̂ + Ĥ dx ≥ 0,

formed before W, so that only k right-hand sides are solved. Columns of Ψ sum to one: gap̂ is a mean gap (m) and β the
total normal force of a mode (N). Ψᵀ δ ≥ 0 does not imply δ ≥ 0: `info.penetration` is the depth of the points.

The points are those of a `pl.Facing`, or, of any other pair of surfaces, those that pushed in snapshots
(`ContactPoints`). A contact outside all modes keeps a row of its own; `info.unknown_contacts` counts those that push.
With friction a mode has one force along each of the carried tangents of its points, distributed like its normal force,
so every point obeys Coulomb's law when the mode does.

Reference: O. Goury, B. Carrez, C. Duriez, "Real-time simulation for control of soft robots with self-collisions using
model order reduction for contact forces", IEEE RA-L 6, 2021, section III.B.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from pliant.constraints.contact import ContactPair
from pliant.constraints.facing import FacingPair
from pliant.core.checks import finite_array, non_negative
from pliant.core.declared import check_declared
from pliant.core.errors import InputError
from pliant.core.types import FloatArray
from pliant.reduced.contact_points import ContactPoints, fingerprint
from pliant.reduced.reduced_pair import ReducedPair

FAINT = 1e-3
"""Entries of a mode below this fraction of its largest are dropped: they would only add points with faint forces."""


@dataclass(frozen=True, eq=False)
class ContactBasis:
    """Modes `modes` (p, k) ≥ 0 of p potential contacts of the pair called `facing`; columns sum to one.

    `fingerprint` is that of the pair and its bodies' meshes, so that modes of another robot are refused. `points` are
    the potential contacts of a colliding pair; None for those of a `pl.Facing`.

    guards
        Most full rows beside the modes: one for the nearest point of each group that a mode touches (in quasi-static
        steps for all that touch), deepest first. They stop penetrations that modes average away; 0: none.
    tolerance
        Allowed depth of a point outside all modes in a group that modes touch, as a fraction of the margin; there it
        gets a row of its own.
    """

    facing: str
    modes: FloatArray
    fingerprint: str
    guards: int = 0
    tolerance: float = 0.05
    points: ContactPoints | None = None

    def __post_init__(self) -> None:
        check_declared(self)
        modes = finite_array(f"modes of {self.facing!r}", self.modes, shape=(None, None))
        non_negative("tolerance", self.tolerance)
        if not modes.size or modes.min() < 0.0 or self.guards < 0:
            raise InputError(f"modes of {self.facing!r} must be (p, k) ≥ 0, and guards ≥ 0")
        if self.points is not None and (
            not isinstance(self.points, ContactPoints) or len(self.points.nodes) != len(modes)
        ):
            raise InputError(f"modes of {self.facing!r} need an entry for each of their points, got {modes.shape}")

    @classmethod
    def of(
        cls, pair: ContactPair, modes: Any, *,
        points: ContactPoints | None = None, guards: int = 0, tolerance: float = 0.05,
    ) -> ContactBasis:  # fmt: skip
        """The basis of `pair` from `modes` (p, k) of any scale, without empty ones."""
        if guards < 0:
            raise InputError(f"guards must be ≥ 0, got {guards}")
        non_negative("tolerance", tolerance)
        if points is None:
            if not isinstance(pair, FacingPair):
                raise InputError(f"{pair.name!r} is not a facing: its modes need points, see contact_points")
            return cls(pair.name, checked_modes(pair.name, modes, pair.count), fingerprint(pair), guards, tolerance)
        kept = checked_modes(pair.name, modes, len(points.nodes))
        own = replace(points, snapshots=np.zeros((len(kept), 0)))
        return cls.on_points(own, kept, guards, tolerance)

    @classmethod
    def on_points(cls, seen: ContactPoints, modes: FloatArray, guards: int, tolerance: float) -> ContactBasis:
        """The basis of the pair of `seen` from checked `modes` (p, k), the form that earlier versions saved."""
        kept = checked_modes(seen.pair, modes, len(seen.nodes))  # again: removes the rounding of the sums
        return cls(seen.pair, kept, seen.fingerprint, guards, tolerance, seen)

    @property
    def count(self) -> int:
        """Number of modes."""
        return int(self.modes.shape[1])

    def covers(self, part: Any) -> bool:
        """Whether these are modes of `part`; an error where it has their name but another robot or mesh."""
        pair = part.full if isinstance(part, ReducedPair) else part
        if not isinstance(pair, ContactPair) or pair.name != self.facing:
            return False
        if isinstance(pair, FacingPair) is not (self.points is None):
            return False
        if fingerprint(pair) != self.fingerprint:
            raise InputError(
                f"the modes of {self.facing!r} belong to another robot or mesh; take snapshots of this one"
            )
        return True

    def reduced(self, part: ContactPair) -> ReducedPair:
        """`part` with its contacts in these modes."""
        if not self.covers(part):
            raise InputError(f"the contact modes of {self.facing!r} are none of {part.name!r}")
        full: Any = part.full if isinstance(part, ReducedPair) else part
        own = {item.name: getattr(full, item.name) for item in fields(ContactPair)}
        facing = full if self.points is None else self.points.pair_of(full)
        return ReducedPair(**own, full=full, facing=facing, basis=self)


def checked_modes(name: str, modes: Any, count: int) -> FloatArray:
    """Modes (count, k) ≥ 0 whose columns sum to one, without faint entries and empty columns."""
    given = finite_array(f"modes of {name!r}", modes, shape=(count, None))
    if given.size and given.min() < 0.0:
        row, column = np.unravel_index(int(np.argmin(given)), given.shape)
        raise InputError(f"modes of {name!r} must be ≥ 0, contacts push; entry [{row}, {column}] is {given.min():g}")
    kept = np.where(given < FAINT * given.max(axis=0, initial=0.0), 0.0, given)
    kept = kept[:, kept.any(axis=0)]
    if not kept.shape[1]:
        raise InputError(f"all modes of {name!r} are zero; take snapshots in which its points touch")
    return np.ascontiguousarray(kept / kept.sum(axis=0))
