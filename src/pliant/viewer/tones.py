"""Colours for the browser's renderer, which maps tones: what to send so that a surface is seen in a given colour.

The renderer (three.js) shows a surface of linear colour b under the light L as ACES(L b), the filmic curve in the fit
of S. Hill: a matrix, a rational function of each channel and another matrix. All three are inverted here, so that the
studio shows the colours of exported pictures and of its own legends.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.core.types import FloatArray
from pliant.viewer.palette import linear_to_srgb, srgb_to_linear

LIGHT = 2.0
"""Light of the studio over that of exported pictures: with less, bright colours would need more than full colour."""
_INTO = np.array([[0.59719, 0.35458, 0.04823], [0.07600, 0.90834, 0.01566], [0.02840, 0.13383, 0.83777]])
_OUT = np.array([[1.60475, -0.53108, -0.07367], [-0.10208, 1.10813, -0.00605], [-0.00327, -0.07276, 1.07602]])
_EXPOSURE = 1.0 / 0.6
_CURVE = (0.0245786, 0.000090537, 0.983729, 0.4329510, 0.238081)
_BRIGHTEST = 0.9
"""Linear brightness up to which the curve is inverted: beyond it the curve is all but level."""


def shown_color(color: FloatArray, *, lit: bool = True, linear: bool = False) -> Any:
    """What to send, (3,) 0…255, so that `color` (3,), sRGB 0…1, is seen.

    Lines are not `lit`. Colours of instances, such as arrows, are sent `linear`.
    """
    display = np.minimum(srgb_to_linear(color), _BRIGHTEST)
    light = np.clip(_scene_light(display) / (LIGHT if lit else 1.0), 0.0, 1.0)
    return np.rint(255.0 * (light if linear else linear_to_srgb(light))).astype(np.uint8)


def displayed(color: Any, *, light: float = 1.0) -> FloatArray:
    """The sRGB colour (3,) 0…1 that a surface of the sent `color` (3,) 0…255 has under `light`, 1 for lines."""
    v = _INTO @ (srgb_to_linear(np.asarray(color, float) / 255.0) * light * _EXPOSURE)
    a, b, c, d, e = _CURVE
    return linear_to_srgb(_OUT @ ((v * (v + a) - b) / (v * (c * v + d) + e)))


def _scene_light(display: FloatArray) -> FloatArray:
    """Linear light (3,) that the tone mapping shows as `display` (3,), linear."""
    a, b, c, d, e = _CURVE
    y = np.clip(np.linalg.solve(_OUT, display), 1e-4, 0.99)
    # y = (v² + a v − b) / (c v² + d v + e), a quadratic in v with one positive root for y below 1/c
    p, q, r = 1.0 - c * y, a - d * y, -b - e * y
    v = (-q + np.sqrt(q * q - 4.0 * p * r)) / (2.0 * p)
    return np.asarray(np.maximum(np.linalg.solve(_INTO, v), 0.0) / _EXPOSURE)
