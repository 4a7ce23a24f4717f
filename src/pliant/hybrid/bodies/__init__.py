"""Rigid bodies in generalized coordinates: mass matrix and bias from plain kinematics, with exact derivatives."""

from pliant.hybrid.bodies.boxes import BoxPairs
from pliant.hybrid.bodies.free_bodies import FreeBodies
from pliant.hybrid.bodies.jets import Jet, derivatives, variables

__all__ = ["BoxPairs", "FreeBodies", "Jet", "derivatives", "variables"]
