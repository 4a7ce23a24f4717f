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
from pliant.constraints.contact_curvature import travelling_edges, weight_gradients
from pliant.constraints.contact_memory import ContactMemory
from pliant.constraints.keys import contact_row_keys
from pliant.constraints.rows import Constraint, RowView, forces_of
from pliant.core.types import FloatArray, IndexArray
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
    nodes: list[Any] = []
    coefficients: list[FloatArray] = []
    units: list[FloatArray] = []
    stiffness: list[float] = []
    found = travelling_edges(pair, view, c)
    if found is not None:
        for m, along in zip(found[0], found[3], strict=True):
            nodes.append(c.nodes_a[m, :2])
            coefficients.append(np.array([-1.0, 1.0]))
            units.append(c.normal[m])
            stiffness.append(lam[m] / along)
    if isinstance(pair.b.solid, Sphere | Capsule):
        x = pair.a.points(view)
        faces = (c.kind == ContactKind.FACE_VERTEX) & (c.weights_a > _ON_EDGE).all(axis=1)
        for m in np.flatnonzero(faces):
            slopes, directions = weight_gradients(x[c.nodes_a[m]])
            for direction in directions:
                nodes.append(c.nodes_a[m])
                coefficients.append(slopes @ direction)
                units.append(c.normal[m])
                stiffness.append(lam[m] * max(pair.b.solid.radius + c.gap[m], 0.0))
    if not nodes:
        return None
    orders = [np.argsort(each) for each in nodes]
    ptr = np.concatenate([[0], np.cumsum([len(each) for each in nodes])]).astype(np.int64)
    segments = Segments(
        ptr,
        np.concatenate([each[order] for each, order in zip(nodes, orders, strict=True)]).astype(np.int32),
        np.concatenate([each[order] for each, order in zip(coefficients, orders, strict=True)]),
    )
    along = scale * np.array(stiffness)
    return SegmentStiffness(segments.placed(model.pattern), along, np.zeros(len(along)), np.array(units))
