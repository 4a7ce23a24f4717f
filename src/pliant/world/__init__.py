"""Scene (what a person writes), World (compiled and frozen) and State; control values are in `pl.values`."""

from pliant.world.scene import Scene
from pliant.world.state import State
from pliant.world.world import World

__all__ = ["Scene", "State", "World"]
