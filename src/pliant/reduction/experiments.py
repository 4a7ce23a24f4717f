"""Run a plan and record everything: the offline experiments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pliant.constraints.contact_memory import ContactMemory
from pliant.core.declared import declared
from pliant.core.errors import InputError
from pliant.core.provenance import provenance
from pliant.core.types import IndexArray
from pliant.reduction.plans import Plan
from pliant.reduction.snapshots import ROWS, STEPS, Snapshots
from pliant.reduction.spread import spread_forces
from pliant.solvers.contact import Law
from pliant.stepping import QuasiStatic, StepInfo
from pliant.sweep import digest_of, run, world_digest
from pliant.world import World

STEPPER = QuasiStatic(newton_iterations=3)
"""The default: three linear solves a step, each with all contacts. It follows a robot through closing contacts, where
iteration to a tolerance may alternate between two contact sets; `Snapshots.residual` is the remaining imbalance.
"""


@declared
def experiments(
    world: World, plan: Plan, *, stepper: Any = None, folder: str | Path | None = None,
    on: str | None = None, workers: int | None = None, progress: bool | None = None, spread: bool = True,
) -> Snapshots:  # fmt: skip
    """Carry out `plan` in `world`, every run from rest, and record every step.

    stepper
        None: `pl.QuasiStatic(newton_iterations=3)`; `pl.ImplicitEuler(dt)` records motion with inertia.
    folder
        Where finished runs are kept, and found when the experiments are started again; None: nowhere.
    on, workers, progress
        A cluster, or processes of this machine, and whether to show a bar; see `pl.sweep.run`.
    spread
        Record the minimum-norm contact forces with the same generalized force; those of the solver are not unique and
        compress badly. Contacts with friction keep them. See `pliant.reduction.spread`.
    """
    present = {id(getattr(constraint, "spec", None)) for constraint in world.constraints}
    for actuator in plan.actuators:
        if id(actuator) not in present:
            raise InputError(f"{actuator.name!r} of the plan is not an actuator of this world; plan for this world")
    used = STEPPER if stepper is None else stepper
    plan.check_rates(getattr(used, "dt", None))
    identity = {} if folder is None else {
        "world": world_digest(world), "plan": plan.digest(), "stepper": digest_of([repr(used), spread])
    }  # fmt: skip
    cases = [{"run": index, "targets": targets} for index, targets in enumerate(plan.targets.tolist())]

    def task(case: dict[str, Any]) -> dict[str, Any]:
        return recorded(world, plan, case["run"], used, spread=spread)

    results = run(task, cases, folder=folder, identity=identity, on=on, workers=workers, progress=progress)
    origin = {"plan": plan.described(), "stepper": repr(used), "digests": identity, **provenance()}
    return _joined(world, results, origin)


def recorded(world: World, plan: Plan, index: int, stepper: Any, *, spread: bool = True) -> dict[str, Any]:
    """Run `index` of a plan as arrays; see `Snapshots`, and `experiments` for `spread`."""
    state = world.initial_state()
    steps: list[dict[str, Any]] = []
    for step in range(plan.steps):
        state, info = stepper(world, state, plan.controls(index, step))
        pairs = np.column_stack(info.actuation(plan.actuators))
        q = {f"q_{k}": x for k, x in enumerate(state.q)}
        steps.append({"actuation": pairs, "residual": info.residual, **q, **_rows(info, spread)})
    rows = {name: np.concatenate([one[name] for one in steps]) for name in ROWS}
    counts = np.array([len(one["keys"]) for one in steps], np.int64)
    shapes = {name: np.stack([one[name] for one in steps]) for name in steps[0] if name not in rows}
    origin = {"run": np.full(plan.steps, index, np.int64), "step": np.arange(plan.steps, dtype=np.int64)}
    return {**shapes, **rows, **origin, "counts": counts}


def _rows(info: StepInfo, spread: bool) -> dict[str, Any]:
    """Keys, λ, constraints and kinds of the rows of a step."""
    assert info.assembly is not None
    assert info.lam is not None
    rows, slices = info.assembly.rows, info.assembly.slices
    sizes = [part.stop - part.start for part in slices]
    constraint: IndexArray = np.repeat(np.arange(len(slices), dtype=np.int64), sizes)
    within = np.arange(rows.count) - np.repeat([part.start for part in slices], sizes)
    normal = (rows.law != Law.COULOMB) | (within % 3 == 0)  # a contact with friction has three rows, its normal first
    nodes, weights = np.full((rows.count, 2, 3), -1, np.int32), np.zeros((rows.count, 2, 3))
    for part, memory in zip(slices, info.assembly.memories, strict=True):
        if type(memory) is ContactMemory and memory.contacts.count:
            contacts = memory.contacts
            each = (part.stop - part.start) // contacts.count
            nodes[part] = np.repeat(np.stack([contacts.nodes_a, contacts.nodes_b], axis=1), each, axis=0)
            weights[part] = np.repeat(np.stack([contacts.weights_a, contacts.weights_b], axis=1), each, axis=0)
    lam = spread_forces(info) if spread else np.asarray(info.lam)
    own = {"keys": rows.key.astype(np.int64), "lam": lam, "maker": constraint, "normal": normal}
    return own | {"nodes": nodes, "weights": weights}


def _joined(world: World, results: list[dict[str, Any]], origin: dict[str, Any]) -> Snapshots:
    def all_of(name: str) -> Any:
        return np.concatenate([result[name] for result in results])

    return Snapshots(
        bodies=tuple(model.name for model in world.models),
        makers=tuple(constraint.name for constraint in world.constraints),
        q=tuple(all_of(f"q_{k}") for k in range(len(world.models))),
        starts=np.concatenate([[0], np.cumsum(all_of("counts"))]).astype(np.int64),
        provenance=origin,
        **{name: all_of(name) for name in (*STEPS, *ROWS)},
    )
