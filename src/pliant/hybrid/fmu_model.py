"""The model inside a functional mock-up unit, for every FMI version: its variables, and one communication step.

Inputs are u[…]; outputs are q[…], v[…], the forces lam[…] and modes mode[…] of all constraint rows, and the states of
machines. A communication step continues the run from where the last one ended, with constant u.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pliant.hybrid.integrate import integrate


class Output(NamedTuple):
    """An output of the unit: its name, whether it is an integer, its description, and how to read it."""

    name: str
    whole: bool
    meaning: str
    read: Callable[[], Any]


class UnitModel:
    """The system pickled in the folder `resources` of a unit, with its present state and input."""

    def __init__(self, resources: str | Path) -> None:
        import cloudpickle

        with (Path(resources) / "system.pkl").open("rb") as file:
            self.system, self.options = cloudpickle.load(file)
        self.u = np.zeros(self.system.input_count)
        self.state = integrate(self.system, until=0.0, sample=None, control=self._control()).final

    def _control(self) -> Any:
        u = self.u.copy()
        return (lambda t, q, v: u) if len(u) else None

    def outputs(self) -> Iterator[Output]:
        """All outputs, indexed from 1 as in `q[1]`."""
        for k, name in enumerate(self.system.labels):
            yield self._output(f"q[{k + 1}]", "q", k, f"{name}, m or rad")
            yield self._output(f"v[{k + 1}]", "v", k, f"rate of {name}, m/s or rad/s")
        for k, name in enumerate(self.system.row_names):
            yield self._output(f"lam[{k + 1}]", "lam", k, f"force of {name}, N")
            yield self._output(f"mode[{k + 1}]", "modes", k, f"mode of {name}: 0 free, 1 contact, 2 ballistic")
        for k, machine in enumerate(self.system.machines):
            yield self._output(f"state[{k + 1}]", "states", k, f"state of the machine {machine.name}")

    def _output(self, name: str, field: str, k: int, meaning: str) -> Output:
        kind = int if field in ("modes", "states") else float
        return Output(name, kind is int, meaning, lambda: kind(getattr(self.state, field)[k]))

    def reader(self, k: int) -> Callable[[], float]:
        """The function that gives input k."""
        return lambda: float(self.u[k])

    def writer(self, k: int) -> Callable[[float], None]:
        """The function that sets input k."""

        def put(value: float) -> None:
            self.u[k] = value

        return put

    def step(self, time: float, length: float) -> bool:
        """Integrate over one communication step from `time` (s); False where the run could not continue."""
        run = integrate(
            self.system, until=time + length, start=self.state, sample=None, control=self._control(), **self.options
        )
        self.state = run.final
        return bool(run.status.ok)
