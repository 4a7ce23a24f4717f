"""From a compiled world to the plain arrays that a card steps; `limits` says which worlds these are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import reverse_cuthill_mckee

from pliant.actuators.cable import CableRows
from pliant.batch.gpu.arrays import Cables, Elements, Lowered, Numbers
from pliant.batch.gpu.limits import cables_of, drives_of, pairs_of
from pliant.batch.gpu.lowering_chambers import chambers_in_nodes
from pliant.batch.gpu.lowering_contacts import contacts_of, rounds_in_nodes, touching
from pliant.batch.gpu.lowering_sums import sums
from pliant.core.types import FloatArray, IndexArray, IntArray
from pliant.materials import Part
from pliant.materials.laws import LINEAR
from pliant.models.volume.model import VolumeModel
from pliant.world import World

WIDTH = 16
"""Unknowns of a block of the matrix: the fewest that a card multiplies by blocks."""


def lower_nodes(world: World, changed: Sequence[World], *, slots: int) -> Lowered:
    """The arrays of `world`, with the numbers of the worlds `changed` of the copies."""
    model: Any = world.models[0]
    order, source, blocks, place = _band(model, touching(world))
    cables = cables_of(world)
    return Lowered(
        elements=_elements(model, place, blocks),
        cables=_cables(model, cables, place, order, blocks),
        contacts=contacts_of(world, place, source.shape[0], WIDTH),
        numbers=_numbers_of(world, changed, order),
        source=source,
        slots=np.array(slots_of(world, slots)),
        chambers=chambers_in_nodes(world, place, len(order)),
        rounds=rounds_in_nodes(world, place),
    )


def order_of(world: World) -> IndexArray:
    """The free nodes of the volume in the order of the matrix."""
    model: Any = world.models[0]
    return _band(model, touching(world))[0]


def slots_of(world: World, capacity: int) -> int:
    """Rows of each of the four groups: a power of two, with one to spare beside the drives; few without contacts."""
    contacts = capacity if pairs_of(world) else 0
    return int(2 ** np.ceil(np.log2(max(contacts, len(drives_of(world)) + 1, 4))))


def _band(model: VolumeModel, late: IndexArray) -> tuple[IndexArray, IntArray, dict[tuple[int, int], int], IndexArray]:
    """Free nodes in the order of the matrix, the `source` of its entries, blocks by their nodes in that order, and the
    place of every node in it, past the end for clamped ones. Nodes `late` come as late as either direction allows.
    """
    pattern, free = model.pattern, np.flatnonzero(~model.constrained.all(axis=1))
    rows = np.repeat(np.arange(pattern.node_count), np.diff(pattern.indptr))
    ones = np.ones(len(rows))
    joined = sparse.csr_matrix((ones, (rows, pattern.indices)), shape=(pattern.node_count,) * 2)
    joined = (joined + joined.T).tocsr()[free][:, free]
    order = free[reverse_cuthill_mckee(joined, symmetric_mode=True)]
    starts = [np.flatnonzero(np.isin(way, late)).min(initial=len(way)) for way in (order, order[::-1])]
    if starts[1] > starts[0]:
        order = np.ascontiguousarray(order[::-1])
    count = len(order)
    place = np.full(pattern.node_count, count)
    place[order] = np.arange(count)
    pairs = np.sort(place[np.stack([rows, np.asarray(pattern.indices)])], axis=0)[::-1].T  # larger first
    pairs = pairs[(pairs < count).all(axis=1) & (pairs[:, 0] != pairs[:, 1])]
    pairs = np.vstack([np.column_stack([np.arange(count)] * 2), pairs])
    blocks = {(int(a), int(b)): k for k, (a, b) in enumerate(pairs)}
    farthest = 3 * int((pairs[:, 0] - pairs[:, 1]).max()) + 2
    columns, reach = -(-3 * count // WIDTH), -(-farthest // WIDTH)
    size = (columns + reach) * WIDTH
    dense = np.full((size, size), 9 * len(pairs), np.int32)  # the zero
    a, b = 3 * pairs[:, :1], 3 * pairs[:, 1:]
    for i in range(3):
        for j in range(3):
            entry = 9 * np.arange(len(pairs)) + 3 * i + j
            dense[a[:, 0] + i, b[:, 0] + j] = dense[b[:, 0] + j, a[:, 0] + i] = entry
    spare = np.arange(3 * count, columns * WIDTH)
    dense[spare, spare] = 9 * len(pairs) + 1
    return order, source_of(dense, columns, reach), blocks, place


def source_of(dense: IntArray, columns: int, reach: int) -> IntArray:
    """Blocks of the lower half of indices `dense` (size, size) of the entries of a matrix, as in `Lowered.source`."""
    source = np.empty((columns, reach + 1, WIDTH, WIDTH), np.int32)
    for k in range(columns):
        for i in range(reach + 1):
            rows = slice((k + i) * WIDTH, (k + i + 1) * WIDTH)
            source[k, i] = dense[rows, k * WIDTH : (k + 1) * WIDTH].T
    return source


def _elements(model: VolumeModel, place: IndexArray, blocks: dict[tuple[int, int], int]) -> Elements:
    p = model.points
    count = len(place) - int(model.constrained.all(axis=1).sum())
    sizes = np.diff(p.ptr)
    width = int(sizes.max())
    nodes, G = np.full((p.count, width), count), np.zeros((p.count, width, 3))
    inside = np.arange(width) < sizes[:, None]
    nodes[inside], G[inside] = place[p.nodes], p.gradients
    entries = nodes.size
    flat = nodes.ravel()
    forces = sums([np.flatnonzero(flat == k) for k in range(count)], entries)
    left: list[list[int]] = [[] for _ in blocks]
    right: list[list[int]] = [[] for _ in blocks]
    for point in range(p.count):
        own = nodes[point]
        free = np.flatnonzero(own < count)
        for x in free:
            for y in free:
                if own[x] >= own[y]:
                    k = blocks[int(own[x]), int(own[y])]
                    left[k].append(point * width + int(x))
                    right[k].append(point * width + int(y))
    starts = np.cumsum([0, *(len(one) for one in left)])
    stages = sums([np.arange(a, b) for a, b in pairwise(starts)], int(starts[-1]))
    ends = [np.append(np.concatenate([np.asarray(x, np.int64) for x in side]), entries) for side in (left, right)]
    part = np.asarray(p.part)
    return Elements(
        nodes=nodes.astype(np.int32),
        gradients=G,
        weight=np.asarray(p.weight),
        material=np.asarray(p.material),
        shear=part != int(Part.VOLUME),
        bulk=part != int(Part.SHEAR),
        linear=np.asarray(model.laws) == LINEAR,
        forces=forces,
        left=ends[0][stages.first].astype(np.int32),
        right=ends[1][stages.first].astype(np.int32),
        blocks=stages.second,
    )


def _cables(
    model: VolumeModel, cables: Sequence[CableRows], place: IndexArray, order: IndexArray,
    blocks: dict[tuple[int, int], int],
) -> Cables:  # fmt: skip
    count = len(order)
    slopes, owners = segments_of(cables, len(place))
    if not cables:
        return Cables(np.zeros((count, 0)), np.zeros((0, 3)), np.zeros(0, np.int32), np.zeros(0, np.int32),
                      np.zeros((0, 0)))  # fmt: skip
    slope = slopes[:, order]  # (s, n)
    pairs = np.array(list(blocks))
    couplings = slope[:, pairs[:, 0]] * slope[:, pairs[:, 1]]
    touched = np.flatnonzero((couplings != 0.0).any(axis=0))
    return Cables(slope.T, slopes @ model.rest, owners, touched.astype(np.int32), couplings[:, touched])


def segments_of(cables: Sequence[CableRows], nodes: int) -> tuple[FloatArray, IntArray]:
    """Coefficients (s, nodes) of the nodes in the vectors of the segments of `cables`, and the cable (s,) of each."""
    slopes, owners = [np.zeros((0, nodes))], []
    for index, cable in enumerate(cables):
        pieces: Any = cable.strands[0].pieces
        segments = pieces.segments
        made = np.zeros((len(segments.ptr) - 1, nodes))
        made[np.repeat(np.arange(len(made)), np.diff(segments.ptr)), segments.nodes] = segments.coefficients
        slopes.append(made)
        owners += [index] * len(made)
    return np.concatenate(slopes), np.array(owners, np.int32)


def numbers_of_nodes(world: World, changed: Sequence[World]) -> Numbers:
    """The numbers of the worlds `changed` of copies of `world`."""
    return _numbers_of(world, changed, order_of(world))


def _numbers_of(world: World, changed: Sequence[World], order: IndexArray) -> Numbers:
    """The numbers of all copies, once where they are the same."""
    each = each_of(world, changed)

    def volume(one: World) -> Any:
        return one.models[0]

    return Numbers(
        mu=each(lambda one: volume(one).table[:, 0]),
        lam=each(lambda one: volume(one).table[:, 1]),
        mass=each(lambda one: volume(one).mass.nodal[order]),
        damping=each(lambda one: [volume(one).spec.damping.mass, volume(one).spec.damping.stiffness]),
        friction=each(lambda one: [c.mu for c in pairs_of(one)]),
        gravity=each(lambda one: one.gravity),
        loads=each(lambda one: volume(one).external_forces(volume(one).rest, np.zeros(3), {})[order]),
        lower=each(lambda one: force_limits(one, "lower")),
        upper=each(lambda one: force_limits(one, "upper")),
    )


def each_of(world: World, changed: Sequence[World]) -> Callable[[Callable[[World], Any]], FloatArray]:
    """What reads a number of all copies, (…, b), (…, 1) where it is the same."""

    def each(value: Callable[[World], Any]) -> FloatArray:
        made = np.stack([np.asarray(value(one), float) for one in changed or [world]], -1)
        return made[..., :1].copy() if (made == made[..., :1]).all() else made

    return each


def force_limits(world: World, name: str) -> list[float]:
    """The `lower` or `upper` limits of the tensions of cables, N, then of the pressures of chambers, Pa."""
    return [getattr(drive.spec.limits, name) for drive in drives_of(world)]
