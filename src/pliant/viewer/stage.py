"""The scene in the browser: surfaces whose vertices are streamed, rigid things whose poses are, cables and a floor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from pliant.collision import Plane
from pliant.core.types import FloatArray, IndexArray
from pliant.models.rigid import Obstacle
from pliant.stepping.run import RecordedBody
from pliant.viewer.cast import Cast
from pliant.viewer.glb import colored_glb
from pliant.viewer.palette import TINTS, map_colors
from pliant.viewer.shapes import balls, shape_triangles
from pliant.viewer.surfaces import floor_height, grid_spacing, split_creases

SEE_THROUGH = 0.4
_OBSTACLE, _CABLE = (168, 175, 186), (32, 36, 44)


class Stage:
    """Draws a cast. `show` streams one instant, `flip` brings up coloured surfaces the browser has had time to read."""

    def __init__(
        self, server: Any, cast: Cast, q: Sequence[FloatArray], time: float, seen: Sequence[FloatArray]
    ) -> None:
        """`seen` are points (n, 3) m that camera and floor are to take in."""
        self._server = server
        self._cast = cast
        self._lower, self._upper = _bounds(np.concatenate(seen), cast.obstacles, time)
        self._size = max(float(np.linalg.norm(self._upper - self._lower)), 1e-6)
        self._skins: dict[int, _Skin] = {}
        self._solids: dict[int, Any] = {}
        self._waiting: tuple[tuple[FloatArray, ...], float] | None = None
        for number, body in enumerate(cast.bodies):
            self._add_body(number, body, q[number])
        self._obstacles = [(thing, self._add_obstacle(k, thing, time)) for k, thing in enumerate(cast.obstacles)]
        self._cables = [self._add_cable(k, strand.path(q[strand.body])) for k, strand in enumerate(cast.strands)]
        self._set_scene()

    def show(
        self, q: Sequence[FloatArray], time: float, fractions: Mapping[int, FloatArray], *, see_through: bool
    ) -> None:
        """Draw positions and poses `q` of the bodies; `fractions` (n,) of the colour map, 0…1, for those coloured."""
        opacity = SEE_THROUGH if see_through else 1.0
        with self._server.atomic():
            self._flip()
            for number, skin in self._skins.items():
                skin.show(q[number], fractions.get(number), opacity)
            self._waiting = tuple(q), time
            if not fractions:
                self._flip()

    @property
    def waits_to_flip(self) -> bool:
        """Whether an instant was sent that is not shown yet."""
        return self._waiting is not None

    def flip(self) -> None:
        """Show the instant that was sent last."""
        with self._server.atomic():
            self._flip()

    def _flip(self) -> None:
        """Show the coloured surfaces, and move everything else to the instant they belong to."""
        if self._waiting is None:
            return
        q, time = self._waiting
        self._waiting = None
        for skin in self._skins.values():
            skin.flip()
        for number, handle in self._solids.items():
            _place(handle, q[number])
        for obstacle, handle in self._obstacles:
            if handle is not None and obstacle.motion is not None:
                _place(handle, obstacle.pose(time))
        for strand, handle in zip(self._cast.strands, self._cables, strict=True):
            handle.points = _segments(strand.path(q[strand.body]))

    def _add_body(self, number: int, body: RecordedBody, q: FloatArray) -> None:
        name, color = f"/bodies/{number} {body.name}", _rgb(TINTS[number % len(TINTS)])
        if body.mesh is not None:
            self._skins[number] = _Skin(self._server, name, body.mesh.surface().triangles.astype(np.int64), q, color)
            return
        assert body.local is not None
        triangles = np.asarray(body.surface_triangles(), np.int64)
        points = body.local
        if not len(triangles):
            if not (len(points) and body.radius > 0.0):
                return
            points, triangles = balls(points, body.radius)
        self._solids[number] = self._add_surface(name, points, triangles, color)
        _place(self._solids[number], q)

    def _add_obstacle(self, number: int, obstacle: Obstacle, time: float) -> Any:
        shape = obstacle.shape
        found = shape_triangles(shape, reach=1.5 * self._size)
        if found is None:
            return None
        # the floor is seen through from below, so that nothing hides behind it
        opacity = 0.35 if isinstance(shape.solid, Plane) else None
        handle = self._add_surface(f"/obstacles/{number} {obstacle.name}", *found, _OBSTACLE, opacity=opacity)
        _place(handle, obstacle.pose(time))
        return handle

    def _add_surface(
        self, name: str, points: FloatArray, triangles: IndexArray, color: Any, *, opacity: float | None = None
    ) -> Any:
        corners, source = split_creases(points, triangles)
        return self._server.scene.add_mesh_simple(
            name, points[source], corners, color=color, side="double", opacity=opacity, cast_shadow=opacity is None
        )

    def _add_cable(self, number: int, path: FloatArray) -> Any:
        name = f"/cables/{number} {self._cast.strands[number].name}"
        return self._server.scene.add_line_segments(
            name, _segments(path), _CABLE, thickness=3.0, thickness_units="screen"
        )

    def _floor(self) -> float:
        """Height of the grid, m: that of a level plane among the obstacles, else at or below the bodies."""
        for obstacle in self._cast.obstacles:
            solid = obstacle.shape.solid
            if isinstance(solid, Plane) and solid.normal[2] > 0.999 and obstacle.motion is None:
                return float(solid.point[2])
        return floor_height(self._lower, self._upper)

    def _set_scene(self) -> None:
        scene, size = self._server.scene, self._size
        scene.set_up_direction("+z")
        center = 0.5 * (self._lower + self._upper)
        camera = self._server.initial_camera
        camera.fov = np.radians(40.0)
        camera.look_at = center
        camera.position = center + 1.5 * size * np.array([0.45, -0.82, 0.36])
        camera.near, camera.far = 0.01 * size, 100.0 * size
        scene.add_light_directional("/light", intensity=1.2, position=(0.3, -1.0, 0.5))
        spacing, floor = grid_spacing(self._lower, self._upper), self._floor()
        width = spacing * 2.0 * np.ceil(1.5 * size / spacing)
        scene.add_grid(
            "/floor",
            width,
            width,
            cell_size=spacing,
            section_size=5.0 * spacing,
            cell_color=(214, 218, 224),
            section_color=(182, 188, 198),
            position=(*np.round(center[:2] / spacing) * spacing, floor + 1e-3 * size),
        )


class _Skin:
    """The surface of a volume: one mesh of plain colour, and two coloured ones shown by turns.

    Plain surfaces are updated by their vertices alone. Colours per vertex exist only in whole files, and the browser
    shows nothing while it reads one: the file goes to the mesh that is hidden, which is shown with the next file. Their
    shadows would come and go with the files, so they cast none.
    """

    def __init__(self, server: Any, name: str, triangles: IndexArray, q: FloatArray, color: Any) -> None:
        self._corners, self._source = split_creases(q, triangles)
        self._scene, self._name = server.scene, name
        self._plain = server.scene.add_mesh_simple(name, q[self._source], self._corners, color=color, side="double")
        self._pair: list[Any] = []
        self._waits = False

    def show(self, q: FloatArray, fractions: FloatArray | None, opacity: float) -> None:
        if fractions is None:
            self._plain.vertices = q[self._source]
            self._plain.opacity = None if opacity >= 1.0 else opacity
            self._plain.visible = True
            for handle in self._pair:
                handle.visible = False
            self._waits = False
            return
        colors = map_colors(fractions[self._source])
        data = colored_glb(q[self._source], self._corners, colors, opacity=opacity)
        if not self._pair:
            names = (f"{self._name} colours {k}" for k in (0, 1))
            self._pair = [self._scene.add_glb(name, data, visible=False, cast_shadow=False) for name in names]
        else:
            self._pair[0].glb_data = data
        self._waits = True

    def flip(self) -> None:
        """Show the first of the pair, which was written last, and make the other the next to be written."""
        if self._waits:
            shown, other = self._pair
            shown.visible = True
            other.visible = self._plain.visible = False
            self._pair = [other, shown]
            self._waits = False


def _bounds(points: FloatArray, obstacles: Sequence[Obstacle], time: float) -> tuple[FloatArray, FloatArray]:
    """Corners (3,) m of what is looked at: `points` (n, 3), and obstacles as far as they are near."""
    lower, upper = points.min(axis=0), points.max(axis=0)
    size = float(np.linalg.norm(upper - lower))
    places = [points]
    for obstacle in obstacles:
        found = None if isinstance(obstacle.shape.solid, Plane) else shape_triangles(obstacle.shape, reach=size)
        if found is not None:
            pose = obstacle.pose(time)
            places.append(np.clip(pose[0] + found[0] @ pose[1:].T, lower - 0.5 * size, upper + 0.5 * size))
    everything = np.concatenate(places)
    return everything.min(axis=0), everything.max(axis=0)


def _segments(path: FloatArray) -> FloatArray:
    return np.stack([path[:-1], path[1:]], axis=1)


def _place(handle: Any, pose: FloatArray) -> None:
    """Put a rigid thing at a pose (4, 3): position, and the rows of its rotation."""
    x, y, z, w = Rotation.from_matrix(pose[1:]).as_quat()
    handle.position, handle.wxyz = pose[0], np.array([w, x, y, z])


def _rgb(color: str) -> tuple[int, int, int]:
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)
