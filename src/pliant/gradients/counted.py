"""Rows that count from the start of a step, and guides in which a cable slips.

Dashpots and guides with friction count motion from the start of a step: ∂δ/∂q of these is told by the constraint. A
guide in which a cable slips has no equation of its δ, but λ = f(θ) T: ∂c/∂q = −T ∂f/∂θ ∂θ/∂q, with f = 1 − e^(∓μθ)
and ∂f/∂θ = ±μ (1 − f), takes the place of ∂δ/∂q in that row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from pliant.constraints import Rows, forces_of
from pliant.core.errors import InputError
from pliant.core.types import BoolArray, FloatArray
from pliant.gradients.active import capstan_slips
from pliant.gradients.rows import EndRows
from pliant.solvers.contact import Law


def not_slipping(rows: Rows, lam: FloatArray) -> FloatArray:
    """1 for rows (m,) whose δ matters, 0 for guides in which a cable slips."""
    made = np.ones(rows.count)
    made[[i for i, _, _ in capstan_slips(rows, lam)]] = 0.0
    return made


def by_start(ends: EndRows, known: FloatArray, volumes: Sequence[int]) -> dict[int, Any]:
    """∂δ/∂q (rows, unknowns) by the start of the step at a fixed end, by the index of the volume, of the rows that are
    `known` (rows,), 1 or 0, not to be told otherwise.
    """
    made: dict[int, Any] = {}
    view = ends.bodies.view()
    for index, constraint in enumerate(ends.bodies.world.constraints):
        told = getattr(constraint, "by_start", None)
        parts = None if told is None else told(view)
        if parts is None:
            continue
        own = np.flatnonzero(ends.owner == index)
        spread = sparse.csr_matrix((known[own], (own, np.arange(len(own)))), (len(known), len(own)))
        for k in volumes:
            if parts[k].nnz:
                made[k] = made.get(k, 0) + spread @ parts[k]
    return made


def replace_guides(ends: EndRows, G: list[Any], small: Sequence[int]) -> None:
    """Put ∂c/∂q⁺ of guides in which a cable slips into `G`, in place of ∂δ/∂q⁺; `small` are bodies by differences."""
    q = [trial.evaluation_point() for trial in ends.bodies.trials]
    for i, f, tension in capstan_slips(ends.rows, ends.lam):
        index = int(ends.owner[i])
        constraint: Any = ends.bodies.world.constraints[index]
        if ends.bodies.world.reductions or any(ends.rows.H[k][i].nnz for k in small):
            raise InputError(
                f"friction of {constraint.name!r} in its guides on a rod, a beam, a rigid body or a reduced one is not "
                "differentiated: set it to 0"
            )
        guide = i - int(np.flatnonzero(ends.owner == index)[0]) - 1
        slope = -tension * np.sign(f) * constraint.spec.friction * (1.0 - f)
        keep = np.ones(ends.rows.count)
        keep[i] = 0.0
        place = sparse.csr_matrix(([1.0], ([i], [0])), (len(keep), 1))
        for k, turned in constraint.turn_slopes(q, guide):
            G[k] = sparse.csr_matrix(sparse.diags(keep) @ G[k] + slope * (place @ turned))


def by_landing(ends: EndRows, active: BoolArray, known: FloatArray, k: int) -> tuple[Any, Any] | None:
    """∂δ/∂q and ∂δ/∂v (rows, unknowns) by the start of a volume k that turns by itself: contacts with friction that
    land on it count their slip with h times the offset of its velocity. Only `active` rows (rows,) are told, by q those
    that are `known` (rows,), 1 or 0, not to be told otherwise; None where there are none.
    """
    bodies, rows = ends.bodies, ends.rows
    turning = getattr(bodies.trials[k], "turning", None)
    first = np.flatnonzero(rows.law == Law.COULOMB)[::3]
    if turning is None or not len(first):
        return None
    landing = first[forces_of(rows.key[first], bodies.start.keys, bodies.start.lam) == 0.0]
    made = [sparse.lil_matrix((rows.count, turning.q.size)) for _ in range(2)]
    H = sparse.csr_matrix(rows.H[k])
    for i in np.concatenate([landing + 1, landing + 2]):
        if active[i] and H[i].nnz:
            by_q, by_v = turning.of_offset(turning.dt * np.asarray(H[i].todense()).reshape(turning.q.shape))
            made[0][i] = known[i] * by_q.ravel()
            made[1][i] = by_v.ravel()
    return made[0].tocsr(), made[1].tocsr()
