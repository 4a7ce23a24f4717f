"""The rows of a step where it ended, in the order of the last linear solve, and their derivatives by small bodies.

Constraints are asked for their rows again; rows are recognised by their keys. Only rows with a force or a closed gap
matter. What moves a small body moves lever arms and turns planes of contact: Hᵀλ of all bodies and the gaps are
differentiated by finite differences of the rows themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from pliant.constraints import Assembly, Rows
from pliant.core.arrays import transposed_product
from pliant.core.errors import InputError
from pliant.core.immutable import evolve
from pliant.core.types import FloatArray, IndexArray
from pliant.gradients.finite import derivative
from pliant.gradients.small_body import SmallBodyAdjoint
from pliant.stepping.bodies import StepBodies


@dataclass(frozen=True, eq=False)
class EndRows:
    """The rows of `bodies` at the end of a step: `rows`, their forces `lam` (m,) N and δ (m,), and the constraint
    `owner` (m,) of each.
    """

    bodies: StepBodies
    rows: Rows
    lam: FloatArray
    delta: FloatArray
    owner: IndexArray
    memories: tuple[Any, ...]

    @classmethod
    def of(cls, info: Any) -> EndRows | None:
        """Those of the step that `info` reports; None where the world has no constraint."""
        if info.assembly is None or not info.assembly.rows.count:
            return None
        bodies = info.step.bodies
        assembly = bodies.assembled()
        order = _order(info.assembly.rows.key, assembly.rows.key)
        lost = (order < 0) & (info.lam != 0.0)
        if lost.any():
            _switch(info.world.constraints, info.assembly.slices, int(np.argmax(lost)))
        rows = info.assembly.rows if (order < 0).any() else _picked(assembly.rows, order)
        owner = np.zeros(rows.count, np.int64)
        for index, own in enumerate(info.assembly.slices):
            owner[own] = index
        memories = info.assembly.memories if (order < 0).any() else assembly.memories
        return cls(bodies, rows, info.lam, rows.gap, owner, memories)

    def at(self, index: int, trial: Any) -> tuple[list[FloatArray], FloatArray]:
        """Hᵀλ of every body (unknowns,) and the gaps (m,), with `trial` in place of that of body `index`."""
        return self.moved([trial if k == index else each for k, each in enumerate(self.bodies.trials)])

    def moved(self, trials: Sequence[Any]) -> tuple[list[FloatArray], FloatArray]:
        """The same with other trials of all bodies."""
        bodies = evolve(self.bodies, trials=tuple(trials))
        assembly, lam, order = self._assembled(bodies, self.lam)
        gaps = np.where(order < 0, self.rows.gap, assembly.rows.gap[np.maximum(order, 0)])
        return [transposed_product(H, lam) for H in assembly.rows.H], gaps

    def assembled(self, bodies: StepBodies, lam: FloatArray) -> tuple[Assembly, FloatArray]:
        """The rows of `bodies` that have moved, and the forces `lam` (m,) of these rows in their order."""
        return self._assembled(bodies, lam)[:2]

    def _assembled(self, bodies: StepBodies, lam: FloatArray) -> tuple[Assembly, FloatArray, IndexArray]:
        assembly = bodies.assembled()
        order = _order(self.rows.key, assembly.rows.key)
        lost = order < 0
        if (lost & (self.lam != 0.0)).any():
            _switch(self.bodies.world.constraints, None, int(self.owner[np.argmax(lost & (self.lam != 0.0))]))
        forces = np.zeros(assembly.rows.count)
        forces[order[~lost]] = lam[~lost]
        return assembly, forces, order

    def by_end(self, index: int, body: SmallBodyAdjoint) -> tuple[list[FloatArray], FloatArray]:
        """Derivatives by q⁺ of the small body `index`: of Hᵀλ of every body (its unknowns, unknowns), and of the gaps
        (m, unknowns).
        """
        return self._columns(index, body, body.moved)

    def by_start(self, index: int, body: SmallBodyAdjoint, by_end: FloatArray) -> FloatArray:
        """Derivatives (m, unknowns) of the gaps by q of the small body at fixed q⁺; `by_end` are those by q⁺."""
        return self._columns(index, body, body.begun)[1] - by_end @ body.carried

    def _columns(
        self, index: int, body: SmallBodyAdjoint, moved: Callable[[int, float], Any]
    ) -> tuple[list[FloatArray], FloatArray]:
        sizes = list(self.bodies.world.sizes)
        made = np.zeros((sum(sizes) + self.rows.count, body.model.size))

        def values(k: int, s: float) -> FloatArray:
            forces, gaps = self.at(index, moved(k, s))
            return np.concatenate([*forces, gaps])

        for k in body.free:
            made[:, k] = derivative(partial(values, k), body.steps[k])
        ends = np.cumsum(sizes)
        return np.split(made[: ends[-1]], ends[:-1]), made[ends[-1] :]


def _order(wanted: IndexArray, keys: IndexArray) -> IndexArray:
    """Index among `keys` of each of the `wanted`, −1 where it is not there."""
    if np.array_equal(wanted, keys):
        return np.arange(len(keys))
    place = {int(key): k for k, key in enumerate(keys)}
    return np.array([place.get(int(key), -1) for key in wanted], np.int64)


def _picked(rows: Rows, order: IndexArray) -> Rows:
    if np.array_equal(order, np.arange(rows.count)):
        return rows
    columns = ("gap", "law", "mu", "lower", "upper", "target", "key")
    H = [sparse.csr_matrix(h)[order] for h in rows.H]
    return Rows(H, **{name: getattr(rows, name)[order] for name in columns})


def _switch(constraints: Any, slices: Any, row: int) -> None:
    index = row if slices is None else next(k for k, own in enumerate(slices) if own.start <= row < own.stop)
    raise InputError(
        f"a contact of {constraints[index].name!r} is about to be replaced by another where the step ended: there the "
        "step has no derivative; change the start or the controls a little"
    )
