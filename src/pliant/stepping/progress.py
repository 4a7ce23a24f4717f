"""How Newton's iteration of an equilibrium goes: how much of a correction is taken, and when it will not converge."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pliant.core.types import FloatArray

TO_AND_FRO, LEAST_FRACTION = -0.5, 0.25
"""Cosine between two corrections below which the iteration goes to and fro between two sets of contacts, and the
shortest fraction of a correction that is then taken.
"""
ALIGNED, LONGEST_EXTRAPOLATION = 0.9, 5.0
"""Cosine between two corrections above which the shorter second one is the next term of a geometric series, which is
summed (Aitken's process), and the most times that it is then taken.
"""
STEADY = 4
"""Linear solves in a row that reduce the residual by a fifth or more, for which the iteration goes on."""
PATIENCE = 10
"""Linear solves in which the residual has to improve; bending of slender bodies takes most of them."""
ASTRAY = 2.0
"""Forces left over by a later linear solve, over those left by the first two, from which on full steps are astray:
where they still converge, that may be to an equilibrium no load path leads to. Those of robots and verification cases
stay below 1.2, whatever bends or buckles.
"""


def next_fraction(fraction: float, dx: Sequence[FloatArray], before: Sequence[FloatArray]) -> float:
    """The fraction of the correction dx to take after the correction `before`: shorter where they go to and fro, longer
    where they go on in one direction. The tangent of bodies that slip lacks a part of their geometric stiffness.
    """
    if not before:
        return 1.0
    product = sum(float(np.vdot(x, y)) for x, y in zip(dx, before, strict=True))
    sizes = [float(np.sqrt(sum(float(np.vdot(x, x)) for x in each))) for each in (dx, before)]
    if product < TO_AND_FRO * sizes[0] * sizes[1] and sizes[0] > 0.3 * sizes[1]:
        return max(0.5 * fraction, LEAST_FRACTION)
    if fraction == 1.0 and product > ALIGNED * sizes[0] * sizes[1] and 0.2 * sizes[1] < sizes[0] < 0.95 * sizes[1]:
        return min(sizes[1] / (sizes[1] - sizes[0]), LONGEST_EXTRAPOLATION)
    return min(2.0 * fraction, 1.0)


def is_steady(history: Sequence[float]) -> bool:
    """Whether the residual decreases in every linear solve: a projected tangent converges linearly, but it does."""
    return len(history) > STEADY and all(b <= 0.8 * a for a, b in zip(history[-STEADY - 1 :], history[-STEADY:]))


def is_hopeless(history: Sequence[float], more: int) -> bool:
    """Whether the residual has not improved for so long that it will not; `more` iterations are given at first."""
    count = len(history) - 1
    if count >= PATIENCE + more and min(history) > 0.05:
        return True
    return count >= 2 * PATIENCE + more and min(history[-PATIENCE:]) > 0.5 * min(history[:-PATIENCE])


def is_astray(left: Sequence[float]) -> bool:
    """Whether the forces `left` over after each linear solve, N, grew beyond what the first full steps bring about."""
    return len(left) > 2 and left[-1] > ASTRAY * max(left[:2])
