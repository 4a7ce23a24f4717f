"""Solvers that know no robot: arrays in, arrays out."""

from pliant.solvers.complementarity.friction import friction
from pliant.solvers.complementarity.lcp import lcp
from pliant.solvers.qp.qpcc import qpcc

__all__ = ["friction", "lcp", "qpcc"]
