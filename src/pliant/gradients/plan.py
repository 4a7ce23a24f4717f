"""What a differentiated run is: its steps and controls, and which steps have a derivative."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.core.checks import positive
from pliant.core.errors import InputError
from pliant.core.status import Status
from pliant.gradients.parameters import Parameter
from pliant.solvers.contact import Law
from pliant.stepping import ImplicitEuler, ImplicitMidpoint, QuasiStatic, StepInfo
from pliant.world import State, World

Controls = Mapping[Any, Any]


@dataclass(frozen=True, eq=False)
class Plan:
    """How many steps there are, and the controls of each, for the function `name`."""

    count: int
    controls: Callable[[int], Controls | None]
    name: str

    @classmethod
    def of(cls, stepper: Any, control: Any, until: float | None, start: State, name: str) -> Plan:
        """From the arguments of the function `name`."""
        dt = getattr(stepper, "dt", None)
        count = 1
        if isinstance(control, Sequence) and not isinstance(control, str):
            count = len(control)
            if not count:
                raise InputError(f"control of {name}() is an empty list; give controls for one step at least")
            if until is not None:
                raise InputError(f"give {name}() either a list of controls, one for each step, or until=, not both")
        elif until is not None:
            if dt is None:
                raise InputError("a pl.QuasiStatic without dt has no time: give it dt, or a list of controls")
            count = max(1, round(positive("until − start time", until - start.time, unit="s") / dt))
        elif not isinstance(stepper, QuasiStatic):
            raise InputError(f"{name}() of a dynamic run needs until= (s), or a list of controls, one for each step")
        if callable(control):
            return cls(count, lambda k: control(start.time + (k + 1) * (dt or 0.0)), name)
        if control is None or isinstance(control, Mapping):
            return cls(count, lambda k: control, name)
        if isinstance(control, Sequence):
            return cls(count, lambda k: control[k], name)
        raise InputError(f"control of {name}() must be a dictionary, a list of them or a function, got {control!r:.60}")


def steps(
    world: World, stepper: Any, plan: Plan, state: State, indices: Iterable[int]
) -> Iterator[tuple[State, StepInfo]]:
    """The steps of a run with these `indices` from `state` on; those without a derivative are an error."""
    for k in indices:
        state, info = stepper(world, state, plan.controls(k))
        what = _without_derivative(stepper, info, forward=plan.name != "gradient")
        if what:
            raise InputError(f"step {k} of {plan.name}() {what}")
        yield state, info


def is_linear(stepper: Any) -> bool:
    """Whether each step is one linear solve."""
    return type(stepper) is ImplicitEuler and stepper.tolerance is None and stepper.newton_iterations == 1


def check_stepper(stepper: Any, *, linear: bool = False) -> None:
    """Refuse steppers without derivatives, before anything runs; steps of one linear solve where not `linear`."""
    if type(stepper) not in (ImplicitEuler, ImplicitMidpoint, QuasiStatic):  # others are made of them
        raise InputError(
            "gradients go through pl.ImplicitEuler, pl.ImplicitMidpoint and pl.QuasiStatic, not "
            f"{type(stepper).__name__}"
        )
    if stepper.solver is not None:
        raise InputError("gradients go through steps with given controls; this stepper has a solver (pl.Inverse)")
    counted = stepper.newton_iterations is not None if isinstance(stepper, QuasiStatic) else stepper.tolerance is None
    if counted and not (linear and is_linear(stepper)):
        name = type(stepper).__name__
        remedy = "newton_iterations=None" if isinstance(stepper, QuasiStatic) else "tolerance=1e-10"
        raise InputError(
            f"this pl.{name} takes a fixed number of linear solves, whose result is no solution of the equations that "
            f"the adjoint differentiates: give it {remedy}"
        )


def check_parameters(parameters: Any, name: str) -> None:
    """Refuse what is no parameter."""
    if not len(parameters):
        raise InputError(f"{name}() needs one parameter at least, of pl.parameters")
    for each in parameters:
        if not isinstance(each, Parameter):
            raise InputError(f"parameters must be of pl.parameters, got {each!r:.60}")


def _without_derivative(stepper: Any, info: StepInfo, *, forward: bool) -> str:
    """What makes a step no solution of the equations of one step, "" where it is one."""
    step = info.step
    if info.status is Status.FREE_MOTION:
        return "left a rigid motion open, which nothing resists"
    if step.parts > 1 and not isinstance(stepper, QuasiStatic):
        return f"was divided into {step.parts} parts because its iteration failed or it added energy; take a smaller dt"
    if is_linear(stepper) and (step.repeated or step.session.constraints):
        return "was repeated because elements inverted or its solve failed; take a smaller dt"
    if is_linear(stepper) and step.projected:
        return "had a matrix that is not positive definite, and was projected; give the stepper a tolerance, 1e-10"
    if step.fraction < 1.0:
        return "was cut because bodies would have crossed or inverted; take a smaller dt"
    rows = info.assembly is not None and bool(info.assembly.rows.count)
    if isinstance(stepper, ImplicitMidpoint) and rows and forward:
        return (
            "had rows (cables, contacts …), with which a pl.ImplicitMidpoint projects its velocities; sensitivities "
            "know it without rows: use pl.gradient, or pl.ImplicitEuler"
        )
    if isinstance(stepper, QuasiStatic) and info.load_steps > 1 and _slid(info):
        return "found its equilibrium in several load increments with friction, whose slip depends on them"
    if any(getattr(getattr(each, "spec", None), "rate_limited", False) for each in info.world.constraints):
        return "had an actuator with a limit of its rate; remove it"
    return ""


def _slid(info: StepInfo) -> bool:
    return info.assembly is not None and bool(
        (np.isin(info.assembly.rows.law, (int(Law.COULOMB), int(Law.CAPSTAN))) & (np.asarray(info.lam) != 0.0)).any()
    )
