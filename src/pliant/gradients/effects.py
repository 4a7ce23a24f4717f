"""What parameters change in the equations of a step: forces of the bodies, gaps of the rows, and laws.

One description serves both directions. Backward, the adjoint weighs the changes with its multipliers and sums them;
forward, they are the right-hand sides of the tangent of the step (`gradients.tangent`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from pliant.core.arrays import transposed_product
from pliant.core.checks import finite_array
from pliant.core.errors import InputError
from pliant.core.immutable import evolve
from pliant.core.types import FloatArray
from pliant.gradients.adjoint import Multipliers, StepAdjoint
from pliant.gradients.finite import STEP, combined, derivative, places
from pliant.gradients.losses import Instant, Loss, Slope
from pliant.models.body import Model
from pliant.world import World
from pliant.world.changed import model_of


class Changes(NamedTuple):
    """Derivatives of the equations of a step by some `columns` of a parameter, counted along the flat array of it.

    `push` (unknowns, columns) are those of r + Hᵀλ of bodies by index, N (and N·m); `gap` (rows, columns) those of δ,
    and `law` (rows, columns) those of c(δ, λ). None: zero.
    """

    columns: slice
    push: dict[int, FloatArray]
    gap: FloatArray | None = None
    law: FloatArray | None = None


class Effect:
    """What one parameter changes, and the `derivative` of a loss by it, summed over the steps backward in time."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.derivative: FloatArray = np.zeros(shape)

    def changes(self, k: int, step: StepAdjoint) -> Changes | None:
        """What it changes in step k; None: nothing."""

    def start(self, world: World) -> tuple[int, FloatArray, bool] | None:
        """How the first state follows it: a body, (unknowns, size), and whether these are velocities."""

    def add(self, k: int, step: StepAdjoint, found: Multipliers) -> None:
        """Add the part of step k to the derivative of the loss."""
        made = self.changes(k, step)
        if made is None:
            return
        part = np.zeros(self.derivative.reshape(-1)[made.columns].shape)
        for index, push in made.push.items():
            part += push.T @ found.w[index].ravel()
        if made.gap is not None:
            part -= made.gap.T @ (step.active.B.T @ found.nu)
        if made.law is not None:
            part -= made.law.T @ found.nu
        self.derivative.reshape(-1)[made.columns] += part

    def add_velocities(self, step: StepAdjoint, ended: Any) -> None:
        """Add the part of velocities that a midpoint step projected at its end (`gradients.end_velocities`)."""

    def add_loss(self, loss: Loss, instant: Instant) -> None:
        """Add the part of what the loss at an instant knows of the parameter itself."""

    def add_slope(self, slope: Slope) -> None:
        """Add the part by which the state that the loss sees at an instant follows the parameter itself."""

    def begin(self, q: list[FloatArray], v: list[FloatArray]) -> None:
        """Take the derivatives of the loss by the first state."""


class OfControl(Effect):
    """By the command of an actuator in each step."""

    def __init__(self, constraint: int, count: int) -> None:
        super().__init__((count,))
        self._constraint = constraint

    def changes(self, k: int, step: StepAdjoint) -> Changes | None:
        """See `Effect.changes`."""
        row = step.info.assembly.slices[self._constraint].start  # type: ignore[union-attr]
        if not step.commanded(row):
            return None
        assert step.ends is not None
        law = np.zeros((step.ends.rows.count, 1))
        law[row] = -1.0
        return Changes(slice(k, k + 1), {}, law=law)


class OfLoad(Effect):
    """By the force of a load in each step."""

    def __init__(self, index: int, load: Any, count: int) -> None:
        super().__init__((count, 3))
        self._index, self._load = index, load

    def changes(self, k: int, step: StepAdjoint) -> Changes | None:
        """See `Effect.changes`."""
        given = np.asarray(step.bodies.controls.get(self._load, self._load.value), np.float64)
        scale, columns = max(float(np.abs(given).max()), 1.0), []
        for axis in range(3):
            change = np.zeros(given.shape)
            change.reshape(-1, 3)[0, axis] = scale
            sides = [step.residual(self._index, controls={self._load: given + s * change}) for s in (1.0, -1.0)]
            columns.append((sides[0] - sides[1]).ravel() / (2.0 * scale))
        return Changes(slice(3 * k, 3 * k + 3), {self._index: np.stack(columns, axis=1)})


class OfGravity(Effect):
    """By gravity."""

    def changes(self, k: int, step: StepAdjoint) -> Changes | None:
        """See `Effect.changes`."""
        gravity, push = np.asarray(step.bodies.gravity, np.float64), {}
        for index in range(len(step.trials)):
            columns = []
            for axis in range(3):
                unit = 10.0 * np.eye(3)[axis]
                sides = [step.residual(index, gravity=gravity + s * unit) for s in (1.0, -1.0)]
                columns.append((sides[0] - sides[1]).ravel() / 20.0)
            push[index] = np.stack(columns, axis=1)
        return Changes(slice(None), push)


class OfStart(Effect):
    """By the first positions or velocities of a body."""

    def __init__(self, world: World, index: int, *, velocities: bool) -> None:
        super().__init__(world.velocity_shapes[index] if velocities else world.shapes[index])
        self._index, self._velocities, self._fixed = index, velocities, world.models[index].constrained

    def start(self, world: World) -> tuple[int, FloatArray, bool] | None:
        """See `Effect.start`."""
        return self._index, np.diag(np.where(self._fixed.ravel(), 0.0, 1.0)), self._velocities

    def begin(self, q: list[FloatArray], v: list[FloatArray]) -> None:
        """See `Effect.begin`."""
        found = np.where(self._fixed, 0.0, (v if self._velocities else q)[self._index])
        self.derivative = found.reshape(self.derivative.shape)


class OfModel(Effect):
    """By a number that changes the spec of a body, `change` by s, or its model."""

    def __init__(self, world: World, index: int, change: Callable[[float], Any], step: float) -> None:
        super().__init__(())
        self._world, self._index, self._change, self._step = world, index, change, step
        self._models: dict[float, Model] = {}

    def changes(self, k: int, step: StepAdjoint) -> Changes | None:
        """See `Effect.changes`."""
        made = derivative(lambda s: step.residual(self._index, model=self._model(s)), self._step)
        if getattr(step.trials[self._index], "turning", None) is not None:
            self._check_shares(step)
        return Changes(slice(None), {self._index: made.reshape(-1, 1)})

    def add(self, k: int, step: StepAdjoint, found: Multipliers) -> None:
        """See `Effect.add`; of constants of materials without assembling."""
        part: Any = step.parts[self._index]
        w = found.w[self._index]
        if self._is_constant and hasattr(part, "by_constants"):
            constants = part.by_constants(w)
            tables = [self._model(s).table for s in places(self._step)]  # type: ignore[attr-defined]
            if constants is not None:  # of linear and corotated laws
                self.derivative -= np.vdot(constants, combined(tables, self._step)[:, :2])
                return
            works = part.by_tables(w, np.stack(tables))
            if works is not None:
                self.derivative -= combined(works, self._step)
                return
        super().add(k, step, found)

    @cached_property
    def _is_constant(self) -> bool:
        """Whether the number is a constant of materials of a volume and changes nothing else."""
        own: Any = self._world.models[self._index]
        other: Any = self._model(self._step)
        if not hasattr(own, "table") or own.spec.damping != other.spec.damping or own.table.shape != other.table.shape:
            return False
        masses = own.mass, other.mass
        return np.array_equal(*(mass.nodal for mass in masses)) and all(mass.blocks is None for mass in masses)

    def add_velocities(self, step: StepAdjoint, ended: Any) -> None:
        """See `Effect.add_velocities`: −y ∂M/∂p (v⁺ − v_f)."""
        y = ended.y[self._index]
        if y is None:
            return
        trial: Any = step.trials[self._index]
        gained = step.bodies.end_velocities()[self._index] - trial.velocities()
        self.derivative -= derivative(lambda s: paired(self._model(s), trial.positions(), y, gained), self._step)

    def _check_shares(self, step: StepAdjoint) -> None:
        """Raise where a number changes how the masses of a body that turns are shared, and with them its rotation."""
        trial: Any = step.trials[self._index]
        shares = []
        for model in (trial.model, self._model(self._step)):
            nodal = getattr(model, "mass", trial.model.mass).nodal
            shares.append(nodal / nodal.sum())
        if np.abs(shares[1] - shares[0]).max() > 1e-9 * shares[0].max():
            raise InputError(
                f"{trial.model.name!r} turns freely, and this number changes how its masses are shared: how its "
                "rotation follows them is not differentiated"
            )

    def add_loss(self, loss: Loss, instant: Instant) -> None:
        """See `Effect.add_loss`."""
        if loss.by_constants:
            self.derivative += derivative(lambda s: loss.at(self._seen(instant, s)), self._step)

    def _seen(self, instant: Instant, s: float) -> Instant:
        models = list(self._world.models)
        models[self._index] = evolve(self._model(s), spec=models[self._index].spec)  # the handle of the body
        return replace(instant, state=evolve(instant.state, world=replace(self._world, models=tuple(models))))

    def _model(self, s: float) -> Model:
        if s not in self._models:
            made = self._change(s)
            self._models[s] = made if isinstance(made, Model) else model_of(self._world, self._index, made)
        return self._models[s]


def paired(model: Model, q: FloatArray, a: FloatArray, b: FloatArray) -> float:
    """aᵀ M(q) b of a body."""
    return 0.5 * float(model.kinetic_energy(q, a + b) - model.kinetic_energy(q, b - a))


class OfFriction(Effect):
    """By the coefficient of friction of pairs, or of a cable whose coefficient is `mu`."""

    def __init__(self, pairs: Sequence[int], mu: float | None = None) -> None:
        super().__init__(())
        self._pairs, self._scale = pairs, 1.0 if mu is None else 1.0 / mu

    def changes(self, k: int, step: StepAdjoint) -> Changes | None:
        """See `Effect.changes`."""
        if step.ends is None:
            return None
        own = np.isin(step.ends.owner, self._pairs)
        return Changes(slice(None), {}, law=np.where(own, self._scale * step.active.by_friction, 0.0)[:, None])

    def add_velocities(self, step: StepAdjoint, ended: Any) -> None:
        """See `Effect.add_velocities`."""
        if ended.friction is not None and step.ends is not None:
            self.derivative -= self._scale * ended.friction[np.isin(step.ends.owner, self._pairs)].sum()


class OfRoute(Effect):
    """By the via points of a cable."""

    def __init__(self, world: World, cable: Any) -> None:
        self._index = world.constraint_index(cable)
        rows: Any = world.constraints[self._index]
        cable = rows.spec  # of a changed world
        points = finite_array("via_points", getattr(cable, "via_points", None), shape=(None, 3))
        super().__init__(points.shape)
        if cable.guide_stiffness:
            raise InputError(
                f"the route of {cable.name!r} is not differentiated: the tube of its guide_stiffness moves with it; "
                "set that to 0, or take differences of pl.changed(world, {route: points})"
            )
        self._step = 1e-2 * STEP * float(np.ptp(points, axis=0).max())
        self._made: list[dict[float, Any]] = []
        for place in np.ndindex(points.shape):
            made = {}
            for times in (1.0, -1.0, 2.0, -2.0):
                moved = points.copy()
                moved[place] += times * self._step
                spec = replace(cable, via_points=moved)
                made[times * self._step] = spec.constraint(rows.key).bound(world.models, stiffens=False)
            self._made.append(made)

    def changes(self, k: int, step: StepAdjoint) -> Changes | None:
        """See `Effect.changes`."""
        assert step.ends is not None
        own = step.info.assembly.slices[self._index]  # type: ignore[union-attr]
        sizes = step.bodies.world.sizes
        ends = np.cumsum((0, *sizes))
        whole = np.zeros((ends[-1] + own.stop - own.start, len(self._made)))
        for column, made in enumerate(self._made):
            whole[:, column] = derivative(partial(self._rows, step, made, own), self._step)
        gap = np.zeros((step.ends.rows.count, len(self._made)))
        gap[own] = whole[ends[-1] :]
        return Changes(slice(None), {i: whole[ends[i] : ends[i + 1]] for i in range(len(sizes))}, gap=gap)

    @staticmethod
    def _rows(step: StepAdjoint, made: dict[float, Any], own: slice, s: float) -> FloatArray:
        """Hᵀλ of all bodies, less what the last tension adds to the forces of a step of one linear solve, and δ of the
        rows `own` of the cable that is `made` for s.
        """
        assert step.ends is not None
        ends, cable = step.ends, made[s]
        view = ends.bodies.view()
        rows = acting = cable.rows_at(view)[0]
        if ends.bodies.scheme.theta != 1.0:  # forces act along the rows of the middle
            acting = cable.rows_at(evolve(view, q=[trial.evaluation_point() for trial in step.trials]))[0]
        pushed, gap = [transposed_product(H, ends.lam[own]) for H in acting.H], rows.gap.copy()
        if ends.ahead is not None:
            gap += sum(H @ dx.ravel() for H, dx in zip(rows.H, ends.ahead, strict=True))
            for k, motion in step.stiffened(cable):
                pushed[k] = pushed[k] - motion.ravel()
        for slip in ends.slips:
            if own.start <= slip.row < own.stop:
                gap[slip.row - own.start] = slip.drop(rows, slip.row - own.start)
        return np.concatenate([*pushed, gap])

    def add_velocities(self, step: StepAdjoint, ended: Any) -> None:
        """See `Effect.add_velocities`: κΔ ∂H y − b ∂H v⁺ + s b ∂H dx/h."""
        if not len(ended.b):
            return
        row = step.info.assembly.slices[self._index].start  # type: ignore[union-attr]
        bodies, view = step.bodies, step.bodies.view()
        along = [
            (0.0 if y is None else ended.impulse[row] * y)
            - ended.b[row] * v
            + ended.rated[row] * bodies.scheme.rate * dx
            for y, v, dx in zip(ended.y, bodies.end_velocities(), bodies.dx, strict=True)
        ]

        def weighed(made: dict[float, Any], s: float) -> float:
            rows = made[s].rows_at(view)[0]
            return float(sum((H @ np.ravel(x))[0] for H, x in zip(rows.H, along, strict=True)))

        made = [derivative(partial(weighed, each), self._step) for each in self._made]
        self.derivative += np.reshape(made, self.derivative.shape)
