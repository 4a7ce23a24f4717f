"""Broad phase of features: vertices that may touch faces, and edges that may touch edges."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pliant.collision.features import features_of, smooth_limits
from pliant.collision.filters import Limits
from pliant.collision.lanes import reach_of
from pliant.collision.near_edges import find_bent, find_crossing
from pliant.collision.near_vertices import find_vertices
from pliant.collision.pairs import leaf_pairs, written
from pliant.collision.surface import Pose
from pliant.core.arrays import frozen
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
    same = a is b
    reach = reach_of(a.bounds, b.bounds, limits.margin, limits.facing)
    on_a = features_of(a, limits.flat)
    on_b = on_a if same else features_of(b, limits.flat)
    leaves = frozen(leaf_pairs(a, b, reach))
    room = 2 * len(leaves) + 8
    rest = a.surface.rest, a.surface.rest_normals, a.surface.notched
    vertices, edges = [], []
    for side in [(0, on_a, on_b)] if same else [(0, on_a, on_b), (1, on_b, on_a)]:
        vertices.append(written(find_vertices, room, leaves, *side, same, reach))
        edges.append(written(find_bent, room, leaves, *side, same, reach, limits.margin, *rest))
    smooth = smooth_limits(limits, reach, crossed)
    edges.append(written(find_crossing, room, leaves, on_a, on_b, same, reach, smooth, limits.margin, *rest))
    return Candidates(vertices[0], vertices[0][:0] if same else vertices[1], np.concatenate(edges))
