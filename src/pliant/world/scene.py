"""The scene: bodies, constraints and loads, before they are compiled into a world."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from pliant.actuators import Actuator, ActuatorRows
from pliant.constraints.attachment import Attachment, AttachmentRows
from pliant.constraints.bore import slender_pair
from pliant.constraints.channel import Channel, ChannelRows
from pliant.constraints.colliders import Collider
from pliant.constraints.contact import ContactPair
from pliant.constraints.facing import Facing, FacingPair
from pliant.constraints.rows import Constraint, RowView
from pliant.constraints.sheath import Sheath, SheathRows
from pliant.core.checks import finite_array, non_negative, positive
from pliant.core.errors import InputError
from pliant.core.types import FloatArray
from pliant.models.body import Body, ContactRole, Model, Parts
from pliant.models.kinds import compiled
from pliant.models.rigid import Obstacle
from pliant.models.rod import RodLoad
from pliant.models.volume import Fibre, PointLoad, PressureLoad, Support, TractionLoad
from pliant.world.source import Pair, Source
from pliant.world.world import World

Thing = TypeVar("Thing")

OVERLAP = 0.01
"""Initial overlap that counts as touching, as a fraction of the margin: rounding of meshes."""
_LOADS = (PointLoad, TractionLoad, PressureLoad, RodLoad)


class Scene:
    """Bodies, obstacles, actuators, loads and supports under one gravity (m/s², shape (3,))."""

    def __init__(self, *, gravity: Any = (0.0, 0.0, 0.0)) -> None:
        self.gravity: FloatArray = finite_array("gravity", gravity, shape=(3,))
        self._placements: dict[int, Any] = {}  # where bodies stand, by id: a mesh or a pose (4, 3)
        self._bodies: list[Any] = []
        self._obstacles: list[Obstacle] = []
        self._loads: list[Any] = []
        self._supports: list[Support] = []
        self._actuators: list[Any] = []
        self._fibres: list[Fibre] = []
        self._pairs: list[Pair] = []
        self._attachments: list[Attachment] = []
        self._channels: list[Channel] = []
        self._facings: list[Facing] = []
        self._sheaths: list[Sheath] = []

    def add(self, thing: Thing, *, position: Any = None, rotation: Any = None) -> Thing:
        """Add a body, an obstacle, an actuator, a load or a support and return it, to be used as its handle.

        `position` (m, (3,)) and `rotation` (3×3, rotation vector or scipy Rotation) place a volume, a beam or a rod: it
        is rotated about the origin of its mesh or points, then translated.
        """
        if hasattr(thing, "parts"):
            for part in thing.parts:
                placed = {"position": position, "rotation": rotation} if getattr(part, "placeable", False) else {}
                self.add(part, **placed)
            return thing
        placeable = getattr(thing, "placeable", False)
        if not placeable and (position is not None or rotation is not None):
            raise InputError(
                "position and rotation place volumes, beams and rods; "
                f"a {type(thing).__name__} says itself where it stands"
            )
        if isinstance(thing, Body):
            self._check_new(thing)
            if placeable:
                self._placements[id(thing)] = thing.placement(position, rotation)
            self._bodies.append(thing)
        else:
            self._add_part(thing)
        return thing

    def collide(
        self,
        a: Any,
        b: Any,
        *,
        friction: float = 0.0,
        margin: float | None = None,
        exclude: Any = None,
        capacity: int | None = None,
        allow_overlap: bool = False,
    ) -> None:
        """Let `a` and `b` touch, once per pair; the same volume, beam or rod twice is self-contact. A rod or beam that
        begins in the bore of a hollow one (`pl.sections.Tube`) stays inside it, with play.

        friction
            Coulomb's μ ≥ 0.
        margin
            Distance within which contacts are looked for, m; None takes half the mean edge of the finer surface.
            Nothing is missed while two bodies approach by less in a step.
        exclude
            Region of a volume (in the frame of its mesh) whose surface takes no part.
        capacity
            Most contacts of the pair.
        allow_overlap
            Allow initial overlap: dynamic steps push them apart slowly, quasi-static ones at once.
        """
        if a is b and margin is None:
            margin = getattr(a, "margin", None)  # robots know how narrow their slots are
        a, b = getattr(a, "body", a), getattr(b, "body", b)  # a robot stands for its body
        non_negative("friction", friction)
        if margin is not None:
            positive("margin", margin, unit="m")
        known = [*self._bodies, *self._obstacles]
        for thing in (a, b):
            if all(thing is not other for other in known):
                raise InputError(f"{thing!r} is not a body or obstacle of the scene; add it before collide()")
        if a is b and not a.touches_itself:
            raise InputError(f"self-contact is for volumes, beams and rods, not for {a.name!r}")
        if a.contact_role == b.contact_role == ContactRole.OBSTACLE:
            raise InputError(f"two obstacles, {a.name!r} and {b.name!r}, have no unknowns to move each other by")
        if any({id(p.a), id(p.b)} == {id(a), id(b)} for p in self._pairs):
            raise InputError(f"{a.name!r} and {b.name!r} collide already; friction is given once per pair")
        self._pairs.append(Pair(a, b, float(friction), margin, exclude, capacity, allow_overlap))

    def attach(
        self,
        a: Any,
        b: Any = None,
        *,
        points: Any = None,
        region: Any = None,
        reach: float = 0.0,
        frames: bool = False,
        name: str = "attachment",
    ) -> Attachment:
        """Weld points of body `a` to body `b`, or to the world where `b` is None.

        `points` (k, 3), m, are where the welds stand when the world begins; or `region` takes the nodes of the volume
        or beam `a` that lie in it (in the frame of its mesh), which makes a rigid part of a soft body. `reach` is how
        far outside a mesh, or from the axis of a beam or a rod, a point may lie, m. `frames` welds directions too, by
        three more rows a point, where beams, rods and rigid bodies meet each other or the world.
        """
        a, b = getattr(a, "body", a), getattr(b, "body", b)
        for thing in (a, b):
            if thing is not None and all(thing is not body for body in self._bodies):
                raise InputError(f"{thing!r} is not a body of the scene; add it before attach()")
        if (points is None) == (region is None):
            raise InputError("attach needs either points or a region, not both")
        if points is None:
            points = a.region_points(self._placements.get(id(a)), region, what=f"region of {name!r}")
        where = np.atleast_2d(finite_array(f"points of {name!r}", points))
        if frames and not all(thing is None or thing.has_frames for thing in (a, b)):
            raise InputError(f"{name!r} welds frames, but a volume has none; weld several points instead")
        self._attachments.append(Attachment(a, b, where, non_negative("reach", reach, unit="m"), name, frames))
        return self._attachments[-1]

    def compile(self) -> World:
        """Freeze the scene: everything that does not change from step to step is computed here."""
        if not self._bodies:
            raise InputError("the scene is empty; add a body, for example pl.Volume(mesh, material)")
        actuators = [actuator.constraint(key) for key, actuator in enumerate(self._actuators)]
        models = tuple(self._model(body, actuators) for body in self._bodies)
        constraints: list[Constraint] = [rows.bound(models) for rows in actuators]
        constraints += [AttachmentRows.build(spec, models, k) for k, spec in enumerate(self._attachments, start=1)]
        constraints += [ChannelRows.build(spec, models, k) for k, spec in enumerate(self._channels)]
        constraints += [SheathRows.build(spec, models, k) for k, spec in enumerate(self._sheaths)]
        pairs = [self._contact_pair(pair, models, number) for number, pair in enumerate(self._pairs, start=1)]
        facings = [FacingPair.build(spec, models, k) for k, spec in enumerate(self._facings, start=len(pairs) + 1)]
        apart = [pair for pair, spec in zip(pairs, self._pairs, strict=True) if not spec.allow_overlap]
        _check_apart(models, [*apart, *facings])
        return World(
            models=models,
            gravity=self.gravity.copy(),
            handles=frozenset([*self._loads, *self._supports, *self._actuators]),
            constraints=(*constraints, *pairs, *facings),
            obstacles=tuple(self._obstacles),
            source=Source(self.gravity.copy(), tuple(self._things()), tuple(self._pairs)),
        )

    def _things(self) -> list[tuple[Any, Any]]:
        """Everything that was added, each volume with its mesh where it stands, each beam and rod with its pose."""
        joints = [*self._channels, *self._sheaths]
        parts = [*self._actuators, *self._fibres, *joints, *self._loads, *self._supports, *self._facings]
        rest = [*self._obstacles, *parts, *self._attachments]
        return [*((body, self._placements.get(id(body))) for body in self._bodies), *((thing, None) for thing in rest)]

    @classmethod
    def of(cls, gravity: Any, things: Sequence[tuple[Any, Any]], pairs: Sequence[Pair]) -> Scene:
        """The scene with these `things` and `pairs`: what a saved one is rebuilt by."""
        scene = cls(gravity=gravity)
        for thing, placed in things:
            scene.add(thing)
            if placed is not None:
                scene._placements[id(thing)] = placed
        scene._pairs = list(pairs)
        return scene

    def _add_part(self, thing: Any) -> None:
        lists: list[tuple[Any, list[Any]]] = [
            (Obstacle, self._obstacles),
            (Attachment, self._attachments),
            (Actuator, self._actuators),
            (_LOADS, self._loads),
            (Fibre, self._fibres),
            (Channel, self._channels),
            (Sheath, self._sheaths),
            (Support, self._supports),
            (Facing, self._facings),
        ]
        place = next((place for kinds, place in lists if isinstance(thing, kinds)), None)
        if place is None:
            raise InputError(
                f"{thing!r} cannot be added to a scene; add bodies, obstacles, actuators, loads and supports"
            )
        for body in getattr(thing, "bodies", None) or ((thing.body,) if hasattr(thing, "body") else ()):
            if all(body is not other for other in self._bodies):
                raise InputError(f"add the body {body.name!r} to the scene before its {type(thing).__name__}")
        place.append(thing)

    def _model(self, body: Body, actuators: Sequence[ActuatorRows]) -> Model:
        fibres = [*self._fibres, *(guide for actuator in self._actuators for guide in actuator.guides())]
        parts = Parts(
            loads=[load for load in self._loads if load.body is body],
            supports=[support for support in self._supports if support.body is body],
            couplings=[nodes for rows in actuators for nodes in rows.couplings(body)],
            fibres=[fibre for fibre in fibres if fibre.body is body],
        )
        return compiled(body, self._placements.get(id(body)), parts)

    def _contact_pair(self, pair: Pair, models: tuple[Model, ...], number: int) -> ContactPair:
        a, b = (pair.a, pair.b) if pair.a.contact_role <= pair.b.contact_role else (pair.b, pair.a)
        of_surface = (a.contact_role, b.contact_role) == (ContactRole.BALLS, ContactRole.SURFACE)  # so is the region
        side = Collider.of(a, models, exclude=None if of_surface else pair.exclude)
        other = side if a is b else Collider.of(b, models, exclude=pair.exclude)
        if not len(side.nodes):
            raise InputError(f"{a.name!r} has no point that could touch {b.name!r}")
        margin = _default_margin(side, other) if pair.margin is None else pair.margin
        if a.slender and b.slender:
            return slender_pair(side, other, models, pair.friction, margin, number, pair.capacity)
        if other.surface is None and other.solid is None:
            raise InputError(f"{a.name!r} cannot touch {b.name!r}: neither has a surface")
        return ContactPair(side, other, pair.friction, margin, number, pair.capacity)

    def _check_new(self, body: Any) -> None:
        if any(other is body for other in self._bodies):
            raise InputError(f"the body {body.name!r} is in the scene already; make another with dataclasses.replace")


def _check_apart(models: Sequence[Model], pairs: Sequence[ContactPair]) -> None:
    """Colliding bodies have to stand apart, or touch, when the world begins."""
    view = RowView.of(models, speeds=[model.initial()[1] for model in models])
    for pair in pairs:
        depth = pair.overlap(view)
        if depth > OVERLAP * pair.margin:
            what = "itself" if pair.a.handle is pair.b.handle else repr(pair.b.name)
            raise InputError(
                f"{pair.a.name!r} overlaps {what} by {1e3 * depth:.3g} mm when the world begins; move them apart "
                "(touching is fine), exclude the region where they are meant to meet, or allow_overlap"
            )


def _default_margin(a: Collider, b: Collider) -> float:
    """Half the mean edge of the finer surface, and at most a quarter of the thinner body; a tenth of the radius for
    balls.
    """
    sizes = []
    for side in (a, b):
        if side.radius:
            sizes.append(0.2 * side.radius)
        elif side.surface is not None:
            ends = side.surface.rest[side.surface.edges]
            sizes.append(float(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1).mean()))
            thickness = float(np.ptp(side.surface.rest[side.surface.nodes], axis=0).min())
            sizes += [0.5 * thickness] if thickness > 0.0 else []
    return 0.5 * min(sizes)
