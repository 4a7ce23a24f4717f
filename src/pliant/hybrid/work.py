"""The work that a contact does beyond its damping, from the recorded steps.

    ∫ (λ − λ_d) ḣ dt,   S λ_d = −α₁ ∘ ḣ

A collision that begins and ends at h = 0 stores nothing, so this must vanish. With the law of the paper it does not
where the load on the contact changes meanwhile, for λ carries that load: then energy is gained or lost.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pliant.core.types import FloatArray
from pliant.hybrid.motion import Motion
from pliant.hybrid.rows import least_norm
from pliant.hybrid.runge_kutta import RungeKutta
from pliant.hybrid.solution import Piece

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(5)
_GAUSS = tuple(zip((0.5 + 0.5 * _NODES).tolist(), (0.5 * _WEIGHTS).tolist(), strict=True))


def contact_work(pieces: Sequence[Piece], row: int, method: RungeKutta) -> float:
    """The work (J) of the contact of a row but for its damping, over recorded steps in which it holds, by Gauss."""
    total = 0.0
    for piece in pieces:
        flow, length = piece.flow, piece.t1 - piece.t
        equations, n = flow.motion.equations, flow.n
        index = int(np.searchsorted(equations.first, row, side="right")) - 1
        which = np.array([row - int(equations.first[index])])
        dense = piece.interpolant(method)
        at = int(np.flatnonzero(flow.motion.rows == row)[0])
        for x, weight in _GAUSS:
            y = dense.one(x)
            flow.rate(piece.t + x * length, y)
            q, v = y[:n], y[n : 2 * n]
            rate = equations.rates(q, v, index, which)[1][0]
            total += weight * length * (flow.motion.lam[at] - _damping(flow.motion, q, v)[at]) * rate
    return float(total)


def _damping(motion: Motion, q: FloatArray, v: FloatArray) -> FloatArray:
    """The part (k,) N of the active rows' forces that comes from α₁."""
    if not motion.alpha1.any():
        return np.zeros(motion.normal_count)
    R, F, _ = motion.assemble(q, v)
    rates = np.zeros(len(R))
    rates[: motion.normal_count] = motion.alpha1 * (R @ v)[: motion.normal_count]
    return -least_norm(R @ motion.equations.over_mass(q)(F.T), rates)[0]
