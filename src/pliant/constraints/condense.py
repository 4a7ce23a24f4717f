"""Condensation: from rows over models to the small problem of the solvers, δ = δ_free + W λ."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from pliant.constraints.islands import islands, picked_rows
from pliant.constraints.rows import COMPLIANT, Rows
from pliant.core.arrays import frozen
from pliant.core.checks import all_finite
from pliant.core.immutable import filled
from pliant.core.types import FloatArray, IndexArray
from pliant.models.model import Factor
from pliant.solvers.contact import Law, MixedProblem
from pliant.solvers.linear.response import Motion, PickedRows, RowMotion, add_block, touching_rows


class Island(NamedTuple):
    """The `problem` of the `rows` (k,) of an island, indices among all rows."""

    rows: IndexArray
    problem: MixedProblem


class Condensation(NamedTuple):
    """The problems δ = δ_free + W λ of the `islands`, and how each body moves under the forces of its rows, None where
    it has none.
    """

    islands: tuple[Island, ...]
    motions: tuple[RowMotion | None, ...]

    @property
    def problem(self) -> MixedProblem:
        """All rows in one problem."""
        if len(self.islands) == 1:
            return self.islands[0].problem
        count = sum(len(island.problem.delta_free) for island in self.islands)
        first = self.islands[0].problem
        W = np.zeros((count, count))
        columns = [np.empty(count, values.dtype) for values in (first.delta_free, *_laws(first))]
        for rows, problem in self.islands:
            W[np.ix_(rows, rows)] = problem.W
            for column, values in zip(columns, (problem.delta_free, *_laws(problem)), strict=True):
                column[rows] = values
        return MixedProblem(W, *columns)

    @property
    def finite(self) -> bool:
        """Whether all gaps are."""
        return all([all_finite(island.problem.delta_free) for island in self.islands])


def condense(rows: Rows, free: Sequence[Motion]) -> Condensation:
    """W = Σ H A⁻¹ Hᵀ over the models, δ_free = gap + Σ H dx_free of their motions `free`, with the laws of the rows."""
    groups = islands(rows)
    if not groups:
        count = rows.count
        delta_free, W = rows.gap.copy(), np.zeros((count, count))
        moved: list[RowMotion | None] = [None] * len(free)
        alone = True
        for k, H in enumerate(rows.H):
            if len(H.data):
                moved[k] = free[k].condense(H, W, delta_free, alone=alone)
                alone = False
        return Condensation((Island(_indices(count), problem_of(rows, W, delta_free)),), tuple(moved))
    made: list[Island] = []
    motions: list[RowMotion | None] = [None] * len(free)
    for picked, bodies in groups:
        delta_free, W = rows.gap[picked], np.zeros((len(picked), len(picked)))
        for k in bodies:
            own = picked_rows(rows.H[k], picked)
            motions[k] = PickedRows(free[k].condense(own, W, delta_free, alone=k == bodies[0]), picked)
        made.append(Island(picked, problem_of(rows, W, delta_free, picked)))
    return Condensation(tuple(made), tuple(motions))


@lru_cache(maxsize=64)
def _indices(count: int) -> IndexArray:
    """Indices of `count` rows, read-only since they are shared."""
    made: IndexArray = frozen(np.arange(count))
    return made


def compliance(H: Sequence[sparse.csr_matrix], factors: Sequence[Factor]) -> FloatArray:
    """W = Σ H A⁻¹ Hᵀ over the models, (m, m), m/N, of rows H (m, unknowns). Each model adds the block of the rows that
    move it.
    """
    count = H[0].shape[0]
    W = None
    for own, factor in zip(H, factors, strict=True):
        if not len(own.data):
            continue
        touching, rows = touching_rows(own)
        if rows is None:
            added = factor.compliance(own)
            W = np.ascontiguousarray(added) if W is None else np.add(W, added, out=W)
            continue
        W = np.zeros((count, count)) if W is None else W
        add_block(rows, frozen(np.ascontiguousarray(factor.compliance(touching))), W)
    return np.zeros((count, count)) if W is None else W


def problem_of(rows: Rows | MixedProblem, W: FloatArray, delta_free: FloatArray, picked: Any = None) -> MixedProblem:
    """The problem of the rows `picked` (k,), all by default, with their W (k, k) and δ_free (k,)."""
    law, mu, lower, upper, target = rows.law, rows.mu, rows.lower, rows.upper, rows.target
    if picked is not None:
        law, mu, lower, upper, target = (values[picked] for values in (law, mu, lower, upper, target))
    if getattr(rows, "laws", None) is None and (compliant := law == COMPLIANT).any():
        own = np.flatnonzero(compliant)
        W[own, own] += upper[own]
        law, upper = np.where(compliant, int(Law.BILATERAL), law).astype(np.int32), np.where(compliant, np.inf, upper)
    laws = {"law": law, "mu": mu, "lower": lower, "upper": upper, "target": target}
    return filled(MixedProblem, {"W": W, "delta_free": delta_free, **laws})


def _laws(rows: Rows | MixedProblem) -> tuple[Any, ...]:
    return rows.law, rows.mu, rows.lower, rows.upper, rows.target
