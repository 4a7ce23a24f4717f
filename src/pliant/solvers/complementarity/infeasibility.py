"""Proof that gaps cannot all be kept open, with the rows that conflict.

Rows N want u_N = W_N r + q_N ≥ 0. If some weights d ≥ 0 give Wᵀ_N d = 0 and d · q_N < 0 (Farkas), then d · u_N < 0
whatever the forces: the rows with d > 0 contradict each other. For symmetric W ≥ 0 such weights exist exactly when no
solution does. They are sought by non-negative least squares (Lawson and Hanson, 1974).
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

from pliant.core.errors import InfeasibleError
from pliant.core.types import FloatArray, IndexArray

_EXACT = 1e-7  # what counts as Wᵀ d = 0, relative to W and q


def conflicting_rows(W: FloatArray, q: FloatArray, rows: IndexArray) -> IndexArray:
    """The rows among `rows` whose u ≥ 0 contradict each other, empty where that is not shown."""
    size, length = float(np.abs(W).max(initial=0.0)) or 1.0, float(np.abs(q[rows]).max(initial=0.0))
    if not length:
        return rows[:0]
    system = np.vstack([W[rows].T / size, q[rows] / length])
    right = np.zeros(len(system))
    right[-1] = -1.0
    try:
        weights, rest = nnls(system, right)
    except RuntimeError:  # its own iteration limit: nothing shown
        return rows[:0]
    if rest > _EXACT:
        return rows[:0]
    return rows[weights > 1e-6 * weights.max()]


def raise_if_infeasible(W: FloatArray, q: FloatArray, rows: IndexArray) -> None:
    """Raise `InfeasibleError` naming the rows that contradict each other, if that can be shown."""
    found = conflicting_rows(W, q, rows)
    if len(found):
        names = ", ".join(str(row) for row in found[:12]) + (" …" if len(found) > 12 else "")
        raise InfeasibleError(
            f"no forces keep the gaps of rows {names} open together (least gap without forces "
            f"{q[found].min():.3g} m): move the bodies apart, loosen a limit or free a clamped part",
            rows=tuple(int(row) for row in found),
        )
