"""A reduced volume in the derivatives of a step of one linear solve, see `models.volume.linear_adjoint`.

Â over the m modes is small: its change with the shape, B = ∂(Â(y) ẑ)/∂y, is taken by central differences, one mode at a
time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import linalg, sparse

from pliant.core.types import FloatArray
from pliant.materials import Tangent
from pliant.models.adjoint import Pulled
from pliant.models.volume.adjoint import refuse
from pliant.reduced.subspace_adjoint import STEP, linear_chart

if TYPE_CHECKING:
    from pliant.reduced.subspace_trial import SubspaceTrial


class LinearSubspaceAdjoint:
    """The adjoint of one step of one linear solve, of a `SubspaceTrial` at its end; `stiffnesses` are terms of the
    matrix by rows at other positions of the body, for q (n, 3).
    """

    def __init__(self, trial: SubspaceTrial, stiffnesses: Callable[[FloatArray], Sequence[Any]]) -> None:
        self._chart, self._scheme = linear_chart(trial.model), trial.scheme
        refuse(trial)  # type: ignore[arg-type]
        self._trial, self._stiffnesses = trial, stiffnesses
        self._q = trial.positions() - trial.dx
        self._moved = self._chart.dual @ trial.dx.ravel()
        self._system = trial.at(np.zeros(trial.dx.shape)).linearize(Tangent.WARPED)[0]
        self._A = self._matrix(np.zeros(len(self._moved)))
        self._factor = linalg.lu_factor(self._A)

    def solve(self, g: FloatArray) -> FloatArray:
        """Φ Â⁻¹ Φᵀ g, (n, 3)."""
        return self._back(g.reshape(-1, 1)).reshape(g.shape)

    def solve_rows(self, G: sparse.csr_matrix) -> FloatArray:
        """Φ Â⁻¹ Φᵀ Gᵀ (unknowns, m)."""
        return self._back(G.T.toarray())

    def rest(self, w: FloatArray) -> FloatArray | None:
        """Nothing: Â holds all."""
        return None

    def start(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """−(∂R/∂q)ᵀ w and −(∂R/∂v)ᵀ w at fixed q⁺, without the rows."""
        chart = self._chart
        z = chart.dual @ w.ravel()
        K = self._trial.model.strained(chart.at(self._q).y, Tangent.EXACT, 1.0)[2]
        along = (self._A - K).T @ z - self._turned().T @ z
        v = self._scheme.momentum * (chart.mass @ z)
        return (chart.dual.T @ along).reshape(w.shape), (chart.dual.T @ v).reshape(w.shape)

    def velocity(self, g: FloatArray) -> Pulled:
        """Derivatives of g · v⁺, v⁺ = c dx."""
        scheme = self._scheme
        return Pulled(scheme.velocity * g, -scheme.velocity * g, scheme.memory * g)

    def solve_columns(self, b: FloatArray) -> FloatArray:
        """Φ Â⁻¹ Φᵀ b, (unknowns, k)."""
        return self._back(b)

    def rest_along(self, y: FloatArray) -> FloatArray | None:
        """Nothing: Â holds all."""
        return None

    def started(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """−∂R/∂q q − ∂R/∂v v at fixed q⁺, without the rows, (unknowns, k)."""
        chart = self._chart
        K = self._trial.model.strained(chart.at(self._q).y, Tangent.EXACT, 1.0)[2]
        along = (self._A - K - self._turned()) @ (chart.dual @ q) + self._scheme.momentum * (
            chart.mass @ (chart.dual @ v)
        )
        return np.asarray(chart.dual.T @ along)

    def ended(self, end: FloatArray, q: FloatArray, v: FloatArray) -> FloatArray:
        """How v⁺ follows the end and the start, (unknowns, k)."""
        return self._scheme.velocity * (end - q) + self._scheme.memory * v

    def stiffened(self, stiffnesses: Sequence[Any]) -> FloatArray:
        """K dx of terms K, (n, 3)."""
        only = replace(self._system, A=np.zeros_like(self._A))
        for K in stiffnesses:
            only.add_stiffness(K)
        return np.asarray(self._chart.dual.T @ (only.A @ self._moved)).reshape(self._q.shape)

    def release(self) -> None:
        """Nothing was taken."""

    def _turned(self) -> FloatArray:
        """B (m, m)."""
        size, made = float(np.ptp(self._chart.rest, axis=0).max()), np.empty_like(self._A)
        for k, mode in enumerate(self._chart.modes.T):
            unit = np.zeros(len(self._moved))
            unit[k] = h = STEP * size / float(np.abs(mode).max())
            near = self._matrix(unit) - self._matrix(-unit)
            far = self._matrix(2.0 * unit) - self._matrix(-2.0 * unit)
            made[:, k] = (8.0 * near - far) @ self._moved / (12.0 * h)
        return made

    def _matrix(self, away: FloatArray) -> FloatArray:
        """Â where the body is moved by `away` (m,) from the start of the step."""
        motion = (self._chart.modes @ away).reshape(self._q.shape)
        system: Any = self._trial.at(motion).linearize(Tangent.WARPED)[0]
        for K in self._stiffnesses(self._q + motion):
            system.add_stiffness(K)
        made: FloatArray = system.A
        return made

    def _back(self, b: FloatArray) -> FloatArray:
        made: FloatArray = self._chart.modes @ linalg.lu_solve(self._factor, self._chart.modes.T @ b)
        return made
