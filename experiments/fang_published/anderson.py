"""Anderson acceleration of a fixed-point iteration x ← x + r(x).

Y. Peng, B. Deng, J. Zhang, F. Geng, W. Qin, L. Liu, Anderson acceleration for geometry optimization and physics
simulation, ACM Transactions on Graphics 37, 2018; D. G. Anderson, J. ACM 12, 1965. With the last differences
ΔX and ΔR of iterates and residuals, γ = argmin ‖r − ΔR γ‖ and x⁺ = x + r − (ΔX + ΔR) γ.
"""

from __future__ import annotations

import numpy as np

from pliant.core.types import FloatArray

RANK_TOLERANCE = 1e-8
"""Singular values of ΔR below this fraction of the largest count as zero."""


class Anderson:
    """The last `window` differences of an iteration; 0 leaves it as it is. Vectors have any one shape."""

    def __init__(self, window: int) -> None:
        self._window = window
        self.restart()

    def restart(self) -> None:
        """Forget everything: r has become another function."""
        self._x: list[FloatArray] = []
        self._r: list[FloatArray] = []
        self._last: tuple[FloatArray, FloatArray] | None = None

    def step(self, x: FloatArray, r: FloatArray) -> FloatArray:
        """The step from x, whose residual is r."""
        if self._last is not None:
            self._x.append((x - self._last[0]).ravel())
            self._r.append((r - self._last[1]).ravel())
            if len(self._x) > self._window:
                self._x.pop(0)
                self._r.pop(0)
        self._last = (x, r)
        if not self._x:
            return r
        dX, dR = np.array(self._x), np.array(self._r)
        gamma = np.linalg.lstsq(dR.T, r.ravel(), rcond=RANK_TOLERANCE)[0]
        step: FloatArray = r - (gamma @ (dX + dR)).reshape(r.shape)
        return step
