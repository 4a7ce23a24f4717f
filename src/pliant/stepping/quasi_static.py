"""Quasi-static equilibrium: f_int(q) = f_ext(q), by Newton's iteration with line search and load stepping.

The matrix is K, the limit h → ∞ of the dynamic one. Where K is not positive definite its tangent is projected, and σM
is added with σ raised until the factorization succeeds; the iteration runs to the true residual, so the equilibrium
does not depend on σ. Rigid motions that no support resists are taken out: the loads are balanced by the inertia
forces of the acceleration they would cause (inertia relief), the body is solved up to that motion, and
`info.rigid_motion` reports it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np

from pliant.core.checks import positive, positive_count
from pliant.core.errors import ConvergenceError, SingularError
from pliant.core.status import Status
from pliant.core.threads import one_blas_thread
from pliant.core.timers import StageTimers
from pliant.core.types import FloatArray
from pliant.materials import Tangent
from pliant.models.model import Factor, System
from pliant.models.scheme import STATIC_SCHEME
from pliant.models.volume import VolumeModel
from pliant.models.volume.readouts import least_volume_ratio
from pliant.stepping.dynamics import check_finite, measure
from pliant.stepping.info import Measures, RigidMotion, StepInfo
from pliant.stepping.lagged_factors import LaggedFactors, begin_factors
from pliant.stepping.motion import Forces, Motion
from pliant.stepping.newton import (
    Correction,
    Stopping,
    apply_in_full,
    apply_with_line_search,
    relative_residual,
    solve_once,
)
from pliant.stepping.rigid_modes import FreeModes, free_modes, open_base_share
from pliant.stepping.session import RowSolver, begin
from pliant.world import State, World

MAXIMUM_ITERATIONS = 40
FULL_STEPS = 12
"""Newton's iterations without line search in a load step: bending of slender bodies takes most of them."""
SMALLEST_LOAD_STEP = 1.0 / 512.0
LEAST_EASE = 1e-8
"""Share of the σM of a rigid body that welds hold which is left in the end: each linear solve takes a tenth of the last
one, so that what holds the body, however soft, soon outweighs it.
"""


@dataclass(frozen=True)
class QuasiStatic:
    """Static equilibrium in one call.

    tolerance
        ‖r‖ over the free unknowns as a fraction of the largest force norm; usual 1e-6 … 1e-10.
    newton_iterations
        None iterates to the tolerance; a number does that many linear solves, the real-time variant.
    solver
        Who finds the forces; None: the laws of the rows. `pl.Inverse` finds the actuation for given targets.
    factors
        None factorizes the matrix of every linear solve; `pl.LaggedFactors` solves with that of an earlier one.
    """

    _: KW_ONLY
    tolerance: float = 1e-8
    newton_iterations: int | None = None
    solver: RowSolver | None = None
    factors: LaggedFactors | None = None

    def __post_init__(self) -> None:
        positive("tolerance", self.tolerance)
        if self.newton_iterations is not None:
            positive_count("newton_iterations", self.newton_iterations)

    def __call__(self, world: World, state: State, controls: Mapping[Any, Any] | None = None) -> tuple[State, StepInfo]:
        """The equilibrium reached from `state`, with velocities zero, and what the solve reports; `state` is left as
        it is.
        """
        values, session = begin(self.solver, world, state, controls)
        source = begin_factors(self.factors, world, state, STATIC_SCHEME)
        solve = _Equilibrium(Motion(world, state, STATIC_SCHEME, values, session, source), StageTimers())
        with one_blas_thread():
            if self.newton_iterations is None:
                status = solve.load_steps(self.tolerance)
            else:
                status = solve.fixed(self.newton_iterations)
        advanced = solve.motion.advanced(solve.lam)
        source.end(advanced)
        info = StepInfo(
            status=status,
            iterations=solve.iterations,
            linear_residual=solve.linear_residual,
            stage_times=solve.timers.seconds,
            tangents_projected=solve.projected,
            load_steps=solve.step_count,
            rigid_motion=solve.rigid_motion(),
            lam=solve.lam,
            assembly=solve.motion.assembly,
            world=world,
            correction=solve.correction,
            inverse=session.report,
            factor_use=source.use,
            shift=solve.shift,
            end=solve.motion.view,
            measure=lambda: solve.measured(advanced),
        )
        return advanced, info


class _Equilibrium:
    """One static solve in progress."""

    def __init__(self, motion: Motion, timers: StageTimers) -> None:
        self.motion = motion
        self.timers = timers
        self.iterations = 0
        self.projected = 0
        self.step_count = 0
        self.linear_residual = 0.0
        self.lam: FloatArray = np.zeros(0)
        self.correction: tuple[FloatArray, ...] = ()
        self.shift = 0.0
        self.ease = 1.0
        self.stopping: Stopping | None = None
        self.modes = [_open_modes(motion.world, number, q) for number, q in enumerate(motion.start.q)]
        constraints = motion.world.constraints
        self.welded = [any(one.welds(index) for one in constraints) for index in range(len(motion.start.q))]

    def fixed(self, iterations: int) -> Status:
        """`iterations` full linear solves, with the cheapest tangent that is consistent to first order: it is positive
        definite also where the exact one is about to buckle, where a single solve would jump.
        """
        for _ in range(iterations):
            correction = self._correct(Tangent.WARPED)
            self.motion.move(correction.dx)
        self.step_count = 1
        return Status.FIXED_ITERATIONS

    def load_steps(self, tolerance: float) -> Status:
        """Newton at the full load with full steps, then with line search, then from the start in load steps.

        Full steps come first because bending makes a line search timid: the first step stretches a slender body, and
        the second one takes that back.
        """
        motion = self.motion
        for attempt in (apply_in_full, apply_with_line_search):
            if self._newton(tolerance, attempt):
                self.step_count = 1
                return self._status()
            motion.dx = [np.zeros_like(x) for x in motion.dx]
        motion.ease_in()
        reached, step, good = 0.0, 0.25, [x.copy() for x in motion.dx]
        while reached < 1.0:
            motion.blend = min(reached + step, 1.0)
            if self._load_step(tolerance, good):
                reached, good = motion.blend, [x.copy() for x in motion.dx]
                step *= 1.5
                self.step_count += 1
                continue
            motion.dx = [x.copy() for x in good]
            step *= 0.5
            if step < SMALLEST_LOAD_STEP:
                motion.blend = 1.0
                raise ConvergenceError(
                    f"no equilibrium found beyond {reached:.1%} of the load change; there may be a limit point "
                    "(buckling, ballooning) or an element may invert: take smaller loads, refine the mesh, or use a "
                    "dynamic stepper",
                    result=motion.advanced(np.zeros(0)),
                )
        return self._status()

    def _load_step(self, tolerance: float, good: list[FloatArray]) -> bool:
        """Newton from the displacement `good`, with a few full steps, then with line search: as in `load_steps`."""
        if self._newton(tolerance, apply_in_full, FULL_STEPS):
            return True
        self.motion.dx = [x.copy() for x in good]
        return self._newton(tolerance, apply_with_line_search)

    def _newton(
        self, tolerance: float, apply: Callable[[Motion, Correction], Forces], most: int = MAXIMUM_ITERATIONS
    ) -> bool:
        """At most `most` of Newton's iterations at the present blend; whether the relative residual went below
        `tolerance`.
        """
        motion = self.motion
        passive = not motion.makers  # what rows do here is known only after a solve
        if passive and self.residual(motion.forces()) <= tolerance and not motion.must_move():
            return True
        self.shift, self.ease = 0.0, 1.0
        self.stopping = Stopping(motion, tolerance)
        for _ in range(most):
            try:
                correction = self._correct()
            except (ConvergenceError, SingularError):
                return False
            with self.timers.stage("line search"):
                forces = apply(motion, correction)
            if not forces.finite:
                return False
            if self.stopping.reached(self.residual(forces), forces.scale, correction) and not motion.must_move():
                return not self._inside_out()
        return False

    def _inside_out(self) -> bool:
        """Whether this equilibrium has inverted elements, as some laws allow; small strain knows no inversion."""
        trials = (trial for trial in self.motion.trials if isinstance(trial.model, VolumeModel))
        return any(t.model.laws.any() and least_volume_ratio(t.model, t.evaluation_point()) <= 0.0 for t in trials)

    def _correct(self, tangent: Tangent = Tangent.EXACT) -> Correction:
        """One linear solve, with σ raised until the matrix is positive definite."""
        for number, (trial, mode) in enumerate(zip(self.motion.trials, self.modes, strict=True)):
            if mode is not None and not isinstance(trial.model, VolumeModel):  # frames turn: their motions with them
                self.modes[number] = free_modes(self.motion.world.models[number], trial.positions())
        for _ in range(14):
            try:
                correction = solve_once(self.motion, tangent, self.timers, self)
                break
            except SingularError:
                self.shift = 1e-6 if self.shift == 0.0 else 10.0 * self.shift
        else:
            raise SingularError(
                "the stiffness stays indefinite whatever multiple of the mass is added: check the loads"
            )
        check_finite(self.motion, correction.dx)
        self.shift *= 0.1 if self.shift > 1e-7 else 0.0
        self.ease = max(0.1 * self.ease, LEAST_EASE)
        self.iterations += 1
        self.projected += correction.projected
        self.linear_residual = correction.linear_residual
        self.lam = correction.lam
        self.correction = tuple(correction.dx)
        return correction

    def regularize(self, systems: list[System]) -> None:
        """A += σM, and balanced loads for bodies that can move freely."""
        if self.stopping is not None:
            self.stopping.regularize(systems)
        for number, (system, mode) in enumerate(zip(systems, self.modes, strict=True)):
            if not system.elastic and self.welded[number]:
                system.add_mass(self.ease)
                continue
            shift = max(
                self.shift, 1e-8 if mode is not None else 0.0, open_base_share(self.motion.world.models[number])
            )
            if shift:
                system.add_mass(shift if system.elastic else 1.0)
            if mode is not None:
                system.r = np.where(self.motion.world.models[number].held, 0.0, mode.balanced(system.r))

    def fix(self, factors: list[Factor], dx: list[FloatArray]) -> None:
        """Hold the free motions of each body with the inertia forces that it takes."""
        for number, (factor, mode) in enumerate(zip(factors, self.modes, strict=True)):
            if mode is not None:
                dx[number] = mode.held(dx[number], factor.solve(mode.weighted))

    def residual(self, forces: Forces) -> float:
        """Relative residual, less what only accelerates free bodies."""
        pairs = zip(forces.r, self.modes, strict=True)
        balanced = tuple(r if mode is None else mode.balanced(r) for r, mode in pairs)
        return relative_residual(self.motion, replace(forces, r=balanced))

    def measured(self, advanced: State) -> Measures:
        """What is computed when it is read."""
        forces = self.motion.forces()
        return replace(
            measure(self.motion, advanced),
            residual=self.residual(forces),
            whole_residual=lambda: self.residual(self.motion.whole(forces)),
        )

    def rigid_motion(self) -> tuple[RigidMotion, ...]:
        """What is left open of each free body."""
        if all(mode is None for mode in self.modes):
            return ()
        forces = self.motion.forces()
        triples = zip(self.motion.world.models, self.modes, forces.r, strict=True)
        return tuple(
            RigidMotion(model.name, mode.count, mode.acceleration(r)) for model, mode, r in triples if mode is not None
        )

    def _status(self) -> Status:
        return Status.FREE_MOTION if any(mode is not None for mode in self.modes) else Status.CONVERGED


def _open_modes(world: World, number: int, q: FloatArray) -> FreeModes | None:
    """Rigid motions of a body that nothing resists. Where contacts or attachments may hold the body they have to: its
    rigid motion is then bounded by σM from one linear solve to the next, until they do.
    """
    model = world.models[number]
    return None if any(m.holds(number) for m in world.constraints) else free_modes(model, q)
