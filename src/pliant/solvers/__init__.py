"""Solvers that know no robot: arrays in, arrays out."""

from pliant.solvers.complementarity.friction import friction
from pliant.solvers.complementarity.lcp import lcp

__all__ = ["friction", "lcp"]
