"""The scene in the browser: surfaces whose vertices are streamed, rigid things whose poses are, cables coloured by
tension, chambers by pressure, arrows of contact forces, and a floor.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from pliant.collision import Plane
from pliant.core.types import FloatArray, IndexArray
from pliant.models.rigid import Obstacle
from pliant.record import RecordedBody
from pliant.viewer.appearance import BAND_COUNT, Shading
from pliant.viewer.arrows import ARROW as ARROW_COLOR
from pliant.viewer.bands import color_bands
from pliant.viewer.contents import SceneContents
from pliant.viewer.frame import Frame
from pliant.viewer.framing import Framing
from pliant.viewer.ground import Ground
from pliant.viewer.lights import set_lights
from pliant.viewer.palette import OBSTACLE, TINTS, map_colors, rgb
from pliant.viewer.shapes import HOLLOW_OPACITY, balls, is_hollow, shape_triangles
from pliant.viewer.surfaces import floor_height, split_creases
from pliant.viewer.tones import shown_color

SEE_THROUGH = 0.22
"""Opacity of transparent bodies."""
ARROW = 0.22
"""Length of the longest arrow as a fraction of the scene size."""
_ONE_TRIANGLE = np.array([[0, 1, 2]])


class SceneView:
    """Draws the contents of a scene frame by frame. `size` m is the diagonal of the view box, `framing` the cameras."""

    def __init__(
        self,
        server: Any,
        contents: SceneContents,
        frame: Frame,
        view_points: Sequence[FloatArray],
        direction: Any = None,
        *,
        dark: bool = False,
    ) -> None:
        """`view_points` (n, 3) m must be in view at the start; `direction` points to the eye; `dark` is the page."""
        self._server = server
        self._contents = contents
        self.framing = Framing(
            server, *_bounds(np.concatenate(view_points), contents.obstacles, frame.obstacles), direction
        )
        self.size = self.framing.size
        self._skins: dict[int, _Skin] = {}
        self._solids: dict[int, Any] = {}
        self._boxes: dict[int, tuple[FloatArray, FloatArray]] = {}
        self._casters: dict[int, tuple[FloatArray, IndexArray]] = {}
        self._obstacle_casters: list[tuple[FloatArray, IndexArray] | None] = []
        self._ground = Ground(server, dark=dark)
        for index, body in enumerate(contents.bodies):
            self._add_body(index, body, frame.q[index])
        self._obstacles = [self._add_obstacle(k, thing, frame) for k, thing in enumerate(contents.obstacles)]
        self._cables = [self._add_cable(k, strand.path(frame.q)) for k, strand in enumerate(contents.strands)]
        self._chambers = [self._add_chamber(k, frame.q) for k in range(len(contents.chambers))]
        self._arrows: Any = None
        self._set_scene()

    def show(self, frame: Frame, shading: Shading) -> None:
        """Draw `frame`, coloured by `shading`."""
        opacity, q = SEE_THROUGH if shading.see_through else None, frame.q
        vertices = self._surface_points(frame)
        with self._server.atomic():
            for index, skin in self._skins.items():
                skin.show(vertices[index], shading.bodies.get(index), opacity)
            for index, handle in self._solids.items():
                _set_pose(handle, q[index])
            for obstacle, handle, pose in zip(self._contents.obstacles, self._obstacles, frame.obstacles, strict=False):
                if handle is not None and obstacle.motion is not None:
                    _set_pose(handle, pose)
            for strand, handle, part in zip(self._contents.strands, self._cables, shading.cables, strict=False):
                handle.points = _segments(strand.path(q))
                handle.colors = _map_rgb(part, lit=False)
            for (handle, nodes), chamber, part in zip(
                self._chambers, self._contents.chambers, shading.chambers, strict=False
            ):
                handle.vertices, handle.color = q[chamber.index][nodes], tuple(int(x) for x in _map_rgb(part))
            self._show_arrows(frame.arrows, shading)
            grew = self.framing.follow(*_corners(list(vertices.values())))
            if grew:
                self._set_floor()
            self._ground.cast(self._shadow_casters(frame, vertices), at_once=grew)

    def set_dark(self, dark: bool) -> None:
        """Draw on a `dark` or a light page."""
        self._ground.dark = dark
        self._set_floor()

    def fit(self, frame: Frame, client: Any = None) -> None:
        """Fit the camera of `client`, or of all browsers for None, to the contents of `frame`."""
        points = np.concatenate(list(self._surface_points(frame).values()))
        self.framing.show(*_bounds(points, self._contents.obstacles, frame.obstacles), client)
        self._set_floor()

    def _shadow_casters(self, frame: Frame, vertices: dict[int, FloatArray]) -> Iterator[tuple[FloatArray, IndexArray]]:
        """Points (n, 3) m and triangles (t, 3) of whatever casts a shadow; `vertices` are those of the bodies."""
        for index, skin in self._skins.items():
            yield vertices[index], skin.triangles
        for index, (points, triangles) in self._casters.items():
            yield frame.q[index][0] + points @ frame.q[index][1:].T, triangles
        for pose, caster in zip(frame.obstacles, self._obstacle_casters, strict=False):
            if caster is not None:
                yield pose[0] + caster[0] @ pose[1:].T, caster[1]

    def _surface_points(self, frame: Frame) -> dict[int, FloatArray]:
        """Surface points (n, 3) m of each body by index; of rigid ones the corners of their bounding box."""
        points = {k: self._contents.bodies[k].surface_points(frame.q[k]) for k in self._skins}
        for index, (lower, upper) in self._boxes.items():
            pose = frame.q[index]
            corners = np.array(np.meshgrid(*np.stack([lower, upper], axis=1))).reshape(3, -1).T
            points[index] = pose[0] + corners @ pose[1:].T
        return points

    def _show_arrows(self, arrows: tuple[FloatArray, FloatArray], shading: Shading) -> None:
        points, forces = arrows
        sizes = np.linalg.norm(forces, axis=1)
        view_points = sizes > 0.01 * shading.force_unit
        if not shading.arrow or not view_points.any():
            if self._arrows is not None:
                self._arrows.visible = False
            return
        ends = points[view_points] + ARROW * self.size * shading.arrow * forces[view_points] / shading.force_unit
        lines = np.stack([points[view_points], ends], axis=1)
        if self._arrows is None:
            thick = 0.0035 * self.size
            color = shown_color(rgb(ARROW_COLOR), linear=True)
            sizes_m = {"shaft_radius": thick, "head_radius": 2.6 * thick, "head_length": 6.0 * thick}
            self._arrows = self._server.scene.add_arrows("/contact forces", lines, color, **sizes_m)
        self._arrows.points, self._arrows.visible = lines, True

    def _add_body(self, index: int, body: RecordedBody, q: FloatArray) -> None:
        tints = self._contents.tints or TINTS
        name, color = f"/bodies/{index} {body.name}", _rgb(tints[index % len(tints)])
        if body.mesh is not None:
            self._skins[index] = _Skin(self._server, name, body.mesh.surface().triangles.astype(np.int64), q, color)
            return
        if body.skin is not None:
            triangles = np.asarray(body.surface_triangles(), np.int64)
            self._skins[index] = _Skin(self._server, name, triangles, body.surface_points(q), color)
            return
        triangles = np.asarray(body.surface_triangles(), np.int64)
        points = body.local
        if not len(triangles):
            if not (len(points) and body.radius > 0.0):
                return
            points, triangles = balls(points, body.radius)
        self._solids[index] = self._add_surface(name, points, triangles, color)
        self._casters[index], self._boxes[index] = (points, triangles), _corners([points])
        _set_pose(self._solids[index], q)

    def _add_obstacle(self, index: int, obstacle: Obstacle, frame: Frame) -> Any:
        shape = obstacle.shape
        plane = isinstance(shape.solid, Plane)
        surface = None if _is_floor(obstacle) else shape_triangles(shape, half_width=0.75 * self.size)
        self._obstacle_casters.append(None if plane or surface is None else (surface[0], surface[1].astype(np.int64)))
        if surface is None:  # the grid is the floor
            return None
        # walls and vessels are seen through, so that nothing hides behind or in them
        opacity = 0.35 if plane else HOLLOW_OPACITY if is_hollow(shape) else None
        handle = self._add_surface(f"/obstacles/{index} {obstacle.name}", *surface, _rgb(OBSTACLE), opacity=opacity)
        _set_pose(handle, frame.obstacles[index])
        return handle

    def _add_surface(
        self, name: str, points: FloatArray, triangles: IndexArray, color: Any, *, opacity: float | None = None
    ) -> Any:
        corners, source = split_creases(points, triangles)
        return self._server.scene.add_mesh_simple(
            name, points[source], corners, color=color, side="double", opacity=opacity, cast_shadow=opacity is None
        )

    def _add_cable(self, index: int, path: FloatArray) -> Any:
        name = f"/cables/{index} {self._contents.strands[index].spec.name}"
        return self._server.scene.add_line_segments(
            name, _segments(path), _map_rgb(0.0, lit=False), thickness=4.0, thickness_units="screen"
        )

    def _add_chamber(self, index: int, q: Sequence[FloatArray]) -> tuple[Any, IndexArray]:
        """The wall of a chamber, and the node of each of its vertices."""
        chamber = self._contents.chambers[index]
        assert chamber.surface is not None
        points = q[chamber.index]
        corners, source = split_creases(points, np.asarray(chamber.surface.triangles, np.int64))
        name = f"/chambers/{index} {chamber.spec.name}"
        color = tuple(int(x) for x in _map_rgb(0.0))
        handle = self._server.scene.add_mesh_simple(
            name, points[source], corners, color=color, side="double", cast_shadow=False
        )
        return handle, source

    def _floor(self) -> float:
        """Height of the floor, m: that of a level plane among the obstacles, else at or below the bodies."""
        level = next((obstacle for obstacle in self._contents.obstacles if _is_floor(obstacle)), None)
        if level is not None:
            return float(level.shape.solid.point[2])
        return floor_height(self.framing.lower, self.framing.upper)

    def _set_scene(self) -> None:
        self._server.scene.set_up_direction("+z")
        set_lights(self._server.scene, self.framing.direction)
        self._set_floor()

    def _set_floor(self) -> None:
        """Draw the floor for the present view box."""
        self._ground.place(self.framing.lower, self.framing.upper, self._floor())


class _Skin:
    """The surface of a volume: one mesh of plain colour whose vertices are streamed, or one for each band of colour."""

    def __init__(self, server: Any, name: str, triangles: IndexArray, q: FloatArray, color: Any) -> None:
        self.triangles = np.ascontiguousarray(triangles)
        self._corners, self._source = split_creases(q, triangles)
        self._scene, self._name = server.scene, name
        self._plain = server.scene.add_mesh_simple(name, q[self._source], self._corners, color=color, side="double")
        self._bands: list[Any] = []

    def show(self, q: FloatArray, fractions: FloatArray | None, opacity: float | None) -> None:
        points = q[self._source]
        self._plain.visible = fractions is None
        if fractions is None:
            # of a transparent body only the front is drawn, so that colours inside are not altered
            self._plain.vertices, self._plain.opacity = points, opacity
            self._plain.side = "double" if opacity is None else "front"
            for handle in self._bands:
                handle.visible = False
            return
        self._bands = self._bands or [self._add_band(k) for k in range(BAND_COUNT)]
        bands = color_bands(points, self._corners, fractions[self._source], BAND_COUNT)
        for handle, (vertices, triangles) in zip(self._bands, bands, strict=True):
            if not len(triangles):
                vertices, triangles = np.repeat(points[:1], 3, axis=0), _ONE_TRIANGLE
            # the browser takes both at once: they are sent in one group
            handle.vertices, handle.faces, handle.opacity = vertices, triangles.astype(np.uint32), opacity
            handle.visible = True

    def _add_band(self, index: int) -> Any:
        color = _map_rgb((index + 0.5) / BAND_COUNT)
        # a sibling: what hangs below a mesh is hidden with it
        name = f"{self._name}, colour {index}"
        return self._scene.add_mesh_simple(
            name, np.zeros((3, 3)), _ONE_TRIANGLE, color=color, side="double", visible=False
        )


def _is_floor(obstacle: Obstacle) -> bool:
    """Whether an obstacle is a level plane that stays: it is drawn as the floor."""
    solid = obstacle.shape.solid
    return isinstance(solid, Plane) and solid.normal[2] > 0.999 and obstacle.motion is None


def _bounds(
    points: FloatArray, obstacles: Sequence[Obstacle], poses: Sequence[FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """Corners (3,) m of the view box: `points` (n, 3), and obstacles near them, of a plane its points below these."""
    lower, upper = points.min(axis=0), points.max(axis=0)
    size = float(np.linalg.norm(upper - lower))
    vertices = [points]
    for obstacle, pose in zip(obstacles, poses, strict=True):
        solid = obstacle.shape.solid
        if isinstance(solid, Plane):
            ends, normal = np.stack([lower, upper]), pose[1:] @ solid.normal
            across = ends - np.outer((ends - pose[0] - pose[1:] @ solid.point) @ normal, normal)
            vertices.append(np.clip(across, lower - 2.0 * size, upper + 2.0 * size))
            continue
        surface = shape_triangles(obstacle.shape, half_width=size)
        if surface is not None:
            vertices.append(np.clip(pose[0] + surface[0] @ pose[1:].T, lower - 0.5 * size, upper + 0.5 * size))
    return _corners(vertices)


def _corners(vertices: Sequence[FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Corners (3,) m of the box around points (n, 3) m."""
    return np.min([one.min(axis=0) for one in vertices], axis=0), np.max([one.max(axis=0) for one in vertices], axis=0)


def _segments(path: FloatArray) -> FloatArray:
    return np.stack([path[:-1], path[1:]], axis=1)


def _set_pose(handle: Any, pose: FloatArray) -> None:
    """Set the pose (4, 3) of a rigid body: position, and the rows of its rotation."""
    x, y, z, w = Rotation.from_matrix(pose[1:]).as_quat()
    handle.position, handle.wxyz = pose[0], np.array([w, x, y, z])


def _map_rgb(fraction: Any, *, lit: bool = True) -> Any:
    """What to send for a colour of the map, (3,), 0…255."""
    return shown_color(map_colors(np.array(float(fraction))), lit=lit)


def _rgb(color: str) -> Any:
    return shown_color(rgb(color))
