"""Gradients: exact derivatives of scalars of runs and equilibria, by the adjoint of the steps that were computed."""

from pliant.gradients import losses, parameters
from pliant.gradients.gradient import Gradient, gradient

__all__ = ["Gradient", "gradient", "losses", "parameters"]
