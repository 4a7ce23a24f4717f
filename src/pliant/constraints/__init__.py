"""Constraints, their rows, and the condensation of these to δ = δ_free + W λ."""

from pliant.constraints.condense import Condensation, Island, condense
from pliant.constraints.rows import Assembly, Constraint, RowLaw, Rows, RowView, assemble, detect, forces_of, gathered

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
