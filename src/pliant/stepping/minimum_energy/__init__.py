"""Quasi-static configurations of least energy at imposed chamber volumes, with contact (`pl.Geometric`)."""

from pliant.stepping.minimum_energy.stepper import Geometric, GeometricInfo

__all__ = ["Geometric", "GeometricInfo"]
