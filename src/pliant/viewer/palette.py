"""Colours of the viewer: one perceptually uniform colour map and a few surface tints.

The map runs from indigo to amber. It was laid out in the OKLab colour space (Ottosson 2020) with lightness rising
linearly and equal distances between neighbouring entries, so equal steps of a value look like equal steps of colour, in
greyscale and for colour-blind readers too. Its darkest entry is light enough to be told apart from a dark page.
"""

from __future__ import annotations

import re

import numpy as np

from pliant.core.errors import InputError
from pliant.core.types import FloatArray

COLOR_MAP: tuple[str, ...] = (
    "#3932a0", "#5234a6", "#6936a9", "#7f38a9", "#953ba6", "#aa3da0", "#be4197", "#d1458c", "#e24b7f",
    "#ee5771", "#f96462", "#ff7556", "#fe8853", "#ff9a51", "#feac51", "#ffbe50", "#fecd49",
)  # fmt: skip
"""sRGB entries of the colour map at equal distances, lowest value first."""

TINTS: tuple[str, ...] = ("#5b82d6", "#e08a5b", "#4fae92", "#c7a548", "#9277c9")
"""sRGB colours given in turn to surfaces that have neither values nor a colour of their own."""

OBSTACLE = "#a8afba"
"""sRGB colour of obstacles."""

_HEX = re.compile(r"#[0-9a-fA-F]{6}")


def check_color(name: str, color: str) -> str:
    """`color`, checked to be written as '#rrggbb'."""
    if not isinstance(color, str) or _HEX.fullmatch(color) is None:
        raise InputError(f"{name} must be a colour written '#rrggbb', got {color!r}")
    return color.lower()


def rgb(color: str) -> FloatArray:
    """Red, green and blue (sRGB, 0…1) of '#rrggbb', shape (3,)."""
    return np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)], dtype=np.float64) / 255.0


def map_colors(fractions: FloatArray) -> FloatArray:
    """Colours (sRGB, 0…1) of the map, shape s + (3,), at `fractions` of its length, any shape s, clamped to 0…1."""
    table = np.stack([rgb(color) for color in COLOR_MAP])
    place = np.clip(fractions, 0.0, 1.0) * (len(table) - 1)
    below = np.minimum(place.astype(np.int64), len(table) - 2)
    weight = (place - below)[..., None]
    return np.asarray((1.0 - weight) * table[below] + weight * table[below + 1])


def srgb_to_linear(color: FloatArray) -> FloatArray:
    """Light intensities of sRGB components (power 2.2, the usual short form of the standard's curve), any shape."""
    return np.asarray(color**2.2)


def linear_to_srgb(light: FloatArray) -> FloatArray:
    """Components (sRGB) of light intensities, clamped to 0…1, any shape."""
    return np.asarray(np.clip(light, 0.0, 1.0) ** (1.0 / 2.2))
