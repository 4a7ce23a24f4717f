"""B-splines over a run: commands from few control points, and their largest rates.

A command u(s) = Σ c_i N_i,p(s), s ∈ [0, 1], on the clamped uniform knots τ (de Boor, A Practical Guide to Splines,
1978). The N_i are positive and add up to one, so that bounds on the control points are bounds on u. Its rate is a
spline too,

    du/ds = Σ d_i N_i,p−1(s),      d_i = p (c_{i+1} − c_i) / (τ_{i+p+1} − τ_{i+1})

so that |d_i| ≤ r T, linear in c, keeps the rate below r over a run of T seconds.
"""

from __future__ import annotations

import numpy as np
from scipy.interpolate import BSpline

from pliant.core.types import FloatArray


def basis(count: int, degree: int, steps: int) -> FloatArray:
    """Values (steps, count) of the `count` basis functions at the ends of the steps, s = 1/steps … 1."""
    s = np.arange(1, steps + 1) / steps
    if count == 1:
        return np.ones((steps, 1))
    return np.asarray(BSpline(_knots(count, degree), np.eye(count), degree)(s), np.float64)


def slopes(count: int, degree: int) -> FloatArray:
    """The matrix (count − 1, count) that makes the control points d of du/ds of those of u."""
    knots = _knots(count, degree)
    spans = knots[degree + 1 : degree + count] - knots[1:count]
    return np.asarray(degree / spans[:, None] * np.diff(np.eye(count), axis=0))


def _knots(count: int, degree: int) -> FloatArray:
    inner = np.linspace(0.0, 1.0, count - degree + 1)
    return np.concatenate([np.zeros(degree), inner, np.ones(degree)])
