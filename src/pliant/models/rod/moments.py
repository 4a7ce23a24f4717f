"""Internal moments of rods, as muscles exert them in their sections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.core.checks import finite_array
from pliant.core.declared import check_declared
from pliant.core.errors import InputError
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray
from pliant.models.volume.fields import TimedLoad, checked_amplitude


@one_line
@dataclass(frozen=True, eq=False)
class RodMoments(TimedLoad):
    """Internal `moments` of a `pl.Rod`, N·m: the torque along it and the bending moments about y and z of its sections,
    (3,) for all or (N, 3), one for each section.

    They are conjugate to the rotations of the sections, as muscles are that turn with them: each acts on both ends of
    its section in opposite directions, so they exert no net force and no net moment. Without other loads a section
    comes to rest with the curvature M/EI: a natural curvature κ is commanded as M = EI κ. As a control: new moments,
    ``pl.values.Torque(array)``. `amplitude` multiplies them over time: a function of t (s) or pairs [(t, factor), …]; a
    control takes its place. Strains and energies of the rod remain those of its material.
    """

    body: Any
    moments: Any = (0.0, 0.0, 0.0)
    amplitude: Any = None

    def __post_init__(self) -> None:
        check_declared(self)
        if not hasattr(self.body, "rest_strains"):
            name = getattr(self.body, "name", self.body)
            raise InputError(f"RodMoments are for rods; {name!r:.60} is none")
        object.__setattr__(self, "moments", self.checked(self.moments))
        object.__setattr__(self, "amplitude", checked_amplitude("RodMoments", self.amplitude))

    @property
    def value(self) -> FloatArray:  # type: ignore[override]
        """Moments of the sections, (N, 3), N·m."""
        return np.asarray(self.moments)

    def checked(self, given: Any, what: str = "moments of RodMoments") -> FloatArray:
        """Moments of the sections (N, 3), N·m, from those that a user gives."""
        values, shape = finite_array(what, given), (self.body.sections, 3)
        if values.shape not in ((3,), shape):
            raise InputError(f"{what} must have shape (3,) or {shape}, one for each section, got {values.shape}")
        return np.broadcast_to(values, shape).copy()


def work(muscles: Sequence[RodMoments], values: Mapping[Any, Any], q: FloatArray) -> float:
    """Σ M·ψ of the moments under the controls `values` on the rotations of the sections at q (4 + 2N, 3), J."""
    return float(np.vdot(_exerted(muscles, values), q[4::2])) if muscles else 0.0


def rest_under(
    muscles: Sequence[RodMoments], values: Mapping[Any, Any], rest: FloatArray, stiffness: FloatArray
) -> FloatArray:
    """`rest` (4 + 2N, 3) with rotations of the sections at which their `stiffness` (2N, 3) balances the moments: M is
    the moment of the stiffness K about a rotation M/K at rest.
    """
    moved = rest.copy()
    moved[4::2] += _exerted(muscles, values) / stiffness[::2]
    return moved


def _exerted(muscles: Sequence[RodMoments], values: Mapping[Any, Any]) -> FloatArray:
    """The sum of the moments, (N, 3), N·m; `values` overrides them."""
    first, *others = (load.value if values.get(load) is None else values[load] for load in muscles)
    return np.asarray(sum(others, start=first))
