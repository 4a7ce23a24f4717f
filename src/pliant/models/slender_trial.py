"""What a step of a slender body shares: its memory, where it has one."""

from __future__ import annotations

from typing import Any

from pliant.core.types import FloatArray
from pliant.models.model import StepStart, Trial


class SlenderTrial(Trial):
    """One step of a rod or a beam.

    `_recalled` are stiffness and strains at rest of the step, (m, 6) each (`models.slender_memory`), None where all is
    elastic or relaxed; `_damping` (s) is the coefficient of the stiffness, 0 where the memory contains it.
    """

    def __init__(self, model: Any, start: StepStart) -> None:
        super().__init__(model, start)
        memory, scheme = model.memory, start.scheme
        self._recalled: tuple[FloatArray, FloatArray] | None = None
        self._damping: float = 0.0 if memory is not None else model.spec.damping.stiffness
        if memory is None:
            return
        if self._history is None:
            self._history = memory.start(model.element_strains(start.q))
        if scheme.dt or scheme.instantaneous:
            self._recalled = memory.at_start(self._history, scheme)

    def is_inverted(self) -> bool:
        """Sections have no volume that inverts."""
        return False

    def elastic_balance(self) -> tuple[float, float]:
        """See `Trial`; strains of rods change in proportion to dx, so that their forces do their work exactly."""
        if self._recalled is not None:
            return 0.0, 0.0
        return self.model.elastic_energy(self.positions()) - self.model.elastic_energy(self._q), 0.0

    def history(self) -> FloatArray | None:
        """Forces of the branches at the end of the step, see `models.slender_memory`."""
        memory, history = self.model.memory, self._history
        if memory is None or history is None:
            return None
        made: FloatArray = memory.after(history, self._scheme, self.model.element_strains(self.positions()))
        return made
