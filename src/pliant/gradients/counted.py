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

from pliant.constraints import forces_of
from pliant.core.types import BoolArray, FloatArray
from pliant.gradients.rows import EndRows
from pliant.solvers.contact import Law


def not_slipping(ends: EndRows) -> FloatArray:
    """1 for rows (m,) whose δ matters, 0 for guides in which a cable slips."""
    made = np.ones(ends.rows.count)
    made[[slip.row for slip in ends.slips]] = 0.0
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


def replace_guides(ends: EndRows, G: list[Any], volumes: Sequence[int]) -> None:
    """Put ∂c/∂q of guides in which a cable slips into `G` of the `volumes`, in place of ∂δ/∂q."""
    q = [trial.evaluation_point() for trial in ends.bodies.trials]
    keep = sparse.diags(not_slipping(ends))
    for k in volumes if ends.slips else ():
        G[k] = sparse.csr_matrix(keep @ G[k])
    for row, f, tension, _ in ends.slips:
        index = int(ends.owner[row])
        constraint: Any = ends.bodies.world.constraints[index]
        if not hasattr(constraint, "turn_slopes"):  # of rods alone
            continue
        guide = row - int(np.flatnonzero(ends.owner == index)[0]) - 1
        slope = -tension * np.sign(f) * constraint.spec.friction * (1.0 - f)
        place = sparse.csr_matrix(([slope], ([row], [0])), (ends.rows.count, 1))
        for k, turned in constraint.turn_slopes(q, guide):
            if k in volumes:
                G[k] = sparse.csr_matrix(G[k] + place @ turned)


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
