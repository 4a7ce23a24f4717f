"""`pl.gradient`: the derivatives of a scalar of a run or an equilibrium, by the adjoint of its steps.

The run goes forward once. From its states some are kept as checkpoints; backward, each stretch between two of them is
run again, its steps are linearised in turn from the last to the first, and the derivative by the state moves backward:

    J = Σ ℓ(state, info),       q̄, v̄ ← ∂ℓ/∂(q, v) + adjoint of the step to the next state (`gradients.adjoint`)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, sqrt
from typing import Any, NamedTuple

import numpy as np

from pliant.core.checks import positive_count
from pliant.core.declared import declared
from pliant.core.errors import InputError
from pliant.core.one_line import one_line
from pliant.core.singular import named_singular
from pliant.core.types import FloatArray, IndexArray
from pliant.gradients.adjoint import StepAdjoint
from pliant.gradients.effects import Effect
from pliant.gradients.end_velocities import EndVelocities
from pliant.gradients.kept_factors import KeptFactors
from pliant.gradients.linear_step import LinearStepAdjoint
from pliant.gradients.losses import NOTHING, Custom, Instant, Loss, Slope
from pliant.gradients.parameters import Parameter
from pliant.gradients.plan import Plan, check_parameters, check_stepper, is_linear, steps
from pliant.stepping import StepInfo
from pliant.world import State, World
from pliant.world.belonging import check_belongs


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
@named_singular
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
        of the converged step, and its error is about that of the tolerance: take 1e-10 or less. Or a `pl.ImplicitEuler`
        of one linear solve a step, for worlds of volumes; the derivative is that of the step as it was computed.
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
    check_stepper(stepper, linear=True)
    check_parameters(parameters, "gradient")
    _check_loss(loss)
    first = world.initial_state() if start is None else start
    check_belongs(first, world)
    plan = Plan.of(stepper, control, until, first, "gradient")
    kept = ceil(sqrt(plan.count)) if checkpoints is None else positive_count("checkpoints", checkpoints)
    stretch = plan.count if kept >= plan.count else ceil(plan.count / kept)
    gathered = [each.effect(world, plan.count) for each in parameters]
    return _Adjoint(world, stepper, loss, plan, stretch).run(first, tuple(parameters), gathered)


class _Made(NamedTuple):
    """A step that was made: where it ended, what it reported, and its factors by body."""

    state: State
    info: StepInfo
    factors: Sequence[Any] | None


class _Adjoint:
    """One forward and one backward run; steps are run again in stretches of `stretch`."""

    def __init__(self, world: World, stepper: Any, loss: Loss | Custom, plan: Plan, stretch: int) -> None:
        self._world, self._stepper, self._loss, self._plan, self._stretch = world, stepper, loss, plan, stretch
        self._decided: dict[int, bool] = {}
        self._linear = is_linear(stepper)
        self._kept = KeptFactors(world, stepper.workspace)
        self._before: tuple[IndexArray, FloatArray] = np.zeros(0, np.int64), np.zeros(0)

    def run(self, first: State, parameters: tuple[Parameter, ...], gathered: list[Effect]) -> Gradient:
        """The gradient."""
        count, loss = self._plan.count, self._loss
        starts, value, states, infos = [first], 0.0, [first], []
        last_stretch: list[_Made] = []
        kept_from = (count - 1) // self._stretch * self._stretch
        if isinstance(loss, Loss):
            value += loss.at(Instant(0, count, first, None))
        state = first
        for k, (state, info) in enumerate(self._steps(first, 0, count)):
            if k >= kept_from:
                last_stretch.append(self._made(state, info))
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
            made = last_stretch or [
                self._made(*each) for each in self._steps(starts[part], begin, min(begin + self._stretch, count))
            ]
            last_stretch = []
            for k in range(begin + len(made) - 1, begin - 1, -1):
                after, info, factors = made.pop()
                q, v = self._back(k, Instant(k + 1, count, after, info), factors, slopes, q, v, gathered)
                self._kept.free(factors)
        self._kept.leave()
        slope = self._slope(Instant(0, count, first, None), slopes)
        q, v = _added(q, slope.q), _added(v, slope.v)
        for each in gathered:
            each.begin(q, v)
            each.add_slope(slope)
            if isinstance(loss, Loss):
                each.add_loss(loss, Instant(0, count, first, None))
        kept = len(starts) + self._stretch
        return Gradient(value, parameters, tuple(each.derivative for each in gathered), final, count, kept)

    def _back(
        self, k: int, instant: Instant, factors: Sequence[Any] | None, slopes: list[Slope | None] | None,
        q: list[FloatArray], v: list[FloatArray], gathered: list[Effect],
    ) -> tuple[list[FloatArray], list[FloatArray]]:  # fmt: skip
        """The derivatives by q and v of the state before a step, from those by the state after it."""
        slope = self._slope(instant, slopes)
        q, v = _added(q, slope.q), _added(v, slope.v)
        assert instant.info is not None
        step: Any
        if self._linear:
            step = LinearStepAdjoint(instant.info, self._decided, factors)
        else:
            step = StepAdjoint(instant.info, self._decided)
        ended = EndVelocities(step).pull(v, self._by_force(step, slope))
        pulled = [part.velocity(x) for part, x in zip(step.parts, ended.free, strict=True)]
        found = step.solve([x + y + each.end for x, y, each in zip(q, ended.end, pulled, strict=True)], ended.lam)
        if self._linear:
            self._before = step.before(found)
        for each in gathered:
            each.add(k, step, found)
            each.add_velocities(step, ended)
            each.add_slope(slope)
            if isinstance(self._loss, Loss):
                each.add_loss(self._loss, instant)
        before_q, before_v = step.start(found)
        step.release()
        q = [x + y + each.q for x, y, each in zip(before_q, ended.start, pulled, strict=True)]
        return q, [x + each.v for x, each in zip(before_v, pulled, strict=True)]

    def _by_force(self, step: StepAdjoint, slope: Slope) -> FloatArray | None:
        """The derivatives by the forces of a step: of the loss, and of the matrix of the step after it."""
        keys, values = self._before
        if step.ends is None or not values.any():
            return slope.lam
        rows = step.ends.rows
        made = np.zeros(rows.count) if slope.lam is None else slope.lam.copy()
        for key, value in zip(keys, values, strict=True):
            made[rows.key == key] += value
        return made

    def _made(self, state: State, info: StepInfo) -> _Made:
        """A step that the backward run takes up again, with its factors where it was one linear solve."""
        return _Made(state, info, self._kept.take() if self._linear else None)

    def _steps(self, state: State, begin: int, end: int) -> Iterator[tuple[State, StepInfo]]:
        return steps(self._world, self._stepper, self._plan, state, range(begin, end))

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


def _check_loss(loss: Any) -> None:
    if not isinstance(loss, Loss | Custom):
        raise InputError(
            f"loss must be one of pl.losses, got {loss!r:.60}; a function of one's own needs its derivative: "
            "pl.losses.Custom(value, derivative)"
        )
