"""Actuated rod bases: a motor that slides or turns the base of a rod.

The base has one degree of freedom, `pl.Slide` or `pl.Turn`: δ is its displacement (m) or angle (rad) along the axis, λ
the force (N) or torque (N·m). The base's unknowns are given in its own axes, so the row has a single entry, 1
(Adagolodjo et al., IEEE RA-L 2021, section II.C: δ_a).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from pliant.actuators.drive import UNBOUND, DriveRow, TwoWayActuator
from pliant.actuators.joint import JointMemory, axis_angle, unwrapped
from pliant.actuators.limits import per_second
from pliant.actuators.values import Angle, Torque
from pliant.constraints.rows import Rows, RowView
from pliant.core.arrays import csr, frozen
from pliant.core.declared import check_declared
from pliant.core.errors import InputError
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray, IntArray
from pliant.models.body import Model
from pliant.models.rod import Rod, RodModel


@one_line
@per_second
@dataclass(frozen=True, eq=False)
class BaseDrive(TwoWayActuator):
    """Drives the base of `rod`, which is a `pl.Slide` (controls `pl.Displacement` or `pl.Force`) or a `pl.Turn`
    (controls `pl.Angle` or `pl.Torque`).

    `min_force`, `max_force` bound λ, N (N·m for a turn); `min_displacement`, `max_displacement` the command, m (rad);
    `max_rate`, m/s (rad/s), and `max_force_rate`, N/s (N·m/s), the rates of both. Without a control the base moves
    freely. Angles are unwrapped from step to step and may exceed a full turn.
    """

    rod: Rod
    _: KW_ONLY
    name: str = "base drive"

    def __post_init__(self) -> None:
        check_declared(self)
        if not isinstance(self.rod, Rod):
            raise InputError(f"{self.name!r} drives the base of a pl.Rod, got {self.rod!r}")
        if self.rod.base_turns is None:
            raise InputError(
                f"{self.name!r} has no degree of freedom: the base of {self.rod.name!r} is {self.rod.base!r}; "
                "give the rod base=pl.Slide(axis) or base=pl.Turn(axis)"
            )
        super().__post_init__()

    @property
    def body(self) -> Rod:
        """The rod."""
        return self.rod

    @property
    def turns(self) -> bool:
        """Whether the base turns; otherwise it slides."""
        return self.rod.base_turns is True

    def constraint(self, key: int) -> BaseDriveRows:
        """Its row, not yet bound to models."""
        return BaseDriveRows(self, key)

    @property
    def kinds(self) -> Any:  # type: ignore[override]
        """Angle and torque of a turn, displacement and force of a slide."""
        return ((Angle, "rad"), (Torque, "N·m")) if self.turns else super().kinds


@dataclass(frozen=True, eq=False)
class BaseDriveRows(DriveRow):
    """The row of one base: initial pose `start` (4, 3); world `axes` (3, 3), the first column its direction."""

    start: FloatArray = UNBOUND
    axes: FloatArray = UNBOUND

    memory_type = JointMemory

    def bound(self, models: Sequence[Model]) -> BaseDriveRows:
        """The row in a world of `models`."""
        index = self.model_index(models)
        model = RodModel.require(models[index], repr(self.spec.name))
        return replace(self, index=index, start=model.rest[:4].copy(), axes=model.basis)

    def displacement(self, q: Sequence[FloatArray]) -> float:
        """Displacement along the axis, m, or the angle about it within ±π, rad."""
        pose = q[self.index][:4]
        if not self._turns:
            return float((pose[0] - self.start[0]).dot(self.axes[:, 0]))
        return axis_angle(self.axes.T @ pose[1:] @ self.start[1:].T @ self.axes)

    def rows(self, view: RowView, found: Any = None) -> tuple[Rows, JointMemory | None]:
        """Displacement or angle of the base and its gradient."""
        turns, moved = self._turns, self.displacement(view.q)
        before = 0.0 if view.memory is None else view.memory.angle
        if turns:
            moved = unwrapped(moved, before)
        H = csr(*self._gradient, (1, view.sizes[self.index]))
        return self.row(view, moved, H, before if turns else None), JointMemory(moved) if turns else None

    @cached_property
    def _turns(self) -> bool:
        return bool(self.spec.turns)

    @cached_property
    def _gradient(self) -> tuple[FloatArray, IntArray, IntArray]:
        """The single entry of the row: its value, its unknown, and where the row begins and ends."""
        unknown, ends = np.array([3 if self.spec.turns else 0], np.int32), np.array([0, 1], np.int32)
        return frozen(np.ones(1)), frozen(unknown), frozen(ends)
