"""Which rows turn with volumes in a way that the matrices of a step do not hold: the rows themselves are asked.

Most rows of volumes change as their geometric stiffness K says, or, in contact with planes, not at all. Volumes are
moved a little along a random direction y, and what changes is compared: ∂(Hᵀλ)/∂q y with −K y, and ∂δ/∂q y with H y.
Constraints of which this is not true, and those between a volume and a body that turns, are differentiated by
differences of their rows (`gradients.turning`); what these do not explain either is an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from pliant.core.arrays import transposed_product
from pliant.core.errors import InputError
from pliant.core.types import BoolArray, FloatArray
from pliant.gradients.rows import EndRows
from pliant.gradients.turning import TurningRows
from pliant.models.model import size_of
from pliant.solvers.contact import Law

WRONG = 1e-3
"""Relative difference from which on a derivative is not known."""
NEGLIGIBLE = 1e-8
"""Part of a change that does not count."""
ROUNDING = 1e-10
"""Change of forces, relative to them, that rounding leaves for steps of 1e-6."""


@dataclass(frozen=True, eq=False)
class Probe:
    """What rows do where the volumes move by `along` (y, of the shape of dx of each body): the change of Hᵀλ of every
    body and its size, by constraint, and that of δ (rows,); of the constraints `open` that push volumes.
    """

    ends: EndRows
    along: list[FloatArray]
    open: list[int]
    force: dict[int, list[FloatArray]]
    size: dict[int, float]
    gap: FloatArray

    @classmethod
    def of(cls, ends: EndRows, volumes: Sequence[int], decided: Mapping[int, bool]) -> Probe:
        """The rows of constraints that push `volumes`, but for those that are `decided` to be known."""
        touched = np.zeros(ends.rows.count, bool)
        for k in volumes:
            touched |= np.diff(sparse.csr_matrix(ends.rows.H[k]).indptr) > 0
        pushing = np.unique(ends.owner[touched & (ends.lam != 0.0)])
        found = [int(index) for index in pushing if not decided.get(int(index), False)]
        along = direction(ends, volumes)
        force: dict[int, list[FloatArray]] = {}
        size: dict[int, float] = {}
        gap = np.zeros(ends.rows.count)
        if found:
            picked = np.flatnonzero(np.isin(ends.owner, found) & _matters(ends))
            by: Any = "end" if ends.ahead is None else "whole"
            moved = [ends.shifted(by, {k: s * along[k] for k in volumes}) for s in (1.0, -1.0)]
            sides = [ends.some(bodies, found, picked) for bodies in moved]
            gap[picked] = 0.5 * (sides[0][1] - sides[1][1])
            for index in found:
                lam = np.where(ends.owner[picked] == index, ends.lam[picked], 0.0)
                pair = [[transposed_product(h, lam) for h in side[0]] for side in sides]
                force[index] = [0.5 * (a - b) for a, b in zip(*pair, strict=True)]
                size[index] = float(np.sqrt(sum(np.vdot(x, x) for x in pair[0])))
        return cls(ends, along, found, force, size, gap)

    def turning(
        self, stiffness: Mapping[int, Mapping[int, FloatArray]], G: Sequence[sparse.csr_matrix], volumes: Sequence[int]
    ) -> list[int]:
        """The constraints that turn, given K y of volumes by constraint and volume, and ∂δ/∂q `G` of all bodies."""
        moved = sum(G[k] @ self.along[k].ravel() for k in volumes)
        made = []
        touched = {k: np.diff(sparse.csr_matrix(h).indptr) > 0 for k, h in enumerate(self.ends.rows.H)}
        for index in self.open:
            own = self.ends.owner == index
            mixed = any(own[touched[k]].any() for k in touched if k not in volumes)
            mixed = mixed or (self.ends.predicted and self.ends.bodies.world.constraints[index].is_contact)
            known = stiffness.get(index, {})
            wrong = any(
                _differs(self.force[index][k], -known[k].ravel() if k in known else 0.0, self.size[index])
                for k in volumes
            )
            if mixed or wrong or _off(self.gap, moved, own & _matters(self.ends)):
                made.append(index)
        return made

    def check(self, turning: TurningRows, constraints: Sequence[int]) -> None:
        """Raise an `InputError` where the derivatives of the constraints that turn do not explain their change."""
        moved = np.zeros(self.ends.rows.count)
        for k, G in turning.gap.items():
            moved += G @ self.along[k].ravel()
        which = [index for index in constraints if _off(self.gap, moved, (self.ends.owner == index) & turning.which)]
        for j in range(len(self.along)):
            change = sum(self.force[index][j] for index in constraints)
            known = sum(X @ self.along[k].ravel() for (body, k), X in turning.push.items() if body == j)
            if _differs(change, known, sum(self.size[index] for index in constraints)):
                which = which or list(constraints)
        if which:
            names = ", ".join(repr(self.ends.bodies.world.constraints[index].name) for index in which)
            raise InputError(
                f"a contact or a path of {names} is about to be replaced by another where the step ended, or follows "
                "nodes that it does not touch: there the step has no derivative that is known; change the start or the "
                "controls a little"
            )

    def follows_start(
        self, constraints: Sequence[int], volumes: Sequence[int], H: Sequence[sparse.csr_matrix], slip: BoolArray
    ) -> bool:
        """Whether rows of `constraints` depend on the start of the step, at a fixed end, by more than the slip, which
        the rows `slip` (rows,) count from there; H are the rows of all bodies.
        """
        ends, along = self.ends, self.along
        picked = np.flatnonzero(np.isin(ends.owner, constraints) & _matters(ends))
        moved = [ends.shifted("start", {k: s * along[k] for k in volumes}) for s in (1.0, -1.0)]
        plus, minus = (ends.some(bodies, constraints, picked) for bodies in moved)
        whole = sum(H[k] @ along[k].ravel() for k in volumes)[picked]
        off = 0.5 * (plus[1] - minus[1]) + np.where(slip[picked], whole, 0.0)
        if len(off) and np.abs(off).max() > NEGLIGIBLE * np.abs(whole).max():
            return True
        size = sum(self.size[index] for index in constraints)
        for j, (one, other) in enumerate(zip(plus[0], minus[0], strict=True)):
            change = 0.5 * transposed_product(sparse.csr_matrix(one - other), ends.lam[picked])
            known = sum(float(np.linalg.norm(self.force[index][j])) for index in constraints)
            if np.linalg.norm(change) > NEGLIGIBLE * known + ROUNDING * size:
                return True
        return False


def direction(ends: EndRows, volumes: Sequence[int]) -> list[FloatArray]:
    """A random motion y of the volumes, of the shape of dx, m; zero for other bodies and constrained unknowns."""
    made, random = [], np.random.default_rng(0)
    for k, trial in enumerate(ends.bodies.trials):
        size = size_of(trial.model, trial.positions())
        moved = ends.step * size * random.uniform(-1.0, 1.0, trial.dx.shape)
        made.append(np.where(trial.model.constrained | (k not in volumes), 0.0, moved))
    return made


def turning_at_middle(world: Any, constraints: Sequence[int]) -> InputError:
    """The error of constraints by index that turn with volumes in a midpoint step."""
    names = ", ".join(repr(world.constraints[index].name) for index in constraints)
    return InputError(
        f"gradients through a pl.ImplicitMidpoint do not know how the rows of {names} turn: cables and chambers within "
        "one volume, attachments, contacts of volumes with fixed planes, and rows of other bodies are known; use "
        "pl.ImplicitEuler"
    )


def refuse_at_middle(ends: EndRows) -> None:
    """Raise an `InputError` where a midpoint step has rows that its adjoint does not know."""
    if ends.bodies.scheme.theta == 1.0:
        return
    if ends.bodies.world.reductions:
        what = "the rows of reduced bodies"
    elif ends.predicted:
        what = "contacts whose planes are turned as they land"
    elif np.isin(ends.rows.law, (int(Law.CAPSTAN), int(Law.GUIDE))).any():
        what = "friction in guides"
    elif any(_moves(ends.bodies.world.constraints[index]) for index in np.unique(ends.owner[ends.pushing])):
        what = "contacts with obstacles that move"
    else:
        return
    raise InputError(f"gradients through a pl.ImplicitMidpoint do not know {what}: use pl.ImplicitEuler")


def _moves(constraint: Any) -> bool:
    """Whether it is a contact with an obstacle whose motion is given."""
    return constraint.is_contact and constraint.b.index is None and constraint.b.handle.motion is not None


def _matters(ends: EndRows) -> BoolArray:
    """Rows (m,) whose derivatives are needed: those of contacts that push, and of everything else."""
    return np.asarray(ends.pushing | ~ends.may_open)


def _differs(change: Any, known: Any, size: float) -> bool:
    return bool(np.linalg.norm(change - known) > WRONG * np.linalg.norm(known) + ROUNDING * size)


def _off(gap: FloatArray, moved: Any, which: BoolArray) -> bool:
    off = np.abs(gap - moved)[which]
    return bool(len(off) and off.max() > WRONG * float(np.abs(moved[which]).max()))
