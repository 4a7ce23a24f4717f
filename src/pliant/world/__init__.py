"""Scene (what a person writes), World (frozen), State, and control values."""

from pliant.world.controls import Displacement, Force, Pressure, Traction, VolumeGrowth
from pliant.world.scene import Scene
from pliant.world.state import State
from pliant.world.world import World

__all__ = ["Displacement", "Force", "Pressure", "Scene", "State", "Traction", "VolumeGrowth", "World"]
