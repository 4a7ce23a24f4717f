"""How deep a surface stands in its own solid where cells are turned inside out, m.

The winding number of a surface counts the cells that contain a point, those turned inside out negatively: around folded
cells it does not see material that overlaps. Wherever the two differ the point lies in a folded cell. There the cells
are asked one by one: a sample of the surface is inside where a cell contains it that has no vertex in common with it.
"""

from __future__ import annotations

import numpy as np

from pliant.collision.self_penetration import deepest, samples_of
from pliant.collision.surface import Pose
from pliant.core.types import BoolArray, FloatArray, IntArray

_FLAT = 1e-12
"""Determinant over the cube of the longest edge below which a cell has no inside."""


def folded_penetration(pose: Pose, cells: IntArray) -> float:
    """Largest depth of samples of the surface `pose` near folded tetrahedra `cells` (m, 4) of its solid, m; 0 where no
    cell is folded or no sample is inside. The depth is the distance from the nearest triangle that has no vertex in
    common with the sample.
    """
    points, surface = pose.points, pose.surface
    corners = points[cells]
    edges = corners[:, 1:] - corners[:, :1]
    size = np.linalg.det(edges)
    solid = np.abs(size) > _FLAT * np.abs(edges).max(axis=(1, 2)) ** 3
    folded = np.flatnonzero(solid & (size < 0.0))
    if not len(folded):
        return 0.0
    samples = samples_of(surface)
    x = _places(samples, points)
    low, high = corners.min(axis=1), corners.max(axis=1)
    near = np.zeros(len(x), bool)
    for cell in folded:
        near |= ((x >= low[cell]) & (x <= high[cell])).all(axis=1)
    depth = 0.0
    for m in np.flatnonzero(near):
        own = samples[m][samples[m] >= 0]
        around = np.flatnonzero(solid & ((x[m] >= low) & (x[m] <= high)).all(axis=1))
        around = around[~np.isin(cells[around], own).any(axis=1)]
        if _contain(corners[around, 0], edges[around], x[m]).any():
            apart = np.asarray(~np.isin(surface.triangles, own).any(axis=1))
            depth = max(depth, deepest(pose, samples[m : m + 1], apart))
    return depth


def _places(samples: IntArray, points: FloatArray) -> FloatArray:
    """Positions of the samples, (s, 3) m: the means of their vertices."""
    used = samples >= 0
    total = np.where(used[:, :, None], points[samples], 0.0).sum(axis=1)
    places: FloatArray = total / used.sum(axis=1)[:, None]
    return places


def _contain(origins: FloatArray, edges: FloatArray, x: FloatArray) -> BoolArray:
    """Which tetrahedra with a corner at `origins` (k, 3) m and `edges` (k, 3, 3) m from there contain x (3,) m."""
    weights = np.linalg.solve(edges.transpose(0, 2, 1), (x - origins)[..., None])[..., 0]
    inside: BoolArray = (weights >= 0.0).all(axis=1) & (weights.sum(axis=1) <= 1.0)
    return inside
