"""Force points: a force at a point of a body along a fixed direction, as one row.

δ is the displacement of the point along the direction, m, λ the force, N. In inverse problems it stands for a probe.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

from pliant.actuators.drive import UNBOUND, DriveRow, ForceActuator
from pliant.actuators.limits import per_second
from pliant.constraints.rows import Rows, RowView
from pliant.core.checks import finite_array, unit_vector
from pliant.core.declared import check_declared
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray
from pliant.models.body import Model
from pliant.models.point_map import PointMap


@one_line
@per_second
@dataclass(frozen=True, eq=False)
class ForcePoint(ForceActuator):
    """A force along `direction` (3,), fixed in the world, on the point (3,) m of `body`, in the frame of its mesh.

    `min_force`, `max_force` bound it, N; `max_displacement` is the largest command, m; `max_rate` (m/s) and
    `max_force_rate` (N/s) bound the rates of both.
    """

    body: Any
    point: Any
    _: KW_ONLY
    direction: Any
    name: str = "force"

    def __post_init__(self) -> None:
        check_declared(self)
        finite_array(f"point of {self.name!r}", self.point, shape=(3,))
        unit_vector(f"direction of {self.name!r}", self.direction)
        super().__post_init__()

    def constraint(self, key: int) -> ForcePointRows:
        """Its row, not yet bound to models."""
        return ForcePointRows(self, key, direction=unit_vector("direction", self.direction))


@dataclass(frozen=True, eq=False)
class ForcePointRows(DriveRow):
    """The row of one force point."""

    direction: FloatArray = UNBOUND
    map: PointMap = UNBOUND
    start: float = 0.0

    def bound(self, models: Sequence[Model]) -> ForcePointRows:
        """The row in a world of `models`."""
        index = self.model_index(models)
        point = finite_array("point", self.spec.point, shape=(3,))[None]
        made = replace(self, index=index, map=models[index].embed(point, what=f"point of {self.name!r}"))
        return replace(made, start=made._moved(models[index].initial()[0]))

    def carried(self, index: int) -> list[Any]:
        """Its point."""
        return [(self.map, lambda points: replace(self, map=points))]

    def displacement(self, q: Sequence[FloatArray]) -> float:
        """Displacement of the point along its direction, m."""
        return self._moved(q[self.index])

    def rows(self, view: RowView, found: Any = None) -> tuple[Rows, None]:
        """Displacement of the point and its gradient."""
        q = view.q[self.index]
        return self.row(view, self._moved(q), self.map.pull_back_row(q, self.direction[None])), None

    def _moved(self, q: FloatArray) -> float:
        return float(self.map.points(q)[0] @ self.direction) - self.start
