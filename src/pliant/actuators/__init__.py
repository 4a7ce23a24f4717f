"""Actuators: rows with a law. A cable pulls points together, a cavity pushes on a closed surface, a joint drives a
rigid body, a base drive a rod, a layer spreads in its plane, a force point pushes where it is told.
"""

from pliant.actuators.base_drive import BaseDrive, BaseDriveRows
from pliant.actuators.cable import Cable, CableRows
from pliant.actuators.cavity import Cavity, CavityRows
from pliant.actuators.force_point import ForcePoint, ForcePointRows
from pliant.actuators.joint import Hinge, JointRows, Slider
from pliant.actuators.layer import Layer, LayerRows
from pliant.actuators.limits import Command, Limits
from pliant.actuators.stiffness import Stiffness, StiffnessRows

Actuator = Cable | Cavity | ForcePoint | Slider | Hinge | Layer | Stiffness | BaseDrive
ActuatorRows = CableRows | CavityRows | ForcePointRows | JointRows | LayerRows | StiffnessRows | BaseDriveRows


def actuator_rows(actuator: Actuator, key: int) -> ActuatorRows:
    """The rows of an actuator, the drive first, before its bodies are compiled; `key` identifies the drive's row."""
    if isinstance(actuator, Cable):
        return CableRows.of(actuator, key)
    if isinstance(actuator, Cavity):
        return CavityRows.of(actuator, key)
    if isinstance(actuator, ForcePoint):
        return ForcePointRows.of(actuator, key)
    if isinstance(actuator, Layer):
        return LayerRows.of(actuator, key)
    if isinstance(actuator, Stiffness):
        return StiffnessRows.of(actuator, key)
    if isinstance(actuator, BaseDrive):
        return BaseDriveRows.of(actuator, key)
    return JointRows.of(actuator, key)


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
    "actuator_rows",
]
