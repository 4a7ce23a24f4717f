"""The adjoint of the velocities that a midpoint step projects at its end (`stepping.end_velocities`).

With κ = h/2, the forces Δ = found − known and the rate H dx/h of rows s that a command prescribes,

    v⁺ = v_f + κ M⁻¹ HᵀΔ,        B (H v⁺ − s H dx/h) + E found = 0        (`gradients.active`, on rates)

so that for g = ∂J/∂v⁺ and g_f = ∂J/∂found, with b = Bᵀν,

    (κ H M⁻¹ Hᵀ Bᵀ + Eᵀ) ν = κ H M⁻¹ g + g_f,        y = M⁻¹ (g − Hᵀb)

    by v_f        g − Hᵀb                                by known    −κ H y
    by q⁺ and q   ± Hᵀ s b / h, and by q⁺                κ Δᵀ (∂H y) − bᵀ ∂H (v⁺ − s dx/h)

and ∂H is the geometric stiffness of the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from pliant.constraints import forces_of
from pliant.constraints.rows import Constraint
from pliant.core.errors import InputError
from pliant.core.immutable import evolve
from pliant.core.types import BoolArray, FloatArray
from pliant.gradients.active import active_set
from pliant.gradients.adjoint import StepAdjoint, solved
from pliant.gradients.effects import paired
from pliant.gradients.finite import derivative
from pliant.gradients.rows import picked_rows
from pliant.solvers.contact import Law
from pliant.stepping.end_velocities import masses_at_end


class PulledVelocities(NamedTuple):
    """Derivatives by v_f, q⁺ and q of each body, of the shape of its dx, by λ of the step (rows,), and by μ of each
    row (rows,); `y` is M⁻¹ (g − Hᵀb) of bodies whose velocities were projected, None for others. `impulse`, `b` and
    `rated` (rows,) are κΔ, b and s b of all rows.
    """

    free: list[FloatArray]
    end: list[FloatArray]
    start: list[FloatArray]
    lam: FloatArray | None
    friction: FloatArray | None
    y: list[FloatArray | None]
    impulse: FloatArray
    b: FloatArray
    rated: FloatArray


class EndVelocities:
    """The adjoint of the velocities at the end of `step`, with their masses M."""

    def __init__(self, step: StepAdjoint) -> None:
        self._step, self._bodies = step, step.bodies
        self._projects = step.bodies.projection is not None
        if step.bodies.projection is None:
            return
        self._known = step.bodies.projection
        assert step.ends is not None
        if np.isin(self._known.problem.law, (int(Law.BOUNDED),)).any():
            raise InputError(
                "contacts of a pl.ImplicitMidpoint kept the bounds of their friction at the end of a step, where "
                "Coulomb's law would have given energy: there the step has no derivative that is known; take a smaller "
                "dt, or pl.ImplicitEuler"
            )
        ends = step.ends
        self._rows = picked_rows(ends.rows, self._known.picked, self._known.problem.law)
        self._commanded = np.zeros(len(self._known.picked))
        world = self._bodies.world
        for index in np.unique(ends.owner[self._known.picked]):
            constraint: Any = world.constraints[index]
            if not constraint.is_contact and type(constraint).rates is not Constraint.rates:
                self._commanded[ends.owner[self._known.picked] == index] = self._prescribed(constraint, int(index))

    def pull(self, g: Sequence[FloatArray], by_mean: FloatArray | None) -> PulledVelocities:
        """From the derivatives `g` by v⁺ of each body, and those by the mean forces that the step reports (rows,)."""
        zero = [np.zeros(trial.dx.shape) for trial in self._bodies.trials]
        if not self._projects:
            none = np.zeros(0)
            return PulledVelocities(list(g), zero, zero, by_mean, None, [None] * len(zero), none, none, none)
        known, h = self._known, self._bodies.scheme.dt
        pressing = np.isin(known.problem.law, (int(Law.SIGNORINI), int(Law.COULOMB)))
        half, by_lam = 0.5 * h, None if by_mean is None else by_mean.copy()
        right, W = np.zeros(len(known.picked)), np.zeros((len(known.picked),) * 2)
        if by_lam is not None:
            right[pressing] = 0.5 * by_lam[known.picked[pressing]]
            by_lam[known.picked[pressing]] *= 0.5
        H = [sparse.csr_matrix(own)[known.picked] for own in self._step.rows_at_end]
        masses = masses_at_end(self._bodies_step, H, g)
        try:
            fixed = [trial.model.constrained for trial in self._bodies.trials]
            light = [None if each is None else _Inverse(each, held) for each, held in zip(masses, fixed, strict=True)]
            for own, x, mass in zip(H, g, light, strict=True):
                if mass is not None:
                    right += half * (own @ mass(x).ravel())
                    W += half * mass.compliance(own)
            active = active_set(
                self._rows, known.found, known.problem.delta_free + known.problem.W @ known.found, np.diag(W)
            )
            nu = solved(W @ active.B.T + active.E.T, right)
            b = active.B.T @ nu
            free = [x - (own.T @ b).reshape(x.shape) for own, x in zip(H, g, strict=True)]
            y = [None if mass is None else mass(x) for mass, x in zip(light, free, strict=True)]
        finally:
            for each in masses:
                if each is not None:
                    each[1].release(each[2])
        back = np.zeros(len(b))
        for own, moved in zip(H, y, strict=True):
            if moved is not None:
                back -= half * (own @ moved.ravel())
        by_lam = np.zeros(len(known.lam)) if by_lam is None else by_lam
        by_lam[known.picked[pressing]] += back[pressing]
        impulse = half * (known.found - known.known)
        end, start = self._turned(H, impulse, b, y)
        of_rows = [self._of_all(x) for x in (nu * active.by_friction, impulse, b, self._commanded * b)]
        return PulledVelocities(free, end, start, by_lam, of_rows[0], y, *of_rows[1:])

    def _of_all(self, values: FloatArray) -> FloatArray:
        """`values` (k,) of the picked rows as those of all rows, zero for others."""
        made: FloatArray = np.zeros(len(self._known.lam))
        made[self._known.picked] = values
        return made

    @property
    def _bodies_step(self) -> Any:
        return self._step.info.step

    def _prescribed(self, constraint: Any, index: int) -> FloatArray:
        """1 for rows of a constraint whose rate a command prescribes, in the order of the picked ones."""
        assert self._step.ends is not None
        ends, known = self._step.ends, self._known
        own = self._step.info.assembly.slices[index]  # type: ignore[union-attr]
        places = known.picked[ends.owner[known.picked] == index] - own.start
        some = [np.cos(np.arange(trial.dx.size)).reshape(trial.dx.shape) for trial in self._bodies.trials]
        rates = constraint.rates(evolve(self._bodies.view(), moved=some), ends.rows.part(own), None)
        made: FloatArray = np.asarray(rates != 0.0, np.float64)[places]
        return made

    def _turned(
        self, H: Sequence[Any], impulse: FloatArray, b: FloatArray, y: Sequence[FloatArray | None]
    ) -> tuple[list[FloatArray], list[FloatArray]]:
        """Derivatives by q⁺ and by q through H and the rates of commands."""
        bodies, s = self._bodies, self._commanded
        rate = bodies.scheme.rate
        velocities = bodies.end_velocities()
        end = [rate * (own.T @ (s * b)).reshape(trial.dx.shape) for own, trial in zip(H, bodies.trials, strict=True)]
        start = [-x for x in end]
        parts = [(self._stiffness(impulse), y, -1.0), (self._stiffness(b), velocities, 1.0)]
        parts.append((self._stiffness(s * b), [trial.dx for trial in bodies.trials], -rate))
        for stiffnesses, along, factor in parts:
            for index, sign, K in stiffnesses:
                own = along[index]
                if own is not None and bodies.trials[index].has_adjoint:
                    end[index] = end[index] + sign * factor * self._step.stiffness_product(index, K, own)
        for k in self._step.small_with_rows:
            end[k], start[k] = self._of_small(k, impulse, b, y)
        fixed = [trial.model.constrained for trial in bodies.trials]
        return [np.where(held, 0.0, x) for held, x in zip(fixed, end, strict=True)], [
            np.where(held, 0.0, x) for held, x in zip(fixed, start, strict=True)
        ]

    def _of_small(
        self, k: int, impulse: FloatArray, b: FloatArray, y: Sequence[FloatArray | None]
    ) -> tuple[FloatArray, FloatArray]:
        """The same by the small body k, by differences of the rows and of its mass: by q⁺, and by q at fixed q⁺."""
        step, bodies = self._step, self._bodies
        part: Any = step.parts[k]
        ends = step.ends
        assert ends is not None
        weights = [self._of_all(x) for x in (impulse, b)]
        speeds = bodies.end_velocities()
        gained = speeds[k] - bodies.trials[k].velocities()

        def weighed(moved: Any, trial: Any) -> float:
            assembly, kappa = ends.assembled(moved, weights[0])
            b_there = ends.assembled(moved, weights[1])[1]
            view, made = moved.view(), 0.0
            for constraint, own, memory in zip(
                bodies.world.constraints, assembly.slices, assembly.memories, strict=False
            ):
                if not constraint.is_contact and b_there[own].any():
                    made += float(b_there[own] @ constraint.rates(view, assembly.rows.part(own), memory))
            for H, each, v in zip(assembly.rows.H, y, speeds, strict=True):
                if each is not None:
                    made += float(kappa @ (H @ each.ravel()) - b_there @ (H @ v.ravel()))
            mine = y[k]
            return made if mine is None else made - paired(bodies.world.models[k], trial.positions(), mine, gained)

        by_end, by_q = np.zeros(part.model.size), np.zeros(part.model.size)
        for i in part.free:

            def there(s: float, i: int = i) -> float:
                trial = part.moved(i, s)
                return weighed(ends.placed({k: trial}), trial)

            def begun(s: float, i: int = i) -> float:
                trial = part.begun(i, s)
                return weighed(ends.placed({k: trial}, {k: part.start_moved(i, s)}), trial)

            by_end[i] = derivative(there, part.steps[i])
            by_q[i] = derivative(begun, part.steps[i])
        return by_end.reshape(part.shape), (by_q - by_end @ part.carried).reshape(part.shape)

    def _stiffness(self, lam: FloatArray) -> list[tuple[int, float, Any]]:
        """−λ ∂²δ/∂q² at the end, by the index of the body and with its sign, for λ (k,) of the picked rows. Constraints
        tell the stiffness of forces that they may have: both signs are asked for as tension.
        """
        world = self._bodies.world
        if not world.stiff_constraints or not lam.any():
            return []
        keys, slices = world.stiff_keys
        forces = forces_of(keys, self._rows.key, lam)
        q = [trial.positions() for trial in self._bodies.trials]
        made: list[tuple[int, float, Any]] = []
        for constraint, own in zip(world.stiff_constraints, slices, strict=True):
            for sign in (1.0, -1.0):
                part = np.maximum(sign * forces[own], 0.0)
                if part.any():
                    made.extend((index, sign, K) for index, K in constraint.stiffness(q, part, 1.0))
        return made


class _Inverse:
    """M⁻¹ of a body from a scale, a system and its factor, over its free unknowns."""

    def __init__(self, mass: tuple[float, Any, Any], fixed: BoolArray) -> None:
        self._scale, _, self._factor = mass
        self._fixed = fixed

    def __call__(self, x: FloatArray) -> FloatArray:
        """M⁻¹ x, of the shape of dx."""
        free = np.where(self._fixed, 0.0, x).ravel()
        made = self._scale * self._factor.response(sparse.csr_matrix(sparse.identity(free.size)), free)
        return np.where(self._fixed, 0.0, made.reshape(x.shape))

    def compliance(self, H: sparse.csr_matrix) -> FloatArray:
        """H M⁻¹ Hᵀ (k, k)."""
        made: FloatArray = self._scale * self._factor.compliance(H)
        return made
