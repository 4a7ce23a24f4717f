"""How far riding points can have moved, without asking where they are: from the motion of the body alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.core.types import FloatArray
from pliant.mappings.barycentric import BarycentricMap
from pliant.mappings.beam_map import BeamMap
from pliant.mappings.frame import FrameMap


def largest_motion(riders: Any, now: FloatArray, then: FloatArray) -> float:
    """No point of the map `riders` is farther than this, m, from where it was when its body stood at `then`.

    A bound for the points of volumes, beams and rigid bodies; those of a rod are followed one by one.
    """
    if isinstance(riders, BarycentricMap):
        return riders.stretch * _largest(now - then)
    if isinstance(riders, FrameMap):
        moved, turned = float(np.linalg.norm(now[0] - then[0])), float(np.linalg.norm(now[1:] - then[1:]))
        return moved + turned * _largest(riders.local)
    if isinstance(riders, BeamMap):
        # the cubic's two bows sum to s (1 − s) ≤ ¼ of the length, which changes by twice what the nodes move at most;
        # the frame between two triads turns no more than half again as much as the farther turned of them
        moved, turned = _largest(now[:, 0] - then[:, 0]), _largest((now[:, 1:] - then[:, 1:]).reshape(-1, 9))
        length = _largest(now[riders.nodes[:, 1], 0] - now[riders.nodes[:, 0], 0])
        return 1.5 * moved + turned * (0.25 * length + 1.5 * riders.longest_offset)
    return _largest(riders.points(now) - riders.points(then))


def _largest(vectors: FloatArray) -> float:
    """Length of the longest of `vectors` (k, d)."""
    return float(np.sqrt(np.einsum("ki,ki->k", vectors, vectors).max(initial=0.0)))
