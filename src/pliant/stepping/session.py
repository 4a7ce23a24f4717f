"""Who finds the forces of a step: the laws of the rows, or whatever a stepper is given as its `solver`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from pliant.constraints import Constraint, forces_of
from pliant.core.types import FloatArray, IndexArray
from pliant.models.model import Factor, System
from pliant.solvers.contact import MixedProblem, solve
from pliant.world import State, World

if TYPE_CHECKING:
    from pliant.stepping.motion import Motion


class Session(Protocol):
    """What finds the forces during one step."""

    @property
    def makers(self) -> Sequence[Constraint]:
        """Makers of rows beside those of the world."""

    @property
    def report(self) -> Any:
        """What it wants to tell after the step."""

    def observe(self, motion: Motion, systems: Sequence[System]) -> None:
        """See the systems of a linear solve before they are factorized."""

    def solve(
        self, motion: Motion, factors: Sequence[Factor], problem: MixedProblem, dx: list[FloatArray]
    ) -> FloatArray:
        """λ (rows,) of all rows, N; dx may be moved (in place) by what is not a force."""


class RowSolver(Protocol):
    """What a stepper may be given as its `solver`."""

    def begin(self, world: World, state: State, controls: Mapping[Any, Any] | None) -> tuple[dict[Any, Any], Session]:
        """Checked controls of a step from `state`, and who finds its forces."""


class DirectSession:
    """The laws of the rows decide."""

    makers: Sequence[Constraint] = ()
    report: Any = None

    def observe(self, motion: Motion, systems: Sequence[System]) -> None:
        """Nothing to see."""

    def solve(
        self, motion: Motion, factors: Sequence[Factor], problem: MixedProblem, dx: list[FloatArray]
    ) -> FloatArray:
        """λ (rows,) of all rows, N."""
        assert motion.assembly is not None
        return solve(problem, warm_start(motion.start, motion.assembly.rows.key)).lam


def begin(
    solver: RowSolver | None, world: World, state: State, controls: Mapping[Any, Any] | None
) -> tuple[dict[Any, Any], Session]:
    """Checked controls and who finds the forces of a step."""
    return (world.controls(controls), DirectSession()) if solver is None else solver.begin(world, state, controls)


def warm_start(start: State, keys: IndexArray) -> FloatArray | None:
    """λ of the last step for the rows that were there before, by their keys; 0 for new ones."""
    return None if start.keys is None or not len(start.lam) else forces_of(keys, start.keys, start.lam)
