"""A robot: a body with its actuators and its tip, ready to be added to a scene."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from pliant.actuators import Cable, Cavity
from pliant.actuators.cavity import hollow_surfaces
from pliant.actuators.values import VolumeRatio
from pliant.constraints.facing import Facing
from pliant.core.checks import finite_array, positive
from pliant.core.errors import InputError
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray
from pliant.materials import Corotated, Material
from pliant.mesh.regions import Region
from pliant.models.volume import Rayleigh, Volume
from pliant.models.volume.barycentric import BarycentricMap
from pliant.world import Scene

OneActuator = TypeVar("OneActuator", Cable, Cavity)

DAMPING = Rayleigh(stiffness=0.01)
"""Default damping of robots: free oscillations of soft rubber decay within a few periods."""
_SAME_NODE = 1e-9
"""A marker coincides with a node of a beam within this distance, m: rounding of coordinates."""


@one_line
@dataclass(frozen=True, eq=False)
class Marker:
    """A material point in a volume, or a node of a beam, at `position` (3,) m in the frame of its mesh or points."""

    body: Any
    position: Any

    def __post_init__(self) -> None:
        position = np.array(finite_array(f"marker on {self.body.name!r}", self.position, shape=(3,)))
        position.setflags(write=False)
        object.__setattr__(self, "position", position)
        _ = self._map  # a point outside is an error here, not at its first use

    def at(self, state: Any) -> FloatArray:
        """Position of the point in `state`, (3,) m."""
        return np.asarray(self.along(state.points(self.body)[None])[0])

    def along(self, frames: Any) -> FloatArray:
        """Positions (T, 3) m of the point in T configurations (T, n, 3) m, such as ``run.points(robot.body)``; or in a
        run, as ``run.points(marker)``.
        """
        if hasattr(frames, "points"):
            frames = frames.points(self.body)
        return np.asarray(np.einsum("j,tji->ti", self._map.weights[0], np.asarray(frames)[:, self._map.nodes[0]]))

    @cached_property
    def _map(self) -> BarycentricMap:
        if self.body.slender:
            away = np.linalg.norm(self.body.node_points - self.position, axis=1)
            if away.min() > _SAME_NODE:
                raise InputError(f"marker on {self.body.name!r} at {self.position} m is not a node of this beam")
            node = np.array([[np.argmin(away)]], np.int32)
            return BarycentricMap(node, np.ones((1, 1)), self.body.node_count)
        return BarycentricMap.of_points(self.body.mesh, self.position[None], what=f"marker on {self.body.name!r}")


@one_line
@dataclass(frozen=True, eq=False)
class Robot:
    """A soft robot of one body.

    body
        The deformable volume, or the network of beams, clamped at its base.
    cables, cavities
        Its actuators, in the order the robot's own documentation gives.
    margin
        Detection distance of self-contacts, m: less than the notches and slots that are to close, for
        ``scene.collide(robot, robot, margin=robot.margin)``. None takes the default.
    base
        Region of the mesh to clamp or to move; None where the robot defines none.
    facings
        Pairs of its surfaces that may touch, with a collision model of their own; `scene.add(robot)` adds them.

    `tip` is the point to control.
    """

    body: Any
    _: KW_ONLY
    tip: Marker
    cables: tuple[Cable, ...] = ()
    cavities: tuple[Cavity, ...] = ()
    margin: float | None = None
    base: Region | None = None
    facings: tuple[Facing, ...] = ()

    def __post_init__(self) -> None:
        for cable in () if self.body.slender else self.cables:
            BarycentricMap.of_points(self.body.mesh, cable.via_points, what=f"via points of {cable.name!r}")

    @property
    def name(self) -> str:
        """Name of the body."""
        return str(self.body.name)

    @property
    def parts(self) -> tuple[Any, ...]:
        """What `scene.add(robot)` adds, in order."""
        return (self.body, *self.cables, *self.cavities, *self.facings)

    def collide(self, scene: Scene, *, margin: float | None = None) -> None:
        """Let the robot touch itself, without friction, detected within `margin` (m); None: its own."""
        scene.collide(self, self, margin=margin)

    @property
    def cable(self) -> Cable:
        """The cable of a robot with one cable."""
        return self._single(self.cables, "cables")

    @property
    def cavity(self) -> Cavity:
        """The cavity of a robot with one cavity."""
        return self._single(self.cavities, "cavities")

    def _single(self, actuators: tuple[OneActuator, ...], kind: str) -> OneActuator:
        if len(actuators) != 1:
            raise InputError(f"{self.name!r} has {len(actuators)} {kind}; select one: robot.{kind}[0]")
        return actuators[0]


def check_lengths(what: str, **lengths: float) -> None:
    """Raise unless every length (m) is > 0."""
    for name, value in lengths.items():
        positive(f"{name} of a {what}", value, unit="m")


def silicone(material: Material | None, young: float) -> Material:
    """`material`, or where it is None a nearly incompressible silicone of modulus `young` (Pa) and 1080 kg/m³."""
    return Corotated(young=young, poisson=0.45, density=1080.0) if material is None else material


def moved(robot: Robot, rotation: FloatArray, position: FloatArray, **changes: Any) -> Robot:
    """The robot of a volume with cables, rotated about the origin by `rotation` (3, 3), then moved by `position` (3,)
    m; `changes` are those of its body. Cavities refer to the unmoved mesh and are left out.
    """

    def at(points: Any) -> FloatArray:
        return np.asarray(points @ rotation.T + position)

    body = replace(robot.body, mesh=robot.body.mesh.rotated(rotation).translated(position), **changes)
    return replace(
        robot,
        body=body,
        tip=Marker(body, at(robot.tip.position)),
        cables=tuple(replace(cable, body=body, via_points=at(cable.via_points)) for cable in robot.cables),
        cavities=(),
        facings=tuple(
            replace(facing, body=body, other=body, points=at(facing.points), corners=at(facing.corners))
            for facing in robot.facings
        ),
    )


def hollows(body: Volume, count: int, names: str, **limits: float) -> tuple[Cavity, ...]:
    """The `count` cavities inside `body`, ordered by z of their centres, then y, then x."""
    shells = hollow_surfaces(body.mesh)
    if len(shells) != count:
        raise InputError(f"{body.name!r} has {len(shells)} closed chambers instead of {count}; widen its walls")
    # nanometres: rounding must not decide the order
    ordered = sorted(shells, key=lambda shell: tuple(np.round(body.mesh.points[shell.nodes].mean(axis=0)[::-1], 9)))
    labels = [names] if count == 1 else [f"{names}{i}" for i in range(count)]
    return tuple(Cavity(body, shell, name=label, **limits) for shell, label in zip(ordered, labels, strict=True))


def volume_ratios(cavities: Sequence[Cavity], ratios: Any) -> dict[Cavity, VolumeRatio]:
    """Controls that prescribe the volume of each cavity relative to rest: one number for all, or one each."""
    given = finite_array("ratios", ratios)
    if given.shape not in ((), (len(cavities),)):
        raise InputError(f"ratios must be one number or {len(cavities)}, one for each cavity, got {ratios!r}")
    each = np.broadcast_to(given, (len(cavities),))
    return {cavity: VolumeRatio(float(ratio)) for cavity, ratio in zip(cavities, each, strict=True)}
