"""Solvers of δ = δ_free + W λ under the laws of the rows. Arrays in, arrays out.

Main path: `solve` classifies rows (`laws`), eliminates equalities (`elimination`) and solves the boxes and cones that
remain (`blocks`): `principal_pivoting` without friction, `friction_iteration` with it (`gauss_seidel` over
`single_contact`, then `newton`); `fractions` around it where bounds depend on forces. `fallback`: what is tried where
these stall. `certificate`: the proof that no forces satisfy the rows. `lcp` and `friction` take arrays of their own.
`loading` reads kernels from the disk ahead of the first contact.
"""

from pliant.solvers.contact.certificate import ConflictingRowsError
from pliant.solvers.contact.friction import friction, friction_residual
from pliant.solvers.contact.laws import Law, MixedProblem
from pliant.solvers.contact.lcp import lcp
from pliant.solvers.contact.result import ComplementarityResult
from pliant.solvers.contact.solve import solve

__all__ = [
    "ComplementarityResult",
    "ConflictingRowsError",
    "Law",
    "MixedProblem",
    "friction",
    "friction_residual",
    "lcp",
    "solve",
]
