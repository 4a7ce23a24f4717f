"""Contacts of balls, points with a radius, with the closed surface of a deforming body.

Each ball has one contact, with the nearest triangle; its side is told by the angle-weighted pseudonormal, so that a
ball is pushed out from any depth (Bærentzen and Aanæs 2005, as in `collision.mesh_obstacle`).
"""

from __future__ import annotations

import numpy as np

from pliant.collision.closest import triangle_weights
from pliant.collision.contacts import ContactKind, ContactSet, check_capacity, key_base
from pliant.collision.narrow.pseudonormal import Sides, signed_direction
from pliant.collision.surface import Pose
from pliant.core.arrays import frozen
from pliant.core.kernels import kernel
from pliant.core.types import BoolArray, FloatArray, IntArray
from pliant.mesh.queries import nearest_triangles
from pliant.mesh.tree import build_tree


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
    corners = places[surface.triangles]
    tree = build_tree(corners.min(axis=1), corners.max(axis=1))
    queries = frozen(points[nodes])
    nearest, _ = nearest_triangles(places, surface.triangles, tree, queries)
    crossed = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals = crossed / np.maximum(np.linalg.norm(crossed, axis=1, keepdims=True), 1e-300)
    s = surface
    sides = Sides(
        places,
        frozen(np.asarray(normals, np.float64)),
        s.triangles,
        s.triangle_edges,
        s.edge_triangles,
        s.fan_start,
        s.fan,
    )
    gap, normal, weights = np.empty(len(nodes)), np.empty((len(nodes), 3)), np.empty((len(nodes), 3))
    _measure_balls(queries, sides, nearest, gap, normal, weights)
    gap -= radius
    near = np.flatnonzero((gap <= margin) & _taking_part(pose)[nearest])
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


def _taking_part(pose: Pose) -> BoolArray:
    chosen = np.zeros(len(pose.surface.triangles), bool)
    chosen[pose.surface.order] = True
    return chosen


@kernel
def _measure_balls(
    queries: FloatArray, mesh: Sides, nearest: IntArray, gap: FloatArray, normal: FloatArray, weights: FloatArray
) -> None:
    """Signed distance, normal and the weights of the corners of each query's nearest triangle."""
    y, facets, corners, triangle_edges, edge_triangles, around_start, around = mesh
    for q in range(len(queries)):
        face = nearest[q]
        v, w, _ = triangle_weights(queries, q, y, corners[face, 0], corners[face, 1], corners[face, 2])
        weights[q, 0], weights[q, 1], weights[q, 2] = 1.0 - v - w, v, w
        n0, n1, n2, gap[q] = signed_direction(
            queries, q, y, facets, corners, triangle_edges, edge_triangles, around_start, around, face, v, w
        )
        normal[q, 0], normal[q, 1], normal[q, 2] = n0, n1, n2
