"""From the contact pairs of a compiled world to the plain arrays that a card steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from pliant.batch.gpu.arrays import Contacts, Edges, Rounds
from pliant.batch.gpu.limits import is_plane, pairs_of
from pliant.constraints.contact import PASSING
from pliant.core.types import FloatArray, IndexArray
from pliant.world import World

_TANGENTS = np.eye(3)


def touching(world: World) -> IndexArray:
    """Nodes of the contacts."""
    own = [np.asarray(one.a.nodes) for one in pairs_of(world)]
    return np.unique(np.concatenate(own)) if own else np.zeros(0, np.int64)


def contacts_of(world: World, place: IndexArray, columns: int, width: int) -> Contacts:
    """The contact points among nodes at `place` in the matrix, and the block columns of `width` unknowns from the first
    that they have a part in, to the last of `columns`.
    """
    rest: FloatArray = cast(Any, world.models[0]).rest
    none: Any = np.zeros(0, np.int64)
    nodes, pairs, gaps, frames = [none], [none], [np.zeros(0)], [np.zeros((0, 3, 3))]
    listed = pairs_of(world)
    for index, one in sorted(enumerate(listed), key=lambda each: not is_plane(each[1])):
        own = _free_nodes(world, one)
        frame, gap = cast(Any, np.zeros((3, 3))), np.zeros(len(own))
        if is_plane(one):
            pose, plane = np.asarray(one.b.handle.pose(0.0)), one.b.solid
            normal, point = pose[1:] @ plane.normal, pose[0] + pose[1:] @ plane.point
            first = np.cross(normal, _TANGENTS[int(np.argmin(np.abs(normal)))])
            first /= np.linalg.norm(first)
            frame, gap = np.stack([normal, first, np.cross(normal, first)]), (rest[own] - point) @ normal
        nodes.append(place[own])
        pairs.append(np.full(len(own), index))
        frames.append(np.tile(frame, (len(own), 1, 1)))
        gaps.append(gap)
    node = np.concatenate(nodes)
    early = min(3 * int(node.min(initial=len(place))) // width, columns - 1)
    return Contacts(
        node.astype(np.int32), np.concatenate(pairs).astype(np.int32), np.concatenate(frames), np.concatenate(gaps),
        np.array([one.margin for one in listed]), np.arange(early, columns, dtype=np.int32),
    )  # fmt: skip


def rounds_in_nodes(world: World, place: IndexArray) -> Rounds | None:
    """Balls and capsules that the last contact points may touch, of nodes at `place`; None without such pairs."""
    return _rounds(world, lambda nodes: place[nodes].astype(np.int32))


def rounds_in_modes(world: World, moved: FloatArray) -> Rounds | None:
    """The same of nodes that move by the modes `moved` (n, 3, k)."""
    return _rounds(world, lambda nodes: moved[nodes])


def _rounds(world: World, ends_of: Callable[[IndexArray], Any]) -> Rounds | None:
    listed, rest = pairs_of(world), cast(Any, world.models[0]).rest
    points, edges, ends, pairs = list[Any](), list[Any](), list[Any](), list[Any]()
    for index, one in enumerate(listed):
        if is_plane(one):
            continue
        surface, solid, pose = one.a.surface, one.b.solid, np.asarray(one.b.handle.pose(0.0))
        first, last = (pose[0] + pose[1:] @ end for end in (solid.centers[0], solid.centers[-1]))
        alike = last - first, solid.radius, pose[1:] @ solid.numbers[7:]
        points += [(rest[node] - first, *alike) for node in _free_nodes(world, one)]
        for edge in surface.edges[surface.taking_part_edges]:
            ends.append(edge)
            edges.append((rest[edge] - first, *alike))
            pairs.append(index)
    if not points:
        return None
    starts, axis, radius, outward = (np.array(each) for each in zip(*edges, strict=True))
    flat = np.ascontiguousarray(starts.swapaxes(0, 1)).reshape(-1, 3)  # first ends, then second ones
    own = Edges(flat, axis, radius, outward, np.array(pairs, np.int32), ends_of(np.array(ends).T.ravel()))
    start, axis, radius, outward = (np.array(each) for each in zip(*points, strict=True))
    return Rounds(start, axis, radius, outward, PASSING * np.array([one.margin for one in listed]), own)


def _free_nodes(world: World, pair: Any) -> IndexArray:
    """Nodes of the volume that may touch the other side of a pair and move."""
    clamped = cast(Any, world.models[0]).constrained.all(axis=1)
    nodes = np.asarray(pair.a.nodes)
    return np.asarray(nodes[~clamped[nodes]])
