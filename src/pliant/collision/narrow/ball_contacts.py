"""Contacts of balls, points with a radius, with the closed surface of a deforming body.

Each ball has one contact, with the nearest triangle, and is pushed out from any depth.
"""

from __future__ import annotations

import numpy as np

from pliant.collision.contacts import ContactKind, ContactSet, check_capacity, key_base
from pliant.collision.solids.surface_distance import SurfaceDistance
from pliant.collision.surface import Pose
from pliant.core.types import FloatArray, IntArray


def ball_contacts(
    points: FloatArray,
    nodes: IntArray,
    radius: float | FloatArray,
    pose: Pose,
    *,
    margin: float,
    pair: int = 0,
    capacity: int | None = None,
) -> ContactSet:
    """Contacts of balls of `radius` m (one, or one for each) around points[nodes] with the surface `pose`, nearer than
    `margin` (m) or inside.

    `points` (n, 3) m are side a, the points of the surface side b. Triangles that take no part lend no contact.
    """
    surface, places = pose.surface, pose.points
    gap, normal, nearest, weights, takes_part = SurfaceDistance(pose)(points[nodes])
    gap -= radius
    near = np.flatnonzero((gap <= margin) & takes_part)
    check_capacity(len(near), capacity)
    chosen, faces = np.asarray(nodes)[near], nearest[near]
    nodes_a, weights_a = np.full((len(near), 3), -1, np.int32), np.zeros((len(near), 3))
    nodes_a[:, 0], weights_a[:, 0] = chosen, 1.0
    nodes_b = surface.triangles[faces]
    return ContactSet(
        kind=np.full(len(near), ContactKind.VERTEX_FACE, dtype=np.uint8),
        nodes_a=nodes_a,
        weights_a=weights_a,
        nodes_b=nodes_b,
        weights_b=weights[near],
        normal=normal[near],
        gap=gap[near],
        point_a=points[chosen] - np.broadcast_to(radius, gap.shape)[near, None] * normal[near],
        point_b=np.einsum("mk,mki->mi", weights[near], places[nodes_b]),
        key=key_base(ContactKind.VERTEX_FACE, pair) + chosen.astype(np.int64),
        face=faces.astype(np.int32),
        point_count_a=len(points),
        point_count_b=len(places),
    )
