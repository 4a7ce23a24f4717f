"""Contacts of a surface with an obstacle that has facets, a box or a mesh: vertices, edges and faces of both.

Vertices of the surface are measured against the solid, at any depth. The facets add what they do not see: corners of
the obstacle in front of faces, and edges across edges. They also decide where a vertex is flush with a side of the
obstacle, whose distance is then zero: it touches the facet that it faces.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from pliant.collision.contacts import ContactKind, ContactSet, check_capacity, concatenate, key_base
from pliant.collision.narrow.valleys import VALLEY
from pliant.collision.proximity import ProximityOptions, surface_contacts
from pliant.collision.surface import Pose

_SAME = 0.99
"""Two contacts of a vertex agree above this product of their normals: 8 degrees."""


def with_facets(
    contacts: ContactSet,
    pose: Pose,
    facets: Pose,
    *,
    margin: float,
    pair: int,
    previous: ContactSet | None,
    capacity: int | None,
) -> ContactSet:
    """`contacts` of the vertices of the surface `pose` with an obstacle, and those with its `facets`."""
    low, high = facets.points.min(axis=0) - margin, facets.points.max(axis=0) + margin
    own = pose.points[pose.surface.nodes]
    if (own.min(axis=0) > high).any() or (own.max(axis=0) < low).any():
        return contacts
    options = ProximityOptions(margin=margin, capacity=capacity)
    found = surface_contacts(pose, facets, options, pair=pair, previous=_as_faces(previous, pair, pose, facets))
    is_vertex = (found.kind == ContactKind.VERTEX_FACE) & (found.key < key_base(ContactKind.VERTEX_FACE, pair) + VALLEY)
    others = _without_side_b(found.selected(~is_vertex))
    check_capacity(contacts.count + others.count, capacity)
    return concatenate([others, _corrected(contacts, found.selected(is_vertex))])


def _corrected(contacts: ContactSet, faces: ContactSet) -> ContactSet:
    """`contacts` of vertices with a solid, with the normals and gaps of `faces` where both are of one vertex and their
    normals disagree: on the border between two sides the nearest one may be a side that the vertex does not face.
    """
    if not contacts.count or not faces.count:
        return contacts
    vertex, other = contacts.nodes_a[:, 0], faces.nodes_a[:, 0]
    place = np.minimum(np.searchsorted(other, vertex), len(other) - 1)
    product = np.einsum("mi,mi->m", contacts.normal, faces.normal[place])
    turned = (other[place] == vertex) & (product < _SAME)
    if not turned.any():
        return contacts
    parts: dict[str, Any] = {}
    for name in ("normal", "gap", "point_b"):
        chosen = np.array(getattr(contacts, name))
        chosen[turned] = getattr(faces, name)[place[turned]]
        parts[name] = chosen
    return replace(contacts, **parts)


def _as_faces(previous: ContactSet | None, pair: int, pose: Pose, facets: Pose) -> ContactSet:
    """The last contacts with those of vertices named as a query between two surfaces names them."""
    if previous is None or not previous.count:
        return ContactSet.empty(len(pose.points), len(facets.points))
    key = np.array(previous.key)
    of_vertex = previous.kind == ContactKind.VERTEX_OBSTACLE
    key[of_vertex] -= key_base(ContactKind.VERTEX_OBSTACLE, pair) - key_base(ContactKind.VERTEX_FACE, pair)
    order = np.argsort(key, kind="stable")
    return replace(previous.selected(order), key=key[order])


def _without_side_b(contacts: ContactSet) -> ContactSet:
    count = contacts.count
    return replace(contacts, nodes_b=np.full((count, 3), -1, np.int32), weights_b=np.zeros((count, 3)), point_count_b=0)
