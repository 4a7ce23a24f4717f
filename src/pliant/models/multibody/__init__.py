"""Rigid bodies in generalized coordinates: mass matrix and bias from plain kinematics, with exact derivatives."""

from pliant.models.multibody.boxes import BoxPairs
from pliant.models.multibody.free_bodies import FreeBodies
from pliant.models.multibody.jets import Jet, derivatives, variables

__all__ = ["BoxPairs", "FreeBodies", "Jet", "derivatives", "variables"]
