"""A reduced volume in the derivatives of a step: its matrices over the modes are small, and held whole.

With x = X + Φ y the equation of a constrained body is that of the full one (`models.volume.adjoint`) along its motions,

    R̂ = ΦᵀR,       Â = a M̂ + α M̂/h + θ (K̂ − Φᵀ ∂(Hᵀλ)/∂x Φ) + β (K̂_d + ½ B)/h,      B = ∂(K̂_d(y) Δy)/∂y

B is taken by central differences, one mode at a time. Nodal arrays go in and come out, as forces whose work on the
motions counts alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from scipy import linalg, sparse

from pliant.core.errors import InputError
from pliant.core.types import FloatArray
from pliant.materials import Tangent
from pliant.models.adjoint import Pulled
from pliant.models.model import GeometricStiffness
from pliant.models.volume.adjoint import refuse
from pliant.reduced.chart import LinearChart

if TYPE_CHECKING:
    from pliant.reduced.subspace_model import SubspaceModel
    from pliant.reduced.subspace_trial import SubspaceTrial

STEP = 1e-4
"""Largest motion of a node in a difference of the damping stiffness, over the size of the body."""


class SubspaceAdjoint:
    """The adjoint of one step of a `SubspaceTrial` at its end, with the geometric `stiffnesses` of rows."""

    def __init__(self, trial: SubspaceTrial, stiffnesses: Iterable[GeometricStiffness]) -> None:
        model, scheme, damping = trial.model, trial.scheme, trial.model.spec.damping
        chart = linear_chart(model)
        refuse(trial)  # type: ignore[arg-type]
        system, _ = trial.linearize(Tangent.EXACT)
        for K in stiffnesses:
            system.add_stiffness(K)
        self._scheme, self._chart = scheme, chart
        self._inertia = (scheme.inertia + damping.mass * scheme.rate) * chart.mass
        rate = damping.stiffness * scheme.rate
        self._damping, self._turn = np.zeros_like(system.A), np.zeros_like(system.A)
        if rate:
            self._damping = rate * trial.damping_stiffness()
            self._turn = 0.5 * rate * self._turning(trial)
        self._elastic = system.A - self._inertia - self._damping
        self._factor = linalg.lu_factor(system.A + self._turn)

    def solve(self, g: FloatArray) -> FloatArray:
        """Φ Â⁻ᵀ Φᵀ g, (n, 3)."""
        return self._back(g.reshape(-1, 1), transposed=True).reshape(g.shape)

    def solve_rows(self, G: sparse.csr_matrix) -> FloatArray:
        """Φ Â⁻ᵀ Φᵀ Gᵀ (unknowns, m)."""
        return self._back(G.T.toarray(), transposed=True)

    def rest(self, w: FloatArray) -> FloatArray | None:
        """Nothing: Â holds all."""
        return None

    def start(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """−(∂R/∂q)ᵀ w and −(∂R/∂v)ᵀ w at fixed q⁺."""
        z = self._chart.dual @ w.ravel()
        q = z @ self._by_start
        v = self._scheme.momentum * (self._chart.mass @ z)
        return self._spread(q[:, None]).reshape(w.shape), self._spread(v[:, None]).reshape(w.shape)

    def velocity(self, g: FloatArray) -> Pulled:
        """Derivatives of g · v⁺, v⁺ = c dx + memory × v."""
        scheme = self._scheme
        return Pulled(scheme.velocity * g, -scheme.velocity * g, scheme.memory * g)

    def solve_columns(self, b: FloatArray) -> FloatArray:
        """Φ Â⁻¹ Φᵀ b, (unknowns, k)."""
        return self._back(b, transposed=False)

    def rest_along(self, y: FloatArray) -> FloatArray | None:
        """Nothing: Â holds all."""
        return None

    def started(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """−∂R/∂q q − ∂R/∂v v at fixed q⁺, (unknowns, k)."""
        dual = self._chart.dual
        along = self._by_start @ (dual @ q) + self._scheme.momentum * (self._chart.mass @ (dual @ v))
        return self._spread(along)

    def ended(self, end: FloatArray, q: FloatArray, v: FloatArray) -> FloatArray:
        """How v⁺ follows the end and the start, (unknowns, k)."""
        return self._scheme.velocity * (end - q) + self._scheme.memory * v

    def release(self) -> None:
        """Nothing was taken."""

    @property
    def _by_start(self) -> FloatArray:
        """−∂R̂/∂y at fixed y⁺, (m, m)."""
        made: FloatArray = self._inertia + self._damping - self._turn
        if self._scheme.theta != 1.0:
            made = made - (1.0 / self._scheme.theta - 1.0) * self._elastic
        return made

    def _turning(self, trial: SubspaceTrial) -> FloatArray:
        """B (m, m)."""
        change = self._chart.dual @ trial.dx.ravel()
        size = float(np.ptp(self._chart.rest, axis=0).max())
        made = np.empty((len(change), len(change)))
        for k, mode in enumerate(self._chart.modes.T):
            h = STEP * size / float(np.abs(mode).max())
            unit = np.zeros(len(change))
            unit[k] = h
            near = trial.damping_stiffness(unit) - trial.damping_stiffness(-unit)
            far = trial.damping_stiffness(2.0 * unit) - trial.damping_stiffness(-2.0 * unit)
            made[:, k] = (8.0 * near - far) @ change / (12.0 * h)
        return made

    def _back(self, b: FloatArray, *, transposed: bool) -> FloatArray:
        along = linalg.lu_solve(self._factor, self._chart.modes.T @ b, trans=int(transposed))
        made: FloatArray = self._chart.modes @ along
        return made

    def _spread(self, along: FloatArray) -> FloatArray:
        """Nodal forces (unknowns, k) with the given ones (m, k) along the motions."""
        made: FloatArray = self._chart.dual.T @ along
        return made


def linear_chart(model: SubspaceModel) -> LinearChart:
    """The chart of a reduced body whose nodes follow its modes linearly; an `InputError` for others."""
    if not isinstance(model.chart, LinearChart):
        raise InputError(
            f"gradients through reduced bodies know linear modes of clamped ones; {model.name!r} has others: reduce it "
            "without curvature, or take the world that was reduced"
        )
    return model.chart
