"""Gradients: exact derivatives of scalars of runs and equilibria, by the adjoint of the steps that were computed."""

from pliant.gradients import losses, parameters
from pliant.gradients.gradient import Gradient, gradient
from pliant.gradients.jax_function import jax_function
from pliant.gradients.objective import Objective
from pliant.gradients.torch_function import torch_function

__all__ = ["Gradient", "Objective", "gradient", "jax_function", "losses", "parameters", "torch_function"]
