"""The work that a contact does, from the recorded steps: what an energy-consistent contact must not have gained."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pliant.hybrid.runge_kutta import RungeKutta
from pliant.hybrid.solution import Piece

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(5)
_GAUSS = tuple(zip((0.5 + 0.5 * _NODES).tolist(), (0.5 * _WEIGHTS).tolist(), strict=True))


def contact_work(pieces: Sequence[Piece], row: int, method: RungeKutta) -> float:
    """The work ∫ λ ḣ dt (J) of the contact of a row over recorded steps in which it holds, by Gauss in each step."""
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
            rate = equations.rates(y[:n], y[n : 2 * n], index, which)[1][0]
            total += weight * length * flow.motion.lam[at] * rate
    return float(total)
