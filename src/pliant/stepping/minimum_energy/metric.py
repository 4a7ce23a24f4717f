"""The matrix of the quadratic problems of a descent, factorized: the tangent of the Lagrangian.

The paper takes one constant Laplacian. That ignores volume, along whose changes the energy of rubber is hundreds of
times as stiff; the tangent does not, at the price of a factorization now and then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from pliant.constraints.condense import compliance
from pliant.core.errors import SingularError
from pliant.core.types import FloatArray
from pliant.materials import Tangent
from pliant.models.volume.system import VolumeSystem
from pliant.stepping.bodies import StepBodies
from pliant.stepping.minimum_energy.indefinite_factor import IndefiniteFactor
from pliant.stepping.minimum_energy.mixed import Expected, mixed_body

_ATTEMPTS = (
    (0.0, 0.0),
    *((fraction, 0.0) for fraction in (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)),
    *((1.0, 10.0**power) for power in (-3, -2, -1, 0, 1)),
)
"""Fractions of the projected tangent, and of the mass (inertia correction), from the best to the last resort."""


class TangentMetric:
    """The second derivative of the Lagrangian at one configuration, with each body under expected stresses.

    It may have negative eigenvalues (`indefinite_factor`). Equality rows C (m, N) fix some of their directions; along
    the others, `unstable` of them, the configuration is unstable. With `reflect`, or far from a minimum, the sign of
    A⁻¹ is reversed along these, so that steps decrease the energy:

        A⁻¹ + Σ 2 |μ| w wᵀ,        P w = μ D w,  μ < 0,  C w = 0        (P: A⁻¹ under given δ, D: the diagonal of M)

    Where there are too many of them a fraction of the difference to the projected tangent is added, at last σM too;
    `attempt` is the index of the attempt that succeeded, `shift` is σ. Attempts begin with the one before `last`, which
    succeeded the last time. The minimum does not depend on any of this. `shifted` lists for each body the nodes around
    which the diagonal is shifted; the lists grow as needed.
    """

    def __init__(
        self,
        bodies: StepBodies,
        expected: Sequence[Expected | None],
        C: sparse.csr_matrix,
        shifted: Sequence[list[int]],
        *,
        last: int = 0,
        reflect: bool = False,
    ) -> None:
        self._ends = np.cumsum([model.size for model in bodies.world.models])[:-1]
        self._indefinite: list[IndefiniteFactor] = []
        self._factors: list[Any] = []
        self._reflected: tuple[FloatArray, FloatArray] | None = None
        self.unstable = 0
        exact = self._systems = self._assembled(bodies, expected, Tangent.EXACT)
        projected: list[Any] = []
        for self.attempt in range(max(0, last - 1), len(_ATTEMPTS)):
            fraction, self.shift = _ATTEMPTS[self.attempt]
            if fraction:
                projected = projected or self._assembled(bodies, expected, Tangent.PROJECTED)
                self._systems = [
                    replace(one, values=(1.0 - fraction) * one.values + fraction * other.values)
                    for one, other in zip(exact, projected, strict=True)
                ]
                for system in self._systems:
                    system.add_mass(self.shift)
            try:
                self._factorize(shifted)
                Z = self._count_unstable(C)
                if self.unstable and (reflect or self.attempt):
                    self._reflect(C, Z)
                return
            except SingularError as error:
                failed = error
        raise failed

    def _factorize(self, shifted: Sequence[list[int]]) -> None:
        """Factorize all systems, with the diagonal shifted around the nodes `shifted`."""
        self._indefinite, self._factors = [], []
        for index, system in enumerate(self._systems):
            model, factor = system.model, None
            memory = system.workspace.take(model, "factor")
            try:
                model.decouple_constrained(system.values)
                factor = IndefiniteFactor(model.symbolic, system.values, shifted[index], out=memory)
            finally:
                if factor is None and memory is not None:
                    system.workspace.give(model, "factor", memory)
            self._indefinite.append(factor)
            self._factors.append(model.constrained_factor(factor))

    def _count_unstable(self, C: sparse.csr_matrix) -> FloatArray:
        """Count the directions of negative curvature; returns A⁻¹ Cᵀ."""
        self.unstable = 0
        negative = sum(indefinite.negative for indefinite in self._indefinite)
        if not negative:
            return np.zeros((C.shape[1], 0))
        Z = self.solve(C.T.toarray())
        S = C @ Z
        self.unstable = max(0, negative - int(np.count_nonzero(np.linalg.eigvalsh(0.5 * (S + S.T)) < 0.0)))
        return Z

    def _reflect(self, C: sparse.csr_matrix, Z: FloatArray) -> None:
        """Find the directions of negative curvature."""
        from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh  # takes a while to import

        S = C @ Z
        root = np.sqrt(np.concatenate([np.repeat(system.model.mass.nodal, 3) for system in self._systems]))
        inverse = np.linalg.inv(0.5 * (S + S.T)) if len(S) else S

        def response(x: FloatArray) -> FloatArray:
            y = self.solve((root * x.ravel())[:, None])[:, 0]
            return np.asarray(root * (y - Z @ (inverse @ (C @ y))))

        operator = LinearOperator((len(root), len(root)), matvec=response, dtype=float)
        start = np.random.default_rng(0).normal(size=len(root))
        try:
            # directions of descent need no more digits
            mu, u = eigsh(operator, k=self.unstable, which="SA", v0=start, ncv=2 * self.unstable + 24, tol=1e-3)
        except ArpackNoConvergence as error:
            raise SingularError(f"{self.unstable} directions of negative curvature were not found") from error
        if not (mu < 0.0).all():
            raise SingularError(f"not all of {self.unstable} directions of negative curvature were found")
        self._reflected = u / root[:, None], -2.0 * mu

    def _assembled(self, bodies: StepBodies, expected: Sequence[Expected | None], tangent: Tangent) -> list[Any]:
        systems: list[Any] = []
        trials: Any = bodies.trials
        for model, trial, known in zip(bodies.world.volumes, trials, expected, strict=True):
            x, values = trial.evaluation_point(), model.blocks(trial.workspace)
            mixed_body(model, trial.workspace).tangent(x, known, tangent, values)
            model.add_load_stiffness(x, 1.0, bodies.controls, values)
            systems.append(VolumeSystem(model, values, np.zeros_like(x), None, trial.workspace))
        bodies.add_geometric_stiffness(systems)
        return systems

    def solve(self, rhs: FloatArray) -> FloatArray:
        """A⁻¹ rhs, (N, k)."""
        parts = np.split(rhs, self._ends)
        solved = [factor.solve(part).reshape(part.shape) for factor, part in zip(self._factors, parts, strict=True)]
        found: FloatArray = np.concatenate(solved)
        if self._reflected is not None:
            w, twice = self._reflected
            found = found + w @ (twice[:, None] * (w.T @ rhs))
        return found

    def compliance(self, H: Sequence[sparse.csr_matrix]) -> FloatArray:
        """H A⁻¹ Hᵀ, (rows, rows)."""
        W = compliance(H, self._factors)
        if self._reflected is not None:
            w, twice = self._reflected
            across = np.asarray(sparse.hstack(H) @ w)
            W += (across * twice) @ across.T
        return W

    def release(self) -> None:
        """Hand the memory of the factors back; the metric cannot be used any more."""
        for system, indefinite in zip(self._systems, self._indefinite, strict=True):
            system.release(indefinite.factor)
