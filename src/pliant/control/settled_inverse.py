"""The inverse in static equilibrium: a damped Newton iteration over the actuation.

One linear solve of an inverse gives the actuation that brings the effectors to their targets in the linear model. Each
round takes a part of the way there, holds the displacements of the actuators, and solves for the equilibrium. The
length of the way follows from the secant of the errors. Every iterate is thus a converged forward solve: bodies that
are stable only because their cables are held, such as an upright trunk beyond its buckling load, are treated like
others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.actuators import ActuatorRows
from pliant.actuators.joint import JointMemory
from pliant.actuators.values import Cut
from pliant.control.equilibrium import HeldActuation, commanded
from pliant.control.supports import MovedSupport
from pliant.core.errors import ConvergenceError, InputError
from pliant.core.types import FloatArray
from pliant.stepping.info import StepInfo
from pliant.world import State, World

if TYPE_CHECKING:
    from pliant.control.inverse import Inverse

ROUNDS = 40
"""Most rounds; a stable robot takes two to four, one near buckling up to twenty."""
LEAST_PART = 1.0 / 64.0
"""Smallest part of the way to the actuation of the linear model that is tried."""


def settled_inverse(
    inverse: Inverse, stepper: Any, world: World, state: State, controls: Mapping[Any, Any] | None
) -> tuple[State, StepInfo]:
    """The state in which the effectors are at their targets in equilibrium, and its report."""
    _refuse(inverse)
    assert inverse.tolerance is not None
    linear = replace(stepper, dt=None, newton_iterations=1, solver=replace(inverse, tolerance=None))
    rows = tuple(effector.bound(world) for effector in inverse.effectors)
    forward = replace(stepper, dt=None, newton_iterations=None, solver=HeldActuation(rows))
    given = dict(controls or {})
    actuators = [each for each in inverse.actuators if not isinstance(given.get(each), Cut)]
    now = replace(state, time=state.time + (stepper.dt or 0.0))  # the rounds pass no time
    part, iterations = 1.0, 0
    held = np.array([_displacement(world, state, each) for each in actuators])
    best: tuple[State, StepInfo] | None = None
    errors: FloatArray | None = None
    for _ in range(ROUNDS):
        _, promised = linear(world, now, controls)
        report = promised.inverse
        wanted = report.weighted_errors(promised)
        if errors is not None and best is not None and _within(errors, wanted, inverse.tolerance):
            break
        displacements, forces = promised.actuation(actuators)
        while True:
            trial = held + part * (displacements - held)
            values = zip(actuators, trial, forces, strict=True)
            commands = {one: commanded(one, d, f, "displacement") for one, d, f in values}
            found = _forward(forward, world, now, given | commands)
            if found is not None:
                iterations += found[1].iterations
                reached = report.weighted_errors(found[1])
                if errors is None or _norm(reached) < _norm(errors):
                    break
            part *= 0.5 if found is None or errors is None else _secant(errors, reached)
            if part < LEAST_PART:
                raise _stalled(inverse, best, errors, wanted)
        best, errors, held, now = found, reached, trial, found[0]
        part = min(1.0, 2.0 * part)
    else:
        raise _stalled(inverse, best, errors, wanted)
    settled, info = best
    made = replace(report, hold="displacement")
    return settled, replace(info, inverse=made, iterations=iterations)


def _forward(forward: Any, world: World, state: State, controls: Mapping[Any, Any]) -> tuple[State, StepInfo] | None:
    """The equilibrium under `controls`; None where none is found."""
    try:
        state, info = forward(world, state, controls)
    except ConvergenceError:
        return None
    return state, info


def _within(errors: FloatArray, wanted: FloatArray, tolerance: float) -> bool:
    """Whether the errors in equilibrium are those that the linear model promises, within the tolerance."""
    return _norm(errors) <= _norm(wanted) + tolerance


def _secant(errors: FloatArray, reached: FloatArray) -> float:
    """The fraction of the last part at which the errors, taken as linear in it, are smallest; between 0.1 and 0.7."""
    change = reached - errors
    return float(np.clip(-(errors @ change) / (change @ change), 0.1, 0.7))


def _norm(x: FloatArray) -> float:
    return float(np.linalg.norm(x))


def _stalled(
    inverse: Inverse, best: tuple[State, StepInfo] | None, errors: FloatArray | None, wanted: FloatArray
) -> ConvergenceError:
    reached = "no equilibrium was found" if errors is None else f"the errors stay at {_norm(errors):.3g}"
    return ConvergenceError(
        f"the inverse did not settle: with the displacements of the actuators held {reached}, the linear model "
        f"promises {_norm(wanted):.3g}, the tolerance is {inverse.tolerance:.3g}; approach the target in smaller steps, or "
        "loosen the tolerance (`result` is the last equilibrium)",
        result=None if best is None else best[0],
    )


def _displacement(world: World, state: State, actuator: Any) -> float:
    """δ of an actuator in `state`, m (m³, rad)."""
    index = world.constraint_index(actuator)
    memory = state.memories[index] if state.memories else None
    if isinstance(memory, JointMemory):
        return memory.angle
    rows = world.constraints[index]
    assert isinstance(rows, ActuatorRows)
    return float(rows.displacement(state.q))


def _refuse(inverse: Inverse) -> None:
    """Raise an `InputError` for what a step of many rounds cannot keep: rates, and moved supports."""
    for each in (*inverse.actuators, *inverse.effectors):
        if each.rate_limited or isinstance(each, MovedSupport):
            raise InputError(
                f"an inverse with a tolerance takes several rounds in a step: {each.name!r} may not limit a rate nor "
                "be a pl.MovedSupport; leave out the tolerance"
            )
