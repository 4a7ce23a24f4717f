"""Rows of contacts: the gradient of the gap and of the slip in the coordinates of the points of either side.

A contact gives a normal row and two tangential ones. The tangents follow from the normal alone, or are carried along
from the last step by the smallest rotation between the two normals, so that friction forces keep their directions.

Reference: T. Duff et al., "Building an orthonormal basis, revisited", JCGT 6, 2017.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from pliant.collision.contacts import ContactSet
from pliant.core.arrays import csr, empty_csr, frozen
from pliant.core.kernels import kernel
from pliant.core.types import FloatArray, IntArray


def contact_frames(
    contacts: ContactSet, *, previous: ContactSet | None = None, previous_frames: FloatArray | None = None
) -> FloatArray:
    """Right-handed frames (m, 3, 3), rows normal, t₁, t₂; those of `previous` contacts are carried along."""
    frames = _frames_from(contacts.normal)
    if previous is None or previous_frames is None or previous.count == 0 or contacts.count == 0:
        return frames
    places = contacts.match(previous)
    known = np.flatnonzero(places >= 0)
    old = previous_frames[places[known]]
    cosine = np.einsum("mi,mi->m", old[:, 0], contacts.normal[known])
    known, old, cosine = (array[cosine > -0.5] for array in (known, old, cosine))
    normal = contacts.normal[known]
    # the rotation from n′ to n takes t to t − (t·n) (n + n′) / (1 + n·n′)
    first = old[:, 1]
    along = np.einsum("mi,mi->m", first, normal) / (1.0 + cosine)
    first = first - along[:, None] * (normal + old[:, 0])
    first -= np.einsum("mi,mi->m", first, normal)[:, None] * normal
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    frames[known, 1], frames[known, 2] = first, np.cross(normal, first)
    return frames


def _frames_from(normal: FloatArray) -> FloatArray:
    x, y, z = normal.T
    sign = np.copysign(1.0, z)
    a = -1.0 / (sign + z)
    b = x * y * a
    frames = np.empty((len(normal), 3, 3))
    frames[:, 0] = normal
    frames[:, 1] = np.column_stack([1.0 + sign * x * x * a, sign * b, -sign * x])
    frames[:, 2] = np.column_stack([b, sign + y * y * a, -y])
    return frames


def side_rows(
    nodes: IntArray, weights: FloatArray, directions: FloatArray, point_count: int, *, sign: float = 1.0
) -> sparse.csr_matrix:
    """CSR of the blocks `sign` · weight · direction of one side: rows (contact, direction) for `directions` (m, w, 3),
    columns of the nodes (m, k) that are not −1.
    """
    contact_count, row_count = directions.shape[:2]
    shape = (contact_count * row_count, 3 * point_count)
    if not contact_count or not point_count:
        return empty_csr(shape)
    starts = np.empty(shape[0] + 1, np.int32)
    most = 3 * nodes.shape[1] * shape[0]
    values, columns = np.empty(most), np.empty(most, np.int32)
    end = _fill_side(frozen(nodes), frozen(weights), frozen(directions), sign, values, columns, starts)
    return csr(values[:end], columns[:end], starts, shape)


@kernel
def _fill_side(
    nodes: IntArray, weights: FloatArray, directions: FloatArray, sign: float, values: FloatArray, columns: IntArray,
    starts: IntArray,
) -> int:  # fmt: skip
    """The parts of the CSR matrix of `side_rows`; returns how many entries it has."""
    end = row = 0
    starts[0] = 0
    for i in range(len(nodes)):
        for w in range(directions.shape[1]):
            for k in range(nodes.shape[1]):
                if nodes[i, k] >= 0:
                    for c in range(3):
                        values[end] = sign * weights[i, k] * directions[i, w, c]
                        columns[end] = 3 * nodes[i, k] + c
                        end += 1
            row += 1
            starts[row] = end
    return end
