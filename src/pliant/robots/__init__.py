"""Robots, parametric: a body with its actuators, ready for `scene.add`.

Common options: `element` is "tet4", "tet10" or "hex8"; `material` None takes the default that the robot states;
`anti_locking`, `damping` and `name` are those of `pl.Volume`.

>>> import pliant as pl
>>> finger = pl.robots.finger()
>>> finger.body.mesh.node_count, finger.body.mesh.cell_count
(162, 396)
"""

from pliant.robots.bellows import bellows
from pliant.robots.finger import finger
from pliant.robots.gripper import Gripper, gripper
from pliant.robots.membrane import Membrane, membrane
from pliant.robots.pneumatic_finger import pneumatic_finger
from pliant.robots.pneumatic_gripper import PneumaticGripper, pneumatic_gripper
from pliant.robots.pneunet import pneunet
from pliant.robots.robot import Marker, Robot
from pliant.robots.spine import spine
from pliant.robots.tower import tower
from pliant.robots.trunk import trunk
from pliant.robots.twister import twister

__all__ = [
    "Gripper",
    "Marker",
    "Membrane",
    "PneumaticGripper",
    "Robot",
    "bellows",
    "finger",
    "gripper",
    "membrane",
    "pneumatic_finger",
    "pneumatic_gripper",
    "pneunet",
    "spine",
    "tower",
    "trunk",
    "twister",
]
