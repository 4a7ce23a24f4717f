"""Who finds the constraint forces of a step: the laws of the rows, or what a stepper is given as its `solver`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from pliant.constraints import Assembly, Condensation, Constraint, Island, forces_of
from pliant.core.errors import ConvergenceError, InputError, PliantWarning
from pliant.core.status import Status
from pliant.core.types import FloatArray, IndexArray
from pliant.models.model import Factor, System
from pliant.models.workspace import Workspace
from pliant.solvers.contact import ComplementarityResult, ConflictingRowsError, MixedProblem, solve
from pliant.solvers.contact.direct import solve_and_judge
from pliant.stepping.bodies import StepBodies
from pliant.stepping.opposed import miss, opposed_drives, with_bounded_drives
from pliant.world import State, World

USABLE = 1e-2
"""Residual of the laws, relative to the gaps without forces, up to which a step goes on from the best λ found."""
NOTICEABLE = 1e-6
"""Residual from which on that is worth a warning: nanometres for a gap of a millimetre."""
FINE = 1e-12
"""Residual of the laws to which forces near an equilibrium are found. At the usual one of 1e-8, relative to the gaps
without forces, those of bodies that contacts alone hold differ by more from solve to solve than equilibria allow.
"""
_NOT_CONVERGED = (
    "constraint forces of a step did not reach the tolerance of their laws within the budget of the solver; the best "
    "ones are used: read info.constraint_residual, and take smaller steps or fewer redundant contacts where it matters"
)
_OPPOSED = (
    "{names} cannot follow the command: contacts or other drives nearly cancel the force. A bounded one is used, which "
    "does not reach the command (read info.actuation); give the actuator a max_force, or command less"
)


class Condensed(NamedTuple):
    """One linear solve, ready for its constraint forces: the rows of `assembly`, the `factors` of A, the `condensation`
    to δ = δ_free + W λ. `observed` is what the session saw of A.
    """

    bodies: StepBodies
    assembly: Assembly
    factors: Sequence[Factor]
    condensation: Condensation
    observed: Any = None

    @property
    def problem(self) -> MixedProblem:
        """All rows in one problem."""
        return self.condensation.problem


class Solution(NamedTuple):
    """Constraint forces λ (rows,), N. `bodies` and `session` are those given, or as an inverse changed them by moving
    supports; `report` is what the session has to say about the step. `status` says how the search for λ ended and
    `residual` how far λ is from the laws of the rows, relative to the gaps without forces. `moved` are indices of
    bodies and the motion, of the shape of dx, that moved supports add to theirs.
    """

    lam: FloatArray
    bodies: StepBodies
    session: Session
    report: Any = None
    status: Status = Status.CONVERGED
    residual: float = 0.0
    moved: Sequence[tuple[int, FloatArray]] = ()


class Session(Protocol):
    """What finds the constraint forces during one step."""

    @property
    def constraints(self) -> Sequence[Constraint]:
        """Constraints beside those of the world."""

    @property
    def moves_supports(self) -> bool:
        """Whether `solve` may move supports, for which it observes the systems."""

    def of_first_part(self, fraction: float) -> Session:
        """That of the first `fraction` of the step."""

    def observe(self, systems: Sequence[System]) -> Any:
        """What `solve` needs of the systems of a linear solve; their matrices are overwritten by the factorization."""

    def solve(self, condensed: Condensed) -> Solution:
        """The constraint forces of a linear solve."""


class RowSolver(Protocol):
    """What a stepper may be given as its `solver`."""

    def begin(
        self, world: World, state: State, controls: Mapping[Any, Any] | None, workspace: Workspace
    ) -> tuple[dict[Any, Any], Session]:
        """Checked controls of a step from `state`, and who finds its forces."""


@dataclass(frozen=True, eq=False)
class DirectSession:
    """The laws of the rows decide; `constraints` are rows beside those of the world.

    With `follow` the solver starts from λ of the last linear solve of the step, otherwise from that of the last step.
    `fine` forces are for an iteration near its end: they are found to `FINE`.
    """

    constraints: Sequence[Constraint] = ()
    follow: bool = False
    fine: bool = False
    moves_supports: ClassVar[bool] = False

    def of_first_part(self, fraction: float) -> DirectSession:
        """The same: commands are those of the step's part."""
        return self

    def observe(self, systems: Sequence[System]) -> Any:
        """Nothing is needed."""

    def solve(self, condensed: Condensed) -> Solution:
        """λ of all rows, warm-started from the last step, or from the last linear solve."""
        bodies, islands = condensed.bodies, condensed.condensation.islands
        if len(islands) == 1:
            found = self._closed_form(condensed, islands[0])
            found = self._found(condensed, islands[0], self._warm(condensed)) if found is None else found
            return Solution(found.lam, bodies, self, status=found.status, residual=found.residual)
        warm, lam = self._warm(condensed), np.empty(condensed.assembly.rows.count)
        status, residual = Status.CONVERGED, 0.0
        for island in islands:
            found = self._closed_form(condensed, island)
            if found is None:
                found = self._found(condensed, island, None if warm is None else warm[island.rows])
            lam[island.rows] = found.lam
            residual = max(residual, found.residual)
            status = status if found.status.ok else found.status
        return Solution(lam, bodies, self, status=status, residual=residual)

    def _warm(self, condensed: Condensed) -> FloatArray | None:
        """Forces of these rows, if known, to start from."""
        bodies, keys = condensed.bodies, condensed.assembly.rows.key
        if self.follow and bodies.reactions is not None:
            return forces_of(keys, *bodies.last_forces)
        return warm_start(bodies.start, keys)

    def _closed_form(self, condensed: Condensed, island: Island) -> ComplementarityResult | None:
        """λ of an island of few rows, None where it has to be searched for. A drive whose force only closes its gap is
        not opposed.
        """
        found = solve_and_judge(island.problem)
        if found is None:
            return None
        known, closes = found
        if not closes and condensed.bodies.scheme.dt and len(opposed_drives(island.problem, known.lam)):
            return None
        return known

    def _found(self, condensed: Condensed, island: Island, warm: FloatArray | None) -> ComplementarityResult:
        """λ of the rows of an island, searched for from `warm`."""
        problem = island.problem
        failure: ConvergenceError | None = None
        try:
            found = solve_in_budget(problem, warm, follow=self.follow, fine=self.fine)
        except ConflictingRowsError as error:
            raise ConflictingRowsError(str(error), rows=tuple(island.rows[list(error.rows)])) from error
        except ConvergenceError as error:
            if error.result is None:
                raise
            found, failure = error.result, error
        if condensed.bodies.scheme.dt and len(rows := opposed_drives(problem, found.lam)):
            return self._with_bounded_drives(condensed, island, found, rows)
        if failure is not None:
            raise failure
        return found

    def _with_bounded_drives(
        self, condensed: Condensed, island: Island, found: ComplementarityResult, rows: IndexArray
    ) -> ComplementarityResult:
        """λ with bounds on the drives `rows` of an island, which contradict other constraints, with a warning that
        names them.
        """
        places = zip(
            (*condensed.bodies.start.world.constraints, *self.constraints), condensed.assembly.slices, strict=True
        )
        among = island.rows[rows]
        names = [repr(each.name) for each, place in places if ((among >= place.start) & (among < place.stop)).any()]
        bounded = solve_in_budget(with_bounded_drives(island.problem, rows), found.lam)
        warnings.warn(_OPPOSED.format(names=", ".join(names)), PliantWarning, stacklevel=2)
        missed = miss(island.problem, bounded.delta, rows)
        return replace(bounded, status=Status.STALLED, residual=max(bounded.residual, missed))


BY_LAWS = DirectSession()
"""The session of most steps: rows of the world alone, warm-started from the last step."""


def solve_in_budget(
    problem: MixedProblem, warm: FloatArray | None, *, follow: bool = False, fine: bool = False
) -> ComplementarityResult:
    """λ of a problem of one step; the best iterate with a warning where the budget of operations ends before it. With
    `follow` an iteration to a tolerance goes on from the forces: it has a larger budget, and judges the last ones,
    which have to be `fine`.
    """
    try:
        found = solve(problem, warm, quick=not follow)
    except ConvergenceError as error:
        if error.result is None or not error.result.residual <= USABLE:
            raise
        best: ComplementarityResult = error.result
        if best.residual > NOTICEABLE and not follow:
            warnings.warn(_NOT_CONVERGED, PliantWarning, stacklevel=3)
        return best
    return _refined(problem, found) if fine and found.residual > FINE else found


def _refined(problem: MixedProblem, found: ComplementarityResult) -> ComplementarityResult:
    """Forces to `FINE` from those `found` to the usual tolerance, as near as a small budget brings them."""
    try:
        return solve(problem, found.lam, tolerance=FINE, quick=True)
    except ConvergenceError as error:
        better: ComplementarityResult | None = error.result
        nearer = better is not None and better.residual < found.residual
        return replace(better, status=found.status) if better is not None and nearer else found


def begin_session(
    solver: RowSolver | None, world: World, state: State, controls: Mapping[Any, Any] | None, workspace: Workspace
) -> tuple[dict[Any, Any], Session]:
    """Checked controls and who finds the forces of a step."""
    if solver is None:
        return world.controls(controls), BY_LAWS
    if isinstance(solver, type) or not hasattr(solver, "begin"):
        raise InputError(f"solver of a stepper must be None or a pl.Inverse, got {solver!r:.60}")
    return solver.begin(world, state, controls, workspace)


def warm_start(start: State, keys: IndexArray) -> FloatArray | None:
    """λ of the last step for the rows that were there before, by their keys; 0 for new ones."""
    return None if start.keys is None or not len(start.lam) else forces_of(keys, start.keys, start.lam)
