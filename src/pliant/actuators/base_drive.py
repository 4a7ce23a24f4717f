"""Drives of rods: a motor at the base that slides or turns it.

The base of the rod has one freedom, `pl.Slide` or `pl.Turn`, and the drive is the row of that freedom: δ is how far the
base has slid (m) or turned (rad) along its axis, λ the force (N) or torque (N·m) that does it. The unknown of a base is
counted along its freedom, so the row has a single entry, 1 (Adagolodjo et al., IEEE RA-L 2021, section II.C: δ_a).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

import numpy as np

from pliant.actuators.drive import Actuator, ControlRange, DriveRow
from pliant.actuators.joint import JointMemory
from pliant.actuators.limits import Command, Limits, check_rates, per_second
from pliant.actuators.values import Angle, Torque
from pliant.constraints.rows import Rows, RowView
from pliant.core.arrays import csr
from pliant.core.errors import InputError
from pliant.core.types import FloatArray
from pliant.models.body import Model
from pliant.models.rod import Rod, RodModel


@per_second
@dataclass(frozen=True, eq=False)
class BaseDrive(Actuator):
    """Drives the base of `rod`, which is a `pl.Slide` (controls `pl.Displacement` or `pl.Force`) or a `pl.Turn`
    (controls `pl.Angle` or `pl.Torque`).

    `min_force`, `max_force` bound the drive, N (N·m for a turn); `min_displacement`, `max_displacement` what may be
    asked for, m (rad); `max_rate`, m/s (rad/s), and `max_force_rate`, N/s (N·m/s), bound how fast both change.
    Without a control the base moves freely. Angles are followed from step to step and may pass a full turn.
    """

    rod: Rod
    _: KW_ONLY
    min_force: float = -np.inf
    max_force: float = np.inf
    min_displacement: float = -np.inf
    max_displacement: float = np.inf
    max_rate: float = np.inf
    max_force_rate: float = np.inf
    name: str = "base drive"

    def __post_init__(self) -> None:
        if not isinstance(self.rod, Rod):
            raise InputError(f"{self.name!r} drives the base of a pl.Rod, got {self.rod!r}")
        if self.rod.base_turns is None:
            raise InputError(
                f"{self.name!r} has no freedom to drive: the base of {self.rod.name!r} is {self.rod.base!r}; "
                "give the rod base=pl.Slide(axis) or base=pl.Turn(axis)"
            )
        check_rates(self, "max_rate", "max_force_rate")
        if not (self.limits.upper > self.limits.lower and self.limits.most >= self.limits.least):
            raise InputError(f"the limits of {self.name!r} leave nothing between them")

    @property
    def body(self) -> Rod:
        """The rod."""
        return self.rod

    @property
    def bodies(self) -> tuple[Any, ...]:
        """The rod that is driven."""
        return (self.rod,)

    @property
    def turns(self) -> bool:
        """Whether the base turns; otherwise it slides."""
        return self.rod.base_turns is True

    def constraint(self, key: int) -> BaseDriveRows:
        """Its rows, before its bodies are compiled."""
        return BaseDriveRows.of(self, key)

    def control_range(self) -> ControlRange:
        """Its displacement or angle between its limits."""
        return ControlRange.of_travel(self)

    @property
    def limits(self) -> Limits:
        """What the drive may do, N and m, or N·m and rad."""
        return Limits(
            self.min_force,
            self.max_force,
            self.min_displacement,
            self.max_displacement,
            self.max_force_rate,
            self.max_rate,
        )

    @property
    def kinds(self) -> Any:  # type: ignore[override]
        """Angle and torque of a turn, displacement and force of a slide."""
        return ((Angle, "rad"), (Torque, "N·m")) if self.turns else super().kinds


@dataclass(frozen=True, eq=False)
class BaseDriveRows(DriveRow):
    """The row of one base. `start` (4, 3) is its pose when the world begins, `axes` (3, 3) have its freedom as their
    first column, in world axes.
    """

    start: FloatArray = field(default_factory=lambda: np.zeros((4, 3)))
    axes: FloatArray = field(default_factory=lambda: np.eye(3))

    memory_type = JointMemory

    @classmethod
    def of(cls, spec: BaseDrive, key: int) -> BaseDriveRows:
        """The row of `spec`, before its rod is compiled."""
        return cls(spec, key)

    def bound(self, models: Sequence[Model]) -> BaseDriveRows:
        """The row in a world of `models`."""
        number = self.model_number(models)
        model = RodModel.require(models[number], repr(self.spec.name))
        return replace(self, number=number, start=model.rest[:4].copy(), axes=model.basis)

    def displacement(self, q: Sequence[FloatArray]) -> float:
        """How far the base has slid, m, or the angle that it has turned by within half a turn, rad."""
        pose = q[self.number][:4]
        if not self.spec.turns:
            return float((pose[0] - self.start[0]) @ self.axes[:, 0])
        relative = self.axes.T @ pose[1:] @ self.start[1:].T @ self.axes
        return float(np.arctan2(relative[2, 1] - relative[1, 2], relative[1, 1] + relative[2, 2]))

    def rows(self, view: RowView, found: Any = None) -> tuple[Rows, JointMemory | None]:
        """How far the base has moved, and the gradient of that."""
        memory: JointMemory | None = view.memory
        turns, moved = self.spec.turns, self.displacement(view.q)
        before = 0.0 if memory is None else memory.angle
        if turns:
            moved += 2.0 * np.pi * np.round((before - moved) / (2.0 * np.pi))
        H = view.blank(1)
        column = np.array([3 if turns else 0], np.int32)
        H[self.number] = csr(np.ones(1), column, np.array([0, 1], np.int32), H[self.number].shape)
        control = view.controls.get(self.spec, Command(by_force=True, amount=0.0))
        law, lower, upper, target = self.spec.limits.law(
            control,
            view.interval,
            lambda: before if turns else self.displacement(view.start),
            lambda: view.last_force(self.key),
        )
        rows = Rows.of(H, moved, law, lower=lower, upper=upper, target=target, key=self.key)
        return rows, JointMemory(moved) if turns else None
