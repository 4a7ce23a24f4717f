"""The contact of a sphere with the face that is nearest to it: what the vertices of a coarse surface do not see.

A sphere between the vertices of a triangle dents it before any vertex is near. Its centre has one nearest place on the
surface; where that lies within a face it is a contact of its own, and vertex contacts see the rest.
"""

from __future__ import annotations

import numpy as np

from pliant.collision.ball_contacts import ball_contacts
from pliant.collision.contacts import ContactKind, ContactSet, key_base
from pliant.collision.surface import Pose
from pliant.core.types import FloatArray

_INSIDE = 0.05  # weight that every corner needs for a place to be within its face, not at a vertex or an edge of it


def sphere_face_contact(pose: Pose, center: FloatArray, radius: float, *, margin: float, pair: int = 0) -> ContactSet:
    """The contact, if any, of the surface `pose` (side a) with the sphere of `radius` m round `center` (3,) m."""
    count = len(pose.points)
    ball = ball_contacts(center[None], np.zeros(1, np.int32), radius, pose, margin=margin, pair=pair)
    if not ball.count or ball.weights_b.min() < _INSIDE:
        return ContactSet.empty(count, 0)
    return ContactSet(
        kind=np.full(1, ContactKind.FACE_VERTEX, dtype=np.uint8),
        nodes_a=ball.nodes_b,
        weights_a=ball.weights_b,
        nodes_b=np.full((1, 3), -1, dtype=np.int32),
        weights_b=np.zeros((1, 3)),
        normal=-ball.normal,
        gap=ball.gap,
        point_a=ball.point_b,
        point_b=ball.point_a,
        key=np.array([key_base(ContactKind.FACE_VERTEX, pair)]),
        face=ball.face,
        point_count_a=count,
        point_count_b=0,
    )
