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
from pliant.core.types import FloatArray, IndexArray, IntArray


def contact_frames(
    contacts: ContactSet, *, previous: ContactSet | None = None, previous_frames: FloatArray | None = None
) -> FloatArray:
    """Right-handed frames (m, 3, 3), rows normal, t₁, t₂; those of `previous` contacts are carried along."""
    frames = np.empty((contacts.count, 3, 3))
    known = previous is not None and previous_frames is not None
    keys, old = (previous.key, frozen(previous_frames)) if known else (_NO_KEYS, _NO_FRAMES)  # type: ignore[union-attr]
    _fill_frames(frozen(np.ascontiguousarray(contacts.normal)), contacts.key, keys, old, frames)
    return frames


_NO_KEYS, _NO_FRAMES = frozen(np.zeros(0, np.int64)), frozen(np.zeros((0, 3, 3)))


@kernel
def _fill_frames(
    normal: FloatArray, keys: IndexArray, old_keys: IndexArray, old: FloatArray, frames: FloatArray
) -> None:
    """Frames of contacts with unit normals (m, 3) and ascending `keys`; those whose key is among `old_keys`, ascending
    too, turn with their normals, as long as these turn by less than 120°.
    """
    place = 0
    for m in range(len(keys)):
        x, y, z = normal[m, 0], normal[m, 1], normal[m, 2]
        frames[m, 0, 0], frames[m, 0, 1], frames[m, 0, 2] = x, y, z
        while place < len(old_keys) and old_keys[place] < keys[m]:
            place += 1
        if place < len(old_keys) and old_keys[place] == keys[m]:
            n0, n1, n2 = old[place, 0, 0], old[place, 0, 1], old[place, 0, 2]
            t0, t1, t2 = old[place, 1, 0], old[place, 1, 1], old[place, 1, 2]
            cosine = n0 * x + n1 * y + n2 * z
            if cosine > -0.5:
                # the rotation from n′ to n takes t to t − (t·n) (n + n′) / (1 + n·n′)
                along = (t0 * x + t1 * y + t2 * z) / (1.0 + cosine)
                t0, t1, t2 = t0 - along * (x + n0), t1 - along * (y + n1), t2 - along * (z + n2)
                along = t0 * x + t1 * y + t2 * z
                t0, t1, t2 = t0 - along * x, t1 - along * y, t2 - along * z
                length = np.sqrt(t0 * t0 + t1 * t1 + t2 * t2)
                t0, t1, t2 = t0 / length, t1 / length, t2 / length
                frames[m, 1, 0], frames[m, 1, 1], frames[m, 1, 2] = t0, t1, t2
                frames[m, 2, 0] = y * t2 - z * t1
                frames[m, 2, 1] = z * t0 - x * t2
                frames[m, 2, 2] = x * t1 - y * t0
                continue
        sign = np.copysign(1.0, z)
        a = -1.0 / (sign + z)
        b = x * y * a
        frames[m, 1, 0], frames[m, 1, 1], frames[m, 1, 2] = 1.0 + sign * x * x * a, sign * b, -sign * x
        frames[m, 2, 0], frames[m, 2, 1], frames[m, 2, 2] = b, sign + y * y * a, -y


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
