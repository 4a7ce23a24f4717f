"""`pl.gradient`: the derivatives of a scalar of a run or an equilibrium, by the adjoint of its steps.

The run goes forward once. From its states some are kept as checkpoints; backward, each stretch between two of them is
run again, its steps are linearised in turn from the last to the first, and the derivative by the state moves backward:

    J = Σ ℓ(state, info),       q̄, v̄ ← ∂ℓ/∂(q, v) + adjoint of the step to the next state (`gradients.adjoint`)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, sqrt
from typing import Any

import numpy as np

from pliant.core.checks import positive, positive_count
from pliant.core.declared import declared
from pliant.core.errors import InputError
from pliant.core.one_line import one_line
from pliant.core.status import Status
from pliant.core.types import FloatArray
from pliant.gradients.adjoint import StepAdjoint
from pliant.gradients.losses import NOTHING, Custom, Instant, Loss, Slope
from pliant.gradients.parameters import Gathered, Parameter
from pliant.solvers.contact import Law
from pliant.stepping import ImplicitEuler, ImplicitMidpoint, QuasiStatic, StepInfo
from pliant.world import State, World
from pliant.world.belonging import check_belongs

Controls = Mapping[Any, Any]


@one_line
@dataclass(frozen=True, eq=False)
class Gradient:
    """The `value` of a loss and its derivatives: ``gradient[parameter]``, an array of the shape of the parameter.

    `final` is the last state, `steps` how many there were, and `kept` how many states were kept at once at most.
    """

    value: float
    parameters: tuple[Parameter, ...]
    derivatives: tuple[FloatArray, ...]
    final: State
    steps: int
    kept: int

    def __getitem__(self, parameter: Parameter) -> FloatArray:
        """The derivative by a parameter."""
        for own, derivative in zip(self.parameters, self.derivatives, strict=True):
            if own is parameter:
                return derivative
        raise InputError(f"{parameter!r:.80} is none of the parameters of this gradient")


@declared
def gradient(
    world: World,
    stepper: Any,
    loss: Loss | Custom,
    *,
    parameters: Sequence[Parameter],
    control: Any = None,
    until: float | None = None,
    start: State | None = None,
    checkpoints: int | None = None,
) -> Gradient:
    """The value of `loss` and its exact derivatives by `parameters`, of the run that `stepper` makes from `start`.

    stepper
        A `pl.ImplicitEuler` or `pl.ImplicitMidpoint` with a `tolerance`, or a `pl.QuasiStatic`; the derivative is that
        of the converged step, and its error is about that of the tolerance: take 1e-10 or less.
    loss, parameters
        One of `pl.losses`, or a sum of them. Of `pl.parameters`: controls, the initial state, constants of materials,
        loads, gravity, friction, masses, damping, routes of cables.
    control
        Controls of each step: one dictionary for all, a list with one for each, or a function of the time (s) at the
        end of the step.
    until
        Time (s) at the end of the run; not needed with a list of controls, nor for one equilibrium.
    start
        The first state; None: the initial one.
    checkpoints
        States kept from the forward run; None: the square root of the number of steps. With as many as there are steps
        none is run twice.

    Where contacts change between sticking, slipping and open, the derivative is one-sided: that of the contact state
    that the step found.
    """
    _check(stepper, loss, parameters)
    if world.reductions:
        raise InputError("gradients do not know reduced worlds: take the world that was reduced")
    first = world.initial_state() if start is None else start
    check_belongs(first, world)
    plan = _Plan.of(stepper, control, until, first)
    kept = ceil(sqrt(plan.count)) if checkpoints is None else positive_count("checkpoints", checkpoints)
    stretch = plan.count if kept >= plan.count else ceil(plan.count / kept)
    gathered = [each.gathered(world, plan.count) for each in parameters]
    return _Adjoint(world, stepper, loss, plan, stretch).run(first, tuple(parameters), gathered)


@dataclass(frozen=True, eq=False)
class _Plan:
    """How many steps there are, and the controls of each."""

    count: int
    controls: Callable[[int], Controls | None]

    @classmethod
    def of(cls, stepper: Any, control: Any, until: float | None, start: State) -> _Plan:
        dt = getattr(stepper, "dt", None)
        count = 1
        if isinstance(control, Sequence) and not isinstance(control, str):
            count = len(control)
            if not count:
                raise InputError("control of gradient() is an empty list; give controls for one step at least")
            if until is not None:
                raise InputError("give gradient() either a list of controls, one for each step, or until=, not both")
        elif until is not None:
            if dt is None:
                raise InputError("a pl.QuasiStatic without dt has no time: give it dt, or a list of controls")
            count = max(1, round(positive("until − start time", until - start.time, unit="s") / dt))
        elif not isinstance(stepper, QuasiStatic):
            raise InputError("gradient() of a dynamic run needs until= (s), or a list of controls, one for each step")
        if callable(control):
            return cls(count, lambda k: control(start.time + (k + 1) * (dt or 0.0)))
        if control is None or isinstance(control, Mapping):
            return cls(count, lambda k: control)
        if isinstance(control, Sequence):
            return cls(count, lambda k: control[k])
        raise InputError(
            f"control of gradient() must be a dictionary, a list of them or a function, got {control!r:.60}"
        )


class _Adjoint:
    """One forward and one backward run; steps are run again in stretches of `stretch`."""

    def __init__(self, world: World, stepper: Any, loss: Loss | Custom, plan: _Plan, stretch: int) -> None:
        self._world, self._stepper, self._loss, self._plan, self._stretch = world, stepper, loss, plan, stretch
        self._checked: set[int] = set()

    def run(self, first: State, parameters: tuple[Parameter, ...], gathered: list[Gathered]) -> Gradient:
        """The gradient."""
        count, loss = self._plan.count, self._loss
        starts, value, states, infos = [first], 0.0, [first], []
        last_stretch: list[tuple[State, StepInfo]] = []
        kept_from = (count - 1) // self._stretch * self._stretch
        if isinstance(loss, Loss):
            value += loss.at(Instant(0, count, first, None))
        state = first
        for k, (state, info) in enumerate(self._steps(first, 0, count)):
            if k >= kept_from:
                last_stretch.append((state, info))
            if (k + 1) % self._stretch == 0 and k + 1 < count:
                starts.append(state)
            if isinstance(loss, Loss):
                value += loss.at(Instant(k + 1, count, state, info))
            else:
                states.append(state)
                infos.append(info)
        slopes = None
        if not isinstance(loss, Loss):
            value, slopes = float(loss.value(states, infos)), list(loss.derivative(states, infos))
            if len(slopes) != count + 1:
                raise InputError(f"derivative of a Custom loss gave {len(slopes)} slopes for {count + 1} states")
        if not np.isfinite(value):
            raise InputError(f"the loss is {value}: look for targets or positions that are not finite")
        final, q, v = state, self._zeros(), self._zeros()
        for part in range(len(starts) - 1, -1, -1):
            begin = part * self._stretch
            pairs = last_stretch or list(self._steps(starts[part], begin, min(begin + self._stretch, count)))
            last_stretch = []
            for k in range(begin + len(pairs) - 1, begin - 1, -1):
                after, info = pairs.pop()
                q, v = self._back(k, Instant(k + 1, count, after, info), slopes, q, v, gathered)
        slope = self._slope(Instant(0, count, first, None), slopes)
        q, v = _added(q, slope.q), _added(v, slope.v)
        for each in gathered:
            each.begin(q, v)
            if isinstance(loss, Loss):
                each.add_loss(loss, Instant(0, count, first, None))
        kept = len(starts) + self._stretch
        return Gradient(value, parameters, tuple(each.derivative for each in gathered), final, count, kept)

    def _back(
        self, k: int, instant: Instant, slopes: list[Slope | None] | None, q: list[FloatArray], v: list[FloatArray],
        gathered: list[Gathered],
    ) -> tuple[list[FloatArray], list[FloatArray]]:  # fmt: skip
        """The derivatives by q and v of the state before a step, from those by the state after it."""
        slope = self._slope(instant, slopes)
        q, v = _added(q, slope.q), _added(v, slope.v)
        assert instant.info is not None
        step = StepAdjoint(instant.info, self._checked)
        pulled = [part.velocity(x) for part, x in zip(step.parts, v, strict=True)]
        found = step.solve([x + each.end for x, each in zip(q, pulled, strict=True)], slope.lam)
        for each in gathered:
            each.add(k, step, found)
            if isinstance(self._loss, Loss):
                each.add_loss(self._loss, instant)
        before_q, before_v = step.start(found)
        step.release()
        q = [x + each.q for x, each in zip(before_q, pulled, strict=True)]
        return q, [x + each.v for x, each in zip(before_v, pulled, strict=True)]

    def _steps(self, state: State, begin: int, end: int) -> Iterator[tuple[State, StepInfo]]:
        for k in range(begin, end):
            state, info = self._stepper(self._world, state, self._plan.controls(k))
            _check_step(self._stepper, info, k)
            yield state, info

    def _slope(self, instant: Instant, slopes: list[Slope | None] | None) -> Slope:
        if slopes is not None:
            return slopes[instant.index] or NOTHING
        assert isinstance(self._loss, Loss)
        return self._loss.slope(instant)

    def _zeros(self) -> list[FloatArray]:
        return [np.zeros(shape) for shape in self._world.shapes]


def _added(parts: list[FloatArray], more: dict[int, FloatArray]) -> list[FloatArray]:
    if not more:
        return parts
    return [x + more[k].reshape(x.shape) if k in more else x for k, x in enumerate(parts)]


def _check(stepper: Any, loss: Any, parameters: Any) -> None:
    """Refuse what has no adjoint, before anything runs."""
    if type(stepper) not in (ImplicitEuler, ImplicitMidpoint, QuasiStatic):  # others are made of them
        raise InputError(
            "gradients go through pl.ImplicitEuler, pl.ImplicitMidpoint and pl.QuasiStatic, not "
            f"{type(stepper).__name__}"
        )
    if stepper.solver is not None:
        raise InputError("gradients go through steps with given controls; this stepper has a solver (pl.Inverse)")
    counted = stepper.newton_iterations is not None if isinstance(stepper, QuasiStatic) else stepper.tolerance is None
    if counted:
        name = type(stepper).__name__
        remedy = "newton_iterations=None" if isinstance(stepper, QuasiStatic) else "tolerance=1e-10"
        raise InputError(
            f"this pl.{name} takes a fixed number of linear solves, whose result is no solution of the equations that "
            f"the adjoint differentiates: give it {remedy}"
        )
    if not isinstance(loss, Loss | Custom):
        raise InputError(
            f"loss must be one of pl.losses, got {loss!r:.60}; a function of one's own needs its derivative: "
            "pl.losses.Custom(value, derivative)"
        )
    if not len(parameters):
        raise InputError("gradient() needs one parameter at least, of pl.parameters")
    for each in parameters:
        if not isinstance(each, Parameter):
            raise InputError(f"parameters must be of pl.parameters, got {each!r:.60}")


def _check_step(stepper: Any, info: StepInfo, k: int) -> None:
    """Refuse a step that is no solution of the equations of one step."""
    step, what = info.step, ""
    if info.status is Status.FREE_MOTION:
        what = "left a rigid motion open, which nothing resists"
    elif step.parts > 1 and not isinstance(stepper, QuasiStatic):
        what = f"was divided into {step.parts} parts because its iteration failed; take a smaller dt"
    elif step.fraction < 1.0:
        what = "was cut because bodies would have crossed or inverted; take a smaller dt"
    elif isinstance(stepper, ImplicitMidpoint) and info.assembly is not None and info.assembly.rows.count:
        what = (
            "had rows (cables, contacts …), with which a pl.ImplicitMidpoint projects its velocities; gradients know "
            "it without rows: use pl.ImplicitEuler"
        )
    elif isinstance(stepper, QuasiStatic) and info.load_steps > 1 and _slid(info):
        what = "found its equilibrium in several load increments with friction, whose slip depends on them"
    elif any(getattr(getattr(each, "spec", None), "rate_limited", False) for each in info.world.constraints):
        what = "had an actuator with a limit of its rate; remove it"
    if what:
        raise InputError(f"step {k} of gradient() {what}")


def _slid(info: StepInfo) -> bool:
    return info.assembly is not None and bool(
        ((info.assembly.rows.law == Law.COULOMB) & (np.asarray(info.lam) != 0.0)).any()
    )
