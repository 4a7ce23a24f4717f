"""Rows and their condensation to δ = δ_free + W λ."""

from pliant.constraints.condense import condense
from pliant.constraints.rows import Assembly, RowLaw, RowMaker, Rows, RowView, StiffRowMaker, assemble, forces_of

__all__ = ["Assembly", "RowLaw", "RowMaker", "RowView", "Rows", "StiffRowMaker", "assemble", "condense", "forces_of"]
