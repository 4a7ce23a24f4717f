"""Control values: the inputs of a step, with their physical meaning in the type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pliant.core.one_line import one_line

__all__ = [
    "Angle",
    "AreaGrowth",
    "AreaRatio",
    "Cut",
    "Displacement",
    "Force",
    "ForceDensity",
    "LengthRatio",
    "Placement",
    "Pressure",
    "SpreadingPressure",
    "Torque",
    "Traction",
    "VolumeGrowth",
    "VolumeRatio",
    "Wrench",
    "Young",
]


@one_line
@dataclass(frozen=True)
class ControlValue:
    """A value in SI units; the subclass says of what."""

    value: Any


class Displacement(ControlValue):
    """A displacement in m: of a support from rest; along a slider; of a cable, > 0 shortens it."""


class Force(ControlValue):
    """A force in N: a vector (3,) for a point load; a tension ≥ 0 for a cable; along its direction elsewhere."""


class Wrench(ControlValue):
    """A force (N) and a moment (N·m) on a beam or a rod: (2, 3), for a point load or a rod load."""


class Placement(ControlValue):
    """A displacement (m) and a rotation vector (rad) from rest, (2, 3): of the support of a beam or a rod's base."""


class Angle(ControlValue):
    """An angle in rad, of a hinge, from the initial state."""


class Torque(ControlValue):
    """A torque in N·m, of a hinge about its axis; internal moments of a rod, (3,) or one for each section (N, 3)."""


class Traction(ControlValue):
    """A dead traction in Pa of undeformed area, vector (3,), or a field of them as `pl.TractionLoad` takes it."""


class ForceDensity(ControlValue):
    """A dead force per undeformed volume in N/m³, vector (3,), or a field of them as `pl.BodyLoad` takes it."""


class Pressure(ControlValue):
    """A pressure in Pa, > 0 pushes into the body it acts on; of a `pl.PressureLoad` also a field as it takes it."""


class VolumeGrowth(ControlValue):
    """An increase of a chamber's volume in m³."""


class VolumeRatio(ControlValue):
    """The volume of a chamber over its volume at rest, α > 0. (No unit.)"""


class LengthRatio(ControlValue):
    """The length of a cable or an active fibre over that at rest, > 0; below 1 it is shorter. (No unit.)"""


class AreaGrowth(ControlValue):
    """An increase of the area of a layer in m²."""


class AreaRatio(ControlValue):
    """The area of a layer over that at rest, > 0. (No unit.)"""


class SpreadingPressure(ControlValue):
    """A spreading pressure in N/m: force per length with which a layer pushes outward in its own plane."""


class Young(ControlValue):
    """A Young's modulus in Pa, of a region whose stiffness is an actuator."""


@one_line
@dataclass(frozen=True)
class Cut(ControlValue):
    """The cable is cut: from this step on its tension is zero, whatever is commanded. (No value.)"""

    value: Any = 0.0


KINDS: tuple[type[ControlValue], ...] = tuple(ControlValue.__subclasses__())
"""All kinds of control values."""
