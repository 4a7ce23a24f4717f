"""How a step in motion carries errors on: of positions, velocities and forces at its start to those at its end.

Of a reduced world by its own small matrices (`control.step_model`), over the coordinates of the modes; of others by the
exact tangent of the step (`gradients.tangent`), over the coordinates of a step's motion. Errors are columns, one below
the other: positions, velocities.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from pliant.constraints import Assembly
from pliant.control.step_model import ReducedStep, check_reduced, mode_count
from pliant.core.errors import InputError
from pliant.core.immutable import evolve
from pliant.core.types import FloatArray
from pliant.estimation.loads import Place
from pliant.estimation.sensors import Sensors
from pliant.gradients.effects import Changes
from pliant.gradients.tangent import StepTangent
from pliant.identification.measurements import ActuatorForce
from pliant.models.scheme import STATIC_SCHEME
from pliant.reduced import SubspaceModel
from pliant.stepping import StepInfo
from pliant.stepping.bodies import StepBodies
from pliant.world import State, World


class Motion(Protocol):
    """The errors of a world."""

    size: int
    """Number of positions."""

    def carried(
        self, info: StepInfo, sensors: Sensors, places: Sequence[tuple[Place, FloatArray]], errors: FloatArray,
        forces: FloatArray,
    ) -> tuple[FloatArray, FloatArray]:  # fmt: skip
        """Errors (2 size, c) at the end of a step and those of the readings (s, c), from `errors` (2 size, c) at its
        start and of the components of forces (k, c) at `places` along their directions.
        """

    def corrected(self, state: State, change: FloatArray) -> State:
        """The state with a change (2 size,) of positions and velocities."""

    def of_points(self, state: State, index: int, rows: Any) -> FloatArray:
        """Rows over the unknowns of a body, as rows over the positions, (m, size)."""


def motion_of(world: World) -> Motion:
    """The errors of a world."""
    reduced = [isinstance(model, SubspaceModel) for model in world.models]
    if all(reduced):
        return ReducedMotion(world)
    if any(reduced):
        raise InputError("a filter takes worlds whose volumes are all reduced, or none: reduce the others too")
    if world.reductions:
        raise InputError("a filter does not know reduced contacts: take the world that was reduced")
    return FullMotion(world)


class ReducedMotion:
    """Over the modes of all bodies."""

    def __init__(self, world: World) -> None:
        check_reduced(world, "a filter")
        self.world, self.size = world, mode_count(world)

    def carried(
        self, info: StepInfo, sensors: Sensors, places: Sequence[tuple[Place, FloatArray]], errors: FloatArray,
        forces: FloatArray,
    ) -> tuple[FloatArray, FloatArray]:  # fmt: skip
        """See `Motion.carried`."""
        after, bodies = info.advanced, info.step.bodies
        step = ReducedStep(self.world, after, bodies.controls, bodies.scheme.dt, list(sensors.markers.values()))
        push = np.zeros((self.size, errors.shape[1]))
        at = 0
        for place, directions in places:
            rows = place.map.pull_back_along(after.q[place.index], directions[None])
            push[self._own(place.index)] += (rows @ step.motions[place.index]).T @ forces[at : at + len(directions)]
            at += len(directions)
        end, rates, lam = step.advance(errors[: self.size], errors[self.size :], push)
        held = {int(row): k for k, row in enumerate(step.held)}
        seen, made = iter(step.along[step.seen] @ end), []
        for each in sensors.measurements:
            if each in sensors.markers:
                made += [next(seen) for _ in range(sensors.size(each))]
                continue
            row = step.assembly.slices[sensors.actuators[each]].start
            if isinstance(each, ActuatorForce):
                made.append(lam[held[row]] if row in held else np.zeros(errors.shape[1]))
            else:
                made.append(np.zeros(errors.shape[1]) if row in held else step.along[row] @ end)
        return np.vstack([end, rates]), np.array(made)

    def corrected(self, state: State, change: FloatArray) -> State:
        """See `Motion.corrected`."""
        q, v = [], []
        for index, model in enumerate(self.world.models):
            chart: Any = model.chart  # type: ignore[attr-defined]
            here, own = chart.at(state.q[index]), self._own(index)
            rates = slice(self.size + own.start, self.size + own.stop)
            moved = (here.motions @ change[own]).reshape(-1, 3)
            q.append(chart.moved(state.q[index], moved, state.q[index]))
            v.append(state.v[index] + (here.motions @ change[rates]).reshape(-1, 3))
        return evolve(state, q=tuple(q), v=tuple(v))

    def of_points(self, state: State, index: int, rows: Any) -> FloatArray:
        """See `Motion.of_points`."""
        made = np.zeros((rows.shape[0], self.size))
        chart: Any = self.world.models[index].chart  # type: ignore[attr-defined]
        made[:, self._own(index)] = rows @ chart.at(state.q[index]).motions
        return made

    def _own(self, index: int) -> slice:
        sizes = [model.subspace.size for model in self.world.models]  # type: ignore[attr-defined]
        return slice(sum(sizes[:index]), sum(sizes[: index + 1]))


class FullMotion:
    """Over the unknowns of all bodies."""

    def __init__(self, world: World) -> None:
        self.world, self.size = world, sum(world.sizes)
        self._ends = np.cumsum(world.sizes)[:-1]

    def carried(
        self, info: StepInfo, sensors: Sensors, places: Sequence[tuple[Place, FloatArray]], errors: FloatArray,
        forces: FloatArray,
    ) -> tuple[FloatArray, FloatArray]:  # fmt: skip
        """See `Motion.carried`."""
        after, count = info.advanced, errors.shape[1]
        step = StepTangent(_own_rows(info))
        push: dict[int, FloatArray] = {}
        at = 0
        for place, directions in places:
            rows = place.map.pull_back_along(after.q[place.index], directions[None])
            made = rows.T @ forces[at : at + len(directions)]
            push[place.index] = push.get(place.index, 0.0) + made
            at += len(directions)
        changes = [Changes(slice(0, count), push)] if push else []
        q, v = (np.split(part, self._ends) for part in np.split(errors, 2))
        end = step.advance(q, v, changes, [0])
        step.release()
        found = []
        for each in sensors.measurements:
            if each in sensors.markers:
                own = sensors.markers[each]
                found.append(own.map.pull_back(after.q[own.index], own.axes) @ end.q[own.index])
                continue
            assert info.assembly is not None
            row = info.assembly.slices[sensors.actuators[each]].start
            found.append((end.lam if isinstance(each, ActuatorForce) else end.gap)[row : row + 1])
        return np.vstack([*end.q, *end.v]), np.vstack(found)

    def corrected(self, state: State, change: FloatArray) -> State:
        """See `Motion.corrected`."""
        trials = StepBodies.begin(self.world, state, STATIC_SCHEME, self.world.controls(None)).trials
        q, v = (np.split(part, self._ends) for part in np.split(change, 2))
        moved = [t.displaced(x, dx.reshape(t.dx.shape)) for t, x, dx in zip(trials, state.q, q, strict=True)]
        return evolve(
            state, q=tuple(moved), v=tuple(old + new.reshape(old.shape) for old, new in zip(state.v, v, strict=True))
        )

    def of_points(self, state: State, index: int, rows: Any) -> FloatArray:
        """See `Motion.of_points`."""
        made = np.zeros((rows.shape[0], self.size))
        first = sum(self.world.sizes[:index])
        made[:, first : first + rows.shape[1]] = rows.toarray()
        return made


def _own_rows(info: StepInfo) -> StepInfo:
    """What a step reports, without the row of its loads, whose force nothing changes."""
    assembly, count = info.assembly, len(info.world.constraints)
    assert assembly is not None
    rows = sum(own.stop - own.start for own in assembly.slices[:count])
    kept = Assembly(assembly.rows.part(slice(0, rows)), assembly.slices[:count], assembly.memories[:count])
    assert info.lam is not None
    lam = info.lam[:rows]
    return evolve(info, step=evolve(info.step, assembly=kept, lam=lam), lam=lam)
