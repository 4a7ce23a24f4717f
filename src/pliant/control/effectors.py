"""Effectors: the outputs of an inverse problem, as rows without a force (λ = 0): δ is the measured value less the
target, H its gradient. Rows are weighted in the cost; hard ones are equalities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from pliant.actuators import Cavity, TensionActuator
from pliant.actuators.limits import check_rates, largest_change, per_second
from pliant.constraints.row_blocks import RowBlocks
from pliant.constraints.rows import Constraint, Rows, RowView
from pliant.core.arrays import add_product, frozen
from pliant.core.checks import finite_array, positive
from pliant.core.declared import check_declared
from pliant.core.errors import InputError
from pliant.core.lie import cross_matrix, rotation_exp, rotation_log
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray
from pliant.models.body import Body
from pliant.models.point_map import PointMap
from pliant.models.rigid import RigidBody
from pliant.world import World


@dataclass(frozen=True, eq=False)
class _Effector:
    """What all effectors share: `weight` in the cost, `max_speed` towards the target, `hard`, `tolerance`."""

    _: KW_ONLY
    weight: Any = 1.0
    max_speed: float = np.inf
    hard: bool = False
    tolerance: float = 1e-3
    name: str = "effector"

    def __post_init__(self) -> None:
        check_declared(self)
        if self.weight is not None:
            positive(f"weight of {self.name!r}", self.weight)
        positive(f"tolerance of {self.name!r}", self.tolerance)
        check_rates(self, "max_speed")

    @property
    def rate_limited(self) -> bool:
        """Whether the speed is limited, so that a step needs a time interval."""
        return self.max_speed < np.inf


class _ScalarEffector(_Effector):
    """A scalar measurement of an actuator: `sign` × the δ of its row up to a constant."""

    sign: ClassVar[float]

    @property
    def _actuator(self) -> Any:
        raise NotImplementedError

    @property
    def bodies(self) -> tuple[Any, ...]:
        """The bodies of the actuator."""
        return tuple(self._actuator.bodies)

    def target(self, value: Any) -> FloatArray:
        """A checked target (1,), m or m³."""
        return finite_array(f"target of {self.name!r}", value, shape=()).reshape(1)

    def bound(self, world: World) -> EffectorRows:
        """The rows in a world."""
        return EffectorRows(self, _ActuatorReading(world, world.constraint_index(self._actuator), self.sign))


@one_line
@per_second
@dataclass(frozen=True, eq=False)
class Effector(_Effector):
    """Points of a body with target positions.

    where
        A robot's marker (``robot.tip``), or a body together with `points`.
    points
        (k, 3) or (3,) m in the frame of the body's mesh, or in a rigid body's own axes.
    barycentre
        Measure the mean of the points instead of each point.
    directions
        Measure along these directions only, (d, 3), fixed in the world; None: x, y and z.
    weight, max_speed
        Weight of the squared distance in the cost, > 0; largest speed towards the target, m/s.
    hard
        An equality constraint instead of a term of the cost.
    tolerance
        Distance within which the target counts as reached, m.

    A target is a position (3,) m, or one for each point (k, 3); also with `directions`.
    """

    where: Any
    points: Any = None
    _: KW_ONLY
    barycentre: bool = False
    directions: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.bodies[0], Body) or (self.points is None and not hasattr(self.where, "position")):
            raise InputError(f"{self.name!r} needs a marker such as robot.tip, or a body and its points")
        finite_array(f"points of {self.name!r}", self._points(), shape=(None, 3))
        if self.directions is not None:
            _directions(self)

    @property
    def bodies(self) -> tuple[Any, ...]:
        """The body that is measured."""
        return (getattr(self.where, "body", self.where),)

    def target(self, value: Any) -> FloatArray:
        """A checked target: positions (p, 3), m."""
        count = self._count
        array = finite_array(f"target of {self.name!r}", value)
        if array.shape not in ((3,), (count, 3)):
            raise InputError(f"the target of {self.name!r} is {count} position(s) (m), got shape {array.shape}")
        made = np.empty((count, 3))
        made[:] = array
        return made

    @cached_property
    def _count(self) -> int:
        """Positions that are measured."""
        return 1 if self.barycentre else len(self._points())

    def bound(self, world: World) -> EffectorRows:
        """The rows in a world."""
        body = self.bodies[0]
        points = self._points()
        embedded = world.models[world.index(body)].embed(points, what=f"points of {self.name!r}")
        mean = sparse.csr_matrix(np.kron(np.full((1, len(points)), 1.0 / len(points)), np.eye(3)))
        measure = mean if self.barycentre else sparse.identity(3 * len(points), format="csr")
        along = self._along()
        if along is not None:
            measure = sparse.csr_matrix(along @ measure)
        return EffectorRows(self, _Positions(world.index(body), embedded, measure, along))

    def _points(self) -> FloatArray:
        points = self.where.position if self.points is None else self.points
        return np.atleast_2d(finite_array(f"points of {self.name!r}", points))

    def _along(self) -> FloatArray | None:
        if self.directions is None:
            return None
        return np.asarray(np.kron(np.eye(self._count), _directions(self)), np.float64)


@one_line
@per_second
@dataclass(frozen=True, eq=False)
class LengthEffector(_ScalarEffector):
    """The length of a cable's path, m: a sensor cable, or one whose motor is commanded separately."""

    cable: TensionActuator
    _: KW_ONLY
    name: str = "length"

    sign = -1.0

    @property
    def _actuator(self) -> TensionActuator:
        return self.cable


@one_line
@per_second
@dataclass(frozen=True, eq=False)
class VolumeEffector(_ScalarEffector):
    """The volume of a chamber, m³. `weight` multiplies squares in m³; None scales them to be comparable with m²."""

    cavity: Cavity
    _: KW_ONLY
    weight: float | None = None
    tolerance: float = 1e-7
    name: str = "volume"

    sign = 1.0

    @property
    def _actuator(self) -> Cavity:
        return self.cavity

    def bound(self, world: World) -> EffectorRows:
        """The rows in a world."""
        rows = super().bound(world)
        if self.weight is not None:
            return rows
        cavity: Any = world.constraints[rows.measure.constraint]
        weight = float(cavity.rest_volume ** (-4.0 / 3.0))  # (m³ to m by the face of a cube of that volume)²
        return replace(rows, spec=replace(self, weight=weight), handle=self)


@one_line
@per_second
@dataclass(frozen=True, eq=False)
class OrientationEffector(_Effector):
    """The orientation of a rigid body, or of the nodes of a volume in `region` (in the frame of its mesh).

    `length` (m) makes angles comparable with positions: the cost of an error φ is (length φ)². A target is a rotation
    matrix (3, 3) or a rotation vector (3,), rad, from the initial orientation.
    """

    body: Any
    region: Any = None
    _: KW_ONLY
    length: float
    tolerance: float = 1e-2
    name: str = "orientation"

    def __post_init__(self) -> None:
        super().__post_init__()
        positive(f"length of {self.name!r}", self.length, unit="m")
        if isinstance(self.bodies[0], RigidBody) == (self.region is not None):
            raise InputError(f"{self.name!r} needs a rigid body, or a volume and the region whose rotation is measured")

    @property
    def bodies(self) -> tuple[Any, ...]:
        """The body that is measured."""
        return (getattr(self.body, "body", self.body),)

    def target(self, value: Any) -> FloatArray:
        """A checked target as a rotation matrix (3, 3)."""
        array = finite_array(f"target of {self.name!r}", value)
        if array.shape == (3,):
            return rotation_exp(array)
        if array.shape != (3, 3) or np.abs(array @ array.T - np.eye(3)).max() > 1e-6:  # six digits typed in
            raise InputError(f"the target of {self.name!r} is a rotation matrix (3, 3) or a rotation vector (3,)")
        return array

    def bound(self, world: World) -> EffectorRows:
        """The rows in a world."""
        body = self.bodies[0]
        index = world.index(body)
        nodes = None
        if self.region is not None:
            nodes = self.region.nodes(body.mesh.points, what=f"region of {self.name!r}")
            if np.linalg.matrix_rank(body.mesh.points[nodes] - body.mesh.points[nodes].mean(axis=0), tol=1e-9) < 2:
                raise InputError(f"the nodes of {self.name!r} lie on a line: widen the region")
        start = world.models[index].initial()[0]
        weighted = replace(self, weight=self.weight * self.length**2)
        return EffectorRows(weighted, _Rotation(index, nodes, start), handle=self)


AnyEffector = Effector | LengthEffector | VolumeEffector | OrientationEffector


def _directions(effector: Effector) -> FloatArray:
    given = np.atleast_2d(finite_array(f"directions of {effector.name!r}", effector.directions))
    lengths = np.linalg.norm(given, axis=1)
    if given.shape[1] != 3 or not (lengths > 0.0).all():
        raise InputError(f"directions of {effector.name!r} must be nonzero vectors (d, 3)")
    return np.asarray(given / lengths[:, None])


@lru_cache(maxsize=64)
def _nothing(count: int) -> FloatArray:
    """Zeros, read-only since they are shared."""
    made: FloatArray = frozen(np.zeros(count))
    return made


@dataclass(frozen=True, eq=False)
class EffectorMemory:
    """Remaining distance `ahead` (k,) to the target after clipping to `max_speed`, m (m³, rad)."""

    ahead: FloatArray


@dataclass(frozen=True, eq=False)
class EffectorRows(Constraint):
    """The rows of an effector in a world; `fraction` is that of the way to its target that it shall go."""

    spec: Any
    measure: Any
    handle: Any = None
    fraction: float = 1.0

    @property
    def effector(self) -> Any:
        """The effector in the controls."""
        return self.spec if self.handle is None else self.handle

    @property
    def name(self) -> str:
        """Name of the effector."""
        return str(self.spec.name)

    def rows(self, view: RowView, found: Any = None) -> tuple[Rows, EffectorMemory]:
        """Error to the target of the step and its gradient."""
        target = view.controls[self.effector]
        error, H = self.measure.at(view, target)
        ahead = _nothing(len(error))
        farthest = largest_change(self.spec.max_speed, view.interval)
        if farthest < np.inf or self.fraction < 1.0:
            before = self.measure.error(view.start, target)
            distance = float(np.linalg.norm(before))
            reached = min(self.fraction, farthest / distance) if distance else 1.0
            if reached < 1.0:
                ahead = before * (1.0 - reached)
                error = error - ahead
        return Rows.imposed(H, error), EffectorMemory(ahead)


@dataclass(frozen=True, eq=False)
class _Positions:
    """Positions of embedded points combined by `combine` (k, 3p), m; `along` (k, 3p) projects the target likewise."""

    index: int
    map: PointMap
    combine: sparse.csr_matrix
    along: FloatArray | None = None

    def at(self, view: RowView, target: FloatArray) -> tuple[FloatArray, Sequence[sparse.csr_matrix]]:
        own = self.map.pull_back(view.q[self.index], self.combine) if self._fixed is None else self._fixed
        return self.error(view.q, target), RowBlocks(own.shape[0], view.sizes, {self.index: own})

    def error(self, q: Sequence[FloatArray], target: FloatArray) -> FloatArray:
        goal = target.ravel() if self.along is None else self.along @ target.ravel()
        error: FloatArray = -goal
        if self._fixed is None:
            add_product(self.combine, self.map.points(q[self.index]), error)
        else:  # points that are linear functions of the unknowns
            add_product(self._fixed, q[self.index], error)
        return error

    @cached_property
    def _fixed(self) -> sparse.csr_matrix | None:
        """The gradient where it does not depend on q: on the nodes of a volume."""
        if not self.map.is_linear:
            return None
        made = self.map.pull_back(np.zeros(0), self.combine)
        made.data, made.indices, made.indptr = frozen(made.data), frozen(made.indices), frozen(made.indptr)
        return made


@dataclass(frozen=True, eq=False)
class _ActuatorReading:
    """Length of a cable or volume of a cavity: `sign` × the δ of its row up to a constant."""

    world: World
    constraint: int
    sign: float

    def at(self, view: RowView, target: FloatArray) -> tuple[FloatArray, Sequence[sparse.csr_matrix]]:
        rows, _ = self.world.constraints[self.constraint].rows_at(replace(view, controls={}, memory=None))
        return self.error(view.q, target), [self.sign * h[:1] for h in rows.H]

    def error(self, q: Sequence[FloatArray], target: FloatArray) -> FloatArray:
        own: Any = self.world.constraints[self.constraint]
        read = own.length(q) if hasattr(own, "length") else own.volume(q[own.index])
        return np.array([read]) - target


@dataclass(frozen=True, eq=False)
class _Rotation:
    """Rotation of a rigid body, or the least-squares rotation of nodes of a volume, as a vector in world axes, rad."""

    index: int
    nodes: Any
    start: FloatArray

    def at(self, view: RowView, target: FloatArray) -> tuple[FloatArray, Sequence[sparse.csr_matrix]]:
        q = view.q[self.index]
        H = view.blank(3)
        if self.nodes is None:
            rows = np.zeros((3, 6))
            rows[:, 3:] = np.eye(3)
            H[self.index] = sparse.csr_matrix(rows)
        else:
            r = q[self.nodes] - q[self.nodes].mean(axis=0)
            spread = np.einsum("ni,ni->", r, r) * np.eye(3) - r.T @ r
            blocks = np.linalg.solve(spread, np.hstack([cross_matrix(x) for x in r]))
            columns = (3 * np.asarray(self.nodes)[:, None] + np.arange(3)).ravel()
            shape = (3, view.sizes[self.index])
            flat = (np.repeat(np.arange(3), len(columns)), np.tile(columns, 3))
            H[self.index] = sparse.csr_matrix((blocks.ravel(), flat), shape=shape)
        return self.error(view.q, target), H

    def error(self, q: Sequence[FloatArray], target: FloatArray) -> FloatArray:
        return rotation_log(self._rotation(q[self.index]) @ target.T)

    def _rotation(self, q: FloatArray) -> FloatArray:
        if self.nodes is None:
            return np.asarray(q[1:] @ self.start[1:].T)
        a, b = (x[self.nodes] - x[self.nodes].mean(axis=0) for x in (self.start, q))
        U, _, V = np.linalg.svd(b.T @ a)
        flip = np.diag([1.0, 1.0, np.sign(np.linalg.det(U @ V))])
        return np.asarray(U @ flip @ V)
