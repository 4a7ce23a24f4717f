"""Parameters: what derivatives of losses and of outputs are taken by.

Forces that depend on a parameter are evaluated at four values of it (`gradients.finite`): in moduli, masses and loads
they are linear, and the difference is exact to rounding. Commands of actuators and friction act on rows, whose
derivatives are in closed form.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal

from pliant.actuators.drive import Actuator
from pliant.core.declared import check_declared
from pliant.core.errors import InputError
from pliant.core.one_line import one_line
from pliant.gradients.changed import changed_material, heavier
from pliant.gradients.effects import Effect, OfControl, OfFriction, OfGravity, OfLoad, OfModel, OfRoute, OfStart
from pliant.gradients.finite import STEP
from pliant.world import World, changed
from pliant.world.state import name_of

__all__ = [
    "Control",
    "Damping",
    "Friction",
    "Gravity",
    "InitialPositions",
    "InitialVelocities",
    "Load",
    "Mass",
    "Material",
    "Parameter",
    "Route",
]


class Parameter:
    """What a derivative is taken by."""

    def effect(self, world: World, count: int) -> Effect:
        """What it changes, in a run of `count` steps in `world`."""
        raise NotImplementedError


@one_line
@dataclass(frozen=True, eq=False)
class Control(Parameter):
    """What an `actuator` is commanded in each step, (steps,): its displacement (m, m³, rad) or force (N, Pa, N·m).

    Zero in steps in which the command is not met: where a cable is slack, or at the limits of a motor.
    """

    actuator: Any

    def effect(self, world: World, count: int) -> Effect:
        """Of shape (steps,)."""
        if not isinstance(self.actuator, Actuator):
            raise InputError(f"{name_of(self.actuator)} is no actuator; loads are pl.parameters.Load(load)")
        return OfControl(world.constraint_index(self.actuator), count)


@one_line
@dataclass(frozen=True, eq=False)
class Load(Parameter):
    """A `pl.PointLoad` or `pl.RodLoad` in each step, (steps, 3), N."""

    load: Any

    def effect(self, world: World, count: int) -> Effect:
        """Of shape (steps, 3)."""
        if not hasattr(self.load, "wrench") or self.load not in world.handles:
            raise InputError(
                f"pl.parameters.Load takes a pl.PointLoad or pl.RodLoad of the world, got {self.load!r:.60}"
            )
        return OfLoad(world.index(self.load.body), self.load, count)


@one_line
@dataclass(frozen=True, eq=False)
class Gravity(changed.OfGravity, Parameter):
    """Gravity over the whole run, (3,), m/s²."""

    def effect(self, world: World, count: int) -> Effect:
        """Of shape (3,)."""
        return OfGravity((3,))


@one_line
@dataclass(frozen=True, eq=False)
class InitialPositions(Parameter):
    """The first positions of `body`: of the nodes of a volume (n, 3), m; of others in the coordinates of the motion of
    a step, such as (2, 3) of a rigid body, m and rad about the axes of the world.
    """

    body: Any

    def effect(self, world: World, count: int) -> Effect:
        """Of the shape of the motion of a step."""
        return OfStart(world, world.index(self.body), velocities=False)


@one_line
@dataclass(frozen=True, eq=False)
class InitialVelocities(Parameter):
    """The first velocities of `body`, of the shape of ``state.velocities(body)``, m/s and rad/s."""

    body: Any

    def effect(self, world: World, count: int) -> Effect:
        """Of the shape of the velocities."""
        return OfStart(world, world.index(self.body), velocities=True)


@one_line
@dataclass(frozen=True, eq=False)
class Material(changed.OfMaterial, Parameter):
    """A constant of the material of `body`: "young", "poisson", "density", or another number of its material.

    inclusion
        Index of the inclusion of a volume whose material it is; None: the material of the body.
    """

    body: Any
    constant: str
    _: KW_ONLY
    inclusion: int | None = None

    def __post_init__(self) -> None:
        check_declared(self)

    def effect(self, world: World, count: int) -> Effect:
        """One number."""
        index = world.index(self.body)
        change, step = changed_material(world.models[index].spec, self.constant, self.inclusion)
        return OfModel(world, index, change, step)


@one_line
@dataclass(frozen=True, eq=False)
class Mass(changed.OfMass, Parameter):
    """The total mass of a volume or a rigid body, kg, with the same distribution: the inertia scales with it."""

    body: Any

    def effect(self, world: World, count: int) -> Effect:
        """One number."""
        index = world.index(self.body)
        model: Any = world.models[index]
        if not (hasattr(model, "mass") or hasattr(model.spec, "inertia")):
            raise InputError(f"pl.parameters.Mass is for volumes and rigid bodies; {model.name!r} is none of them")
        if hasattr(model, "mass"):
            total = model.mass.total
            if world.reductions:  # modes have masses of their own
                return OfModel(world, index, lambda s: replace(model.spec, mass=total + s), STEP * total)
            return OfModel(world, index, lambda s: heavier(model, 1.0 + s / total), STEP * total)
        spec = model.spec
        change = lambda s: replace(spec, mass=spec.mass + s, inertia=spec.inertia * (1.0 + s / spec.mass))  # noqa: E731
        return OfModel(world, index, change, STEP * spec.mass)


@one_line
@dataclass(frozen=True, eq=False)
class Damping(changed.OfDamping, Parameter):
    """The coefficient of the "mass"-proportional (1/s) or "stiffness"-proportional (s) damping of a body."""

    body: Any
    kind: Literal["mass", "stiffness"]

    def __post_init__(self) -> None:
        check_declared(self)

    def effect(self, world: World, count: int) -> Effect:
        """One number."""
        index = world.index(self.body)
        spec: Any = world.models[index].spec
        given = getattr(spec, "damping", None)
        if given is None or not isinstance(getattr(given, self.kind), (int, float)):
            raise InputError(f"{spec.name!r} has no single coefficient of {self.kind}-proportional damping")
        value = float(getattr(given, self.kind))
        if self.kind == "stiffness" and not value:
            raise InputError(
                f"the stiffness-proportional damping of {spec.name!r} is 0: its derivative is known where it is > 0"
            )
        step = STEP * (value or 1.0)
        offset = 0.0 if value else 3.0 * step  # forces are linear in it: the derivative is the same a little above
        return OfModel(
            world, index, lambda s: replace(spec, damping=replace(given, **{self.kind: value + offset + s})), step
        )


@one_line
@dataclass(frozen=True, eq=False)
class Friction(changed.OfFriction, Parameter):
    """The coefficient of friction of the pair `a`, `b`; contacts that stick do not feel it."""

    a: Any
    b: Any

    def effect(self, world: World, count: int) -> Effect:
        """One number."""
        pairs: list[Any] = [world.constraints[index] for index, _ in world.pairs(self.a, self.b)]
        if not any(pair.mu for pair in pairs):
            raise InputError(f"{pairs[0].name} has no friction, by which a derivative could be taken")
        return OfFriction([index for index, _ in world.pairs(self.a, self.b)])


@one_line
@dataclass(frozen=True, eq=False)
class Route(changed.OfRoute, Parameter):
    """The via points of a `cable`, (k, 3), m, in the frame in which its bodies were made. A point is moved within its
    cell; on a face between two cells the derivative is one-sided.
    """

    cable: Any

    def effect(self, world: World, count: int) -> Effect:
        """Of the shape of the via points."""
        return OfRoute(world, self.cable)
