"""Bilateral rows: δ = 0, so W λ = −δ_free, solved in the least-squares sense where rows are redundant."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from pliant.core.errors import InfeasibleError
from pliant.core.types import FloatArray


def solve_bilateral(W: FloatArray, delta_free: FloatArray, *, tolerance: float = 1e-9) -> FloatArray:
    """λ (m,) in N with W λ = −δ_free; the smallest one where W (m, m) is singular.

    Raises `InfeasibleError` naming the worst row when redundant rows contradict each other by more than `tolerance` ×
    ‖δ_free‖.
    """
    if not len(delta_free):
        return np.zeros(0)
    lam: FloatArray = linalg.lstsq(W, -delta_free, cond=1e-12, lapack_driver="gelsd")[0]
    rest = np.abs(W @ lam + delta_free)
    if rest.max() > tolerance * np.linalg.norm(delta_free):
        worst = int(rest.argmax())
        raise InfeasibleError(
            f"the bilateral rows contradict each other: row {worst} keeps a gap of {rest[worst]:.3g} m whatever the "
            "forces; remove a redundant attachment or make its rest gaps agree"
        )
    return lam
