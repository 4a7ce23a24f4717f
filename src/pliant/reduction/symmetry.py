"""Symmetries of a robot: snapshots of mirrored or rotated runs without simulation.

A symmetry moves the robot onto itself. Actuator k becomes actuator `actuators[k]`, contact or point i becomes
`points[i]`; a run in which the actuators are permuted has the same forces at the permuted contacts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from pliant.core.checks import finite_array, positive
from pliant.core.declared import declared
from pliant.core.errors import InputError
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray, IndexArray


@one_line
@dataclass(frozen=True, eq=False)
class Symmetry:
    """Where a motion of space that leaves the robot as it is takes its actuators and points.

    `actuators` (k,) and `points` (n,) are permutations: what is at k goes to actuators[k]. The points are the rows of
    whatever is mapped: nodes for positions, potential contacts for forces. `matrix` (3, 3), orthogonal, and `offset`
    (3,), m, move positions: x becomes matrix x + offset.
    """

    _: KW_ONLY
    actuators: Any
    points: Any
    matrix: FloatArray = field(default_factory=lambda: np.eye(3))
    offset: FloatArray = field(default_factory=lambda: np.zeros(3))

    def __post_init__(self) -> None:
        for name in ("actuators", "points"):
            order = np.asarray(getattr(self, name))
            if order.ndim != 1 or order.dtype.kind not in "iu" or (np.sort(order) != np.arange(len(order))).any():
                raise InputError(f"{name} of a symmetry must hold each of 0 … {order.size - 1} once, got {order}")
            object.__setattr__(self, name, order)
        matrix = finite_array("matrix of a symmetry", self.matrix, shape=(3, 3))
        if abs(matrix @ matrix.T - np.eye(3)).max() > 1e-9:
            raise InputError("matrix of a symmetry must be a rotation or a reflection: its inverse is its transpose")
        object.__setattr__(self, "matrix", matrix)
        object.__setattr__(self, "offset", finite_array("offset of a symmetry", self.offset, shape=(3,)))

    @classmethod
    def of_points(
        cls, points: Any, matrix: Any, *, actuators: Any, offset: Any = (0.0, 0.0, 0.0), tolerance: float = 1e-9
    ) -> Symmetry:
        """The symmetry x → matrix x + offset of `points` (n, 3), m; they must match within `tolerance`, m."""
        from scipy.spatial import cKDTree  # loaded here: only offline work needs it

        given = finite_array("points", points, shape=(None, 3))
        moved = given @ finite_array("matrix", matrix, shape=(3, 3)).T + finite_array("offset", offset, shape=(3,))
        distance, nearest = cKDTree(given).query(moved)
        if distance.max() > positive("tolerance", tolerance, unit="m"):
            worst = int(distance.argmax())
            raise InputError(
                f"point {worst} at {given[worst]} m goes to {moved[worst]} m, {distance[worst]:g} m from the nearest "
                f"point; the tolerance is {tolerance:g} m: the points are not symmetric under this motion"
            )
        own = {"matrix": np.asarray(matrix, float), "offset": np.asarray(offset, float)}
        return cls(actuators=actuators, points=nearest, **own)

    def forces(self, snapshots: Any) -> FloatArray:
        """Forces (n, snapshots), N, of the runs whose actuators are permuted."""
        S = finite_array("snapshots", snapshots, shape=(len(self.points), None))
        image = np.empty_like(S)
        image[self.points] = S
        return image

    def positions(self, snapshots: Any) -> FloatArray:
        """Positions (snapshots, n, 3), m, of the runs whose actuators are permuted."""
        x = finite_array("positions", snapshots, shape=(None, len(self.points), 3))
        image = np.empty_like(x)
        image[:, self.points] = x @ self.matrix.T + self.offset
        return image


@declared
def with_symmetric_forces(snapshots: Any, symmetries: Sequence[Symmetry]) -> FloatArray:
    """`snapshots` (contacts, s), N, and beside them those of all `symmetries`, (contacts, s (1 + symmetries)), N."""
    S = finite_array("snapshots", snapshots, shape=(None, None))
    return np.hstack([S, *(symmetry.forces(S) for symmetry in symmetries)])


@declared
def closed_group(generators: Sequence[Sequence[int]]) -> list[IndexArray]:
    """All permutations that the `generators` make together, without the identity, each (k,)."""
    count = len(generators[0]) if generators else 0
    identity = tuple(range(count))
    found, queue = {identity}, [identity]
    while queue:
        order = queue.pop()
        for generator in generators:
            image = tuple(int(generator[k]) for k in order)
            if image not in found:
                found.add(image)
                queue.append(image)
    return [np.array(order, np.int64) for order in sorted(found) if order != identity]
