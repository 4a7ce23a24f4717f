"""Cosserat rods of sections of constant strain: the unknowns are strains, and the motion of the base."""

from pliant.models.rod.model import RodModel
from pliant.models.rod.moments import RodMoments
from pliant.models.rod.rod import Rod, Slide, Turn
from pliant.models.rod.stations import RodLoad

__all__ = ["Rod", "RodLoad", "RodModel", "RodMoments", "Slide", "Turn"]
