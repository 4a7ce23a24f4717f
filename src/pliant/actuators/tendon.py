"""Tendons: inextensible strings that run continuously along a rod, at an offset from its axis.

δ = L₀ − L is the shortening and H = −∂L/∂q, with L integrated along the rod (`models.rod.routing`) where a `Cable` has
straight pieces between points. The tension adds λ ∂²L/∂q², which is exact and positive semi-definite.

With guide friction μ the tension falls by e^(−μθ) along a tendon that turns by θ and slips. Each section of the rod has
one tension before its middle and one behind it, related as at the via point of a cable that turns by the angle of the
section.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from pliant.actuators.drive import UNBOUND
from pliant.actuators.limits import per_second
from pliant.actuators.tension import CableMemory, TensionActuator, TensionRows
from pliant.constraints.keys import CABLE_FRICTION, row_keys
from pliant.constraints.row_blocks import RowBlocks
from pliant.constraints.rows import Rows, RowView, Stiffnesses, model_index
from pliant.core.arrays import csr
from pliant.core.checks import finite_array, finite_number
from pliant.core.declared import check_declared
from pliant.core.errors import InputError
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray, IndexArray
from pliant.models.beam.section import section_at
from pliant.models.body import Model
from pliant.models.model import MatrixStiffness
from pliant.models.rod.rod_map import RodMap
from pliant.models.rod.routing import Routing, check_table, covered_ends, sampled

_CLOSED = 0.05
"""Length of the material beside a tendon over that at rest below which it has closed."""


@one_line
@per_second
@dataclass(frozen=True, eq=False)
class Tendon(TensionActuator):
    """A tendon along the rod `body`, from the motor at the arc length `start` to its anchor at `end`.

    The motor stands on the rod, or on what holds its base: the tension acts between both ends of the tendon.

    offset
        Where it runs in the cross-section, from the axis along y and z, m: one offset (2,); a table (k, 3) of arc
        length, y and z, straight between its rows; or a function of the arc length (m) that returns (y, z), sampled
        here at 13 points of each section, between which it is a polynomial.
    start, end
        Arc lengths, m; `end` None is the tip.
    min_force, max_force
        Bounds of the tension, N; min_force ≥ 0.
    max_displacement
        Largest commanded shortening, m.
    max_rate, max_force_rate
        Largest rate of the displacement (m/s) and of the tension (N/s).
    friction
        Coulomb's μ ≥ 0 between the tendon and the material.
    reach
        Largest distance of the tendon outside the rod, m: that of guides on discs.
    """

    body: Any
    offset: Any
    _: KW_ONLY
    start: float = 0.0
    end: float | None = None
    reach: float = 0.0
    name: str = "tendon"

    def __post_init__(self) -> None:
        check_declared(self)
        if not hasattr(self.body, "rest_strains"):
            raise InputError(
                f"{self.name!r} is a Tendon, which runs along a pl.Rod; {getattr(self.body, 'name', self.body)!r} is "
                "none: give a pl.Cable via points"
            )
        super().__post_init__()
        ends, what = self.ends, f"offset of {self.name!r}"
        given = sampled(self.offset, ends, what) if callable(self.offset) else finite_array(what, self.offset)
        if given.ndim == 2 and given.shape[1] == 3:
            check_table(given, float(ends[0]), float(ends[-1]), what)
        elif given.shape not in ((2,), (len(ends) - 1, 13, 2)):
            raise InputError(
                f"{what} must be (y, z) m, a table (k, 3) of arc lengths, y and z, or a function of the arc length, "
                f"got shape {given.shape}"
            )
        object.__setattr__(self, "offset", given)
        self._check_inside()

    @cached_property
    def ends(self) -> FloatArray:
        """Arc lengths, m, that bound what the tendon covers of the sections of the rod."""
        length = float(self.body.lengths.sum())
        start = finite_number(f"start of {self.name!r}", self.start, unit="m")
        end = length if self.end is None else finite_number(f"end of {self.name!r}", self.end, unit="m")
        if not (0.0 <= start < end * (1.0 - 1e-9) and end <= length * (1.0 + 1e-9)):
            raise InputError(
                f"{self.name!r} runs from {start:g} to {end:g} m; {self.body.name!r} goes from 0 to {length:g} m"
            )
        return covered_ends(self.body.lengths, start, min(end, length))

    @cached_property
    def routing(self) -> Routing:
        """Its path along the rod."""
        return Routing.of(self.body, self.ends, self.offset)

    @property
    def rest_length(self) -> float:
        """Length along its path in the rod at rest, m."""
        return float(self.routing.pieces(self.routing.directions(self.body.rest)[0]).sum())

    def constraint(self, key: int) -> TendonRows:
        """Its rows, not yet bound to models."""
        return TendonRows(self, key)

    def _check_inside(self) -> None:
        section, fraction, offset, _ = self.routing.samples
        sections = self.body.section_list
        outlines = [section_at(sections[k], float(t)).outline() for k, t in zip(section, fraction, strict=True)]
        outer = np.array([np.linalg.norm(outline, axis=1).max() for outline in outlines])
        distance = np.linalg.norm(offset, axis=1)
        beyond = distance - (1.0 + 1e-9) * (outer + self.reach)
        if (beyond > 0.0).any():
            worst = int(np.argmax(beyond))
            k, lengths = int(section[worst]), self.body.lengths
            arc = float(lengths[:k].sum() + fraction[worst] * lengths[k])
            raise InputError(
                f"{self.name!r} is {distance[worst]:.3g} m off the axis of {self.body.name!r} at arc length {arc:.3g} "
                f"m, where the section reaches {outer[worst]:.3g} m; move it, or raise reach"
            )


@dataclass(frozen=True, eq=False)
class TendonRows(TensionRows):
    """The rows of one tendon: its motor's, and with friction one for each section that it runs through."""

    spec: Tendon
    key: int
    index: int = -1
    map: RodMap = UNBOUND
    rest_length: float = 0.0

    drawn_as: ClassVar[str | None] = "cable"

    def bound(self, models: Sequence[Model]) -> TendonRows:
        """The rows in a world of `models`."""
        index = model_index(models, self.spec.body)
        model: Any = models[index]
        section, fraction, offset, _ = self.spec.routing.samples
        offset = np.ascontiguousarray(offset)
        points = RodMap(section, fraction, offset, model.spec.lengths, model.spec.active, model.basis)
        made = replace(self, index=index, map=points)
        return replace(made, rest_length=made.length([one.initial()[0] for one in models]))

    @cached_property
    def stiff_keys(self) -> IndexArray:
        """Identities of the rows."""
        inner = self.spec.routing.sections if self.spec.friction else 0
        return np.concatenate([[self.key], row_keys(CABLE_FRICTION, self.key, inner)]).astype(np.int64)

    @property
    def stiff_models(self) -> tuple[int, ...]:
        """Index of the rod."""
        return (self.index,)

    def length(self, q: Sequence[FloatArray]) -> float:
        """Length along the tendon, m."""
        routing = self.spec.routing
        return float(routing.weight @ routing.directions(q[self.index])[0])

    def path(self, q: Sequence[FloatArray]) -> FloatArray:
        """Points along the tendon, (k, 3), m, with the models at q."""
        return self.map.points(q[self.index])

    def rows(self, view: RowView, found: Any = None) -> tuple[Rows, CableMemory | None]:
        """Shortening and its gradient; with friction also the slip in each section."""
        routing, q = self.spec.routing, view.q[self.index]
        motor, memory = self.motor_law(view)
        size, unit = routing.directions(q)
        slopes, pieces = routing.gradients(unit), routing.pieces(size)
        gap = self.rest_length - float(pieces.sum())
        if not self.spec.friction:
            return Rows.drive(self._blocks(view, -slopes[None]), gap, motor, self.key), memory
        beyond = np.triu(np.ones((len(pieces) - 1, len(pieces))), 1)  # the pieces beyond the middle of each section
        slip = beyond @ (pieces - routing.pieces(routing.directions(view.start[self.index])[0]))
        slips = beyond[:, routing.groups, None] * slopes
        H = self._blocks(view, np.concatenate([-slopes[None], slips]))
        return self.capstan_rows(H, motor, gap, slip, routing.turns(q), self.stiff_keys), memory

    def stiffness(self, q: Sequence[FloatArray], lam: FloatArray, scale: float) -> Stiffnesses:
        """`scale` Σ T ∂²L/∂q² at tensions T (N)."""
        if lam[0] > 0.0:
            routing = self.spec.routing
            size, unit = routing.directions(q[self.index])
            tension = np.maximum(scale * self.tensions(lam, routing.sections + 1), 0.0)[routing.groups]
            yield self.index, MatrixStiffness(routing.stiffness(unit, size, tension))

    def obstruction(self, q: Sequence[FloatArray]) -> str | None:
        """Where the material beside the tendon has no length left."""
        routing = self.spec.routing
        size, _ = routing.directions(q[self.index])
        worst = int(np.argmin(size))
        if size[worst] > _CLOSED:
            return None
        return (
            f"{self.name!r} has shortened the material beside it to {100 * size[worst]:.2g} % in section "
            f"{routing.section[worst]} of {self.spec.body.name!r} and cannot get shorter there: pull less"
        )

    def _blocks(self, view: RowView, values: FloatArray) -> RowBlocks:
        """Rows over the models from `values` (m, p, 6) at the points of the path."""
        columns = self.spec.routing.columns
        rows = self.spec.routing.rows(values)[:, columns]
        ends = len(columns) * np.arange(len(rows) + 1, dtype=np.int32)
        H = view.blank(len(rows))
        H[self.index] = csr(rows.ravel(), np.tile(columns, len(rows)), ends, (len(rows), view.sizes[self.index]))
        return H
