"""Force points: a push or pull at a point of a body along a direction, as one row.

δ is how far the point has moved along the direction, λ the force, N. In direct simulation it is commanded; in inverse
control it is what a probe or an instrument has to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

import numpy as np

from pliant.actuators.drive import Actuator, DriveRow
from pliant.actuators.limits import Command, Limits, check_rates, per_second
from pliant.constraints.rows import Rows, RowView
from pliant.core.checks import finite_array, unit_vector
from pliant.core.errors import InputError
from pliant.core.types import FloatArray
from pliant.models.body import Model
from pliant.models.point_map import PointMap


@per_second
@dataclass(frozen=True, eq=False)
class ForcePoint(Actuator):
    """A force along `direction` (3,), fixed in the world, on the point (3,) m of `body`, in the frame of its mesh.

    `min_force`, `max_force` bound it, N; `max_displacement` is the farthest that may be asked for, m;
    `max_rate` (m/s) and `max_force_rate` (N/s) bound how fast both change.
    """

    body: Any
    point: Any
    _: KW_ONLY
    direction: Any
    min_force: float = -np.inf
    max_force: float = np.inf
    max_displacement: float = np.inf
    max_rate: float = np.inf
    max_force_rate: float = np.inf
    name: str = "force"

    def __post_init__(self) -> None:
        finite_array(f"point of {self.name!r}", self.point, shape=(3,))
        unit_vector(f"direction of {self.name!r}", self.direction)
        check_rates(self, "max_rate", "max_force_rate")
        if not self.max_force > self.min_force:
            raise InputError(f"max_force of {self.name!r} is {self.max_force:g} N, but min_force {self.min_force:g} N")

    def constraint(self, key: int) -> ForcePointRows:
        """Its rows, before its bodies are compiled."""
        return ForcePointRows.of(self, key)

    @property
    def limits(self) -> Limits:
        """What the instrument may do, N and m."""
        return Limits(
            self.min_force,
            self.max_force,
            most=self.max_displacement,
            force_rate=self.max_force_rate,
            rate=self.max_rate,
        )


@dataclass(frozen=True, eq=False)
class ForcePointRows(DriveRow):
    """The row of one force point."""

    direction: FloatArray = field(default_factory=lambda: np.zeros(3))
    map: PointMap | None = None
    start: float = 0.0

    @classmethod
    def of(cls, spec: ForcePoint, key: int) -> ForcePointRows:
        """The row of `spec`, before its body is compiled."""
        return cls(spec, key, direction=unit_vector("direction", spec.direction))

    def bound(self, models: Sequence[Model]) -> ForcePointRows:
        """The row in a world of `models`."""
        number = self.model_number(models)
        point = finite_array("point", self.spec.point, shape=(3,))[None]
        made = replace(self, number=number, map=models[number].embed(point, what=f"point of {self.name!r}"))
        return replace(made, start=made._moved(models[number].initial()[0]))

    def displacement(self, q: Sequence[FloatArray]) -> float:
        """How far the point has moved along its direction, m."""
        return self._moved(q[self.number])

    def rows(self, view: RowView, found: Any = None) -> tuple[Rows, None]:
        """How far the point has moved, and the gradient of that."""
        q = view.q[self.number]
        H = view.blank(1)
        assert self.map is not None
        H[self.number] = self.map.pull_one(q, self.direction[None])
        control = view.controls.get(self.spec, Command(by_force=True, amount=0.0))
        moved = self._moved(q)
        law, lower, upper, target = self.law(view, control)
        return Rows.of(H, moved, law, lower=lower, upper=upper, target=target, key=self.key), None

    def _moved(self, q: FloatArray) -> float:
        assert self.map is not None
        return float(self.map.points(q)[0] @ self.direction) - self.start
