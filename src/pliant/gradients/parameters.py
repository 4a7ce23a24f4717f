"""Parameters: what derivatives of losses and of outputs are taken by.

Forces that depend on a parameter are evaluated at four values of it (`gradients.finite`): in moduli, masses and loads
they are linear, and the difference is exact to rounding. Commands of actuators and friction act on rows, whose
derivatives are in closed form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal

import numpy as np

from pliant.actuators.drive import Actuator
from pliant.core.checks import finite_array
from pliant.core.declared import check_declared
from pliant.core.errors import InputError
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray
from pliant.gradients.changed import changed_material, heavier
from pliant.gradients.dimensions import OfOthers, slopes, values_of
from pliant.gradients.effects import Effect, OfControl, OfFriction, OfGravity, OfLoad, OfModel, OfRoute, OfStart
from pliant.gradients.finite import STEP
from pliant.gradients.rest_shape import OfRestShape
from pliant.world import World, changed
from pliant.world.state import name_of

__all__ = [
    "CableFriction",
    "Control",
    "Damping",
    "Dimensions",
    "Friction",
    "Gravity",
    "InitialPositions",
    "InitialVelocities",
    "Load",
    "Mass",
    "Material",
    "Parameter",
    "RestShape",
    "Route",
    "Shared",
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
class CableFriction(changed.OfCableFriction, Parameter):
    """Coulomb's μ > 0 between a `cable` and its guides; where the cable sticks it does not act."""

    cable: Any

    def effect(self, world: World, count: int) -> Effect:
        """One number."""
        return OfFriction([world.constraint_index(self.cable)], self.value(world))


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


@one_line
@dataclass(frozen=True, eq=False)
class RestShape(changed.OfRestShape, Parameter):
    """The points of the mesh of a volume, (n, 3), m, in the frame in which it was made, over the same cells.

    The first state keeps its displacements from the rest shape. Regions keep the nodes that they select; via points of
    cables, markers and other points that are given by coordinates keep these coordinates, and other material comes to
    lie there: move them along by `Dimensions` of both. The derivative is one-sided at points on a face of cells.
    """

    body: Any

    def effect(self, world: World, count: int) -> Effect:
        """Of the shape of the points."""
        return OfRestShape(world, world.index(self.body))


@one_line
@dataclass(frozen=True, eq=False)
class Shared(Parameter):
    """One value of several `parameters` of the same shape, such as the modulus of all fingers of a hand."""

    parameters: Any

    def __post_init__(self) -> None:
        given = self.parameters
        if not isinstance(given, Sequence) or not given or not all(isinstance(each, Parameter) for each in given):
            raise InputError(f"pl.parameters.Shared takes a list of parameters, got {given!r:.60}")
        if any(isinstance(each, InitialPositions | InitialVelocities) for each in given):
            raise InputError("pl.parameters.Shared takes numbers of a world, controls and loads, no first state")

    def effect(self, world: World, count: int) -> Effect:
        """Of the shape of each of them."""
        effects = [each.effect(world, count) for each in self.parameters]
        shapes = {each.derivative.shape for each in effects}
        if len(shapes) != 1:
            raise InputError(f"the parameters of a Shared have different shapes, {sorted(shapes)}")
        (shape,) = shapes
        return OfOthers(shape, [(each, np.eye(each.derivative.size)) for each in effects])

    def value(self, world: World) -> Any:
        """The value that they have in common."""
        values = [np.asarray(each.value(world), np.float64) for each in self._numbers()]
        if any(not np.array_equal(each, values[0]) for each in values):
            raise InputError(
                f"the parameters of a Shared have different values, {', '.join(f'{x}' for x in values):.60}: give the "
                "Unknown a start=, or change the world first"
            )
        return values[0].copy() if values[0].ndim else float(values[0])

    def changed(self, world: World, value: Any) -> World:
        """`world` with this value at all places."""
        return changed.changed(world, dict.fromkeys(self._numbers(), value))

    def _numbers(self) -> list[Any]:
        for each in self.parameters:
            if not isinstance(each, changed.Number):
                raise InputError(f"{each!r:.60} of a Shared is no number of a world")
        return list(self.parameters)


@one_line
@dataclass(frozen=True, eq=False)
class Dimensions(Parameter):
    """Few numbers that change many, such as the dimensions of a parametric robot.

    numbers
        A function of `values` that gives the numbers of the world that follow them, by parameter:
        ``{RestShape(finger.body): mesh.points, Route(finger.cable): via_points, …}``. Their shapes stay as they are.
    values
        Those of the world, or near them: one number or an array.
    derivative
        A function of `values` that gives ∂numbers/∂values by parameter, each of the shape of the number followed by
        that of `values`; None: central differences of `numbers`.
    step
        Of these differences; None: a thousandth of each value.
    """

    numbers: Callable[[FloatArray], Mapping[Any, Any]]
    values: Any
    _: KW_ONLY
    derivative: Callable[[FloatArray], Mapping[Any, Any]] | None = None
    step: float | None = None

    def __post_init__(self) -> None:
        if not callable(self.numbers):
            raise InputError("numbers of Dimensions must be a function of its values that gives a dictionary")
        made = self._at(self._values)
        if not isinstance(made, Mapping) or not made or not all(isinstance(each, changed.Number) for each in made):
            raise InputError(
                "the function numbers of Dimensions must give a dictionary of values by numbers of a world, of "
                f"pl.parameters; it gave {made!r:.60}"
            )

    def effect(self, world: World, count: int) -> Effect:
        """Of the shape of the values."""
        values = self._of(world)
        found = slopes(self._at, values, self.derivative, self.step)
        return OfOthers(values.shape, [(each.effect(world, count), slope) for each, slope in found.items()])

    def value(self, world: World) -> Any:
        """The values that give the numbers which `world` has."""
        made = self._of(world)
        return made.copy() if made.ndim else float(made)

    def changed(self, world: World, value: Any) -> World:
        """`world` with other values."""
        given = finite_array("values of Dimensions", value, shape=self._values.shape)
        return changed.changed(world, self._at(given))

    @property
    def _values(self) -> FloatArray:
        return finite_array("values of Dimensions", self.values)

    def _of(self, world: World) -> FloatArray:
        return values_of(world, self._at, self._values, self.derivative, self.step)

    def _at(self, values: FloatArray) -> Any:
        return self.numbers(values if values.ndim else values[()])
