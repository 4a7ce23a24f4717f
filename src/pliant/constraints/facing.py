"""Facings: a fixed set of potential contacts, points of one surface with the triangles of another that they may meet.

Where it is clear beforehand which surfaces can meet (the ribs of a spine, the flanks of a notch), points on one and
triangles on the other form a collision model of their own, of any resolution and independent of the mesh. A contact is
a point: its identity persists, and its gap is defined at any distance, as the reduction of contacts needs.

Reference: O. Goury, B. Carrez, C. Duriez, "Real-time simulation for control of soft robots with self-collisions using
model order reduction for contact forces", IEEE RA-L 6, 2021, section IV.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from pliant.collision import CollisionSurface, ContactKind, ContactSet, side_rows
from pliant.collision.contacts import check_capacity, key_base
from pliant.collision.narrow.facing import FacingGaps, FacingTable
from pliant.constraints.colliders import Collider
from pliant.constraints.contact import ContactPair
from pliant.constraints.contact_memory import ContactMemory
from pliant.constraints.memory import as_saved
from pliant.constraints.rows import Rows, RowView, model_index
from pliant.core.checks import check_array, check_indices, finite_array, non_negative, positive
from pliant.core.declared import check_declared
from pliant.core.errors import InputError
from pliant.core.immutable import standing_for
from pliant.core.one_line import one_line
from pliant.core.types import BoolArray, FloatArray, IntArray
from pliant.models.body import Model
from pliant.models.motion_bound import EmbeddedGroups, approach_bound


@one_line
@dataclass(frozen=True, eq=False)
class Facing:
    """Points of `body` that may touch triangles of `other`, which may be the same body.

    points
        (p, 3) m, in the frame in which the body was made, as for cables; they are embedded in it.
    corners, triangles
        Points (c, 3) m of `other`, in its frame, and triangles (t, 3) over them, counter-clockwise where they are
        touched. They need not be closed.
    point_group, triangle_group
        (p,) and (t,) integers: a point may touch the triangles of its own group. None: one group.
    friction
        Coulomb's μ ≥ 0.
    margin
        Distance, m, within which points are in contact; None: half the mean edge of the triangles.
    reach
        Largest distance of points and corners outside a mesh, or a section of a beam or a rod, m.
    """

    body: Any
    other: Any
    points: Any
    corners: Any
    triangles: Any
    _: KW_ONLY
    point_group: Any = None
    triangle_group: Any = None
    friction: float = 0.0
    margin: float | None = None
    reach: float = 0.0
    name: str = "facing"

    def __post_init__(self) -> None:
        check_declared(self)
        points = finite_array(f"points of {self.name!r}", self.points, shape=(None, 3))
        finite_array(f"corners of {self.name!r}", self.corners, shape=(None, 3))
        if not len(points):
            raise InputError(f"{self.name!r} has no points, so nothing could touch")
        non_negative(f"friction of {self.name!r}", self.friction)
        non_negative(f"reach of {self.name!r}", self.reach, unit="m")
        if self.margin is not None:
            positive(f"margin of {self.name!r}", self.margin, unit="m")
        if (self.point_group is None) != (self.triangle_group is None):
            raise InputError(f"{self.name!r} needs both point_group and triangle_group, or neither")
        for what, count in (("point_group", len(points)), ("triangle_group", len(np.asarray(self.triangles)))):
            given = getattr(self, what)
            if given is not None and (np.shape(given) != (count,) or np.asarray(given).dtype.kind not in "iu"):
                raise InputError(f"{what} of {self.name!r} must be integers of shape ({count},), got {np.shape(given)}")

    @property
    def bodies(self) -> tuple[Any, ...]:
        """The bodies of points and triangles, each once."""
        return (self.body,) if self.other is self.body else (self.body, self.other)

    @cached_property
    def mean_edge(self) -> float:
        """Mean length of the sides of the triangles, m."""
        corners = np.asarray(self.corners, np.float64)[np.asarray(self.triangles)]
        return float(np.linalg.norm(corners - corners[:, [1, 2, 0]], axis=2).mean())


@dataclass(frozen=True, eq=False)
class FacingMemory(ContactMemory):
    """Contacts within the margin and their frames; `nearest` (p,) is the triangle nearest to each point and `least`
    (g,) m the smallest gap of each group when it was last evaluated, `reference_a` and `reference_b` the configuration
    of its two sides then.
    """

    nearest: IntArray
    least: FloatArray
    reference_a: FloatArray = field(metadata=as_saved("place_a"))
    reference_b: FloatArray = field(metadata=as_saved("place_b"))

    @property
    def reference(self) -> tuple[FloatArray, FloatArray]:
        """The configurations of both sides."""
        return self.reference_a, self.reference_b


@dataclass(frozen=True, eq=False, kw_only=True)
class FacingPair(ContactPair):
    """The rows of a `Facing`: side a are its points, side b its triangles."""

    spec: Facing
    table: FacingTable

    memory_type: ClassVar[type[ContactMemory]] = FacingMemory
    can_cross: ClassVar[bool] = False

    @classmethod
    def build(cls, spec: Facing, models: Sequence[Model], pair: int) -> FacingPair:
        """The pair of `spec` in a world of `models`, with the index `pair`."""
        a = _side(spec, spec.body, spec.points, "points", models)
        b = _side(spec, spec.other, spec.corners, "corners", models)
        assert b.index is not None
        rest = b.map.points(models[b.index].initial()[0])
        surface = CollisionSurface.build(spec.triangles, rest)
        groups = (
            np.zeros(count, np.int64) if given is None else given
            for given, count in ((spec.point_group, len(a.nodes)), (spec.triangle_group, len(surface.triangles)))
        )
        margin = 0.5 * spec.mean_edge if spec.margin is None else float(spec.margin)
        table = FacingTable.build(surface, *groups)
        return cls(a, b, float(spec.friction), margin, pair, spec=spec, table=table)

    def carried(self, index: int) -> None:
        """Its points are samples of the facets at rest."""

    @property
    def name(self) -> str:
        """Name of the facing."""
        return self.spec.name

    @property
    def handles(self) -> tuple[Any, ...]:
        """The handle that names the pair: the facing."""
        return (self.handle,)

    def with_friction(self, mu: float) -> FacingPair:
        """The facing with another coefficient of friction."""
        return replace(self, mu=mu, spec=standing_for(replace(self.spec, friction=mu), self.spec))

    @property
    def count(self) -> int:
        """Number of potential contacts."""
        return len(self.a.nodes)

    def check_memory(self, memory: Any) -> None:
        """An error where `memory` is none that this facing may have left."""
        super().check_memory(memory)
        self.check_points(memory)

    def check_points(self, memory: FacingMemory) -> None:
        """An error where nearest triangles, gaps or references of `memory` are not those of this facing's groups."""
        check_array(f"nearest triangles of {self.name!r}", memory.nearest, (self.count,), np.int32)
        check_indices(f"nearest triangles of {self.name!r}", memory.nearest, 0, len(self.table.surface.triangles))
        check_array(f"gaps of the groups of {self.name!r}", memory.least, (self.table.group_count,))
        for side, then in zip(self._sides, memory.reference, strict=True):
            if then.shape[:2] != side.pieces.shape or then.dtype != np.float64:
                raise InputError(f"the reference configuration of {self.name!r} has a wrong shape, {then.shape}")

    def constrains(self, index: int) -> bool:
        """Whether body `index` may rest on another."""
        return self.a.index != self.b.index and index in (self.a.index, self.b.index)

    def gaps(self, view: RowView, nearest: IntArray | None = None) -> FacingGaps:
        """Gaps of all points, at any distance; `nearest` (p,) are their previous triangles."""
        return self.table.gaps(self.a.map.points(self.a.q(view)), self.b.map.points(self.b.q(view)), nearest)

    def key(self, points: Any) -> Any:
        """Identities of the contacts of `points` (k,)."""
        return key_base(ContactKind.VERTEX_FACE, self.pair) + np.asarray(points, np.int64)

    def stale(self, view: RowView, memory: FacingMemory | None) -> BoolArray:
        """Which groups (g,) may have a point within the margin, by the relative motion of the sides since `memory`."""
        if memory is None:
            return np.ones(self.table.group_count, np.bool_)
        for side, then in zip(self._sides, memory.reference, strict=True):
            if then.shape[:2] != side.pieces.shape or len(memory.least) != self.table.group_count:
                raise InputError(f"the state's memory of {self.name!r} is of another facing; use a state of this world")
        motion = approach_bound(self._sides, (self.a.q(view), self.b.q(view)), memory.reference)
        return np.asarray(~(motion < memory.least - self.margin))

    def look(
        self, view: RowView, groups: BoolArray, memory: FacingMemory | None, seen: FacingGaps | None = None
    ) -> tuple[FacingGaps, FacingMemory]:
        """Gaps of the points of `groups` (g,), added to those `seen`, and the memory of them without contacts."""
        q = self.a.q(view), self.b.q(view)
        found = self.gaps_of(view, groups, memory, seen)
        if memory is None:
            stands = [side.ends(x) for side, x in zip(self._sides, q, strict=True)]
        else:
            parts = zip(self._sides, memory.reference, q, strict=True)
            stands = [side.updated(then, x, groups) for side, then, x in parts]
        least = found.least if memory is None else np.where(groups, found.least, memory.least)
        none = np.zeros((0, self.width, 3))
        return found, FacingMemory(self._none, none, found.face, least, *stands)

    def gaps_of(
        self, view: RowView, groups: BoolArray, memory: FacingMemory | None, seen: FacingGaps | None = None
    ) -> FacingGaps:
        """Gaps of the points of `groups` (g,), added to those already `seen`."""
        glance = self.table.glance(groups)
        if glance is self.table.whole:
            return self.gaps(view, None if memory is None else memory.nearest)
        assert memory is not None
        points = self.a.map.selected(glance.points).points(self.a.q(view))
        corners = self.b.map.selected(glance.corners).points(self.b.q(view))
        return self.table.gaps(points, corners, memory.nearest, glance=glance, into=seen)

    @cached_property
    def _sides(self) -> tuple[EmbeddedGroups, EmbeddedGroups]:
        """What carries the points and the corners of each group."""
        count, corners = self.table.group_count, self.table.seen_corners
        points = np.arange(self.count), self.table.group
        return (EmbeddedGroups.build(self.a.map, *points, count), EmbeddedGroups.build(self.b.map, *corners, count))

    @property
    def width(self) -> int:
        """Rows of a contact."""
        return 3 if self.mu else 1

    def detect(self, view: RowView) -> Any:
        """Contacts within the margin, as a memory without frames; groups that cannot be near are not evaluated."""
        memory: FacingMemory | None = view.memory
        groups = self.stale(view, memory)
        if memory is not None and not groups.any():
            return self.still(memory)
        seen, found = self.look(view, groups, memory)
        contacts = self.contacts(seen, np.flatnonzero(seen.gap <= self.margin))
        check_capacity(contacts.count, self.capacity)
        return replace(found, contacts=contacts)

    def rows(self, view: RowView, found: Any) -> tuple[Rows, Any]:
        """Rows of the contacts `found`."""
        contacts = found.contacts
        frames = self.frames_of(contacts, view.memory) if contacts.count else found.frames
        return self.contact_rows(view, contacts, frames), replace(found, frames=frames)

    def still(self, memory: FacingMemory) -> FacingMemory:
        """The memory of a step that evaluates nothing."""
        return replace(memory, contacts=self._none, frames=np.zeros((0, self.width, 3)))

    def contacts(self, seen: FacingGaps, points: Any) -> ContactSet:
        """The contacts of `points` (m,), ascending, from the gaps `seen`."""
        count, faces = len(points), seen.face[points]
        nodes_a, weights_a = np.full((count, 3), -1, np.int32), np.zeros((count, 3))
        nodes_a[:, 0], weights_a[:, 0] = points, 1.0
        normal, gap, point = seen.normal[points], seen.gap[points], seen.points[points]
        return ContactSet(
            kind=np.full(count, ContactKind.VERTEX_FACE, np.uint8), key=self.key(points), face=faces,
            nodes_a=nodes_a, weights_a=weights_a,
            nodes_b=self.table.surface.triangles[faces], weights_b=seen.weights[points],
            normal=normal, gap=gap, point_a=point, point_b=point - gap[:, None] * normal,
            point_count_a=self.count, point_count_b=len(self.table.surface.rest),
        )  # fmt: skip

    def contact_set(self, view: RowView, previous: ContactSet | None) -> ContactSet:
        """Contacts within the margin at the positions of `view`."""
        seen = self.gaps(view)
        return self.contacts(seen, np.flatnonzero(seen.gap <= self.margin))

    def overlap(self, view: RowView) -> float:
        """Largest depth of a point behind its triangles, m; 0 without any."""
        return max(0.0, -float(self.gaps(view).gap.min()))

    def outrun(self, view: RowView, memory: Any) -> float:
        """Largest depth of points without a row at the end of the step, m."""
        if memory is None:
            return 0.0
        groups = self.stale(view, memory)
        if not groups.any():
            return 0.0
        gap = self.gaps_of(view, groups, memory).gap
        gap[memory.contacts.nodes_a[:, 0]] = 0.0
        return -float(gap.min())

    @cached_property
    def _none(self) -> ContactSet:
        return ContactSet.empty(self.count, len(self.table.surface.rest))

    def _gradient(self, view: RowView, first: bool, contacts: ContactSet, directions: FloatArray) -> sparse.csr_matrix:
        """Rows of one side over its model, through the points and corners in contact only."""
        if first:
            return self.a.map.selected(contacts.nodes_a[:, 0]).pull_back_along(self.a.q(view), directions)
        used, corners = np.unique(contacts.nodes_b, return_inverse=True)
        nodes = corners.reshape(-1, 3).astype(np.int32, copy=False)
        over = side_rows(nodes, -contacts.weights_b, directions, len(used))
        return self.b.map.selected(used).pull_back(self.b.q(view), over)


def _side(spec: Facing, body: Any, points: Any, what: str, models: Sequence[Model]) -> Collider:
    index = model_index(models, body)
    where = np.asarray(points, np.float64)
    embedded = models[index].embed(where, what=f"{what} of {spec.name!r} on {body.name!r}", reach=spec.reach)
    return Collider(body, index, embedded, np.arange(len(where), dtype=np.int32), None, None, 0.0)
