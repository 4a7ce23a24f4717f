"""Optimisation: commands over time and designs of robots, by direct shooting with the adjoint."""

from pliant.optimization import variables
from pliant.optimization.optimize import Progress, optimize
from pliant.optimization.problem import Case
from pliant.optimization.result import Optimized, Outcome, Plan

__all__ = ["Case", "Optimized", "Outcome", "Plan", "Progress", "optimize", "variables"]
