"""Estimation: what a robot feels, from what its sensors read."""

from pliant.estimation.estimate import Alternative, Estimate, Felt
from pliant.estimation.estimator import Estimator
from pliant.estimation.filter import Belief, Filter
from pliant.estimation.forces import PointForce, Push

__all__ = ["Alternative", "Belief", "Estimate", "Estimator", "Felt", "Filter", "PointForce", "Push"]
