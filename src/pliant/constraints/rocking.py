"""Stiffness that keeps edges and faces from rocking about their lowest point above a round solid.

That point travels along an edge e, or within a face, when these tilt. A dynamic step takes it for a point of the
material; from step to step it jumps to the other side, at any dt, unless A knows that the gap falls on both sides. Of
the geometric stiffness −λ ∂²δ/∂q² (`constraints.contact_curvature`) steps take the part that is positive:

    edge: λ (n·δe)²/(e·C e)          face: λ d |δn|²,  δn = −Σ c_k (n·δx_k)

with the curvature C of the solid, the distance d of the face from the centre of a sphere, and the gradients c_k of the
weights of its corners.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pliant.collision import Capsule, ContactKind, ContactSet, Sphere
from pliant.collision.narrow.round_contacts import ROUND
from pliant.constraints.contact import ContactPair
from pliant.constraints.contact_curvature import travelling_edges
from pliant.constraints.contact_memory import ContactMemory
from pliant.constraints.keys import contact_row_keys
from pliant.constraints.rows import Constraint, RowView, forces_of
from pliant.core.arrays import frozen
from pliant.core.kernels import kernel
from pliant.core.spins import cross
from pliant.core.types import FloatArray, IndexArray, IntArray
from pliant.models.volume.model import VolumeModel
from pliant.models.volume.segments import Segments, SegmentStiffness

_ON_EDGE = 1e-9
"""Weight of a corner below which a contact of a face lies on the opposite edge: the face does not tilt about it."""


def rocking_pairs(constraints: Sequence[Constraint], models: Sequence[Any]) -> tuple[tuple[int, ContactPair], ...]:
    """Indices of the pairs of a soft body with a round solid, and the pairs."""
    return tuple(
        (index, pair)
        for index, pair in enumerate(constraints)
        if type(pair) is ContactPair
        and pair.a.surface is not None
        and pair.a.index is not None
        and not models[pair.a.index].spec.has_frames  # the nodes of a soft body turn about each other
        and pair.b.surface is None
        and isinstance(pair.b.solid, ROUND)
    )


def pushing(
    pair: ContactPair, memory: ContactMemory | None, keys: IndexArray | None, lam: FloatArray
) -> tuple[ContactSet, FloatArray] | None:
    """The contacts of `memory` within edges and faces that push, and their forces (m,) N, from the λ of all rows by
    their `keys`; None for none.
    """
    if memory is None or not memory.contacts.count:
        return None
    c = memory.contacts
    within = np.flatnonzero((c.kind == ContactKind.EDGE_EDGE) | (c.kind == ContactKind.FACE_VERTEX))
    if not len(within):
        return None
    width = 3 if pair.mu else 1
    force = forces_of(np.ascontiguousarray(contact_row_keys(c.key[within], width)[::width]), keys, lam)
    pushes = force > 0.0
    return (c.selected(within[pushes]), force[pushes]) if pushes.any() else None


def rocking_stiffness(
    pair: ContactPair, view: RowView, c: ContactSet, lam: FloatArray, model: VolumeModel, scale: float
) -> SegmentStiffness | None:
    """`scale` × the stiffness of contacts `c` of a pair that push with `lam` (m,) N, on the body `model` of side a."""
    nodes, coefficients, units, stiffness = [], [], [], []
    found = travelling_edges(pair, view, c)
    if found is not None:
        edge, _, _, along = found
        ends = c.nodes_a[edge, :2]
        nodes.append(np.sort(ends, axis=1))
        coefficients.append(np.broadcast_to((-1.0, 1.0), ends.shape))  # the energy is the same for an edge turned over
        units.append(c.normal[edge])
        stiffness.append(lam[edge] / along)
    if isinstance(pair.b.solid, Sphere | Capsule):
        face = np.flatnonzero((c.kind == ContactKind.FACE_VERTEX) & (c.weights_a > _ON_EDGE).all(axis=1))
        if len(face):
            corners, slopes = np.empty((2 * len(face), 3), np.int32), np.empty((2 * len(face), 3))
            _face_slopes(frozen(pair.a.points(view)), frozen(c.nodes_a[face]), corners, slopes)
            nodes.append(corners)
            coefficients.append(slopes)
            units.append(np.repeat(c.normal[face], 2, axis=0))
            stiffness.append(np.repeat(lam[face] * np.maximum(pair.b.solid.radius + c.gap[face], 0.0), 2))
    if not nodes:
        return None
    sizes = np.concatenate([np.full(len(each), each.shape[1]) for each in nodes])
    ptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    segments = Segments(ptr, *(np.concatenate([each.ravel() for each in some]) for some in (nodes, coefficients)))
    along = scale * np.concatenate(stiffness)
    return SegmentStiffness(segments.placed(model.pattern), along, np.zeros(len(along)), np.concatenate(units))


@kernel
def _face_slopes(x: FloatArray, faces: IntArray, corners: IntArray, slopes: FloatArray) -> None:
    """Of each of the `faces` (m, 3), along two orthonormal directions in its plane: its `corners` (2m, 3), ascending,
    and the slopes (2m, 3), 1/m, of their weights.
    """
    u, v, unit, other, t = np.empty(3), np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    gradients = np.empty((3, 3))
    for m in range(len(faces)):
        for i in range(3):
            u[i], v[i] = x[faces[m, 1], i] - x[faces[m, 0], i], x[faces[m, 2], i] - x[faces[m, 0], i]
        cross(u, v, unit)
        size = np.sqrt(unit[0] * unit[0] + unit[1] * unit[1] + unit[2] * unit[2])
        length = np.sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2])
        for i in range(3):
            unit[i] /= size
        cross(v, unit, t)
        for i in range(3):
            gradients[1, i] = t[i] / size
        cross(unit, u, other)  # the second direction too, but for its length
        for i in range(3):
            gradients[2, i] = other[i] / size
            gradients[0, i] = -gradients[1, i] - gradients[2, i]
            u[i] /= length
            other[i] /= length
        for k in range(3):
            place = 0  # of the corner among all three, ascending
            for other_k in range(3):
                place += faces[m, other_k] < faces[m, k]
            corners[2 * m, place] = corners[2 * m + 1, place] = faces[m, k]
            g = gradients[k]
            slopes[2 * m, place] = g[0] * u[0] + g[1] * u[1] + g[2] * u[2]
            slopes[2 * m + 1, place] = g[0] * other[0] + g[1] * other[1] + g[2] * other[2]
