"""Actuators: constraints with a command and limits, such as cables, chambers, joints, rod bases and layers.

A cable shortens the polyline through its points, a cavity pushes on a closed surface, a joint drives a rigid body, a
base drive a rod, a layer spreads in its plane, a force point pushes along a given direction.
"""

from pliant.actuators.base_drive import BaseDrive, BaseDriveRows
from pliant.actuators.cable import Cable, CableRows
from pliant.actuators.cavity import Cavity, CavityRows
from pliant.actuators.drive import Actuator, ActuatorRows, DriveRow
from pliant.actuators.force_point import ForcePoint, ForcePointRows
from pliant.actuators.joint import Hinge, JointRows, Slider
from pliant.actuators.layer import Layer, LayerRows
from pliant.actuators.limits import Command, Limits
from pliant.actuators.stiffness import Stiffness, StiffnessRows

__all__ = [
    "Actuator",
    "ActuatorRows",
    "BaseDrive",
    "BaseDriveRows",
    "Cable",
    "CableRows",
    "Cavity",
    "CavityRows",
    "Command",
    "DriveRow",
    "ForcePoint",
    "ForcePointRows",
    "Hinge",
    "JointRows",
    "Layer",
    "LayerRows",
    "Limits",
    "Slider",
    "Stiffness",
    "StiffnessRows",
]
