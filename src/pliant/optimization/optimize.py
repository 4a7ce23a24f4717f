"""`pl.optimize`: commands over time and designs by direct shooting with the adjoint.

The variables determine a run, the run its loss (single shooting; Betts, Practical Methods for Optimal Control, 2010),
and the adjoint gives its derivative by all of them at the cost of about one more run. A quasi-Newton method of
`scipy.optimize` searches (`search`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from pliant.core.checks import finite_number, positive, positive_count
from pliant.core.declared import declared
from pliant.core.errors import ConvergenceError, InputError
from pliant.core.one_line import one_line
from pliant.core.singular import named_singular
from pliant.core.types import FloatArray
from pliant.optimization.problem import Case, Problem
from pliant.optimization.result import Optimized, Outcome
from pliant.optimization.search import Search
from pliant.optimization.variables import Variable
from pliant.world import State, World
from pliant.world.state import name_of


@one_line
@dataclass(frozen=True)
class Progress:
    """What a callback is told after each evaluation: the `rollouts` so far, the `loss` at the present `point` (n,),
    as fractions of the bounds, and the lowest one, `best`.
    """

    rollouts: int
    loss: float
    best: float
    point: FloatArray


@declared
@named_singular
def optimize(
    world: World,
    stepper: Any,
    loss: Any,
    *,
    variables: Sequence[Variable] = (),
    control: Any = None,
    until: float | None = None,
    start: State | None = None,
    method: Literal["L-BFGS-B", "SLSQP", "trust-constr"] | None = None,
    target: float | None = None,
    tolerance: float = 1e-8,
    rollouts: int = 500,
    callback: Callable[[Progress], Any] | None = None,
    checkpoints: int | None = None,
) -> Optimized:
    """The values of `variables` with the lowest `loss` of the run that `stepper` makes from `start`.

    loss
        One of `pl.losses`, or a sum of them; or a list of `pl.optimization.Case`, whose weighted sum it is.
    variables
        Of `pl.variables`: commands over time and designs, which all cases share.
    control, until, start, checkpoints
        As of `pl.gradient`; controls of what is no variable. Cases have their own.
    method
        Of `scipy.optimize.minimize`; None: "L-BFGS-B", or "SLSQP" where rates of commands are limited.
    target
        A loss that is good enough: the search ends there, and a `ConvergenceError` with the `result` says so where it
        is not reached.
    tolerance
        Decrease of the loss, over its first derivative by any number times the width of its bounds, that counts as
        none: 1e-6 to 1e-12.
    rollouts
        Runs at most, those of all cases together.
    callback
        Called with a `Progress` after each evaluation; the search stops where it returns True.

    The search finds a local minimum next to the guess. Where contacts switch, the loss has a kink; a line search that
    stalls there begins again, and `status` says so where none of its restarts found a lower loss.
    """
    cases = _cases(loss, control, until, start)
    positive("tolerance of optimize()", tolerance)
    most = positive_count("rollouts of optimize()", rollouts)
    if target is not None:
        finite_number("target of optimize()", target)
    if not variables and not any(case.variables for case in cases):
        raise InputError("optimize() needs one variable at least, of pl.variables")
    problem = Problem(world, stepper, cases, tuple(variables), checkpoints)
    rates = problem.rates()
    chosen = method or ("SLSQP" if len(rates[1]) else "L-BFGS-B")
    if len(rates[1]) and chosen == "L-BFGS-B":
        raise InputError('the method "L-BFGS-B" knows no limits of rates: take "SLSQP" or "trust-constr"')

    def told(history: list[float], y: FloatArray) -> bool:
        if callback is None:
            return False
        return callback(Progress(len(history) * len(cases), history[-1], float(np.nanmin(history)), y)) is True

    first, slope = problem.value(problem.first)
    if target is None or first > target:
        _check_slope(problem, slope)
    search = Search(problem.value, rates, chosen, tolerance, max(most // len(cases), 1), target, told)
    outcome, y, lowest = search.run(problem.first, first, slope)
    found = Optimized(
        outcome, lowest, len(search.history) * len(cases), np.array(search.history), problem.values(y),
        problem.plans(y), search.failure,
    )  # fmt: skip
    if target is not None and outcome not in (Outcome.TARGET, Outcome.STOPPED):
        why = f" (the last failure: {found.failure})" if outcome is Outcome.BLOCKED else ""
        raise ConvergenceError(
            f"the loss fell to {lowest:.4g}, not to its target {target:.4g}, in {found.rollouts} rollouts: "
            f"{outcome.text}{why}; `error.result` is what was found",
            result=found,
        )
    return found


def _cases(loss: Any, control: Any, until: float | None, start: State | None) -> Sequence[Case]:
    if not isinstance(loss, (list, tuple)):
        return [Case(loss, control=control, until=until, start=start)]
    if not loss or not all(isinstance(each, Case) for each in loss):
        raise InputError("several losses are a list of pl.optimization.Case(loss, control=…), each with its own run")
    if control is not None or until is not None or start is not None:
        raise InputError("cases have their own control=, until= and start=; give none to optimize()")
    return loss


def _check_slope(problem: Problem, slope: FloatArray) -> None:
    """Refuse variables that change nothing at the guess."""
    if not np.isfinite(slope).all():
        raise InputError("the derivative of the loss is not finite at the guess: look at a Custom loss, or the guess")
    for variable in problem.idle(slope):
        thing = getattr(variable, "actuator", None) or variable
        raise InputError(
            f"the loss does not change with {name_of(thing)} at the guess (a slack cable, a motor at its bound, a body "
            "that touches nothing): give another guess=, or remove the variable"
        )
