"""A robot: a body with its actuators and its tip, ready to be added to a scene."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pliant.actuators import Cable, Cavity
from pliant.actuators.cavity import hollow_surfaces
from pliant.actuators.values import VolumeRatio
from pliant.constraints.facing import Facing
from pliant.core.checks import finite_array
from pliant.core.errors import InputError
from pliant.core.types import FloatArray
from pliant.materials import Corotated, Material
from pliant.mesh import Mesh
from pliant.mesh.regions import Region
from pliant.models.volume import Rayleigh, Volume
from pliant.models.volume.barycentric import BarycentricMap
from pliant.world import Scene

DAMPING = Rayleigh(stiffness=0.01)
"""Default damping of every robot: free oscillations of soft rubber decay within a few periods."""


@dataclass(frozen=True, eq=False)
class Marker:
    """A material point of `body`, a volume or a beam, at `position` (3,) m in the frame of its mesh or its points: it
    has to lie inside, or be a node of the beam.
    """

    body: Any
    position: Any

    def __post_init__(self) -> None:
        position = np.array(finite_array(f"marker on {self.body.name!r}", self.position, shape=(3,)))
        position.setflags(write=False)
        object.__setattr__(self, "position", position)
        assert self._map is not None  # locates the point now, so that one outside is an error here

    def at(self, state: Any) -> FloatArray:
        """Position of the point in `state`, (3,) m."""
        position: FloatArray = self.along(state.points(self.body)[None])[0]
        return position

    def along(self, frames: FloatArray) -> FloatArray:
        """Positions (T, 3) m of the point in T configurations (T, n, 3) m, such as ``run.points(robot.body)``."""
        path: FloatArray = np.einsum("j,tji->ti", self._map.weights[0], np.asarray(frames)[:, self._map.nodes[0]])
        return path

    @cached_property
    def _map(self) -> BarycentricMap:
        if self.body.slender:
            away = np.linalg.norm(self.body.node_points - self.position, axis=1)
            if away.min() > 1e-9:
                raise InputError(f"marker on {self.body.name!r} at {self.position} m is no node of this beam")
            node = np.array([[np.argmin(away)]], np.int32)
            return BarycentricMap(node, np.ones((1, 1)), self.body.node_count)
        return BarycentricMap.of_points(self.body.mesh, self.position[None], what=f"marker on {self.body.name!r}")


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
        Which of its surfaces may meet, with a collision model of their own; `scene.add(robot)` adds them.

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
        """Let the robot touch itself, without friction, detected within `margin` (m); None: the usual one."""
        scene.collide(self, self, margin=margin)

    @property
    def cable(self) -> Cable:
        """The cable of a robot that has one."""
        if len(self.cables) != 1:
            raise InputError(f"{self.name!r} has {len(self.cables)} cables; say which: robot.cables[0]")
        return self.cables[0]

    @property
    def cavity(self) -> Cavity:
        """The cavity of a robot that has one."""
        if len(self.cavities) != 1:
            raise InputError(f"{self.name!r} has {len(self.cavities)} cavities; say which: robot.cavities[0]")
        return self.cavities[0]


def silicone(young: float, *, density: float = 1080.0) -> Corotated:
    """Nearly incompressible rubber of this modulus, Pa, and density, kg/m³."""
    return Corotated(young=young, poisson=0.45, density=density)


def chosen(material: Material | None, young: float) -> Material:
    """`material`, or silicone of modulus `young`, Pa, where it is None."""
    return silicone(young) if material is None else material


def hollows(body: Volume, count: int, names: str, **limits: float) -> tuple[Cavity, ...]:
    """The `count` cavities inside `body`, from the lowest centre in z (then y, then x) up."""
    shells = hollow_surfaces(body.mesh)
    if len(shells) != count:
        raise InputError(f"{body.name!r} has {len(shells)} closed chambers instead of {count}; widen its walls")
    centers = [_center(body.mesh, shell.nodes) for shell in shells]
    order = sorted(range(count), key=lambda i: tuple(np.round(centers[i][::-1], 9)))
    labels = [names] if count == 1 else [f"{names}{i}" for i in range(count)]
    return tuple(Cavity(body, shells[i], name=label, **limits) for i, label in zip(order, labels, strict=True))


def volume_ratios(cavities: Sequence[Cavity], ratios: Any) -> dict[Cavity, VolumeRatio]:
    """Controls that give `cavities` their volumes over those at rest: one number for all, or one each."""
    given = finite_array("ratios", ratios)
    if given.shape not in ((), (len(cavities),)):
        raise InputError(f"ratios must be one number or {len(cavities)}, one for each cavity, got {ratios!r}")
    each = np.broadcast_to(given, (len(cavities),))
    return {cavity: VolumeRatio(float(ratio)) for cavity, ratio in zip(cavities, each, strict=True)}


def _center(mesh: Mesh, nodes: Any) -> FloatArray:
    center: FloatArray = mesh.points[nodes].mean(axis=0)
    return center
