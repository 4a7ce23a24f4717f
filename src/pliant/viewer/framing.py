"""Cameras: the whole scene is in view, and a camera that no user moved retreats when something leaves the view."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.core.types import FloatArray

DIRECTION = (0.45, -0.82, 0.36)
"""Default direction from the scene to the eye."""
FIELD = float(np.radians(40.0))
"""Vertical field of view, rad."""
ASPECT = 1.6
"""Assumed width of a page over its height, before a browser reports it."""
PANEL = 720.0
"""Pixels at both sides that the panel at the right takes from a scene in the middle of the page."""
NARROW = 768.0
"""Width of a page below which the panel lies below the scene, as on phones, pixels."""
HEIGHT = 800.0
"""Assumed height of a page, before a browser reports it, pixels."""
SPARE = 1.08
"""Distance of the eye over the smallest that fits the view box: an 8 % margin."""
ROOM = 0.12
"""Margin added where something left the view, as a fraction of its size, so that cameras move in few steps."""
FARTHEST = 6.0
"""Largest growth of the view box over its first size: a body that flies off is not followed for ever."""


class Framing:
    """The box from `lower` to `upper` (3,) m that the cameras of a `server` take in, seen from `direction` (3,).

    `center` (3,) m and `size` m are its middle and its diagonal.
    """

    def __init__(self, server: Any, lower: FloatArray, upper: FloatArray, direction: Any = None) -> None:
        self._server = server
        toward_eye = np.asarray(DIRECTION if direction is None else direction, float)
        self.direction: FloatArray = toward_eye / np.linalg.norm(toward_eye)
        self._own: dict[int, list[FloatArray]] = {}
        self.show(lower, upper)
        self._first = (self.center, self.size)

    def show(self, lower: FloatArray, upper: FloatArray, client: Any = None) -> None:
        """Set the view box from `lower` to `upper` (3,) m and move the camera of `client` there, all for None."""
        self.lower, self.upper = lower, upper
        self.center: FloatArray = 0.5 * (lower + upper)
        self.size = max(float(np.linalg.norm(upper - lower)), 1e-6)
        self._server.initial_camera.fov = FIELD
        self._put(self._server.initial_camera, ASPECT)
        for one in self._server.get_clients().values() if client is None else (client,):
            self.turn(one)

    def follow(self, lower: FloatArray, upper: FloatArray) -> bool:
        """Extend the view box to `lower` and `upper` (3,) m; whether it grew. Cameras that a user moved stay."""
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
        """Move the camera of one browser to show the view box."""
        camera = client.camera
        self._put(camera, float(camera.aspect), float(camera.image_height))
        # a browser reports its camera with a delay, so several of the last positions count as ours
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

    def _put(self, camera: Any, aspect: float, height: float = HEIGHT) -> None:
        camera.position = self.center + self.distance(aspect, height) * self.direction
        camera.look_at = self.center  # after the position: on a browser's camera that one moves both
        camera.near, camera.far = 0.01 * self.size, 100.0 * self.size

    def distance(self, aspect: float, height: float = HEIGHT) -> float:
        """From the middle to the eye, m, for a page of this `aspect` and `height` (pixels): every corner of the box is
        in the picture, beside the panel where that is at the right.
        """
        side = np.cross((0.0, 0.0, 1.0), self.direction)
        side = side / np.linalg.norm(side)
        axes = np.stack([side, np.cross(self.direction, side), self.direction])
        half = 0.5 * (self.upper - self.lower)
        corners = half * np.array(np.meshgrid(*[(-1.0, 1.0)] * 3)).reshape(3, -1).T
        across, up, near = np.abs(axes[0] @ corners.T), np.abs(axes[1] @ corners.T), axes[2] @ corners.T
        slope = np.tan(0.5 * FIELD)
        beside = aspect - PANEL / height if aspect * height >= NARROW else 0.9 * aspect
        wide = slope * max(beside, 0.35 * aspect)
        return float(SPARE * np.maximum(up / slope + near, across / wide + near).max())
