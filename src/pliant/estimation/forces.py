"""Unknown external forces: at known places, or one push at an unknown place of a surface."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np

from pliant.core.checks import finite_array, positive, unit_vector
from pliant.core.declared import check_declared
from pliant.core.errors import InputError
from pliant.core.one_line import one_line
from pliant.core.types import BoolArray, FloatArray
from pliant.estimation.loads import Place, Skin
from pliant.mesh.regions import Region
from pliant.robots import Marker, Robot
from pliant.world import World


def _number_or_rows(name: str, value: Any, count: int) -> FloatArray:
    """A bound of each of `count` components; infinite where there is none."""
    try:
        made = np.broadcast_to(np.asarray(value, np.float64), (count,)).copy()
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be a number or one for each of {count} components, N") from error
    if np.isnan(made).any():
        raise InputError(f"{name} is NaN; use an infinite number for no bound")
    return made


@one_line
@dataclass(frozen=True, eq=False)
class PointForce:
    """An unknown force at a known place.

    where, point
        A robot's marker such as ``robot.tip``; or a body and a `point` (3,), m, in the frame in which it was made.
    deviation
        Standard deviation of each component before anything is measured, N: the size of forces that are expected.
    directions
        Components along these directions only, (c, 3), fixed in the world; None: x, y and z.
    lower, upper
        Bounds of the components, N, each a number or (c,).
    """

    where: Any
    point: Any = None
    _: KW_ONLY
    deviation: float
    directions: Any = None
    lower: Any = -np.inf
    upper: Any = np.inf
    name: str = "force"

    def __post_init__(self) -> None:
        check_declared(self)
        if isinstance(self.where, Marker) != (self.point is None):
            raise InputError(f"{self.name!r} needs a marker such as robot.tip, or a body and its point, (3,) m")
        given = self.where.position if self.point is None else self.point
        object.__setattr__(self, "point", finite_array(f"point of {self.name!r}", given, shape=(3,)))
        positive(f"deviation of {self.name!r}", self.deviation, unit="N")
        rows = np.eye(3)
        if self.directions is not None:
            given = np.atleast_2d(finite_array(f"directions of {self.name!r}", self.directions))
            rows = np.array([unit_vector(f"direction of {self.name!r}", row) for row in given])
        object.__setattr__(self, "directions", rows)
        for side in ("lower", "upper"):
            object.__setattr__(self, side, _number_or_rows(f"{side} of {self.name!r}", getattr(self, side), len(rows)))
        if not (self.lower < self.upper).all():
            raise InputError(f"lower must be below upper in each component of {self.name!r}")

    @property
    def body(self) -> Any:
        """The body that it acts on."""
        return getattr(self.where, "body", self.where)

    def bound(self, world: World) -> Place:
        """Its place in a world."""
        index = world.index(self.body)
        return Place(index, world.models[index].embed(self.point[None], what=f"point of {self.name!r}"))


@one_line
@dataclass(frozen=True, eq=False)
class Push:
    """One push of unknown force at an unknown place of the surface of a volume.

    body, region
        A robot or a volume, and where on it the push may be, a region in the frame of its mesh; None: everywhere.
    deviation
        Standard deviation of the force before anything is measured, N: the size of forces that are expected. All places
        are equally probable.
    along
        "normal": it presses against the surface where it stands, without friction. "any": a force of any direction
        into the body.
    resolution
        Distance of the points at which forces of "any" direction are compared, m; None: a fiftieth of the body.
    """

    body: Any
    _: KW_ONLY
    deviation: float
    region: Region | None = None
    along: Literal["normal", "any"] = "normal"
    resolution: float | None = None
    name: str = "push"

    def __post_init__(self) -> None:
        check_declared(self)
        object.__setattr__(self, "body", self.body.body if isinstance(self.body, Robot) else self.body)
        positive(f"deviation of {self.name!r}", self.deviation, unit="N")
        if self.along not in ("normal", "any"):
            raise InputError(f'along of {self.name!r} must be "normal" or "any", got {self.along!r}')
        if self.resolution is not None:
            positive(f"resolution of {self.name!r}", self.resolution, unit="m")

    def bound(self, world: World) -> Skin:
        """The surface in a world."""
        index = world.index(self.body)
        model: Any = world.models[index]
        if not any(model is each for each in world.volumes):
            raise InputError(
                f"{self.name!r} is looked for on the surface of a pl.Volume, {model.name!r} is none: give "
                "pl.estimation.PointForce at the places that are possible"
            )
        triangles = model.mesh.surface().triangles
        fixed: Any = np.asarray(model.constrained).reshape(-1, 3).all(axis=1)
        chosen: Any = ~fixed[triangles].all(axis=1)
        if self.region is not None:
            chosen &= self.region.select(model.spec.mesh.points)[triangles].all(axis=1)
        if not chosen.any():
            raise InputError(f"the region of {self.name!r} contains no triangle of the surface that can move: widen it")
        return Skin(index, model, triangles[chosen])


def bounded(forces: Sequence[PointForce]) -> tuple[FloatArray, FloatArray]:
    """Bounds of the components of all `forces`, (k,) each, N."""
    if not forces:
        return np.zeros(0), np.zeros(0)
    return np.concatenate([each.lower for each in forces]), np.concatenate([each.upper for each in forces])


def inside(x: FloatArray, lower: FloatArray, upper: FloatArray) -> BoolArray:
    """Components that are at none of their bounds, up to rounding."""
    size = 1e-9 * (1.0 + np.abs(x))
    return np.asarray((x > lower + size) & (x < upper - size))


def check_forces(forces: Any, owner: str) -> None:
    """Raise where `forces` are no unknowns of `owner`."""
    if not isinstance(forces, Sequence) or not forces:
        raise InputError(f"forces of {owner} are a list of at least one, got {forces!r:.60}")
    for each in forces:
        if not isinstance(each, (PointForce, Push)):
            raise InputError(f"{each!r:.60} is no pl.estimation.PointForce or pl.estimation.Push")
    if sum(isinstance(each, Push) for each in forces) > 1:
        raise InputError(
            "one push at an unknown place is looked for at a time: give pl.estimation.PointForce for others"
        )
