"""Constraints, their rows, and the condensation of these to δ = δ_free + W λ."""

from pliant.constraints.assembly import Assembly, assemble, detect, gathered
from pliant.constraints.condense import Condensation, Island, condense
from pliant.constraints.rows import Constraint, RowLaw, Rows, RowView, forces_of

__all__ = [
    "Assembly",
    "Condensation",
    "Constraint",
    "Island",
    "RowLaw",
    "RowView",
    "Rows",
    "assemble",
    "condense",
    "detect",
    "forces_of",
    "gathered",
]
