"""The stages of a step, in the order in which every stepper calls them. Each takes frozen values and returns another.

contacts = detect(step)                          collision detection at the present positions
rows     = assemble(step, contacts)              gaps δ, gradients H and laws of all constraints
systems  = linearize(step, tangent)              A dx = r of each body, A = M/h² + D/h + K
factors  = factorize(step, systems)              A = L Lᵀ; the symbolic part was done once
free     = solve(step, factors)                  A dx_free = r, the motion without constraint forces
problem  = condense(step, rows, factors, free)   δ = δ_free + W λ,  W = H A⁻¹ Hᵀ
correct(step, rows, factors, free, problem)      λ from the laws, dx = dx_free + A⁻¹ Hᵀ λ
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from operator import methodcaller
from time import perf_counter
from typing import Any, NamedTuple, Protocol

import numpy as np

from pliant.actuators.limits import refuse_rates
from pliant.constraints import Assembly, Condensation, Constraint, Rows, RowView, gathered
from pliant.constraints import assemble as assemble_rows
from pliant.constraints import condense as condense_rows
from pliant.constraints import detect as detect_contacts
from pliant.core.checks import all_finite
from pliant.core.errors import ConvergenceError, SingularError
from pliant.core.immutable import evolve, filled
from pliant.core.interrupts import answer_interrupts
from pliant.core.status import Status
from pliant.core.threads import divided
from pliant.core.timers import StageTimers
from pliant.core.types import FloatArray
from pliant.materials import Tangent
from pliant.models.free_modes import FreeModes
from pliant.models.model import Factor, System
from pliant.models.scheme import Scheme
from pliant.models.workspace import Workspace
from pliant.solvers.contact import ConflictingRowsError
from pliant.solvers.linear.response import Motion, Solved, linear_residual
from pliant.stepping.bodies import Forces, Reactions, StepBodies
from pliant.stepping.session import Condensed, RowSolver, Session, Solution, begin_session
from pliant.world import State, World
from pliant.world.belonging import check_belongs

_SHARED = 1e8
"""Operations of the factors of some bodies from which on a second thread takes them: some 5 ms of one core."""


class KeptContacts(NamedTuple):
    """Contacts that an iteration goes on with: the rows of `assembly`, found at the displacements `dx` of the bodies.

    Their planes stay as they are, and gaps change linearly with the motion from there.
    """

    assembly: Assembly
    dx: Sequence[FloatArray]

    def rows(self, index: int, dx: Sequence[FloatArray]) -> Rows:
        """The rows of the constraint `index` at the displacements dx."""
        own = self.assembly.rows.part(self.assembly.slices[index])
        gap = own.gap.copy()
        for H, now, then in zip(own.H, dx, self.dx, strict=True):
            gap += H @ (now - then).ravel()
        return evolve(own, gap=gap)


@dataclass(frozen=True, eq=False)
class Step:
    """A step in progress.

    `bodies` are where the last linear solve left them. `assembly` holds its rows and `lam` (rows,) their forces, N;
    `dx` is its displacement of each body and `report` what the solver said about it. `iterations` counts linear
    solves, `projected` those whose tangent had to be projected; `linear_residual` is ‖A dx − r‖/‖r‖ of the last,
    `constraint_residual` how far its λ are from their laws and `constraint_status` how the search for them ended.
    `free_modes` are rigid motions that a quasi-static solve leaves open. `began` is the state before the first part of
    a step in two parts, `kept` contacts that are no longer found anew, `parts` those of the step, and `repeated` tells
    whether a first attempt was discarded. `fraction` is that of its motion to which it was cut, 1 as a rule. `gains`
    tells whether a step to a tolerance added energy although it was divided.
    """

    bodies: StepBodies
    session: Session
    timers: StageTimers
    assembly: Assembly | None = None
    lam: FloatArray = field(default_factory=lambda: np.zeros(0))
    dx: tuple[FloatArray, ...] = ()
    report: Any = None
    iterations: int = 0
    projected: int = 0
    linear_residual: float = 0.0
    constraint_status: Status = Status.CONVERGED
    constraint_residual: float = 0.0
    free_modes: tuple[FreeModes | None, ...] = ()
    began: State | None = None
    kept: KeptContacts | None = None
    parts: int = 1
    repeated: bool = False
    fraction: float = 1.0
    gains: bool = False

    @property
    def start(self) -> State:
        """The state from which the whole step goes."""
        return self.bodies.start if self.began is None else self.began

    @property
    def world(self) -> World:
        """The world that is stepped."""
        return self.bodies.world

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """Constraints of the world, then those of the session."""
        own = self.session.constraints
        return (*self.world.constraints, *own) if own else self.world.constraints

    def balanced(self, forces: Forces) -> Forces:
        """`forces` less those that only accelerate free bodies."""
        if all(modes is None for modes in self.free_modes):
            return forces
        pairs = zip(forces.r, self.free_modes, strict=True)
        return forces._replace(r=tuple(r if modes is None else modes.balanced(r) for r, modes in pairs))

    def advanced(self) -> State:
        """The state where the bodies are now."""
        return self.bodies.advanced(self.assembly, self.lam)


class Regularization(Protocol):
    """What a quasi-static solve adds to a linear solve where bodies can move freely."""

    def regularize(self, step: Step, systems: Sequence[System]) -> None:
        """Change the systems before they are factorized."""

    def constrain(self, factors: Sequence[Factor], free: list[Motion]) -> None:
        """Remove the free rigid motion of bodies (in place)."""


class Detection(NamedTuple):
    """What each of the `constraints` sees of the step, and what it found: contacts of colliding pairs, or None."""

    constraints: tuple[Constraint, ...]
    views: Sequence[RowView]
    found: tuple[Any, ...]


class Linearization(NamedTuple):
    """The systems of one linear solve, the `forces` in them without those of constraints, and how they were made.

    `round_off` (N) is the force that a change of all positions by their last bit causes, ε ‖A_ii x_i‖/θ.
    """

    systems: tuple[System, ...]
    forces: Forces
    tangent: Tangent
    round_off: float
    regularization: Regularization | None


class Factorization(NamedTuple):
    """The factors of a linearization, and what the session observed of its matrices."""

    linearization: Linearization
    factors: tuple[Factor, ...]
    observed: Any
    projected: bool


_NO_FORCES: FloatArray = np.zeros(0)
FreeMotion = Sequence[Motion]
"""dx_free of every body, the displacement without constraint forces."""


class Correction(NamedTuple):
    """One linear solve: `step` has its forces and the bodies before it; `forces` are without constraints."""

    step: Step
    forces: Forces
    round_off: float

    @property
    def dx(self) -> tuple[FloatArray, ...]:
        """The displacement of each body that the solve asks for, of the shape of its dx, m (and rad)."""
        return self.step.dx


def begin(
    world: World, state: State, controls: Mapping[Any, Any] | None, *, scheme: Scheme, solver: RowSolver | None,
    workspace: Workspace,
) -> Step:  # fmt: skip
    """A step from `state` under `controls`, checked."""
    check_belongs(state, world)
    values, session = begin_session(solver, world, state, controls, workspace)
    if not scheme.interval:
        refuse_rates([*values, *getattr(solver, "actuators", ())])
    bodies = StepBodies.begin(world, state, scheme, values, workspace)
    return filled(Step, {"bodies": bodies, "session": session, "timers": StageTimers(), "lam": _NO_FORCES})


def detect(step: Step) -> Detection | None:
    """What every constraint finds at the present positions; None where the world has none."""
    constraints = step.constraints
    if not constraints:
        return None
    began = perf_counter()
    views = step.bodies.views(len(step.session.constraints))
    found = detect_contacts(constraints, views) if step.kept is None else (None,) * len(constraints)
    step.timers.since("detect", began)
    return Detection(constraints, views, found)


def assemble(step: Step, contacts: Detection | None) -> Assembly | None:
    """The rows of all constraints; None where the world has none."""
    if contacts is None:
        return None
    began = perf_counter()
    kept, bundles = step.kept, step.world.bundles
    made = assemble_rows(*contacts, bundles) if kept is None else _with_kept(step, kept, contacts)
    step.timers.since("rows", began)
    return made


def linearize(
    step: Step, tangent: Tangent, regularization: Regularization | None = None, *, stiffened: bool = True
) -> Linearization:
    """A and r of every body, with the geometric stiffness of constraints at their last forces. Without it where not
    `stiffened`.
    """
    answer_interrupts()  # every iteration comes by here
    began = perf_counter()
    systems, forces = step.bodies.linearized(tangent, stiffened=stiffened)
    round_off = 0.0 if tangent is Tangent.WARPED else step.bodies.round_off(systems)
    if regularization is not None:
        regularization.regularize(step, systems)
    step.timers.since("linearize", began)
    return Linearization(tuple(systems), forces, tangent, round_off, regularization)


def factorize(step: Step, linearization: Linearization) -> Factorization:
    """Factors of all systems. Where A is not positive definite its tangent is projected, then freed of the geometric
    stiffness of constraints, which strong forces make negative in motions that nothing else resists; the result says
    so.
    """
    made, projected = linearization, False
    attempts = [False] if linearization.tangent is Tangent.PROJECTED else [True, False]
    while True:
        began = perf_counter()
        observed = step.session.observe(made.systems)
        try:
            factors = divided(methodcaller("factorize"), made.systems, lambda system: system.operations, least=_SHARED)
            return Factorization(made, tuple(factors), observed, projected)
        except SingularError:
            if not attempts or (attempts == [False] and not step.world.stiff_constraints):
                raise
        finally:
            step.timers.since("factorize", began)
        made = linearize(step, Tangent.PROJECTED, made.regularization, stiffened=attempts.pop(0))
        projected = True


def solve(step: Step, factorization: Factorization) -> FreeMotion:
    """The displacement of every body without constraint forces. Of a volume the forward half of the solve, L y = r,
    waits for its rows, which pass through L with it, and the backward half for their forces.
    """
    systems, factors = factorization.linearization.systems, factorization.factors
    began = perf_counter()
    free = [factor.motion(system.r) for factor, system in zip(factors, systems)]
    if factorization.linearization.regularization is not None:
        factorization.linearization.regularization.constrain(factors, free)
    for index, system in enumerate(systems):
        if system.constrained_dx is not None:
            free[index] = free[index].displaced(free[index].dx + system.constrained_dx)
    step.timers.since("solve", began)
    return free


def condense(
    step: Step, assembly: Assembly | None, factorization: Factorization, free: FreeMotion
) -> Condensation | None:
    """The problem of the constraint forces, δ = δ_free + W λ; None where there are no rows."""
    began = perf_counter()
    condensed = condense_rows(assembly.rows, free) if assembly is not None and assembly.rows.count else None
    if not all([motion.finite for motion in free]):
        raise _diverged("the motion without constraint forces")
    if condensed is None:
        return None
    if not condensed.finite:
        raise _diverged("δ of the constraints")
    step.timers.since("condense", began)
    return condensed


def correct(
    step: Step, assembly: Assembly | None, factorization: Factorization, free: FreeMotion,
    condensation: Condensation | None,
) -> Correction:  # fmt: skip
    """Constraint forces from their laws, and dx = dx_free + A⁻¹ Hᵀ λ."""
    linearization, solution = factorization.linearization, None
    lam = _NO_FORCES
    if condensation is not None and assembly is not None:
        solution = solve_constraints(
            step, Condensed(step.bodies, assembly, factorization.factors, condensation, factorization.observed)
        )
        lam = solution.lam
    began = perf_counter()
    solved = _solved(linearization.systems, free, condensation, assembly, lam)
    done = corrected(step, assembly, solution, solved, projected=factorization.projected)
    for system, factor in zip(linearization.systems, factorization.factors):
        system.release(factor)
    step.timers.since("correct", began)
    return Correction(done, linearization.forces, linearization.round_off)


def corrected(
    step: Step, assembly: Assembly | None, solution: Solution | None, solved: list[Solved], *, projected: bool = False
) -> Step:
    """The step with one linear solve more: its rows, their forces, None where there are no rows, and the motion of each
    body `solved` under them.
    """
    bodies, session, report, lam = step.bodies, step.session, step.report, _NO_FORCES
    met, rest = Status.CONVERGED, 0.0
    reactions = bodies.reactions if assembly is None else None
    if solution is not None:
        bodies, session, lam, report = solution.bodies, solution.session, solution.lam, solution.report
        met, rest = solution.status, solution.residual
        reactions = filled(Reactions, {"assembly": assembly, "lam": lam, "shapes": step.world.shapes})
        for index, motion in solution.moved:
            x, error, total = solved[index]
            solved[index] = x + motion, error if all_finite(motion) else inf, total
    found = {
        "bodies": bodies if reactions is bodies.reactions else evolve(bodies, reactions=reactions),
        "session": session,
        "assembly": assembly,
        "lam": lam,
        "dx": tuple([x for x, _, _ in solved]),
        "report": report,
        "iterations": step.iterations + 1,
        "projected": step.projected + projected,
        "linear_residual": linear_residual(solved),
        "constraint_status": met,
        "constraint_residual": rest,
    }
    return filled(Step, {**step.__dict__, **found})


def _with_kept(step: Step, kept: KeptContacts, contacts: Detection) -> Assembly:
    """The rows of all constraints, those of contacts as they were kept."""
    dx, made = step.bodies.dx, []
    for index, (constraint, view) in enumerate(zip(contacts.constraints, contacts.views, strict=True)):
        if constraint.is_contact:
            made.append((kept.rows(index, dx), kept.assembly.memories[index]))
        else:
            made.append(constraint.rows_at(view))
    return gathered(made)


def solve_constraints(step: Step, condensed: Condensed) -> Solution:
    """The forces of the rows, from their laws or from a solver."""
    began = perf_counter()
    try:
        found = step.session.solve(condensed)
    except ConflictingRowsError as error:
        raise _named_conflict(step, condensed.assembly, error) from error
    step.timers.since("constraints", began)
    return found


def _named_conflict(step: Step, assembly: Assembly, error: ConflictingRowsError) -> ConflictingRowsError:
    """The error with the names of the conflicting constraints in front, and a word on reduced bodies."""
    pairs = zip(step.constraints, assembly.slices, strict=True)
    names = [repr(each.name) for each, place in pairs if any(place.start <= row < place.stop for row in error.rows)]
    text = f"{', '.join(names)} cannot be satisfied together: {error}"
    if step.world.reductions:
        text += "; bodies of this world are reduced, and with more modes they may be able to give way"
    return ConflictingRowsError(text, rows=error.rows)


def _diverged(what: str) -> ConvergenceError:
    return ConvergenceError(
        f"{what} is not finite: earlier steps left elements inverted or loads too large; take a smaller dt, smaller "
        "changes of the commands, or a tolerance"
    )


def _solved(
    systems: Sequence[System], free: FreeMotion, condensation: Condensation | None, assembly: Assembly | None,
    lam: FloatArray,
) -> list[Solved]:  # fmt: skip
    """dx of every body under the forces λ of its rows, with the squares of its `linear_residual`."""
    if condensation is None or assembly is None:
        return [motion.checked(system, motion.dx, None, lam) for motion, system in zip(free, systems)]
    parts = zip(free, systems, condensation.motions, assembly.rows.H)
    return [
        motion.checked(system, motion.dx, H, lam) if rows is None else rows.solved(system, H, lam)
        for motion, system, rows, H in parts
    ]
