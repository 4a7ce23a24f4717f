"""Pictures of the experiments of Goury 2021: errors against the size of the basis, modes as arrows, curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from experiments.goury_parts import Bench, Sizes, contact_arrows
from pliant.core.errors import MissingExtraError
from pliant.core.types import FloatArray, IntArray
from pliant.world import State

LEAST = 1e-2
"""Smaller errors are drawn as this, mm: a basis that knows none of the contacts leaves all of them in full."""


@dataclass(frozen=True, eq=False)
class Shape:
    """Points (n, 3), m, and the lines (m, 2) between them."""

    label: str
    points: FloatArray
    lines: IntArray


def new_figure(width: float, height: float) -> Any:
    """An empty figure, in inches."""
    try:
        figure = import_module("matplotlib.figure").Figure(figsize=(width, height), layout="constrained")
    except ImportError as error:
        raise MissingExtraError("pictures need matplotlib: pip install 'pliant[plot]'") from error
    import_module("matplotlib.backends.backend_agg").FigureCanvasAgg(figure)
    return figure


def size_picture(path: Path, tried: Sizes, place: int, without: float, tolerance: float) -> Path:
    """Errors of forces and of the tip against the number of modes; `without` is the tip's without contact, m."""
    figure = new_figure(9.0, 3.8)
    left, right = figure.subplots(1, 2)
    left.semilogy(tried.ranks, tried.held_out, "o-", label="held out")
    left.semilogy(tried.ranks, tried.training, ".-", label="training")
    left.axhline(tolerance, color="gray", linestyle=":", label="tolerance")
    left.set_ylabel("relative error of contact forces")
    right.semilogy(tried.ranks, np.maximum(1e3 * tried.tip, LEAST), "o-", label="in modes")
    right.axhline(1e3 * without, color="tab:red", linestyle="--", label="without contact")
    right.set_ylabel("error of the tip  (mm)")
    for axes in (left, right):
        axes.axvline(tried.ranks[place], color="gray", linewidth=0.6)
        axes.set_xlabel("modes")
        axes.legend()
    figure.savefig(path, dpi=150)
    return path


def mode_picture(path: Path, bench: Bench, state: State, modes: FloatArray, numbers: Sequence[int]) -> Path:
    """Modes `numbers` of `modes` (contacts, k) as arrows on the contact points, each beside the body's own points."""
    figure = new_figure(5.0 * len(numbers), 5.0)
    body = state.points(bench.robot.body)
    for panel, number in enumerate(numbers):
        points, arrows = contact_arrows(bench, state, modes[:, number])
        middle, size = 0.5 * (points.max(axis=0) + points.min(axis=0)), 0.6 * float(np.ptp(points, axis=0).max())
        reach = max(size, 0.1 * float(np.ptp(body, axis=0).max()))
        axes = figure.add_subplot(1, len(numbers), panel + 1, projection="3d")
        near = (np.abs(body - middle) < reach).all(axis=1)
        axes.scatter(*body[near].T, s=4, color="0.7")
        axes.scatter(*points.T, s=4, color="tab:blue")
        axes.quiver(*points.T, *(0.4 * reach * arrows.T), color="tab:red", linewidth=0.8)
        axes.set(xlim=middle[0] + reach * np.array([-1, 1]), ylim=middle[1] + reach * np.array([-1, 1]))
        axes.set_zlim(middle[2] - reach, middle[2] + reach)
        axes.set_box_aspect((1, 1, 1), zoom=0.85)
        for axis, name in ((axes.xaxis, "x (m)"), (axes.yaxis, "y (m)"), (axes.zaxis, "z (m)")):
            axis.set_major_locator(import_module("matplotlib.ticker").MaxNLocator(3))
            axis.set_label_text(name)
        axes.set_title(f"mode {number + 1}: {len(points)} points")
    figure.savefig(path, dpi=150)
    return path


def shape_picture(path: Path, shapes: Sequence[Shape], title: str) -> Path:
    """Shapes from the side, x and y, beside each other."""
    figure = new_figure(3.6 * len(shapes), 5.0)
    panels = figure.subplots(1, len(shapes), sharex=True, sharey=True, squeeze=False)[0]
    lines = import_module("matplotlib.collections").LineCollection
    for axes, shape in zip(panels, shapes, strict=True):
        axes.add_collection(lines(shape.points[shape.lines][:, :, :2], colors="tab:blue", linewidths=0.8))
        axes.autoscale()
        axes.set_aspect("equal")
        axes.set_title(shape.label)
        axes.set_xlabel("x (m)")
    panels[0].set_ylabel("y (m)")
    figure.suptitle(title)
    figure.savefig(path, dpi=150)
    return path


def curve_picture(path: Path, curves: Any) -> Path:
    """How far the tip goes and how stiff it is over the force of the tendons, with and without contact."""
    figure = new_figure(9.0, 3.8)
    left, right = figure.subplots(1, 2)
    start = np.array([curves.tip[0], curves.tip_without[0]]).mean(axis=0)
    for tips, stiffness, style, label in (
        (curves.tip, curves.stiffness, "o-", "with contact"),
        (curves.tip_without, curves.stiffness_without, "--", "without contact"),
    ):
        left.plot(curves.force, 1e3 * np.linalg.norm(tips - start, axis=1), style, label=label, markersize=4)
        right.plot(curves.force, stiffness, style, label=label, markersize=4)
    left.set_ylabel("displacement of the tip  (mm)")
    right.set_ylabel("stiffness at the tip  (N/m)")
    for axes in (left, right):
        axes.set_xlabel("force of each tendon  (N)")
        axes.legend()
    figure.savefig(path, dpi=150)
    return path


def manipulator_pictures(
    folder: Path,
    bench: Bench,
    tried: Sizes,
    place: int,
    curves: Any,
    shapes: Sequence[Shape],
    state: State,
    tolerance: float,
) -> list[Path]:
    """Figures 7, 11 and 12 of the paper for our manipulator, into `folder`."""
    without = float(np.linalg.norm(curves.tip[-1] - curves.tip_without[-1]))
    modes = tried.bases[place].basis
    largest = np.argsort(-(modes > 1e-2 * modes.max(axis=0)).sum(axis=0))[:3]
    return [
        size_picture(folder / "goury-manipulator-sizes.png", tried, place, without, tolerance),
        mode_picture(folder / "goury-manipulator-modes.png", bench, state, modes, [int(k) for k in largest]),
        shape_picture(folder / "goury-manipulator-figure-11.png", shapes, "The same force in the tendons"),
        curve_picture(folder / "goury-manipulator-curves.png", curves),
    ]


def finger_pictures(
    folder: Path, bench: Bench, tried: Sizes, place: int, without: float, state: State, tolerance: float
) -> list[Path]:
    """The errors against the number of modes and two modes as in figure 7 of the paper, into `folder`."""
    modes = tried.bases[place].basis
    count = (modes > 1e-2 * modes.max(axis=0)).sum(axis=0)
    order = np.argsort(count)
    chosen = [int(order[len(order) // 4]), int(order[-1])]
    return [
        size_picture(folder / "goury-finger-sizes.png", tried, place, without, tolerance),
        mode_picture(folder / "goury-finger-modes.png", bench, state, modes, chosen),
    ]
