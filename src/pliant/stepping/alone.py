"""Steps of bodies that nothing pushes, which take them in one call where their kind offers that.

A rod of eight sections has so little arithmetic that the stages around its kernels take longer than the kernels.
"""

from __future__ import annotations

from math import sqrt
from time import perf_counter

from pliant.core.immutable import evolve, filled
from pliant.core.interrupts import answer_interrupts
from pliant.stepping.session import BY_LAWS
from pliant.stepping.stages import Step

STAGE = "whole step"
"""Stage of a step in one call among `info.stage_times`."""


def taken_alone(step: Step) -> Step | None:
    """The `step` of a world without constraints at its end after one linear solve, in one call of each body; None where
    its stages are gone through one by one: a session acts, a kind of body offers no such call, or its matrix is not
    positive definite.
    """
    bodies = step.bodies
    if step.session is not BY_LAWS:
        return None
    answer_interrupts()
    began = perf_counter()
    trials, error, total = [], 0.0, 0.0
    for trial in bodies.trials:
        found = trial.whole_step()
        if found is None:
            return None
        trials.append(found[0])
        error += found[1]
        total += found[2]
    step.timers.since(STAGE, began)
    made = {
        "bodies": evolve(bodies, trials=tuple(trials)),
        "dx": tuple([trial.dx for trial in trials]),
        "iterations": step.iterations + 1,
        "linear_residual": sqrt(error / total) if total else 0.0,
    }
    return filled(Step, {**step.__dict__, **made})
