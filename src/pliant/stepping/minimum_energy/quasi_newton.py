"""Limited-memory BFGS over a factor that is kept: the inverse matrix and what the last steps taught of it.

With the inverse H₀ of the kept matrix, steps S = [s₁ … s_w] and changes of the gradient Y, the BFGS inverse is of rank
2w more (R. H. Byrd, J. Nocedal, R. B. Schnabel, Representations of quasi-Newton matrices, Math. Programming 63, 1994):

    H = H₀ + U M Uᵀ,   U = [S, H₀Y],   M = ⎡ R⁻ᵀ(D + YᵀH₀Y)R⁻¹   −R⁻ᵀ ⎤     R: upper triangle of SᵀY, D: its diagonal
                                           ⎣ −R⁻¹                 0   ⎦

In this form it serves rows too: the compliance of rows C is C H₀ Cᵀ + (C U) M (C U)ᵀ.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pliant.core.types import FloatArray

LEAST_CURVATURE = 1e-10
"""Pairs whose sᵀy is below this fraction of ‖s‖‖y‖ say nothing of a convex energy, and are left out."""


class QuasiNewton:
    """The last `memory` pairs (s, y) of a descent, with z = H₀ y; all vectors are flat, (N,)."""

    def __init__(self, memory: int) -> None:
        self._memory = memory
        self._s: list[FloatArray] = []
        self._y: list[FloatArray] = []
        self._z: list[FloatArray] = []
        self.update: tuple[FloatArray, FloatArray] | None = None
        """U (N, 2w) and M (2w, 2w), or None before the first pair."""

    def clear(self) -> None:
        """Forget everything."""
        self._s, self._y, self._z = [], [], []
        self.update = None

    def rebase(self, solve: Callable[[FloatArray], FloatArray]) -> None:
        """Keep the pairs over another H₀, given by its `solve` of columns (N, k)."""
        if self._y:
            self._z = list(np.ascontiguousarray(solve(np.array(self._y).T).T))
            self._compose()

    def learn(self, s: FloatArray, y: FloatArray, z: FloatArray) -> None:
        """Add a pair: a step s (m), the change y (N) of the gradient along it, and z = H₀ y (m)."""
        if not float(s @ y) > LEAST_CURVATURE * float(np.linalg.norm(s) * np.linalg.norm(y)):
            return
        for kept, new in ((self._s, s), (self._y, y), (self._z, z)):
            kept.append(new)
            if len(kept) > self._memory:
                kept.pop(0)
        self._compose()

    def _compose(self) -> None:
        S, Y, Z = (np.array(part) for part in (self._s, self._y, self._z))
        SY = S @ Y.T
        R_inverse = np.linalg.inv(np.triu(SY))
        inner = np.diag(np.diag(SY)) + Y @ Z.T
        M = np.block([[R_inverse.T @ inner @ R_inverse, -R_inverse.T], [-R_inverse, np.zeros_like(inner)]])
        self.update = np.vstack([S, Z]).T, 0.5 * (M + M.T)

    def improved(self, given: FloatArray, solved: FloatArray) -> FloatArray:
        """H `given` from H₀ `given`, both (N,) or (N, k)."""
        if self.update is None:
            return solved
        U, M = self.update
        return np.asarray(solved + U @ (M @ (U.T @ given)))
