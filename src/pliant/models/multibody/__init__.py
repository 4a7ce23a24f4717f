"""Rigid bodies in generalized coordinates: mass matrix and bias from plain kinematics, with exact derivatives."""

from pliant.models.multibody.jets import Jet, derivatives, variables

__all__ = ["Jet", "derivatives", "variables"]
