"""What the two dynamic steppers share: a fixed number of linear solves, or Newton's iteration to a tolerance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from pliant.core.checks import positive, positive_count
from pliant.core.errors import ConvergenceError
from pliant.core.status import Status
from pliant.core.threads import one_blas_thread
from pliant.core.timers import StageTimers
from pliant.core.types import FloatArray
from pliant.materials import Tangent
from pliant.models.scheme import Scheme
from pliant.stepping.info import Measures, StepInfo
from pliant.stepping.lagged_factors import LaggedFactors, begin_factors
from pliant.stepping.motion import Motion
from pliant.stepping.newton import Correction, Stopping, apply_with_line_search, relative_residual, solve_once
from pliant.stepping.session import RowSolver, begin
from pliant.world import State, World

MAXIMUM_ITERATIONS = 50


@dataclass(frozen=True)
class DynamicStepper:
    """A stepper over time with step `dt` (s): a fixed number of linear solves, or as many as a tolerance needs."""

    dt: float
    _: KW_ONLY
    newton_iterations: int = 1
    tolerance: float | None = None
    solver: RowSolver | None = None
    factors: LaggedFactors | None = None

    def __post_init__(self) -> None:
        positive("dt", self.dt, unit="s")
        positive_count("newton_iterations", self.newton_iterations)
        if self.tolerance is not None:
            positive("tolerance", self.tolerance)

    def scheme(self) -> Scheme:
        """The time discretisation."""
        raise NotImplementedError

    def __call__(self, world: World, state: State, controls: Mapping[Any, Any] | None = None) -> tuple[State, StepInfo]:
        """The state after one step, and what the step reports; `state` is left as it is."""
        return dynamic_step(
            world,
            state,
            controls,
            scheme=self.scheme(),
            newton_iterations=self.newton_iterations,
            tolerance=self.tolerance,
            solver=self.solver,
            factors=self.factors,
        )


def dynamic_step(
    world: World,
    state: State,
    controls: Mapping[Any, Any] | None,
    *,
    scheme: Scheme,
    newton_iterations: int,
    tolerance: float | None,
    solver: RowSolver | None = None,
    factors: LaggedFactors | None = None,
) -> tuple[State, StepInfo]:
    """One step of `scheme`: `newton_iterations` linear solves, or as many as `tolerance` needs."""
    timers = StageTimers()
    values, session = begin(solver, world, state, controls)
    source = begin_factors(factors, world, state, scheme)
    motion = Motion(world, state, scheme, values, session, source)
    with one_blas_thread():
        if tolerance is None:
            outcome = _fixed(motion, newton_iterations, timers)
        else:
            outcome = _converged(motion, tolerance, timers)
    status, iterations, correction, projected = outcome
    lam = correction.lam
    advanced = motion.advanced(lam)
    source.end(advanced)
    info = StepInfo(
        status=status,
        iterations=iterations,
        linear_residual=correction.linear_residual,
        stage_times=timers.seconds,
        tangents_projected=projected,
        lam=lam,
        assembly=motion.assembly,
        world=world,
        correction=tuple(correction.dx),
        measure=lambda: measure(motion, advanced),
        watch=motion.warnings,
        end=motion.view,
        inverse=session.report,
        factor_use=source.use,
    )
    return advanced, info


Outcome = tuple[Status, int, Correction, int]


def _fixed(motion: Motion, iterations: int, timers: StageTimers) -> Outcome:
    """Full steps with the cheapest tangent that is consistent to first order."""
    projected = 0
    for _ in range(iterations):
        correction = solve_once(motion, Tangent.WARPED, timers)
        check_finite(motion, correction.dx)
        motion.move(correction.dx)
        projected += correction.projected
    return Status.FIXED_ITERATIONS, iterations, correction, projected


def _converged(motion: Motion, tolerance: float, timers: StageTimers) -> Outcome:
    """Newton's iteration with the exact tangent and line search, until the relative residual is below `tolerance`."""
    projected = 0
    stopping = Stopping(motion, tolerance)
    for iteration in range(1, MAXIMUM_ITERATIONS + 1):
        correction = solve_once(motion, Tangent.EXACT, timers, stopping)
        check_finite(motion, correction.dx)
        projected += correction.projected
        with timers.stage("line search"):
            forces = apply_with_line_search(motion, correction)
        residual = relative_residual(motion, forces)
        if stopping.reached(residual, forces.scale, correction) and not motion.must_move():
            return Status.CONVERGED, iteration, correction, projected
    raise ConvergenceError(
        f"Newton's iteration reached {residual:.2e} in {MAXIMUM_ITERATIONS} iterations, the tolerance is "
        f"{tolerance:.2e}; take a smaller dt, or loosen the tolerance",
        result=motion.advanced(np.zeros(0)),
    )


def check_finite(motion: Motion, dx: list[FloatArray]) -> None:
    """Raise where a displacement is not finite, naming the body and the node."""
    for model, x in zip(motion.world.models, dx, strict=True):
        if not np.isfinite(x).all():
            node = int(np.argwhere(~np.isfinite(x))[0, 0])
            raise ConvergenceError(
                f"the step of {model.name!r} is not finite at node {node} (at {model.initial()[0][node]} m at rest): "
                "an element there is inverted or the loads are too large; take a smaller dt or smaller loads"
            )


def measure(motion: Motion, advanced: State) -> Measures:
    """Nonlinear residual, energy change and reactions of a finished step."""
    forces = motion.forces()
    world = motion.world
    before = world.energy_at(motion.start, motion.controls)["total"]
    after = world.energy_at(advanced, motion.controls)["total"]

    def reaction(body: Any) -> FloatArray:
        number = world.index(body)
        push = None if motion.pushes is None else motion.pushes[number]
        r = motion.trials[number].borne(forces.r[number], push)
        return np.where(world.models[number].held, -r, 0.0)

    return Measures(relative_residual(motion, forces), after - before, reaction)
