"""`pl.export`: a run as a file to look at or to take elsewhere; the ending of its name says which."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import Progress

from pliant.core.checks import positive, positive_count
from pliant.core.errors import InputError
from pliant.record import Run
from pliant.viewer.export_film import write_gif, write_mp4, write_strip
from pliant.viewer.export_gltf import write_gltf
from pliant.viewer.export_surfaces import Shown, shown_run
from pliant.viewer.page import write_page
from pliant.viewer.picture import write_picture

KINDS: dict[str, str] = {
    ".html": "a page that plays in any browser, by itself",
    ".gif": "a film that plays anywhere",
    ".mp4": "a film, written by ffmpeg",
    ".png": "a picture of several poses, or a strip of pictures",
    ".glb": "glTF, binary: for Blender, browsers, game engines",
    ".gltf": "glTF, text",
    ".pvd": "a series for ParaView, with a folder of .vtu files",
    ".csv": "curves: what actuators and contacts did, by time",
    ".npz": "the run itself",
}
"""Endings of files that a run is written to, each with one line."""
_USUAL_FPS = {".html": 50.0, ".gif": 25.0, ".mp4": 30.0, ".png": None, ".glb": 30.0, ".gltf": 30.0}


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
    progress: bool = False,
) -> Path:
    """Write `run` to `path` and return it; the ending (.html .gif .mp4 .png .glb .gltf .pvd .csv .npz) says as what.

    Parameters
    ----------
    run
        What `pl.simulate` returned, or `pl.load` read.
    path
        File to write; its folder must exist.
    fps
        Instants a second of simulated time, 1/s; None takes what suits the kind (25 to 50, all for .pvd and .csv).
        Films play in real time.
    color
        What volumes are coloured by: "stress", "displacement" or "plain". glTF is always plain.
    size
        Width and height of films and pictures, pixels.
    poses
        Poses drawn over each other in a .png; None draws four.
    strip
        Instants drawn side by side in a .png, in place of poses.
    title
        Plain text; None names the bodies.
    progress
        Show a progress bar while frames are drawn.
    """
    target = Path(path)
    kind = checked_kind(target)
    if not isinstance(run, Run):
        raise InputError(f"pl.export writes a Run, as pl.simulate returns it, not a {type(run).__name__}")
    if kind == ".npz":
        return run.save(target)
    if kind == ".pvd":
        return run.export(target, every=_every(run, fps))
    if kind == ".csv":
        return run.save_curves(target)
    shown = shown_run(run, fps=_USUAL_FPS[kind] if fps is None else fps, color="plain" if "gl" in kind else color)
    job = _Job(
        target, shown, title or ", ".join(body.name for body in run.bodies), size, fps or _USUAL_FPS[kind] or 1.0
    )
    if kind == ".html":
        return job.page(run)
    if kind in (".glb", ".gltf"):
        return write_gltf(target, shown, title=job.title)
    with Progress(disable=not progress, transient=True) as bar:
        task = bar.add_task("draw", total=strip or len(shown.times))
        return job.drawn(kind, poses, strip, lambda: bar.advance(task))


def checked_kind(path: Path) -> str:
    """The ending of `path`, in small letters; one that is not known is an error that lists the others."""
    kind = path.suffix.lower()
    if kind not in KINDS:
        raise InputError(f"a run cannot be written to {path}; the ending must be one of {', '.join(KINDS)}")
    return kind


@dataclass(frozen=True, eq=False)
class _Job:
    target: Path
    shown: Shown
    title: str
    size: tuple[int, int]
    fps: float

    def page(self, run: Run) -> Path:
        stats = {"simulated": f"{run.times[-1] - run.times[0]:.2f} s", "steps": f"{len(run.times) - 1}"}
        if len(run.step_seconds):
            stats["step"] = f"{1e3 * float(np.median(run.step_seconds)):.2f} ms"
            stats["real-time factor"] = f"{run.real_time_factor:.1f}×"
        return write_page(
            self.target,
            surfaces=self.shown.surfaces,
            times=self.shown.times,
            title=self.title,
            stats=stats,
            floor=self.shown.floor,
        )

    def drawn(self, kind: str, poses: int | None, strip: int | None, tick: Callable[[], Any]) -> Path:
        """A film or a picture."""
        if kind == ".gif":
            return write_gif(self.target, self.shown, size=self.size, fps=self.fps, tick=tick)
        if kind == ".mp4":
            return write_mp4(self.target, self.shown, size=self.size, fps=self.fps, tick=tick)
        if strip is not None:
            return write_strip(self.target, self.shown, count=strip, size=self.size, tick=tick)
        count = 4 if poses is None else positive_count("poses", poses)
        last = len(self.shown.times) - 1
        frames = sorted({round(float(i)) for i in np.linspace(0, last, count)}) if count > 1 else [last]
        return write_picture(
            self.target,
            surfaces=self.shown.surfaces,
            frames=frames,
            times=self.shown.times,
            title=self.title,
            size=self.size,
        )


def _every(run: Run, fps: float | None) -> int:
    """How many steps lie between two instants of a series at `fps` 1/s."""
    if fps is None or len(run.times) < 2:
        return 1
    return max(1, round(1.0 / (positive("fps", fps, unit="1/s") * float(np.diff(run.times).mean()))))
