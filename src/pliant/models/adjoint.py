"""What derivatives of a step ask of a body: solves with A and Aᵀ, and how its equation depends on the start.

R(q⁺, q, v, λ) = −(r + Hᵀλ) = 0 is the equation of a body, A = ∂R/∂q⁺. Derivatives by q and q⁺ are in the coordinates
of its dx, rotations by exp.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from pliant.core.types import FloatArray


class Pulled(NamedTuple):
    """Derivatives by the end q⁺ and by the start q and v of a step, each of the shape of dx."""

    end: FloatArray
    q: FloatArray
    v: FloatArray


class BodyAdjoint(Protocol):
    """One body in the adjoint of one step, with its geometric stiffness of rows where it can hold it."""

    def solve(self, g: FloatArray) -> FloatArray:
        """A⁻ᵀ g over the free unknowns, of the shape of dx."""

    def solve_rows(self, G: Any) -> FloatArray:
        """A⁻ᵀ Gᵀ (unknowns, m) of rows G (m, unknowns)."""

    def rest(self, w: FloatArray) -> FloatArray | None:
        """(∂R/∂q⁺ − A)ᵀ w, what `solve` does not know of; None where it knows all."""

    def start(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """−(∂R/∂q)ᵀ w and −(∂R/∂v)ᵀ w at fixed q⁺."""

    def velocity(self, g: FloatArray) -> Pulled:
        """The derivatives of g · v⁺."""

    def solve_columns(self, b: FloatArray) -> FloatArray:
        """A⁻¹ b over the free unknowns, (unknowns, k)."""

    def rest_along(self, y: FloatArray) -> FloatArray | None:
        """(∂R/∂q⁺ − A) y, of the shape of dx; None where A holds all."""

    def started(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """−∂R/∂q q − ∂R/∂v v at fixed q⁺ of motions q and v of the start, (unknowns, k) each."""

    def ended(self, end: FloatArray, q: FloatArray, v: FloatArray) -> FloatArray:
        """How v⁺ follows motions of the end and of q and v of the start, (unknowns, k) each."""

    def release(self) -> None:
        """Give memory back."""
