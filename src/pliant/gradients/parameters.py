"""Parameters of a gradient: what the derivative of a loss is taken by.

Forces that depend on a parameter are evaluated at four values of it (`gradients.finite`): in moduli, masses and loads
they are linear, and the difference is exact to rounding. Commands of actuators and friction act on rows, whose
derivatives are in closed form.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from pliant.actuators.drive import Actuator
from pliant.core.arrays import transposed_product
from pliant.core.checks import finite_array
from pliant.core.declared import check_declared
from pliant.core.errors import InputError
from pliant.core.immutable import evolve
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray
from pliant.gradients.adjoint import Multipliers, StepAdjoint
from pliant.gradients.changed import changed_material, with_spec
from pliant.gradients.finite import STEP, derivative
from pliant.gradients.losses import Instant, Loss
from pliant.models.body import Model
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


class Gathered:
    """The derivative by one parameter, summed over the steps of a run backward in time."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.derivative: FloatArray = np.zeros(shape)

    def add(self, k: int, step: StepAdjoint, found: Multipliers) -> None:
        """The part of step k."""

    def add_loss(self, loss: Loss, instant: Instant) -> None:
        """The part of what the loss at an instant knows of the parameter itself."""

    def begin(self, q: list[FloatArray], v: list[FloatArray]) -> None:
        """The derivatives by the first state."""


class Parameter:
    """What a derivative is taken by."""

    def gathered(self, world: World, count: int) -> Gathered:
        """Zero, for a run of `count` steps in `world`."""
        raise NotImplementedError


@one_line
@dataclass(frozen=True, eq=False)
class Control(Parameter):
    """What an `actuator` is commanded in each step, (steps,): its displacement (m, m³, rad) or force (N, Pa, N·m).

    Zero in steps in which the command is not met: where a cable is slack, or at the limits of a motor.
    """

    actuator: Any

    def gathered(self, world: World, count: int) -> Gathered:
        """Of shape (steps,)."""
        if not isinstance(self.actuator, Actuator):
            raise InputError(f"{name_of(self.actuator)} is no actuator; loads are pl.parameters.Load(load)")
        return _OfControl(world.constraint_index(self.actuator), count)


@one_line
@dataclass(frozen=True, eq=False)
class Load(Parameter):
    """A `pl.PointLoad` or `pl.RodLoad` in each step, (steps, 3), N."""

    load: Any

    def gathered(self, world: World, count: int) -> Gathered:
        """Of shape (steps, 3)."""
        if not hasattr(self.load, "wrench") or self.load not in world.handles:
            raise InputError(
                f"pl.parameters.Load takes a pl.PointLoad or pl.RodLoad of the world, got {self.load!r:.60}"
            )
        return _OfLoad(world.index(self.load.body), self.load, count)


@one_line
@dataclass(frozen=True, eq=False)
class Gravity(changed.OfGravity, Parameter):
    """Gravity over the whole run, (3,), m/s²."""

    def gathered(self, world: World, count: int) -> Gathered:
        """Of shape (3,)."""
        return _OfGravity((3,))


@one_line
@dataclass(frozen=True, eq=False)
class InitialPositions(Parameter):
    """The first positions of `body`: of the nodes of a volume (n, 3), m; of others in the coordinates of the motion of
    a step, such as (2, 3) of a rigid body, m and rad about the axes of the world.
    """

    body: Any

    def gathered(self, world: World, count: int) -> Gathered:
        """Of the shape of the motion of a step."""
        return _OfStart(world, world.index(self.body), velocities=False)


@one_line
@dataclass(frozen=True, eq=False)
class InitialVelocities(Parameter):
    """The first velocities of `body`, of the shape of ``state.velocities(body)``, m/s and rad/s."""

    body: Any

    def gathered(self, world: World, count: int) -> Gathered:
        """Of the shape of the velocities."""
        return _OfStart(world, world.index(self.body), velocities=True)


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

    def gathered(self, world: World, count: int) -> Gathered:
        """One number."""
        index = world.index(self.body)
        change, step = changed_material(world.models[index].spec, self.constant, self.inclusion)
        return _OfModel(world, index, change, step)


@one_line
@dataclass(frozen=True, eq=False)
class Mass(changed.OfMass, Parameter):
    """The total mass of a volume or a rigid body, kg, with the same distribution: the inertia scales with it."""

    body: Any

    def gathered(self, world: World, count: int) -> Gathered:
        """One number."""
        index = world.index(self.body)
        model: Any = world.models[index]
        if hasattr(model, "chart") or not (hasattr(model, "mass") or hasattr(model.spec, "inertia")):
            raise InputError(f"pl.parameters.Mass is for volumes and rigid bodies; {model.name!r} is none of them")
        if hasattr(model, "mass"):
            total = model.mass.total
            return _OfModel(world, index, lambda s: _heavier(model, 1.0 + s / total), STEP * total)
        spec = model.spec
        change = lambda s: replace(spec, mass=spec.mass + s, inertia=spec.inertia * (1.0 + s / spec.mass))  # noqa: E731
        return _OfModel(world, index, change, STEP * spec.mass)


@one_line
@dataclass(frozen=True, eq=False)
class Damping(changed.OfDamping, Parameter):
    """The coefficient of the "mass"-proportional (1/s) or "stiffness"-proportional (s) damping of a body."""

    body: Any
    kind: Literal["mass", "stiffness"]

    def __post_init__(self) -> None:
        check_declared(self)

    def gathered(self, world: World, count: int) -> Gathered:
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
        return _OfModel(
            world, index, lambda s: replace(spec, damping=replace(given, **{self.kind: value + offset + s})), step
        )


@one_line
@dataclass(frozen=True, eq=False)
class Friction(changed.OfFriction, Parameter):
    """The coefficient of friction of the pair `a`, `b`; contacts that stick do not feel it."""

    a: Any
    b: Any

    def gathered(self, world: World, count: int) -> Gathered:
        """One number."""
        pairs: list[Any] = [world.constraints[index] for index, _ in world.pairs(self.a, self.b)]
        if not any(pair.mu for pair in pairs):
            raise InputError(f"{pairs[0].name} has no friction, by which a derivative could be taken")
        return _OfFriction([index for index, _ in world.pairs(self.a, self.b)])


@one_line
@dataclass(frozen=True, eq=False)
class Route(changed.OfRoute, Parameter):
    """The via points of a `cable`, (k, 3), m, in the frame in which its bodies were made. A point is moved within its
    cell; on a face between two cells the derivative is one-sided.
    """

    cable: Any

    def gathered(self, world: World, count: int) -> Gathered:
        """Of the shape of the via points."""
        return _OfRoute(world, self.cable)


class _OfControl(Gathered):
    def __init__(self, constraint: int, count: int) -> None:
        super().__init__((count,))
        self._constraint = constraint

    def add(self, k: int, step: StepAdjoint, found: Multipliers) -> None:
        row = step.info.assembly.slices[self._constraint].start  # type: ignore[union-attr]
        self.derivative[k] = found.nu[row] if step.commanded(row) else 0.0


class _OfLoad(Gathered):
    def __init__(self, index: int, load: Any, count: int) -> None:
        super().__init__((count, 3))
        self._index, self._load = index, load

    def add(self, k: int, step: StepAdjoint, found: Multipliers) -> None:
        given = np.asarray(step.bodies.controls.get(self._load, self._load.value), np.float64)
        for axis in range(3):
            change = np.zeros(given.shape)
            change.reshape(-1, 3)[0, axis] = max(float(np.abs(given).max()), 1.0)

            def force(s: float, change: FloatArray = change) -> FloatArray:
                return step.residual(self._index, controls={self._load: given + s * change})

            scale = float(np.abs(change).max())
            self.derivative[k, axis] = np.vdot(found.w[self._index], 0.5 * (force(1.0) - force(-1.0))) / scale


class _OfGravity(Gathered):
    def add(self, k: int, step: StepAdjoint, found: Multipliers) -> None:
        gravity = np.asarray(step.bodies.gravity, np.float64)
        for axis in range(3):
            unit = 10.0 * np.eye(3)[axis]
            for index, w in enumerate(found.w):
                change = step.residual(index, gravity=gravity + unit) - step.residual(index, gravity=gravity - unit)
                self.derivative[axis] += float(np.vdot(w, change)) / 20.0


class _OfStart(Gathered):
    def __init__(self, world: World, index: int, *, velocities: bool) -> None:
        super().__init__(world.velocity_shapes[index] if velocities else world.shapes[index])
        self._index, self._velocities, self._fixed = index, velocities, world.models[index].constrained

    def begin(self, q: list[FloatArray], v: list[FloatArray]) -> None:
        found = np.where(self._fixed, 0.0, (v if self._velocities else q)[self._index])
        self.derivative = found.reshape(self.derivative.shape)


class _OfModel(Gathered):
    """By a number that changes the spec of a body, `change` by s, or its model."""

    def __init__(self, world: World, index: int, change: Callable[[float], Any], step: float) -> None:
        super().__init__(())
        self._world, self._index, self._change, self._step = world, index, change, step
        self._models: dict[float, Model] = {}

    def add(self, k: int, step: StepAdjoint, found: Multipliers) -> None:
        w = found.w[self._index]
        self.derivative += derivative(
            lambda s: np.vdot(w, step.residual(self._index, model=self._model(s))), self._step
        )

    def add_loss(self, loss: Loss, instant: Instant) -> None:
        if loss.by_constants:
            self.derivative += derivative(lambda s: loss.at(self._seen(instant, s)), self._step)

    def _seen(self, instant: Instant, s: float) -> Instant:
        models = list(self._world.models)
        models[self._index] = evolve(self._model(s), spec=models[self._index].spec)  # the handle of the body
        return replace(instant, state=evolve(instant.state, world=replace(self._world, models=tuple(models))))

    def _model(self, s: float) -> Model:
        if s not in self._models:
            made = self._change(s)
            self._models[s] = made if isinstance(made, Model) else with_spec(self._world, self._index, made)
        return self._models[s]


class _OfFriction(Gathered):
    def __init__(self, pairs: Sequence[int]) -> None:
        super().__init__(())
        self._pairs = pairs

    def add(self, k: int, step: StepAdjoint, found: Multipliers) -> None:
        if step.ends is None:
            return
        own = np.isin(step.ends.owner, self._pairs)
        self.derivative -= float(found.nu[own] @ step.active.by_friction[own])


class _OfRoute(Gathered):
    def __init__(self, world: World, cable: Any) -> None:
        points = finite_array("via_points", getattr(cable, "via_points", None), shape=(None, 3))
        super().__init__(points.shape)
        self._index = world.constraint_index(cable)
        rows: Any = world.constraints[self._index]
        if cable.guide_stiffness or cable.friction:
            raise InputError(f"the route of {cable.name!r} is not differentiated: it has guide_stiffness or friction")
        self._step = 1e-2 * STEP * float(np.ptp(points, axis=0).max())
        self._made: dict[tuple[int, ...], dict[float, Any]] = {}
        for place in np.ndindex(points.shape):
            self._made[place] = {}
            for times in (1.0, -1.0, 2.0, -2.0):
                moved = points.copy()
                moved[place] += times * self._step
                spec = replace(cable, via_points=moved)
                self._made[place][times * self._step] = spec.constraint(rows.key).bound(world.models)

    def add(self, k: int, step: StepAdjoint, found: Multipliers) -> None:
        assert step.ends is not None
        row = step.info.assembly.slices[self._index].start  # type: ignore[union-attr]
        lam, view = step.ends.lam[row], step.bodies.view()
        closed = found.nu[row] * step.active.B[row, row]

        def work(rows: Any) -> float:
            made = rows.rows_at(view)[0]
            pulls = zip(made.H, found.w, strict=True)
            push = sum(float(w.ravel() @ transposed_product(H, np.ones(1))) for H, w in pulls)
            return float(lam * push - closed * made.gap[0])

        for place, made in self._made.items():
            self.derivative[place] += derivative(partial(_seen_by, work, made), self._step)


def _seen_by(work: Callable[[Any], float], made: dict[float, Any], s: float) -> float:
    return work(made[s])


def _heavier(model: Any, factor: float) -> Any:
    mass = model.mass
    blocks = None if mass.blocks is None else factor * mass.blocks
    return replace(model, mass=replace(mass, nodal=factor * mass.nodal, blocks=blocks))
