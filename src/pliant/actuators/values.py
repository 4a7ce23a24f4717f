"""Control values: what a person hands to a step, with its physical meaning in the type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = [
    "Angle",
    "AreaGrowth",
    "AreaRatio",
    "Cut",
    "Displacement",
    "Force",
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


@dataclass(frozen=True)
class Displacement:
    """A displacement in m: of a support from its rest place; along a slider; of a cable, > 0 shortens it."""

    value: Any


@dataclass(frozen=True)
class Force:
    """A force in N: a vector (3,) for a point load; a tension ≥ 0 for a cable; along its direction elsewhere."""

    value: Any


@dataclass(frozen=True)
class Wrench:
    """A force (N) and a moment (N·m) on a beam or a rod: (2, 3), for a point load or a rod load."""

    value: Any


@dataclass(frozen=True)
class Placement:
    """A displacement (m) and a rotation vector (rad) from rest, (2, 3): of the support of a beam or a rod's base."""

    value: Any


@dataclass(frozen=True)
class Angle:
    """An angle in rad, of a hinge from where it began."""

    value: Any


@dataclass(frozen=True)
class Torque:
    """A torque in N·m, of a hinge about its axis."""

    value: Any


@dataclass(frozen=True)
class Traction:
    """A dead traction in Pa of undeformed area, vector (3,)."""

    value: Any


@dataclass(frozen=True)
class Pressure:
    """A pressure in Pa, > 0 pushes into the body it acts on."""

    value: Any


@dataclass(frozen=True)
class VolumeGrowth:
    """A growth of a chamber's volume in m³."""

    value: Any


@dataclass(frozen=True)
class VolumeRatio:
    """The volume of a chamber over its volume at rest, α > 0. (No unit.)"""

    value: Any


@dataclass(frozen=True)
class LengthRatio:
    """The length of a cable or an active fibre over that at rest, > 0; below 1 it is shorter. (No unit.)"""

    value: Any


@dataclass(frozen=True)
class AreaGrowth:
    """A growth of the area of a layer in m²."""

    value: Any


@dataclass(frozen=True)
class AreaRatio:
    """The area of a layer over that at rest, > 0. (No unit.)"""

    value: Any


@dataclass(frozen=True)
class SpreadingPressure:
    """A spreading pressure in N/m: force per length with which a layer pushes outward in its own plane."""

    value: Any


@dataclass(frozen=True)
class Young:
    """A Young's modulus in Pa, of a part whose stiffness is an actuator."""

    value: Any


@dataclass(frozen=True)
class Cut:
    """The cable is cut: from this step on it never pulls again, whatever is asked of it. (No value.)"""

    value: Any = 0.0


KINDS = (
    Angle,
    AreaGrowth,
    AreaRatio,
    Cut,
    Displacement,
    Force,
    LengthRatio,
    Placement,
    Pressure,
    SpreadingPressure,
    Torque,
    Traction,
    VolumeGrowth,
    VolumeRatio,
    Wrench,
    Young,
)
"""All kinds of control values."""
