"""The matrix that a descent measures steps with, factorized: the tangent of the Lagrangian.

The paper measures them with one constant Laplacian. That knows nothing of volume, along whose changes the energy of
rubber is hundreds of times as stiff as a Laplacian says; the tangent knows it, at the price of a factorization now and
then.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from pliant.core.errors import SingularError
from pliant.core.types import FloatArray
from pliant.geometric.mixed import Expected, mixed_body
from pliant.geometric.rooted import RootedFactor
from pliant.materials import Tangent
from pliant.models.volume.held_factor import HeldFactor
from pliant.models.volume.trial import VolumeSystem
from pliant.stepping.motion import Motion

_ATTEMPTS = (
    (Tangent.EXACT, 0.0),
    *((Tangent.EXACT, 10.0**power) for power in (-6, -5, -4, -3, -2)),
    *((Tangent.PROJECTED, 10.0**power) for power in (-3, -2, -1, 0, 1)),
)
"""Tangents and shares of the mass, from the best to the last resort."""


class TangentMetric:
    """The second derivative of the Lagrangian at one shape, with each body under expected stresses.

    It may have `negative` eigenvalues, no more than `allowed`: as many as volumes are given, which hold those
    directions (`rooted`). Otherwise σM is added with σ raised until it is positive definite, first to the exact
    tangent, then to the projected one; `shift` says how much. The minimum does not depend on it.
    """

    def __init__(self, motion: Motion, expected: Sequence[Expected | None], allowed: int = 0) -> None:
        self._ends = np.cumsum([model.size for model in motion.world.models])[:-1]
        self._factors: list[Any] = []
        self.negative = 0
        for tangent, self.shift in _ATTEMPTS:
            self._systems = self._assembled(motion, expected, tangent)
            try:
                self._factors = [system.factorize() for system in self._systems]
                return
            except SingularError as error:
                last = error
            if allowed and not self.shift and self._rooted(motion, expected, allowed):
                return
        raise last

    def _rooted(self, motion: Motion, expected: Sequence[Expected | None], allowed: int) -> bool:
        """Factorize with some negative eigenvalues; whether there are few enough."""
        self._systems = self._assembled(motion, expected, Tangent.EXACT)
        factors = []
        try:
            for system in self._systems:
                system.model.hold(system.values)
                factors.append(RootedFactor(system.model.symbolic, system.values))
        except SingularError:
            return False
        self.negative = sum(factor.negative for factor in factors)
        if self.negative > allowed:
            self.negative = 0
            return False
        self._factors = [
            system.model.held_factor(factor) for system, factor in zip(self._systems, factors, strict=True)
        ]
        return True

    def _assembled(self, motion: Motion, expected: Sequence[Expected | None], tangent: Tangent) -> list[Any]:
        systems: list[Any] = []
        for model, trial, known in zip(motion.world.volumes, motion.trials, expected, strict=True):
            x, values = trial.evaluation_point(), model.blocks()
            mixed_body(model).tangent(x, known, tangent, values)
            model.add_load_stiffness(x, 1.0, motion.controls, values)
            systems.append(VolumeSystem(model, values, np.zeros_like(x), None))
        motion.add_row_stiffness(systems)
        for system in systems:
            if self.shift:
                system.add_mass(self.shift)
        return systems

    def solve(self, rhs: FloatArray) -> FloatArray:
        """A⁻¹ rhs, (N, k)."""
        parts = np.split(rhs, self._ends)
        solved = [factor.solve(part).reshape(part.shape) for factor, part in zip(self._factors, parts, strict=True)]
        return np.concatenate(solved)

    def compliance(self, H: Sequence[sparse.csr_matrix]) -> FloatArray:
        """H A⁻¹ Hᵀ, (rows, rows)."""
        W = np.zeros((H[0].shape[0],) * 2)
        for factor, own in zip(self._factors, H, strict=True):
            if own.nnz:
                W += factor.compliance(own)
        return W

    def release(self) -> None:
        """Hand the memory of the factors back; the metric cannot be used any more."""
        for system, factor in zip(self._systems, self._factors, strict=True):
            inner = factor.factor if isinstance(factor, HeldFactor) else factor
            system.release(inner.factor if isinstance(inner, RootedFactor) else inner)
