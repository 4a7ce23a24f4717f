"""The matrix that a descent measures steps with, factorized: the tangent of the Lagrangian.

The paper measures them with one constant Laplacian. That knows nothing of volume, along whose changes the energy of
rubber is hundreds of times as stiff as a Laplacian says; the tangent knows it, at the price of a factorization now and
then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
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
from pliant.solvers.linear.factor import CholeskyFactor
from pliant.solvers.linear.symbolic import Symbolic
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
    tangent, then to the projected one; `shift` says how much. The minimum does not depend on it. `attempt` is the
    number of the one that succeeded; where the first fails, those after it begin with the one before `last`, which
    succeeded when it was needed last.
    """

    def __init__(self, motion: Motion, expected: Sequence[Expected | None], allowed: int = 0, *, last: int = 0) -> None:
        self._ends = np.cumsum([model.size for model in motion.world.models])[:-1]
        self._factors: list[Any] = []
        self.negative = 0
        self._systems = self._assembled(motion, expected, Tangent.EXACT)
        present: tuple[Tangent, list[Any]] | None = None
        for self.attempt in (0, *range(max(1, last - 1), len(_ATTEMPTS))):
            tangent, self.shift = _ATTEMPTS[self.attempt]
            if self.shift:
                if present is None or present[0] is not tangent:
                    present = tangent, self._assembled(motion, expected, tangent)
                self._systems = [replace(system, values=system.values.copy()) for system in present[1]]
                for system in self._systems:
                    system.add_mass(self.shift)
            try:
                self._factorize(0 if self.shift else allowed)
                return
            except SingularError as error:
                failed = error
        raise failed

    def _factorize(self, allowed: int) -> None:
        """Factorize all systems, with no more than `allowed` negative eigenvalues."""
        self._factors, self.negative = [], 0
        for system in self._systems:
            model, factor = system.model, None
            memory = model.spare_factors.pop() if model.spare_factors else None
            try:
                model.hold(system.values)
                factor = _factor(model.symbolic, system.values, memory, allowed - self.negative)
            finally:
                if factor is None and memory is not None:
                    model.spare_factors.append(memory)
            self._factors.append(model.held_factor(factor))
            if isinstance(factor, RootedFactor):
                self.negative += factor.negative

    def _assembled(self, motion: Motion, expected: Sequence[Expected | None], tangent: Tangent) -> list[Any]:
        systems: list[Any] = []
        for model, trial, known in zip(motion.world.volumes, motion.trials, expected, strict=True):
            x, values = trial.evaluation_point(), model.blocks()
            mixed_body(model).tangent(x, known, tangent, values)
            model.add_load_stiffness(x, 1.0, motion.controls, values)
            systems.append(VolumeSystem(model, values, np.zeros_like(x), None))
        motion.add_row_stiffness(systems)
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


def _factor(symbolic: Symbolic, values: FloatArray, memory: CholeskyFactor | None, allowed: int) -> Any:
    """Cholesky's factor, or a rooted one with some negative eigenvalues but no more than `allowed`."""
    if not allowed:
        return symbolic.factorize(values, out=memory)
    rooted = RootedFactor(symbolic, values, out=memory)
    if rooted.negative > allowed:
        raise SingularError(f"the matrix has {rooted.negative} negative eigenvalues; no more than {allowed} are held")
    return rooted if rooted.negative else rooted.factor
