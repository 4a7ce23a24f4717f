"""Runs and worlds in notebooks: the page of `pl.export` in a frame, plain HTML without a server or an extension."""

from __future__ import annotations

import html
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from pliant.record import Run
from pliant.viewer.export import export
from pliant.world import World

_HEIGHT = 440
"""Height of the frame, pixels."""
_FPS = 25.0
"""Instants per second of a short run, 1/s; the page interpolates between them."""
_MOST_POINTS = 2_000_000
"""Largest count of node positions in a page: 12 MB, since a notebook stores what it shows."""


def run_html(run: Run) -> str:
    """A frame in which `run` plays, to be turned and zoomed with the mouse."""
    nodes = sum(positions.shape[1] for positions in run.positions)
    span = max(float(run.times[-1] - run.times[0]), 1e-9)
    fps = float(np.clip(_MOST_POINTS / max(nodes, 1) / span, 1.0 / span, _FPS))
    with TemporaryDirectory() as folder:
        page = export(run, Path(folder) / "run.html", fps=fps).read_text(encoding="utf-8")
    style = f"width:100%;height:{_HEIGHT}px;border:0"
    return f'<iframe title="{html.escape(repr(run))}" srcdoc="{html.escape(page)}" style="{style}"></iframe>'


def world_html(world: World) -> str:
    """A frame that shows `world` in its initial state."""
    return run_html(Run.of([world.initial_state()]))
