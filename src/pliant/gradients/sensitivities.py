"""`pl.sensitivities`: derivatives of all that is read from a run by a few parameters, carried forward with the run.

One run is made; the tangent of each step (`gradients.tangent`) takes the derivatives of the state by all parameters to
the next instant, as one block of right-hand sides of the matrix in which the step ended. It costs one more solve for
each parameter and step, whatever the number of outputs; `pl.gradient` costs one, whatever the number of parameters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np

from pliant.core.declared import declared
from pliant.core.errors import InputError
from pliant.core.one_line import one_line
from pliant.core.singular import named_singular
from pliant.core.types import FloatArray, IndexArray
from pliant.gradients.effects import Effect
from pliant.gradients.losses import Instant
from pliant.gradients.outputs import Output
from pliant.gradients.parameters import Parameter
from pliant.gradients.plan import Plan, check_parameters, check_stepper, is_linear, steps
from pliant.gradients.tangent import LinearStepTangent, StepTangent, Tangent
from pliant.world import State, World
from pliant.world.belonging import check_belongs


@one_line
@dataclass(frozen=True, eq=False)
class Sensitivities:
    """Outputs of a run at its n instants, the first of which is the start, and their derivatives.

    `times` (n,), s; ``values[output]`` (n, …) in the unit of the output; ``derivatives[output, parameter]`` of the
    shape of the output at all instants followed by that of the parameter. `final` is the last state.
    """

    times: FloatArray
    values: Mapping[Output, FloatArray]
    derivatives: Mapping[tuple[Output, Parameter], FloatArray]
    final: State


@declared
@named_singular
def sensitivities(
    world: World,
    stepper: Any,
    outputs: Sequence[Output],
    *,
    parameters: Sequence[Parameter],
    control: Any = None,
    until: float | None = None,
    start: State | None = None,
) -> Sensitivities:
    """The values of `outputs` at each instant of the run that `stepper` makes from `start`, and their exact derivatives
    by `parameters`, in one forward run.

    outputs, parameters
        Of `pl.outputs`: points, coordinates of a body, forces and displacements of actuators, contact forces. Of
        `pl.parameters`: each number of them is a column of the block that is carried along; for many take
        `pl.gradient`.
    stepper, control, until, start
        As of `pl.gradient`.
    """
    check_stepper(stepper, linear=True)
    check_parameters(parameters, "sensitivities")
    if not len(outputs) or not all(isinstance(each, Output) for each in outputs):
        raise InputError(f"outputs must be of pl.outputs, one at least, got {outputs!r:.60}")
    first = world.initial_state() if start is None else start
    check_belongs(first, world)
    plan = Plan.of(stepper, control, until, first, "sensitivities")
    effects = [each.effect(world, plan.count) for each in parameters]
    readings = [each.reading(world) for each in outputs]
    sizes = [each.derivative.size for each in effects]
    offsets = [0, *accumulate(sizes)]
    tangent = _start(world, effects, offsets)
    instant, step, decided, times = Instant(0, plan.count, first, None), None, dict[int, bool](), [first.time]
    values: list[list[FloatArray]] = [[] for _ in outputs]
    slopes: list[list[FloatArray]] = [[] for _ in outputs]

    def read(step: StepTangent | None) -> None:
        for k, reading in enumerate(readings):
            values[k].append(reading.value(instant))
            slopes[k].append(reading.slope(instant, step, tangent))

    linear = is_linear(stepper)
    last: tuple[IndexArray, FloatArray] = np.zeros(0, np.int64), tangent.lam
    read(None)
    for k, (state, info) in enumerate(steps(world, stepper, plan, first, range(plan.count))):
        step = LinearStepTangent(info, decided, last=last) if linear else StepTangent(info, decided)
        changes = [each.changes(k, step) for each in effects]
        tangent = step.advance(tangent.q, tangent.v, changes, offsets[:-1])
        last = (np.zeros(0, np.int64) if step.ends is None else step.ends.rows.key), tangent.lam
        instant = Instant(k + 1, plan.count, state, info)
        times.append(state.time)
        read(step)
        step.release()
    found = {}
    for k, output in enumerate(outputs):
        whole = np.stack(slopes[k])
        motion = readings[k].motion
        own = len(whole), *(values[k][0].shape if motion is None else motion)
        for effect, parameter, begin in zip(effects, parameters, offsets, strict=False):
            part = whole[:, :, begin : begin + effect.derivative.size]
            found[output, parameter] = part.reshape(*own, *effect.derivative.shape)
    return Sensitivities(
        np.array(times), {output: np.stack(values[k]) for k, output in enumerate(outputs)}, found, instant.state
    )


def _start(world: World, effects: Sequence[Effect], offsets: Sequence[int]) -> Tangent:
    """The tangent of the first state."""
    count = offsets[-1]
    q: list[FloatArray] = [np.zeros((size, count)) for size in world.sizes]
    v: list[FloatArray] = [np.zeros((size, count)) for size in world.sizes]
    for effect, begin in zip(effects, offsets, strict=False):
        begun = effect.start(world)
        if begun is not None:
            index, block, velocities = begun
            (v if velocities else q)[index][:, begin : begin + block.shape[1]] = block
    return Tangent(q, v, np.zeros((0, count)), np.zeros((0, count)))
