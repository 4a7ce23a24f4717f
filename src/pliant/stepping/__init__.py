"""Steppers `(world, state, controls) → (state, info)`, made of stages that are functions of frozen values."""

from pliant.stepping.damped_midpoint import DampedMidpoint
from pliant.stepping.implicit_euler import ImplicitEuler
from pliant.stepping.implicit_midpoint import ImplicitMidpoint
from pliant.stepping.info import StepInfo
from pliant.stepping.quasi_static import QuasiStatic

__all__ = ["DampedMidpoint", "ImplicitEuler", "ImplicitMidpoint", "QuasiStatic", "StepInfo"]
