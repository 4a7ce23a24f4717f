"""Inverse problems through contact: effectors, the inverse solver, kinematics, streams of actuation to hardware."""

from pliant.control import paths, stream
from pliant.control.effectors import Effector, LengthEffector, OrientationEffector, VolumeEffector
from pliant.control.inverse import Inverse
from pliant.control.kinematics import Kinematics, kinematics, point_compliance, point_stiffness, reachable_set
from pliant.control.landscape import Landscape, LandscapePiece, cost_landscape
from pliant.control.landscape_plot import plot_cost_landscape
from pliant.control.supports import MovedSupport

__all__ = [
    "Effector",
    "Inverse",
    "Kinematics",
    "Landscape",
    "LandscapePiece",
    "LengthEffector",
    "MovedSupport",
    "OrientationEffector",
    "VolumeEffector",
    "cost_landscape",
    "kinematics",
    "paths",
    "plot_cost_landscape",
    "point_compliance",
    "point_stiffness",
    "reachable_set",
    "stream",
]
