"""A rod, a beam or a rigid body in the derivatives of a step of one linear solve.

Such a step ends at dx = A⁻¹ (r + Hᵀλ) with A and r of its start. With the forces c = Hᵀλ of the rows as they were, its
equation is

    R = A dx − A u(q, v) = 0,          u(q, v) = A(q, v)⁻¹ (r(q, v) + c)

u is differentiated by finite differences over the unknowns of the start: each is one linearization and one solve, with
the matrix as the step itself factorizes it. A includes the geometric stiffness of rows at their forces in the step
before. Rotations in dx are those of the step, from q: the end follows them as exp says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from pliant.core.errors import InputError
from pliant.core.types import FloatArray
from pliant.gradients.small_body import SmallBodyAdjoint, joined_values
from pliant.materials import Tangent
from pliant.models.model import Trial

_UNLIKE = 1e-6
"""Relative difference from which on a matrix is not the one that was factorized."""


class LinearSmallBodyAdjoint(SmallBodyAdjoint):
    """The adjoint of one step of one linear solve of `trial`, begun at q and v; `restart` begins it from others.
    `stiffnesses` are terms of A by rows at other positions of the body, and `pushed` (unknowns,) is c = Hᵀλ.
    """

    fineness: ClassVar[float] = 1.0 / 3.0  # u turns with stiff axial forces: 1e-8 of truncation is 1e-10 then

    def __init__(
        self, trial: Trial, restart: Callable[[FloatArray, FloatArray], Trial], q: FloatArray, v: FloatArray,
        stiffnesses: Callable[[FloatArray], Sequence[Any]], pushed: FloatArray,
    ) -> None:  # fmt: skip
        self._stiffnesses, self._pushed = stiffnesses, np.where(trial.model.constrained.ravel(), 0.0, pushed)
        self._begun = restart(q, v)
        system, factor = self._solvable(self._begun, q)
        self._u = factor.solve((system.r.ravel() + self._pushed)[:, None])[:, 0]
        self._A = self._matrix(system, factor, trial.dx.shape)
        super().__init__(trial, restart, q, v)
        self.turned = self._columns(lambda k, s: trial.moved(trial.dx, self._unit(k), s).ravel(), self.steps)

    def product(self, stiffnesses: Sequence[Any], y: FloatArray) -> FloatArray:
        """K y of the sum K of terms, of the shape of dx."""
        system: Any = self._begun.linearize(Tangent.WARPED)[0].copied()
        if hasattr(system, "values"):
            system.values[:], system.twists = 0.0, None
        else:
            system.A[:] = 0.0
        for K in stiffnesses:
            system.add_stiffness(K)
        return np.asarray(system.product(np.where(self.model.constrained, 0.0, y)))

    def stiffened(self, stiffnesses: Sequence[Any]) -> FloatArray:
        """K dx of terms K, of the shape of dx."""
        return self.product(stiffnesses, self.trial.dx)

    def _values(self, trial: Trial) -> FloatArray:
        return joined_values(self._forces(self._u, trial.dx), trial)

    def _values_from(self, q: FloatArray, v: FloatArray) -> FloatArray:
        begun = self._restart(q, v)
        system, factor = self._solvable(begun, q)
        u = factor.solve((system.r.ravel() + self._pushed)[:, None])[:, 0]
        return joined_values(self._forces(u, self.trial.dx), begun.at(self.trial.dx))

    def _forces(self, u: FloatArray, dx: FloatArray) -> FloatArray:
        """A (u − dx), zero at constrained unknowns."""
        made: FloatArray = self._A @ np.where(self.trial.model.constrained.ravel(), 0.0, u - dx.ravel())
        return made

    def _solvable(self, begun: Trial, q: FloatArray) -> tuple[Any, Any]:
        system: Any = begun.linearize(Tangent.WARPED)[0]
        for K in self._stiffnesses(q):
            system.add_stiffness(K)
        system = system.copied()
        return system, system.copied().factorize()

    def _matrix(self, system: Any, factor: Any, shape: tuple[int, ...]) -> FloatArray:
        """The matrix (unknowns, unknowns) that was factorized, zero at constrained unknowns."""
        free = np.flatnonzero(~system.model.constrained.ravel()) if hasattr(system, "model") else np.arange(6)
        size = int(np.prod(shape))
        A = np.zeros((size, size))
        for k in free:
            unit = np.zeros(size)
            unit[k] = 1.0
            A[:, k] = system.product(unit.reshape(shape)).ravel()
        for made in (A, 0.5 * (A + A.T)):
            x = np.zeros(size)
            x[free] = np.random.default_rng(0).uniform(-1.0, 1.0, len(free))
            if np.abs(factor.solve((made @ x)[:, None])[:, 0] - x).max(initial=0.0) < _UNLIKE:
                return made
        raise InputError(
            "gradients through this step of one linear solve are not known, whose matrix is ill-conditioned: give the "
            "stepper a tolerance, 1e-10"
        )
