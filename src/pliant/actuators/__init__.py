"""Actuators: rows with a law. A cable pulls points together, a cavity pushes on a closed surface, a joint drives a
rigid body, a base drive a rod, a force point pushes where it is told.
"""

from pliant.actuators.base_drive import BaseDrive, BaseDriveRows
from pliant.actuators.cable import Cable, CableRows
from pliant.actuators.cavity import Cavity, CavityRows
from pliant.actuators.drive import Actuator, ActuatorRows, DriveRow
from pliant.actuators.force_point import ForcePoint, ForcePointRows
from pliant.actuators.joint import Hinge, JointRows, Slider
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
    "Limits",
    "Slider",
    "Stiffness",
    "StiffnessRows",
]
