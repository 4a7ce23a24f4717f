"""Gradients: exact derivatives of scalars of runs and equilibria, by the adjoint of the steps that were computed, and
of all that is read from a run, by their tangent.
"""

from pliant.gradients import losses, outputs, parameters
from pliant.gradients.gradient import Gradient, gradient
from pliant.gradients.jax_function import jax_function
from pliant.gradients.objective import Objective
from pliant.gradients.sensitivities import Sensitivities, sensitivities
from pliant.gradients.torch_function import torch_function

__all__ = [
    "Gradient",
    "Objective",
    "Sensitivities",
    "gradient",
    "jax_function",
    "losses",
    "outputs",
    "parameters",
    "sensitivities",
    "torch_function",
]
