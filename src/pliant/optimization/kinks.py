"""Descent at a kink: a step that all derivatives seen nearby agree on.

Where contacts switch, the loss is the minimum or the maximum of smooth pieces, and the derivative of one of them is of
no use for a line search. Each point y_i that was evaluated nearby gives a plane, and the step d minimises the highest
of them within a box of size Δ, the bounds and the limits of rates (bundle method with a trust region; Schramm, Zowe,
SIAM J. Optim. 2, 1992):

    min t   such that   g_i · d − e_i ≤ t,   |d| ≤ Δ,   0 ≤ y + d ≤ 1,   A (y + d) ≤ b
    e_i = max(0, f(y) − f(y_i) − g_i · (y − y_i))
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog

from pliant.core.types import FloatArray

NEAR = 4.0
"""Distance of points whose planes count, over Δ."""


class Seen(NamedTuple):
    """A point (n,) that was evaluated, its loss and the derivatives (n,) there."""

    y: FloatArray
    loss: float
    slope: FloatArray


def common_descent(
    seen: Sequence[Seen], best: Seen, size: float, rates: tuple[FloatArray, FloatArray]
) -> tuple[FloatArray, float]:
    """The step d (n,) and the decrease −t of the loss that the planes promise; 0 where none is possible."""
    near = [each for each in seen if np.abs(each.y - best.y).max() <= NEAR * size]
    errors = [max(0.0, best.loss - each.loss - float(each.slope @ (best.y - each.y))) for each in near]
    scale = max(float(np.abs([each.slope for each in near]).max()), np.finfo(float).tiny)
    A, b = rates
    n = len(best.y)
    planes = np.hstack([np.array([each.slope for each in near]) / scale, -np.ones((len(near), 1))])
    rows = np.vstack([planes, np.hstack([A, np.zeros((len(A), 1))])])
    bounds = np.stack([np.maximum(-size, -best.y), np.minimum(size, 1.0 - best.y)], axis=1)
    found = linprog(
        np.eye(n + 1)[n], rows, np.concatenate([np.array(errors) / scale, np.maximum(b - A @ best.y, 0.0)]),
        bounds=[*map(tuple, bounds), (None, None)], method="highs",
    )  # fmt: skip
    if not found.success:
        return np.zeros(n), 0.0
    return np.asarray(found.x[:n]), max(0.0, -scale * float(found.x[n]))
