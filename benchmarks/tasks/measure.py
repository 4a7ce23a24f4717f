"""Measuring a step beside its floor, the numeric factorization and one solve of the same matrices in the same run.

Times are processor time of the whole process (all threads), medians over the steps: a busy second core changes them
less than wall-clock time. Step and floor alternate, so that what slows one slows the other, and their ratio stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from time import perf_counter, process_time
from typing import Any

import numpy as np

from benchmarks.tasks.kernel_calls import KernelCalls
from pliant.core.types import FloatArray
from pliant.materials import Tangent
from pliant.models.scheme import euler_scheme
from pliant.models.workspace import Workspace
from pliant.stepping import ImplicitEuler
from pliant.stepping.bodies import StepBodies
from pliant.stepping.session import RowSolver
from pliant.world import State, World

WARM_UP = 3
"""Steps that are not counted: the first one reads kernels from the disk and touches fresh memory."""


OBSERVED = 100
"""Most steps whose calls into kernels are timed."""


@dataclass(frozen=True, eq=False)
class Measurement:
    """Seconds of each step, of its floor and of its stages (steps,), the largest residuals, and the last state.
    `outside` are the seconds of each step outside compiled code, `calls` how often it calls that (steps,).
    """

    step: FloatArray
    step_wall: FloatArray
    floor: FloatArray
    stages: dict[str, FloatArray]
    outside: FloatArray
    calls: FloatArray
    residual: float
    nonlinear_residual: float
    state: State = field(repr=False)

    def joined(self, other: Measurement) -> Measurement:
        """Both measurements of the same task as one."""
        return Measurement(
            step=np.concatenate([self.step, other.step]),
            step_wall=np.concatenate([self.step_wall, other.step_wall]),
            floor=np.concatenate([self.floor, other.floor]),
            stages={name: np.concatenate([seconds, other.stages[name]]) for name, seconds in self.stages.items()},
            outside=np.concatenate([self.outside, other.outside]),
            calls=np.concatenate([self.calls, other.calls]),
            residual=max(self.residual, other.residual),
            nonlinear_residual=max(self.nonlinear_residual, other.nonlinear_residual),
            state=other.state,
        )

    def _kernel_calls(self) -> dict[str, Any]:
        if not len(self.calls):
            return {}
        return {"outside_kernels_ms": _milliseconds(self.outside), "kernel_calls": int(np.median(self.calls))}

    def report(self) -> dict[str, Any]:
        """The part of a bench report that every bench has, times in ms."""
        return {
            "step_ms": _milliseconds(self.step),
            "step_wall_ms": _milliseconds(self.step_wall),
            "floor_ms": _milliseconds(self.floor),
            "floor_ratio": float(np.median(self.step) / np.median(self.floor)),
            "stages_ms": {name: _milliseconds(seconds) for name, seconds in self.stages.items()},
            **self._kernel_calls(),
            "steps": len(self.step),
            "residual": self.residual,
            "nonlinear_residual": self.nonlinear_residual,
            **size_of(self.state.world),
            "rows": len(self.state.lam),
        }


def measure_steps(
    world: World,
    *,
    dt: float,
    steps: int,
    start: State | None = None,
    controls: Mapping[Any, Any] | None = None,
    solver: RowSolver | None = None,
    warm_up: int = WARM_UP,
    observed: int = OBSERVED,
) -> Measurement:
    """Take `steps` steps of implicit Euler with one Newton iteration, timing each of them and its floor.

    Before them `warm_up` steps are not counted. Afterwards more steps, at most `observed`, are taken for the time
    outside kernels (`kernel_calls`), which slows what it observes.
    The same `controls` are given to each step, whose forces `solver` finds. `nonlinear_residual` is the largest
    `info.residual` of the counted steps.
    """
    stepper = ImplicitEuler(dt, solver=solver)
    state = world.initial_state() if start is None else start
    times, walls, floors = [], [], []
    stages: dict[str, list[float]] = {}
    residual = nonlinear = 0.0
    for number in range(warm_up + steps):
        wall, begin = perf_counter(), process_time()
        following, info = stepper(world, state, controls)
        taken, taken_wall = process_time() - begin, perf_counter() - wall
        given = controls if solver is None else {}
        floor = _floor(world, state, dt, given, stepper.workspace, projected=info.tangents_projected > 0)
        if number >= warm_up:
            times.append(taken)
            walls.append(taken_wall)
            floors.append(floor)
            for name, seconds in info.stage_times.items():
                stages.setdefault(name, []).append(seconds)
            residual, nonlinear = max(residual, info.linear_residual), max(nonlinear, info.residual)
        state = following
    by_stage = {name: np.array(seconds) for name, seconds in stages.items()}
    outside, calls = _outside(stepper, world, state, controls, min(steps, observed))
    arrays = np.array(times), np.array(walls), np.array(floors), by_stage, outside, calls
    return Measurement(*arrays, residual, nonlinear, state)


def _outside(
    stepper: ImplicitEuler, world: World, state: State, controls: Mapping[Any, Any] | None, steps: int
) -> tuple[FloatArray, FloatArray]:
    """Seconds outside compiled code, and calls into it, of further steps from `state`, (steps,) each."""
    observer, found = KernelCalls(), []
    for _ in range(steps):
        with observer.observed():
            state, _ = stepper(world, state, controls)
        found.append((observer.outside, observer.count))
    seconds, calls = np.array(found, np.float64).reshape(-1, 2).T
    return seconds, calls


def size_of(world: World) -> dict[str, int]:
    """Nodes, cells (as "tets", whatever their kind) and 3×3 blocks of the matrices of a world."""
    return {
        "nodes": sum(model.mesh.node_count for model in world.volumes),
        "tets": sum(model.mesh.cell_count for model in world.volumes),
        "blocks": sum(model.pattern.block_count for model in world.volumes),
    }


def _floor(
    world: World, state: State, dt: float, controls: Mapping[Any, Any] | None, space: Workspace, *, projected: bool
) -> float:
    """Seconds of the numeric factorization and one solve of the matrices of the step from `state`."""
    tangent = Tangent.PROJECTED if projected else Tangent.WARPED
    systems, _ = StepBodies.begin(world, state, euler_scheme(dt), world.controls(controls), space).linearized(tangent)
    begin = process_time()
    factors = [system.factorize() for system in systems]
    for factor, system in zip(factors, systems, strict=True):
        factor.solve(system.r)
    seconds = process_time() - begin
    for factor, system in zip(factors, systems, strict=True):
        system.release(factor)
    return seconds


def _milliseconds(seconds: Any) -> float:
    return 1e3 * float(np.median(seconds))
