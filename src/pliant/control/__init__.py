"""Inverse problems through contact: effectors, the inverse solver, kinematics, streams of actuation to hardware."""

from pliant.control import paths, stream
from pliant.control.balancing import balanced_truncation, hankel_values
from pliant.control.effectors import Effector, LengthEffector, OrientationEffector, VolumeEffector
from pliant.control.inverse import Inverse
from pliant.control.kinematics import Kinematics, kinematics, point_compliance, point_stiffness, reachable_set
from pliant.control.linear import linearize
from pliant.control.predictive import Plan, Predictive
from pliant.control.supports import MovedSupport

__all__ = [
    "Effector",
    "Inverse",
    "Kinematics",
    "LengthEffector",
    "MovedSupport",
    "OrientationEffector",
    "Plan",
    "Predictive",
    "VolumeEffector",
    "balanced_truncation",
    "hankel_values",
    "kinematics",
    "linearize",
    "paths",
    "point_compliance",
    "point_stiffness",
    "reachable_set",
    "stream",
]
