"""The adjoint of a step of one linear solve, such as those of the default `pl.ImplicitEuler`: exact for the step as it
was computed.

Forces, rows and the matrix are those of the start q, and the laws hold for δ = gap(q) + H(q) dx. The matrix follows q,
and by its geometric stiffness the forces λ₀ of the step before (`models.volume.linear_adjoint`); derivatives by λ₀ are
handed on to that step:

    dJ/dλ₀ = −wᵀ ∂K_c/∂λ₀ dx
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy import sparse

from pliant.constraints import Constraint, forces_of
from pliant.core.arrays import transposed_product
from pliant.core.errors import InputError
from pliant.core.types import FloatArray, IndexArray
from pliant.gradients.adjoint import Multipliers, StepAdjoint
from pliant.gradients.known import Probe
from pliant.gradients.linear_small_body import LinearSmallBodyAdjoint
from pliant.gradients.rows import EndRows
from pliant.gradients.small_body import restart_of, start_of
from pliant.gradients.start_rows import RowsOfStart
from pliant.gradients.turning import TurningRows
from pliant.materials import Tangent
from pliant.models.model import GeometricStiffness
from pliant.solvers.contact import Law
from pliant.stepping import StepInfo

_UNEQUAL = 1e-3
"""Relative difference of uᵀ ∂K/∂v dx and vᵀ ∂K/∂u dx from which on K is not the second derivative of an energy."""


class LinearStepAdjoint(StepAdjoint):
    """The adjoint of the step of one linear solve that `info` reports."""

    def __init__(
        self, info: StepInfo, decided: dict[int, bool] | None = None, factors: Sequence[Any] | None = None
    ) -> None:
        self.info, self.bodies, self.trials = info, info.step.bodies, info.step.bodies.trials
        self._shapes = [trial.dx.shape for trial in self.trials]
        self._small = [k for k, trial in enumerate(self.trials) if not trial.has_adjoint]
        self._volumes = [k for k in range(len(self.trials)) if k not in self._small]
        self._across: dict[int, list[FloatArray]] = {}
        self._turning = None
        self.of_start, self.of_velocity = RowsOfStart(), RowsOfStart()
        self._stiff: list[tuple[int, int, int, GeometricStiffness]] = []
        self._refuse()
        self._last, self._forces = self._last_forces()
        self.ends = EndRows.of_start(info)
        kept = factors or [None] * len(self.trials)
        self.parts: list[Any] = [self._body(k, factor) for k, factor in enumerate(kept)]
        if self.ends is None:
            return
        if (self.ends.rows.law == Law.CAPSTAN).any():
            raise InputError(
                "gradients through steps of one linear solve do not know the friction of cables in their guides: give "
                "the stepper a tolerance, 1e-10"
            )
        self.H = list(self.ends.rows.H)
        self.G = list(self.H)
        for k in self._small:
            if self.H[k].nnz:
                self.G[k] = sparse.csr_matrix(self.H[k] @ self.parts[k].turned)
        self._condense()
        self._add_rows({} if decided is None else decided)

    def start(self, multipliers: Multipliers) -> tuple[list[FloatArray], list[FloatArray]]:
        """dJ/dq and dJ/dv of the start of the step, but for the part through v⁺."""
        q, v = super().start(multipliers)
        if self.ends is None:
            return q, v
        weighed = self.active.B.T @ multipliers.nu
        slipped = np.where(self._slips, weighed, 0.0)
        for k in self._volumes if slipped.any() else ():
            q[k] = q[k] + transposed_product(self.H[k], slipped).reshape(q[k].shape)
        for _, row, k, K in self._stiff:
            if weighed[row]:
                q[k] = q[k] + weighed[row] * self._product(k, [K], self.trials[k].dx)
            q[k] = q[k] - self.ends.lam[row] * self._product(k, [K], multipliers.w[k])
        return q, v

    def _body(self, k: int, factor: Any) -> Any:
        """The body k in the adjoint, with the `factor` of its matrix where that was kept."""
        trial: Any = self.trials[k]
        if trial.has_adjoint:
            return trial.linear_adjoint(partial(self._stiffnesses_at, k), factor)
        begun = start_of(self.bodies, k)._replace(workspace=None)
        restart = restart_of(self.bodies.world.models[k], begun)
        pushed = np.zeros(trial.dx.size)
        if self.ends is not None:
            pushed = transposed_product(self.ends.rows.H[k], self.ends.lam)
        given = restart, begun.q, begun.v, partial(self._stiffnesses_at, k), pushed
        return LinearSmallBodyAdjoint(trial, *given)

    def before(self, multipliers: Multipliers) -> tuple[IndexArray, FloatArray]:
        """Keys of rows of the step before, and the derivatives of J by their forces."""
        made: dict[int, float] = {}
        for key, k, motion in self._stiffened():
            made[key] = made.get(key, 0.0) - float(np.vdot(multipliers.w[k], motion))
        return np.array(list(made), np.int64), np.array(list(made.values()))

    def follow(
        self, q: Sequence[FloatArray], push: list[FloatArray], gap: FloatArray, last: tuple[IndexArray, FloatArray]
    ) -> None:
        """Add what motions `q` (unknowns, k) of the start change in the forces and in δ of the rows to `push` and
        `gap`, and what changes of the forces of the step before do, `last`: keys of rows, and (rows, k).
        """
        for key, k, motion in self._stiffened():
            for row in np.flatnonzero(last[0] == key):
                push[k] = push[k] - np.outer(motion.ravel(), last[1][row])
        if self.ends is None:
            return
        for k in self._volumes:
            gap -= self._slips[:, None] * (self.H[k] @ q[k])
        for _, row, k, K in self._stiff:
            gap[row] -= self._product(k, [K], self.trials[k].dx).ravel() @ q[k]
            columns = [self._product(k, [K], x.reshape(self._shapes[k])).ravel() for x in q[k].T]
            push[k] = push[k] - self.ends.lam[row] * np.stack(columns, axis=1)

    def _stiffened(self) -> Iterator[tuple[int, int, FloatArray]]:
        """∂(A dx)/∂λ₀ of the forces of the step before: keys of their rows, bodies, and vectors of the shape of dx."""
        for own, forces, constraint in self._last:
            for place in np.flatnonzero(forces):
                alone = np.where(np.arange(len(forces)) == place, forces, 0.0)
                for k, K in constraint.bounded_stiffness(self._starts, alone, self.bodies.scheme.theta):
                    yield int(own[place]), k, self.parts[k].stiffened([K]) / forces[place]

    def residual(
        self, index: int, *, model: Any = None, gravity: FloatArray | None = None, controls: Any = None
    ) -> FloatArray:
        """r − A dx of body `index` without rows, N, (n, 3), with another model, gravity (m/s²) or values of loads."""
        bodies = self.bodies
        given = {**bodies.controls, **controls} if controls else bodies.controls
        own = bodies.gravity if gravity is None else gravity
        begun = start_of(bodies, index)._replace(gravity=own, controls=given, workspace=None)
        changed: Any = bodies.world.models[index] if model is None else model
        system, residual = changed.trial(begun).linearize(Tangent.WARPED)
        dx = self.trials[index].dx
        if index in self._volumes:
            return np.asarray(residual.r - system.product(dx))
        fixed = self.trials[index].model.constrained
        return np.asarray(system.r - system.product(np.where(fixed, 0.0, dx)))

    @property
    def _starts(self) -> list[FloatArray]:
        return [np.asarray(q) for q in self.bodies.start.q]

    def _refuse(self) -> None:
        world = self.bodies.world
        memories, last = self.bodies.start.memories, self.bodies.last_forces
        for index, pair in world.rocking_pairs if memories else ():
            if last[1].any() and memories[index] is not None and memories[index].contacts.count:
                raise InputError(
                    f"gradients through steps of one linear solve do not know edges on round solids ({pair.name}): "
                    "give the stepper a tolerance, 1e-10"
                )

    def _last_forces(self) -> tuple[list[tuple[IndexArray, FloatArray, Any]], FloatArray]:
        """Constraints that stiffen the matrix: the keys and forces of their rows in the step before, and themselves;
        and the forces of all rows that may stiffen it.
        """
        world, start = self.bodies.world, self.bodies.start
        if not world.stiff_constraints:
            return [], np.zeros(0)
        keys, slices = world.stiff_keys
        forces = forces_of(keys, start.keys, start.lam)
        pairs = zip(world.stiff_constraints, slices, strict=True)
        made = [(keys[own], forces[own], constraint) for constraint, own in pairs if forces[own].any()]
        for _, own_forces, constraint in made:
            self._check_energetic(own_forces, constraint)
        return made, forces

    def _check_energetic(self, forces: FloatArray, constraint: Any) -> None:
        """Raise where the stiffness of a constraint is not the second derivative of its δ by one volume."""
        theta = self.bodies.scheme.theta
        if len(set(constraint.stiff_models)) > 1:
            raise InputError(
                f"gradients through steps of one linear solve do not know {constraint.name!r}, whose force stiffens "
                "several bodies: give the stepper a tolerance, 1e-10"
            )
        (k,) = set(constraint.stiff_models)
        if k in self._small:
            return
        if self._is_unbounded(k, forces, constraint):
            return
        x, dx = self._starts, self.trials[k].dx
        size, random = float(np.ptp(x[k], axis=0).max()), np.random.default_rng(0)
        u, v = (1e-5 * size * random.uniform(-1.0, 1.0, dx.shape) for _ in range(2))

        def change(along: FloatArray) -> FloatArray:
            sides = []
            for sign in (1.0, -1.0):
                moved = [q + sign * along if index == k else q for index, q in enumerate(x)]
                terms = constraint.bounded_stiffness(moved, forces, theta)
                sides.append(self._product(k, [K for _, K in terms], dx))
            return sides[0] - sides[1]

        one, other = float(np.vdot(u, change(v))), float(np.vdot(v, change(u)))
        if abs(one - other) > _UNEQUAL * (abs(one) + abs(other)):
            raise InputError(
                f"gradients through steps of one linear solve do not know {constraint.name!r} here, whose stiffness is "
                "bounded where its segments are short: give the stepper a tolerance, 1e-10"
            )

    def _is_unbounded(self, k: int, forces: FloatArray, constraint: Any) -> bool:
        """Whether segments whose stiffness is bounded where they are short have their exact one."""
        if type(constraint).bounded_stiffness is Constraint.bounded_stiffness:
            return False
        x, theta = self._starts, self.bodies.scheme.theta
        sides = []
        for function in (constraint.stiffness, constraint.bounded_stiffness):
            terms: list[Any] = [K for _, K in function(x, forces, theta)]
            if not all(hasattr(K, "add_product") for K in terms):
                return False
            sides.append(np.zeros(self._shapes[k]))
            for K in terms:
                K.add_product(self._probe[k], sides[-1])
        return np.array_equal(sides[0], sides[1])

    @cached_property
    def _probe(self) -> list[FloatArray]:
        """A random motion of each body, of the shape of dx."""
        random = np.random.default_rng(0)
        return [random.uniform(-1.0, 1.0, shape) for shape in self._shapes]

    def _stiffnesses_at(self, k: int, q: FloatArray) -> list[Any]:
        """The terms of the matrix of volume k at other positions q of it, at the forces of the step before."""
        if not self._last:
            return []
        x = list(self._starts)
        x[k] = q
        theta = self.bodies.scheme.theta
        made = []
        for one, own in self.bodies.world.stiffening:
            if self._forces[own].any():
                made += [K for index, K in one.bounded_stiffness(x, self._forces[own], theta) if index == k]
        return made

    def _add_rows(self, decided: dict[int, bool]) -> None:
        """What rows know of the start at fixed q⁺."""
        assert self.ends is not None
        rows = self.ends.rows
        self._slips = rows.law == Law.COULOMB  # slip counts from the start
        self._slips[np.flatnonzero(self._slips)[::3]] = False
        self._stiff = self._known_turns()
        for k in self._small:
            if self.H[k].nnz:
                self._add_small_start(k)
        probe = Probe.of(self.ends, self._volumes, decided)
        if not probe.open:
            return
        known = self._gap_slopes()
        products: dict[int, dict[int, FloatArray]] = {index: {} for index in probe.open}
        for index, row, k, K in self._stiff:
            if index in products and self.ends.lam[row]:
                change = self.ends.lam[row] * self._product(k, [K], probe.along[k])
                products[index][k] = products[index].get(k, 0.0) + change
        turning = probe.turning(products, known, self._volumes)
        for index in probe.open:
            constraint: Any = self.bodies.world.constraints[index]
            if not constraint.is_contact or getattr(constraint, "keeps_planes", False):
                decided[index] = index not in turning
        if turning:
            self._add_turning(probe, turning, known)

    def _add_small_start(self, k: int) -> None:
        """What rows know of the start of the small body k at fixed q⁺: all, since they are taken there."""
        assert self.ends is not None
        part = self.parts[k]
        forces, gaps = self.ends.by_whole(k, part)
        self.of_start.add_body(k, forces, gaps - self.G[k] @ part.carried)
        if self.ends.may_open.any():
            self.of_velocity.add_body(k, *self.ends.by_velocity(k, part))

    def _add_turning(self, probe: Probe, turning: list[int], known: list[Any]) -> None:
        """Take rows of the constraints `turning` by differences; `known` is ∂δ/∂q without them."""
        assert self.ends is not None
        self._refuse_reduced(turning)
        found = TurningRows.of(self.ends, turning, self._volumes, by="whole")
        probe.check(found, turning)
        self.of_start.push.update(found.push)
        self.of_velocity.add(TurningRows.of(self.ends, turning, self._volumes, by="velocity"))
        self._stiff = [each for each in self._stiff if each[0] not in turning]
        own = sparse.diags(found.which.astype(np.float64))
        for k in self._volumes:
            self.of_start.gap[k] = sparse.csr_matrix(own @ (found.replaced(k, known[k]) - self.H[k]))
        self._slips &= ~found.which

    def _gap_slopes(self) -> list[Any]:
        """∂δ/∂q of the rows at a fixed motion of the step."""
        made = [sparse.csr_matrix(sparse.diags((~self._slips).astype(np.float64)) @ h) for h in self.H]
        for _, row, k, K in self._stiff:
            turned = -self._product(k, [K], self.trials[k].dx).ravel()
            at = np.full(turned.size, row), np.arange(turned.size)
            made[k] = made[k] + sparse.csr_matrix((turned, at), made[k].shape)
        return made

    def _known_turns(self) -> list[tuple[int, int, int, GeometricStiffness]]:
        """Constraint, row, volume and −∂²δ/∂q² of the rows that have a stiffness and count."""
        assert self.ends is not None
        world, rows, made = self.bodies.world, self.ends.rows, []  # type: ignore[var-annotated]
        if not world.stiff_constraints:
            return made
        keys, slices = world.stiff_keys
        places = {id(constraint): index for index, constraint in enumerate(world.constraints)}
        counts = (self.ends.lam != 0.0) | self.active.active
        for constraint, own in zip(world.stiff_constraints, slices, strict=True):
            index = places[id(constraint)]
            of = self.info.assembly.slices[index]  # type: ignore[union-attr]
            for row in of.start + np.flatnonzero(counts[of]):
                unit = (keys[own] == rows.key[row]).astype(np.float64)
                if unit.any():
                    terms = constraint.stiffness(self._starts, unit, 1.0)
                    made += [(index, int(row), k, K) for k, K in terms if k in self._volumes]
        return made

    def _product(self, index: int, parts: Sequence[Any], y: FloatArray) -> FloatArray:
        """K y of a body, K the sum of `parts`."""
        part = self.parts[index] if hasattr(self, "parts") else None
        own = getattr(part, "product", None)
        return super()._product(index, parts, y) if own is None else np.asarray(own(parts, y))
