"""The model inside an exported FMU of FMI 3.0. `export_fmu` puts this file and the system into the unit."""

from __future__ import annotations

from typing import Any

from pythonfmu3 import Float64, Fmi3Causality, Fmi3Slave, Fmi3Variability, Int32


class HybridSlave(Fmi3Slave):
    """A hybrid system as a co-simulation unit of FMI 3.0; see `UnitModel`."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        from pliant.hybrid.fmu_model import UnitModel

        self.author = "Pliant"
        self.description = "A hybrid system of rigid bodies in contact. Executes Python code where it is imported"
        self.model = UnitModel(self.resources)
        self.time = 0.0
        changing = Fmi3Variability.continuous
        self.register_variable(Float64("time", causality=Fmi3Causality.independent, variability=changing))
        for name, whole, text, read in self.model.outputs():
            kind, changing = (Int32, Fmi3Variability.discrete) if whole else (Float64, Fmi3Variability.continuous)
            self.register_variable(
                kind(name, causality=Fmi3Causality.output, variability=changing, getter=read, description=text),
                nested=False,
            )
        for k in range(len(self.model.u)):
            read, write = self.model.reader(k), self.model.writer(k)
            name = f"u[{k + 1}]"
            self.register_variable(
                Float64(name, causality=Fmi3Causality.input, getter=read, setter=write, start=0.0), nested=False
            )

    def do_step(self, current_time: float, step_size: float) -> bool:
        """Integrate over one communication step; False where the run could not go on."""
        self.time = current_time + step_size
        return bool(self.model.step(current_time, step_size))
