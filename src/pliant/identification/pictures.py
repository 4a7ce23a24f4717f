"""Residuals of an identification as a Matplotlib figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from pliant.core.extras import blank_figure
from pliant.core.replacing import replacing

if TYPE_CHECKING:
    from pliant.identification.result import Identified


def plot_residuals(found: Identified, path: Any = None) -> Any:
    """For each measurement its residuals over the instants, and their quantiles over those of normal noise."""
    measured = [(each, one) for each in found.experiments for one in each.measurements]
    figure = blank_figure(figsize=(9.0, 0.6 + 2.1 * len(measured)), layout="constrained")
    axes = np.atleast_2d(figure.subplots(len(measured), 2, width_ratios=(2.0, 1.0)))
    for (left, right), (experiment, one) in zip(axes, measured, strict=True):
        rows = found.residuals[one].reshape(len(found.residuals[one]), -1)
        instants = np.arange(len(rows)) if one.times is None else one.times
        left.axhspan(-2.0 * one.noise, 2.0 * one.noise, color="0.9")
        left.plot(instants, rows, ".", markersize=3.0)
        left.set_ylabel(f"{experiment.name}:\n{one.label} ({one.unit})", fontsize="small")
        left.set_xlabel("instant" if one.times is None else "time (s)")
        weighted = np.sort(rows[np.isfinite(rows)]) / one.noise
        places = stats.norm.ppf((np.arange(len(weighted)) + 0.5) / len(weighted))
        right.plot(places, places, color="0.6", linewidth=1.0)
        right.plot(places, weighted, ".", markersize=3.0)
        right.set_xlabel("normal quantile")
        right.set_ylabel("residual / noise", fontsize="small")
    if path is not None:
        with replacing(path) as part:
            figure.savefig(part, dpi=130)
    return figure
