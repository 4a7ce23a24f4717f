"""Measured and simulated curves and shapes, drawn over each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pliant.core.extras import blank_figure
from validation.beam import LOADS, simulated, take
from validation.tentacle import measured, poses
from validation.tentacle_fit import TESTING, TRAINING, fitted

SHOWN = 2.0
"""Seconds of the motion that are drawn."""


def beam(data: Path, folder: Path) -> list[Path]:
    """Height of the tip over time after the release, both takes and the simulation, at both loads."""
    figure, axes = _figure(1, 2, (8.0, 3.0))
    for axis, case in zip(axes, LOADS, strict=True):
        for name, frame in case.takes.items():
            points, rate = take(data, name, frame)
            axis.plot(
                np.arange(len(points)) / rate, 1e3 * points[:, :, 2].mean(axis=1), ".", markersize=2.5, color="0.55"
            )
        motion = simulated(case.weight)
        axis.plot(motion.times, 1e3 * motion.displacements[:, :, 2].mean(axis=1), color="C3", linewidth=1.0)
        axis.set(xlim=(0.0, SHOWN), title=case.title, xlabel="time after the release (s)")
    axes[0].set_ylabel("height of the tip (mm)")
    axes[0].legend(axes[0].lines[1:], ["measured, two takes", "simulated"], fontsize=8, loc="lower right")
    return [_saved(figure, folder / "beam.png")]


def tentacle(data: Path, folder: Path) -> list[Path]:
    """The unseen poses from the front and from the side: markers as measured, axis and markers as simulated."""
    found = poses(fitted(data, TRAINING), TESTING)
    figure, axes = _figure(1, len(TESTING), (9.0, 3.2))
    for axis, name in zip(axes, TESTING, strict=True):
        real = 1e3 * measured(data, name)
        ours, line = 1e3 * found[name][:4], 1e3 * found[name][4:]
        across = 0 if name.startswith("m12") else 1
        axis.plot(line[:, across], line[:, 2], color="C3", linewidth=1.2)
        axis.plot(ours[:, across], ours[:, 2], "x", color="C3", markersize=5)
        axis.plot(real[:, across], real[:, 2], "o", color="0.35", markersize=5, fillstyle="none")
        axis.set(title=name, xlabel=f"{'xy'[across]} (mm)", xlim=(-200, 200), ylim=(-400, 20), aspect="equal")
    axes[0].set_ylabel("z (mm)")
    return [_saved(figure, folder / "tentacle.png")]


def _figure(rows: int, columns: int, size: tuple[float, float]) -> tuple[Any, Any]:
    figure = blank_figure(figsize=size, layout="constrained")
    return figure, figure.subplots(rows, columns, sharey=columns > 2)


def _saved(figure: Any, path: Path) -> Path:
    figure.savefig(path, dpi=110)
    return path
