"""Steppers `(world, state, controls) → (state, info)`, `simulate`, and the recorded run."""

from pliant.stepping.implicit_euler import ImplicitEuler
from pliant.stepping.implicit_midpoint import ImplicitMidpoint
from pliant.stepping.info import StepInfo
from pliant.stepping.quasi_static import QuasiStatic
from pliant.stepping.run import Run
from pliant.stepping.simulate import Stepper, simulate

__all__ = [
    "ImplicitEuler",
    "ImplicitMidpoint",
    "QuasiStatic",
    "Run",
    "StepInfo",
    "Stepper",
    "simulate",
]
