"""The adjoint of one step: one more linear solve with the matrix in which the step ended.

The step is R(q⁺, q, v, λ; p) = 0 for the bodies and c(δ, λ; p) = 0 for the rows (`gradients.active`). With g = ∂J/∂q⁺
and g_λ = ∂J/∂λ,

    Aᵀ w + Gᵀ Bᵀ ν = g,     − H w + Eᵀ ν = g_λ,             G = ∂δ/∂q⁺, H as it acts on forces (equal but for slip)
    dJ/dp = ∂J/∂p − wᵀ ∂R/∂p − νᵀ ∂c/∂p

ν of the active rows comes from the small system (H A⁻ᵀ Gᵀ Bᵀ + Eᵀ) ν = g_λ + H A⁻ᵀ g. What the factors do not hold
(unsymmetric damping, rows between two bodies) is N: (1 + P N) w = P g is solved by GMRES
with this solve as P.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, gmres

from pliant.constraints import forces_of
from pliant.core.errors import ConvergenceError, InputError
from pliant.core.types import FloatArray
from pliant.gradients.active import ActiveSet, active_set
from pliant.gradients.known import check_known, direction
from pliant.gradients.rows import EndRows
from pliant.gradients.small_body import SmallBodyAdjoint, restart_of
from pliant.models.adjoint import BodyAdjoint
from pliant.models.model import StepStart
from pliant.solvers.contact import Law
from pliant.solvers.linear.matrix import BlockMatrix
from pliant.stepping import StepInfo

TOLERANCE = 1e-11
"""Relative residual of the iteration for what the factors do not hold."""
MOST_ITERATIONS = 200
_REDUNDANT = 1e-11
"""Singular values of the small system below this fraction of the largest belong to forces that redundant rows share."""


class Multipliers(NamedTuple):
    """w of each body, of the shape of its dx, and ν (rows,) of the rows."""

    w: list[FloatArray]
    nu: FloatArray


class StepAdjoint:
    """The adjoint of the step that `info` reports; `solve` may be called for several right-hand sides. `checked` are
    constraints whose derivatives are known to be right from other steps (`gradients.known`).
    """

    def __init__(self, info: StepInfo, checked: set[int] | None = None) -> None:
        bodies = info.step.bodies
        self.info, self.bodies, self.trials = info, bodies, bodies.trials
        self.ends = EndRows.of(info)
        self._shapes = [trial.dx.shape for trial in self.trials]
        stiff = self._stiffnesses()
        self.parts: list[BodyAdjoint] = [self._part(k, stiff.get(k, [])) for k in range(len(self.trials))]
        self._small = [k for k, part in enumerate(self.parts) if isinstance(part, SmallBodyAdjoint)]
        self._across: dict[int, list[FloatArray]] = {}
        self.rows_of_start: list[Any] = []
        if self.ends is None:
            return
        self.H: list[Any] = [sparse.csr_matrix(h) for h in self.ends.rows.H]
        self.G = list(self.H)
        self._add_small()
        self._P = [part.solve_rows(G) if G.nnz else None for part, G in zip(self.parts, self.G, strict=True)]
        self._W = np.zeros((self.ends.rows.count,) * 2)
        for H, P in zip(self.H, self._P, strict=True):
            if P is not None:
                self._W += H @ P
        diagonal = np.maximum(np.abs(np.diag(self._W)), np.finfo(float).tiny)
        self.active: ActiveSet = active_set(self.ends.rows, self.ends.lam, self.ends.delta, diagonal)
        self._check_known(stiff, set() if checked is None else checked)
        self.rows_of_start = self._slip_of_start()

    def solve(self, g: Sequence[FloatArray], by_force: FloatArray | None = None) -> Multipliers:
        """w and ν for ∂J/∂q⁺ `g` of each body and ∂J/∂λ `by_force` (rows,)."""
        first = self._preconditioned(g, by_force)
        if self._beyond(first.w) is None:
            return first
        start = _flat(first.w)

        def product(x: FloatArray) -> FloatArray:
            beyond = self._beyond(self._split(x))
            assert beyond is not None
            return x + _flat(self._preconditioned(beyond).w)

        operator = LinearOperator((len(start),) * 2, matvec=product, dtype=np.float64)
        w, failed = gmres(operator, start, x0=start, rtol=TOLERANCE, atol=0.0, restart=60, maxiter=MOST_ITERATIONS)
        if failed:
            raise ConvergenceError(
                "the adjoint of a step did not converge: the step ended near a point where it has no derivative "
                "(a limit point, a contact about to open); change the start or the controls a little"
            )
        beyond = self._beyond(self._split(w))
        assert beyond is not None
        return self._preconditioned([x - y for x, y in zip(g, beyond, strict=True)], by_force)

    def start(self, multipliers: Multipliers) -> tuple[list[FloatArray], list[FloatArray]]:
        """dJ/dq and dJ/dv of the start of the step, but for the part through v⁺."""
        pairs = [part.start(w) for part, w in zip(self.parts, multipliers.w, strict=True)]
        q = [pair[0] for pair in pairs]
        if self.ends is not None:
            weighed = self.active.B.T @ multipliers.nu
            for k, S in enumerate(self.rows_of_start):
                if S is not None:
                    q[k] = q[k] - (S.T @ weighed).reshape(q[k].shape)
        return q, [pair[1] for pair in pairs]

    def residual(
        self, index: int, *, model: Any = None, gravity: FloatArray | None = None, controls: Any = None
    ) -> FloatArray:
        """r of body `index` at the end of the step without rows, N (and N·m), of the shape of its dx, with another
        model, gravity (m/s²) or values of loads.
        """
        bodies = self.bodies
        given = {**bodies.controls, **controls} if controls else bodies.controls
        own = bodies.gravity if gravity is None else gravity
        begun = self._begun(index)._replace(gravity=own, controls=given, workspace=None)
        changed = bodies.world.models[index] if model is None else model
        made: FloatArray = changed.trial(begun).at(self.trials[index].dx).residual().r
        return made

    def commanded(self, row: int) -> bool:
        """Whether the `row` of an actuator meets its command, and is not at a bound of its force."""
        assert self.ends is not None
        return bool(self.active.active[row] or self.ends.rows.law[row] == Law.IMPOSED)

    def release(self) -> None:
        """Give memory back to the stepper."""
        for part in self.parts:
            part.release()

    def _part(self, index: int, stiffnesses: list[Any]) -> BodyAdjoint:
        trial, start = self.trials[index], self.bodies.start
        known = trial.adjoint(stiffnesses)
        if known is not None:
            return known
        restart = restart_of(self.bodies.world.models[index], self._begun(index))
        return SmallBodyAdjoint(trial, restart, start.q[index], start.v[index])

    def _begun(self, index: int) -> StepStart:
        bodies = self.bodies
        q, v = bodies.start.q[index], bodies.start.v[index]
        given = bodies.gravity, bodies.controls, bodies.workspace, None, bodies.world.supported[index], None
        return StepStart(q, v, bodies.scheme, *given)

    def _stiffnesses(self) -> dict[int, list[Any]]:
        """The geometric stiffness of rows at their last forces, by the index of its volume."""
        world, made = self.bodies.world, {}  # type: ignore[var-annotated]
        if self.ends is None or not world.stiff_constraints:
            return made
        keys, slices = world.stiff_keys
        forces = forces_of(keys, self.ends.rows.key, self.ends.lam)
        x = [trial.evaluation_point() for trial in self.trials]
        for constraint, own in zip(world.stiff_constraints, slices, strict=True):
            for index, K in constraint.stiffness(x, forces[own], self.bodies.scheme.theta):
                made.setdefault(index, []).append(K)
        return made

    def _add_small(self) -> None:
        """What rows do where small bodies move."""
        assert self.ends is not None
        for k in self._small:
            part: Any = self.parts[k]
            if not self.H[k].nnz:
                continue
            forces, gaps = self.ends.by_end(k, part)
            part.add_rows(forces[k])
            self._across[k] = [force if j != k else np.zeros((0, 0)) for j, force in enumerate(forces)]
            self.G[k] = sparse.csr_matrix(gaps)
            self._refuse_mixed_friction(k)

    def _refuse_mixed_friction(self, k: int) -> None:
        assert self.ends is not None
        rows = self.ends.rows
        pressed = (rows.law == Law.COULOMB) & (self.ends.lam != 0.0)
        for j, H in enumerate(self.H):
            if j in self._small or not H.nnz:
                continue
            both = pressed & (np.diff(H.indptr) > 0) & (np.diff(self.H[k].indptr) > 0)
            if both.any():
                name = self.bodies.world.constraints[int(self.ends.owner[np.argmax(both)])].name
                raise InputError(
                    f"gradients do not know friction between a volume and a body that turns ({name}): their planes of "
                    "contact turn with the body; take friction=0 there, or an obstacle"
                )

    def _slip_of_start(self) -> list[Any]:
        """∂δ/∂q at fixed q⁺ of each body: the slip of contacts with friction counts from the start of the step."""
        assert self.ends is not None
        rows = self.ends.rows
        slip = (rows.law == Law.COULOMB) & self.active.active
        first = np.flatnonzero(rows.law == Law.COULOMB)[::3]
        slip[first] = False
        if not slip.any():
            return [None] * len(self.parts)
        picked = sparse.diags(slip.astype(np.float64))
        made: list[Any] = []
        for k, part in enumerate(self.parts):
            if not self.H[k].nnz:
                made.append(None)
            elif isinstance(part, SmallBodyAdjoint):
                made.append(sparse.csr_matrix(self.ends.by_start(k, part, self.G[k].toarray())))
            else:
                made.append(-(picked @ self.H[k]))
        return made

    def _check_known(self, stiff: dict[int, list[Any]], checked: set[int]) -> None:
        """Raise where rows change with volumes in ways that are in none of the matrices."""
        assert self.ends is not None
        y = direction(self.ends, self._small)
        products: list[FloatArray | None] = [None] * len(y)
        for index, parts in stiff.items():
            if index not in self._small:
                model: Any = self.trials[index].model
                values = np.zeros((model.pattern.block_count, 3, 3))
                for K in parts:
                    K.add_to(values)
                products[index] = BlockMatrix(model.pattern, values).matvec(y[index])
        check_known(self.ends, products, self._across, self._small, self.H, self.active.active, checked)

    def _beyond(self, w: Sequence[FloatArray]) -> list[FloatArray] | None:
        """Nᵀ w of each body, None where there is nothing."""
        parts = [part.rest(x) for part, x in zip(self.parts, w, strict=True)]
        if all(part is None for part in parts) and not self._across:
            return None
        made = [np.zeros(x.shape) if part is None else part for part, x in zip(parts, w, strict=True)]
        for i, columns in self._across.items():
            for j, X in enumerate(columns):
                if j == i:
                    continue
                made[i] = made[i] - (X.T @ w[j].ravel()).reshape(made[i].shape)
                if j not in self._small:
                    made[j] = made[j] - (X @ w[i].ravel()).reshape(made[j].shape)
        fixed = [trial.model.constrained for trial in self.trials]
        return [np.where(held, 0.0, x) for held, x in zip(fixed, made, strict=True)]

    def _preconditioned(self, g: Sequence[FloatArray], by_force: FloatArray | None = None) -> Multipliers:
        """The solve without N."""
        w = [part.solve(x) for part, x in zip(self.parts, g, strict=True)]
        if self.ends is None:
            return Multipliers(w, np.zeros(0))
        right = np.zeros(self.ends.rows.count) if by_force is None else by_force.copy()
        for H, x in zip(self.H, w, strict=True):
            right += H @ x.ravel()
        a = np.flatnonzero(self.active.active)
        nu = np.zeros(len(right))
        B, E = self.active.B[np.ix_(a, a)], self.active.E[np.ix_(a, a)]
        nu[a] = solved(self._W[np.ix_(a, a)] @ B.T + E.T, right[a])
        pushed = self.active.B.T @ nu
        for k, P in enumerate(self._P):
            if P is not None:
                w[k] = w[k] - (P @ pushed).reshape(w[k].shape)
        given = ~self.active.active
        moved = np.zeros(len(right)) if by_force is None else by_force.copy()
        for H, x in zip(self.H, w, strict=True):
            moved += H @ x.ravel()
        nu[given] = moved[given]
        return Multipliers(w, nu)

    def _split(self, x: FloatArray) -> list[FloatArray]:
        sizes = np.cumsum([int(np.prod(shape)) for shape in self._shapes])
        parts = np.split(x, sizes[:-1])
        return [part.reshape(shape) for part, shape in zip(parts, self._shapes, strict=True)]


def _flat(w: Sequence[FloatArray]) -> FloatArray:
    return np.concatenate([x.ravel() for x in w])


def solved(M: FloatArray, right: FloatArray) -> FloatArray:
    """M⁻¹ right, (m,) or (m, k), of least norm where rows are redundant; columns of other units are scaled first."""
    if not len(M):
        return np.zeros(right.shape)
    scale = np.abs(M).max(axis=0)
    scale[scale == 0.0] = 1.0
    made: FloatArray = (np.linalg.lstsq(M / scale, right, rcond=_REDUNDANT)[0].T / scale).T
    return made
