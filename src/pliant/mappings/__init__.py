"""Mappings: points that ride on a model, and how rows over them reach its unknowns."""

from pliant.mappings.barycentric import BarycentricMap, NodeMap
from pliant.mappings.beam_map import BeamMap
from pliant.mappings.frame import FrameMap
from pliant.mappings.motion_bound import GroupedRiders, approach_bound
from pliant.mappings.point_map import PointMap
from pliant.mappings.riding import riding
from pliant.mappings.rod_map import RodMap

__all__ = [
    "BarycentricMap",
    "BeamMap",
    "FrameMap",
    "GroupedRiders",
    "NodeMap",
    "PointMap",
    "RodMap",
    "approach_bound",
    "riding",
]
