"""Contact forces as arrows in pages, films and pictures: surfaces that keep their triangles from frame to frame."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import linear_sum_assignment

from pliant.core.types import FloatArray
from pliant.viewer.shapes import Triangles, revolve
from pliant.viewer.surfaces import SurfaceFrames

ARROW = "#c92a2a"
LENGTH = 0.2
"""Of the longest arrow, as a fraction of the scene size."""
THICKNESS = 0.004
"""Radius of a shaft, as a fraction of the scene size."""
MOST = 24
"""Arrows of one instant: the largest forces."""
LEAST = 0.03
"""Smallest force that has an arrow, as a fraction of the largest."""
_AROUND = 8
"""Points round an arrow."""
_PROFILE = np.array([(0.0, 0.0), (1.0, 0.0), (1.0, 0.6), (2.6, 0.6), (0.0, 1.0)])
"""Radius in shaft radii, and fraction of the arrow's length."""


def arrow_surfaces(instants: Sequence[tuple[FloatArray, FloatArray]], size: float) -> list[SurfaceFrames]:
    """One surface with an arrow for each of the largest forces of every instant, or none where nothing ever pushed.

    `instants` are points (k, 3) m and forces (k, 3) N; `size` m is that of the scene. An instant with fewer
    forces than another has arrows without length, where they last were.
    """
    high = max((float(np.linalg.norm(forces, axis=1).max(initial=0.0)) for _, forces in instants), default=0.0)
    if high == 0.0:
        return []
    chosen = [_largest(points, forces, LEAST * high) for points, forces in instants]
    count = max(len(points) for points, _ in chosen)
    somewhere = next(points[0] for points, _ in chosen if len(points))
    scale = LENGTH * size / high
    frames: list[FloatArray] = []
    tails = np.tile(somewhere, (count, 1))
    for points, forces in chosen:
        # a persisting force keeps its arrow, as the page interpolates between instants
        vectors = np.zeros((count, 3))
        _, own = linear_sum_assignment(np.linalg.norm(points[:, None] - tails, axis=2))
        tails[own], vectors[own] = points, scale * forces
        drawn = [_arrow(tail, direction, THICKNESS * size) for tail, direction in zip(tails, vectors, strict=True)]
        frames.append(np.concatenate([one for one, _ in drawn]))
    triangles = np.concatenate([part + k * len(points) for k, (points, part) in enumerate(drawn)])
    label = f"contact forces, the longest {high:.3g} N"
    return [SurfaceFrames(triangles, np.stack(frames), label=label, color=ARROW, in_front=True)]


def _largest(points: FloatArray, forces: FloatArray, least: float) -> tuple[FloatArray, FloatArray]:
    """The `MOST` largest forces of at least `least` N, and their points."""
    sizes = np.linalg.norm(forces, axis=1)
    order = [k for k in np.argsort(-sizes, kind="stable")[:MOST] if sizes[k] >= least]
    return points[order], forces[order]


def _arrow(point: FloatArray, direction: FloatArray, radius: float) -> Triangles:
    """An arrow from `point` (3,) m along `direction` (3,) m; a short one is thinner too."""
    length = float(np.linalg.norm(direction))
    axis = direction / length if length > 0.0 else np.array([0.0, 0.0, 1.0])
    profile = _PROFILE * np.array([min(radius, 0.12 * length), length])
    return revolve(profile, point, axis, around=_AROUND)
