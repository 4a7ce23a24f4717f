"""What the figures of the Bortoff experiments share: a canvas of stacked time plots, without a display."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from pliant.core.errors import MissingExtraError

INK, BLUE, RED, GREEN, GREY = "#222222", "#2166ac", "#b2182b", "#1b7837", "#888888"


def canvas(
    rows: int, columns: int = 1, *, size: tuple[float, float], title: str, share: bool = True
) -> tuple[Any, Any]:  # fmt: skip
    """A Matplotlib figure with a grid of axes (rows, columns); axes of one column `share` their abscissa."""
    try:
        module = import_module("matplotlib.figure")
    except ImportError as error:
        raise MissingExtraError(
            "pictures need Matplotlib, which is not installed: pip install 'pliant[plot]'"
        ) from error
    figure = module.Figure(figsize=size, dpi=150, layout="constrained")
    import_module("matplotlib.backends.backend_agg").FigureCanvasAgg(figure)
    axes = figure.subplots(rows, columns, squeeze=False, sharex="col" if share else False)
    figure.suptitle(title, color=INK, size=11)
    for one in axes.ravel():
        one.grid(alpha=0.25)
        one.tick_params(labelsize=8)
    return figure, axes


def save(figure: Any, folder: Path, name: str) -> Path:
    """Write a figure into `folder`."""
    path = folder / f"{name}.png"
    figure.savefig(path)
    return path
