"""Fewer candidates where a fast part of a body widens the detection of all of it.

Detection of a pair reaches as far as its fastest points go in a step. Where more than `MANY` contacts lie within that
reach, those remain whose own points can close their gap, and those that pushed in the last step. The others stay open
at any forces that do not accelerate their points beyond the safety factor of the reach, so that the forces are those of
the whole set. Beyond `MOST` contacts the pair keeps those that pushed or overlap already, and of the open ones those
that would be deepest at the end of the predicted motion; the step warns that it did. An open contact that is dropped
and closes overlaps at the next step, so that it is kept there: no overlap remains at rest.
"""

from __future__ import annotations

import numpy as np

from pliant.collision import ContactSet
from pliant.constraints.keys import contact_row_keys
from pliant.constraints.rows import RowView, forces_of
from pliant.core.types import BoolArray, FloatArray, IntArray

MANY = 80
"""Contacts of a pair up to which all of them are kept: 240 rows with friction take milliseconds."""
MOST = 256
"""Contacts beyond which a pair keeps no open ones. Its forces take a tenth of a second; robots in use have fewer than
half of it."""


def thinned(
    contacts: ContactSet, view: RowView, motions: tuple[FloatArray, FloatArray], *, margin: float, approach: float
) -> ContactSet:
    """The `contacts` that can close in the step, where the points of both sides move by `motions` (n, 3), m: within the
    `margin` (m), or within `approach` times their own relative motion. Beyond `MOST` no open ones.
    """
    c = contacts
    move = _at(motions[0], c.nodes_a, c.weights_a) - _at(motions[1], c.nodes_b, c.weights_b)
    reach = approach * (np.linalg.norm(move, axis=1) + view.dt * view.dt * view.gravity)
    pushed = _pushed(c, view)
    near = (c.gap <= np.maximum(margin, reach)) | pushed
    if np.count_nonzero(near) > MOST:
        end = c.gap + np.einsum("mi,mi->m", c.normal, move)
        closed = pushed | (c.gap <= 0.0)
        order = np.lexsort((np.arange(c.count), end, ~closed, ~near))
        near = np.zeros(c.count, bool)
        near[order[: max(MOST, np.count_nonzero(closed))]] = True
    return c if near.all() else c.selected(near)


def _pushed(contacts: ContactSet, view: RowView) -> BoolArray:
    """Which contacts pushed in the last step, with or without friction."""
    normal = forces_of(contact_row_keys(contacts.key, 1), view.last_keys, view.last_lam)
    return np.asarray(normal > 0.0)


def _at(motion: FloatArray, nodes: IntArray, weights: FloatArray) -> FloatArray:
    """Motion (m, 3) m of the points of `nodes` (m, 3) and `weights` (m, 3); of a solid that of its frame."""
    if len(nodes) and nodes[0, 0] < 0:
        return np.broadcast_to(motion.mean(axis=0), nodes.shape)
    moved: FloatArray = np.einsum("mk,mki->mi", weights, motion[np.maximum(nodes, 0)])
    return moved
