"""What makers of a single driven row share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.actuators.limits import Command, Limits
from pliant.constraints.rows import RowView
from pliant.core.types import FloatArray, IndexArray, IntArray
from pliant.models.model import Model


@dataclass(frozen=True, eq=False)
class DriveRow:
    """The row `key` of the actuator `spec` on one body, model `number` of its world."""

    spec: Any
    key: int
    number: int = -1

    @property
    def name(self) -> str:
        """Name of the actuator."""
        return str(self.spec.name)

    @property
    def keys(self) -> IndexArray:
        """Identity of the row."""
        return np.array([self.key])

    @property
    def numbers(self) -> tuple[int, ...]:
        """Number of the model."""
        return (self.number,)

    def couplings(self, body: Any) -> list[IntArray]:
        """Node sets that the stiffness of the row couples: none beyond those of the cells."""
        return []

    def holds(self, number: int) -> bool:
        """One row does not hold a body in its place."""
        return False

    def displacement(self, q: Sequence[FloatArray]) -> float:
        """δ with the models at q."""
        raise NotImplementedError

    def law(self, view: RowView, command: Command) -> tuple[int, float, float, float]:
        """Law, bounds and target of the row for `command`."""
        limits: Limits = self.spec.limits
        return limits.law(command, lambda: self.displacement(view.start), lambda: view.last_force(self.key))

    def model_number(self, models: Sequence[Model]) -> int:
        """Number of the actuator's body among `models`."""
        return next(k for k, model in enumerate(models) if model.spec is self.spec.body)
