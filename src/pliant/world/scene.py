"""The scene: bodies, constraints and loads, before they are compiled into a world."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from pliant.actuators import Actuator, ActuatorRows
from pliant.constraints.attachment import Attachment, AttachmentRows
from pliant.constraints.axis_contact import axis_pair, with_fixed_solids
from pliant.constraints.bore import slender_pair
from pliant.constraints.channel import Channel, ChannelRows
from pliant.constraints.colliders import Collider
from pliant.constraints.contact import ContactPair
from pliant.constraints.facing import Facing, FacingPair
from pliant.constraints.hold import Hold, HoldRows
from pliant.constraints.linear import LinearConstraint, LinearRows
from pliant.constraints.rows import Constraint, RowView
from pliant.constraints.sheath import Sheath, SheathRows
from pliant.constraints.spring import Spring, SpringRows
from pliant.constraints.tie import Tie, TieRows
from pliant.core.checks import finite_array, non_negative, positive
from pliant.core.declared import declared
from pliant.core.errors import InputError
from pliant.core.one_line import short
from pliant.core.types import FloatArray
from pliant.mesh.regions import as_region
from pliant.models.body import Body, ContactRole, Model, Parts
from pliant.models.kinds import compiled
from pliant.models.rigid import Obstacle
from pliant.models.rod import RodLoad, RodMoments
from pliant.models.volume import BodyLoad, Fibre, PointLoad, PressureLoad, Support, TractionLoad
from pliant.solvers.contact.loading import load_friction_kernels
from pliant.world.state import name_of
from pliant.world.world import Pair, Source, World

Thing = TypeVar("Thing")

OVERLAP = 0.01
"""Initial overlap that counts as touching, as a fraction of the margin: meshes in contact differ by rounding."""
_LOADS = (PointLoad, TractionLoad, BodyLoad, PressureLoad, RodLoad, RodMoments)
_PARTS: tuple[Any, ...] = (
    *(Obstacle, Actuator, Fibre, Channel, Sheath, _LOADS, Support, Facing, Attachment, Spring),
    *(LinearConstraint, Tie, Hold),
)
"""What a scene contains beside bodies, in the order in which it is saved."""


class Scene:
    """Bodies, obstacles, actuators, loads and supports under one gravity (m/s², shape (3,))."""

    def __init__(self, *, gravity: Any = (0.0, 0.0, 0.0)) -> None:
        self.gravity: FloatArray = finite_array("gravity", gravity, shape=(3,))
        self._placements: dict[int, Any] = {}  # by id of a body: its placed mesh or its pose (4, 3)
        self._bodies: list[Any] = []
        self._parts: dict[Any, list[Any]] = {kind: [] for kind in _PARTS}
        self._pairs: list[Pair] = []

    def __repr__(self) -> str:
        others = [part for kind in self._parts.values() for part in kind]
        names = [short(thing) for thing in (*self._bodies, *others)]
        listed = ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
        return f"Scene({listed or 'empty'})"

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
            kind = type(thing).__name__
            raise InputError(f"position and rotation place volumes, beams and rods; a {kind} has its own position")
        if isinstance(thing, Body):
            if any(other is thing for other in self._bodies):
                raise InputError(
                    f"the body {thing.name!r} is in the scene already; make another with dataclasses.replace"
                )
            if placeable:
                self._placements[id(thing)] = thing.placement(position, rotation)
            self._bodies.append(thing)
        else:
            self._add_part(thing)
        return thing

    @declared
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
        continuous: bool = False,
    ) -> None:
        """Let `a` and `b` touch, once per pair; the same volume, beam or rod twice is self-contact. A rod or beam that
        begins in the bore of a hollow one (`pl.sections.Tube`) stays inside it, with play.

        friction
            Coulomb's μ ≥ 0.
        margin
            Detection distance of contacts, m; None takes half the mean edge of the finer surface. No contact is missed
            while two bodies approach by less in a step.
        exclude
            Region of a volume (in the frame of its mesh) whose surface is not tested for contact.
        capacity
            Largest count of contacts of the pair.
        allow_overlap
            Allow initial overlap: dynamic steps push them apart slowly, quasi-static ones at once.
        continuous
            Continuous collision detection: a dynamic step is cut where the two would pass through each other, at any
            speed. Costs a search along every step; `info.parts` counts the parts. For `pl.ImplicitEuler` and
            `pl.ImplicitMidpoint` without an inverse.
        """
        if a is b and margin is None:
            margin = getattr(a, "margin", None)  # that of a robot is narrower than its slots
        a, b = getattr(a, "body", a), getattr(b, "body", b)  # a robot stands for its body
        non_negative("friction", friction)
        if margin is not None:
            positive("margin", margin, unit="m")
        for thing in (a, b):
            if all(thing is not other for other in (*self._bodies, *self._parts[Obstacle])):
                raise InputError(f"{short(thing)} is not a body or obstacle of the scene; add it before collide()")
        if a is b and not a.touches_itself:
            raise InputError(f"self-contact is for volumes, beams and rods, not for {a.name!r}")
        if a.contact_role == b.contact_role == ContactRole.OBSTACLE:
            raise InputError(f"two obstacles, {a.name!r} and {b.name!r}, have no unknowns to move each other by")
        if any({id(p.a), id(p.b)} == {id(a), id(b)} for p in self._pairs):
            raise InputError(f"{a.name!r} and {b.name!r} collide already; friction is given once per pair")
        if exclude is not None:
            exclude = as_region(exclude, what="exclude of collide()")
        self._pairs.append(Pair(a, b, float(friction), margin, exclude, capacity, allow_overlap, continuous))

    @declared
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
        """Weld points of body `a` to the body or obstacle `b`, or to the world where `b` is None. An obstacle with a
        motion, such as a link of a URDF arm, carries them along.

        `points` (k, 3), m, are their initial positions; or `region` selects nodes of the volume or beam `a` (in the
        frame of its mesh), which makes a rigid part of a soft body. `reach` is the largest distance of a point outside
        a mesh, or from the axis of a beam or a rod, m. `frames` welds orientations too, by three more rows a point:
        for beams, rods and rigid bodies.
        """
        a, b = getattr(a, "body", a), getattr(b, "body", b)
        if getattr(a, "contact_role", None) == ContactRole.OBSTACLE:
            raise InputError(f"attach takes the body first: scene.attach(body, {short(a)}, …), not the obstacle")
        if a is None:
            raise InputError("attach takes a body first, got None")
        if a is b:
            raise InputError(f"{short(a)} cannot be attached to itself; give the other body, or None for the world")
        for thing in (a, b):
            known = (*self._bodies, *(() if thing is a else self._parts[Obstacle]))
            if thing is not None and all(thing is not other for other in known):
                raise InputError(f"{short(thing)} is not a body or obstacle of the scene; add it before attach()")
        if (points is None) == (region is None):
            raise InputError("attach needs either points or a region, not both")
        if points is None:
            points = a.region_points(self._placements.get(id(a)), region, what=f"region of {name!r}")
        where = np.atleast_2d(finite_array(f"points of {name!r}", points))
        if frames and not all(thing is None or thing.has_frames for thing in (a, b)):
            raise InputError(f"{name!r} welds frames, but a volume has none; weld several points instead")
        attachment = Attachment(a, b, where, non_negative("reach", reach, unit="m"), name, frames)
        self._parts[Attachment].append(attachment)
        return attachment

    def compile(self) -> World:
        """The frozen world of the scene; what does not change from step to step is computed here."""
        if not self._bodies:
            raise InputError("the scene is empty; add a body, for example pl.Volume(mesh, material)")
        parts = self._parts
        actuators = [actuator.constraint(key) for key, actuator in enumerate(parts[Actuator])]
        models = tuple(self._model(body, actuators) for body in self._bodies)
        constraints: list[Constraint] = [rows.bound(models) for rows in actuators]
        constraints += [AttachmentRows.build(spec, models, k) for k, spec in enumerate(parts[Attachment], start=1)]
        constraints += [ChannelRows.build(spec, models, k) for k, spec in enumerate(parts[Channel])]
        constraints += [SheathRows.build(spec, models, k) for k, spec in enumerate(parts[Sheath])]
        constraints += [SpringRows.build(spec, models, k) for k, spec in enumerate(parts[Spring])]
        constraints += [LinearRows.build(spec, models, k) for k, spec in enumerate(parts[LinearConstraint])]
        constraints += [TieRows.build(spec, models, k) for k, spec in enumerate(parts[Tie])]
        constraints += [HoldRows.build(spec, models, k) for k, spec in enumerate(parts[Hold])]
        sides = _Sides(models)
        pairs = [_detected(pair, _contact_pair(pair, sides, k)) for k, pair in enumerate(self._pairs, start=1)]
        pairs = with_fixed_solids(pairs)
        facings = [FacingPair.build(spec, models, k) for k, spec in enumerate(parts[Facing], start=len(pairs) + 1)]
        apart = [pair for pair, spec in zip(pairs, self._pairs, strict=True) if not spec.allow_overlap]
        _check_apart(models, [*apart, *facings])
        if any(pair.friction for pair in self._pairs):
            load_friction_kernels()  # here, not in the step of the first contact
        return World(
            models=models,
            gravity=self.gravity.copy(),
            handles=frozenset([*parts[_LOADS], *parts[Support], *parts[Actuator], *parts[LinearConstraint]]),
            constraints=(*constraints, *pairs, *facings),
            obstacles=tuple(parts[Obstacle]),
            source=Source(
                self.gravity.copy(),
                (
                    *((body, self._placements.get(id(body))) for body in self._bodies),
                    *((part, None) for kind in parts.values() for part in kind),
                ),
                tuple(self._pairs),
            ),
        )

    @classmethod
    def of(cls, gravity: Any, things: Sequence[tuple[Any, Any]], pairs: Sequence[Pair]) -> Scene:
        """The scene of a `Source`: rebuilds a saved one."""
        scene = cls(gravity=gravity)
        for thing, placed in things:
            scene.add(thing)
            if placed is not None:
                scene._placements[id(thing)] = placed
        scene._pairs = list(pairs)
        return scene

    def _add_part(self, thing: Any) -> None:
        kind = next((kind for kind in _PARTS if isinstance(thing, kind)), None)
        if kind is None:
            raise InputError(f"{thing!r} cannot be added to a scene; add bodies, obstacles, actuators, loads, supports")
        for body in getattr(thing, "bodies", None) or ((thing.body,) if hasattr(thing, "body") else ()):
            if all(body is not other for other in self._bodies):
                raise InputError(f"add the body {name_of(body)} to the scene before its {type(thing).__name__}")
        if any(other is thing for other in self._parts[kind]):
            raise InputError(f"{short(thing)} is in the scene already; make another one of the same values")
        self._parts[kind].append(thing)

    def _model(self, body: Body, actuators: Sequence[ActuatorRows]) -> Model:
        fibres = [*self._parts[Fibre], *(guide for actuator in self._parts[Actuator] for guide in actuator.guides())]
        parts = Parts(
            loads=[load for load in self._parts[_LOADS] if load.body is body],
            supports=[support for support in self._parts[Support] if support.body is body],
            couplings=[nodes for rows in actuators for nodes in rows.couplings(body)],
            fibres=[fibre for fibre in fibres if fibre.body is body],
        )
        return compiled(body, self._placements.get(id(body)), parts)


def _detected(pair: Pair, made: ContactPair) -> ContactPair:
    """The constraint `made` of a pair, with continuous detection where it asks for that."""
    if not pair.continuous:
        return made
    if made.encloses:
        raise InputError(
            f"{made.a.name!r} begins in the bore of {made.b.name!r}, whose wall it cannot leave; continuous=True is "
            "for bodies that are outside of each other"
        )
    return replace(made, continuous=True)


class _Sides:
    """Colliders of the bodies and obstacles of a world; the pairs of a body share one, and what it finds in a step."""

    def __init__(self, models: tuple[Model, ...]) -> None:
        self.models = models
        self._made: dict[tuple[int, int], Collider] = {}

    def of(self, handle: Any, exclude: Any) -> Collider:
        """The collider of `handle` without the region `exclude`."""
        key = id(handle), id(exclude)
        if key not in self._made:
            self._made[key] = Collider.of(handle, self.models, exclude=exclude)
        return self._made[key]


def _contact_pair(pair: Pair, sides: _Sides, index: int) -> ContactPair:
    a, b = (pair.a, pair.b) if pair.a.contact_role <= pair.b.contact_role else (pair.b, pair.a)
    # between balls and a surface the excluded region is one of the surface
    of_surface = (a.contact_role, b.contact_role) == (ContactRole.BALLS, ContactRole.SURFACE)
    side = sides.of(a, None if of_surface else pair.exclude)
    other, models = side if a is b else sides.of(b, pair.exclude), sides.models
    if not len(side.nodes):
        raise InputError(f"{a.name!r} has no point that could touch {b.name!r}")
    margin = _default_margin(side, other) if pair.margin is None else pair.margin
    if a.slender and b.slender:
        return slender_pair(side, other, models, pair.friction, margin, index, pair.capacity)
    if other.surface is None and other.solid is None:
        raise InputError(f"{a.name!r} cannot touch {b.name!r}: neither has a surface")
    if a.slender:
        return axis_pair(side, other, models, pair.friction, margin, index, pair.capacity)
    return ContactPair(side, other, pair.friction, margin, index, pair.capacity)


def _check_apart(models: Sequence[Model], pairs: Sequence[ContactPair]) -> None:
    """Raise unless colliding bodies are apart, or touch, in the initial state."""
    view = RowView.of(models, speeds=[model.initial()[1] for model in models])
    for pair in pairs:
        depth = pair.overlap(view)
        if depth > OVERLAP * pair.margin:
            what = "itself" if pair.a.handle is pair.b.handle else repr(pair.b.name)
            raise InputError(
                f"{pair.a.name!r} overlaps {what} by {1e3 * depth:.3g} mm in the initial state; move them apart "
                "(touching is fine), exclude the region where they are meant to meet, or allow_overlap"
            )


def _default_margin(a: Collider, b: Collider) -> float:
    """Half the mean edge of the finer surface, at most a quarter of the thinner body; of balls 0.1 radius."""
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
