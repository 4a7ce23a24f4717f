"""The controls along the load path of a step: from what every actuator does at its start to what it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from pliant.actuators.cavity import CavityRows
from pliant.actuators.limits import Command
from pliant.constraints import forces_of
from pliant.core.errors import InputError
from pliant.world import State, World


class ControlPath:
    """Values of the controls along the load path, by a parameter from 0 to 1.

    Volumes grow by equal ratios, everything else by equal differences. Loads and gravity act in full from the start;
    supports move with the parameter (`StepBodies.load_fraction`).
    """

    def __init__(self, world: World, state: State, values: Mapping[Any, Any]) -> None:
        self._values = dict(values)
        self._begin: dict[Any, float] = {}
        self._rest: dict[Any, float] = {}
        self.length = 0.0
        """Largest logarithm of a ratio by which a volume changes."""
        for handle, value in values.items():
            if isinstance(value, Command):
                self._note(world, state, handle, value)

    def values(self, along: float) -> dict[Any, Any]:
        """The controls at the parameter `along`."""
        made = dict(self._values)
        for handle, begin in self._begin.items():
            made[handle] = replace(self._values[handle], amount=self._amount(handle, begin, along))
        return made

    def text(self, along: float) -> str:
        """How far the chambers are at the parameter `along`, in words."""
        ratios = [
            f"{handle.name!r} at {1.0 + self._amount(handle, self._begin[handle], along) / rest:.4g} of its volume"
            for handle, rest in self._rest.items()
        ]
        return ", ".join(ratios) or "no chamber has a volume to reach"

    def _note(self, world: World, state: State, handle: Any, command: Command) -> None:
        constraint: Any = world.constraints[world.constraint_index(handle)]
        if command.by_force:
            self._begin[handle] = float(forces_of(np.array([constraint.key]), state.keys, state.lam)[0])
            return
        self._begin[handle] = float(constraint.displacement(state.q))
        if isinstance(constraint, CavityRows):
            self._rest[handle] = constraint.rest_volume
            end = constraint.rest_volume + command.amount
            if end <= 0.0:
                raise InputError(
                    f"{handle.name!r} is asked to shrink by {-command.amount:.3g} m³, but its volume at rest is "
                    f"{constraint.rest_volume:.3g} m³; ask for a growth above {-constraint.rest_volume:.3g} m³"
                )
            ratio = end / (constraint.rest_volume + self._begin[handle])
            self.length = max(self.length, abs(float(np.log(ratio))))

    def _amount(self, handle: Any, begin: float, along: float) -> float:
        end = self._values[handle].amount
        if along >= 1.0:
            return float(end)
        if handle in self._rest:
            rest = self._rest[handle]
            return float((rest + begin) ** (1.0 - along) * (rest + end) ** along - rest)
        return float(begin + along * (end - begin))
