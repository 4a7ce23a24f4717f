"""`pl.export`: a run as a page, a film, a picture or data; the ending of the file name selects the format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pliant.core.checks import positive, positive_count, shown
from pliant.core.declared import declared
from pliant.core.errors import InputError
from pliant.core.progress import progress_bar
from pliant.record import Run
from pliant.viewer.export_film import write_gif, write_mp4, write_strip
from pliant.viewer.export_gltf import write_gltf
from pliant.viewer.export_surfaces import shown_run
from pliant.viewer.page import write_page
from pliant.viewer.picture import write_picture

KINDS: dict[str, str] = {
    ".html": "a self-contained page that plays in any browser",
    ".gif": "a film that plays anywhere",
    ".mp4": "a film, written by ffmpeg",
    ".png": "a picture of several poses, or a strip of pictures",
    ".glb": "glTF, binary: for Blender, browsers, game engines",
    ".gltf": "glTF, text",
    ".pvd": "a series for ParaView, with a folder of .vtu files",
    ".csv": "curves of actuators and contact forces over time",
    ".npz": "the run itself",
}
"""Endings of files that a run is written to, each with one line."""
LARGEST_SIDE = 16_384
"""Most pixels of a side of a picture: more than memory and players take."""
_USUAL_FPS: dict[str, Any] = {".html": 50.0, ".gif": 25.0, ".mp4": 30.0, ".png": None, ".glb": 30.0, ".gltf": 30.0}
"""Default instants per second, 1/s: pages interpolate, GIF allows at most 50, players expect 30; None takes all."""


@declared
def export(
    run: Run,
    path: str | Path,
    *,
    fps: float | None = None,
    color: str = "stress",
    size: tuple[int, int] = (960, 540),
    poses: int | None = None,
    strip: int | None = None,
    title: str | None = None,
    opacity: float = 1.0,
    cut: Any = None,
    progress: bool | None = None,
) -> Path:
    """Write `run` to `path` and return it; the ending (.html .gif .mp4 .png .glb .gltf .pvd .csv .npz) is the format.

    `fps` are instants per second of simulated time, 1/s; None selects a default of the format (25 to 50, all for .pvd
    and .csv). Films play in real time. `color` is what volumes are coloured by: "stress", "displacement" or "plain";
    glTF is always plain. `size` is the width and height of films and pictures in pixels. A .png shows `poses` drawn
    over each other (None: four), or `strip` instants side by side. `title` is plain text; None names the bodies.
    `opacity` below 1 lets cables, rods and chambers shine through the volumes; `cut` is a region, at rest, whose cells
    are left out, such as ``pl.regions.box((-inf, 0, -inf), (inf, inf, inf))``: a cut-away view of stresses inside.
    `progress` shows a progress bar while frames are drawn; None: on a terminal and in a notebook, where it takes long.
    """
    target = Path(path)
    kind = checked_kind(target)
    if not isinstance(size, (tuple, list)) or len(size) != 2:
        raise InputError(f"size must be two whole numbers, width and height in pixels, got {shown(size)}")
    for side in size:
        if positive_count("size", side) > LARGEST_SIDE:
            raise InputError(f"size must be at most {LARGEST_SIDE} pixels a side, got {side}")
    if not isinstance(run, Run):
        raise InputError(f"pl.export writes a Run, as pl.simulate returns it, not a {type(run).__name__}")
    if kind == ".npz":
        return run.save(target)
    if kind == ".pvd":
        return run.export(target, every=_every(run, fps))
    if kind == ".csv":
        return run.save_curves(target)
    look: dict[str, Any] = {"color": "plain" if "gl" in kind else color, "opacity": opacity, "cut": cut}
    film = shown_run(run, fps=_USUAL_FPS[kind] if fps is None else fps, **look)
    title = title or ", ".join(body.name for body in run.bodies)
    if kind == ".html":
        shown_as: dict[str, Any] = {"title": title, "stats": _statistics(run), "floor": film.floor}
        return write_page(target, surfaces=film.surfaces, times=film.times, **shown_as)
    if kind in (".glb", ".gltf"):
        return write_gltf(target, film, title=title)
    with progress_bar("draw", strip or len(film.times), shown=progress) as advance:
        drawn: dict[str, Any] = {"size": size, "tick": advance}
        if kind != ".png":
            write = write_gif if kind == ".gif" else write_mp4
            return write(target, film, fps=fps or _USUAL_FPS[kind], **drawn)
        if strip is not None:
            return write_strip(target, film, count=strip, **drawn)
    count, last = 4 if poses is None else positive_count("poses", poses), len(film.times) - 1
    frames = sorted({round(float(i)) for i in np.linspace(0, last, min(count, last + 1))}) if count > 1 else [last]
    still: dict[str, Any] = {"title": title, "size": size, "floor": film.floor}
    return write_picture(target, surfaces=film.surfaces, frames=frames, times=film.times, **still)


def checked_kind(path: Path) -> str:
    """The ending of `path` in lower case; raises InputError where no format has it."""
    kind = path.suffix.lower()
    if kind not in KINDS:
        raise InputError(f"a run cannot be written to {path}; the ending must be one of {', '.join(KINDS)}")
    return kind


def _statistics(run: Run) -> dict[str, str]:
    """What the panel of a page says of a run."""
    stats = {"simulated": f"{run.times[-1] - run.times[0]:.2f} s", "steps": f"{len(run.times) - 1}"}
    if run.step_seconds.any():
        stats["step"] = f"{1e3 * float(np.median(run.step_seconds)):.2f} ms"
        stats["real-time factor"] = f"{run.real_time_factor:.1f}×"
    return stats


def _every(run: Run, fps: float | None) -> int:
    """Stride in steps between the instants of a series at `fps` 1/s."""
    if fps is None or len(run.times) < 2:
        return 1
    return max(1, round(1.0 / (positive("fps", fps, unit="1/s") * float(np.diff(run.times).mean()))))
