"""Derivatives of the read-outs of a run by parameters: `pl.sensitivities`, else central differences.

Forward sensitivities are exact and take one run. Where a step has none (several load increments with friction, rows
under `pl.ImplicitMidpoint`, a fixed number of linear solves) differences of second order are taken, over two runs for
each number; of steps that end within a tolerance they are good to about 1e-6.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from pliant.core.types import FloatArray
from pliant.gradients.parameters import Parameter
from pliant.gradients.sensitivities import sensitivities
from pliant.identification.experiment import Experiment, readouts
from pliant.identification.readers import Reader
from pliant.world import World

STEP = 1e-3
"""Step of the differences as a fraction of the scale of a parameter."""


def slopes(
    world: World,
    experiment: Experiment,
    readers: Sequence[Reader],
    parameters: Sequence[Parameter],
) -> list[FloatArray]:
    """∂ readouts/∂parameters (steps + 1, size, p) of each reader, exact, in one run. `InputError` where a step has no
    derivative.
    """
    found = sensitivities(
        world, experiment.stepper, [each.output for each in readers], parameters=parameters,
        control=experiment.control, until=experiment.until, start=experiment.first(world),
    )  # fmt: skip
    count = len(found.times)
    made = []
    for each in readers:
        size = int(np.prod(np.shape(found.values[each.output])[1:]))
        parts = [found.derivatives[each.output, one].reshape(count, size, -1) for one in parameters]
        made.append(np.concatenate(parts, axis=2))
    return made


def differences(
    world_at: Callable[[FloatArray], World],
    experiment: Experiment,
    readers: Sequence[Reader],
    z: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
) -> list[FloatArray]:
    """∂ readouts/∂z (steps + 1, size, p) of each reader; steps at a bound are taken to its inner side."""
    columns: list[list[FloatArray]] = []
    for k in range(len(z)):
        ahead, behind = z.copy(), z.copy()
        ahead[k], behind[k] = min(z[k] + STEP, upper[k]), max(z[k] - STEP, lower[k])
        there, back = (readouts(world_at(each), experiment, readers) for each in (ahead, behind))
        columns.append([(a - b) / (ahead[k] - behind[k]) for a, b in zip(there, back, strict=True)])
    return [np.stack([column[i] for column in columns], axis=-1) for i in range(len(readers))]
