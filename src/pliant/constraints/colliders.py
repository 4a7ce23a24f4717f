"""Colliders: a body or an obstacle as the points, triangles and solid that detection uses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from operator import is_
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from pliant.collision import CollisionSurface, Distance, Plane, Pose
from pliant.collision.solids.surface_distance import SurfaceDistance
from pliant.collision.speculative import fastest_approach
from pliant.constraints.rows import RowView
from pliant.core.immutable import handle_of
from pliant.core.types import FloatArray, IntArray
from pliant.models.body import Model
from pliant.models.point_map import PointMap

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Collider:
    """One side of a colliding pair, from the `models.surfaces.ContactShape` of a body or an obstacle.

    `index` is that of its model, None for an obstacle.
    """

    handle: Any
    index: int | None
    map: PointMap
    nodes: IntArray
    surface: CollisionSurface | None
    solid: Any
    radius: float
    radii: FloatArray | None = None
    shells: IntArray | None = None
    facets: CollisionSurface | None = None

    @classmethod
    def of(cls, handle: Any, models: Sequence[Model], *, exclude: Any = None) -> Collider:
        """The collider of a body or an obstacle, without the surface nodes of a volume in the region `exclude`."""
        handle = handle_of(handle)
        index = next((k for k, model in enumerate(models) if model.handle is handle), None)
        shape = handle.contact_shape() if index is None else models[index].contact_shape(exclude)
        return cls(handle, index, **{part.name: getattr(shape, part.name) for part in fields(shape)})

    @property
    def name(self) -> str:
        """Name of the body or obstacle."""
        return str(self.handle.name)

    def ball_radii(self, nodes: IntArray) -> FloatArray:
        """Radii (k,) m of the balls around the points `nodes` (k,)."""
        return np.full(len(nodes), self.radius) if self.radii is None else self.radii[nodes]

    def q(self, view: RowView) -> FloatArray:
        """Positions or pose: of a model at the displacement so far, of an obstacle at the end of the step."""
        return np.asarray(self.handle.pose(view.time) if self.index is None else view.q[self.index])

    @property
    def is_solid_surface(self) -> bool:
        """Whether it is the solid inside a closed surface."""
        return self.surface is not None and self.surface.closed

    @property
    def cells(self) -> IntArray | None:
        """Tetrahedra (m, 4) of the solid between its points; None where it has no such cells."""
        mesh: Any = getattr(self.handle, "mesh", None)
        if self.index is None or getattr(mesh, "element", None) != "tet4":
            return None
        return np.asarray(mesh.cells)

    def points(self, view: RowView) -> FloatArray:
        """The points at the positions of `view`, (n, 3), m."""
        q = self.q(view)
        return self.once(view, "points", (q,), lambda: self.map.points(q))

    def pose(self, view: RowView) -> Pose:
        """The surface at the positions of `view`."""
        surface, q = self.surface, self.q(view)
        assert surface is not None
        return self.once(view, "pose", (q,), lambda: surface.at(self.points(view)))

    def once(self, view: RowView, name: str, sources: tuple[Any, ...], make: Callable[[], T]) -> T:
        """``make()``, of which the pairs of a body share the last result while its `sources` are the same objects."""
        if view.workspace is None or self.index is None:
            return make()
        kept: dict[str, tuple[tuple[Any, ...], Any]] = view.workspace.once(self, Collider, dict)
        known = kept.get(name)
        if known is not None and all(map(is_, known[0], sources)):
            value: T = known[1]
            return value
        value = make()
        kept[name] = sources, value
        return value

    def facets_at(self, view: RowView) -> Pose:
        """The facets of an obstacle at the end of the step."""
        return self._fixed_facets if self.handle.motion is None else self._moved_facets(self.q(view))

    @cached_property
    def _fixed_facets(self) -> Pose:
        return self._moved_facets(self.handle.pose(0.0))

    def _moved_facets(self, pose: FloatArray) -> Pose:
        assert self.facets is not None
        return self.facets.at(self.map.points(pose))

    def world_distance(self, view: RowView) -> Callable[[FloatArray], Distance]:
        """Signed distance of world points (p, 3) m from the solid, with normals and feet in world axes."""
        q, solid = self.q(view), self.solid

        def distance(points: FloatArray) -> Distance:
            gap, normal, foot = solid.distance((points - q[0]) @ q[1:])
            return Distance(gap, normal @ q[1:].T, q[0] + foot @ q[1:].T)

        return distance

    def predicted_motion(self, view: RowView) -> FloatArray | None:
        """Motion (n, 3) m of the points from their positions in `view` to the end of the step at the velocities of its
        start; None where the velocities are those of other points. An obstacle is at its end already.
        """
        if self.index is None:
            return np.zeros((max(len(self.points(view)), 1), 3))
        sources = self.q(view), view.start[self.index], view.speeds[self.index], view.dt
        return self.once(view, "motion", sources, lambda: self._predicted(view))

    def _predicted(self, view: RowView) -> FloatArray | None:
        points, velocities = self.points(view), self.velocities(view)
        if velocities.shape != points.shape:
            return None
        motion: FloatArray = self.map.points(self.q_start(view)) + view.dt * velocities - points
        return motion

    def depth(self, view: RowView) -> Callable[[FloatArray], FloatArray]:
        """Depth (p,) m of world points (p, 3) m inside the solid, negative outside."""
        q, solid = self.q(view), self.solid
        return lambda points: -solid.distance((points - q[0]) @ q[1:]).gap

    def depth_of_points(self, pose: Pose, view: RowView) -> float:
        """Depth of points of this solid, such as corners of a box, inside the surface `pose`, m; 0 where none is."""
        points = self.map.points(self.q(view))[self.nodes]
        low, high = pose.points.min(axis=0), pose.points.max(axis=0)
        points = points[((points > low) & (points < high)).all(axis=1)]
        if not len(points):
            return 0.0
        found = SurfaceDistance(pose)(points)
        return max(0.0, -float(np.where(found.takes_part, found.gap, 0.0).min()))

    def q_start(self, view: RowView) -> FloatArray:
        """Positions or pose at the start of the step."""
        return np.asarray(
            self.handle.pose(view.time - (view.interval or view.dt)) if self.index is None else view.start[self.index]
        )

    def ends(self, view: RowView) -> tuple[FloatArray, FloatArray]:
        """Points at the start and at the end of the step, (n, 3) m; one at the origin where it has none."""
        start, end = (self.map.points(q)[self.nodes] for q in (self.q_start(view), self.q(view)))
        return (start, end) if len(end) else (np.zeros((1, 3)), np.zeros((1, 3)))

    def can_meet(self, other: Collider, approach: float, theirs: FloatArray, own: FloatArray, view: RowView) -> bool:
        """Whether both were so near that they can have met after an `approach` (m), with points `theirs` (n, 3) and
        `own` (m, 3) m at the start of the step.
        """
        reach = approach + self.radius + other.radius
        if self.surface is None and self.solid is not None:
            if other.surface is not None and not isinstance(self.solid, Plane):  # faces may be nearer than corners
                reach += other.surface.longest_edge
            pose = self.q_start(view)
            return bool((self.solid.distance((theirs - pose[0]) @ pose[1:]).gap <= reach).any())
        return bool((theirs.min(axis=0) <= own.max(axis=0) + reach).all()) and bool(
            (own.min(axis=0) <= theirs.max(axis=0) + reach).all()
        )

    def velocities(self, view: RowView) -> FloatArray:
        """Velocities (k, 3), m/s, at the start of the step of what carries the points: nodes, or corners of a box."""
        if self.index is None:
            if self.handle.motion is None or not view.dt:
                return np.zeros((1, 3))
            moved: FloatArray = (self.q(view)[:1] - self.q_start(view)[:1]) / view.dt
            return moved
        q, v = view.start[self.index], view.speeds[self.index]
        return self.once(view, "velocities", (q, v), lambda: self.map.carrier_velocities(q, np.asarray(v)))

    def fastest_approach(self, other: Collider, view: RowView) -> float:
        """Largest speed, m/s, at which this side approaches the `other`; of all that stand still it is the same."""
        own, theirs = self.velocities(view), other.velocities(view)
        if other.index is None and other.handle.motion is None:
            return self.once(view, "fastest approach", (own,), lambda: fastest_approach(own, theirs))
        return fastest_approach(own, theirs)

    def drift(self, view: RowView, points: FloatArray) -> FloatArray:
        """Displacement (m, 3), m, in the step of the points of an obstacle that end at `points` (m, 3)."""
        if self.index is not None or self.handle.motion is None:
            return np.zeros_like(points)
        start, end = self.q_start(view), self.q(view)
        return np.asarray(points - (start[0] + (points - end[0]) @ end[1:] @ start[1:].T))

    def pull_back(self, view: RowView, H: sparse.csr_matrix) -> sparse.csr_matrix:
        """Rows over the unknowns of the model from rows over its points."""
        return self.map.pull_back(self.q(view), H)

    def pull_at(
        self, view: RowView, points: FloatArray, directions: FloatArray, balls: IntArray | None = None
    ) -> sparse.csr_matrix:
        """Rows (m w, unknowns) of `points` (m, 3) m on the frame or the `balls` (m,), along `directions` (m, w, 3)."""
        pose = self.q(view)
        carriers = self.map if balls is None else self.map.selected(balls)
        return carriers.carrying(pose, points).pull_back_along(pose, directions)
