"""The linear model of one step of a reduced world, from its own small matrices.

Implicit Euler takes the coordinates z of the modes and their rates to those of the next instant. About a step that
ended at z⁺ with A = M/h² + D/h + K of the motions there, rows H_h that hold and rows H_f commanded by force,

    A δz⁺ = (M/h² + D/h) δz + M/h δż + H_fᵀ δu_f + H_hᵀ δλ,     H_h δz⁺ = E δu_d,     δż⁺ = (δz⁺ − δz)/h

so that δ(z⁺, ż⁺) = F δ(z, ż) + G δu; C reads the outputs from z⁺. All are dense and of the size of the modes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from pliant.actuators.limits import Command
from pliant.constraints import forces_of
from pliant.constraints.rows import COMPLIANT
from pliant.control.kinematics import holds
from pliant.core.errors import ConvergenceError, InputError
from pliant.core.types import FloatArray
from pliant.materials import Tangent
from pliant.models.scheme import euler_scheme
from pliant.reduced import SubspaceModel
from pliant.stepping.bodies import StepBodies
from pliant.world import State, World


class StepModel(NamedTuple):
    """F (2 k, 2 k), G (2 k, inputs) and C (outputs, k) of a world of k modes."""

    F: FloatArray
    G: FloatArray
    C: FloatArray


def check_reduced(world: World, owner: str) -> None:
    """Raise where a body of `world` is not reduced to modes, or remembers."""
    for model in world.models:
        if not isinstance(model, SubspaceModel):
            raise InputError(
                f"{owner} needs a world of few unknowns, but {model.name!r} is not reduced: pl.reduction.reduce(world, "
                "plan, motion_tolerance=…)"
            )
        if model.chart.rigid:
            raise InputError(f"{owner} needs bodies with supports, but {model.name!r} is free")
    if world.remembers:
        raise InputError(f"a body has a material with memory, whose stresses {owner} does not know")


def mode_count(world: World) -> int:
    """Number of modes of all bodies."""
    return sum(model.subspace.size for model in world.models)  # type: ignore[attr-defined]


def step_model(
    world: World, after: State, controls: Any, dt: float, inputs: Sequence[Any], watchers: Sequence[Any]
) -> StepModel:
    """The linear model of the step of `dt` (s) that ended in `after` under checked `controls`. `inputs` are actuators
    with a command in them, `watchers` the rows of the outputs.
    """
    moving = StepBodies.begin(world, after, euler_scheme(dt), controls)
    trials: Any = moving.trials
    systems: Any = moving.linearized(Tangent.EXACT)[0]
    A = _diagonal([system.A for system in systems])
    M = _diagonal([system.here.mass for system in systems])
    R = _diagonal([trial.resistance() for trial in trials])
    assembly = moving.assembled(watchers)
    rows = assembly.rows
    along = np.hstack([own @ system.here.motions for own, system in zip(rows.H, systems, strict=True)])
    stays = holds(rows, forces_of(rows.key, after.keys, after.lam))
    driven = np.array([assembly.slices[world.constraint_index(each)].start for each in inputs], int)
    by_force = np.array([isinstance(c, Command) and c.by_force for c in map(controls.get, inputs)], bool)
    places = assembly.slices[len(assembly.slices) - len(watchers) :]
    seen = np.concatenate([np.arange(place.start, place.stop) for place in places])
    stays[seen] = False
    stays[driven[by_force]] = False
    k, held = len(A), np.flatnonzero(stays)
    right = np.hstack([R, M / dt, (along[driven] * by_force[:, None]).T, along[held].T])
    try:
        solved = np.linalg.solve(A, right)
    except np.linalg.LinAlgError as error:
        raise ConvergenceError("the matrix of a predicted step is singular: take a smaller dt") from error
    free, Y = solved[:, : right.shape[1] - len(held)], solved[:, right.shape[1] - len(held) :]
    if len(held):
        W = along[held] @ Y + np.diag(np.where(rows.law[held] == COMPLIANT, rows.upper[held], 0.0))
        wanted = -along[held] @ free
        at = {int(row): place for place, row in enumerate(held)}
        for j, row in enumerate(driven):
            if not by_force[j] and int(row) in at:
                wanted[at[int(row)], 2 * k + j] += 1.0
        free = free + Y @ np.linalg.lstsq(W, wanted, rcond=1e-10)[0]
    ends = np.vstack([free, free / dt])
    ends[k:, :k] -= np.eye(k) / dt
    return StepModel(ends[:, : 2 * k], ends[:, 2 * k :], along[seen])


def _diagonal(blocks: Sequence[FloatArray]) -> FloatArray:
    return blocks[0] if len(blocks) == 1 else np.asarray(linalg.block_diag(*blocks))

