"""The model inside an exported FMU of FMI 2.0. `export_fmu` puts this file and the system into the unit."""

from __future__ import annotations

from typing import Any

from pythonfmu import Fmi2Causality, Fmi2Slave, Fmi2Variability, Integer, Real


class HybridSlave(Fmi2Slave):
    """A hybrid system as a co-simulation unit of FMI 2.0; see `UnitModel`."""

    author = "Pliant"
    description = "A hybrid system of rigid bodies in contact. Executes Python code where it is imported"

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        from pliant.hybrid.fmu_model import UnitModel

        self.model = UnitModel(self.resources)
        for name, whole, text, read in self.model.outputs():
            kind, changing = (Integer, Fmi2Variability.discrete) if whole else (Real, Fmi2Variability.continuous)
            self.register_variable(
                kind(name, causality=Fmi2Causality.output, variability=changing, getter=read, description=text)
            )
        for k in range(len(self.model.u)):
            read, write = self.model.reader(k), self.model.writer(k)
            name = f"u[{k + 1}]"
            self.register_variable(Real(name, causality=Fmi2Causality.input, getter=read, setter=write, start=0.0))

    def do_step(self, current_time: float, step_size: float) -> bool:
        """Integrate over one communication step; False where the run could not go on."""
        return bool(self.model.step(current_time, step_size))
