"""An experiment: a run or equilibria of the model under known controls, and what was measured meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from pliant.core.checks import checked_stepper
from pliant.core.declared import check_declared
from pliant.core.errors import InputError
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray
from pliant.gradients.losses import Instant
from pliant.gradients.plan import Plan
from pliant.identification.measurements import Measurement
from pliant.identification.readers import Reader
from pliant.stepping import QuasiStatic
from pliant.world import State, World


@one_line
@dataclass(frozen=True, eq=False)
class Experiment:
    """What was done with the robot, and what was measured.

    measurements
        One or several, such as `Markers` and `ActuatorForce`.
    stepper
        `pl.QuasiStatic` for equilibria, or a dynamic stepper with a tolerance.
    control
        Controls of each step: one dictionary for all, a list with one for each, or a function of the time (s) at the
        end of the step.
    until
        Time (s) at the end of a dynamic run.
    start
        The first state; None: the initial one. What contacts and materials remember in it is left behind.
    name
        For reports.
    """

    measurements: Any
    _: KW_ONLY
    stepper: Any = field(default_factory=lambda: QuasiStatic(tolerance=1e-10))
    control: Any = None
    until: float | None = None
    start: State | None = None
    name: str = "experiment"

    def __post_init__(self) -> None:
        check_declared(self)
        given = self.measurements
        listed = tuple(given) if isinstance(given, Sequence) else (given,)
        if not listed or not all(isinstance(each, Measurement) for each in listed):
            raise InputError(
                f"measurements of {self.name!r} must be of pl.identification (Markers, ActuatorForce …), got "
                f" {given!r:.80}"
            )
        for each in listed:
            if each.values is None:
                raise InputError(f"{each.label!r} of {self.name!r} has no values: give it what was measured")
        checked_stepper(self.stepper)
        object.__setattr__(self, "measurements", listed)

    def first(self, world: World) -> State:
        """The first state of the run in `world`."""
        return world.initial_state() if self.start is None else world.adopt(self.start)

    def plan(self, first: State) -> Plan:
        """Number of steps, and the controls of each."""
        return Plan.of(self.stepper, self.control, self.until, first, "identify")

    def clock(self, world: World) -> FloatArray:
        """Instants of the run, (steps + 1,), s; of equilibria without time their indices."""
        first = self.first(world)
        pace = getattr(self.stepper, "dt", None)
        return np.asarray(first.time + np.arange(self.plan(first).count + 1) * (1.0 if pace is None else pace))


def readouts(world: World, experiment: Experiment, readers: Sequence[Reader]) -> list[FloatArray]:
    """Read-outs (steps + 1, size) of each reader, of the run in `world`."""
    state = experiment.first(world)
    plan = experiment.plan(state)
    readings = [each.output.reading(world) for each in readers]
    found = [[np.ravel(each.value(Instant(0, plan.count, state, None)))] for each in readings]
    for k in range(plan.count):
        state, info = experiment.stepper(world, state, plan.controls(k))
        for rows, each in zip(found, readings, strict=True):
            rows.append(np.ravel(each.value(Instant(k + 1, plan.count, state, info))))
    return [np.array(rows) for rows in found]
