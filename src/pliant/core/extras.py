"""Optional packages, imported on demand; where one is missing, the error says how to install it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from pliant.core.errors import MissingExtraError


def extra(module: str, purpose: str, name: str) -> Any:
    """The optional `module` of the extra `name`; `purpose` begins the error: "plots need Matplotlib"."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(f"{purpose}: pip install 'pliant[{name}]'") from error


def blank_figure(**options: Any) -> Any:
    """An empty Matplotlib figure with `options`, drawn by Agg without touching pyplot or the chosen backend."""
    figure = extra("matplotlib.figure", "plots and pictures need Matplotlib", "plot").Figure(**options)
    import_module("matplotlib.backends.backend_agg").FigureCanvasAgg(figure)
    return figure
