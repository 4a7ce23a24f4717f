"""The arrays of a pose that the broad phase reads, and the sharp edges among its edges.

An edge is sharp where the dihedral angle of its two faces deviates from flat by more than β, otherwise smooth. The
contact direction at a smooth edge deviates from the normals of its faces by at most φ = α + β, with the tolerance α of
directions against faces. Two smooth edges can touch only after they have passed through each other: then their faces
are opposed within 2φ, and neither face lies entirely in front of the plane of the other.
"""

from __future__ import annotations

from functools import lru_cache
from math import acos, asin, cos, pi
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.collision.broad.lanes import Reach, Smooth
from pliant.collision.broad.tree import SingleArray
from pliant.collision.filters import Limits
from pliant.collision.surface import Pose
from pliant.core.kernels import inline
from pliant.core.types import BoolArray, FloatArray, IntArray

_NO_LIMIT = np.float32(np.inf)


class Features(NamedTuple):
    """One side for kernels: names as in `Bounds` and `CollisionSurface`; leaf_first and leaf_vertices are the parts of
    `CollisionSurface.leaf_vertices`.
    """

    points: FloatArray
    nodes: SingleArray
    leaves: SingleArray
    boxes: SingleArray
    facets: SingleArray
    vertices: SingleArray
    normals: FloatArray
    triangles: IntArray
    corners: IntArray
    order: IntArray
    leaf_start: IntArray
    leaf_first: IntArray
    leaf_vertices: IntArray
    edges: IntArray
    triangle_edges: IntArray
    edge_triangles: IntArray
    edge_mask: NDArray[np.uint8]
    thin: BoolArray
    joined: BoolArray
    rest: FloatArray
    rest_normals: FloatArray
    notched: BoolArray


def features_of(pose: Pose) -> Features:
    """The arrays of `pose`."""
    s, b = pose.surface, pose.bounds
    return Features(
        pose.points, b.nodes, b.leaves, b.boxes, b.facets, b.vertices, b.normals, s.triangles, s.corners, s.order,
        s.leaf_start, *s.leaf_vertices, s.edges, s.triangle_edges, s.edge_triangles, s.edge_mask, b.thin, s.joined,
        s.rest, s.rest_normals, s.notched,
    )  # fmt: skip


def smooth_limits(limits: Limits, reach: Reach, crossed: bool) -> Smooth:
    """Limits of pairs of smooth edges that can touch, see above. With `crossed` edges that touched before are
    remembered, and may have been separated since: then the side does not exclude a pair.

    Infinite limits exclude nothing. The exclusion is valid for 3φ < 90°: opposed faces in front of each other do not
    penetrate along any direction within φ; and for 2φ + 2β below the angle of `facing`: faces whose normals agree
    within 2φ do not face each other.
    """
    opposed = _opposed(limits.flat, limits.facing)
    return Smooth(opposed, _NO_LIMIT if crossed or opposed == np.inf else reach.front)


@lru_cache(maxsize=64)
def _opposed(flat: float, facing: float) -> np.float32:
    """The largest product of the unit normals of smooth faces that can touch, ∞ where it excludes nothing."""
    bend = acos(min(flat, 1.0))
    turn = asin(min(facing, 1.0)) + bend
    if facing >= 1.0 or 3.0 * turn >= 0.5 * pi or 2.0 * (turn + bend) >= acos(facing):
        return _NO_LIMIT
    return np.float32(1e-6 - cos(2.0 * turn))  # 1e-6: rounding of products of normals in single precision


@inline
def find_bends(
    edge_triangles: IntArray, normals: FloatArray, thin: BoolArray, joined: BoolArray, flat: float
) -> BoolArray:
    """Sharp edges (e,): those whose two unit normals have a product below `flat`, those of a boundary, and those of a
    face without a plane; arrays as in `Features`.
    """
    bends = np.empty(len(edge_triangles), np.bool_)
    for e in range(len(bends)):
        f, g = edge_triangles[e, 0], edge_triangles[e, 1]
        bends[e] = True
        if joined[e] and not (thin[f] | thin[g]):
            product = normals[f, 0] * normals[g, 0] + normals[f, 1] * normals[g, 1] + normals[f, 2] * normals[g, 2]
            bends[e] = product < flat
    return bends
