"""Energy that the projection of velocities takes from a step of the midpoint rule, and is given back."""

from __future__ import annotations

import numpy as np

from pliant.core.types import FloatArray, IndexArray

RESTORED = 1.1
"""Largest factor by which velocities are scaled to restore their energy. A larger loss comes from an impact or from too
long a step, and is not restored.
"""


def restore_energy(rates: FloatArray, M: FloatArray, p: FloatArray, free: IndexArray, energy: float) -> None:
    """Scale what is no rigid motion in `rates` (n,), of the momentum p (n,), so that they have the `energy` (J)."""
    base = free[free < 6]
    rigid = np.zeros(len(rates))
    if len(base):
        rigid[base] = np.linalg.solve(M[np.ix_(base, base)], p[base])
    carried = 0.5 * float(p @ rigid)
    bent = 0.5 * float(p[free] @ rates[free]) - carried
    if bent > 1e-12 * energy:  # below, the vibration is rounding of the rigid motion
        scale = min(float(np.sqrt(max(energy - carried, 0.0) / bent)), RESTORED)
        rates[:] = rigid + scale * (rates - rigid)
