"""Quasi-static equilibrium: f_int(q) = f_ext(q), by Newton's iteration with line search and load increments.

The matrix is K, the limit h → ∞ of the dynamic one. Where K is not positive definite its tangent is projected, and σM
is added with σ raised until the factorization succeeds; the iteration runs to the true residual, so the equilibrium
does not depend on σ. Rigid motions that no support resists are taken out: the loads are balanced by the inertia
forces of the acceleration they would cause (inertia relief), the body is solved up to that motion, and
`info.rigid_motion` reports it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from pliant.core.checks import positive, positive_count
from pliant.core.errors import ConvergenceError, SingularError
from pliant.core.immutable import evolve
from pliant.core.status import Status
from pliant.core.threads import pinned_threads
from pliant.core.types import FloatArray
from pliant.materials import Tangent
from pliant.models.free_modes import FreeModes
from pliant.models.model import Factor, System
from pliant.models.scheme import STATIC_SCHEME, static_scheme
from pliant.models.workspace import Workspace
from pliant.stepping.bodies import Forces, StepBodies
from pliant.stepping.diagnosis import shape_warnings
from pliant.stepping.info import RigidMotion, StepInfo, finish
from pliant.stepping.newton import (
    Convergence,
    apply_in_full,
    apply_with_line_search,
    check_finite,
    in_full,
    relative_residual,
)
from pliant.stepping.session import RowSolver
from pliant.stepping.stages import (
    Correction,
    Step,
    assemble,
    begin,
    condense,
    correct,
    detect,
    factorize,
    linearize,
    solve,
)
from pliant.world import State, World

MAXIMUM_ITERATIONS = 40
FULL_STEPS = 12
"""Newton iterations without line search in a load increment: bending of slender bodies takes most of them."""
SMALLEST_INCREMENT = 1.0 / 512.0
LEAST_EASE = 1e-8
"""Fraction of the σM of a welded rigid body that is left in the end: each linear solve takes a tenth of the last one,
so that what holds the body, however soft, soon outweighs it.
"""


@dataclass(frozen=True)
class QuasiStatic:
    """Static equilibrium in one call.

    tolerance
        ‖r‖ over the free DoFs as a fraction of the largest force norm; usual 1e-6 … 1e-10.
    newton_iterations
        None iterates to the tolerance; a number does that many linear solves, the real-time variant.
    solver
        Who finds the constraint forces; None: the laws of the rows. `pl.Inverse` finds the actuation for given targets.
    dt
        Time that passes from one call to the next, s: the time of the state advances by it, and limits of rates
        (``pl.Cable(max_rate=…)``) count by it. Inertia has no part in it. None: no time passes.
    threads
        Threads that large factorizations and solves take, 1 or 2; the result is the same to the last bit.
    """

    _: KW_ONLY
    tolerance: float = 1e-8
    newton_iterations: int | None = None
    solver: RowSolver | None = None
    dt: float | None = None
    threads: int = 1
    workspace: Workspace = field(default_factory=Workspace, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        positive("tolerance", self.tolerance)
        positive_count("threads", self.threads)
        if self.dt is not None:
            positive("dt", self.dt, unit="s")
        if self.newton_iterations is not None:
            positive_count("newton_iterations", self.newton_iterations)

    def __call__(self, world: World, state: State, controls: Mapping[Any, Any] | None = None) -> tuple[State, StepInfo]:
        """The equilibrium reached from `state`, with velocities zero, and what the solve reports; `state` is left as
        it is.
        """
        scheme = STATIC_SCHEME if self.dt is None else static_scheme(self.dt)
        step = begin(world, state, controls, scheme=scheme, solver=self.solver, workspace=self.workspace)
        equilibrium = _Equilibrium(step)
        with pinned_threads(self.threads):
            if self.newton_iterations is None:
                status = equilibrium.load_increments(self.tolerance)
            else:
                status = equilibrium.fixed(self.newton_iterations)
        return finish(
            equilibrium.step,
            status,
            load_steps=equilibrium.increment_count,
            rigid_motion=equilibrium.rigid_motion(),
            shift=equilibrium.shift,
        )


class _Equilibrium:
    """One quasi-static solve in progress: the load path, and the regularization of its linear solves.

    `shift` σ is the fraction of the mass that was last added to the stiffness; `ease` that of welded rigid bodies.
    """

    def __init__(self, step: Step) -> None:
        world, start = step.world, step.bodies.start
        modes = tuple(_open_modes(world, index, q) for index, q in enumerate(start.q))
        self.step = evolve(step, free_modes=modes)
        self.increment_count = 0
        self.shift = 0.0
        self.ease = 1.0
        self.welded = [any(each.welds(index) for each in world.constraints) for index in range(len(start.q))]

    def fixed(self, iterations: int) -> Status:
        """`iterations` full linear solves, with the cheapest tangent that is consistent to first order: it is positive
        definite also where the exact one is about to buckle, where a single solve would jump.
        """
        for _ in range(iterations):
            self.step = in_full(self._linear_solve(Tangent.WARPED))
        self.increment_count = 1
        return Status.FIXED_ITERATIONS

    def load_increments(self, tolerance: float) -> Status:
        """Newton at the full load with full steps, then with line search, then from the start in load increments.

        Full steps come first because bending makes a line search timid: the first step stretches a slender body, and
        the second one takes that back.
        """
        start = [np.zeros_like(x) for x in self.step.bodies.dx]
        for apply in (apply_in_full, apply_with_line_search):
            if self._newton(tolerance, apply):
                self.increment_count = 1
                return self._status()
            self._move_to(start)
        self._set(self.step.bodies.eased_in())
        reached, increment, good = 0.0, 0.25, start
        while reached < 1.0:
            self._set(self.step.bodies.loaded(min(reached + increment, 1.0)))
            if self._increment(tolerance, good):
                reached, good = self.step.bodies.load_fraction, self.step.bodies.dx
                increment *= 1.5
                self.increment_count += 1
                continue
            self._move_to(good)
            increment *= 0.5
            if increment < SMALLEST_INCREMENT:
                bodies = self.step.bodies.loaded(1.0)
                raise ConvergenceError(
                    f"no equilibrium found beyond {reached:.1%} of the load increment; there may be a limit point "
                    "(buckling, ballooning) or an element may invert: take smaller loads, refine the mesh, or use a "
                    "dynamic stepper" + "".join(f". Before that, {text}" for text in shape_warnings(self.step)),
                    result=bodies.advanced(self.step.assembly, np.zeros(0)),
                )
        return self._status()

    def _increment(self, tolerance: float, good: Sequence[FloatArray]) -> bool:
        """Newton from the displacement `good`, with a few full steps, then with line search."""
        if self._newton(tolerance, apply_in_full, FULL_STEPS):
            return True
        self._move_to(good)
        return self._newton(tolerance, apply_with_line_search)

    def _newton(
        self,
        tolerance: float,
        apply: Callable[[Correction], tuple[Step, Forces]],
        most: int = MAXIMUM_ITERATIONS,
    ) -> bool:
        """At most `most` Newton iterations at the present load; whether the relative residual went below
        `tolerance`.
        """
        passive = not self.step.constraints  # what constraints do here is known only after a solve
        bodies = self.step.bodies
        if passive and self._residual(bodies.forces()) <= tolerance and not bodies.must_move():
            return True
        self.shift, self.ease = 0.0, 1.0
        convergence = Convergence(tolerance)
        for _ in range(most):
            try:
                correction = self._linear_solve(Tangent.EXACT)
            except (ConvergenceError, SingularError):
                return False
            with self.step.timers.stage("line search"):
                self.step, forces = apply(correction)
            if not forces.finite:
                return False
            residual = self._residual(forces)
            if convergence.reached(residual, forces.scale, correction, self.step) and not self.step.bodies.must_move():
                return not self._inside_out()
        return False

    def _linear_solve(self, tangent: Tangent) -> Correction:
        """One linear solve, with σ raised until the matrix is positive definite; the bodies stay where they are."""
        self.step = step = self._with_free_modes()
        contacts = detect(step)
        rows = assemble(step, contacts)
        for _ in range(14):
            systems = linearize(step, tangent, self)
            try:
                factors = factorize(step, systems)
                break
            except SingularError:
                self.shift = 1e-6 if self.shift == 0.0 else 10.0 * self.shift
        else:
            raise SingularError(
                "the stiffness stays indefinite whatever multiple of the mass is added: check the loads"
            )
        free = solve(step, factors)
        problem = condense(step, rows, factors, free)
        correction = correct(step, rows, factors, free, problem)
        check_finite(correction)
        self.shift *= 0.1 if self.shift > 1e-7 else 0.0
        self.ease = max(0.1 * self.ease, LEAST_EASE)
        self.step = correction.step
        return correction

    def _with_free_modes(self) -> Step:
        """The step with the free rigid motions at the present positions: those of frames turn with them."""
        step = self.step
        if all(modes is None or not m.has_frames for modes, m in zip(step.free_modes, step.world.models)):
            return step
        found = [
            modes if modes is None or not model.has_frames else model.free_modes(trial.positions())
            for modes, model, trial in zip(step.free_modes, step.world.models, step.bodies.trials, strict=True)
        ]
        return evolve(step, free_modes=tuple(found))

    def regularize(self, step: Step, systems: Sequence[System]) -> None:
        """A += σM, and balanced loads for bodies that can move freely."""
        for index, (system, modes) in enumerate(zip(systems, step.free_modes, strict=True)):
            if not system.elastic and self.welded[index]:
                system.add_mass(self.ease)
                continue
            model = step.world.models[index]
            shift = max(self.shift, 1e-8 if modes is not None else 0.0, model.min_inertia_correction)
            if shift:
                system.add_mass(shift if system.elastic else 1.0)
            if modes is not None:
                system.r = np.where(model.constrained, 0.0, modes.balanced(system.r))

    def constrain(self, factors: Sequence[Factor], dx: list[FloatArray]) -> None:
        """Hold the free rigid motion of each body with the inertia forces that it takes."""
        for index, (factor, modes) in enumerate(zip(factors, self.step.free_modes, strict=True)):
            if modes is not None:
                dx[index] = modes.without_rigid_motion(dx[index], factor.solve(modes.weighted))

    def rigid_motion(self) -> tuple[RigidMotion, ...]:
        """The rigid motion of each body that is left open."""
        modes = self.step.free_modes
        if all(each is None for each in modes):
            return ()
        forces = self.step.bodies.forces()
        triples = zip(self.step.world.models, modes, forces.r, strict=True)
        return tuple(
            RigidMotion(model.name, each.count, each.acceleration(r)) for model, each, r in triples if each is not None
        )

    def _residual(self, forces: Forces) -> float:
        """Relative residual, less what only accelerates free bodies."""
        return relative_residual(self.step.bodies, self.step.balanced(forces))

    def _inside_out(self) -> bool:
        """Whether this equilibrium has inverted elements."""
        return any(trial.model.is_inverted(trial.evaluation_point()) for trial in self.step.bodies.trials)

    def _set(self, bodies: StepBodies) -> None:
        self.step = evolve(self.step, bodies=bodies)

    def _move_to(self, dx: Sequence[FloatArray]) -> None:
        self._set(self.step.bodies.at(dx))

    def _status(self) -> Status:
        return Status.CONVERGED if all(modes is None for modes in self.step.free_modes) else Status.FREE_MOTION


def _open_modes(world: World, index: int, q: FloatArray) -> FreeModes | None:
    """Rigid motions of a body that nothing resists. Where contacts or attachments may hold the body they have to: its
    rigid motion is then bounded by σM from one linear solve to the next, until they do.
    """
    return None if any(each.constrains(index) for each in world.constraints) else world.models[index].free_modes(q)
