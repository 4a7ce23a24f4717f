"""Geometric simulation: shapes of least energy at given volumes of chambers, with contact and without time."""

from pliant.geometric.paper_info import PaperInfo
from pliant.geometric.paper_options import PaperOptions
from pliant.geometric.stepper import Geometric, GeometricInfo

__all__ = ["Geometric", "GeometricInfo", "PaperInfo", "PaperOptions"]
