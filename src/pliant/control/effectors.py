"""Effectors: what a person wants of a robot, measured on the bodies as rows without a force (λ = 0, wanted δ).

δ is what is measured less what is wanted, H its gradient. Rows are weighted in the cost; a hard effector is an
equality that the cost cannot trade away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from pliant.actuators import Cable, Cavity
from pliant.actuators.limits import check_rates, largest_change, per_second
from pliant.constraints.rows import Constraint, RowLaw, Rows, RowView
from pliant.core.arrays import add_product
from pliant.core.checks import finite_array, positive
from pliant.core.errors import InputError
from pliant.core.lie import cross_matrix, rotation_log
from pliant.core.types import FloatArray
from pliant.models.point_map import PointMap
from pliant.models.rigid import RigidBody
from pliant.world import World


class _Approaching:
    """What all effectors share: a target that may be approached at a limited speed."""

    max_speed: float

    @property
    def rate_limited(self) -> bool:
        """Whether the speed is limited, so that steps must know how much time passes."""
        return self.max_speed < np.inf


@per_second
@dataclass(frozen=True, eq=False)
class Effector(_Approaching):
    """Points of a body that are to be somewhere.

    where
        A robot's marker (``robot.tip``), or a body together with `points`.
    points
        (k, 3) or (3,) m in the frame of the body's mesh, or in a rigid body's own axes.
    barycentre
        Measure the mean of the points instead of each.
    directions
        Measure along these directions only, (d, 3), fixed in the world; None: x, y and z.
    weight
        Of the squared distance in the cost, > 0.
    max_speed
        The target is approached at most this fast, m/s.
    hard
        An equality instead of a term of the cost.
    tolerance
        Distance within which the target counts as reached, m.

    A target is a position (3,) m, or one for each point (k, 3); with `directions` it still is a position.
    """

    where: Any
    points: Any = None
    _: KW_ONLY
    barycentre: bool = False
    directions: Any = None
    weight: float = 1.0
    max_speed: float = np.inf
    hard: bool = False
    tolerance: float = 1e-3
    name: str = "effector"

    def __post_init__(self) -> None:
        _check(self)
        if self.points is None and not hasattr(self.where, "position"):
            raise InputError(f"{self.name!r} needs a marker such as robot.tip, or a body and its points")
        if self.directions is not None:
            _directions(self)

    @property
    def bodies(self) -> tuple[Any, ...]:
        """The body that is measured."""
        return (getattr(self.where, "body", self.where),)

    def target(self, value: Any) -> FloatArray:
        """A checked target: positions (p, 3), m."""
        count = 1 if self.barycentre else len(self._places())
        array = finite_array(f"target of {self.name!r}", value)
        if array.shape not in ((3,), (count, 3)):
            raise InputError(f"the target of {self.name!r} is {count} position(s) (m), got shape {array.shape}")
        return np.broadcast_to(array, (count, 3)).copy()

    def bound(self, world: World) -> EffectorRows:
        """The rows in a world."""
        body = self.bodies[0]
        places = self._places()
        rides = world.models[world.index(body)].embed(places, what=f"points of {self.name!r}")
        mean = sparse.csr_matrix(np.kron(np.full((1, len(places)), 1.0 / len(places)), np.eye(3)))
        measure = mean if self.barycentre else sparse.identity(3 * len(places), format="csr")
        along = self._along()
        if along is not None:
            measure = sparse.csr_matrix(along @ measure)
        return EffectorRows(self, _Places(world.index(body), rides, measure, along))

    def _places(self) -> FloatArray:
        points = self.where.position if self.points is None else self.points
        return np.atleast_2d(finite_array(f"points of {self.name!r}", points))

    def _along(self) -> FloatArray | None:
        if self.directions is None:
            return None
        count = 1 if self.barycentre else len(self._places())
        return np.asarray(np.kron(np.eye(count), _directions(self)), np.float64)


@per_second
@dataclass(frozen=True, eq=False)
class LengthEffector(_Approaching):
    """The length of a cable's path, m: a sensor cable, or one whose motor is commanded elsewhere."""

    cable: Cable
    _: KW_ONLY
    weight: float = 1.0
    max_speed: float = np.inf
    hard: bool = False
    tolerance: float = 1e-3
    name: str = "length"

    def __post_init__(self) -> None:
        _check(self)

    @property
    def bodies(self) -> tuple[Any, ...]:
        """The bodies that the cable runs through."""
        return self.cable.bodies

    def target(self, value: Any) -> FloatArray:
        """A checked target: the length (1,), m."""
        return finite_array(f"target of {self.name!r}", value, shape=()).reshape(1)

    def bound(self, world: World) -> EffectorRows:
        """The rows in a world."""
        return EffectorRows(self, _Drive(world, world.constraint_index(self.cable), -1.0, "length"))


@per_second
@dataclass(frozen=True, eq=False)
class VolumeEffector(_Approaching):
    """The volume of a chamber, m³. `weight` multiplies squares in m³; None makes them comparable with positions."""

    cavity: Cavity
    _: KW_ONLY
    weight: float | None = None
    max_speed: float = np.inf
    hard: bool = False
    tolerance: float = 1e-7
    name: str = "volume"

    def __post_init__(self) -> None:
        _check(self)

    @property
    def bodies(self) -> tuple[Any, ...]:
        """The body of the chamber."""
        return self.cavity.bodies

    def target(self, value: Any) -> FloatArray:
        """A checked target: the volume (1,), m³."""
        return finite_array(f"target of {self.name!r}", value, shape=()).reshape(1)

    def bound(self, world: World) -> EffectorRows:
        """The rows in a world."""
        maker: Any = world.constraints[world.constraint_index(self.cavity)]
        measure = _Drive(world, world.constraint_index(self.cavity), 1.0, "volume")
        if self.weight is None:  # (m³ to m by the face of a cube of that volume)²
            return EffectorRows(replace(self, weight=float(maker.rest_volume ** (-4.0 / 3.0))), measure, handle=self)
        return EffectorRows(self, measure)


@per_second
@dataclass(frozen=True, eq=False)
class OrientationEffector(_Approaching):
    """The orientation of a rigid body, or of the part of a volume in `region` (in the frame of its mesh).

    `length` (m) states what an angle is worth beside positions: the cost of an error φ is (length φ)². A target is a
    rotation matrix (3, 3) or a rotation vector (3,), rad, from where the body is when the world begins.
    """

    body: Any
    region: Any = None
    _: KW_ONLY
    length: float
    weight: float = 1.0
    max_speed: float = np.inf
    hard: bool = False
    tolerance: float = 1e-2
    name: str = "orientation"

    def __post_init__(self) -> None:
        _check(self)
        positive(f"length of {self.name!r}", self.length, unit="m")
        if isinstance(self.bodies[0], RigidBody) == (self.region is not None):
            raise InputError(f"{self.name!r} needs a rigid body, or a volume and the region whose turning counts")

    @property
    def bodies(self) -> tuple[Any, ...]:
        """The body that is measured."""
        return (getattr(self.body, "body", self.body),)

    def target(self, value: Any) -> FloatArray:
        """A checked target as a rotation matrix (3, 3)."""
        from pliant.core.lie import rotation_exp

        array = finite_array(f"target of {self.name!r}", value)
        if array.shape == (3,):
            return rotation_exp(array)
        if array.shape != (3, 3) or np.abs(array @ array.T - np.eye(3)).max() > 1e-6:
            raise InputError(f"the target of {self.name!r} is a rotation matrix (3, 3) or a rotation vector (3,)")
        return array

    def bound(self, world: World) -> EffectorRows:
        """The rows in a world."""
        body = self.bodies[0]
        number = world.index(body)
        nodes = None
        if self.region is not None:
            nodes = self.region.nodes(body.mesh.points, what=f"region of {self.name!r}")
            if np.linalg.matrix_rank(body.mesh.points[nodes] - body.mesh.points[nodes].mean(axis=0), tol=1e-9) < 2:
                raise InputError(f"the nodes of {self.name!r} lie on a line: widen the region")
        start = world.models[number].initial()[0]
        weighted = replace(self, weight=self.weight * self.length**2)
        return EffectorRows(weighted, _Turn(number, nodes, start), handle=self)


AnyEffector = Effector | LengthEffector | VolumeEffector | OrientationEffector


def _check(effector: Any) -> None:
    if effector.weight is not None:
        positive(f"weight of {effector.name!r}", effector.weight)
    positive(f"tolerance of {effector.name!r}", effector.tolerance)
    check_rates(effector, "max_speed")


def _directions(effector: Effector) -> FloatArray:
    given = np.atleast_2d(finite_array(f"directions of {effector.name!r}", effector.directions))
    lengths = np.linalg.norm(given, axis=1)
    if given.shape[1] != 3 or not (lengths > 0.0).all():
        raise InputError(f"directions of {effector.name!r} are vectors (d, 3) that are not zero")
    unit: FloatArray = given / lengths[:, None]
    return unit


@dataclass(frozen=True, eq=False)
class EffectorMemory:
    """What the speed limit left out: the wanted δ of the step lies `ahead` (k,) of the target's."""

    ahead: FloatArray


@dataclass(frozen=True, eq=False)
class EffectorRows(Constraint):
    """The rows of an effector in a world."""

    spec: Any
    measure: Any
    handle: Any = None

    @property
    def effector(self) -> Any:
        """What a person wrote."""
        return self.spec if self.handle is None else self.handle

    @property
    def name(self) -> str:
        """Name of the effector."""
        return str(self.spec.name)

    def rows(self, view: RowView, found: Any = None) -> tuple[Rows, EffectorMemory]:
        """δ to the target of the step, and its gradient."""
        wanted = view.controls[self.effector]
        error, H = self.measure.at(view, wanted)
        ahead = np.zeros_like(error)
        farthest = largest_change(self.spec.max_speed, view.interval)
        if farthest < np.inf:
            before = self.measure.error(view.start, wanted)
            distance = float(np.linalg.norm(before))
            if distance > farthest:
                ahead = before * (1.0 - farthest / distance)
        return Rows.of(H, error - ahead, RowLaw.IMPOSED), EffectorMemory(ahead)


@dataclass(frozen=True, eq=False)
class _Places:
    """Positions of riding points, (k,) m, combined by `combine` (k, 3p); `along` (k, 3) picks the same directions out
    of what is wanted.
    """

    number: int
    map: PointMap
    combine: sparse.csr_matrix
    along: FloatArray | None = None

    def at(self, view: RowView, wanted: FloatArray) -> tuple[FloatArray, list[sparse.csr_matrix]]:
        H = view.blank(self.combine.shape[0])
        fixed = self._fixed
        H[self.number] = self.map.pull(view.q[self.number], self.combine) if fixed is None else fixed
        return self.error(view.q, wanted), H

    def error(self, q: Sequence[FloatArray], wanted: FloatArray) -> FloatArray:
        goal = wanted.ravel() if self.along is None else self.along @ wanted.ravel()
        error: FloatArray = -goal
        add_product(self.combine, self.map.points(q[self.number]), error)
        return error

    @cached_property
    def _fixed(self) -> sparse.csr_matrix | None:
        """The gradient where it is the same at every q: on the nodes of a volume."""
        return self.map.pull(np.zeros(0), self.combine) if self.map.is_linear else None


@dataclass(frozen=True, eq=False)
class _Drive:
    """Length or volume of an actuator: `sign` × the δ of its row up to a constant."""

    world: World
    maker: int
    sign: float
    reading: str

    def at(self, view: RowView, wanted: FloatArray) -> tuple[FloatArray, list[sparse.csr_matrix]]:
        rows, _ = self.world.constraints[self.maker].rows_at(replace(view, controls={}, memory=None))
        return self.error(view.q, wanted), [self.sign * h[:1] for h in rows.H]

    def error(self, q: Sequence[FloatArray], wanted: FloatArray) -> FloatArray:
        maker: Any = self.world.constraints[self.maker]
        read = maker.length(q) if self.reading == "length" else maker.volume(q[maker.number])
        return np.array([read]) - wanted


@dataclass(frozen=True, eq=False)
class _Turn:
    """Rotation of a rigid body, or the best fit to that of the nodes of a volume, as a vector in world axes, rad."""

    number: int
    nodes: Any
    start: FloatArray

    def at(self, view: RowView, wanted: FloatArray) -> tuple[FloatArray, list[sparse.csr_matrix]]:
        q = view.q[self.number]
        H = view.blank(3)
        if self.nodes is None:
            rows = np.zeros((3, 6))
            rows[:, 3:] = np.eye(3)
            H[self.number] = sparse.csr_matrix(rows)
        else:
            r = q[self.nodes] - q[self.nodes].mean(axis=0)
            spread = np.einsum("ni,ni->", r, r) * np.eye(3) - r.T @ r
            blocks = np.linalg.solve(spread, np.hstack([cross_matrix(x) for x in r]))
            columns = (3 * np.asarray(self.nodes)[:, None] + np.arange(3)).ravel()
            shape = (3, view.sizes[self.number])
            flat = (np.repeat(np.arange(3), len(columns)), np.tile(columns, 3))
            H[self.number] = sparse.csr_matrix((blocks.ravel(), flat), shape=shape)
        return self.error(view.q, wanted), H

    def error(self, q: Sequence[FloatArray], wanted: FloatArray) -> FloatArray:
        return rotation_log(self._rotation(q[self.number]) @ wanted.T)

    def _rotation(self, q: FloatArray) -> FloatArray:
        if self.nodes is None:
            return np.asarray(q[1:] @ self.start[1:].T)
        a, b = (x[self.nodes] - x[self.nodes].mean(axis=0) for x in (self.start, q))
        U, _, V = np.linalg.svd(b.T @ a)
        flip = np.diag([1.0, 1.0, np.sign(np.linalg.det(U @ V))])
        return np.asarray(U @ flip @ V)
