"""Identification: parameters of a model from measurements of the robot, with intervals and what the data leave open."""

from pliant.identification.experiment import Experiment
from pliant.identification.frames import Frame
from pliant.identification.identify import identify
from pliant.identification.measurements import ActuatorDisplacement, ActuatorForce, ContactForce, Markers
from pliant.identification.result import Identified
from pliant.identification.unknowns import Unknown

__all__ = [
    "ActuatorDisplacement",
    "ActuatorForce",
    "ContactForce",
    "Experiment",
    "Frame",
    "Identified",
    "Markers",
    "Unknown",
    "identify",
]
