"""The scene in the browser: surfaces whose vertices are streamed, rigid things whose poses are, cables coloured by
tension, chambers by pressure, arrows of contact forces, and a floor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from pliant.collision import Plane
from pliant.core.types import FloatArray, IndexArray
from pliant.models.rigid import Obstacle
from pliant.record import RecordedBody
from pliant.viewer.bands import color_bands
from pliant.viewer.cast import Cast
from pliant.viewer.framing import Framing
from pliant.viewer.look import BAND_COUNT, Shading
from pliant.viewer.moment import Moment
from pliant.viewer.palette import TINTS, map_colors
from pliant.viewer.shapes import balls, shape_triangles
from pliant.viewer.surfaces import floor_height, grid_spacing, split_creases

SEE_THROUGH = 0.32
"""Opacity of bodies that are seen through."""
ARROW = 0.22
"""Length of the longest arrow as a share of the size of the scene."""
_ONE_TRIANGLE = np.array([[0, 1, 2]])
_OBSTACLE, _ARROW = (168, 175, 186), (201, 42, 42)


class Stage:
    """Draws a cast, one moment after the other. `size` m is that of what is looked at, `framing` where from."""

    def __init__(self, server: Any, cast: Cast, moment: Moment, seen: Sequence[FloatArray], way: Any = None) -> None:
        """`seen` are points (n, 3) m that camera and floor are to take in, `way` the direction to the eye."""
        self._server = server
        self._cast = cast
        self.framing = Framing(server, *_bounds(np.concatenate(seen), cast.obstacles, moment.obstacles), way)
        self.size = self.framing.size
        self._skins: dict[int, _Skin] = {}
        self._solids: dict[int, Any] = {}
        self._boxes: dict[int, tuple[FloatArray, FloatArray]] = {}
        for number, body in enumerate(cast.bodies):
            self._add_body(number, body, moment.q[number])
        self._obstacles = [self._add_obstacle(k, thing, moment) for k, thing in enumerate(cast.obstacles)]
        self._cables = [self._add_cable(k, strand.path(moment.q)) for k, strand in enumerate(cast.strands)]
        self._chambers = [self._add_chamber(k, moment.q) for k in range(len(cast.chambers))]
        self._arrows: Any = None
        self._set_scene()

    def show(self, moment: Moment, shading: Shading) -> None:
        """Draw `moment`, coloured by `shading`."""
        opacity, q = SEE_THROUGH if shading.see_through else None, moment.q
        places = self._places(moment)
        with self._server.atomic():
            for number, skin in self._skins.items():
                skin.show(places[number], shading.bodies.get(number), opacity)
            for number, handle in self._solids.items():
                _place(handle, q[number])
            for obstacle, handle, pose in zip(self._cast.obstacles, self._obstacles, moment.obstacles, strict=False):
                if handle is not None and obstacle.motion is not None:
                    _place(handle, pose)
            for strand, handle, part in zip(self._cast.strands, self._cables, shading.cables, strict=False):
                path = _segments(strand.path(q))
                handle.points = path
                handle.colors = np.broadcast_to(_map_rgb(part), path.shape).astype(np.uint8)
            for (handle, nodes), chamber, part in zip(
                self._chambers, self._cast.chambers, shading.chambers, strict=False
            ):
                handle.vertices, handle.color = q[chamber.index][nodes], tuple(int(x) for x in _map_rgb(part))
            self._show_arrows(moment.arrows, shading)
            if self.framing.follow(*_corners(list(places.values()))):
                self._set_floor()

    def fit(self, moment: Moment, client: Any = None) -> None:
        """Look at what there is in `moment`, no more and no less: one browser, or all where `client` is None."""
        points = np.concatenate(list(self._places(moment).values()))
        self.framing.show(*_bounds(points, self._cast.obstacles, moment.obstacles), client)
        self._set_floor()

    def _places(self, moment: Moment) -> dict[int, FloatArray]:
        """Points (n, 3) m of the surface of each body by its number; of rigid ones the corners of a box around."""
        found = {k: self._cast.bodies[k].surface_points(moment.q[k]) for k in self._skins}
        for number, (lower, upper) in self._boxes.items():
            pose = moment.q[number]
            corners = np.array(np.meshgrid(*np.stack([lower, upper], axis=1))).reshape(3, -1).T
            found[number] = pose[0] + corners @ pose[1:].T
        return found

    def _show_arrows(self, arrows: tuple[FloatArray, FloatArray], shading: Shading) -> None:
        points, forces = arrows
        sizes = np.linalg.norm(forces, axis=1)
        seen = sizes > 0.01 * shading.force_unit
        if not shading.arrow or not seen.any():
            if self._arrows is not None:
                self._arrows.visible = False
            return
        ends = points[seen] + ARROW * self.size * shading.arrow * forces[seen] / shading.force_unit
        lines = np.stack([points[seen], ends], axis=1)
        if self._arrows is None:
            thick = 0.0035 * self.size
            self._arrows = self._server.scene.add_arrows(
                "/contact forces", lines, _ARROW, shaft_radius=thick, head_radius=2.6 * thick, head_length=6.0 * thick
            )
        self._arrows.points, self._arrows.visible = lines, True

    def _add_body(self, number: int, body: RecordedBody, q: FloatArray) -> None:
        tints = self._cast.tints or TINTS
        name, color = f"/bodies/{number} {body.name}", _rgb(tints[number % len(tints)])
        if body.mesh is not None:
            self._skins[number] = _Skin(self._server, name, body.mesh.surface().triangles.astype(np.int64), q, color)
            return
        if body.skin is not None:
            triangles = np.asarray(body.surface_triangles(), np.int64)
            self._skins[number] = _Skin(self._server, name, triangles, body.surface_points(q), color)
            return
        assert body.local is not None
        triangles = np.asarray(body.surface_triangles(), np.int64)
        points = body.local
        if not len(triangles):
            if not (len(points) and body.radius > 0.0):
                return
            points, triangles = balls(points, body.radius)
        self._solids[number] = self._add_surface(name, points, triangles, color)
        self._boxes[number] = _corners([points])
        _place(self._solids[number], q)

    def _add_obstacle(self, number: int, obstacle: Obstacle, moment: Moment) -> Any:
        shape = obstacle.shape
        found = shape_triangles(shape, reach=1.5 * self.size)
        if found is None:
            return None
        # the floor is seen through from below, so that nothing hides behind it
        opacity = 0.35 if isinstance(shape.solid, Plane) else None
        handle = self._add_surface(f"/obstacles/{number} {obstacle.name}", *found, _OBSTACLE, opacity=opacity)
        _place(handle, moment.obstacles[number])
        return handle

    def _add_surface(
        self, name: str, points: FloatArray, triangles: IndexArray, color: Any, *, opacity: float | None = None
    ) -> Any:
        corners, source = split_creases(points, triangles)
        return self._server.scene.add_mesh_simple(
            name, points[source], corners, color=color, side="double", opacity=opacity, cast_shadow=opacity is None
        )

    def _add_cable(self, number: int, path: FloatArray) -> Any:
        name = f"/cables/{number} {self._cast.strands[number].spec.name}"
        return self._server.scene.add_line_segments(
            name, _segments(path), _map_rgb(0.0), thickness=4.0, thickness_units="screen"
        )

    def _add_chamber(self, number: int, q: Sequence[FloatArray]) -> tuple[Any, IndexArray]:
        """The wall of a chamber, and the nodes that its vertices follow."""
        chamber = self._cast.chambers[number]
        assert chamber.surface is not None
        points = q[chamber.index]
        corners, source = split_creases(points, np.asarray(chamber.surface.triangles, np.int64))
        name = f"/chambers/{number} {chamber.spec.name}"
        color = tuple(int(x) for x in _map_rgb(0.0))
        handle = self._server.scene.add_mesh_simple(
            name, points[source], corners, color=color, side="double", cast_shadow=False
        )
        return handle, source

    def _floor(self) -> float:
        """Height of the grid, m: that of a level plane among the obstacles, else at or below the bodies."""
        for obstacle in self._cast.obstacles:
            solid = obstacle.shape.solid
            if isinstance(solid, Plane) and solid.normal[2] > 0.999 and obstacle.motion is None:
                return float(solid.point[2])
        return floor_height(self.framing.lower, self.framing.upper)

    def _set_scene(self) -> None:
        scene = self._server.scene
        scene.set_up_direction("+z")
        scene.add_light_directional("/light", intensity=1.2, position=(0.3, -1.0, 0.5))
        self._set_floor()

    def _set_floor(self) -> None:
        """A grid below what is looked at; one that is there goes away."""
        scene, size = self._server.scene, self.framing.size
        spacing, floor = grid_spacing(self.framing.lower, self.framing.upper), self._floor()
        width = spacing * 2.0 * np.ceil(1.5 * size / spacing)
        scene.add_grid(
            "/floor",
            width,
            width,
            cell_size=spacing,
            section_size=5.0 * spacing,
            cell_color=(214, 218, 224),
            section_color=(182, 188, 198),
            position=(*np.round(self.framing.center[:2] / spacing) * spacing, floor + 1e-3 * size),
        )


class _Skin:
    """The surface of a volume: one mesh of plain colour whose vertices are streamed, or one for each band of colour."""

    def __init__(self, server: Any, name: str, triangles: IndexArray, q: FloatArray, color: Any) -> None:
        self._corners, self._source = split_creases(q, triangles)
        self._scene, self._name = server.scene, name
        self._plain = server.scene.add_mesh_simple(name, q[self._source], self._corners, color=color, side="double")
        self._bands: list[Any] = []

    def show(self, q: FloatArray, fractions: FloatArray | None, opacity: float | None) -> None:
        points = q[self._source]
        self._plain.visible = fractions is None
        if fractions is None:
            # of what is seen through only the front is drawn, so that colours inside stay what they are
            self._plain.vertices, self._plain.opacity = points, opacity
            self._plain.side = "double" if opacity is None else "front"
            for handle in self._bands:
                handle.visible = False
            return
        self._bands = self._bands or [self._add_band(k) for k in range(BAND_COUNT)]
        bands = color_bands(points, self._corners, fractions[self._source], BAND_COUNT)
        for handle, (places, triangles) in zip(self._bands, bands, strict=True):
            if not len(triangles):
                places, triangles = np.repeat(points[:1], 3, axis=0), _ONE_TRIANGLE
            # the browser takes both at once: they are sent in one group
            handle.vertices, handle.faces, handle.opacity = places, triangles.astype(np.uint32), opacity
            handle.visible = True

    def _add_band(self, number: int) -> Any:
        color = map_colors(np.array((number + 0.5) / BAND_COUNT))
        # a sibling: what hangs below a mesh is hidden with it
        name = f"{self._name}, colour {number}"
        return self._scene.add_mesh_simple(
            name, np.zeros((3, 3)), _ONE_TRIANGLE, color=tuple(color), side="double", visible=False
        )


def _bounds(
    points: FloatArray, obstacles: Sequence[Obstacle], poses: Sequence[FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """Corners (3,) m of what is looked at: `points` (n, 3), and obstacles as far as they are near; of a plane what lies
    across from the points.
    """
    lower, upper = points.min(axis=0), points.max(axis=0)
    size = float(np.linalg.norm(upper - lower))
    places = [points]
    for obstacle, pose in zip(obstacles, poses, strict=True):
        solid = obstacle.shape.solid
        if isinstance(solid, Plane):
            ends, normal = np.stack([lower, upper]), pose[1:] @ solid.normal
            across = ends - np.outer((ends - pose[0] - pose[1:] @ solid.point) @ normal, normal)
            places.append(np.clip(across, lower - 2.0 * size, upper + 2.0 * size))
            continue
        found = shape_triangles(obstacle.shape, reach=size)
        if found is not None:
            places.append(np.clip(pose[0] + found[0] @ pose[1:].T, lower - 0.5 * size, upper + 0.5 * size))
    return _corners(places)


def _corners(places: Sequence[FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Corners (3,) m of the box around points (n, 3) m."""
    return np.min([one.min(axis=0) for one in places], axis=0), np.max([one.max(axis=0) for one in places], axis=0)


def _segments(path: FloatArray) -> FloatArray:
    return np.stack([path[:-1], path[1:]], axis=1)


def _place(handle: Any, pose: FloatArray) -> None:
    """Put a rigid thing at a pose (4, 3): position, and the rows of its rotation."""
    x, y, z, w = Rotation.from_matrix(pose[1:]).as_quat()
    handle.position, handle.wxyz = pose[0], np.array([w, x, y, z])


def _map_rgb(fraction: Any) -> Any:
    """Colour of the map, (3,), 0…255."""
    return np.rint(255.0 * map_colors(np.array(float(fraction)))).astype(np.uint8)


def _rgb(color: str) -> tuple[int, int, int]:
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)
