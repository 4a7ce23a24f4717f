"""What collides: a body, or an obstacle, as points, triangles and a solid that detection can use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from pliant.collision import CollisionSurface, MeshObstacle
from pliant.constraints.rows import RowView
from pliant.core.types import FloatArray, IntArray
from pliant.models.beam import BeamModel
from pliant.models.beam.beam_map import BeamMap, sampled
from pliant.models.body import Model
from pliant.models.rigid import Obstacle, RigidModel
from pliant.models.rigid.frame_map import FrameMap
from pliant.models.rod import RodModel
from pliant.models.rod.rod_map import RodMap
from pliant.models.volume import VolumeModel
from pliant.models.volume.barycentric import NodeMap


@dataclass(frozen=True, eq=False)
class Collider:
    """One side of a colliding pair.

    `number` is that of its model, None for an obstacle. `nodes` (s,) are the points that may touch others, each with
    a ball of `radius` m, or of its own of `radii` (points,), of which that is the largest; `surface` is None where it
    has no triangles, `solid` where distances are taken from the triangles. `shells` (points,) numbers the closed shells
    of a surface, −1 inside the body; None where there is one: the wall of a chamber never meets the outside.
    """

    handle: Any
    number: int | None
    map: Any
    nodes: IntArray
    surface: CollisionSurface | None
    solid: Any
    radius: float
    radii: FloatArray | None = None
    shells: IntArray | None = None

    @classmethod
    def of(cls, handle: Any, models: Sequence[Model], *, exclude: Any = None) -> Collider:
        """The collider of a body or an obstacle; surface nodes of a volume in the region `exclude` take no part."""
        for number, model in enumerate(models):
            if model.spec is handle and isinstance(model, VolumeModel):
                return cls._of_volume(model, number, exclude)
            if model.spec is handle and isinstance(model, BeamModel):
                return cls._of_beam(model, number, exclude)
            if model.spec is handle and isinstance(model, RodModel):
                return cls._of_rod(model, number, exclude)
            if model.spec is handle and isinstance(model, RigidModel):
                return cls._of_shape(handle, number)
        assert isinstance(handle, Obstacle)
        return cls._of_shape(handle, None)

    @classmethod
    def _of_volume(cls, model: VolumeModel, number: int, exclude: Any) -> Collider:
        triangles = model.mesh.surface().triangles
        region = None
        if exclude is not None:
            region = ~exclude.select(model.spec.mesh.points)[triangles].any(axis=1)
        surface = CollisionSurface.build(triangles, model.rest, region=region)
        return cls(model.spec, number, NodeMap(), surface.nodes, surface, None, 0.0, shells=_shells(model))

    @classmethod
    def _of_beam(cls, model: BeamModel, number: int, exclude: Any) -> Collider:
        """Balls along the axis; those whose points at rest lie in the region `exclude` take no part."""
        riding = sampled(model, model.spec.contact_points)
        nodes = np.arange(len(riding.coordinate), dtype=np.int32)
        if exclude is not None:
            ends = model.spec.node_points[riding.nodes]
            places = ends[:, 0] + riding.coordinate[:, None] * (ends[:, 1] - ends[:, 0])
            nodes = nodes[~exclude.select(places)]
        return cls(model.spec, number, riding, nodes, None, None, model.spec.section.radius)

    @classmethod
    def _of_rod(cls, model: RodModel, number: int, exclude: Any) -> Collider:
        """Balls along the axis; those whose points at rest, as the rod was made, lie in `exclude` take no part."""
        spec = model.spec
        starts, inner = np.cumsum([0.0, *spec.lengths[:-1]]), np.arange(1, spec.contact_points + 1)
        along = (starts[:, None] + spec.lengths[:, None] * inner / spec.contact_points).ravel()
        riding = RodMap.at(model, np.concatenate([[0.0], np.minimum(along, spec.lengths.sum())]))
        nodes = np.arange(len(riding.section), dtype=np.int32)
        if exclude is not None:
            nodes = nodes[~exclude.select(riding.points(spec.start))]
        radii = np.array([section.radius for section in spec.section_list])[riding.section]
        return cls(spec, number, riding, nodes, None, None, float(radii.max()), radii)

    @classmethod
    def _of_shape(cls, handle: Any, number: int | None) -> Collider:
        shape = handle.shape
        surface = None
        if number is not None and len(shape.triangles):
            surface = CollisionSurface.build(shape.triangles, shape.points)
        nodes = np.arange(len(shape.points), dtype=np.int32)
        return cls(handle, number, FrameMap(shape.points), nodes, surface, shape.solid, shape.radius)

    @property
    def name(self) -> str:
        """How the body or obstacle is called."""
        return str(self.handle.name)

    def ball_radii(self, nodes: IntArray) -> FloatArray:
        """Radii (k,) m of the balls around the points `nodes` (k,)."""
        return np.full(len(nodes), self.radius) if self.radii is None else self.radii[nodes]

    def q(self, view: RowView) -> FloatArray:
        """Positions or pose in the step: of a model at the displacement so far, of an obstacle at the end of the
        step.
        """
        if self.number is None:
            pose: FloatArray = self.handle.pose(view.time)
            return pose
        return np.asarray(view.q[self.number])

    def depth_of(self, other: Collider, view: RowView) -> float:
        """How deep points of `other` lie inside this body, m; 0 where none does."""
        if self.solid is None and self.surface is None:  # balls along an axis are all there is, and detection sees them
            return 0.0
        points, q = other.map.points(other.q(view))[other.nodes], self.q(view)
        if self.solid is not None:
            points, solid = (points - q[0]) @ q[1:], self.solid
        else:
            assert self.surface is not None
            points = points[((points > q.min(axis=0)) & (points < q.max(axis=0))).all(axis=1)]
            solid = MeshObstacle(q, self.surface.triangles) if len(points) else None
        return max(0.0, -float(solid.distance(points).gap.min())) if len(points) else 0.0

    def q_start(self, view: RowView) -> FloatArray:
        """Positions or pose at the start of the step."""
        if self.number is None:
            pose: FloatArray = self.handle.pose(view.time - view.dt)
            return pose
        return np.asarray(view.start[self.number])

    def velocities(self, view: RowView) -> FloatArray:
        """Velocities of the points of the side at the start of the step, (k, 3), m/s; those of its nodes or its box."""
        if self.number is None:
            if self.handle.motion is None or not view.dt:
                return np.zeros((1, 3))
            start, end = self.handle.pose(view.time - view.dt), self.handle.pose(view.time)
            moved: FloatArray = (end[:1] - start[:1]) / view.dt
            return moved
        v = np.asarray(view.speeds[self.number])
        if isinstance(self.map, NodeMap):
            return v
        if isinstance(self.map, BeamMap):
            return np.asarray(v[:, 0])
        if isinstance(self.map, RodMap):
            return self.map.velocities(view.start[self.number], v)
        arms = self.map.local @ view.start[self.number][1:].T
        return np.asarray(v[0] + np.cross(v[1], arms))

    def drift(self, view: RowView, points: FloatArray) -> FloatArray:
        """How far the points of an obstacle that stand at `points` (m, 3) at the end of the step moved in it, m."""
        if self.number is not None or self.handle.motion is None:
            return np.zeros_like(points)
        start, end = self.handle.pose(view.time - view.dt), self.handle.pose(view.time)
        local = (points - end[0]) @ end[1:]
        drift: FloatArray = points - (start[0] + local @ start[1:].T)
        return drift

    def pull(self, view: RowView, H: sparse.csr_matrix) -> sparse.csr_matrix:
        """Rows over the unknowns of the model from rows over its points."""
        return self.map.pull(self.q(view), H)

    def pull_at(
        self, view: RowView, points: FloatArray, directions: FloatArray, balls: IntArray | None = None
    ) -> sparse.csr_matrix:
        """Rows (m w, unknowns) of world `points` (m, 3), m, each along its `directions` (m, w, 3): points that move
        with a rigid frame, or with the `balls` (m,) of a beam or a rod on which they stand.
        """
        pose = self.q(view)
        if isinstance(self.map, (BeamMap, RodMap)):
            return self.map.selected(balls).carrying(pose, points).pull_along(pose, directions)
        return FrameMap((points - pose[0]) @ pose[1:]).pull_along(pose, directions)


def _shells(model: VolumeModel) -> IntArray | None:
    """Number of the shell that each node of a volume is on, (n,), −1 for inner nodes; None where there is one shell."""
    parts = model.mesh.surface().components()
    if len(parts) == 1:
        return None
    shells = np.full(model.mesh.node_count, -1, np.int32)
    for shell, part in enumerate(parts):
        shells[part.nodes] = shell
    return shells
