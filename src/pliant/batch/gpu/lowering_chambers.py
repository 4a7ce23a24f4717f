"""From the chambers of a compiled world to the plain arrays that a card steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.batch.gpu.arrays import Chambers, NodeEnds
from pliant.batch.gpu.limits import cables_of, chambers_of
from pliant.batch.gpu.lowering_sums import sums
from pliant.core.types import FloatArray, IndexArray
from pliant.world import World


def chambers_in_nodes(world: World, place: IndexArray, count: int) -> Chambers | None:
    """The chambers of a volume whose nodes have their `place` among `count` free ones; None without chambers."""
    made, nodes = _surfaces(world)
    if made is None:
        return None
    point = np.full((count, len(made.area)), len(nodes), np.int32)
    free = np.flatnonzero(place[nodes] < count)
    point[place[nodes[free]], made.owner[free]] = free
    return made._replace(ends=NodeEnds(place[nodes].astype(np.int32), point))


def chambers_in_modes(world: World, moved: FloatArray) -> Chambers | None:
    """The chambers of a volume whose nodes move by the modes `moved` (n, 3, k); None without chambers."""
    made, nodes = _surfaces(world)
    return None if made is None else made._replace(ends=moved[nodes])


def _surfaces(world: World) -> tuple[Chambers | None, IndexArray]:
    """The surfaces of all chambers without their `ends`, and the node of each point."""
    rows, model = chambers_of(world), world.models[0]
    if not rows:
        return None, np.zeros(0, np.int64)
    rest: Any = getattr(model, "rest")  # noqa: B009  of a volume
    facets, nodes, points, owner, count = [], [], [], [], 0
    for index, row in enumerate(rows):
        own, corners = np.unique(row.facets.facets, return_inverse=True)
        facets.append(count + corners.reshape(row.facets.facets.shape))
        nodes.append(own)
        points.append(rest[own] - rest[own].mean(axis=0))  # of a closed surface the volume does not depend on this
        owner.append(np.full(len(own), index, np.int32))
        count += len(own)
    rule: Any = rows[0].facets
    corners, at = np.concatenate(facets), np.concatenate(points)
    chamber = np.repeat(np.arange(len(rows), dtype=np.int32), [len(one) for one in facets])
    entries = corners.T.ravel()  # of the first corners of all facets, then of the second ones
    order = np.argsort(entries, kind="stable")
    lists = np.split(order, np.cumsum(np.bincount(entries, minlength=count))[:-1])
    area = np.bincount(chamber, _areas(at[corners], rule), len(rows))
    made = Chambers(
        corners.astype(np.int32), at, rule.shape, rule.slopes, rule.weights, chamber, np.concatenate(owner),
        sums(lists, len(entries)), area, None,
    )  # fmt: skip
    return made, np.concatenate(nodes)


def _areas(corners: FloatArray, rule: Any) -> FloatArray:
    """Areas of facets (f,), m², from the positions (f, k, 3) of their corners."""
    sides = np.einsum("fai,qas->qsfi", corners, rule.slopes)
    made: FloatArray = np.einsum("q,qf->f", rule.weights, np.linalg.norm(np.cross(sides[:, 0], sides[:, 1]), axis=-1))
    return made


def scales_of(world: World) -> FloatArray:
    """What makes forces of drives into N and m into their displacements: 1 for cables, areas (m²) for chambers."""
    made, _ = _surfaces(world)
    ones = np.ones(len(cables_of(world)))
    return ones if made is None else np.concatenate([ones, made.area])
