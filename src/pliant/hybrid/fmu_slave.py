"""The model inside an exported FMU. `export_fmu` puts this file and the system beside each other into the unit.

Inputs are u[…]; outputs are q[…], v[…], the forces lam[…] and modes mode[…] of all constraint rows, and the states of
machines. A communication step continues the run from where the last one ended, with u held.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from pythonfmu import Fmi2Causality, Fmi2Slave, Fmi2Variability, Integer, Real


class HybridSlave(Fmi2Slave):
    """A hybrid system as a co-simulation slave of FMI 2.0."""

    author = "Pliant"
    description = "A hybrid system of rigid bodies in contact"

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        import cloudpickle

        with (Path(self.resources) / "system.pkl").open("rb") as file:
            self.system, self.options = cloudpickle.load(file)
        self._start()
        for k, name in enumerate(self.system.labels):
            self._real(f"q[{k + 1}]", "q", k, f"{name}, m or rad")
            self._real(f"v[{k + 1}]", "v", k, f"rate of {name}, m/s or rad/s")
        for k, name in enumerate(self.system.row_names):
            self._real(f"lam[{k + 1}]", "lam", k, f"force of {name}, N")
            self._whole(f"mode[{k + 1}]", "modes", k, f"mode of {name}: 0 free, 1 contact, 2 ballistic")
        for k, machine in enumerate(self.system.machines):
            self._whole(f"state[{k + 1}]", "states", k, f"state of the machine {machine.name}")
        for k in range(self.system.input_count):
            self._input(k)

    def _start(self) -> None:
        from pliant.hybrid import integrate

        self.u = np.zeros(self.system.input_count)
        self.point = integrate(self.system, until=0.0, sample=None, control=self._control()).final

    def _control(self) -> Any:
        held = self.u.copy()
        return (lambda t, q, v: held) if len(held) else None

    def _real(self, name: str, field: str, k: int, text: str) -> None:
        get = lambda: float(getattr(self.point, field)[k])  # noqa: E731
        output, changing = Fmi2Causality.output, Fmi2Variability.continuous
        self.register_variable(Real(name, causality=output, variability=changing, getter=get, description=text))

    def _whole(self, name: str, field: str, k: int, text: str) -> None:
        get = lambda: int(getattr(self.point, field)[k])  # noqa: E731
        output, changing = Fmi2Causality.output, Fmi2Variability.discrete
        self.register_variable(Integer(name, causality=output, variability=changing, getter=get, description=text))

    def _input(self, k: int) -> None:
        def put(value: float) -> None:
            self.u[k] = value

        get = lambda: float(self.u[k])  # noqa: E731
        self.register_variable(Real(f"u[{k + 1}]", causality=Fmi2Causality.input, getter=get, setter=put, start=0.0))

    def do_step(self, current_time: float, step_size: float) -> bool:
        """Integrate over one communication step; False where the run could not go on."""
        from pliant.hybrid import integrate

        run = integrate(
            self.system, until=current_time + step_size, start=self.point, sample=None, control=self._control(),
            **self.options,
        )  # fmt: skip
        self.point = run.final
        return bool(run.status.ok)
