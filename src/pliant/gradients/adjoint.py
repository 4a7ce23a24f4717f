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

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, gmres

from pliant.constraints import forces_of
from pliant.constraints.rows import COMPLIANT
from pliant.core.arrays import add_product, transposed_product
from pliant.core.errors import ConvergenceError, InputError
from pliant.core.types import FloatArray
from pliant.gradients.active import ActiveSet, active_set
from pliant.gradients.counted import by_landing, by_start, not_slipping, replace_guides
from pliant.gradients.known import Probe, refuse_at_middle, turning_at_middle
from pliant.gradients.rows import EndRows
from pliant.gradients.small_body import SmallBodyAdjoint, restart_of, start_of
from pliant.gradients.start_rows import RowsOfStart
from pliant.gradients.turning import TurningRows
from pliant.models.adjoint import BodyAdjoint
from pliant.solvers.contact import Law
from pliant.solvers.linear.matrix import BlockMatrix
from pliant.stepping import StepInfo

TOLERANCE = 1e-11
"""Relative residual of the iteration for what the factors do not hold."""
MOST_ITERATIONS = 200
_REDUNDANT = 1e-11
"""Singular values of the small system below this fraction of the largest belong to forces that redundant rows share."""

_ALWAYS = [int(Law.BILATERAL), int(Law.IMPOSED), COMPLIANT]
"""Laws of rows whose δ or command counts where they have no force too."""


class Multipliers(NamedTuple):
    """w of each body, of the shape of its dx, and ν (rows,) of the rows."""

    w: list[FloatArray]
    nu: FloatArray


class StepAdjoint:
    """The adjoint of the step that `info` reports; `solve` may be called for several right-hand sides. `decided` tells
    of constraints whether other steps found that the matrices hold how they turn (`gradients.known`).
    """

    def __init__(self, info: StepInfo, decided: dict[int, bool] | None = None) -> None:
        self.info, self.ends = info, EndRows.of(info)
        self.bodies = info.step.bodies
        self.trials = self.bodies.trials
        self._shapes = [trial.dx.shape for trial in self.trials]
        self._small = [k for k, trial in enumerate(self.trials) if not trial.has_adjoint]
        self._volumes = [k for k in range(len(self.trials)) if k not in self._small]
        self._across: dict[int, list[FloatArray]] = {}
        self._turning: TurningRows | None = None
        self.of_start, self.of_velocity = RowsOfStart(), RowsOfStart()
        self._geometric = stiff = self._stiffnesses()
        if self.ends is not None:
            self.rows_at_end: list[Any] = [sparse.csr_matrix(h) for h in self.ends.rows.H]
            acting = self.ends.acting if self.bodies.scheme.theta != 1.0 else None
            self.H = self.rows_at_end if acting is None else [sparse.csr_matrix(h) for h in acting]
            self.G = list(self.rows_at_end)
            refuse_at_middle(self.ends)
            replace_guides(self.ends, self.G, self._volumes)
            self._turn(stiff, {} if decided is None else decided)
        self.parts: list[BodyAdjoint] = [
            self._part(k, [K for parts in stiff.values() for K in parts.get(k, [])]) for k in range(len(self.trials))
        ]
        if self.ends is None:
            return
        if self._turning is not None:
            for k in self._volumes:
                self.G[k] = self._turning.replaced(k, self.G[k])
        self._add_small()
        self._condense()
        self._add_start()

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
            raise self._unsolved("adjoint")
        beyond = self._beyond(self._split(w))
        assert beyond is not None
        return self._preconditioned([x - y for x, y in zip(g, beyond, strict=True)], by_force)

    def start(self, multipliers: Multipliers) -> tuple[list[FloatArray], list[FloatArray]]:
        """dJ/dq and dJ/dv of the start of the step, but for the part through v⁺."""
        pairs = [part.start(w) for part, w in zip(self.parts, multipliers.w, strict=True)]
        q = [pair[0] for pair in pairs]
        v = [pair[1] for pair in pairs]
        if self.ends is not None:
            weighed = self.active.B.T @ multipliers.nu
            self.of_start.pull(multipliers.w, weighed, q)
            self.of_velocity.pull(multipliers.w, weighed, v)
        return q, v

    def residual(
        self, index: int, *, model: Any = None, gravity: FloatArray | None = None, controls: Any = None
    ) -> FloatArray:
        """r of body `index` at the end of the step without rows, N (and N·m), of the shape of its dx, with another
        model, gravity (m/s²) or values of loads.
        """
        bodies = self.bodies
        given = {**bodies.controls, **controls} if controls else bodies.controls
        own = bodies.gravity if gravity is None else gravity
        begun = start_of(self.bodies, index)._replace(gravity=own, controls=given, workspace=None)
        changed = bodies.world.models[index] if model is None else model
        made: FloatArray = changed.trial(begun).at(self.trials[index].dx).residual().r
        return made

    def commanded(self, row: int) -> bool:
        """Whether the `row` of an actuator meets its command, and is not at a bound of its force."""
        assert self.ends is not None
        return bool(self.active.active[row] or self.ends.rows.law[row] == Law.IMPOSED)

    def stiffened(self, constraint: Any) -> Iterator[tuple[int, FloatArray]]:
        """K dx of bodies by index, of the stiffness K that a constraint has at the forces of the step before: none, but
        in steps of one linear solve.
        """
        yield from ()

    def pushed_by(self, k: int, w: Sequence[FloatArray]) -> FloatArray:
        """Σ w · ∂(Hᵀλ)/∂q⁺ of all bodies by the volume k, of the shape of its dx, its constrained nodes included."""
        made = np.zeros(self._shapes[k])
        for parts in self._geometric.values():
            made -= self._product(k, parts.get(k, []), w[k])
        for j, other, X in self._blocks():
            if other == k:
                made += (X.T @ w[j].ravel()).reshape(made.shape)
        return made

    def release(self) -> None:
        """Give memory back to the stepper."""
        for part in self.parts:
            part.release()

    def _condense(self) -> None:
        """P = A⁻ᵀ Gᵀ and W = H P of the rows that a force or a law lets count, and the active set."""
        assert self.ends is not None
        rows = self.ends.rows
        self._own = np.flatnonzero(self.ends.pushing | np.isin(rows.law, _ALWAYS))
        self._P: list[FloatArray | None] = []
        self._W = np.zeros((len(self._own),) * 2)
        for part, H, G in zip(self.parts, self.H, self.G, strict=True):
            P, acts = None, G.nnz and len(self._own)
            if acts and G is H and hasattr(part, "compliance"):  # each w takes one more solve, instead of P
                self._W += part.compliance(H[self._own])
            elif acts:
                P = part.solve_rows(G[self._own])
                self._W += H[self._own] @ P
            self._P.append(P)
        diagonal = np.ones(rows.count)
        diagonal[self._own] = np.maximum(np.abs(np.diag(self._W)), np.finfo(float).tiny)
        self.active: ActiveSet = active_set(rows, self.ends.lam, self.ends.delta, diagonal, self.ends.slips)

    def _part(self, index: int, stiffnesses: list[Any]) -> BodyAdjoint:
        trial, start = self.trials[index], self.bodies.start
        known = trial.adjoint(stiffnesses)
        if known is not None:
            return known
        restart = restart_of(self.bodies.world.models[index], start_of(self.bodies, index))
        return SmallBodyAdjoint(trial, restart, start.q[index], start.v[index])

    def _stiffnesses(
        self, at: Sequence[FloatArray] | None = None, scale: float | None = None
    ) -> dict[int, dict[int, list[Any]]]:
        """The geometric stiffness of rows at their last forces, by constraint and the index of the body: where forces
        are evaluated and θ times, or `at` other positions and `scale` times.
        """
        world, made = self.bodies.world, {}  # type: ignore[var-annotated]
        if self.ends is None or not world.stiff_constraints:
            return made
        keys, slices = world.stiff_keys
        forces = forces_of(keys, self.ends.rows.key, self.ends.lam)
        x = [trial.evaluation_point() for trial in self.trials] if at is None else at
        theta = self.bodies.scheme.theta if scale is None else scale
        places = {id(constraint): index for index, constraint in enumerate(world.constraints)}
        for constraint, own in zip(world.stiff_constraints, slices, strict=True):
            for index, K in constraint.stiffness(x, forces[own], theta):
                made.setdefault(places[id(constraint)], {}).setdefault(index, []).append(K)
        return made

    def _turn(self, stiff: dict[int, dict[int, list[Any]]], decided: dict[int, bool]) -> None:
        """Find the rows that turn with volumes as no stiffness says, of which `stiff` is then rid."""
        assert self.ends is not None
        probe = Probe.of(self.ends, self._volumes, decided)
        if not probe.open:
            return
        if self.bodies.scheme.theta != 1.0:
            stiff = self._stiffnesses([trial.positions() for trial in self.trials], 1.0)
        along = probe.along
        products = {
            index: {k: self._product(k, parts, along[k]) for k, parts in own.items()}
            for index, own in ((index, self._of_volumes(stiff.get(index, {}))) for index in probe.open)
        }
        turning = probe.turning(products, self.G, self._volumes)
        if turning and self.bodies.scheme.theta != 1.0:
            raise turning_at_middle(self.bodies.world, turning)
        for index in probe.open:
            if not self.bodies.world.constraints[index].is_contact:
                decided[index] = index not in turning
        if turning:
            for index in turning:
                stiff.pop(index, None)
            self._refuse_reduced(turning)
            self._turn_by = partial(TurningRows.of, self.ends, turning, self._volumes)
            self._follows_start = partial(probe.follows_start, turning, self._volumes, self.H)
            self._turning = TurningRows.of(self.ends, turning, self._volumes)
            probe.check(self._turning, turning)

    @property
    def small_with_rows(self) -> list[int]:
        """Indices of bodies that are differentiated by differences and have rows."""
        return [k for k in self._small if self.rows_at_end[k].nnz]

    def _refuse_reduced(self, turning: Sequence[int]) -> None:
        if self.bodies.world.reductions:
            names = ", ".join(repr(self.bodies.world.constraints[index].name) for index in turning)
            raise InputError(
                f"gradients through reduced worlds do not know how the rows of {names} turn: contacts with fixed "
                "planes and cables within one body are known"
            )

    def _of_volumes(self, parts: dict[int, list[Any]]) -> dict[int, list[Any]]:
        return {k: own for k, own in parts.items() if k in self._volumes}

    def _product(self, index: int, parts: Sequence[Any], y: FloatArray) -> FloatArray:
        """K y of a volume, K the sum of `parts`."""
        model: Any = self.trials[index].model
        return BlockMatrix(model.pattern, self._values(index, parts)).matvec(y)

    def stiffness_product(self, index: int, K: Any, y: FloatArray) -> FloatArray:
        """K y of a volume, for a term K of its stiffness."""
        return self._product(index, [K], y)

    def _values(self, index: int, parts: Sequence[Any]) -> FloatArray:
        """The blocks of the sum of `parts` of the stiffness of a volume."""
        model: Any = self.trials[index].model
        values = np.zeros((model.pattern.block_count, 3, 3))
        for K in parts:
            K.add_to(values)
        return values

    def _add_small(self) -> None:
        """What rows do where small bodies move."""
        assert self.ends is not None
        self._by_end: dict[int, tuple[list[FloatArray], FloatArray]] = {}
        for k in self._small:
            part: Any = self.parts[k]
            if not self.H[k].nnz:
                continue
            forces, gaps = self._by_end[k] = self.ends.by_end(k, part)
            part.add_rows(forces[k])
            self._across[k] = [force if j != k else np.zeros((0, 0)) for j, force in enumerate(forces)]
            self.G[k] = sparse.csr_matrix(gaps)

    def _add_start(self) -> None:
        """What rows know of the start at fixed q⁺: the slip of contacts with friction counts from there, points of
        faces that meet round solids are chosen there, and planes that land follow its velocities.
        """
        assert self.ends is not None
        rows, start = self.ends.rows, self.of_start
        slip = (rows.law == Law.COULOMB) & self.active.active
        slip[np.flatnonzero(rows.law == Law.COULOMB)[::3]] = False
        counted = not_slipping(self.ends)
        if self._turning is not None:
            if self.ends.predicted or self._follows_start(slip):
                start.add(self._turn_by(by="start"))
                slip &= ~self._turning.which
                counted[self._turning.which] = 0.0
            if self.ends.predicted:
                self.of_velocity.add(self._turn_by(by="velocity"))
        for k, part in by_start(self.ends, counted, self._volumes).items():
            start.gap[k] = start.gap.get(k, 0) + part
        for k in self._volumes:
            landed = by_landing(self.ends, self.active.active, counted, k)
            if landed is not None:
                start.gap[k] = start.gap.get(k, 0) + landed[0]
                self.of_velocity.gap[k] = self.of_velocity.gap.get(k, 0) + landed[1]
        picked = sparse.diags(slip.astype(np.float64))
        for k, part in enumerate(self.parts):
            if not self.H[k].nnz:
                continue
            if isinstance(part, SmallBodyAdjoint):
                start.add_body(k, *self.ends.by_start(k, part, self._by_end[k]))
                if self.ends.predicted:
                    self.of_velocity.add_body(k, *self.ends.by_velocity(k, part))
            elif slip.any():
                start.gap[k] = start.gap.get(k, 0) - picked @ self.H[k]

    def _beyond(self, w: Sequence[FloatArray]) -> list[FloatArray] | None:
        """Nᵀ w of each body, None where there is nothing."""
        parts = [part.rest(x) for part, x in zip(self.parts, w, strict=True)]
        if all(part is None for part in parts) and not self._across and self._turning is None:
            return None
        made = [np.zeros(x.shape) if part is None else part for part, x in zip(parts, w, strict=True)]
        for j, k, X in self._blocks():
            made[k] = made[k] - (X.T @ w[j].ravel()).reshape(made[k].shape)
        fixed = [trial.model.constrained for trial in self.trials]
        return [np.where(held, 0.0, x) for held, x in zip(fixed, made, strict=True)]

    def _blocks(self) -> Iterator[tuple[int, int, Any]]:
        """∂(Hᵀλ)/∂q of body j by body k, as far as A does not hold it: j, k and the matrix."""
        for k, columns in self._across.items():
            yield from ((j, k, X) for j, X in enumerate(columns) if j != k)
        if self._turning is not None:
            yield from ((j, k, X) for (j, k), X in self._turning.push.items())

    def _preconditioned(self, g: Sequence[FloatArray], by_force: FloatArray | None = None) -> Multipliers:
        """The solve without N."""
        w = [part.solve(x) for part, x in zip(self.parts, g, strict=True)]
        if self.ends is None:
            return Multipliers(w, np.zeros(0))
        right = np.zeros(self.ends.rows.count) if by_force is None else by_force.copy()
        for H, x in zip(self.H, w, strict=True):
            add_product(H, x, right)
        own = np.flatnonzero(self.active.active[self._own])
        a = self._own[own]
        nu = np.zeros(len(right))
        B, E = self.active.B[np.ix_(a, a)], self.active.E[np.ix_(a, a)]
        nu[a] = solved(self._W[np.ix_(own, own)] @ B.T + E.T, right[a])
        pushed = np.zeros(len(self._own))
        pushed[own] = B.T @ nu[a]
        for k, P in enumerate(self._P):
            if P is not None:
                w[k] = w[k] - (P @ pushed).reshape(w[k].shape)
            elif self.G[k].nnz and pushed.any():
                back = transposed_product(self.G[k], self.active.B.T @ nu)
                w[k] = w[k] - self.parts[k].solve(back.reshape(w[k].shape))
        given = ~self.active.active
        moved = np.zeros(len(right)) if by_force is None else by_force.copy()
        for H, x in zip(self.H, w, strict=True):
            add_product(H, x, moved)
        nu[given] = moved[given]
        return Multipliers(w, nu)

    def _unsolved(self, what: str) -> ConvergenceError:
        """The error of a system that was not solved."""
        parts = zip(self.parts, self.trials, strict=True)
        loose = [repr(trial.model.name) for part, trial in parts if getattr(part, "is_loose", False)]
        if loose:
            return ConvergenceError(
                f"the {what} of a step has no solution: {', '.join(loose)} can move without force, so that its place "
                "does not follow the parameters; constrain it, give it friction, or leave it out of losses and outputs"
            )
        return ConvergenceError(
            f"the {what} of a step did not converge: the step ended near a point where it has no derivative "
            "(a limit point, a contact about to open); change the start or the controls a little"
        )

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
