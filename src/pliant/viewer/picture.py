"""A motion in one still picture: a few poses, earlier ones faint, over a floor with a scale bar.

Surfaces, floor and shadow are drawn by `pose_renderer`; Matplotlib adds the text and writes the PNG.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pliant.core.checks import finite_array, positive_count
from pliant.core.errors import InputError
from pliant.core.extras import blank_figure
from pliant.core.provenance import made_by
from pliant.core.replacing import replacing
from pliant.core.types import FloatArray
from pliant.viewer.palette import map_colors
from pliant.viewer.pose_renderer import render_poses
from pliant.viewer.rasterizer import Camera, fit_camera
from pliant.viewer.surfaces import (
    Scale,
    SurfaceFrames,
    bounds,
    check_surfaces,
    floor_height,
    grid_spacing,
    length_text,
    value_scales,
)

DPI = 100
"""Pixels per inch: relates font sizes to pixels."""
AZIMUTH, ELEVATION = np.radians(-58.0), np.radians(19.0)
"""Default direction from the bodies to the eye, rad."""
_BAR_STRIP = 230.0
"""Width of the strip that holds the colour bars, in pixels of a picture of 1600 × 900."""
INK, _SOFT = "#1b2330", "#586273"


def write_picture(
    path: str | PathLike[str],
    *,
    surfaces: Sequence[SurfaceFrames],
    frames: Sequence[int] | None = None,
    times: ArrayLike | None = None,
    title: str | None = None,
    size: tuple[int, int] = (1600, 900),
    azimuth: float = AZIMUTH,
    elevation: float = ELEVATION,
    floor: float | None = None,
) -> Path:
    """Write a PNG of several poses of `surfaces`, the last one solid, earlier ones fainter, and return its path.

    Each surface has T frames, or one if it never moves; z is up. `frames` are the indices of the poses in order,
    negative ones counted from the end; None takes four, evenly spread. With the `times` (T,) s of all frames, those of
    the poses are written below the `title`. `size` is the width and height in pixels; `azimuth`, counter-clockwise from
    x, and `elevation` above the floor (> 0), rad, are the direction from the bodies to the eye. `floor` is the height
    of the floor, m; None draws one at z = 0 or below the motion.
    """
    checked, count = check_surfaces(surfaces)
    poses = _checked_poses(frames, count)
    instants = None if times is None else finite_array("times", times, shape=(count,))[poses]
    pixels = (positive_count("size[0]", size[0]), positive_count("size[1]", size[1]))
    if not 0.0 < elevation < np.pi / 2:
        raise InputError(f"elevation must be between 0 and π/2 rad, the floor is seen from above; got {elevation:g}")
    posed = [surface.at(poses) for surface in checked]
    scales = value_scales(posed)
    camera = _camera(posed, pixels, title is not None, bool(scales), (azimuth, elevation), floor)
    target = Path(path)
    _compose(target, camera, posed, scales, (title, _times_text(instants)), floor)
    return target


def _times_text(instants: FloatArray | None) -> str:
    """'t = 0.0, 0.5, 1.0 s', two digits of their span."""
    if instants is None:
        return ""
    span = float(np.ptp(instants)) or 0.1
    digits = int(np.clip(1 - np.floor(np.log10(max(span, 1e-9))), 0, 9))
    return "t = " + ", ".join(f"{t:.{digits}f}" for t in instants) + " s"


def _checked_poses(frames: Sequence[int] | None, count: int) -> list[int]:
    if frames is None:
        return sorted({round(float(i)) for i in np.linspace(0, count - 1, 4)})
    if len(frames) == 0 or not all(isinstance(i, (int, np.integer)) and -count <= i < count for i in frames):
        raise InputError(f"frames must be whole numbers between {-count} and {count - 1}, at least one; got {frames!r}")
    return [int(i) % count for i in frames]


def _camera(
    surfaces: list[SurfaceFrames],
    size: tuple[int, int],
    titled: bool,
    barred: bool,
    direction: tuple[float, float],
    floor: float | None,
) -> Camera:
    width, height = size
    right = width - (_BAR_STRIP * _points(size) if barred else 0.06 * width)
    area = (0.06 * width, (0.15 if titled else 0.07) * height, max(right, 0.5 * width), 0.91 * height)
    back_y = float(np.sin(direction[0]))
    points: list[FloatArray] = [surface.frames.reshape(-1, 3) for surface in surfaces]
    points.append(_scale_bar(surfaces, back_y, floor))
    return fit_camera(np.concatenate(points), size=size, area=area, azimuth=direction[0], elevation=direction[1])


def _compose(
    target: Path,
    camera: Camera,
    surfaces: list[SurfaceFrames],
    scales: list[Scale],
    texts: tuple[str | None, str],
    floor: float | None,
) -> None:
    """Lay text, colour bars and the scale bar over the rendered poses, and write the PNG."""
    (width, height), (title, note) = camera.size, texts
    figure = new_figure(width, height)
    canvas = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    canvas.set_axis_off()
    canvas.imshow(render_poses(surfaces, scales, camera, floor=floor), extent=(0, width, height, 0), aspect="auto")
    canvas.set_xlim(0, width)
    canvas.set_ylim(height, 0)
    point = _points(camera.size)
    if title is not None:
        figure.text(0.035, 0.945, title, size=21 * point, weight="bold", color=INK, va="top", parse_math=False)
    if note:
        figure.text(0.035, 0.885 if title else 0.945, note, size=12 * point, color=_SOFT, va="top", parse_math=False)
    for slot, scale in enumerate(scales):
        _add_color_bar(figure, scale, slot, len(scales), point)
    _add_scale_bar(canvas, _scale_bar(surfaces, float(camera.axes[2, 1]), floor), camera, point)
    with replacing(target) as part:
        figure.savefig(part, dpi=DPI, format="png", metadata={"Description": made_by()})


def _points(size: tuple[int, int]) -> float:
    """Factor on font sizes and line widths: 1 for a picture of 1600 × 900, readable for smaller ones."""
    return max(0.6, min(size[0] / 1600.0, size[1] / 900.0))


def _add_color_bar(figure: Any, scale: Scale, slot: int, count: int, point: float) -> None:
    """A vertical colour bar at the right, at `slot` of `count` from the top, label above and ticks beside it."""
    pixel = point / (figure.get_figwidth() * DPI)
    left, height = 1.0 - (_BAR_STRIP - 50.0) * pixel, 0.66 / count
    bottom = 0.16 + height * (count - 1 - slot)
    axes = figure.add_axes((left, bottom, 16.0 * pixel, height - 0.14))
    span = (scale.low, scale.high) if scale.high > scale.low else (scale.low - 0.5, scale.low + 0.5)
    axes.imshow(
        map_colors(np.linspace(1.0, 0.0, 256, dtype=np.float64))[:, None, :], extent=(0.0, 1.0, *span), aspect="auto"
    )
    axes.set_xticks([])
    axes.yaxis.tick_right()
    axes.locator_params(axis="y", nbins=5)
    axes.tick_params(axis="y", length=0, pad=6 * point, labelsize=12 * point, labelcolor=_SOFT)
    for spine in axes.spines.values():
        spine.set_visible(False)
    lines = wrap(scale.label or "value", 16) + ([f"(top: ≥ {scale.high:.3g})"] if scale.clipped else [])
    figure.text(
        left, bottom + height - 0.12, "\n".join(lines), size=12.5 * point, color=INK, va="bottom", parse_math=False
    )


def _scale_bar(surfaces: list[SurfaceFrames], back_y: float, floor: float | None) -> FloatArray:
    """Ends of a bar of a round length on the floor, on the side of the bodies toward the eye [m], shape (2, 3)."""
    lower, upper = bounds(surfaces)
    spacing, ground = grid_spacing(lower, upper), floor_height(lower, upper, floor)
    side = lower[1] - 1.2 * spacing if back_y < 0.0 else upper[1] + 1.2 * spacing
    y, start = spacing * np.rint(side / spacing), spacing * np.floor(0.5 * (lower[0] + upper[0]) / spacing)
    return np.array([[start, y, ground], [start + 2.0 * spacing, y, ground]])


def _add_scale_bar(axes: Any, ends: FloatArray, camera: Camera, point: float) -> None:
    """The scale bar between `ends` (2, 3) m, in perspective like the bodies, with its length written below it."""
    length = float(ends[1, 0] - ends[0, 0])
    tick = np.array([0.0, 0.06 * length, 0.0])
    for a, b in ((ends[0], ends[1]), (ends[0] - tick, ends[0] + tick), (ends[1] - tick, ends[1] + tick)):
        line = camera.project(np.stack([a, b]))
        axes.plot(line[:, 0], line[:, 1], color=INK, linewidth=2.0 * point, solid_capstyle="round")
    column, row, _ = camera.project(ends.mean(axis=0)[None])[0]
    below = {"xytext": (0, -10 * point), "textcoords": "offset points", "ha": "center", "va": "top"}
    axes.annotate(length_text(length), (column, row), size=12 * point, color=INK, **below)


def new_figure(width: int, height: int) -> Any:
    """An empty Matplotlib figure of this many pixels, drawn by Agg without touching pyplot or the chosen backend."""
    # A tenth of a pixel more, since Agg rounds the size down.
    return blank_figure(figsize=((width + 0.1) / DPI, (height + 0.1) / DPI), dpi=DPI)
