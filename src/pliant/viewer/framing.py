"""Where cameras stand: all that is shown is in the picture, and a camera that nobody turned steps back when something
leaves it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.core.types import FloatArray

WAY = (0.45, -0.82, 0.36)
"""Direction from what is looked at to the eye, unless told otherwise."""
FIELD = float(np.radians(40.0))
"""Vertical field of view, rad."""
ASPECT = 1.6
"""Width of a page over its height, where it is not known."""
PANEL = 0.9
"""By how much of its height a page is narrower for the panel at its right: what is shown stands in the middle."""
SPARE = 1.08
"""Distance of the eye over the least one."""
ROOM = 0.12
"""Room that is added where something left the picture, as a share of its size."""
FARTHEST = 6.0
"""How many times larger than at first the picture may grow: what flies off is not followed for ever."""


class Framing:
    """The box from `lower` to `upper` (3,) m that the cameras of a `server` take in, seen from the direction `way`.

    `center` (3,) m and `size` m are its middle and its diagonal.
    """

    def __init__(self, server: Any, lower: FloatArray, upper: FloatArray, way: Any = None) -> None:
        self._server = server
        self._way = np.asarray(WAY if way is None else way, float) / np.linalg.norm(WAY if way is None else way)
        self._own: dict[int, list[FloatArray]] = {}
        self.show(lower, upper)
        self._first = (self.center, self.size)

    def show(self, lower: FloatArray, upper: FloatArray, client: Any = None) -> None:
        """Take in the box from `lower` to `upper` (3,) m, no more and no less; the camera of `client` goes there, every
        one where that is None.
        """
        self.lower, self.upper = lower, upper
        self.center: FloatArray = 0.5 * (lower + upper)
        self.size = max(float(np.linalg.norm(upper - lower)), 1e-6)
        self._server.initial_camera.fov = FIELD
        self._put(self._server.initial_camera, ASPECT)
        for one in self._server.get_clients().values() if client is None else (client,):
            self.turn(one)

    def follow(self, lower: FloatArray, upper: FloatArray) -> bool:
        """Take in the box from `lower` to `upper` (3,) m too; whether anything had to move for it. Cameras that a
        person turned stay where they are.
        """
        lower, upper = self._near(lower), self._near(upper)
        below, above = lower < self.lower, upper > self.upper
        if not (below.any() or above.any()):
            return False
        untouched = [client for client in self._server.get_clients().values() if self._is_ours(client)]
        spare = ROOM * self.size
        self.lower = np.where(below, self._near(lower - spare), self.lower)
        self.upper = np.where(above, self._near(upper + spare), self.upper)
        self.center = 0.5 * (self.lower + self.upper)
        self.size = float(np.linalg.norm(self.upper - self.lower))
        self._put(self._server.initial_camera, ASPECT)
        for client in untouched:
            self.turn(client)
        return True

    def turn(self, client: Any) -> None:
        """Let the camera of one browser see everything."""
        camera = client.camera
        self._put(camera, float(camera.aspect))
        # a browser reports its camera late: what it last was told may come back after something newer
        self._own[client.client_id] = [*self._own.get(client.client_id, [])[-3:], np.array(camera.position)]

    def _near(self, corner: FloatArray) -> FloatArray:
        """`corner` (3,) m, but not farther away than `FARTHEST` allows."""
        middle, size = self._first
        return np.clip(
            np.where(np.isfinite(corner), corner, middle), middle - FARTHEST * size, middle + FARTHEST * size
        )

    def _is_ours(self, client: Any) -> bool:
        known = [np.asarray(self._server.initial_camera.position), *self._own.get(client.client_id, [])]
        return any(np.linalg.norm(client.camera.position - place) < 1e-3 * self.size for place in known)

    def _put(self, camera: Any, aspect: float) -> None:
        camera.position = self.center + self.distance(aspect) * self._way
        camera.look_at = self.center  # after the position: on a browser's camera that one moves both
        camera.near, camera.far = 0.01 * self.size, 100.0 * self.size

    def distance(self, aspect: float) -> float:
        """From the middle to the eye, m, for a page of this `aspect`: every corner of the box is in the picture."""
        side = np.cross((0.0, 0.0, 1.0), self._way)
        side = side / np.linalg.norm(side)
        axes = np.stack([side, np.cross(self._way, side), self._way])
        half = 0.5 * (self.upper - self.lower)
        corners = half * np.array(np.meshgrid(*[(-1.0, 1.0)] * 3)).reshape(3, -1).T
        across, up, near = np.abs(axes[0] @ corners.T), np.abs(axes[1] @ corners.T), axes[2] @ corners.T
        slope = np.tan(0.5 * FIELD)
        wide = slope * max(aspect - PANEL, 0.5 * aspect)
        return float(SPARE * np.maximum(up / slope + near, across / wide + near).max())
