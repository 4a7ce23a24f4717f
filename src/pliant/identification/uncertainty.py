"""Covariance, intervals, and combinations of unknowns that the data leave open.

With J the Jacobian of the weighted residuals, P the precision of the priors and s² the variance of a weighted residual,

    C = (Jᵀ J / s² + P)⁻¹,      s² = Σ r² / (n − p)

and intervals are z ± t √C with the quantile t of Student's distribution of n − p degrees of freedom, p = tr(C Jᵀ J)/s².
For robust losses s² is K² [Σ ψ²/(n − p)] / [mean ψ′]², K = 1 + (p/n) var ψ′/(mean ψ′)² (P. Huber, Robust Statistics,
1981, § 7.6). Combinations of parameters that the data leave open are singular vectors of the root R_pp of their
marginal information, Q R = [J/s; √P] with frames and offsets in front, whose intervals are wider than their scale.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

from pliant.core.types import FloatArray
from pliant.identification.robust import score

OPEN = 0.5
"""Half width of an interval along a combination, over the scale of its unknowns, from which it counts as left open."""
DEGENERATE = 1e-6
"""Singular values below this fraction of the largest are those of errors of the derivatives."""
LEAST = 1e-3
"""Least s: residuals that are smaller still do not make the given noise so much smaller."""
_NAMED = 0.2
"""Unknowns whose fraction of a combination is above this one are named."""


class Uncertainty(NamedTuple):
    """Of z: the `covariance` (n, n), infinite where nothing is known; the `quantile` t; the `noise_factor` s, by which
    residuals are larger than the given noise; and `open_directions`, pairs of a unit vector of the parameters (p,) and
    the half width of its interval.
    """

    covariance: FloatArray
    quantile: float
    noise_factor: float
    open_directions: tuple[tuple[FloatArray, float], ...]


def uncertainty(
    jacobian: FloatArray,
    residual: FloatArray,
    loss: str,
    precision: FloatArray,
    level: float,
    *,
    known_noise: bool,
    parameter_count: int,
) -> Uncertainty:
    """The uncertainty of z at the minimum. `jacobian` (rows, n) and `residual` (rows,) are those of the data alone,
    `precision` (n,) that of the priors; `level` of the intervals, such as 0.95. With `known_noise` s = 1. The first
    `parameter_count` unknowns are parameters, the others frames and offsets.
    """
    rows, size = jacobian.shape
    effective = float(size)
    variance = 1.0
    for _ in range(1 if known_noise else 3):  # p depends on s² through the priors, weakly
        variance = _variance(residual, loss, rows, effective, known_noise=known_noise)
        root = np.vstack([jacobian / np.sqrt(variance), np.diag(np.sqrt(precision))])
        _, values, Vt = np.linalg.svd(root, full_matrices=False)
        lost = values <= DEGENERATE * values.max(initial=0.0)
        inverse = np.where(lost, 0.0, 1.0 / np.where(lost, 1.0, values))
        effective = float(np.sum((jacobian @ Vt.T * inverse) ** 2)) / variance
    covariance = (Vt.T * inverse**2) @ Vt
    unknown = (np.abs(Vt[lost]) > 1e-3).any(axis=0)
    covariance[unknown, :], covariance[:, unknown] = np.inf, np.inf
    freedom = rows - effective
    quantile = float(
        stats.norm.ppf(0.5 + 0.5 * level) if known_noise or freedom <= 0.0 else stats.t.ppf(0.5 + 0.5 * level, freedom)
    )
    return Uncertainty(covariance, quantile, float(np.sqrt(variance)), _open(root, parameter_count, quantile))


def _open(root: FloatArray, parameter_count: int, quantile: float) -> tuple[tuple[FloatArray, float], ...]:
    """Combinations of the first unknowns that `root` (rows, n) of the information leaves open."""
    ordered = np.concatenate([root[:, parameter_count:], root[:, :parameter_count]], axis=1)
    triangle = np.asarray(np.linalg.qr(ordered, mode="r"), np.float64)
    marginal = triangle[-parameter_count:, -parameter_count:]
    _, values, Vt = np.linalg.svd(marginal)
    lost = values <= DEGENERATE * values.max(initial=0.0)
    widths = np.where(lost, np.inf, quantile / np.where(lost, 1.0, values))
    return tuple((Vt[i], float(widths[i])) for i in np.flatnonzero(widths > OPEN))


def _variance(residual: FloatArray, loss: str, rows: int, effective: float, *, known_noise: bool) -> float:
    psi, slope = score(loss, residual)
    mean = float(slope.mean())
    freedom = rows - effective
    if known_noise or freedom < 0.5 or mean <= 0.0:
        return 1.0
    correction = 1.0 + effective / rows * float(slope.var()) / mean**2
    found = correction**2 * float(psi @ psi) / freedom / mean**2
    return max(found, LEAST**2)


def open_text(names: Sequence[str], change: FloatArray, direction: FloatArray, width: float) -> str:
    """A combination that the data leave open, in words. `change` (n,) is the relative change of each unknown by one in
    z, NaN of those that are 0.
    """
    parts = direction / direction[int(np.argmax(np.abs(direction)))]
    chosen = [int(i) for i in np.argsort(-np.abs(parts)) if abs(parts[i]) >= _NAMED]
    how = "not at all" if not np.isfinite(width) else f"to no better than ± {width:.2g} times its scale"
    if len(chosen) == 1:
        return f"the data determine {names[chosen[0]]} {how}: give it a prior, or measure what it changes"
    listed = [names[i] for i in chosen]
    largest = max(abs(parts[i] * change[i]) for i in chosen) if np.isfinite(change[chosen]).all() else np.nan
    together = [
        f"{names[i]} by {10.0 * parts[i] * change[i] / largest:+.2g} %" if np.isfinite(largest) else f"{names[i]}"
        for i in chosen
    ]
    return (
        f"the data cannot tell apart {', '.join(listed[:-1])} and {listed[-1]}: changing {', '.join(together)} at once "
        f"is determined {how}; fix one of them, give it a prior, or measure something that it changes alone"
    )
