"""A recorded motion as one HTML file that plays anywhere: no server, no network, no script but its own.

Vertex positions are stored as 16-bit fractions of each surface's bounding box (an error below 1/131 000 of its size),
written in base64. The page interpolates between frames, computes normals and draws with WebGL 2; see `page.html`.
"""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Mapping, Sequence
from importlib import resources
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pliant.core.checks import finite_array, finite_number
from pliant.core.errors import InputError
from pliant.core.provenance import made_by
from pliant.core.replacing import replace_text
from pliant.core.types import FloatArray
from pliant.viewer.palette import COLOR_MAP
from pliant.viewer.surfaces import (
    Scale,
    SurfaceFrames,
    bounds,
    check_surfaces,
    floor_height,
    grid_spacing,
    length_text,
    plain_colors,
    split_creases,
    value_scales,
)

__all__ = ["SurfaceFrames", "write_page"]

_LEVELS = 65535  # of coordinates and values in a page: 16 bits, finer than the pixels of any screen


def write_page(
    path: str | PathLike[str],
    *,
    surfaces: Sequence[SurfaceFrames],
    times: ArrayLike,
    title: str,
    caption: str = "",
    stats: Mapping[str, str] | None = None,
    floor: float | None = None,
) -> Path:
    """Write one self-contained HTML file that plays the motion of `surfaces`, and return its path.

    Each surface has a frame for each of the increasing `times` (T,) s, or one if it never moves; z is up. `title` and
    `caption` are plain text at the top, `stats` short facts in a panel, such as {"step": "3.1 ms"}. `floor` is the
    height of the floor, m; None draws it at z = 0 if the motion stays just above that, else below the motion.
    """
    instants = finite_array("times", times, shape=(None,))
    if len(instants) == 0 or np.any(np.diff(instants) <= 0.0):
        raise InputError("times must hold at least one instant and increase from each to the next")
    checked, _ = check_surfaces(surfaces, len(instants))
    fields = {
        "title": html.escape(title),
        "caption": html.escape(caption),
        "data": _script_json(_page_data(checked, instants, stats or {}, floor)),
    }
    template = resources.files("pliant.viewer").joinpath("page.html").read_text(encoding="utf-8")
    # One pass, so that a title that happens to hold "{{data}}" stays a title.
    text = re.sub(r"\{\{(\w+)\}\}", lambda match: fields[match.group(1)], template)
    replace_text(Path(path), text)
    return Path(path)


def _page_data(
    surfaces: list[SurfaceFrames], times: FloatArray, stats: Mapping[str, str], floor: float | None
) -> dict[str, Any]:
    lower, upper = bounds(surfaces)
    scales = value_scales(surfaces)
    spacing = grid_spacing(lower, upper)
    return {
        "made": made_by(),
        "times": [float(f"{time:.9g}") for time in times],
        "lower": lower.tolist(),
        "upper": upper.tolist(),
        "floor": floor_height(lower, upper) if floor is None else finite_number("floor", floor, unit="m"),
        "grid": spacing,
        "gridText": length_text(spacing),
        "map": list(COLOR_MAP),
        "scales": [{"label": s.label, "low": s.low, "high": s.high, "clipped": s.clipped} for s in scales],
        "stats": [[str(name), str(value)] for name, value in stats.items()],
        "surfaces": [_surface_data(s, c, scales) for s, c in zip(surfaces, plain_colors(surfaces), strict=True)],
    }


def _surface_data(surface: SurfaceFrames, color: str, scales: list[Scale]) -> dict[str, Any]:
    """One surface as JSON: `positions` (T, n, 3) and `values` (T, n) as uint16 levels, indices as uint32."""
    corners, source = split_creases(surface.frames[0], surface.triangles)
    lower, upper = surface.frames.min(axis=(0, 1)), surface.frames.max(axis=(0, 1))
    data: dict[str, Any] = {
        "label": surface.label,
        "color": color,
        "front": surface.in_front,
        "opacity": surface.opacity,
        "frameCount": surface.frames.shape[0],
        "vertexCount": surface.frames.shape[1],
        "lower": lower.tolist(),
        "upper": upper.tolist(),
        "positions": _base64(_quantize(surface.frames, lower, upper), "<u2"),
        "corners": _base64(corners, "<u4"),
        "source": _base64(source, "<u4"),
        "scale": -1,
    }
    if surface.values is not None:
        low, high = surface.values.min(), surface.values.max()
        data["scale"] = [scale.label for scale in scales].index(surface.value_label)
        data["low"], data["high"] = float(low), float(high)
        data["values"] = _base64(_quantize(surface.values, low, high), "<u2")
    return data


def _quantize(array: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Whole levels 0…65535 of `array` between `lower` and `upper`; an axis of no extent is all zeros."""
    extent = np.asarray(upper - lower)
    return np.rint((array - lower) * (_LEVELS / np.where(extent > 0.0, extent, 1.0)))


def _base64(array: np.ndarray, kind: str) -> str:
    return base64.b64encode(np.ascontiguousarray(array, dtype=kind).tobytes()).decode("ascii")


def _script_json(data: dict[str, Any]) -> str:
    """JSON that is safe inside a <script> element: it holds no '<', '>' or '&' at all."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
