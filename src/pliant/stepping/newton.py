"""Newton's iteration over the stages of a step: how a correction is applied, and when the iteration ends."""

from __future__ import annotations

from math import isfinite

import numpy as np

from pliant.constraints import RowLaw
from pliant.core.checks import all_finite
from pliant.core.errors import ConvergenceError
from pliant.core.immutable import evolve
from pliant.core.types import FloatArray
from pliant.materials import Tangent
from pliant.stepping.bodies import Forces, StepBodies, largest, relative_motions
from pliant.stepping.stages import Correction, KeptContacts, Step

MAXIMUM_ITERATIONS = 50
SETTLED = 1e-3
"""Fraction of a step below which a last correction leaves contacts of rods and beams where they are; friction that
spins a thin rod about itself is no better known.
"""

KEPT_AFTER = 10
"""Linear solves after which contacts are no longer found anew. Newton's iteration takes 3 to 8 where it converges;
longer, it goes to and fro between contacts of which each leads to the other.
"""

NEGLIGIBLE = 1e-3
"""Correction over the size of a body, divided by √tolerance, that does not turn a row: pieces of cables and facets are
a hundredth of the size or longer, and forces change with the square of their turn.
"""

FRICTION_NOISE = 1e-8
"""Relative residual to which the frictional solver knows contact forces (`solvers.contact.solve`): they differ by about
as much from one linear solve to the next.
"""


class NewtonIteration:
    """Linear solves of one dynamic step: `count` of them, or as many as `tolerance` needs.

    A fixed count takes full corrections with the cheapest tangent that is consistent to first order. To a tolerance the
    tangent is exact and corrections go through a line search. With `limit` the iteration ends after so many of them,
    short of its tolerance. `residual` is the relative one after the last correction of an iteration to a tolerance.
    """

    def __init__(self, count: int, tolerance: float | None, *, limit: int | None = None) -> None:
        self._count, self._tolerance, self._limit = count, tolerance, limit
        self._convergence = None if tolerance is None else Convergence(tolerance)
        self.tangent = Tangent.WARPED if tolerance is None else Tangent.EXACT
        self.done, self.residual, self._pushing = False, np.inf, 0

    def apply(self, correction: Correction) -> Step:
        """The step after `correction`; sets `done` where it was the last."""
        if not isfinite(correction.step.linear_residual):  # nor is it where a displacement is not
            check_finite(correction)
        if self._convergence is None:
            step = in_full(correction)
            self.done = step.iterations == self._count
            return step
        with correction.step.timers.stage("line search"):
            step, forces = apply_with_line_search(correction, invertible=False)
        residual = self.residual = relative_residual(step.bodies, forces)
        self.done = self._convergence.reached(residual, forces.scale, correction, step) and not step.bodies.must_move()
        self.done = self.done or step.iterations == self._limit
        if not self.done and step.iterations == MAXIMUM_ITERATIONS:
            raise ConvergenceError(
                f"Newton's iteration reached {residual:.2e} in {MAXIMUM_ITERATIONS} iterations, the tolerance is "
                f"{self._tolerance:.2e}; take a smaller dt, or loosen the tolerance",
                result=step.bodies.advanced(step.assembly, np.zeros(0)),
            )
        return step if self.done else self._keeping_contacts(step, correction)

    def _keeping_contacts(self, step: Step, correction: Correction) -> Step:
        """The step, with the contacts of `correction` from now on where the iteration takes too long: of those that it
        changes between, the set of which more push.
        """
        assembly, before = correction.step.assembly, self._pushing
        if assembly is None or step.kept is not None or not any(each.is_contact for each in step.constraints):
            return step
        self._pushing = int((correction.step.lam > 0.0).sum())
        if step.iterations < KEPT_AFTER or self._pushing < before:
            return step
        return evolve(step, kept=KeptContacts(assembly, correction.step.bodies.dx))


class Convergence:
    """When Newton's iteration may stop: at the tolerance, or at the noise of the forces.

    Round-off is reached where the residual no longer decreases although it is smaller than the force that a change of
    the positions by their last bit causes: a body that hardly moves, far from the origin, never gets below. With
    friction the tolerance of the solver of contact forces is such a limit too.

    The residual holds the forces of cables, chambers and joints along their directions before the last correction, and
    knows nothing of their δ. Both are off by the square of the correction, which therefore has to be below √tolerance
    of the motion: a body of linear material balances after one solve, wherever that left the cable. With `at_rest` a
    correction below `NEGLIGIBLE` √tolerance of the size of the body is small enough too: a body that starts in its
    equilibrium moves by the noise of its contact forces alone, and no correction is small beside that.
    """

    def __init__(self, tolerance: float, *, at_rest: bool = False) -> None:
        self._tolerance = tolerance
        self._negligible = NEGLIGIBLE * np.sqrt(tolerance) if at_rest else 0.0
        self._previous = np.inf

    def reached(self, residual: float, scale: float, correction: Correction, step: Step) -> bool:
        """Whether the relative `residual`, of forces of norm `scale` (N) in the `step` after `correction`, ends the
        iteration.
        """
        floor = max(correction.round_off, FRICTION_NOISE * scale if _has_friction(step) else 0.0)
        stalled = residual > 0.5 * self._previous and residual * scale <= floor
        self._previous = residual
        return (residual <= self._tolerance or stalled) and self._rows_are_settled(correction, step)

    def _rows_are_settled(self, correction: Correction, step: Step) -> bool:
        """Whether the last correction was too small to bend the directions of cables, chambers, joints, attachments and
        slender contacts.
        """
        world = step.world
        fine, coarse = np.sqrt(self._tolerance), max(np.sqrt(self._tolerance), SETTLED)
        touching = (index for each in world.constraints if each.is_contact for index in each.direction_models)
        limits = dict.fromkeys(touching, coarse)
        joined = (index for each in world.constraints if not each.is_contact for index in each.direction_models)
        limits |= dict.fromkeys(joined, fine)
        stiffened = (index for constraint in world.stiff_constraints for index in constraint.stiff_models)
        limits |= dict.fromkeys(stiffened, fine)
        turned = []
        for index, fraction in limits.items():
            trial = step.bodies.trials[index]
            last = float(np.abs(correction.dx[index]).max())
            least = 1e-10 * float(np.abs(trial.evaluation_point()).max())
            if last > max(fraction * float(np.abs(trial.dx).max()), least):
                turned.append(index)
        if not turned or not self._negligible:
            return not turned
        motions = relative_motions(correction.step.bodies, step.bodies)
        return largest([motions[index] for index in turned]) <= self._negligible


def _has_friction(step: Step) -> bool:
    """Whether contact forces come from the frictional solver."""
    return step.assembly is not None and bool((step.assembly.rows.law == RowLaw.COULOMB).any())


def in_full(correction: Correction) -> Step:
    """dx += correction."""
    step = correction.step
    return evolve(step, bodies=step.bodies.moved(correction.dx))


def inverts(bodies: StepBodies) -> bool:
    """Whether a body has inverted elements that had none at the start of the step."""
    for trial, start in zip(bodies.trials, bodies.start.q):
        if trial.is_inverted() and not trial.model.is_inverted(start):
            return True
    return False


def flips(before: StepBodies, after: StepBodies) -> bool:
    """Whether an element with a barrier is flattened on the way: it would come out turned through itself."""
    pairs = zip(before.trials, after.trials, strict=True)
    return any(one.model.flips(one.positions(), other.positions()) for one, other in pairs)


def apply_with_line_search(correction: Correction, *, invertible: bool = True) -> tuple[Step, Forces]:
    """dx += s × correction with s ≤ 1 such that the correction does not overshoot, nor leave what the materials allow.

    g(s) = correction · r(dx + s correction) is the slope of the potential along the correction, up to sign; a full
    step is kept while |g(1)| stays below g(0), otherwise s follows from the secant of g (Crisfield, Non-linear Finite
    Element Analysis of Solids and Structures, 9.2).
    Where supports still have to move, their work enters the potential and the slope says nothing: the step is full.
    A slope that stays as it is, as uphill beyond the limit of a law, has no secant; the correction is shortened anyway.
    Where not `invertible` no element inverts, whether or not its law has a barrier at det F = 0.
    """
    step, dx = correction.step, correction.dx
    base = step.bodies
    supports_move = base.must_move()
    start_slope = slope(base, base.with_reactions(correction.forces), dx)
    s = 1.0
    for _ in range(40):
        bodies = base.moved(dx, s)
        if not invertible and inverts(bodies):  # a pass over det F costs a twentieth of one over the forces
            s *= 0.5
            continue
        forces = bodies.forces()
        if not forces.finite or flips(base, bodies):
            s *= 0.5
            continue
        there = slope(bodies, forces, dx)
        if supports_move or there >= -0.9 * abs(start_slope) or s < 1e-3:  # no overshoot, or too short to matter
            break
        decrease = start_slope - there
        s *= min(max(start_slope / decrease, 0.1), 0.6) if decrease else 0.6
    else:
        forces = bodies.forces()
    return evolve(step, bodies=bodies), forces


def relative_residual(bodies: StepBodies, forces: Forces) -> float:
    """‖r‖ over the free DoFs, divided by the largest force norm in it; 0 where no force acts."""
    if not forces.finite:
        return float("inf")
    squares = 0.0
    for model, r in zip(bodies.world.models, forces.r, strict=True):
        free = np.where(model.constrained, 0.0, r)
        squares += float(np.vdot(free, free))
    return float(np.sqrt(squares)) / forces.scale if forces.scale else 0.0


def check_finite(correction: Correction) -> None:
    """Raise where a displacement is not finite, naming the body and the node."""
    for model, x in zip(correction.step.world.models, correction.dx, strict=True):
        if not all_finite(x):
            node = int(np.argwhere(~np.isfinite(x))[0, 0])
            raise ConvergenceError(
                f"the step of {model.name!r} is not finite at node {node} (at {model.initial()[0][node]} m at rest): "
                "an element there is inverted or the loads are too large; take a smaller dt or smaller loads"
            )


def slope(bodies: StepBodies, forces: Forces, direction: tuple[FloatArray, ...]) -> float:
    """Work of `forces` per unit of the motion along `direction` of each body, J; constrained DoFs do not count."""
    triples = zip(bodies.world.models, forces.r, direction, strict=True)
    return sum(float(np.vdot(np.where(model.constrained, 0.0, r), d)) for model, r, d in triples)
