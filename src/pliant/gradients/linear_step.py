"""The adjoint of a step of one linear solve, such as those of the default `pl.ImplicitEuler`: exact for the step as it
was computed.

Forces, rows and the matrix are those of the start q, and the laws hold for δ = gap(q) + H(q) dx. The matrix follows q,
and by its geometric stiffness the forces λ₀ of the step before (`models.volume.linear_adjoint`); derivatives by λ₀ are
handed on to that step:

    dJ/dλ₀ = −wᵀ ∂K_c/∂λ₀ dx
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from pliant.core.arrays import transposed_product
from pliant.core.errors import InputError
from pliant.core.types import FloatArray, IndexArray
from pliant.gradients.adjoint import Multipliers, StepAdjoint
from pliant.gradients.counted import not_slipping, replace_guides
from pliant.gradients.known import Probe
from pliant.gradients.last_forces import LastForces, unit_forces
from pliant.gradients.linear_small_body import LinearSmallBodyAdjoint
from pliant.gradients.rows import EndRows
from pliant.gradients.small_body import restart_of, start_of
from pliant.gradients.start_rows import RowsOfStart
from pliant.gradients.turning import TurningRows
from pliant.materials import Tangent
from pliant.models.model import GeometricStiffness
from pliant.solvers.contact import Law
from pliant.stepping import StepInfo


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
        self._stiff: list[tuple[int, int, int, GeometricStiffness, float]] = []
        self._refuse()
        self._last = LastForces(self.bodies, self._volumes)
        self._last.check(self._product)
        self.ends = EndRows.of_start(info)
        kept = factors or [None] * len(self.trials)
        self.parts: list[Any] = [self._body(k, factor) for k, factor in enumerate(kept)]
        if self.ends is None:
            return
        self.H = list(self.ends.rows.H)
        self.G = list(self.H)
        for k in self._small:
            if self.H[k].nnz:
                self.G[k] = sparse.csr_matrix(self.H[k] @ self.parts[k].turned)
        if self.ends.slips:  # the fractions that guides take are those of the start
            counted = sparse.diags(not_slipping(self.ends))
            self.G = [sparse.csr_matrix(counted @ G) for G in self.G]
        self._condense()
        for k, j, X in self._last.across(self.parts, self.H, self.ends.owner):
            self.of_start.push_by(k, j, -X)
        self._add_rows({} if decided is None else decided)

    def start(self, multipliers: Multipliers) -> tuple[list[FloatArray], list[FloatArray]]:
        """dJ/dq and dJ/dv of the start of the step, but for the part through v⁺."""
        q, v = super().start(multipliers)
        if self.ends is None:
            return q, v
        weighed = self.active.B.T @ multipliers.nu
        slipped = np.where(self._slips, weighed, 0.0)
        counted = not_slipping(self.ends) * weighed
        for k in self._volumes if slipped.any() else ():
            q[k] = q[k] + transposed_product(self.G[k], slipped).reshape(q[k].shape)
        for _, row, k, K, sign in self._stiff:
            if counted[row]:
                q[k] = q[k] + sign * counted[row] * self._product(k, [K], self.trials[k].dx)
            q[k] = q[k] - sign * self.ends.lam[row] * self._product(k, [K], multipliers.w[k])
        return q, v

    def _body(self, k: int, factor: Any) -> Any:
        """The body k in the adjoint, with the `factor` of its matrix where that was kept."""
        trial: Any = self.trials[k]
        if trial.has_adjoint:
            return trial.linear_adjoint(partial(self._last.at, k), factor)
        begun = start_of(self.bodies, k)._replace(workspace=None)
        restart = restart_of(self.bodies.world.models[k], begun)
        pushed = np.zeros(trial.dx.size)
        if self.ends is not None:
            pushed = transposed_product(self.ends.rows.H[k], self.ends.lam)
        given = restart, begun.q, begun.v, partial(self._last.at, k), pushed
        return LinearSmallBodyAdjoint(trial, *given)

    def before(self, multipliers: Multipliers) -> tuple[IndexArray, FloatArray]:
        """Keys of rows of the step before, and the derivatives of J by their forces."""
        made: dict[int, float] = {}
        for key, k, motion in self._last.by_forces(self.parts):
            made[key] = made.get(key, 0.0) - float(np.vdot(multipliers.w[k], motion))
        return np.array(list(made), np.int64), np.array(list(made.values()))

    def follow(
        self, q: Sequence[FloatArray], push: list[FloatArray], gap: FloatArray, last: tuple[IndexArray, FloatArray]
    ) -> None:
        """Add what motions `q` (unknowns, k) of the start change in the forces and in δ of the rows to `push` and
        `gap`, and what changes of the forces of the step before do, `last`: keys of rows, and (rows, k).
        """
        for key, k, motion in self._last.by_forces(self.parts):
            for row in np.flatnonzero(last[0] == key):
                push[k] = push[k] - np.outer(motion.ravel(), last[1][row])
        if self.ends is None:
            return
        for k in self._volumes:
            gap -= self._slips[:, None] * (self.G[k] @ q[k])
        counted = not_slipping(self.ends)
        for _, row, k, K, sign in self._stiff:
            gap[row] -= sign * counted[row] * self._product(k, [K], self.trials[k].dx).ravel() @ q[k]
            columns = [self._product(k, [K], x.reshape(self._shapes[k])).ravel() for x in q[k].T]
            push[k] = push[k] - sign * self.ends.lam[row] * np.stack(columns, axis=1)

    def stiffened(self, constraint: Any) -> Iterator[tuple[int, FloatArray]]:
        """See `StepAdjoint.stiffened`."""
        for k, K in self._last.terms(constraint):
            yield k, self.parts[k].stiffened([K])

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

    def _add_rows(self, decided: dict[int, bool]) -> None:
        """What rows know of the start at fixed q⁺."""
        assert self.ends is not None
        rows = self.ends.rows
        self._slips = rows.law == Law.COULOMB  # slip counts from the start
        self._slips[np.flatnonzero(self._slips)[::3]] = False
        self._slips |= np.isin(rows.law, (int(Law.CAPSTAN), int(Law.GUIDE)))
        self._stiff = self._known_turns()
        for k in self._small:
            if self.H[k].nnz:
                self._add_small_start(k)
        slopes = self._guides()
        for k, slope in slopes.items():
            self.of_start.gap_by(k, slope)
        probe = Probe.of(self.ends, self._volumes, decided)
        if not probe.open:
            return
        known = self._gap_slopes()
        for k, slope in slopes.items():
            known[k] = sparse.csr_matrix(sparse.diags(not_slipping(self.ends)) @ known[k] + slope)
        products: dict[int, dict[int, FloatArray]] = {index: {} for index in probe.open}
        for index, row, k, K, sign in self._stiff:
            if index in products and self.ends.lam[row]:
                change = sign * self.ends.lam[row] * self._product(k, [K], probe.along[k])
                products[index][k] = products[index].get(k, 0.0) + change
        turning = probe.turning(products, known, self._volumes)
        for index in probe.open:
            constraint: Any = self.bodies.world.constraints[index]
            if not constraint.is_contact or getattr(constraint, "keeps_planes", False):
                decided[index] = index not in turning
        if turning:
            self._add_turning(probe, turning, known)

    def _guides(self) -> dict[int, Any]:
        """∂c/∂q (rows, unknowns) of guides in which cables slip, by volume; none where none slips."""
        assert self.ends is not None
        if not self.ends.slips:
            return {}
        made: list[Any] = [sparse.csr_matrix(G.shape) for G in self.G]
        replace_guides(self.ends, made, self._volumes)
        return {k: made[k] for k in self._volumes}

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
        for (j, k), X in found.push.items():
            self.of_start.push_by(j, k, X)
        self.of_velocity.add(TurningRows.of(self.ends, turning, self._volumes, by="velocity"))
        self._stiff = [each for each in self._stiff if each[0] not in turning]
        own, kept = (sparse.diags(which.astype(np.float64)) for which in (found.which, ~found.which))
        for k in self._volumes:
            self.of_start.gap[k] = sparse.csr_matrix(
                own @ (found.replaced(k, known[k]) - self.G[k]) + kept @ self.of_start.gap.get(k, found.gap[k])
            )
        self._slips &= ~found.which

    def _gap_slopes(self) -> list[Any]:
        """∂δ/∂q of the rows at a fixed motion of the step."""
        made = [sparse.csr_matrix(sparse.diags((~self._slips).astype(np.float64)) @ h) for h in self.H]
        for _, row, k, K, sign in self._stiff:
            turned = -sign * self._product(k, [K], self.trials[k].dx).ravel()
            at = np.full(turned.size, row), np.arange(turned.size)
            made[k] = made[k] + sparse.csr_matrix((turned, at), made[k].shape)
        return made

    def _known_turns(self) -> list[tuple[int, int, int, GeometricStiffness, float]]:
        """Constraint, row, volume and −∂²δ/∂q² of the rows that have a stiffness and count, in parts with signs."""
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
                for place in np.flatnonzero(unit):
                    for forces, sign in unit_forces(constraint, unit, int(place)):
                        terms = constraint.stiffness(self._starts, forces, 1.0)
                        made += [(index, int(row), k, K, sign) for k, K in terms if k in self._volumes]
        return made

    def _product(self, index: int, parts: Sequence[Any], y: FloatArray) -> FloatArray:
        """K y of a body, K the sum of `parts`."""
        part = self.parts[index] if hasattr(self, "parts") else None
        own = getattr(part, "product", None)
        return super()._product(index, parts, y) if own is None else np.asarray(own(parts, y))
