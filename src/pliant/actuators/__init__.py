"""Actuators: constraints with a command and limits, such as cables, chambers, joints, rod bases and layers.

A cable shortens the polyline through its points, a tendon a path along a rod, a cavity pushes on a closed surface, a
joint drives a rigid body, a base drive a rod, a layer spreads in its plane,
a force point pushes along a given direction.
"""

from pliant.actuators.base_drive import BaseDrive
from pliant.actuators.cable import Cable, CableRows
from pliant.actuators.cavity import Cavity, CavityRows
from pliant.actuators.drive import Actuator, ActuatorRows, DriveRow
from pliant.actuators.force_point import ForcePoint
from pliant.actuators.joint import Hinge, Slider
from pliant.actuators.layer import Layer
from pliant.actuators.limits import Limits
from pliant.actuators.stiffness import Stiffness
from pliant.actuators.tendon import Tendon, TendonRows
from pliant.actuators.tension import TensionActuator, TensionRows

__all__ = [
    "Actuator",
    "ActuatorRows",
    "BaseDrive",
    "Cable",
    "CableRows",
    "Cavity",
    "CavityRows",
    "DriveRow",
    "ForcePoint",
    "Hinge",
    "Layer",
    "Limits",
    "Slider",
    "Stiffness",
    "Tendon",
    "TendonRows",
    "TensionActuator",
    "TensionRows",
]
