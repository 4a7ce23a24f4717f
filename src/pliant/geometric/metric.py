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
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from pliant.constraints.condense import compliance
from pliant.core.errors import SingularError
from pliant.core.types import FloatArray
from pliant.geometric.lifted import LiftedFactor
from pliant.geometric.mixed import Expected, mixed_body
from pliant.materials import Tangent
from pliant.models.volume.held_factor import HeldFactor
from pliant.models.volume.trial import VolumeSystem
from pliant.stepping.bodies import StepBodies

_ATTEMPTS = (
    (0.0, 0.0),
    *((share, 0.0) for share in (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)),
    *((1.0, 10.0**power) for power in (-3, -2, -1, 0, 1)),
)
"""Shares of the projected tangent, and of the mass, from the best to the last resort."""


class TangentMetric:
    """The second derivative of the Lagrangian at one shape, with each body under expected stresses.

    It may have negative eigenvalues (`lifted`). Rows C (m, N) whose δ is given hold some of their directions; along the
    others the shape is unstable, `unstable` of them. Where it is to `fall`, or is far from a minimum, A⁻¹ is taken with
    its sign turned there, so that steps go down:

        A⁻¹ + Σ 2 |μ| w wᵀ,        P w = μ D w,  μ < 0,  C w = 0        (P: A⁻¹ under given δ, D: the diagonal of M)

    Where there are too many of them a share of what the projected tangent has more is added, at last σM too; `attempt`
    is the number of what succeeded, `shift` is σ. Attempts begin with the one before `last`, which succeeded the
    last time. The minimum does not depend on any of this. Unknowns around the nodes `lifted` are, a list for each
    body, which grows as needed.
    """

    def __init__(
        self,
        bodies: StepBodies,
        expected: Sequence[Expected | None],
        C: sparse.csr_matrix,
        lifted: Sequence[list[int]],
        *,
        last: int = 0,
        fall: bool = False,
    ) -> None:
        self._ends = np.cumsum([model.size for model in bodies.world.models])[:-1]
        self._factors: list[Any] = []
        self._falls: tuple[FloatArray, FloatArray] | None = None
        self.unstable = 0
        exact = self._systems = self._assembled(bodies, expected, Tangent.EXACT)
        projected: list[Any] = []
        for self.attempt in range(max(0, last - 1), len(_ATTEMPTS)):
            share, self.shift = _ATTEMPTS[self.attempt]
            if share:
                projected = projected or self._assembled(bodies, expected, Tangent.PROJECTED)
                self._systems = [
                    replace(one, values=(1.0 - share) * one.values + share * other.values)
                    for one, other in zip(exact, projected, strict=True)
                ]
                for system in self._systems:
                    system.add_mass(self.shift)
            try:
                self._factorize(lifted)
                Z = self._watch(C)
                if self.unstable and (fall or self.attempt):
                    self._turn(C, Z)
                return
            except SingularError as error:
                failed = error
        raise failed

    def _factorize(self, lifted: Sequence[list[int]]) -> None:
        """Factorize all systems, with unknowns around the nodes `lifted`."""
        self._factors = []
        for number, system in enumerate(self._systems):
            model, factor = system.model, None
            memory = system.workspace.take(model, "factor")
            try:
                model.hold(system.values)
                factor = LiftedFactor(model.symbolic, system.values, lifted[number], out=memory)
            finally:
                if factor is None and memory is not None:
                    system.workspace.give(model, "factor", memory)
            self._factors.append(model.held_factor(factor))

    def _watch(self, C: sparse.csr_matrix) -> FloatArray:
        """Count the directions along which the shape falls; returns A⁻¹ Cᵀ."""
        self.unstable = 0
        negative = sum(_inner(factor).negative for factor in self._factors)
        if not negative:
            return np.zeros((C.shape[1], 0))
        Z = self.solve(C.T.toarray())
        S = C @ Z
        self.unstable = max(0, negative - int(np.count_nonzero(np.linalg.eigvalsh(0.5 * (S + S.T)) < 0.0)))
        return Z

    def _turn(self, C: sparse.csr_matrix, Z: FloatArray) -> None:
        """Find the directions along which the shape falls."""
        S = C @ Z
        root = np.sqrt(np.concatenate([np.repeat(system.model.mass.nodal, 3) for system in self._systems]))
        inverse = np.linalg.inv(0.5 * (S + S.T)) if len(S) else S

        def response(x: FloatArray) -> FloatArray:
            y = self.solve((root * x.ravel())[:, None])[:, 0]
            back: FloatArray = root * (y - Z @ (inverse @ (C @ y)))
            return back

        operator = LinearOperator((len(root), len(root)), matvec=response, dtype=float)
        start = np.random.default_rng(0).normal(size=len(root))
        try:
            mu, u = eigsh(operator, k=self.unstable, which="SA", v0=start, ncv=2 * self.unstable + 24, tol=1e-3)
        except ArpackNoConvergence as error:
            raise SingularError(f"{self.unstable} directions along which the shape falls were not found") from error
        if not (mu < 0.0).all():
            raise SingularError(f"not all of {self.unstable} directions along which the shape falls were found")
        self._falls = u / root[:, None], -2.0 * mu

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
        if self._falls is not None:
            w, twice = self._falls
            found = found + w @ (twice[:, None] * (w.T @ rhs))
        return found

    def compliance(self, H: Sequence[sparse.csr_matrix]) -> FloatArray:
        """H A⁻¹ Hᵀ, (rows, rows)."""
        W = compliance(H, self._factors)
        if self._falls is not None:
            w, twice = self._falls
            across = np.asarray(sparse.hstack(H) @ w)
            W += (across * twice) @ across.T
        return W

    def release(self) -> None:
        """Hand the memory of the factors back; the metric cannot be used any more."""
        for system, factor in zip(self._systems, self._factors, strict=True):
            inner = _inner(factor)
            system.release(inner.factor if isinstance(inner, LiftedFactor) else inner)


def _inner(factor: Any) -> Any:
    return factor.factor if isinstance(factor, HeldFactor) else factor
