"""The same push by more points: of all forces that move a body alike, those that are spread most evenly.

Many points on few elements are hyperstatic: which of them carry the load is open, an exact solver puts it on as few as
it needs, and on others in the next step. Snapshots of that have no pattern. With H of the contacts that are closed,

    λ ≥ 0 minimises ‖Hᵀ(λ − λ₀)‖² + ε ‖λ‖²,

which has one solution and changes little from step to step: the bells that a basis can know.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.core.types import FloatArray
from pliant.solvers.contact import Law, lcp
from pliant.stepping import StepInfo

EVENNESS = 1e-2
"""ε over the mean of diag H Hᵀ: what it costs of the push is about as much, 1 %."""
CLOSED = 0.02
"""Contacts nearer than this share of the margin may carry."""


def spread_forces(info: StepInfo) -> FloatArray:
    """λ (rows,) of a step, N, with those of frictionless contacts spread over all that are closed."""
    assert info.assembly is not None
    assert info.lam is not None
    assert info.world is not None
    lam, rows = np.array(info.lam), info.assembly.rows
    constraints: list[Any] = list(info.world.constraints)
    for maker, place in zip(constraints, info.assembly.slices, strict=False):
        own = lam[place]
        if not maker.is_contact or not own.any() or (rows.law[place] != Law.SIGNORINI).any():
            continue
        closed = place.start + np.flatnonzero((own > 0.0) | (info.delta[place] <= CLOSED * maker.margin))
        G = np.zeros((len(closed), len(closed)))
        for H in rows.H:
            part = H[closed]
            G += (part @ part.T).toarray()
        even = EVENNESS * float(np.trace(G)) / len(G) * np.eye(len(G))
        lam[closed] = lcp(G + even, -(G @ lam[closed]), tolerance=1e-9).solution
    return lam
