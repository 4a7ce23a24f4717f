"""The load path of a quasi-static solve: what every command, load and obstacle does between the start and the end.

The path has one parameter s in [0, 1]. Commands of actuators go from what the actuator does in the start state, its
displacement δ or its force λ, to what it is asked for. Supports move by the fraction s of their displacement,
obstacles to where they are at the time t + s Δt. Follower pressures grow with s; so do gravity and dead loads where
there are rods or beams, from the fraction of them that the start state carries. What is left out of balance in the
start state is balanced by a fictitious force (1 − s) r₀, which vanishes at the end: gravity, dead loads, and
the forces of whatever constrained the bodies before. At s = 0 the start state is an equilibrium, at s = 1 the problem
is the true one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from pliant.actuators.drive import ActuatorRows
from pliant.actuators.limits import FREE, Command
from pliant.constraints import forces_of
from pliant.core.arrays import transposed_product
from pliant.core.immutable import evolve
from pliant.core.types import FloatArray
from pliant.models.scheme import Scheme, static_scheme
from pliant.models.volume import PressureLoad
from pliant.models.volume.loads import given_wrench
from pliant.models.workspace import Workspace
from pliant.stepping.bodies import StepBodies
from pliant.world import State, World
from pliant.world.world import TIMED

_SAME = 1e-9
"""Relative difference of a value below which the start state has it already."""
_ROUNDING = 8.0 * float(np.finfo(np.float64).eps)
"""The same as a fraction of the coordinates: a value of zero has no size of its own."""


class LoadPath:
    """Controls, time and fictitious force along the load path from `state` to the controls `values`. `instantaneous`
    and `coarse` are those of the scheme and of the bodies of its increments.
    """

    def __init__(
        self,
        world: World,
        state: State,
        values: Mapping[Any, Any],
        interval: float,
        workspace: Workspace,
        *,
        instantaneous: bool = False,
        coarse: bool = False,
    ) -> None:
        self._world, self._state = world, state
        self._interval, self._workspace = interval, workspace
        self._instantaneous, self._coarse = instantaneous, coarse
        self._values = {handle: value for handle, value in values.items() if handle != TIMED}
        self._begin: dict[Any, tuple[Command, float]] = {}
        for index, rows in enumerate(world.constraints):
            if isinstance(rows, ActuatorRows):
                self._note(index, rows)
            elif rows.prescribes:
                self._note_value(rows)
        self._pressures: dict[Any, FloatArray] = {
            load: np.asarray(values.get(load, load.value)) for load in world.handles if isinstance(load, PressureLoad)
        }
        self._slender = any(model.spec.slender for model in world.models)
        self._wrenches = {
            load: given_wrench(load, values) for load in world.handles if hasattr(load, "wrench") and load.body.slender
        }
        self._begun = 0.0
        self._start_residuals: tuple[FloatArray, ...] | None = None

    @property
    def start(self) -> State:
        """The state in which the path begins."""
        return self._state

    @property
    def commanded(self) -> bool:
        """Whether commands of actuators change along the path."""
        return bool(self._begin)

    def values(self, s: float) -> dict[Any, Any]:
        """The controls at the parameter s."""
        made = dict(self._values)
        if s >= 1.0:
            return made
        for handle, (command, begin) in self._begin.items():
            made[handle] = replace(command, amount=begin + s * (command.amount - begin))
        for load, pressure in self._pressures.items():
            made[load] = np.asarray(s * pressure)
        if self._slender:
            self._scale_loads(made, self._begun + s * (1.0 - self._begun))
        return made

    def _scale_loads(self, made: dict[Any, Any], fraction: float) -> None:
        """Scale gravity and the dead loads of slender bodies in the controls `made`. They have a stiffness in the
        coordinates of a rod, which a fictitious force would leave in full at the start.
        """
        made["gravity"] = fraction * np.asarray(self._values.get("gravity", self._world.gravity))
        for load, wrench in self._wrenches.items():
            made[load] = fraction * wrench

    def described(self, s: float) -> str:
        """The largest commands of actuators and follower pressures at the parameter s, three at most, with their names
        and units; empty where there are none.
        """
        found: list[tuple[float, str]] = []
        for handle, (command, begin) in self._begin.items():
            amount = begin + s * (command.amount - begin)
            unit = handle.kinds[1 if command.by_force else 0][1] if hasattr(handle, "kinds") else ""
            found.append((abs(s * (command.amount - begin)), f"{handle.name!r} at {amount:.4g} {unit}".rstrip()))
        for load, pressure in self._pressures.items():
            most = s * float(np.ravel(pressure)[np.argmax(np.abs(pressure))])
            found.append((abs(most), f"pressure on {load.body.name!r} at {most:.4g} Pa"))
        found.sort(key=lambda pair: -pair[0])
        return ", ".join(text for _, text in found[:3])

    def scheme(self, from_time: float, s: float) -> Scheme:
        """The quasi-static scheme of an increment from the time `from_time` (s) to the parameter s."""
        interval = max(self._state.time + s * self._interval - from_time, 0.0)
        return static_scheme(interval, instantaneous=self._instantaneous)

    def increment(self, state: State, reached: float, end: float) -> StepBodies:
        """The increment from `state`, which is at the parameter `reached`, to `end`."""
        scheme = self.scheme(state.time, end)
        begun = self.start_residuals if end < 1.0 else ()  # before the values: it finds what the start state carries
        bodies = StepBodies.begin(self._world, state, scheme, self.values(end), self._workspace)
        bodies = evolve(bodies, coarse=self._coarse)
        if end >= 1.0:
            return bodies
        force = tuple((1.0 - end) * r for r in begun)
        return bodies.loaded((end - reached) / (1.0 - reached)).without(force)

    @property
    def start_residuals(self) -> tuple[FloatArray, ...]:
        """The residual r₀ of each body in the start state, with the controls at s = 0 and the last constraint forces,
        of the shape of its dx, N (and N·m).
        """
        if self._start_residuals is None:
            if self._slender:
                self._begun = self._carried()
            self._start_residuals = self._residuals(self.values(0.0))
        return self._start_residuals

    def loaded_residuals(self) -> tuple[FloatArray, ...]:
        """The same under gravity and dead loads in full."""
        values = self.values(0.0)
        if self._slender:
            self._scale_loads(values, 1.0)
        return self._residuals(values)

    def _residuals(self, values: dict[Any, Any]) -> tuple[FloatArray, ...]:
        """The residuals in the start state under the controls `values`, with the last constraint forces."""
        state = self._state
        scheme = static_scheme(0.0, instantaneous=self._instantaneous)
        bodies = StepBodies.begin(self._world, state, scheme, values, self._workspace)
        residuals = list(bodies.forces().r)
        if state.keys is not None and len(state.lam):
            rows = bodies.assembled().rows
            lam = forces_of(rows.key, state.keys, state.lam)
            for k, H in enumerate(rows.H):
                residuals[k] = residuals[k] + transposed_product(H, lam).reshape(residuals[k].shape)
        return tuple(residuals)

    def _carried(self) -> float:
        """The fraction of gravity and dead loads, 0 to 1, that the start state carries: 0 where it is free of stress, 1
        where it is their equilibrium.
        """
        without, loaded = self.values(0.0), self.values(0.0)
        self._scale_loads(without, 0.0)
        self._scale_loads(loaded, 1.0)
        work = square = 0.0
        for model, r, there in zip(self._world.models, self._residuals(without), self._residuals(loaded), strict=True):
            change = np.where(model.constrained, 0.0, there - r)
            work, square = work - float(np.vdot(r, change)), square + float(np.vdot(change, change))
        return min(max(work / square, 0.0), 1.0) if square else 0.0

    def _note_value(self, rows: Any) -> None:
        """Remember the value of a constraint at the start, where it has to change."""
        command = self._values.get(rows.handle) or Command(by_force=False, amount=rows.spec.value)
        begin = float(rows.displacement(self._state.q))
        rounding = _ROUNDING * max(float(np.abs(q).max(initial=0.0)) for q in self._state.q)
        if abs(command.amount - begin) > _SAME * max(abs(command.amount), abs(begin)) + rounding:
            self._begin[rows.handle] = (command, begin)

    def _note(self, index: int, rows: ActuatorRows) -> None:
        """Remember what an actuator does at the start; one without a command lets its force go."""
        state, handle = self._state, rows.handle
        last = float(forces_of(np.array([rows.key]), state.keys, state.lam)[0])
        command = self._values.get(handle)
        if command is None:
            least = float(getattr(handle, "min_force", 0.0))
            idle = least if np.isfinite(least) and least > 0.0 else 0.0  # a cable keeps its least tension
            if last != idle:
                self._begin[handle] = (replace(FREE, amount=idle), last)
            return
        if not isinstance(command, Command) or command.for_good:
            return
        if command.by_force:
            self._begin[handle] = (command, last)
            return
        self._begin[handle] = (command, displacement_in(state, index, rows))


def displacement_in(state: State, index: int, rows: Any) -> float:
    """Displacement of the actuator of `rows`, constraint `index` of the world, in `state`, m (m³, rad)."""
    memory = state.memories[index] if index < len(state.memories) else None
    angle = getattr(memory, "angle", None)
    return float(rows.displacement(state.q)) if angle is None else float(angle)
