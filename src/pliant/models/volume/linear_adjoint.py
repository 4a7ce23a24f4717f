"""A deformable volume in the derivatives of a step of one linear solve: the linearization follows the state itself.

With A and the forces taken at the start q, a step of one solve is

    R = A(q) dx − r(q, v) − H(q)ᵀλ = 0,      A = a M + α M/h + (θ + β/h) K(q) + K_c(q, λ₀),      dx = q⁺ − q

K_c is the geometric stiffness of rows at the forces λ₀ of the step before. K is warped for linear and corotated laws,
whose ∂(wᵀR)/∂q is one pass over the points (`corotated_slope`). Of other laws K is the second derivative of an energy,
so that ∂(wᵀK dx)/∂q is the change of K along w, times dx: a central difference, of each point (`hyperelastic_slope`),
or of K where the volume is that of patches. The factor of A is that of the step where it was kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from pliant.core.arrays import frozen
from pliant.core.immutable import evolve
from pliant.core.types import FloatArray
from pliant.materials import Tangent
from pliant.models.adjoint import Pulled
from pliant.models.volume.adjoint import FreeSolves, refuse
from pliant.models.volume.corotated_slope import corotated_slope
from pliant.models.volume.damping_slope import DampingSlope, damping_slope
from pliant.models.volume.hyperelastic_slope import hyperelastic_slope, hyperelastic_work
from pliant.solvers.linear.matrix import BlockMatrix

if TYPE_CHECKING:
    from pliant.models.volume.trial import VolumeTrial

STEP = 1e-4
"""Motion of a node in the difference of K, over the size of the body."""


class LinearVolumeAdjoint(FreeSolves):
    """The adjoint of one step of one linear solve, of a `VolumeTrial` at its end. `stiffnesses` are K_c as lists of
    terms at other positions of the body, for q (n, 3). `factor` is that of A in the step; None: A is factorized again.
    """

    def __init__(
        self, trial: VolumeTrial, stiffnesses: Callable[[FloatArray], Sequence[Any]], factor: Any = None
    ) -> None:
        refuse(trial, linear=True)
        self._trial, self._model, self._scheme = trial, trial.model, trial.scheme
        self._q, self._dx = trial.positions() - trial.dx, trial.dx
        damping, scheme = trial.model.spec.damping, trial.scheme
        self._mass = scheme.inertia + damping.mass * scheme.rate
        self._stiffness = scheme.theta + damping.stiffness * scheme.rate
        self._warped = trial.model.warps(Tangent.WARPED)
        self._stiffnesses = stiffnesses
        self._terms = [K for K in stiffnesses(self._q) if self._counts(K)]
        self._swept: tuple[Any, FloatArray, FloatArray] = (None, self._q, self._q)
        self._system: Any = None
        self._factor = self._factorized() if factor is None else factor

    def compliance(self, H: sparse.csr_matrix) -> FloatArray:
        """H A⁻¹ Hᵀ over the free unknowns, (rows, rows)."""
        if self._model.partly_constrained:
            H = sparse.csr_matrix(H @ sparse.diags((~self._model.constrained_flat).astype(np.float64)))
        return np.asarray(self._factor.compliance(H))

    def rest(self, w: FloatArray) -> FloatArray | None:
        """Nothing: A holds all."""
        return None

    def start(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """−(∂R/∂q)ᵀ w and −(∂R/∂v)ᵀ w at fixed q⁺, without the rows; of no meaning at constrained unknowns."""
        mass = self._model.mass
        q = self._mass * mass.apply(w) - self._sweep(w)[0]
        if self._terms:
            q += self.product(self._terms, w)
            q -= self._along(w, lambda q: self.stiffened(self._stiffnesses(q)))
        return q, self._scheme.momentum * mass.apply(w)

    def by_constants(self, w: FloatArray) -> FloatArray | None:
        """∂(wᵀR)/∂μ and ∂(wᵀR)/∂λ of each material, (materials, 2); None where the laws have other constants."""
        return self._sweep(w)[1] if self._warped else None

    def by_tables(self, w: FloatArray, tables: FloatArray) -> FloatArray | None:
        """wᵀR without its inertia and fibres, J, for each of the `tables` (k, materials, constants) of hyperelastic
        laws; None where another function has it.
        """
        if self._warped or self._in_patches:
            return None
        made = np.empty(len(tables))
        hyperelastic_work(*self._given(w), frozen(tables), self._stiffness, made)
        return made

    def velocity(self, g: FloatArray) -> Pulled:
        """Derivatives of g · v⁺, v⁺ = c dx."""
        scheme = self._scheme
        return Pulled(scheme.velocity * g, -scheme.velocity * g, scheme.memory * g)

    def rest_along(self, y: FloatArray) -> FloatArray | None:
        """Nothing: A holds all."""
        return None

    def started(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """−∂R/∂q q − ∂R/∂v v at fixed q⁺, without the rows, (unknowns, k)."""
        made, shape = np.empty(q.shape), self._dx.shape
        for k in range(q.shape[1]):
            made[:, k] = self._started(q[:, k].reshape(shape), v[:, k].reshape(shape)).ravel()
        return made

    def ended(self, end: FloatArray, q: FloatArray, v: FloatArray) -> FloatArray:
        """How v⁺ follows the end and the start, (unknowns, k)."""
        return self._scheme.velocity * (end - q) + self._scheme.memory * v

    def stiffened(self, stiffnesses: Sequence[Any]) -> FloatArray:
        """K dx of terms K, of those that A takes, (n, 3)."""
        return self.product([K for K in stiffnesses if self._counts(K)], self._dx)

    def product(self, stiffnesses: Sequence[Any], y: FloatArray) -> FloatArray:
        """K y of the sum K of terms, (n, 3)."""
        made, values = np.zeros(y.shape), None
        for K in stiffnesses:
            if hasattr(K, "add_product"):
                K.add_product(y, made)
                continue
            if values is None:
                values = np.zeros((self._model.pattern.block_count, 3, 3))
            K.add_to(values)
        return made if values is None else np.asarray(made + self._times(values, y))

    def release(self) -> None:
        """Give the memory of the factor back, where it is of this adjoint."""
        if self._system is not None:
            self._system.release(self._factor)

    def _counts(self, K: Any) -> bool:
        """Whether A takes the term K."""
        return not (self._warped and K.of_stress)

    def _factorized(self) -> Any:
        self._system, _ = self._trial.at(np.zeros(self._dx.shape)).linearize(Tangent.WARPED)
        for K in self._terms:
            self._system.add_stiffness(K)
        return self._system.factorize()

    def _started(self, y: FloatArray, u: FloatArray) -> FloatArray:
        model, scheme = self._model, self._scheme
        made: FloatArray = scheme.momentum * model.mass.apply(u)
        if not y.any():
            return made
        made += self._mass * model.mass.apply(y) + self._times(self._change, y) - self._stiffness * self._turned_by(y)
        if self._terms:
            made += self.product(self._terms, y) - self._along(y, lambda q: self.stiffened(self._stiffnesses(q)))
        return made

    def _turned_by(self, y: FloatArray) -> FloatArray:
        """∂(K dx)/∂q y, (n, 3)."""
        if self._warped:
            made = self._turning.along(y)
        else:  # ∂K/∂q y dx = ∂K/∂q dx y, of the second derivatives of an energy
            made = self._along(y, lambda q: self._times(self._tangent(self._solid, q), self._dx))
        for bars in self._model.fibres:
            bars.add_damping_change(self._q, self._dx, y, made)
        return made

    @cached_property
    def _turning(self) -> DampingSlope:
        model = self._model
        return damping_slope(model.points, model.laws, model.table, self._q, self._dx)

    @cached_property
    def _change(self) -> FloatArray:
        """The blocks of s K as A has it less the derivative of the internal forces."""
        made = -self._tangent(self._model, self._q)
        K = np.empty(made.shape)
        self._model.assemble(self._q, mass=0.0, stiffness=self._stiffness, tangent=Tangent.WARPED, values=K)
        return made + K

    @property
    def _solid(self) -> Any:
        """The model without its fibres."""
        return evolve(self._model, fibres=()) if self._model.fibres else self._model

    def _sweep(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """∂(wᵀ (f + s K dx))/∂q at fixed q⁺, (n, 3), and `by_constants`."""
        if self._swept[0] is not w:
            made = self._closed_slope(w) if self._warped else (self._slope(w), np.zeros((0, 2)))
            self._swept = (w, *made)
        _, force, constants = self._swept
        return force, constants

    def _closed_slope(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        model, force = self._model, np.zeros(w.shape)
        constants = np.zeros((len(model.laws), 2))
        corotated_slope(*self._given(w), model.table, self._stiffness, force, constants)
        for bars in model.fibres:
            bars.add_step_slope(self._q, self._dx, w, self._stiffness, force)
        return force, constants

    def _given(self, w: FloatArray) -> tuple[Any, ...]:
        """What the kernels over points take first."""
        return frozen(self._q), frozen(self._dx), frozen(w), *self._model.points.arrays, self._model.laws

    @cached_property
    def _in_patches(self) -> bool:
        """Whether the energy is a function of the volumes of patches."""
        return self._model.split_at(self._q) is not None

    def _slope(self, w: FloatArray) -> FloatArray:
        """The same of other laws."""
        model, scale = self._model, self._stiffness
        if self._in_patches:
            solid = self._solid
            made = (1.0 - scale) * self._times(self._tangent(solid, self._q), w)
            made += scale * self._along(w, lambda q: self._times(self._tangent(solid, q), self._dx))
        else:
            made = np.zeros(w.shape)
            hyperelastic_slope(*self._given(w), model.table, scale, made)
        for bars in model.fibres:
            bars.add_step_slope(self._q, self._dx, w, scale, made)
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

    @staticmethod
    def _tangent(model: Any, q: FloatArray) -> FloatArray:
        K = np.empty((model.pattern.block_count, 3, 3))
        model.assemble(q, mass=0.0, stiffness=1.0, tangent=Tangent.EXACT, values=K)
        return K

    def _times(self, values: FloatArray, y: FloatArray) -> FloatArray:
        return np.asarray(BlockMatrix(self._model.pattern, values).matvec(y))
