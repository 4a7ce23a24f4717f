"""The tangent of one step: how its end follows its start and the parameters, all of them in one block.

With the equations R = 0 and c = 0 of `gradients.adjoint`, motions q̇ and v̇ of the start and changes of the equations
by the parameters give the motion of the end and of the constraint forces:

    A q̇⁺ − Hᵀ λ̇ = −∂R/∂q q̇ − ∂R/∂v v̇ − ∂R/∂p
    B (G q̇⁺ + ∂δ/∂q q̇ + ∂δ/∂p) + E λ̇ = −∂c/∂p

λ̇ of the active rows comes from the small system (B G A⁻¹ Hᵀ + E) λ̇ = …, the W of the step once more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.sparse.linalg import LinearOperator, gmres

from pliant.core.types import FloatArray, IndexArray
from pliant.gradients.adjoint import MOST_ITERATIONS, TOLERANCE, StepAdjoint, solved
from pliant.gradients.effects import Changes
from pliant.gradients.linear_step import LinearStepAdjoint
from pliant.stepping import StepInfo


class Tangent(NamedTuple):
    """Derivatives by all parameters, (…, columns): `q` and `v` of the bodies (unknowns, columns), `lam` of the forces
    and `gap` of δ (rows, columns).
    """

    q: list[FloatArray]
    v: list[FloatArray]
    lam: FloatArray
    gap: FloatArray


class StepTangent(StepAdjoint):
    """The tangent of the step that `info` reports."""

    begun: Sequence[FloatArray] | None = None
    """Motions of the start (unknowns, columns) where its rows are those of the start; None: they are of the end."""

    def __init__(self, info: StepInfo, decided: dict[int, bool] | None = None) -> None:
        super().__init__(info, decided)
        self._take_columns()

    def _take_columns(self) -> None:
        """A⁻¹ Hᵀ of the rows that count."""
        self._X: list[FloatArray | None] = []
        if self.ends is not None:
            for k, (part, H) in enumerate(zip(self.parts, self.H, strict=True)):
                known = self._P[k] if self.G[k] is H else None  # A of a volume is symmetric
                made = part.solve_columns(H[self._own].T.toarray()) if known is None and H.nnz else known
                self._X.append(made)

    def advance(self, q: Sequence[FloatArray], v: Sequence[FloatArray], changes: Sequence[Changes | None],
                offsets: Sequence[int]) -> Tangent:  # fmt: skip
        """The tangent of the end from `q` and `v` of the start, and what parameters change, whose columns begin at
        `offsets`.
        """
        count = q[0].shape[1]
        rows = 0 if self.ends is None else self.ends.rows.count
        push = [part.started(x, y) for part, x, y in zip(self.parts, q, v, strict=True)]
        gap, law = np.zeros((rows, count)), np.zeros((rows, count))
        for made, offset in zip(changes, offsets, strict=True):
            if made is not None:
                self._add(made, offset, push, gap, law)
        self.of_start.follow(q, push, gap)
        self.of_velocity.follow(v, push, gap)
        self._follow_more(q, push, gap)
        right = -law if self.ends is None else -law - self.active.B @ gap
        end, lam = self._forward(push, right)
        if self._beyond_along([x[:, 0] for x in end]) is not None:
            end, lam = self._corrected(push, right, end)
        if self.ends is not None:
            for G, x in zip(self.G, end, strict=True):
                gap += G @ x
        after = [part.ended(x, *begun) for part, x, *begun in zip(self.parts, end, q, v, strict=True)]
        return Tangent(end, after, lam, gap)

    def _follow_more(self, q: Sequence[FloatArray], push: list[FloatArray], gap: FloatArray) -> None:
        """What else motions of the start change; nothing where the step was solved to a tolerance."""

    def _add(self, made: Changes, offset: int, push: list[FloatArray], gap: FloatArray, law: FloatArray) -> None:
        width = next(x.shape[1] for x in (*made.push.values(), made.gap, made.law) if x is not None)
        first = offset + (made.columns.start or 0)
        own = slice(first, first + width)
        for index, change in made.push.items():
            push[index][:, own] += change
        if made.gap is not None:
            gap[:, own] += made.gap
        if made.law is not None:
            law[:, own] += made.law

    def _forward(self, push: Sequence[FloatArray], right: FloatArray) -> tuple[list[FloatArray], FloatArray]:
        """q̇⁺ and λ̇ without N."""
        end = [part.solve_columns(x) for part, x in zip(self.parts, push, strict=True)]
        lam = np.zeros(right.shape)
        if self.ends is None:
            return end, lam
        active = self.active.active[self._own]
        own, given = np.flatnonzero(active), np.flatnonzero(~active)
        a = self._own[own]
        lam[self._own[given]] = right[self._own[given]]
        moved = self._W.T[np.ix_(own, given)] @ lam[self._own[given]]
        for G, x in zip(self.G, end, strict=True):
            moved += G[a] @ x
        B, E = self.active.B[np.ix_(a, a)], self.active.E[np.ix_(a, a)]
        lam[a] = solved(B @ self._W.T[np.ix_(own, own)] + E, right[a] - B @ moved)
        pushed = lam[self._own]
        return [x if X is None else x + X @ pushed for x, X in zip(end, self._X, strict=True)], lam

    def _corrected(
        self, push: Sequence[FloatArray], right: FloatArray, first: list[FloatArray]
    ) -> tuple[list[FloatArray], FloatArray]:
        """The same with N: each column is iterated to the tolerance of the adjoint."""
        nothing = np.zeros((right.shape[0], 1))

        def product(x: FloatArray) -> FloatArray:
            beyond = self._beyond_along(self._parted(x))
            assert beyond is not None
            found = self._forward([part[:, None] for part in beyond], nothing)[0]
            made: FloatArray = x + np.concatenate([part[:, 0] for part in found])
            return made

        start = np.concatenate(first)
        operator = LinearOperator((len(start),) * 2, matvec=product, dtype=np.float64)
        left = [x.copy() for x in push]
        for k, column in enumerate(start.T):
            if not column.any():
                continue
            given = {"x0": column, "rtol": TOLERANCE, "atol": 0.0, "restart": 60, "maxiter": MOST_ITERATIONS}
            x, failed = gmres(operator, column, **given)
            if failed:
                raise self._unsolved("tangent")
            beyond = self._beyond_along(self._parted(x))
            assert beyond is not None
            for own, part in zip(left, beyond, strict=True):
                own[:, k] -= part
        return self._forward(left, right)

    def _beyond_along(self, y: Sequence[FloatArray]) -> list[FloatArray] | None:
        """N y of each body (unknowns,), None where there is nothing."""
        parts = [part.rest_along(x.reshape(shape)) for part, x, shape in zip(self.parts, y, self._shapes, strict=True)]
        if all(part is None for part in parts) and not self._across and self._turning is None:
            return None
        made = [np.zeros(x.shape) if part is None else part.ravel() for part, x in zip(parts, y, strict=True)]
        for j, k, X in self._blocks():
            made[j] = made[j] - X @ y[k]
        return [np.where(trial.model.constrained.ravel(), 0.0, x) for trial, x in zip(self.trials, made, strict=True)]

    def _parted(self, x: FloatArray) -> list[FloatArray]:
        return [part.ravel() for part in self._split(x)]


class LinearStepTangent(LinearStepAdjoint, StepTangent):
    """The tangent of the step of one linear solve that `info` reports; `last` are the keys of the rows of the step
    before, and the derivatives (rows, columns) of their forces.
    """

    def __init__(
        self, info: StepInfo, decided: dict[int, bool] | None = None, *, last: tuple[IndexArray, FloatArray]
    ) -> None:
        LinearStepAdjoint.__init__(self, info, decided)
        self._last_motion = last
        self._take_columns()

    def _follow_more(self, q: Sequence[FloatArray], push: list[FloatArray], gap: FloatArray) -> None:
        self.begun = q
        self.follow(q, push, gap, self._last_motion)
