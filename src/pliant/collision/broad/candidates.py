"""Broad phase of features: vertices that may touch faces, and edges that may touch edges."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pliant.collision.broad.features import Features, features_of, find_bends, smooth_limits
from pliant.collision.broad.lanes import Reach, Smooth, reach_of
from pliant.collision.broad.near_edges import find_bent, find_crossing
from pliant.collision.broad.near_vertices import find_vertices
from pliant.collision.broad.pairs import near_leaves
from pliant.collision.filters import Limits
from pliant.collision.surface import Pose
from pliant.core.kernels import kernel
from pliant.core.types import IntArray


class Candidates(NamedTuple):
    """Vertices of side a with faces of side b (m, 2), vertices of b with faces of a (m, 2), edges of a and b (m, 2).

    For self-contact the second is empty, and of two edges the lower is the first.
    """

    vertices: IntArray
    others: IntArray
    edges: IntArray


def candidates(a: Pose, b: Pose, limits: Limits, *, crossed: bool) -> Candidates:
    """What may touch within `limits`; `crossed`: whether edges that have run through each other are remembered."""
    reach = reach_of(a.bounds, b.bounds, limits.margin, limits.facing)
    on_a = features_of(a)
    on_b = on_a if a is b else features_of(b)
    smooth = smooth_limits(limits, reach, crossed)
    return Candidates(*_find(on_a, on_b, a is b, reach, smooth, limits.margin, limits.flat))


@kernel
def _find(
    a: Features,
    b: Features,
    same: bool,
    reach: Reach,
    smooth: Smooth,
    margin: float,
    flat: float,
) -> tuple[IntArray, IntArray, IntArray]:
    none = np.empty((0, 2), np.int32)
    leaves = near_leaves(a.nodes, a.leaves, b.nodes, b.leaves, same, reach.near, reach.facing)
    if not len(leaves):
        return none, none, none
    bends_a = find_bends(a.edge_triangles, a.normals, a.thin, a.joined, flat)
    bends_b = bends_a if same else find_bends(b.edge_triangles, b.normals, b.thin, b.joined, flat)
    vertices = find_vertices(leaves, 0, a, b, same, reach)
    others = none if same else find_vertices(leaves, 1, b, a, same, reach)
    bent = find_bent(leaves, 0, a, bends_a, b, bends_b, same, reach, margin, False)
    back = none if same else find_bent(leaves, 1, b, bends_b, a, bends_a, same, reach, margin, False)
    crossing = find_crossing(leaves, a, bends_a, b, bends_b, same, reach, smooth, margin)
    return vertices, others, np.concatenate((bent, back, crossing))
