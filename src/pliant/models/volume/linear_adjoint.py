"""A deformable volume in the derivatives of a step of one linear solve: the linearization follows the state itself.

With A and the forces taken at the start q, a step of one solve is

    R = A(q) dx − r(q, v) − H(q)ᵀλ,      A = a M + α M/h + (θ + β/h) K(q) + K_c(q, λ₀),      dx = q⁺ − q

K_c is the geometric stiffness of rows at the forces λ₀ of the step before. K is warped for linear and corotated laws,
whose ∂(wᵀK dx)/∂q is in closed form (`damping_slope`). Of other laws it is the second derivative of an energy, so that
∂(wᵀK dx)/∂q is the change of K along w, times dx: a central difference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.core.immutable import evolve
from pliant.core.types import FloatArray
from pliant.materials import Tangent
from pliant.models.adjoint import Pulled
from pliant.models.volume.adjoint import FreeSolves, refuse
from pliant.models.volume.damping_slope import damping_slope
from pliant.solvers.linear.matrix import BlockMatrix

if TYPE_CHECKING:
    from pliant.models.volume.trial import VolumeTrial

STEP = 1e-4
"""Motion of a node in the difference of K, over the size of the body."""


class LinearVolumeAdjoint(FreeSolves):
    """The adjoint of one step of one linear solve, of a `VolumeTrial` at its end. `stiffnesses` are K_c as lists of
    terms at other positions of the body, for q (n, 3).
    """

    def __init__(self, trial: VolumeTrial, stiffnesses: Callable[[FloatArray], Sequence[Any]]) -> None:
        refuse(trial)
        self._trial, self._model, self._scheme = trial, trial.model, trial.scheme
        self._q, self._dx = trial.positions() - trial.dx, trial.dx
        self._begun = trial.at(np.zeros(trial.dx.shape))
        self._stiffnesses = stiffnesses
        self._system, _ = self._begun.linearize(Tangent.WARPED)
        for K in stiffnesses(self._q):
            self._system.add_stiffness(K)
        self._values = self._system.values.copy()
        self._factor = self._system.factorize()

    def rest(self, w: FloatArray) -> FloatArray | None:
        """Nothing: A holds all."""
        return None

    def start(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """−(∂R/∂q)ᵀ w and −(∂R/∂v)ᵀ w at fixed q⁺, without the rows."""
        model, scheme = self._model, self._scheme
        K = np.empty((model.pattern.block_count, 3, 3))
        model.assemble(self._q, mass=0.0, stiffness=1.0, tangent=Tangent.EXACT, values=K)
        q = self._product(self._values, w) - self._product(K, w) - self._turned(w)
        return q, scheme.momentum * model.mass.apply(w)

    def velocity(self, g: FloatArray) -> Pulled:
        """Derivatives of g · v⁺, v⁺ = c dx."""
        scheme = self._scheme
        return Pulled(scheme.velocity * g, -scheme.velocity * g, scheme.memory * g)

    def along(self, stiffnesses: Sequence[Any], w: FloatArray) -> float:
        """wᵀ K dx of terms K."""
        return float(np.vdot(w, self._times(stiffnesses)))

    def release(self) -> None:
        """Give the memory of the factor back."""
        self._system.release(self._factor)

    def _turned(self, w: FloatArray) -> FloatArray:
        """∂(wᵀ A dx)/∂q, (n, 3)."""
        model, scheme = self._model, self._scheme
        factor = scheme.theta + model.spec.damping.stiffness * scheme.rate
        if model.warps(Tangent.WARPED):
            made = damping_slope(model.points, model.laws, model.table, self._q, self._dx).product(w)
        else:
            solid = evolve(model, fibres=()) if model.fibres else model
            made = self._along(w, lambda q: self._product(_stiffness(solid, q), self._dx))
        for bars in model.fibres:
            bars.add_damping_slope(self._q, self._dx, w, made)
        made *= factor
        if self._stiffnesses(self._q):
            made += self._along(w, lambda q: self._times(self._stiffnesses(q)))
        return np.asarray(made)

    def _along(self, w: FloatArray, function: Callable[[FloatArray], FloatArray]) -> FloatArray:
        """The derivative of a function of q along w, by a central difference of fourth order."""
        most = float(np.abs(w).max())
        if not most:
            return np.zeros(w.shape)
        h = STEP * float(np.ptp(self._q, axis=0).max()) / most
        near = function(self._q + h * w) - function(self._q - h * w)
        far = function(self._q + 2.0 * h * w) - function(self._q - 2.0 * h * w)
        return np.asarray((8.0 * near - far) / (12.0 * h))

    def _times(self, stiffnesses: Sequence[Any]) -> FloatArray:
        """K dx of terms K, those that A takes."""
        values = np.zeros((self._model.pattern.block_count, 3, 3))
        for K in stiffnesses:
            if not (self._system.warped and K.of_stress):
                K.add_to(values)
        return self._product(values, self._dx)

    def _product(self, values: FloatArray, w: FloatArray) -> FloatArray:
        return BlockMatrix(self._model.pattern, values).matvec(w)


def _stiffness(model: Any, q: FloatArray) -> FloatArray:
    K = np.empty((model.pattern.block_count, 3, 3))
    model.assemble(q, mass=0.0, stiffness=1.0, tangent=Tangent.EXACT, values=K)
    return K
