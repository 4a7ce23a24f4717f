"""What supports constrain, and where they move it: the same for volumes, beams and the bases of rods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from pliant.core.errors import InputError
from pliant.core.lie import rotation_exp
from pliant.core.types import BoolArray, FloatArray, IntArray
from pliant.mesh.regions import as_region

if TYPE_CHECKING:
    from pliant.models.volume.support import Support

Claim: TypeAlias = "tuple[Support, IntArray, str | None]"
"""A support with its nodes and the first unknown, if any, that was constrained before: such a support may not move."""


def claimed(support: Support, nodes: IntArray, positions: BoolArray, frames: BoolArray | None = None) -> Claim:
    """Mark what `support` constrains of its `nodes` in `positions` (n, 3) and, with a rotation, `frames` (n, 3)."""
    taken = [f"{'xyz'[a]} of node {n}" for a in support.axis_indices for n in nodes[positions[nodes, a]][:1]]
    positions[nodes[:, None], support.axis_indices] = True
    if frames is not None and support.rotation is not None:
        taken += [f"the frame of node {n}" for n in nodes[frames[nodes, 0]][:1]]
        frames[nodes] = True
    return support, nodes, taken[0] if taken else None


def claimed_by_all(
    name: str, points: FloatArray, clamp: Any, supports: Sequence[Support]
) -> tuple[BoolArray, tuple[Claim, ...]]:
    """Constrained unknowns (n, 3) of the volume `name` with nodes at `points` (n, 3), m, and the claim of each support.

    `clamp` is a region, or None.
    """
    constrained, listed = np.zeros(points.shape, bool), []
    if clamp is not None:
        constrained[clamp.nodes(points, what=f"clamp of {name!r}")] = True
    for support in supports:
        what = f"support of {name!r}"
        nodes = as_region(support.region, what=what).nodes(points, what=what)
        listed.append(claimed(support, nodes, constrained))
    if constrained.all():
        raise InputError(f"every node of {name!r} is constrained; shrink the clamp or the supports")
    return constrained, tuple(listed)


def moving(name: str, claims: tuple[Claim, ...], values: Mapping[Any, Any]) -> Iterator[tuple[Claim, Any, Any]]:
    """Supports that move under the controls `values`, with displacement (m) and rotation vector (rad; None: free)."""
    for claim in claims:
        support, _, taken = claim
        displacement, rotation = support.placement(values.get(support))
        if not displacement.any() and (rotation is None or not rotation.any()):
            continue
        if taken is not None:
            raise InputError(
                f"a moving support of {name!r} prescribes {taken}, which a clamp or another support constrains; "
                "shrink one of the regions, or leave one out"
            )
        yield claim, displacement, rotation


def prescribed(name: str, rest: FloatArray, claims: tuple[Claim, ...], values: Mapping[Any, Any]) -> FloatArray:
    """Prescribed positions, and frames where k = 4, of the nodes, (n, k, 3), m; `rest` itself where nothing moves."""
    if not claims:
        return rest
    target = rest
    for (support, nodes, _), displacement, rotation in moving(name, claims, values):
        target = target.copy() if target is rest else target
        for axis, amount in zip(support.axis_indices, displacement, strict=True):
            target[nodes, 0, axis] = rest[nodes, 0, axis] + amount
        if rotation is not None and rest.shape[1] == 1:  # of a volume: the nodes turn about a point
            center = rest[nodes, 0].mean(axis=0) if support.center is None else np.asarray(support.center, float)
            target[nodes, 0] += (rest[nodes, 0] - center) @ (rotation_exp(rotation) - np.eye(3)).T
        elif rotation is not None:
            target[nodes, 1:] = rotation_exp(rotation) @ rest[nodes, 1:]
    return target
