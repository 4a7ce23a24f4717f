"""A run as a film without a display: GIF by Pillow, MP4 by ffmpeg, and a strip of pictures side by side.

Every frame is drawn by the renderer of `raster`, so no graphics card and no window is needed.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from pliant.core.checks import positive_count
from pliant.core.errors import InputError, MissingExtraError, PliantError
from pliant.core.types import FloatArray
from pliant.viewer.export_surfaces import Shown
from pliant.viewer.pose_renderer import render_poses
from pliant.viewer.rasterizer import Camera, fit_camera
from pliant.viewer.surfaces import Scale, SurfaceFrames, bounds, check_surfaces, value_scales

AZIMUTH, ELEVATION = np.radians(-58.0), np.radians(19.0)
"""Direction from the bodies to the eye, rad: as in the still picture."""
_PALETTE_FRAMES = 5
"""Frames that the colours of a GIF are taken from."""
Tick = Callable[[], None]
_Image = np.ndarray
"""A picture (height, width, 3) of bytes."""


def film_frames(shown: Shown, *, size: tuple[int, int], tick: Tick = lambda: None) -> Iterator[_Image]:
    """The pictures (height, width, 3), bytes, of all instants of `shown`, from one camera; `tick()` after each."""
    surfaces, count = check_surfaces(shown.surfaces, len(shown.times))
    scales, camera = value_scales(surfaces), film_camera(surfaces, size)
    for number in range(count):
        yield _frame(surfaces, number, scales, camera)
        tick()


def film_camera(surfaces: list[SurfaceFrames], size: tuple[int, int]) -> Camera:
    """A camera that sees the whole motion, for pictures of `size` pixels."""
    width, height = positive_count("width", size[0]), positive_count("height", size[1])
    if width % 2 or height % 2:
        raise InputError(f"width and height of a film must be even, got {width} × {height}")
    area = (0.05 * width, 0.06 * height, 0.95 * width, 0.94 * height)
    points = np.concatenate([surface.frames.reshape(-1, 3) for surface in surfaces])
    return fit_camera(points, size=(width, height), area=area, azimuth=AZIMUTH, elevation=ELEVATION)


def write_gif(path: Path, shown: Shown, *, size: tuple[int, int], fps: float, tick: Tick = lambda: None) -> Path:
    """Write a GIF that plays for ever at `fps` pictures a second (at most 50: GIF counts hundredths of a second)."""
    image = _pillow()
    surfaces, count = check_surfaces(shown.surfaces, len(shown.times))
    scales, camera = value_scales(surfaces), film_camera(surfaces, size)
    # one palette for all frames, so that still parts do not flicker
    samples = np.unique(np.linspace(0, count - 1, _PALETTE_FRAMES).round().astype(int))
    drawn = np.concatenate([_frame(surfaces, int(k), scales, camera) for k in samples])
    palette = image.fromarray(drawn).quantize(256, method=image.Quantize.MEDIANCUT, dither=image.Dither.NONE)
    frames = film_frames(shown, size=size, tick=tick)
    pictures = (image.fromarray(f).quantize(palette=palette, dither=image.Dither.FLOYDSTEINBERG) for f in frames)
    first, others = next(pictures), pictures
    duration = max(20, 10 * round(100.0 / fps))
    first.save(path, format="GIF", save_all=True, append_images=others, duration=duration, loop=0, optimize=False)
    return path


def write_mp4(path: Path, shown: Shown, *, size: tuple[int, int], fps: float, tick: Tick = lambda: None) -> Path:
    """Write an MP4 (H.264) at `fps` pictures a second through ffmpeg, which has to be installed."""
    program = shutil.which("ffmpeg")
    if program is None:
        raise MissingExtraError(
            "MP4 films are written by ffmpeg, which is not installed here (apt-get install ffmpeg); write a "
            f"GIF ({path.with_suffix('.gif').name}) or a page ({path.with_suffix('.html').name}), which need nothing"
        )
    command = [
        program, "-y", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{size[0]}x{size[1]}", "-r",
        f"{fps:g}", "-i", "-", "-an", "-c:v", "libx264", "-pix_fmt", "yuv420p", "-movflags", "+faststart", str(path),
    ]  # fmt: skip
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        try:
            for frame in film_frames(shown, size=size, tick=tick):
                process.stdin.write(frame.tobytes())
            process.stdin.close()
        except BrokenPipeError:
            pass  # ffmpeg has ended; it says why below
        assert process.stderr is not None
        told = process.stderr.read().decode(errors="replace").strip()
    if process.returncode != 0:
        raise PliantError(f"ffmpeg could not write {path} ({told or f'exit code {process.returncode}'})")
    return path


def write_strip(path: Path, shown: Shown, *, count: int, size: tuple[int, int], tick: Tick = lambda: None) -> Path:
    """Write a PNG of `count` instants side by side, evenly spread over the motion, each of `size` pixels."""
    figure_module, agg = _matplotlib()
    chosen = np.unique(np.linspace(0, len(shown.times) - 1, positive_count("count", count)).round().astype(int))
    surfaces, _ = check_surfaces(shown.surfaces, len(shown.times))
    scales, camera = value_scales(surfaces), film_camera(surfaces, size)
    pictures = []
    for number in chosen:
        pictures.append(_frame(surfaces, int(number), scales, camera))
        tick()
    width, height = size
    figure = figure_module.Figure(figsize=((len(chosen) * width + 0.1) / 100, (height + 0.1) / 100), dpi=100)
    agg.FigureCanvasAgg(figure)
    for place, (number, picture) in enumerate(zip(chosen, pictures, strict=True)):
        axes = figure.add_axes((place / len(chosen), 0.0, 1.0 / len(chosen), 1.0))
        axes.set_axis_off()
        axes.imshow(picture, aspect="auto")
        axes.text(0.04, 0.95, f"{shown.times[number]:.2f} s", transform=axes.transAxes, va="top", color="#1b2330")
    figure.savefig(path, dpi=100, format="png")
    return path


def _frame(surfaces: list[SurfaceFrames], number: int, scales: list[Scale], camera: Camera) -> _Image:
    """One instant, drawn on the floor and in the light of the whole motion."""
    now = [_at(surface, number) for surface in surfaces]
    drawn: FloatArray = render_poses(now, scales, camera, floor_box=bounds(surfaces))
    return np.ascontiguousarray(np.rint(255.0 * np.clip(drawn, 0.0, 1.0)).astype(np.uint8))


def _at(surface: SurfaceFrames, number: int) -> SurfaceFrames:
    k = number if len(surface.frames) > 1 else 0
    values = None if surface.values is None else surface.values[k : k + 1]
    return replace(surface, frames=surface.frames[k : k + 1], values=values)


def _pillow() -> Any:
    try:
        return import_module("PIL.Image")
    except ImportError as error:
        raise MissingExtraError("GIF films are written by Pillow: pip install 'pliant[plot]'") from error


def _matplotlib() -> tuple[Any, Any]:
    try:
        return import_module("matplotlib.figure"), import_module("matplotlib.backends.backend_agg")
    except ImportError as error:
        raise MissingExtraError("pictures need Matplotlib: pip install 'pliant[plot]'") from error
