"""Minimum-norm contact forces with the same generalized force.

Many contacts on few elements are statically indeterminate: a solver returns one of many solutions, with few nonzero
forces that jump from step to step and compress badly. With H of the closed contacts and λ₀ of the solver,

    λ ≥ 0 minimises ‖Hᵀ(λ − λ₀)‖² + ε ‖λ‖²,

which is unique and varies smoothly from step to step.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.core.types import FloatArray
from pliant.solvers.contact import Law, lcp
from pliant.stepping import StepInfo

EVENNESS = 1e-2
"""ε relative to the mean of diag H Hᵀ; the generalized force changes by about as much, 1 %."""
CLOSED = 0.02
"""A contact is closed below this fraction of the margin: it may take a part of its neighbours' force."""


def spread_forces(info: StepInfo) -> FloatArray:
    """λ (rows,) of a step, N, with those of frictionless contacts replaced by minimum-norm ones."""
    assert info.assembly is not None
    assert info.lam is not None
    assert info.world is not None
    lam, rows = np.array(info.lam), info.assembly.rows
    pairs: list[Any] = list(info.world.constraints)
    for pair, part in zip(pairs, info.assembly.slices, strict=False):
        own = lam[part]
        if not pair.is_contact or not own.any() or (rows.law[part] != Law.SIGNORINI).any():
            continue
        closed = part.start + np.flatnonzero((own > 0.0) | (info.delta[part] <= CLOSED * pair.margin))
        G = np.zeros((len(closed), len(closed)))
        for H in rows.H:
            G += (H[closed] @ H[closed].T).toarray()
        even = EVENNESS * float(np.trace(G)) / len(G) * np.eye(len(G))
        lam[closed] = lcp(G + even, -(G @ lam[closed]), tolerance=1e-9).solution
    return lam
