"""A deformable volume in the derivatives of a step: A is assembled once more where the step ended, and factorized.

With x = (1 − θ) q + θ q⁺ the equation of a volume is

    R = f_int(x) − f_ext(x) + M (a dx − b v) + α M dx/h + β K_d(q + dx/2) dx/h − Hᵀλ,          dx = q⁺ − q

A holds everything symmetric: a M + α M/h + θ (K − ∂(Hᵀλ)/∂x) + β K_d/h. The change of the damping stiffness K_d with
the shape is not symmetric; `rest` holds it.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from pliant.core.errors import InputError, SingularError
from pliant.core.types import FloatArray
from pliant.materials import Tangent
from pliant.models.adjoint import Pulled
from pliant.models.model import GeometricStiffness
from pliant.models.volume.damping_slope import DampingSlope, damping_slope
from pliant.solvers.linear.matrix import BlockMatrix

if TYPE_CHECKING:
    from pliant.models.volume.trial import VolumeTrial

_SHIFTS = (0.0, 1e-6, 1e-4, 1e-2, 1.0)
"""Mass added to an indefinite A, relative to its diagonal, until it has a factor; `rest` takes it away again."""


class FreeSolves:
    """Solves with the symmetric factor of a volume over its free unknowns."""

    _model: Any
    _factor: Any

    def solve(self, g: FloatArray) -> FloatArray:
        """A⁻¹ g over the free unknowns, (n, 3)."""
        free = np.where(self._model.constrained, 0.0, g)
        return np.where(self._model.constrained, 0.0, self._factor.solve(free))

    def solve_rows(self, G: sparse.csr_matrix) -> FloatArray:
        """A⁻¹ Gᵀ (unknowns, m)."""
        fixed = self._model.constrained_flat
        right = np.ascontiguousarray(G.toarray().T)
        right[fixed] = 0.0
        made = np.array(self._factor.solve(right))
        made[fixed] = 0.0
        return made

    def solve_columns(self, b: FloatArray) -> FloatArray:
        """A⁻¹ b over the free unknowns, (unknowns, k)."""
        fixed = self._model.constrained_flat
        right = np.ascontiguousarray(np.where(fixed[:, None], 0.0, b))
        made = np.array(self._factor.solve(right))
        made[fixed] = 0.0
        return made


class VolumeAdjoint(FreeSolves):
    """The adjoint of one step of a `VolumeTrial` at its end, with the geometric `stiffnesses` of rows."""

    def __init__(self, trial: VolumeTrial, stiffnesses: Iterable[GeometricStiffness]) -> None:
        refuse(trial)
        self._turning = trial.turning
        model, scheme, damping = trial.model, trial.scheme, trial.model.spec.damping
        self._trial, self._model, self._scheme = trial, model, scheme
        self._mass = scheme.inertia + damping.mass * scheme.rate
        self._rate = damping.stiffness * scheme.rate
        self._damping = trial.damping_stiffness() if self._rate else None
        self._shift = 0.0
        self._system, _ = trial.linearize(Tangent.EXACT)
        for K in stiffnesses:
            self._system.add_stiffness(K)
        self._values = self._system.values.copy()
        self._factor = self._factorized()

    def rest(self, w: FloatArray) -> FloatArray | None:
        """What A does not hold: the change of the damping stiffness, and less the mass that was added to A."""
        if not self._rate and not self._shift:
            return None
        made = 0.5 * self._rate * self._turned(w) if self._rate else np.zeros(w.shape)
        if self._shift:
            made -= self._shift * self._model.mass.apply(w)
        return np.where(self._model.constrained, 0.0, made)

    def start(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """−(∂R/∂q)ᵀ w and −(∂R/∂v)ᵀ w at fixed q⁺."""
        mass, scheme = self._model.mass, self._scheme
        inertia = self._mass * mass.apply(w)
        q = inertia.copy()
        damped = 0.0 if self._damping is None else self._rate * self._product(self._damping, w)
        if self._rate:
            q += damped - 0.5 * self._rate * self._turned(w)
        if scheme.theta != 1.0:
            q -= (1.0 / scheme.theta - 1.0) * (self._product(self._values, w) - inertia - damped)
        if self._turning is None:
            return q, scheme.momentum * mass.apply(w)
        by_q, by_v = self._turning.of_velocity(scheme.momentum * mass.apply(w))
        return q + by_q, by_v

    def velocity(self, g: FloatArray) -> Pulled:
        """Derivatives of g · v⁺, v⁺ = c dx + memory × v."""
        scheme = self._scheme
        if self._turning is not None:
            return self._turning.of_end(g) if g.any() else Pulled(*np.zeros((3, *g.shape)))
        return Pulled(scheme.velocity * g, -scheme.velocity * g, scheme.memory * g)

    def rest_along(self, y: FloatArray) -> FloatArray | None:
        """(∂R/∂q⁺ − A) y, (n, 3)."""
        if not self._rate and not self._shift:
            return None
        made = 0.5 * self._rate * self._turned_by(y) if self._rate else np.zeros(y.shape)
        if self._shift:
            made -= self._shift * self._model.mass.apply(y)
        return np.where(self._model.constrained, 0.0, made)

    def started(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """−∂R/∂q q − ∂R/∂v v at fixed q⁺, (unknowns, k)."""
        made = np.empty(q.shape)
        for k in range(q.shape[1]):
            made[:, k] = self._started(q[:, k].reshape(-1, 3), v[:, k].reshape(-1, 3)).ravel()
        return made

    def _started(self, q: FloatArray, v: FloatArray) -> FloatArray:
        mass, scheme = self._model.mass, self._scheme
        begun = v if self._turning is None else self._turning.velocity_along(q, v)
        made: FloatArray = scheme.momentum * mass.apply(begun)
        if not q.any():
            return made
        inertia = self._mass * mass.apply(q)
        damped = 0.0 if self._damping is None else self._rate * self._product(self._damping, q)
        made += inertia
        if self._rate:
            made += damped - 0.5 * self._rate * self._turned_by(q)
        if scheme.theta != 1.0:
            made -= (1.0 / scheme.theta - 1.0) * (self._product(self._values, q) - inertia - damped)
        return made

    def ended(self, end: FloatArray, q: FloatArray, v: FloatArray) -> FloatArray:
        """How v⁺ follows the end and the start, (unknowns, k)."""
        if self._turning is not None:
            columns = [np.reshape(each, (-1, *self._trial.dx.shape)) for each in (end.T, q.T, v.T)]
            made = [self._turning.end_along(*each).ravel() for each in zip(*columns, strict=True)]
            return np.stack(made, axis=1)
        return self._scheme.velocity * (end - q) + self._scheme.memory * v

    def release(self) -> None:
        """Give the memory of the factor back."""
        self._system.release(self._factor)

    def _factorized(self) -> Any:
        mass, values = self._model.mass, self._system.values
        typical = float(np.abs(self._system.diagonal()).mean()) / float(mass.nodal.mean())
        for fraction in _SHIFTS:
            values[:] = self._values
            self._shift = fraction * typical
            if self._shift:
                mass.add_to(values, self._shift)
            try:
                return self._system.factorize()
            except SingularError:
                continue
        raise SingularError(
            f"the tangent of {self._model.name!r} has no factor where the step ended: the equilibrium is at a limit "
            "point, where it has no derivative"
        )

    def _product(self, values: FloatArray, w: FloatArray) -> FloatArray:
        return BlockMatrix(self._model.pattern, values).matvec(w)

    def _turned(self, w: FloatArray) -> FloatArray:
        """∂(wᵀ K_d(x) dx)/∂x at the middle of the step, (n, 3)."""
        made = self._slope.product(w)
        for bars in self._model.fibres:
            bars.add_damping_slope(middle_of(self._trial), self._trial.dx, w, made)
        return made

    def _turned_by(self, y: FloatArray) -> FloatArray:
        """∂(K_d(x) dx)/∂x y at the middle of the step, (n, 3)."""
        made = self._slope.along(y)
        for bars in self._model.fibres:
            bars.add_damping_change(middle_of(self._trial), self._trial.dx, y, made)
        return made

    @cached_property
    def _slope(self) -> DampingSlope:
        model, dx = self._model, self._trial.dx
        return damping_slope(model.points, model.laws, model.table, middle_of(self._trial), dx)


def refuse(trial: VolumeTrial, *, linear: bool = False) -> None:
    """Raise an `InputError` where a step of a volume depends on its start in ways that the adjoint does not know."""
    model = trial.model
    if model.remembers:
        what = "a material with memory (pl.materials.Viscoelastic, Mullins)"
    elif model.pressure_loads:
        what = "a follower pressure; pressures of a pl.Cavity are differentiated"
    elif trial.widens:
        what = "a free body that turns in a pl.ImplicitMidpoint, which widens it; clamp it, or use pl.ImplicitEuler"
    elif linear and trial.turning is not None:
        what = "a free body that turns in a step of one linear solve; give the stepper a tolerance, 1e-10"
    elif model.spec.damping.stiffness and trial.scheme.rate and model.split_at(middle_of(trial)) is not None:
        what = "stiffness-proportional damping and patches of volume (anti_locking, large stretch)"
    else:
        return
    raise InputError(f"gradients through {model.name!r} are not known: it has {what}")


def middle_of(trial: VolumeTrial) -> FloatArray:
    """Positions in the middle of the step, (n, 3), m."""
    made: FloatArray = trial.positions() - 0.5 * trial.dx
    return made
