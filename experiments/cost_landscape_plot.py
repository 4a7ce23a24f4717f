"""The picture of a cost landscape: a surface and a map, both coloured by piece, with the iterates of the solver."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from experiments.cost_landscape import Landscape, cost_landscape
from pliant.core.errors import MissingExtraError
from pliant.core.types import FloatArray
from pliant.solvers.inverse.problem import QpccProblem
from pliant.solvers.inverse.result import QpccResult

_DPI = 150
_INK = "#222222"
_COLOURS = (
    "#8dd3c7", "#fdb462", "#bebada", "#80b1d3", "#fccde5", "#b3de69", "#ffed6f", "#d9d9d9", "#fb8072", "#ccebc5",
    "#bc80bd", "#a6cee3", "#e6c8a0", "#c7e9f1", "#f2b6a0", "#9ec9b1",
)  # fmt: skip


def plot_cost_landscape(
    problem: QpccProblem,
    result: QpccResult | None = None,
    *,
    path: str | Path | None = None,
    lower: Any = None,
    upper: Any = None,
    resolution: int = 161,
    labels: tuple[str, str] = ("λ₁  (N)", "λ₂  (N)"),
    title: str = "",
) -> Any:
    """A Matplotlib figure of the cost over two actuators; saved as a picture where `path` is given.

    Left the cost as a surface, right the map of its pieces with contour lines. Crosses mark the local minima, the red
    one the global minimum of the window. `result` adds the minima of the pieces that the solver visited, numbered in
    order. `lower` and `upper` (2,) in N bound the window, by default the bounds of x.
    """
    figure_module = _matplotlib()
    landscape = cost_landscape(problem, lower=lower, upper=upper, resolution=resolution)
    figure = figure_module.Figure(figsize=(12.4, 5.4), dpi=_DPI)
    import_module("matplotlib.backends.backend_agg").FigureCanvasAgg(figure)
    import_module("mpl_toolkits.mplot3d")
    colours = _piece_colours(landscape)
    _surface(figure.add_axes((0.0, 0.02, 0.49, 0.9), projection="3d"), landscape, colours, labels)
    _map(figure.add_axes((0.565, 0.12, 0.42, 0.78)), landscape, colours, labels, result)
    if title:
        figure.suptitle(title, color=_INK, size=13)
    if path is not None:
        figure.savefig(path)
    return figure


def _matplotlib() -> Any:
    try:
        return import_module("matplotlib.figure")
    except ImportError as error:
        raise MissingExtraError(
            "pictures need Matplotlib, which is not installed: pip install 'pliant[plot]'"
        ) from error


def _piece_colours(landscape: Landscape) -> list[str]:
    """A colour for each piece, different from those of the pieces it shares an edge with on the grid."""
    index = landscape.piece
    pairs = {(a, b) for a, b in zip(index[:, :-1].ravel(), index[:, 1:].ravel(), strict=True) if a != b}
    pairs |= {(a, b) for a, b in zip(index[:-1].ravel(), index[1:].ravel(), strict=True) if a != b}
    chosen: list[int] = []
    for k in range(len(landscape.pieces)):
        taken = {chosen[b] for a, b in pairs if a == k and 0 <= b < k}
        taken |= {chosen[a] for a, b in pairs if b == k and 0 <= a < k}
        order = [(k + shift) % len(_COLOURS) for shift in range(len(_COLOURS))]
        chosen.append(next((colour for colour in order if colour not in taken), k % len(_COLOURS)))
    return [_COLOURS[colour] for colour in chosen]


def _surface(axes: Any, landscape: Landscape, colours: list[str], labels: tuple[str, str]) -> None:
    """The cost as a surface lit from the side, each piece in its colour."""
    colors = import_module("matplotlib.colors")
    stride = max(1, len(landscape.x1) // 200)
    X, Z = np.meshgrid(landscape.x1[::stride], landscape.x2[::stride]), landscape.cost[::stride, ::stride]
    palette = np.array([colors.to_rgb(colour) for colour in colours])
    faces = palette[landscape.piece[::stride, ::stride]]
    height = np.sqrt(2.0 * Z) * 1e3
    light = colors.LightSource(azdeg=315, altdeg=50)
    relief = (height - np.nanmin(height)) / max(float(np.nanmax(height) - np.nanmin(height)), 1e-300)
    shaded = light.shade_rgb(faces, relief, vert_exag=30.0, blend_mode="soft", fraction=0.8)
    axes.plot_surface(*X, height, facecolors=shaded, rstride=1, cstride=1, linewidth=0, antialiased=False, shade=False)
    for k, (x, value) in enumerate(zip(landscape.minima, landscape.values, strict=True)):
        colour = "#d7191c" if k == 0 else "#1a9641"
        axes.plot(*x[:, None], [np.sqrt(2.0 * value) * 1e3], "x", color=colour, ms=9, mew=2.5, zorder=20)
    axes.set_xlabel(labels[0])
    axes.set_ylabel(labels[1])
    axes.set_zlabel("√(2 cost)  (mm)")
    axes.view_init(elev=38, azim=-128)
    axes.set_box_aspect((1.0, 1.0, 0.6), zoom=0.94)
    for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
        axis.pane.set_facecolor((1.0, 1.0, 1.0, 0.0))
        axis.pane.set_edgecolor("#cccccc")
        axis._axinfo["grid"]["color"] = (0.85, 0.85, 0.85, 1.0)


def _map(
    axes: Any, landscape: Landscape, colours: list[str], labels: tuple[str, str], result: QpccResult | None
) -> None:
    """The pieces as polygons, lines of equal cost, the minima and the path."""
    for piece, colour in zip(landscape.pieces, colours, strict=True):
        axes.fill(*piece.polygon.T, facecolor=colour, edgecolor="white", linewidth=0.8)
        if len(piece.allowed) < 3 or _area(piece.allowed) < (1.0 - 1e-9) * _area(piece.polygon):
            axes.fill(*piece.polygon.T, facecolor="none", edgecolor="#777777", linewidth=0.0, hatch="////", alpha=0.6)
            if len(piece.allowed) >= 3:
                axes.fill(*piece.allowed.T, facecolor=colour, edgecolor="none")
    height = np.sqrt(2.0 * landscape.cost) * 1e3
    low, high = float(np.nanmin(height)), float(np.nanmax(height))
    levels = low + (high - low) * np.linspace(0.01, 1.0, 22) ** 1.7
    axes.contour(landscape.x1, landscape.x2, height, levels=levels, colors=_INK, linewidths=0.5, alpha=0.55)
    if result is not None:
        _path(axes, np.array([x for _, x in result.path]), float((landscape.upper - landscape.lower).max()))
    for k, x in enumerate(landscape.minima):
        colour, name = ("#d7191c", "global minimum") if k == 0 else ("#1a9641", "local minimum" if k == 1 else None)
        axes.plot(*x, "x", color=colour, ms=11, mew=3, zorder=6, label=name, linestyle="none", clip_on=False)
    axes.set_xlim(landscape.lower[0], landscape.upper[0])
    axes.set_ylim(landscape.lower[1], landscape.upper[1])
    axes.set_xlabel(labels[0])
    axes.set_ylabel(labels[1])
    axes.set_title(f"{len(landscape.pieces)} pieces", size=10, color=_INK)
    if len(landscape.minima):
        axes.legend(loc="best", framealpha=0.9, fontsize=9)


def _path(axes: Any, points: FloatArray, window: float) -> None:
    """The minima of the pieces visited, joined, and numbered where there is room."""
    axes.plot(*points.T, "-", color="white", linewidth=3.4, zorder=4, clip_on=False)
    axes.plot(
        *points.T, "o-", color=_INK, linewidth=1.6, ms=5, mfc="white", mew=1.4, zorder=5, label="path", clip_on=False
    )
    last = None
    for number, point in enumerate(points, start=1):
        if last is None or np.abs(point - last).max() > 0.035 * window:
            axes.annotate(
                str(number), point, xytext=(6, 5), textcoords="offset points", size=9, color=_INK, zorder=7,
                bbox={"boxstyle": "round,pad=0.12", "fc": "white", "ec": "none", "alpha": 0.75},
            )  # fmt: skip
            last = point


def _area(polygon: FloatArray) -> float:
    following = np.roll(polygon, -1, axis=0)
    return float(0.5 * np.abs((polygon[:, 0] * following[:, 1] - polygon[:, 1] * following[:, 0]).sum()))
