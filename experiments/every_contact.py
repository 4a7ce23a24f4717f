"""The published procedure as a reference: all columns of W for all potential contacts, then projected Gauss–Seidel.

Everything else is this library's: rows, factorization, the columns of W by pruned solves. What it measures is what the
choice of contacts and the solver cost on the same machine; a slower program would make it look worse.

Reference: O. Goury, B. Carrez, C. Duriez, IEEE RA-L 6, 2021, equations 10 to 13.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pliant.constraints.facing import FacingPair
from pliant.core.errors import InputError
from pliant.core.types import FloatArray
from pliant.models.workspace import Workspace
from pliant.solvers.contact import Law, MixedProblem
from pliant.solvers.contact.blocks import Blocks, natural_map
from pliant.solvers.contact.gauss_seidel import gauss_seidel
from pliant.stepping.session import Condensed, DirectSession, Session, Solution, warm_start
from pliant.world import State, World

EVERYWHERE = 10.0
"""A margin that no point is beyond, m."""


def with_every_contact(world: World) -> World:
    """`world` with a row for every potential contact of its facings, however far."""
    constraints = [
        replace(each, margin=EVERYWHERE) if type(each) is FacingPair else each for each in world.constraints
    ]  # fmt: skip
    return replace(world, constraints=tuple(constraints))


@dataclass(frozen=True)
class GaussSeidel:
    """Projected Gauss–Seidel from the last step's forces, as a stepper's `solver`: until the natural map, of rows in
    units of their own compliance, is below `tolerance` of the free gaps (usual 1e-3 … 1e-6), or for `sweeps` sweeps.
    """

    tolerance: float = 1e-4
    sweeps: int = 1000

    def begin(
        self, world: World, state: State, controls: Mapping[Any, Any] | None, workspace: Workspace
    ) -> tuple[dict[Any, Any], Session]:
        """Checked controls, and the solver of one step."""
        return world.controls(controls), _Sweeping(options=self)


@dataclass(frozen=True, eq=False, kw_only=True)
class _Sweeping(DirectSession):
    options: GaussSeidel

    def solve(self, condensed: Condensed) -> Solution:
        """λ (rows,) of all rows, N; the report counts the sweeps."""
        problem, start = condensed.problem, condensed.bodies.start
        imposed = problem.law == Law.IMPOSED
        contacts = np.flatnonzero(problem.law == Law.SIGNORINI)
        if imposed.sum() + len(contacts) < len(imposed):
            raise InputError("the reference knows frictionless contacts and actuators commanded by their force")
        lam = np.where(imposed, problem.target, 0.0)
        free = (problem.delta_free + problem.W @ lam - problem.target)[contacts]
        before = warm_start(start, condensed.assembly.rows.key)
        lam[contacts], sweeps = self._swept(problem, contacts, free, None if before is None else before[contacts])
        return Solution(lam, condensed.bodies, self, sweeps)

    def _swept(
        self, problem: MixedProblem, contacts: Any, free: FloatArray, before: FloatArray | None
    ) -> tuple[FloatArray, int]:
        """Forces of the contacts, N, and how many sweeps they took."""
        D = problem.W.diagonal()[contacts] ** -0.5
        W = np.ascontiguousarray(problem.W[np.ix_(contacts, contacts)].T * D[:, None] * D)
        q = free * D
        count = len(contacts)
        blocks = Blocks(np.zeros(0, np.int64), np.zeros(0), np.arange(count), np.zeros(count), np.full(count, np.inf))
        r = np.zeros(count) if before is None else np.maximum(before / D, 0.0)
        u = W @ r + q
        limit = self.options.tolerance * max(float(np.linalg.norm(np.minimum(q, 0.0))), 1e-12)
        sweep = 0
        while sweep < self.options.sweeps:
            sweep += 1
            gauss_seidel(W, r, u, blocks, 1)
            if natural_map(r, u, blocks, np.empty(count)) <= limit:
                break
        forces: FloatArray = r * D
        return forces, sweep
