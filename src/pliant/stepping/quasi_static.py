"""Quasi-static equilibrium: f_int(q) + Hᵀλ = f_ext(q), by Newton's iteration along a load path in increments.

First the full load is tried at once (`stepping.equilibrium`). Where that fails, and where friction makes the outcome
depend on the path, every command, load, support and obstacle goes to its end in increments (`stepping.load_path`), each
converged before the next begins; friction acts on the slip of an increment. The length of the increments follows the
convergence. Where no increment is short enough, at a limit point or where contacts change back and forth, a damped
iteration follows the overdamped motion to the next stable equilibrium. `info.method` says which of the three it took.

Rigid motions that no support and no constraint resists are taken out: the loads are balanced by the inertia forces of
the acceleration they would cause (inertia relief), the body is solved up to that motion, and `info.rigid_motion`
reports it. The same holds of motions that contacts hardly resist, such as sliding without friction, where the force
that would hold them is small (`stepping.neutral_motions`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal

from pliant.core.checks import positive, positive_count, time_step
from pliant.core.errors import InputError
from pliant.core.one_line import one_line
from pliant.core.status import Status
from pliant.core.threads import pinned_threads
from pliant.models.scheme import static_scheme
from pliant.models.workspace import Workspace
from pliant.stepping.equilibrium import Equilibrium
from pliant.stepping.increments import follow
from pliant.stepping.info import StepInfo, finish
from pliant.stepping.session import RowSolver
from pliant.stepping.settling import SettlingSolver
from pliant.stepping.stages import begin
from pliant.world import State, World
from pliant.world.copies import Copies


@one_line
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
    viscoelastic
        Whether materials with memory (`pl.materials.Viscoelastic`) are "relaxed" at the equilibrium, as after a long
        time, or "instantaneous", as if it were reached at once.
    threads
        Threads that large factorizations and solves take, 1 or 2; the result is the same to the last bit.
    maximum_solves
        Linear solves of a call at most; where no equilibrium is found within them, the call ends with a
        ConvergenceError that says how far along the load path it came and what stands in the way. Most robots take 5
        to 100, and contact with friction up to 200.
    """

    _: KW_ONLY
    tolerance: float = 1e-8
    newton_iterations: int | None = None
    solver: RowSolver | None = None
    dt: float | None = None
    threads: int = 1
    maximum_solves: int = 500
    viscoelastic: Literal["relaxed", "instantaneous"] = "relaxed"
    workspace: Workspace = field(default_factory=Workspace, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        positive("tolerance", self.tolerance)
        positive_count("threads", self.threads)
        positive_count("maximum_solves", self.maximum_solves)
        if not isinstance(self.viscoelastic, str) or self.viscoelastic not in ("relaxed", "instantaneous"):
            raise InputError(f'viscoelastic must be "relaxed" or "instantaneous", got {self.viscoelastic!r}')
        if self.dt is not None:
            time_step("dt", self.dt)
        if self.newton_iterations is not None:
            positive_count("newton_iterations", self.newton_iterations)

    def __call__(self, world: World, state: State, controls: Mapping[Any, Any] | None = None) -> tuple[State, StepInfo]:
        """The equilibrium reached from `state`, with velocities zero, and what the solve reports; `state` is left as
        it is.
        """
        if isinstance(world, Copies):
            return world.step(self, state, controls)  # type: ignore[no-any-return]
        if isinstance(self.solver, SettlingSolver) and self.solver.tolerance is not None:
            return self.solver.settled(self, world, state, controls)
        scheme = static_scheme(self.dt or 0.0, instantaneous=self.viscoelastic == "instantaneous")
        step = begin(world, state, controls, scheme=scheme, solver=self.solver, workspace=self.workspace)
        equilibrium = Equilibrium(step, once=self.newton_iterations is not None)
        with pinned_threads(self.threads):
            if self.newton_iterations is not None:
                equilibrium.fixed(self.newton_iterations)
                status, method, count = Status.FIXED_ITERATIONS, "newton", 1
            else:
                method, count = follow(equilibrium, self.tolerance, self.workspace, self.maximum_solves)
                free = (
                    any(modes is not None for modes in equilibrium.step.free_modes) or equilibrium.neutral is not None
                )
                status = Status.FREE_MOTION if free else Status.CONVERGED
        return finish(
            equilibrium.step,
            status,
            load_steps=count,
            rigid_motion=equilibrium.rigid_motion(),
            shift=equilibrium.shift,
            method=method,
            passed=tuple(equilibrium.passed),
        )
