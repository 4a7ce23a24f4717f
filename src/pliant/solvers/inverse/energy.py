"""The paper's ε: what the work of the actuators weighs in the cost, so that redundant actuation is unique.

ε = 1e-3 ‖W_eaᵀ W_ea‖∞ / ‖W_aa‖∞        (Coevoet, Escande, Duriez, IEEE RA-L 2017)
"""

from __future__ import annotations

import numpy as np

from pliant.core.kernels import inline, kernel
from pliant.core.types import FloatArray, IndexArray

ENERGY = 1e-3
"""ε relative to ‖W_eaᵀW_ea‖∞ / ‖W_aa‖∞."""


@inline
def paper_weight(W: FloatArray, actuators: IndexArray, E: FloatArray, D: FloatArray) -> float:
    """ε (m/N) for the rows `actuators` (na,) of W (m, m), m/N, that move the effectors by E (ne, ≥ na), m/N, after each
    actuator has been scaled by D (na,); 0 where no actuator moves itself.
    """
    na = len(actuators)
    work = moved = 0.0
    for i in range(na):
        work_row = moved_row = 0.0
        for j in range(na):
            work_row += abs(D[i] * W[actuators[i], actuators[j]] * D[j])
            product = 0.0
            for k in range(len(E)):
                product += E[k, i] * E[k, j]
            moved_row += abs(D[i] * product * D[j])
        work, moved = max(work, work_row), max(moved, moved_row)
    return ENERGY * moved / work if work > 0.0 else 0.0


@kernel
def energy_weight(W_aa: FloatArray, W_ea: FloatArray) -> float:
    """ε (m/N) for W_aa (na, na) and W_ea (ne, na), m/N."""
    na = len(W_aa)
    weight: float = paper_weight(W_aa, np.arange(na), W_ea, np.ones(na))
    return weight
