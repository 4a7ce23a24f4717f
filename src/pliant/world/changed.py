"""The same world with other numbers, without compiling its scene anew.

Bodies, cables and pairs that get other numbers keep their handles: what was added to the scene still names them, in
controls, read-outs, effectors and further changes. Meshes, patterns, analysed factors and contact geometry are shared
with the world that was changed. The result is the world that the changed scene compiles to, and is saved as that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np

from pliant.core.checks import finite_array, finite_number, non_negative, positive
from pliant.core.declared import declared
from pliant.core.errors import InputError
from pliant.core.immutable import handle_of, standing_for
from pliant.core.one_line import short
from pliant.models.body import Body, Model, Parts
from pliant.models.kinds import compiled
from pliant.models.slender import OF_MATERIAL
from pliant.solvers.contact.loading import load_friction_kernels
from pliant.world.reduced import reduced
from pliant.world.rest_shape import OfRestShape as OfRestShape  # one of the numbers that parameters are made of
from pliant.world.rest_shape import following, placed_like, with_fixed_regions, with_own_handles
from pliant.world.rest_shape import reshaped as is_reshaped
from pliant.world.scene import Scene
from pliant.world.state import name_of
from pliant.world.world import World

_OF_LOADS = ("wrench", "nodal_share", "moments")
"""What tells a load from other parts of a body."""


@runtime_checkable
class Number(Protocol):
    """A number, or an array, of a world that can be changed: one of `pl.parameters`."""

    def value(self, world: World) -> Any:
        """What it is in `world`."""

    def changed(self, world: World, value: Any) -> World:
        """`world` with another value of it."""


@declared
def changed(world: World, changes: Mapping[Any, Any]) -> World:
    """`world` with other numbers, such as ``{pl.parameters.Material(body, "young"): 2e5}``.

    The keys are parameters: `Material`, `Mass`, `Damping`, `Friction`, `CableFriction`, `Gravity`, `Route` and
    `RestShape`, or a `Shared` or `Dimensions` of these; the values are in their units. Handles stay valid. A state of
    `world` is taken over with ``changed_world.adopt(state)``.
    """
    if any(isinstance(number, OfRestShape) for number in changes):  # via points lie in the shape that they come with
        anew = {number: value for number, value in changes.items() if isinstance(number, OfRestShape | OfRoute)}
        world = compiled_anew(world, *(number.spec(world, value) for number, value in anew.items()))
        changes = {number: value for number, value in changes.items() if number not in anew}
    for number, value in changes.items():
        if not isinstance(number, Number):
            hint = ""
            if hasattr(number, "gathered") or hasattr(number, "effect"):
                hint = "; commands and loads are given with the controls of a step, initial values with the state"
            raise InputError(f"{short(number)} is no number of a world that changed() could change{hint}")
        world = number.changed(world, value)
    return world


class OfMaterial:
    """A constant of the material of a body, or of one of its inclusions."""

    body: Any
    constant: str
    inclusion: int | None

    def value(self, world: World) -> float:
        """The constant, in its unit."""
        return _constant(world.models[world.index(self.body)].spec, self.constant, self.inclusion)[0]

    def changed(self, world: World, value: Any) -> World:
        """`world` with another value of the constant."""
        index = world.index(self.body)
        model = world.models[index]
        _, change = _constant(model.spec, self.constant, self.inclusion)
        for rows in world.constraints:  # a pl.Stiffness counts from the modulus that its region was made with
            part: Any = getattr(rows, "part", None)
            commanded = part is not None and part.handle is model.handle and rows.spec.inclusion == self.inclusion
            if commanded and self.constant != "density":
                raise InputError(
                    f"{self.constant!r} of {model.name!r} cannot be changed: {rows.name!r} commands that material; "
                    "command its modulus with pl.Young(Pa), or compile another scene"
                )
        made = change(finite_number(f"{self.constant} of {model.name!r}", value))
        return _with_body(world, index, made)


class OfMass:
    """The total mass of a volume or a rigid body, kg; the inertia scales with it."""

    body: Any

    def value(self, world: World) -> float:
        """The mass, kg."""
        model: Any = world.models[world.index(self.body)]
        return _total_mass(model)

    def changed(self, world: World, value: Any) -> World:
        """`world` with another mass of the body."""
        index = world.index(self.body)
        model: Any = world.models[index]
        given, spec = _total_mass(model), model.spec
        total = positive(f"mass of {model.name!r}", value, unit="kg")
        if hasattr(spec, "inertia"):
            made = replace(spec, mass=total, inertia=spec.inertia * (total / given))
        else:
            by_node = spec.mass is not None and np.ndim(spec.mass)
            made = replace(spec, mass=np.asarray(spec.mass) * (total / given) if by_node else total)
        return _with_body(world, index, made)


class OfDamping:
    """A coefficient of the Rayleigh damping of a body."""

    body: Any
    kind: Any

    def value(self, world: World) -> float:
        """The coefficient, 1/s of masses and s of stiffness."""
        spec: Any = world.models[world.index(self.body)].spec
        given = getattr(getattr(spec, "damping", None), self.kind, None)
        if not isinstance(given, (int, float)):
            raise InputError(f"{spec.name!r} has no single coefficient of {self.kind}-proportional damping")
        return float(given)

    def changed(self, world: World, value: Any) -> World:
        """`world` with another coefficient."""
        self.value(world)
        index = world.index(self.body)
        spec: Any = world.models[index].spec
        number = non_negative(f"{self.kind}-proportional damping of {spec.name!r}", value)
        return _with_body(world, index, replace(spec, damping=replace(spec.damping, **{self.kind: number})))


class OfFriction:
    """The coefficient of friction of a colliding pair."""

    a: Any
    b: Any

    def value(self, world: World) -> float:
        """Coulomb's μ."""
        pairs: list[Any] = [world.constraints[index] for index, _ in world.pairs(self.a, self.b)]
        return float(pairs[0].mu)

    def changed(self, world: World, value: Any) -> World:
        """`world` with another μ ≥ 0 of the pair."""
        constraints: list[Any] = list(world.constraints)
        mu = float(non_negative(f"friction of {name_of(self.a)} and {name_of(self.b)}", value))
        if mu:
            load_friction_kernels()
        named = set()
        for index, _ in world.pairs(self.a, self.b):
            pair = constraints[index]
            named.add(frozenset((id(pair.a.handle), id(pair.b.handle))))
            constraints[index] = pair.with_friction(mu)
        source = world.source
        if source is not None:
            pairs = (
                replace(each, friction=mu) if frozenset((id(each.a), id(each.b))) in named else each
                for each in source.pairs
            )
            source = replace(source, pairs=tuple(pairs))
        return replace(world, constraints=tuple(constraints), source=source)


class OfCableFriction:
    """The coefficient of friction of a cable in its guides, > 0."""

    cable: Any

    def value(self, world: World) -> float:
        """Coulomb's μ."""
        spec: Any = world.constraints[world.constraint_index(self.cable)].spec
        if not getattr(spec, "friction", 0.0):
            raise InputError(f"{name_of(self.cable)} has no friction in its guides that could be changed")
        return float(spec.friction)

    def changed(self, world: World, value: Any) -> World:
        """`world` with another μ of the cable."""
        self.value(world)
        index = world.constraint_index(self.cable)
        rows: Any = world.constraints[index]
        mu = float(positive(f"friction of {rows.name!r}", value))
        spec = standing_for(replace(rows.spec, friction=mu), rows.spec)
        return replace(world, constraints=_replaced(world.constraints, index, replace(rows, spec=spec)))


class OfGravity:
    """Gravity, (3,), m/s²."""

    def value(self, world: World) -> Any:
        """Gravity, (3,), m/s²."""
        return world.gravity.copy()

    def changed(self, world: World, value: Any) -> World:
        """`world` under another gravity."""
        gravity = finite_array("gravity", value, shape=(3,))
        source = None if world.source is None else replace(world.source, gravity=gravity.copy())
        return replace(world, gravity=gravity, source=source)


class OfRoute:
    """The via points of a cable, (k, 3), m, in the frame in which its bodies were made."""

    cable: Any

    def value(self, world: World) -> Any:
        """The via points, (k, 3), m."""
        spec: Any = world.constraints[world.constraint_index(self.cable)].spec
        return finite_array("via_points", getattr(spec, "via_points", None), shape=(None, 3)).copy()

    def changed(self, world: World, value: Any) -> World:
        """`world` with other via points of the cable. Where its segments join other cells of a volume than before, or
        it has `guide_stiffness`, the matrix of the volume changes: then the scene is compiled anew, handles are kept.
        """
        index = world.constraint_index(self.cable)
        rows: Any = world.constraints[index]
        spec = self.spec(world, value)
        unbound = spec.constraint(rows.key)
        if spec.guide_stiffness or not all(_has_place(world, part) for part in unbound.strands):
            return compiled_anew(world, spec)
        return replace(world, constraints=_replaced(world.constraints, index, unbound.bound(world.models)))

    def spec(self, world: World, value: Any) -> Any:
        """The cable with other via points."""
        rows: Any = world.constraints[world.constraint_index(self.cable)]
        points = finite_array(f"via_points of {rows.name!r}", value, shape=self.value(world).shape)
        return standing_for(replace(rows.spec, via_points=points), rows.spec)


def _has_place(world: World, strand: Any) -> bool:
    """Whether the matrix of the body of a strand has the blocks that its segments couple."""
    model: Any = world.models[world.index(strand.body)]
    try:
        strand.pieces.bound(model)
    except InputError:  # the one that a pattern raises
        return False
    return True


def compiled_anew(world: World, *changed_specs: Any) -> World:
    """The scene of `world` with its numbers by now and `changed_specs`, compiled, with the same handles."""
    specs = world.specs | {handle_of(spec): spec for spec in changed_specs}
    shapes = {handle: with_fixed_regions(spec) for handle, spec in specs.items() if is_reshaped(spec)}
    models: dict[Any, Any] = {model.handle: model for model in world.models}
    source, things = [], []
    for thing, at in world.source.things:
        where = placed_like(shapes[thing], models[thing]) if thing in shapes else at
        source.append((thing, where))
        own = thing if isinstance(thing, Body) else specs.get(thing, thing)
        things.append((shapes.get(thing, following(own, shapes)), where))
    pairs = [following(pair, shapes) for pair in world.source.pairs]
    made = Scene.of(world.gravity, things, pairs).compile()
    made = replace(made, handles=world.handles, source=replace(world.source, things=tuple(source)))
    for index, model in enumerate(world.models):
        if model.handle in shapes:
            made = replace(made, models=_replaced(made.models, index, with_own_handles(cast(Any, made.models[index]))))
        elif model.spec is not model.handle:
            made = replace(made, models=_replaced(made.models, index, model_of(made, index, model.spec)))
    return reduced(made, world.reductions) if world.reductions else made


def model_of(world: World, index: int, spec: Any) -> Model:
    """The model of body `index` with another `spec`, which differs from its own in numbers alone."""
    model: Any = world.models[index]
    made = model.with_numbers(spec)
    if made is not None:
        return made  # type: ignore[no-any-return]
    handle, things = model.handle, world.source.things
    of_body = [thing for thing, _ in things if getattr(thing, "body", None) is handle]
    placement = next(placed for thing, placed in things if thing is handle)
    parts = Parts(
        loads=[each for each in of_body if any(hasattr(each, name) for name in _OF_LOADS)],
        supports=[each for each in of_body if type(each).__name__ == "Support"],
        couplings=[
            nodes for rows in world.constraints if hasattr(rows, "couplings") for nodes in rows.couplings(handle)
        ],
    )
    return compiled(spec, placement, parts)


def _with_body(world: World, index: int, spec: Any) -> World:
    model = model_of(world, index, standing_for(spec, world.models[index].spec))
    return replace(world, models=_replaced(world.models, index, model))


def _replaced(items: tuple[Any, ...], index: int, item: Any) -> tuple[Any, ...]:
    return (*items[:index], item, *items[index + 1 :])


def _constant(spec: Any, constant: str, inclusion: int | None) -> tuple[float, Callable[[float], Any]]:
    """A constant of the material of a body, and what makes the spec with another one."""
    if inclusion is not None:
        known = getattr(spec, "inclusions", ())
        if not 0 <= inclusion < len(known):
            raise InputError(f"{spec.name!r} has {len(known)} inclusions, no inclusion {inclusion}")
    material = getattr(spec, "material", None) if inclusion is None else spec.inclusions[inclusion][1]
    if material is None:
        return _number(spec, spec, constant), lambda value: replace(spec, **{constant: value})
    number = _number(spec, _holder(material, constant), constant)

    def change(value: float) -> Any:
        other = _with_constant(material, constant, value)
        if inclusion is not None:
            parts = [(region, other if k == inclusion else own) for k, (region, own) in enumerate(spec.inclusions)]
            return replace(spec, inclusions=parts)
        resolved = {"young", "poisson", "density"} & _names(spec)  # a slender body has taken them from the material
        return replace(spec, material=other, **dict.fromkeys(resolved, OF_MATERIAL))

    return number, change


def _holder(material: Any, constant: str) -> Any:
    """The material, or that among those it is based on, whose field `constant` is."""
    if getattr(material, "base", None) is None:
        return material
    below = _holder(material.base, constant)
    return below if constant in _names(below) else material


def _with_constant(material: Any, constant: str, value: float) -> Any:
    if _holder(material, constant) is material:
        return replace(material, **{constant: value})
    return replace(material, base=_with_constant(material.base, constant, value), density=0.0)  # that of the base


def _number(spec: Any, holder: Any, constant: str) -> float:
    value = getattr(holder, constant, None) if constant in _names(holder) else None
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise InputError(f"the material of {spec.name!r} has no number {constant!r}")
    return float(value)


def _names(thing: Any) -> set[str]:
    """Names of the fields of a dataclass; none of a tuple of materials, one for each strain."""
    return {each.name for each in fields(thing)} if hasattr(thing, "__dataclass_fields__") else set()


def _total_mass(model: Any) -> float:
    total = model.spec.mass if hasattr(model.spec, "inertia") else getattr(getattr(model, "mass", None), "total", None)
    if total is None:
        raise InputError(f"pl.parameters.Mass is for volumes and rigid bodies; {model.name!r} is none of them")
    return float(total)
