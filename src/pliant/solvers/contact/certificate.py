"""Proof that gaps cannot all be kept open, with the rows that conflict.

Rows N want u_N = W_N r + q_N ≥ 0 and rows B want u_B = 0. Weights d_N ≥ 0 and d_B with Wᵀ d = 0 and d · q < 0 (Farkas)
show that no forces do it, since d · u = d · q whatever r is: the rows with d ≠ 0 contradict each other. For columns
whose force can only push, Wᵀ d ≤ 0 is enough. For symmetric W ≥ 0 without friction such weights exist exactly when no
solution does. They are sought by non-negative least squares (Lawson and Hanson, "Solving Least Squares Problems",
1974).
"""

from __future__ import annotations

import numpy as np

from pliant.core.errors import InfeasibleError
from pliant.core.types import FloatArray, IndexArray

_EXACT = 1e-8  # what counts as Wᵀ d = 0, relative to the rows of W and q
_GAIN = 1e-13  # what rounding leaves of a gradient or a weight of the order of one
_ROWS = 60  # that a proof may take: of contradictions met in practice most have 2 to 10, and each costs a least squares
_NONE = np.zeros(0, np.int64)


class ConflictingRowsError(InfeasibleError):
    """Rows contradict each other whatever the forces; `rows` are their indices in the caller's numbering."""

    def __init__(self, message: str, *, rows: tuple[int, ...]) -> None:
        super().__init__(message)
        self.rows = rows


def conflicting_rows(
    W: FloatArray, q: FloatArray, open_rows: IndexArray, *, zero_rows: IndexArray = _NONE, pushing: IndexArray = _NONE
) -> IndexArray:
    """Rows whose u ≥ 0 (`open_rows`) and u = 0 (`zero_rows`) contradict each other; empty where that is not shown.

    `pushing` are the columns whose force is ≥ 0.
    """
    rows = np.concatenate([open_rows, zero_rows, zero_rows])
    sign = np.concatenate([np.ones(len(open_rows) + len(zero_rows)), -np.ones(len(zero_rows))])
    typical = np.sqrt(np.abs(W.diagonal()))
    typical[typical == 0.0] = typical.max(initial=0.0) or 1.0
    values = q[rows] * sign / typical[rows]
    if not len(rows) or not (values < 0.0).any():
        return _NONE
    left = (W[rows] / typical / typical[rows, None] * sign[:, None]).T
    slack = np.eye(len(W))[:, pushing]
    system = np.block([[left, slack], [values / np.abs(values).max(), np.zeros(len(pushing))]])
    right = np.zeros(len(system))
    right[-1] = -1.0
    weights, rest = _non_negative_least_squares(system, right)
    if rest > _EXACT:
        return _NONE
    weights = weights[: len(rows)]
    found: IndexArray = np.unique(rows[weights > 1e-6 * weights.max()])
    return found


def raise_if_infeasible(
    W: FloatArray, q: FloatArray, open_rows: IndexArray, *, zero_rows: IndexArray = _NONE, pushing: IndexArray = _NONE
) -> None:
    """Raise `ConflictingRowsError` for the rows that contradict each other, if that can be shown."""
    found = conflicting_rows(W, q, open_rows, zero_rows=zero_rows, pushing=pushing)
    if len(found):
        raise conflict(found, f"no forces satisfy them together (least gap without forces {q[found].min():.3g})")


def conflict(rows: IndexArray, reason: str) -> ConflictingRowsError:
    """The error that names `rows`."""
    names = ", ".join(str(row) for row in rows[:12]) + (" …" if len(rows) > 12 else "")
    return ConflictingRowsError(
        f"rows {names} contradict each other: {reason}; move the bodies apart, loosen a limit or free a clamped part",
        rows=tuple(int(row) for row in rows),
    )


def _non_negative_least_squares(A: FloatArray, b: FloatArray) -> tuple[FloatArray, float]:
    """x ≥ 0 that minimises ‖A x − b‖, and that norm; the best so far after `_ROWS` rows."""
    x: FloatArray = np.zeros(A.shape[1])
    chosen = np.zeros(A.shape[1], np.bool_)
    for _ in range(_ROWS):
        rest = b - A @ x
        gain: FloatArray = np.where(chosen, -np.inf, A.T @ rest)
        if chosen.all() or gain.max() <= _GAIN or np.linalg.norm(rest) <= _EXACT:
            break
        chosen[np.argmax(gain)] = True
        while chosen.any():
            trial = np.zeros_like(x)
            trial[chosen] = np.linalg.lstsq(A[:, chosen], b, rcond=None)[0]
            falling = chosen & (trial <= 0.0)
            if not falling.any():
                x = trial
                break
            step = float((x[falling] / (x[falling] - trial[falling])).min())
            x = x + step * (trial - x)
            chosen &= ~((x <= _GAIN) & falling)
            x[~chosen] = 0.0
    return x, float(np.linalg.norm(A @ x - b))
