"""Light of the studio: that of exported pictures (`rasterizer.shade`), as far as the browser's renderer has it.

Sky light, a key light over the viewer's left shoulder and a fill light from the right. In pictures the key light moves
with the camera; here it stands where the default view would have it. The renderer divides light by π and maps tones
(`viewer.tones`), so that the light is stronger here and the colours that are sent are darker.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.core.types import FloatArray
from pliant.viewer.tones import LIGHT

_SKY, _GROUND = (203, 206, 212), (158, 155, 163)
"""Sky light from above and below, sRGB of the linear (0.60, 0.62, 0.66) and (0.34, 0.33, 0.37)."""
_KEY, _FILL = 0.60, 0.22


def set_lights(scene: Any, toward_eye: FloatArray) -> None:
    """Light `scene` for an eye in the direction `toward_eye` (3,)."""
    back = toward_eye / np.linalg.norm(toward_eye)
    right = np.cross((0.0, 0.0, 1.0), back)
    right = right / np.linalg.norm(right) if np.linalg.norm(right) > 1e-9 else np.array([1.0, 0.0, 0.0])
    up = np.cross(back, right)
    scene.configure_default_lights(enabled=False, cast_shadow=False)
    scene.configure_environment_map(hdri=None)
    scene.add_light_hemisphere(
        "/light/sky", sky_color=_SKY, ground_color=_GROUND, intensity=LIGHT * np.pi, position=(0.0, 0.0, 1.0)
    )
    key = 0.75 * back - 0.5 * right + 0.3 * up + np.array([0.0, 0.0, 0.5])
    for name, direction, intensity in (("key", key, _KEY), ("fill", back + 1.4 * right, _FILL)):
        scene.add_light_directional(
            f"/light/{name}", intensity=LIGHT * np.pi * intensity, position=tuple(direction / np.linalg.norm(direction))
        )
