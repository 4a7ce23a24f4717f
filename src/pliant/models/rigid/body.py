"""Definition of rigid bodies and obstacles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import numpy as np

from pliant.collision import Box, Capsule, CollisionSurface, Cylinder, MeshObstacle, Pipe, Plane, Sphere, Tubes
from pliant.core.checks import check_array, check_indices, finite_array, non_negative, positive
from pliant.core.declared import check_declared
from pliant.core.errors import InputError
from pliant.core.lie import rotation_exp
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray, IntArray
from pliant.mesh import Surface
from pliant.models.body import Body, ContactRole
from pliant.models.pieces import Ends
from pliant.models.rigid.frame_map import FrameMap, FramePieces
from pliant.models.rigid.inertia import box_triangles, solid_moments
from pliant.models.surfaces import ContactShape

_UNMOVED = np.vstack([np.zeros(3), np.eye(3)])


@dataclass(frozen=True, eq=False)
class Shape:
    """Geometry of a rigid thing in its own frame.

    `solid` gives signed distances; `points` (p, 3) m and `triangles` (t, 3) make contact, each point with a ball of
    `radius` m around it (a sphere is one point and its radius; a plane has none).
    """

    solid: Any
    points: FloatArray = field(default_factory=lambda: np.zeros((0, 3)))
    triangles: IntArray = field(default_factory=lambda: np.zeros((0, 3), np.int32))
    radius: float = 0.0

    def __post_init__(self) -> None:
        if not callable(getattr(self.solid, "distance", None)):
            raise InputError(f"the solid of a shape is a ball, a box, a mesh…, got {type(self.solid).__name__}")
        check_array("points of a shape", self.points, (len(self.points), 3))
        check_array("triangles of a shape", self.triangles, (len(self.triangles), 3), np.int32)
        check_indices("triangles of a shape", self.triangles, 0, len(self.points))
        non_negative("radius of a shape", self.radius, unit="m")

    def contact_shape(self, *, moves: bool) -> ContactShape:
        """Geometry for contacts: triangles with a surface of their own where it `moves`, else facets of its solid."""
        surface = None
        if isinstance(self.solid, MeshObstacle):
            surface = self.solid.surface  # oriented outward
        elif len(self.triangles):
            surface = CollisionSurface.build(self.triangles, self.points)
        nodes = np.arange(len(self.points), dtype=np.int32)
        own, facets = (surface, None) if moves else (None, surface)
        return ContactShape(FrameMap(self.points), nodes, own, self.solid, self.radius, facets=facets)


def sphere_shape(radius: float) -> Shape:
    """A ball about the origin."""
    radius = positive("radius of a sphere", radius, unit="m")
    return Shape(Sphere(np.zeros(3), radius), np.zeros((1, 3)), radius=radius)


def box_shape(size: Any) -> Shape:
    """A box about the origin."""
    extent = finite_array("size of a box", size, shape=(3,))
    return Shape(Box(np.zeros(3), extent), *box_triangles(extent))


def mesh_shape(surface: Surface) -> Shape:
    """A closed surface."""
    return Shape(MeshObstacle(surface.points, surface.triangles), surface.points, surface.triangles)


@one_line
@dataclass(frozen=True, eq=False)
class RigidBody(Body):
    """A free rigid body: its shape, mass (kg), inertia (3, 3) kg·m² about its centre of mass, and where it starts.

    Made by `RigidBody.sphere`, `.box` and `.mesh`. `position` (m) is that of the centre of mass, `rotation` a rotation
    vector (rad), `velocity` (m/s) and `spin` (rad/s) those at the start.
    """

    shape: Shape
    mass: float
    inertia: FloatArray
    _: KW_ONLY
    position: Any = (0.0, 0.0, 0.0)
    rotation: Any = (0.0, 0.0, 0.0)
    velocity: Any = (0.0, 0.0, 0.0)
    spin: Any = (0.0, 0.0, 0.0)
    name: str = "rigid"

    placeable: ClassVar[bool] = False
    contact_role: ClassVar[ContactRole] = ContactRole.RIGID

    def __post_init__(self) -> None:
        check_declared(self)
        positive(f"mass of {self.name!r}", self.mass, unit="kg")
        for name in ("position", "rotation", "velocity", "spin"):
            finite_array(f"{name} of {self.name!r}", getattr(self, name), shape=(3,))
        inertia = finite_array(f"inertia of {self.name!r}", self.inertia, shape=(3, 3))
        if not isinstance(self.shape, Shape) or not (np.linalg.eigvalsh(inertia) > 0.0).all():
            raise InputError(f"{self.name!r} needs a shape, and an inertia that is positive definite, kg·m²")

    @classmethod
    def sphere(cls, *, radius: float, mass: float, **start: Any) -> RigidBody:
        """A solid ball of `radius` m and `mass` kg."""
        shape, mass = sphere_shape(radius), positive(f"mass of {start.get('name', 'sphere')!r}", mass, unit="kg")
        return cls(shape, mass, 0.4 * mass * radius**2 * np.eye(3), **{"name": "sphere", **start})

    @classmethod
    def box(cls, *, size: Any, mass: float, **start: Any) -> RigidBody:
        """A solid box of `size` (3,) m and `mass` kg."""
        shape, mass = box_shape(size), positive(f"mass of {start.get('name', 'box')!r}", mass, unit="kg")
        squares = np.asarray(size, float) ** 2
        return cls(shape, mass, np.diag(mass / 12.0 * (squares.sum() - squares)), **{"name": "box", **start})

    @classmethod
    def mesh(cls, surface: Surface, *, mass: float, **start: Any) -> RigidBody:
        """A solid of uniform density inside a closed `surface`; its frame stands at the centre of mass."""
        surface.check_closed()
        volume, centroid, inertia = solid_moments(surface.points, surface.triangles)
        if volume <= 0.0:
            raise InputError(f"the surface encloses the volume {volume:.3g} m³; flip it (surface.flipped())")
        centred = surface.with_points(surface.points - centroid)
        return cls(mesh_shape(centred), mass, inertia * (mass / volume), **{"name": "mesh", **start})

    def pieces(self, points: FloatArray, ends: Sequence[Ends], *, what: str, reach: float = 0.0) -> FramePieces:
        """Segments of a cable with `ends` among `points` (p, 3), m, in the body's own axes."""
        return FramePieces(self, points, ends, what, reach)

    def pose(self) -> FloatArray:
        """Position and rows of the rotation at the start, (4, 3)."""
        rotation = rotation_exp(np.asarray(self.rotation, float))
        return np.vstack([np.asarray(self.position, float), rotation])


Motion = Callable[[float], tuple[Any, Any]]


@one_line
@dataclass(frozen=True, eq=False)
class Obstacle:
    """A rigid thing whose motion is given: fixed, or `motion(t)` → (position (3,) m, rotation vector (3,) rad).

    Made by `Obstacle.plane`, `.sphere`, `.box`, `.capsule`, `.cylinder`, `.pipe`, `.tubes`, `.mesh` and `.from_urdf`.
    """

    shape: Shape
    _: KW_ONLY
    motion: Motion | None = None
    name: str = "obstacle"

    slender: ClassVar[bool] = False
    has_frames: ClassVar[bool] = True
    contact_role: ClassVar[ContactRole] = ContactRole.OBSTACLE
    touches_itself: ClassVar[bool] = False

    @classmethod
    def plane(cls, *, point: Any = (0.0, 0.0, 0.0), normal: Any = (0.0, 0.0, 1.0), **options: Any) -> Obstacle:
        """The half-space behind the plane through `point` (m) with outward `normal`."""
        return cls(Shape(Plane(point, normal)), **{"name": "plane", **options})

    @classmethod
    def sphere(cls, *, center: Any, radius: float, **options: Any) -> Obstacle:
        """A ball around `center` (m) of `radius` m."""
        return cls(Shape(Sphere(center, radius)), **{"name": "sphere", **options})

    @classmethod
    def capsule(cls, *, start: Any, end: Any, radius: float, **options: Any) -> Obstacle:
        """All points within `radius` m of a segment."""
        return cls(Shape(Capsule(start, end, radius)), **{"name": "capsule", **options})

    @classmethod
    def box(cls, *, center: Any, size: Any, rotation: Any = (0.0, 0.0, 0.0), **options: Any) -> Obstacle:
        """A box of `size` (m) around `center` (m), turned by a rotation vector (rad)."""
        turn = rotation_exp(finite_array("rotation of a box", rotation, shape=(3,)))
        extent = finite_array("size of a box", size, shape=(3,))
        corners, triangles = box_triangles(extent)
        middle = finite_array("center of a box", center, shape=(3,))
        return cls(Shape(Box(middle, extent, turn), middle + corners @ turn.T, triangles), **{"name": "box", **options})

    @classmethod
    def cylinder(cls, *, start: Any, end: Any, radius: float, **options: Any) -> Obstacle:
        """A solid cylinder with flat ends."""
        return cls(Shape(Cylinder(start, end, radius)), **{"name": "cylinder", **options})

    @classmethod
    def pipe(cls, *, start: Any, end: Any, radius: float, thickness: float = np.inf, **options: Any) -> Obstacle:
        """The wall of a pipe: what is inside touches its inner wall."""
        return cls(Shape(Pipe(start, end, radius, thickness)), **{"name": "pipe", **options})

    @classmethod
    def tubes(cls, paths: Any, *, radius: Any, open_ends: bool = True, **options: Any) -> Obstacle:
        """Pipes with bends and forks: all is solid but the inside of tubes along `paths`.

        `paths` is a polyline (k, 3) m or several of them, `radius` (m) that of the inside, one or one for each path.
        Paths that meet open into each other. `open_ends` opens the ends that meet no other path, so that things can
        enter: there is no wall beyond them.
        """
        lines = [paths] if np.ndim(paths[0]) == 1 else list(paths)
        lines = [finite_array("a path of tubes", line, shape=(None, 3)) for line in lines]
        if min(len(line) for line in lines) < 2:
            raise InputError("a path of tubes needs two points")
        sizes = [float(r) for r in np.broadcast_to(finite_array("radius of tubes", radius), (len(lines),))]
        solid = Tubes.along(lines, sizes, open_ends=open_ends)
        return cls(Shape(solid), **{"name": "tubes", **options})

    @classmethod
    def mesh(cls, surface: Surface, **options: Any) -> Obstacle:
        """The solid inside a closed surface."""
        return cls(mesh_shape(surface), **{"name": "mesh", **options})

    @staticmethod
    def from_urdf(
        path: Any,
        *,
        joints: Any = None,
        position: Any = (0.0, 0.0, 0.0),
        rotation: Any = (0.0, 0.0, 0.0),
        folder: Any = None,
    ) -> tuple[Obstacle, ...]:
        """An obstacle for each collision shape (box, sphere, cylinder, mesh) of the robot in a URDF file.

        joints
            Values by name, rad or m; 0 where none is given. A function of time, ``joints(t)``, makes obstacles that
            move.
        position, rotation
            Of the root link: (3,) m, and a rotation vector (3,) rad.
        folder
            Where "package://" addresses of meshes are looked for; None: in the folders above the file.
        """
        from pliant.models.rigid.urdf import urdf_obstacles

        return urdf_obstacles(path, joints=joints, position=position, rotation=rotation, folder=folder)

    def contact_shape(self) -> ContactShape:
        """Its geometry for contacts."""
        return self.shape.contact_shape(moves=False)

    def pose(self, time: float) -> FloatArray:
        """Position and rows of the rotation at `time` (s), (4, 3)."""
        if self.motion is None:
            return _UNMOVED.copy()
        position, rotation = self.motion(time)
        origin = finite_array(f"position of {self.name!r} at {time:g} s", position, shape=(3,))
        return np.vstack([origin, rotation_exp(finite_array(f"rotation of {self.name!r}", rotation, shape=(3,)))])
