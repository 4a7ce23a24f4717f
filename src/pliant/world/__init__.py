"""Scene (what a person writes), World (frozen), State, and control values."""

from pliant.world.controls import Displacement, Force, Placement, Pressure, Traction, VolumeGrowth, Wrench
from pliant.world.scene import Scene
from pliant.world.state import State
from pliant.world.world import World

__all__ = [
    "Displacement",
    "Force",
    "Placement",
    "Pressure",
    "Scene",
    "State",
    "Traction",
    "VolumeGrowth",
    "World",
    "Wrench",
]
