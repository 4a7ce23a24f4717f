"""The adjoint of a step of one linear solve, such as those of the default `pl.ImplicitEuler`: exact for the step as it
was computed.

Forces, rows and the matrix are those of the start q, and the laws hold for δ = gap(q) + H(q) dx. The matrix follows q,
and by its geometric stiffness the forces λ₀ of the step before (`models.volume.linear_adjoint`); derivatives by λ₀ are
handed on to that step:

    dJ/dλ₀ = −wᵀ ∂K_c/∂λ₀ dx
"""

from __future__ import annotations

from functools import partial
from typing import Any, cast

import numpy as np
from scipy import sparse

from pliant.constraints import forces_of
from pliant.core.errors import InputError
from pliant.core.types import FloatArray, IndexArray
from pliant.gradients.active import active_set
from pliant.gradients.adjoint import Multipliers, RowsOfStart, StepAdjoint
from pliant.gradients.known import Probe
from pliant.gradients.rows import EndRows
from pliant.gradients.small_body import start_of
from pliant.gradients.turning import TurningRows
from pliant.materials import Tangent
from pliant.models.model import MatrixStiffness
from pliant.solvers.contact import Law
from pliant.stepping import StepInfo

_UNEQUAL = 1e-3
"""Relative difference of uᵀ ∂K/∂v dx and vᵀ ∂K/∂u dx from which on K is not the second derivative of an energy."""


class LinearStepAdjoint(StepAdjoint):
    """The adjoint of the step of one linear solve that `info` reports."""

    def __init__(self, info: StepInfo, decided: dict[int, bool] | None = None) -> None:
        self.info, self.bodies, self.trials = info, info.step.bodies, info.step.bodies.trials
        self._shapes = [trial.dx.shape for trial in self.trials]
        self._small: list[int] = []
        self._volumes = list(range(len(self.trials)))
        self._across: dict[int, list[FloatArray]] = {}
        self._turning = None
        self.of_start, self.of_velocity = RowsOfStart(), RowsOfStart()
        self._stiff: dict[int, dict[int, MatrixStiffness]] = {}
        self._refuse()
        self._last = self._last_forces()
        self.parts: list[Any] = [
            cast(Any, trial).linear_adjoint(partial(self._stiffnesses_at, k)) for k, trial in enumerate(self.trials)
        ]
        self.ends = EndRows.of_start(info)
        if self.ends is None:
            return
        self.H = [sparse.csr_matrix(h) for h in self.ends.rows.H]
        self.G = list(self.H)
        self._P = [part.solve_rows(G) if G.nnz else None for part, G in zip(self.parts, self.G, strict=True)]
        self._W = np.zeros((self.ends.rows.count,) * 2)
        for H, P in zip(self.H, self._P, strict=True):
            if P is not None:
                self._W += H @ P
        diagonal = np.maximum(np.abs(np.diag(self._W)), np.finfo(float).tiny)
        self.active = active_set(self.ends.rows, self.ends.lam, self.ends.delta, diagonal)
        self._add_rows({} if decided is None else decided)

    def start(self, multipliers: Multipliers) -> tuple[list[FloatArray], list[FloatArray]]:
        """dJ/dq and dJ/dv of the start of the step, but for the part through v⁺."""
        q, v = super().start(multipliers)
        for own in self._stiff.values():
            for k, K in own.items():
                q[k] = q[k] - self._product(k, [K], multipliers.w[k])
        return q, v

    def before(self, multipliers: Multipliers) -> tuple[IndexArray, FloatArray]:
        """Keys of rows of the step before, and the derivatives of J by their forces."""
        keys, values = [], []
        for own, forces, constraint in self._last:
            for place in np.flatnonzero(forces):
                alone = np.where(np.arange(len(forces)) == place, forces, 0.0)
                total = 0.0
                for k, K in constraint.bounded_stiffness(self._starts, alone, self.bodies.scheme.theta):
                    total -= self.parts[k].along([K], multipliers.w[k]) / forces[place]
                keys.append(int(own[place]))
                values.append(total)
        return np.array(keys, np.int64), np.array(values)

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
        made: FloatArray = residual.r - system.product(self.trials[index].dx)
        return made

    @property
    def _starts(self) -> list[FloatArray]:
        return [np.asarray(q) for q in self.bodies.start.q]

    def _refuse(self) -> None:
        world = self.bodies.world
        for trial in self.trials:
            if not trial.has_adjoint:
                raise InputError(
                    f"gradients through steps of one linear solve know volumes; {trial.model.name!r} is none: "
                    "give the stepper a tolerance, 1e-10"
                )
        memories, last = self.bodies.start.memories, self.bodies.last_forces
        for index, pair in world.rocking_pairs if memories else ():
            if last[1].any() and memories[index] is not None and memories[index].contacts.count:
                raise InputError(
                    f"gradients through steps of one linear solve do not know edges on round solids ({pair.name}): "
                    "give the stepper a tolerance, 1e-10"
                )

    def _last_forces(self) -> list[tuple[IndexArray, FloatArray, Any]]:
        """Constraints that stiffen the matrix: the keys and forces of their rows in the step before, and themselves."""
        world, start = self.bodies.world, self.bodies.start
        if not world.stiff_constraints:
            return []
        keys, slices = world.stiff_keys
        forces = forces_of(keys, start.keys, start.lam)
        pairs = zip(world.stiff_constraints, slices, strict=True)
        made = [(keys[own], forces[own], constraint) for constraint, own in pairs if forces[own].any()]
        for _, own_forces, constraint in made:
            self._check_energetic(own_forces, constraint)
        return made

    def _check_energetic(self, forces: FloatArray, constraint: Any) -> None:
        """Raise where the stiffness of a constraint is not the second derivative of its δ by one volume."""
        theta = self.bodies.scheme.theta
        if len(set(constraint.stiff_models)) > 1:
            raise InputError(
                f"gradients through steps of one linear solve do not know {constraint.name!r}, whose force stiffens "
                "several bodies: give the stepper a tolerance, 1e-10"
            )
        (k,) = set(constraint.stiff_models)
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

    def _stiffnesses_at(self, k: int, q: FloatArray) -> list[Any]:
        """The terms of the matrix of volume k at other positions q of it, at the forces of the step before."""
        x = list(self._starts)
        x[k] = q
        theta = self.bodies.scheme.theta
        terms = [each for _, forces, one in self._last for each in one.bounded_stiffness(x, forces, theta)]
        return [K for index, K in terms if index == k]

    def _add_rows(self, decided: dict[int, bool]) -> None:
        """What rows know of the start at fixed q⁺."""
        assert self.ends is not None
        rows = self.ends.rows
        slips = rows.law == Law.COULOMB
        slips[np.flatnonzero(slips)[::3]] = False
        known = [sparse.diags((~slips).astype(np.float64)) @ h for h in self.H]  # slip counts from the start
        stiff = self._known_turns(known)
        probe = Probe.of(self.ends, self._volumes, decided)
        products = {
            index: {k: self._product(k, [K], probe.along[k]) for k, K in own.items()} for index, own in stiff.items()
        }
        turning = probe.turning(products, known, self._volumes)
        for index in probe.open:
            if not self.bodies.world.constraints[index].is_contact:
                decided[index] = index not in turning
        if turning:
            self._refuse_reduced(turning)
            found = TurningRows.of(self.ends, turning, self._volumes, by="whole")
            probe.check(found, turning)
            known = [found.replaced(k, sparse.csr_matrix(h)) for k, h in enumerate(known)]
            self.of_start.push.update(found.push)
            self.of_velocity.add(TurningRows.of(self.ends, turning, self._volumes, by="velocity"))
        self._stiff = {index: own for index, own in stiff.items() if index not in turning}
        self.of_start.gap.update({k: known[k] - self.H[k] for k in self._volumes if self.H[k].nnz})

    def _known_turns(self, G: list[Any]) -> dict[int, dict[int, MatrixStiffness]]:
        """−∂(Hᵀλ)/∂q of rows that have a stiffness, by constraint and volume; ∂(H dx)/∂q of them is added to `G`."""
        assert self.ends is not None
        world, rows, made = self.bodies.world, self.ends.rows, {}  # type: ignore[var-annotated]
        if not world.stiff_constraints:
            return made
        keys, slices = world.stiff_keys
        places = {id(constraint): index for index, constraint in enumerate(world.constraints)}
        for constraint, own in zip(world.stiff_constraints, slices, strict=True):
            for place, key in enumerate(keys[own]):
                unit = np.where(np.arange(own.stop - own.start) == place, 1.0, 0.0)
                for row in np.flatnonzero(rows.key == key):
                    for k, K in constraint.stiffness(self._starts, unit, 1.0):
                        turned = -self._product(k, [K], self.trials[k].dx).ravel()
                        at = np.full(turned.size, row), np.arange(turned.size)
                        G[k] = G[k] + sparse.csr_matrix((turned, at), G[k].shape)
                        values = self._values(k, [K]) * self.ends.lam[row]
                        before = made.setdefault(places[id(constraint)], {}).get(k)
                        made[places[id(constraint)]][k] = MatrixStiffness(
                            values if before is None else values + before.K
                        )
        return made
