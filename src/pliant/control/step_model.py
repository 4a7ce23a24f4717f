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

from pliant.constraints import forces_of
from pliant.constraints.rows import COMPLIANT
from pliant.control.kinematics import holds
from pliant.core.errors import ConvergenceError, InputError
from pliant.core.types import FloatArray
from pliant.materials import Tangent
from pliant.models.scheme import euler_scheme
from pliant.reduced import SubspaceModel
from pliant.reduced.chart import CurvedChart
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
        if isinstance(model.chart, CurvedChart):
            raise InputError(
                f"{owner} needs linear subspaces, but {model.name!r} moves on a curved one, whose tangent is rough: "
                "reduce it with curvature=False"
            )
    if world.remembers:
        raise InputError(f"a body has a material with memory, whose stresses {owner} does not know")


def mode_count(world: World) -> int:
    """Number of modes of all bodies."""
    return sum(model.subspace.size for model in world.models)  # type: ignore[attr-defined]


class ReducedStep:
    """The linear model of the step of `dt` (s) that ended in `after` under checked `controls`; `watchers` are rows
    beside those of the world. `along` (rows, k) are gradients of all rows by the modes, `held` the rows that hold.
    `workspace` is that of the stepper, which keeps what does not change.
    """

    def __init__(
        self, world: World, after: State, controls: Any, dt: float, watchers: Sequence[Any], workspace: Any = None
    ) -> None:
        moving = StepBodies.begin(world, after, euler_scheme(dt), controls, workspace)
        trials: Any = moving.trials
        systems: Any = moving.linearized(Tangent.EXACT)[0]
        self.dt, self.A = dt, _diagonal([system.A for system in systems])
        self._mass = _diagonal([system.here.mass for system in systems])
        self._resistance = _diagonal([trial.resistance() for trial in trials])
        self.motions = [system.here.motions for system in systems]
        self.assembly = moving.assembled(watchers)
        rows = self.assembly.rows
        self.along = np.hstack([own @ motions for own, motions in zip(rows.H, self.motions, strict=True)])
        stays = holds(rows, forces_of(rows.key, after.keys, after.lam))
        count = len(self.assembly.slices) - len(watchers)
        places = self.assembly.slices[count:]
        self.seen = np.concatenate([np.zeros(0, int), *(np.arange(place.start, place.stop) for place in places)])
        stays[self.seen] = False
        self.held = np.flatnonzero(stays)
        soft = np.where(rows.law[self.held] == COMPLIANT, rows.upper[self.held], 0.0)
        try:
            self._inverse = np.linalg.inv(self.A)
        except np.linalg.LinAlgError as error:
            raise ConvergenceError("the matrix of a predicted step is singular: take a smaller dt") from error
        self._Y = self._inverse @ self.along[self.held].T
        self._W = self.along[self.held] @ self._Y + np.diag(soft)

    def advance(
        self, z: FloatArray, rates: FloatArray, push: FloatArray, gaps: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """z⁺ and its rates, (k, c) each, and λ (held, c) of the rows that hold, under changes of the start, z and
        `rates`, of the forces along the modes, `push`, (k, c) each, and of the targets of these rows, `gaps` (held, c).
        """
        end = self._inverse @ (self._resistance @ z + self._mass @ rates / self.dt + push)
        if not len(self.held):
            return end, (end - z) / self.dt, np.zeros((0, z.shape[1]))
        wanted = -self.along[self.held] @ end + (0.0 if gaps is None else gaps)
        lam = np.linalg.lstsq(self._W, wanted, rcond=1e-10)[0]
        end = end + self._Y @ lam
        return end, (end - z) / self.dt, lam


def step_model(
    world: World, after: State, controls: Any, dt: float, inputs: Sequence[Any], watchers: Sequence[Any],
    workspace: Any = None,
) -> StepModel:  # fmt: skip
    """The linear model of a step by the commands of `inputs`, which are in `controls`, with the outputs `watchers`;
    `workspace` is that of the stepper.
    """
    step = ReducedStep(world, after, controls, dt, watchers, workspace)
    k, count = len(step.A), len(inputs)
    z, rates, push = np.eye(k, 2 * k + count), np.eye(k, 2 * k + count, k), np.zeros((k, 2 * k + count))
    gaps, at = np.zeros((len(step.held), 2 * k + count)), {int(row): place for place, row in enumerate(step.held)}
    for j, each in enumerate(inputs):
        row = step.assembly.slices[world.constraint_index(each)].start
        if controls[each].by_force:
            push[:, 2 * k + j] = step.along[row]
        elif row in at:  # a slack cable changes nothing
            gaps[at[row], 2 * k + j] = 1.0
    ends = np.vstack(step.advance(z, rates, push, gaps)[:2])
    return StepModel(ends[:, : 2 * k], ends[:, 2 * k :], step.along[step.seen])


def _diagonal(blocks: Sequence[FloatArray]) -> FloatArray:
    return blocks[0] if len(blocks) == 1 else np.asarray(linalg.block_diag(*blocks))
