"""Laws, rows and their condensation to δ = δ_free + W λ."""

from pliant.constraints.condense import Problem, condense
from pliant.constraints.rows import RowLaw, RowMaker, Rows, assemble

__all__ = ["Problem", "RowLaw", "RowMaker", "Rows", "assemble", "condense"]
