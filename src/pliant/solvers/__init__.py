"""Solvers on arrays: sparse Cholesky, contact problems, inverse problems. They know no robot."""

from pliant.solvers.contact.friction import friction
from pliant.solvers.contact.lcp import lcp
from pliant.solvers.inverse.qpcc import qpcc

__all__ = ["friction", "lcp", "qpcc"]
