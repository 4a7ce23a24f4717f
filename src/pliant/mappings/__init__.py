"""Mappings: points that ride on a model, and the rows by which forces on them reach its unknowns."""

from pliant.mappings.barycentric import BarycentricMap
from pliant.mappings.frame import FrameMap
from pliant.mappings.point_map import PointMap

__all__ = ["BarycentricMap", "FrameMap", "PointMap"]
