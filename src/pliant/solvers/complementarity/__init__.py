"""Solvers of δ = δ_free + W λ under the laws of the rows. Arrays in, arrays out."""

from pliant.solvers.complementarity.friction import friction, friction_residual
from pliant.solvers.complementarity.infeasibility import ConflictingRowsError
from pliant.solvers.complementarity.lcp import lcp
from pliant.solvers.complementarity.mixed import Law, LawProblem, MixedProblem, solve
from pliant.solvers.complementarity.result import ComplementarityResult

__all__ = [
    "ComplementarityResult",
    "ConflictingRowsError",
    "Law",
    "LawProblem",
    "MixedProblem",
    "friction",
    "friction_residual",
    "lcp",
    "solve",
]
