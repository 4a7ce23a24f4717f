"""Linear solves of one small body under few rows, with the stages from `linearize` to `correct` joined.

The numbers are those of the stages one by one, to the last bit (`models.volume.joined`).
"""

from __future__ import annotations

from time import perf_counter

from pliant.constraints import Assembly
from pliant.constraints import condense as condense_rows
from pliant.core.interrupts import answer_interrupts
from pliant.materials import Tangent
from pliant.solvers.linear.half_solves import MOST_ROWS
from pliant.stepping.bodies import Forces
from pliant.stepping.session import Condensed
from pliant.stepping.stages import Correction, Step, corrected, solve_constraints

_UNUSED = Forces((), 0.0)
"""Forces of a solve that no iteration to a tolerance asks for."""


def stages_joined(step: Step, assembly: Assembly | None, tangent: Tangent) -> Correction | None:
    """One linear solve of a world of one body with the rows of `assembly`; None where its stages are gone through one
    by one: there are many rows or none, the body offers no such solve from where it is, or something fails on the way,
    which the stages then find as well and answer.
    """
    bodies, session = step.bodies, step.session
    if assembly is None or tangent is not Tangent.WARPED or len(bodies.trials) > 1 or session.moves_supports:
        return None
    rows = assembly.rows
    if not 0 < len(rows.gap) <= MOST_ROWS or not len(rows.H[0].data) or bodies.fictitious is not None:
        return None
    answer_interrupts()
    timers, began = step.timers, perf_counter()
    trial = bodies.trials[0]
    solve = trial.joined_solve()
    if solve is None:
        return None
    try:
        bodies.add_geometric_stiffness((solve,), exact=False)
        began = timers.since("linearize", began)
        factorized = solve.factorize()
        began = timers.since("factorize", began)
        if not factorized:
            return None
        began = timers.since("solve", began)  # r passes through the factor with the rows
        condensation = condense_rows(rows, (solve,))
        if not (solve.finite and condensation.finite):
            return None
        timers.since("condense", began)
        solution = solve_constraints(step, Condensed(bodies, assembly, (), condensation, ()))
        began = perf_counter()
        done = corrected(step, assembly, solution, [solve.solved(solution.lam)])
    finally:
        solve.release(trial.workspace, trial.model)
    timers.since("correct", began)
    return Correction(done, _UNUSED, 0.0)
