"""What an optimisation found, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np

from pliant.core.errors import InputError
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray
from pliant.optimization.variables import Variable
from pliant.record import Run, simulate
from pliant.stepping import QuasiStatic
from pliant.world import State, World


class Outcome(Enum):
    """How a search ended. `Outcome.X.text` says what happened and what to try."""

    CONVERGED = "converged: within the bounds the loss falls no more by more than the tolerance"
    TARGET = "reached the target of the loss"
    STALLED = (
        "stalled: no step along the derivative lowered the loss, as where a contact switches and the derivative is "
        "one-sided; it may be a minimum: compare with another guess"
    )
    BLOCKED = (
        "blocked: simulations next to the best point fail; read `failure`, narrow the bounds, or give another guess"
    )
    ROLLOUT_LIMIT = "stopped at the limit of rollouts: raise it, loosen the tolerance, or begin at what was found"
    STOPPED = "stopped by the callback"

    @property
    def text(self) -> str:
        """What happened, and what to try next."""
        return self.value

    @property
    def ok(self) -> bool:
        """Whether the search ended by itself."""
        return self in (Outcome.CONVERGED, Outcome.TARGET)


@one_line
@dataclass(frozen=True, eq=False)
class Plan:
    """One case as it was found: what `pl.simulate` needs to run it again."""

    world: World
    stepper: Any
    start: State
    controls: Sequence[Mapping[Any, Any]]

    def run(self) -> Run:
        """The recorded run."""
        steps, stepper = len(self.controls), self.stepper
        dt = stepper.dt
        if isinstance(stepper, QuasiStatic) and dt is None:
            dt, stepper = 1.0, replace(stepper, dt=1.0)
        first = self.start.time

        def control(t: float, state: State) -> Mapping[Any, Any]:
            return self.controls[min(int(np.rint((t - first) / dt)), steps) - 1]

        return simulate(
            self.world, stepper, until=first + steps * dt, control=control, start=self.start, progress=False
        )


@one_line
@dataclass(frozen=True, eq=False)
class Optimized:
    """What `pl.optimize` found: the lowest `loss`, and the `status` that says how the search ended.

    ``found[variable]`` is the value of a variable: commands (steps,) of a `Command`, in its unit, the numbers of a
    `Design` in the shape of its parameter. `values` holds these arrays, of the shape (steps,) or of their parameter.
    `rollouts` counts the simulated runs, each with its gradient. `failure` is the message of the last simulation that
    failed.
    """

    status: Outcome
    loss: float
    rollouts: int
    history: FloatArray
    """The loss of each evaluation of all cases, (evaluations,); NaN where a simulation failed."""
    values: Mapping[Variable, FloatArray]
    plans: tuple[Plan, ...]
    failure: str = ""

    def __getitem__(self, variable: Variable) -> FloatArray:
        """The value of a variable."""
        if variable not in self.values:
            raise InputError(f"{variable!r:.80} is none of the variables of this optimisation")
        return self.values[variable]

    @property
    def world(self) -> World:
        """The world with the design that was found."""
        return self.plans[0].world

    @property
    def best(self) -> FloatArray:
        """The lowest loss up to each evaluation, (evaluations,)."""
        return np.fmin.accumulate(self.history)

    def controls(self, case: int = 0) -> Sequence[Mapping[Any, Any]]:
        """The controls of each step of a case."""
        return self._plan(case).controls

    def run(self, case: int = 0) -> Run:
        """A recorded run of what was found, of one case."""
        return self._plan(case).run()

    def _plan(self, case: int) -> Plan:
        if not 0 <= case < len(self.plans):
            raise InputError(f"there is no case {case}; the optimisation has {len(self.plans)}, counted from 0")
        return self.plans[case]
