"""An optimisation as a function of scaled numbers y ∈ [0, 1]: each evaluation runs every case forward and backward.

f(y) = Σ weight · J(x),      x = lower + (upper − lower) y,      ∂f/∂y by the adjoint (`pl.gradient`)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from pliant.core.checks import positive
from pliant.core.declared import check_declared
from pliant.core.errors import InputError
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray
from pliant.gradients.gradient import gradient
from pliant.gradients.plan import Controls
from pliant.gradients.plan import Plan as Steps
from pliant.optimization.designs import with_values
from pliant.optimization.result import Plan
from pliant.optimization.variables import Command, Design, Free, Variable
from pliant.world import State, World
from pliant.world.belonging import check_belongs
from pliant.world.state import name_of


@one_line
@dataclass(frozen=True, eq=False)
class Case:
    """One load case of an optimisation: a `loss` of its own run, with `variables` of its own beside the shared ones.

    control, until, start
        As of `pl.optimize`.
    weight
        By which the loss counts in the sum of all cases.
    """

    loss: Any
    _: KW_ONLY
    variables: Sequence[Variable] = ()
    control: Any = None
    until: float | None = None
    start: State | None = None
    weight: float = 1.0

    def __post_init__(self) -> None:
        check_declared(self)
        positive("weight of a Case", self.weight)


@dataclass(frozen=True, eq=False)
class _Run:
    """A case with its count of steps, its controls, and its variables with their place in x."""

    case: Case
    steps: int
    controls: Callable[[int], Controls | None]
    frees: tuple[tuple[Variable, Free, slice], ...]


class Problem:
    """The loss of all cases and its gradient; `evaluations` counts them."""

    def __init__(
        self, world: World, stepper: Any, cases: Sequence[Case], shared: Sequence[Variable], checkpoints: int | None
    ) -> None:
        self._world, self._stepper, self._checkpoints = world, stepper, checkpoints
        frees: dict[Variable, tuple[Free, slice]] = {}
        runs, size = [], 0
        for case in cases:
            start = world.initial_state() if case.start is None else case.start
            check_belongs(start, world)
            plan = Steps.of(stepper, case.control, case.until, start, "optimize")
            dt = getattr(stepper, "dt", None)
            own = []
            for variable in (*shared, *case.variables):
                free = variable.free(world, plan.count, plan.count * dt if dt else 0.0)
                if variable not in frees:
                    frees[variable] = free, slice(size, size + len(free.guess))
                    size += len(free.guess)
                elif not any(variable is each for each in shared):
                    raise InputError(f"{variable!r:.80} is in two cases: what they share is variables= of optimize()")
                elif len(free.guess) != len(frees[variable][0].guess):
                    raise InputError(f"{variable!r:.80} is shared by cases of different lengths; give each its own")
                own.append((variable, free, frees[variable][1]))
            _check_apart(own)
            runs.append(_Run(case, plan.count, plan.controls, tuple(own)))
        self._runs, self._frees = runs, [(variable, *pair) for variable, pair in frees.items()]
        self.lower = np.concatenate([free.lower for _, free, _ in self._frees])
        self.width = np.concatenate([free.upper for _, free, _ in self._frees]) - self.lower
        guess = np.concatenate([free.guess for _, free, _ in self._frees])
        self.first: FloatArray = (guess - self.lower) / self.width
        self.case_count = len(runs)

    def value(self, y: FloatArray) -> tuple[float, FloatArray]:
        """The loss and its derivatives (n,) at y (n,)."""
        total, slope = 0.0, np.zeros(len(y))
        for run in self._runs:
            plan = self._plan(run, y)
            found = gradient(
                plan.world, self._stepper, run.case.loss, parameters=[free.parameter for _, free, _ in run.frees],
                control=list(plan.controls), start=plan.start, checkpoints=self._checkpoints,
            )  # fmt: skip
            total += run.case.weight * found.value
            for (_, free, place), derivative in zip(run.frees, found.derivatives, strict=True):
                slope[place] += run.case.weight * free.pull(derivative)
        return total, slope * self.width

    def rates(self) -> tuple[FloatArray, FloatArray]:
        """A and b of the limits A y ≤ b of the rates of commands."""
        parts, bounds = [np.zeros((0, len(self.first)))], [np.zeros(0)]
        for _, free, place in self._frees:
            if np.isfinite(free.largest):
                rows = np.zeros((len(free.rows), len(self.first)))
                rows[:, place] = free.rows * self.width[place] / free.largest
                away = (free.offset + free.rows @ self.lower[place]) / free.largest
                parts += [rows, -rows]
                bounds += [1.0 - away, 1.0 + away]
        return np.vstack(parts), np.concatenate(bounds)

    def idle(self, slope: FloatArray) -> list[Variable]:
        """Variables by none of whose numbers the loss changes at all."""
        return [variable for variable, _, place in self._frees if not slope[place].any()]

    def values(self, y: FloatArray) -> dict[Variable, FloatArray]:
        """The value of each variable."""
        x = self._x(y)
        return {variable: free.values(x[place]) for variable, free, place in self._frees}

    def plans(self, y: FloatArray) -> tuple[Plan, ...]:
        """The runs of all cases."""
        return tuple(self._plan(run, y) for run in self._runs)

    def _plan(self, run: _Run, y: FloatArray) -> Plan:
        x = self._x(y)
        controls = [dict(run.controls(k) or {}) for k in range(run.steps)]
        design: dict[Any, FloatArray] = {}
        for variable, free, place in run.frees:
            values = free.values(x[place])
            if isinstance(variable, Command):
                _command(controls, variable, values)
            else:
                design[free.parameter] = values
        world, start = with_values(self._world, run.case.start, design)
        return Plan(world, self._stepper, start, controls)

    def _x(self, y: FloatArray) -> FloatArray:
        x: FloatArray = self.lower + self.width * np.clip(y, 0.0, 1.0)
        return x


def _command(controls: list[dict[Any, Any]], variable: Command, values: FloatArray) -> None:
    for k, amount in enumerate(values):
        if variable.actuator in controls[k]:
            raise InputError(f"{name_of(variable.actuator)} is in control= and is a variable; take it out of one")
        controls[k][variable.actuator] = variable.control(float(amount))


def _check_apart(own: Sequence[tuple[Variable, Free, slice]]) -> None:
    commanded = [variable.actuator for variable, _, _ in own if isinstance(variable, Command)]
    for each in commanded:
        if commanded.count(each) > 1:
            raise InputError(f"{name_of(each)} has two Commands in one case; give one")
    designs = [variable for variable, _, _ in own if isinstance(variable, Design)]
    if len({variable.parameter for variable in designs}) < len(designs):
        raise InputError("one parameter has two Designs in one case; give one")
