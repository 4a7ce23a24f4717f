"""Inverse problems: how to actuate a robot so that it does what is wanted, and pictures of what makes that hard."""

from pliant.control.landscape import Landscape, LandscapePiece, cost_landscape
from pliant.control.landscape_plot import plot_cost_landscape

__all__ = ["Landscape", "LandscapePiece", "cost_landscape", "plot_cost_landscape"]
