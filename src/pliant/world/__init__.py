"""Scene (what a person writes), World (compiled and frozen), State, and control values."""

from pliant.actuators.values import (
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
from pliant.world.scene import Scene
from pliant.world.state import State
from pliant.world.world import World

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
    "Scene",
    "SpreadingPressure",
    "State",
    "Torque",
    "Traction",
    "VolumeGrowth",
    "VolumeRatio",
    "World",
    "Wrench",
    "Young",
]
