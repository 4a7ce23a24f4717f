"""The curves of a run as a Matplotlib figure."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.core.errors import InputError
from pliant.core.extras import blank_figure
from pliant.core.replacing import replacing
from pliant.record.curves import curves

if TYPE_CHECKING:
    from pliant.record.run import Run


def plot_curves(run: Run, path: str | Path | None = None, **options: Any) -> Any:
    """A Matplotlib figure with a panel for each kind of curve of `run`; written to `path` where one is given.
    `options` are those of `curves`.
    """
    found = curves(run, **options)
    panels = list(dict.fromkeys((curve.panel, curve.unit) for curve in found))
    if not panels:
        raise InputError("this run has no body, actuator or contact to plot")
    figure = blank_figure(figsize=(8.0, 1.0 + 2.1 * len(panels)), layout="constrained")
    axes = np.atleast_1d(figure.subplots(len(panels), 1, sharex=True))
    for axis, (panel, unit) in zip(axes, panels, strict=True):
        chosen = [curve for curve in found if (curve.panel, curve.unit) == (panel, unit)]
        for curve in chosen:
            axis.plot(run.times, curve.values, label=curve.name, linewidth=1.4)
        axis.set_ylabel(f"{panel}\n({unit})")
        axis.grid(alpha=0.3)
        axis.legend(fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    axes[-1].set_xlabel("time (s)")
    if path is not None:
        with replacing(path) as part:
            figure.savefig(part, dpi=130)
    return figure
