"""What the dynamic steppers share: their options, and the iteration that these ask for."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import KW_ONLY, dataclass, field

from pliant.core.checks import positive, positive_count, time_step
from pliant.core.errors import InputError
from pliant.core.status import Status
from pliant.core.threads import pinned_threads
from pliant.models.workspace import Workspace
from pliant.stepping.newton import NewtonIteration
from pliant.stepping.session import RowSolver
from pliant.stepping.settling import SettlingSolver
from pliant.stepping.stages import Step


@dataclass(frozen=True)
class DynamicStepper:
    """A stepper over time with step `dt` (s): a fixed number of linear solves, or as many as a tolerance needs.

    `workspace` is what the stepper keeps from step to step; it changes nothing but time.
    """

    dt: float
    _: KW_ONLY
    newton_iterations: int = 1
    tolerance: float | None = None
    solver: RowSolver | None = None
    threads: int = 1
    workspace: Workspace = field(default_factory=Workspace, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        time_step("dt", self.dt)
        positive_count("newton_iterations", self.newton_iterations)
        positive_count("threads", self.threads)
        if self.tolerance is not None:
            positive("tolerance", self.tolerance)
        if isinstance(self.solver, SettlingSolver) and self.solver.tolerance is not None:
            raise InputError(
                "the tolerance of a solver asks for static equilibrium, which a dynamic step has not: use "
                "pl.QuasiStatic, or give the tolerance to the stepper"
            )

    def solved(self, step: Step, newton: NewtonIteration) -> Step:
        """The step at the end of Newton's iteration."""
        raise NotImplementedError

    def keeps_energy(self, step: Step) -> bool:
        """Whether the `step` to a tolerance adds no energy, or less than numerical damping takes."""
        return True

    def iteration(self) -> NewtonIteration:
        """Newton's iteration of one step."""
        return NewtonIteration(self.newton_iterations, self.tolerance)

    @property
    def status(self) -> Status:
        """How a step ends that does not fail."""
        return Status.FIXED_ITERATIONS if self.tolerance is None else Status.CONVERGED

    def pinned(self) -> AbstractContextManager[None]:
        """One BLAS thread, and `threads` of our own."""
        return pinned_threads(self.threads)
