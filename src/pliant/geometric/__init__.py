"""Geometric simulation: shapes of least energy at given volumes of chambers, with contact and without time."""

from pliant.geometric.stepper import Geometric, GeometricInfo

__all__ = ["Geometric", "GeometricInfo"]
