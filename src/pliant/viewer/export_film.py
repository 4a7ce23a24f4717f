"""A run as a film: GIF by Pillow, MP4 by ffmpeg, and a strip of pictures side by side.

Every frame is drawn by our own `rasterizer`, so neither a graphics card nor a display is needed.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from pliant.core.checks import positive_count
from pliant.core.errors import InputError, MissingExtraError, PliantError
from pliant.core.extras import extra
from pliant.core.provenance import made_by
from pliant.core.replacing import replacing
from pliant.core.types import FloatArray
from pliant.viewer.export_surfaces import Shown
from pliant.viewer.picture import AZIMUTH, DPI, ELEVATION, INK, new_figure
from pliant.viewer.pose_renderer import render_poses
from pliant.viewer.rasterizer import Camera, fit_camera
from pliant.viewer.surfaces import Scale, SurfaceFrames, bounds, check_surfaces, value_scales

_PALETTE_FRAMES = 5
"""Frames from which the 256 colours of a GIF are chosen: enough to meet every stress that occurs."""
Tick = Callable[[], None]
_Image = np.ndarray
"""A picture (height, width, 3) of bytes."""


def film_frames(shown: Shown, *, size: tuple[int, int], tick: Tick = lambda: None) -> Iterator[_Image]:
    """The pictures (height, width, 3), bytes, of all instants of `shown`, from one camera; `tick()` after each."""
    surfaces, count = check_surfaces(shown.surfaces, len(shown.times))
    scales, camera = value_scales(surfaces), film_camera(surfaces, size)
    for index in range(count):
        yield _frame(surfaces, index, scales, camera, shown.floor)
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
    """Write a GIF that loops at `fps` pictures a second (at most 50: GIF counts hundredths of a second)."""
    image = extra("PIL.Image", "GIF films are written by Pillow", "plot")
    surfaces, count = check_surfaces(shown.surfaces, len(shown.times))
    scales, camera = value_scales(surfaces), film_camera(surfaces, size)
    # one palette for all frames, so that still parts do not flicker
    samples = np.unique(np.linspace(0, count - 1, _PALETTE_FRAMES).round().astype(int))
    drawn = np.concatenate([_frame(surfaces, int(k), scales, camera, shown.floor) for k in samples])
    palette = image.fromarray(drawn).quantize(256, method=image.Quantize.MEDIANCUT, dither=image.Dither.NONE)
    frames = film_frames(shown, size=size, tick=tick)
    pictures = (image.fromarray(f).quantize(palette=palette, dither=image.Dither.FLOYDSTEINBERG) for f in frames)
    first, others = next(pictures), pictures
    duration = max(20, 10 * round(100.0 / fps))  # ms; browsers slow down films with shorter frames
    with replacing(path) as part:
        first.save(part, format="GIF", save_all=True, append_images=others, duration=duration, loop=0, optimize=False)
    return path


def write_mp4(path: Path, shown: Shown, *, size: tuple[int, int], fps: float, tick: Tick = lambda: None) -> Path:
    """Write an MP4 (H.264) at `fps` pictures a second by ffmpeg, which must be installed."""
    program = shutil.which("ffmpeg")
    if program is None:
        raise MissingExtraError(
            "MP4 films are written by ffmpeg, which is not installed here (apt-get install ffmpeg); write a "
            f"GIF ({path.with_suffix('.gif').name}) or a page ({path.with_suffix('.html').name}), which need nothing"
        )
    with replacing(path) as part:
        _encode(program, part, shown, size=size, fps=fps, tick=tick)
    return path


def _encode(program: str, path: Path, shown: Shown, *, size: tuple[int, int], fps: float, tick: Tick) -> None:
    """Have ffmpeg write the film to `path`."""
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
            pass  # ffmpeg has ended; its message is read below
        assert process.stderr is not None
        message = process.stderr.read().decode(errors="replace").strip()
    if process.returncode != 0:
        raise PliantError(f"ffmpeg could not write {path.name} ({message or f'exit code {process.returncode}'})")


def write_strip(path: Path, shown: Shown, *, count: int, size: tuple[int, int], tick: Tick = lambda: None) -> Path:
    """Write a PNG of `count` instants side by side, evenly spread over the motion, each of `size` pixels."""
    chosen = np.unique(np.linspace(0, len(shown.times) - 1, positive_count("count", count)).round().astype(int))
    surfaces, _ = check_surfaces(shown.surfaces, len(shown.times))
    scales, camera = value_scales(surfaces), film_camera(surfaces, size)
    pictures = []
    for instant in chosen:
        pictures.append(_frame(surfaces, int(instant), scales, camera, shown.floor))
        tick()
    figure = new_figure(len(chosen) * size[0], size[1])
    for column, (instant, picture) in enumerate(zip(chosen, pictures, strict=True)):
        axes = figure.add_axes((column / len(chosen), 0.0, 1.0 / len(chosen), 1.0))
        axes.set_axis_off()
        axes.imshow(picture, aspect="auto")
        axes.text(0.04, 0.95, f"{shown.times[instant]:.2f} s", transform=axes.transAxes, va="top", color=INK)
    with replacing(path) as part:
        figure.savefig(part, dpi=DPI, format="png", metadata={"Description": made_by()})
    return path


def _frame(
    surfaces: list[SurfaceFrames], instant: int, scales: list[Scale], camera: Camera, floor: float | None
) -> _Image:
    """One instant, with the floor and the light of the whole motion."""
    now = [surface.at([instant]) for surface in surfaces]
    drawn: FloatArray = render_poses(now, scales, camera, floor_box=bounds(surfaces), floor=floor)
    return np.ascontiguousarray(np.rint(255.0 * np.clip(drawn, 0.0, 1.0)).astype(np.uint8))
