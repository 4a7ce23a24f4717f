"""The floor of the studio: a grid that fades with distance, and the soft shadow of exported pictures."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import numpy as np

from pliant.core.types import FloatArray, IndexArray
from pliant.viewer.pose_renderer import SHADOW_OPACITY, shadow_map
from pliant.viewer.surfaces import grid_spacing

SHADOW_SECONDS = 0.08
"""Least time between two shadows, s: each costs the drawing thread about two milliseconds."""
SHADOW_PIXELS = 96
"""Pixels of a shadow along each side: it is blurred, so more would not show."""
_LIGHT_LINES, _DARK_LINES = ((219, 223, 229), (188, 195, 205)), ((62, 69, 82), (86, 95, 112))
"""Colours of the grid lines and of every fifth one, on light and dark pages."""
_BELOW = 5e-4
"""Depth of the shadow below the grid over the scene size: at the same height they would flicker."""


class Ground:
    """The floor of a `server`'s scene, on a `dark` or a light page."""

    def __init__(self, server: Any, *, dark: bool = False) -> None:
        self.dark = dark
        self._scene = server.scene
        self._box: tuple[FloatArray, FloatArray] | None = None
        self._height = 0.0
        self._shadow: Any = None
        self._drawn = 0.0

    def place(self, lower: FloatArray, upper: FloatArray, height: float) -> None:
        """Put the floor at `height` m, below the view box from `lower` to `upper` (3,) m."""
        size = float(np.linalg.norm(upper - lower))
        spacing = grid_spacing(lower, upper)
        center = np.round(0.5 * (lower + upper)[:2] / spacing) * spacing
        width = spacing * 2.0 * np.ceil(4.0 * size / spacing)
        lines = _DARK_LINES if self.dark else _LIGHT_LINES
        self._scene.add_grid(
            "/floor", width, width, cell_size=spacing, section_size=5.0 * spacing, position=(*center, height),
            cell_color=lines[0], section_color=lines[1], cell_thickness=1.0, section_thickness=1.0,
            fade_distance=7.0 * size, fade_strength=1.6, shadow_opacity=0.0,
        )  # fmt: skip
        self._box, self._height, self._drawn = (lower, upper), height, 0.0

    def cast(self, surfaces: Iterable[tuple[FloatArray, IndexArray]], *, at_once: bool = False) -> None:
        """Draw the shadow of `surfaces`, points (n, 3) m and triangles (t, 3); not more often than `SHADOW_SECONDS`."""
        now = time.perf_counter()
        if self._box is None or not (at_once or now - self._drawn >= SHADOW_SECONDS):
            return
        self._drawn = now
        dark, corner, cell = shadow_map(surfaces, self._box, self._height, SHADOW_PIXELS)
        image = np.zeros((SHADOW_PIXELS, SHADOW_PIXELS, 4), np.uint8)
        image[..., 3] = np.rint(255.0 * SHADOW_OPACITY * np.clip(dark, 0.0, 1.0))
        side, extent = cell * SHADOW_PIXELS, float(np.linalg.norm(self._box[1] - self._box[0]))
        place = (*(corner + 0.5 * side), self._height - _BELOW * extent)
        if self._shadow is None:
            self._shadow = self._scene.add_image(
                "/shadow", image, side, side, format="png", position=place, cast_shadow=False, receive_shadow=False
            )
            return
        self._shadow.image = image
        self._shadow.render_width = self._shadow.render_height = side
        self._shadow.position = place
