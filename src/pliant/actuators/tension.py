"""Actuators that pull and cannot push: cables through points, and tendons that run continuously along rods."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from pliant.actuators.drive import USUAL_SHORTENING, USUAL_TRAVEL, ActuatorRows, ControlRange, ForceActuator
from pliant.actuators.limits import Command, Limits, command
from pliant.actuators.values import Cut, Displacement, Force, LengthRatio
from pliant.constraints.memory import Memory
from pliant.constraints.row_blocks import RowBlocks
from pliant.constraints.rows import RowLaw, Rows, RowView
from pliant.core.checks import non_negative, positive
from pliant.core.declared import check_declared
from pliant.core.errors import InputError
from pliant.core.types import FloatArray

CUT = Command(by_force=True, amount=0.0, for_good=True)
_LOOSE = (int(RowLaw.IMPOSED), -np.inf, np.inf, 0.0)
"""Law, bounds and target of a cable that has been cut."""


@dataclass(frozen=True, eq=False)
class TensionActuator(ForceActuator):
    """An actuator with a tension ≥ 0 that shortens a path; it may be cut."""

    _: KW_ONLY
    min_force: float = 0.0
    friction: float = 0.0

    def __post_init__(self) -> None:
        check_declared(self)
        non_negative(f"min_force of {self.name!r}", self.min_force, unit="N")
        non_negative(f"friction of {self.name!r}", self.friction)
        if self.max_displacement < 0.0:
            raise InputError(
                f"max_displacement of {self.name!r} must be ≥ 0 m, got {self.max_displacement:g} m: how far it is "
                "shortened at most"
            )
        super().__post_init__()

    @property
    def rest_length(self) -> float:
        """Length of the path at rest, m."""
        raise NotImplementedError

    @property
    def usual_shortening(self) -> float:
        """Slider range, m, where neither shortening nor tension is limited."""
        return min(USUAL_TRAVEL["m"], USUAL_SHORTENING * self.rest_length)

    def control_range(self) -> ControlRange:
        """The range of a slider: the shortening; the tension where only that is limited."""
        if np.isfinite(self.max_displacement):
            return ControlRange(Displacement, "m", 0.0, self.max_displacement, 0.0)
        if np.isfinite(self.max_force):
            return ControlRange(Force, "N", self.min_force, self.max_force, self.min_force)
        return ControlRange(Displacement, "m", 0.0, float(f"{self.usual_shortening:.2g}"), 0.0, "max_displacement")

    def command(self, value: Any) -> Command:
        """A checked command from a control value."""
        if isinstance(value, Displacement):
            return command(self.name, value, self._released, displacement=self.kinds[0], force=self.kinds[1])
        if isinstance(value, Cut):
            return CUT
        if isinstance(value, LengthRatio):
            value = Displacement((1.0 - positive(f"LengthRatio of {self.name!r}", value.value)) * self.rest_length)
        if isinstance(value, Force):
            non_negative(f"force of {self.name!r}", value.value, unit="N")
        return command(self.name, value, self._released, displacement=self.kinds[0], force=self.kinds[1])

    @cached_property
    def _released(self) -> Limits:
        """Limits of commands: a motor may release its tension."""
        return replace(self.limits, lower=0.0)


@dataclass(frozen=True, eq=False)
class CableMemory(Memory):
    """Whether the cable has been cut."""

    cut: bool


class TensionRows(ActuatorRows):
    """The rows of a `TensionActuator`: its motor's, and with friction those of its guides, where the tension drops."""

    memory_type = CableMemory
    rest_length: float

    def length(self, q: Any) -> float:
        """Length of the path with the models at q, m."""
        raise NotImplementedError

    def path(self, q: Any) -> FloatArray:
        """Points along the path, (k, 3), m, with the models at q."""
        raise NotImplementedError

    def displacement(self, q: Any) -> float:
        """Shortening of the path, m."""
        return self.rest_length - self.length(q)

    @cached_property
    def idle(self) -> Command:
        """The command of a cable without one: its least tension."""
        return Command(by_force=True, amount=self.spec.min_force)

    def motor_law(self, view: RowView) -> tuple[tuple[int, float, float, float], CableMemory | None]:
        """Law, bounds and target of the motor's row, and the memory of a cut."""
        given: Command = view.controls.get(self.handle, self.idle)
        if given.for_good or (view.memory is not None and view.memory.cut):
            return _LOOSE, CableMemory(True)
        return self.law_of(given, view), None

    def tensions(self, lam: FloatArray, count: int) -> FloatArray:
        """Tension of each of `count` pieces between guides, N, for λ (N) of the rows."""
        tension = np.full(count, lam[0])
        if self.spec.friction:
            tension[1:] -= np.cumsum(lam[1:])
        return tension

    def capstan_rows(
        self, H: RowBlocks, motor: tuple[int, float, float, float], gap: float, slip: FloatArray, turn: FloatArray,
        keys: Any,
    ) -> Rows:  # fmt: skip
        """The motor's row with δ = `gap` (m), and one for each guide with its `slip` (k,) m and its `turn` (k,) rad."""
        law, lower, upper, target = motor
        mu = self.spec.friction
        return Rows.of(
            H,
            np.concatenate([[gap], slip]),
            np.concatenate([[law], np.full(len(slip), RowLaw.CAPSTAN)]),
            lower=np.concatenate([[lower], -np.expm1(mu * turn)]),
            upper=np.concatenate([[upper], -np.expm1(-mu * turn)]),
            target=np.concatenate([[target], np.zeros(len(slip))]),
            key=keys,
        )
