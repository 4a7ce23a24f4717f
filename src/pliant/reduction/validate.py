"""Validation of a reduced world against the full one on held-out actuations."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from pliant.core.checks import positive_count
from pliant.core.declared import declared
from pliant.core.errors import InputError
from pliant.core.one_line import one_line
from pliant.core.threads import one_blas_thread
from pliant.core.types import FloatArray, IndexArray
from pliant.reduction.designs import latin_hypercube_levels
from pliant.reduction.experiments import STEPPER
from pliant.reduction.plans import Plan
from pliant.world import State, World
from pliant.world.reduced import Training


@one_line
@dataclass(frozen=True, eq=False)
class Validation:
    """A reduced world beside its full one, over the steps (s,) of held-out runs.

    run
        (s,) index of the run.
    targets
        (runs, actuators) targets of the actuators, m (N, Pa, m³, rad or N·m).
    motion_error, motion
        (s,) largest distance of a node from where the full world has it, and largest displacement of a node from rest
        in the full world, m.
    force_error, force
        (s,) |Σλ − Σλ_full| of all contacts' normal forces, and Σλ_full, N.
    penetration, full_penetration
        (s,) largest penetration in the reduced world, and in the full one, m.
    unknown
        (s,) active contacts outside all modes, treated in full.
    rows, full_rows
        (s,) rows of contacts in the reduced world, and in the full one.
    imbalance
        (s,) relative residual of the full-order model: near 1 the reduced body is far from an equilibrium of the full
        one; nan where a viscoelastic body remembers at few integration points.
    fast_ms, full_ms
        (s,) times of the steps.
    """

    run: IndexArray
    targets: FloatArray
    motion_error: FloatArray
    motion: FloatArray
    force_error: FloatArray
    force: FloatArray
    penetration: FloatArray
    full_penetration: FloatArray
    unknown: IndexArray
    rows: IndexArray
    full_rows: IndexArray
    imbalance: FloatArray
    fast_ms: FloatArray
    full_ms: FloatArray

    @property
    def error(self) -> float:
        """Root mean square of the motion's error over that of the motion."""
        return _relative(self.motion_error, self.motion)

    @property
    def worst(self) -> int:
        """Index of the step with the largest error."""
        return int(self.motion_error.argmax())

    @property
    def speedup(self) -> float:
        """Median time of a full step over that of a reduced one."""
        return float(np.median(self.full_ms) / np.median(self.fast_ms))

    def metrics(self) -> dict[str, float]:
        """The numbers of the table by name."""
        return {
            "runs": len(self.targets),
            "steps": len(self.run),
            "motion_error": self.error,
            "worst_motion_error_mm": 1e3 * float(self.motion_error.max()),
            "worst_run": int(self.run[self.worst]),
            "largest_motion_mm": 1e3 * float(self.motion.max()),
            "force_error": _relative(self.force_error, self.force),
            "max_penetration_mm": 1e3 * float(self.penetration.max()),
            "full_max_penetration_mm": 1e3 * float(self.full_penetration.max()),
            "steps_with_unknown_contacts": int((self.unknown > 0).sum()),
            "rows": float(np.median(self.rows)),
            "full_rows": float(np.median(self.full_rows)),
            "imbalance": float(np.median(self.imbalance)),
            "worst_imbalance": float(self.imbalance.max()),
            "step_ms": float(np.median(self.fast_ms)),
            "worst_step_ms": float(self.fast_ms.max()),
            "full_step_ms": float(np.median(self.full_ms)),
            "speedup": self.speedup,
        }

    def __str__(self) -> str:
        m = self.metrics()
        worst = ", ".join(f"{target:.3g}" for target in self.targets[int(m["worst_run"])])
        lines = [
            f"held-out actuations  {m['runs']} runs, {m['steps']} steps, motions to {m['largest_motion_mm']:.3g} mm",
            f"error of motion      {100 * m['motion_error']:.3g} % (rms), worst {m['worst_motion_error_mm']:.3g} mm "
            f"in run {m['worst_run']}, targets [{worst}]",
            f"error of forces      {100 * m['force_error']:.3g} % (rms of the sum over all contacts)",
            f"penetration          up to {m['max_penetration_mm']:.3g} mm; full {m['full_max_penetration_mm']:.3g} mm",
            f"unknown contacts     in {m['steps_with_unknown_contacts']} steps",
            f"rows of contacts     {m['rows']:g} (median); full {m['full_rows']:g}",
            "out of balance       not known: branches are known at the integration points in use alone"
            if np.isnan(m["imbalance"])
            else f"out of balance       {100 * m['imbalance']:.3g} % of the full body's forces (median), worst "
            f"{100 * m['worst_imbalance']:.3g} %",
            f"time of a step       {m['step_ms']:.3g} ms (worst {m['worst_step_ms']:.3g}); full "
            f"{m['full_step_ms']:.3g} ms: {_pace(m['speedup'])}",
        ]
        return "\n".join(lines)


@declared
def validate(
    fast: World, full: World, plan: Plan | None = None, *, runs: int = 4, stepper: Any = None, seed: int = 1
) -> Validation:
    """Errors, worst case and speed of `fast` against `full` on actuations that it was not trained on.

    plan
        What to do; None: `runs` random targets, spread evenly over the range that `fast` was trained in, in as many
        steps a run as there.
    stepper
        None: the one of `experiments`.
    seed
        Of the random targets.
    """
    used = STEPPER if stepper is None else stepper
    todo = held_out_plan(fast, full, runs=positive_count("runs", runs), seed=seed) if plan is None else plan
    own = Plan.of(fast, todo.described())
    columns: dict[str, list[Any]] = {name: [] for name in Validation.__dataclass_fields__ if name != "targets"}
    rest = full.initial_state()
    for run in range(todo.run_count):
        states = [fast.initial_state(), full.initial_state()]
        for step in range(todo.steps):
            cases = zip((fast, full), states, (own, todo), strict=True)
            outcomes = [_timed(used, world, state, asked.controls(run, step)) for world, state, asked in cases]
            states = [state for state, _, _ in outcomes]
            row = {"run": run, "fast_ms": outcomes[0][2], "full_ms": outcomes[1][2], **_compared(outcomes, rest)}
            for name, value in row.items():
                columns[name].append(value)
    return Validation(targets=todo.targets, **{name: np.array(column) for name, column in columns.items()})


def held_out_plan(fast: World, full: World, *, runs: int, seed: int) -> Plan:
    """Random targets for the actuators of `full` within those that `fast` was trained on."""
    trained = next((json.loads(part.plan) for part in fast.reductions if isinstance(part, Training)), None)
    if trained is None:
        raise InputError("this world does not say what it was trained on; give validate() a plan")
    plan = Plan.of(full, trained)
    low, high = plan.targets.min(axis=0), plan.targets.max(axis=0)
    fraction = 0.5 + 0.5 * latin_hypercube_levels(len(plan.actuators), runs, seed)
    return replace(plan, targets=np.minimum(low, 0.0) + fraction * (high - np.minimum(low, 0.0)))


def _timed(stepper: Any, world: World, state: State, controls: Any) -> tuple[State, Any, float]:
    with one_blas_thread():
        start = perf_counter()
        state, info = stepper(world, state, controls)
        return state, info, 1e3 * (perf_counter() - start)


def _compared(outcomes: list[tuple[State, Any, float]], rest: State) -> dict[str, float]:
    (fast, fast_info, _), (full, full_info, _) = outcomes
    forces = [_normal_force(info) for info in (fast_info, full_info)]
    return {
        "motion_error": _farthest(fast, full),
        "motion": _farthest(full, rest),
        "force_error": abs(forces[0] - forces[1]),
        "force": forces[1],
        "penetration": fast_info.penetration,
        "full_penetration": full_info.penetration,
        "unknown": fast_info.unknown_contacts,
        "rows": _contact_rows(fast_info),
        "full_rows": _contact_rows(full_info),
        "imbalance": fast_info.full_order_residual,
    }


def _farthest(one: State, other: State) -> float:
    """Largest distance of the points of all bodies between two states, m."""
    names = [model.name for model in one.world.models]
    return max(float(np.linalg.norm(one.points(name) - other.points(name), axis=1).max()) for name in names)


def _normal_force(info: Any) -> float:
    """Sum of the normal forces of all contacts, N."""
    total = 0.0
    for index, constraint in enumerate(info.world.constraints):
        if constraint.is_contact and info.assembly is not None:
            memory = info.assembly.memories[index]
            forces = memory.forces(info.lam[info.assembly.slices[index]])
            total += float(np.einsum("mi,mi->", forces, memory.contacts.normal))
    return total


def _contact_rows(info: Any) -> int:
    """How many rows the contacts of a step have."""
    if info.assembly is None:
        return 0
    parts = zip(info.world.constraints, info.assembly.slices, strict=False)
    return sum(part.stop - part.start for constraint, part in parts if constraint.is_contact)


def _pace(speedup: float) -> str:
    return f"{speedup:.3g} times faster" if speedup >= 1.0 else f"{1.0 / speedup:.3g} times slower"


def _relative(error: FloatArray, whole: FloatArray) -> float:
    """‖error‖ / ‖whole‖ over all steps; 0 where both are."""
    size = float(np.linalg.norm(whole))
    return float(np.linalg.norm(error)) / size if size else 0.0
