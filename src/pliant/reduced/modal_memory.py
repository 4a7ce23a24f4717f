"""The memory of a reduced volume: stresses of the branches at the integration points in use (`models.volume.memory`).

The stresses H of a step act along the modes like those of the law, f̂ₘ = Σ w F H : Bₘ and K̂ₘₙ = Σ w (Bₘ H) : Bₙ, over
the sampled points with their weights. States hold the history of these points alone, so that a step costs no more than
its points; stresses at the others are not known.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pliant.core.arrays import frozen
from pliant.core.kernels import kernel
from pliant.core.types import BoolArray, FloatArray, IndexArray
from pliant.materials.laws import LINEAR
from pliant.models.scheme import Scheme
from pliant.models.volume.memory import Memory
from pliant.models.volume.points import Points
from pliant.models.volume.split import chosen_points
from pliant.reduced.strain_modes import StrainModes


@dataclass(frozen=True, eq=False)
class ModalMemory:
    """The `memory` of the points of `strain` that remember, at `index` (r,) among them; `small` (r,) where the law is
    one of small strain. `sampled`: whether points of the volume are left out.
    """

    memory: Memory
    strain: StrainModes
    index: IndexArray
    small: BoolArray
    sampled: bool

    @classmethod
    def of(cls, memory: Memory, points: Points, strain: StrainModes, chosen: IndexArray | None) -> ModalMemory:
        """Of the `memory` of a volume with `points`, of which `chosen` (c,), ascending, are in use; None: all."""
        among = np.arange(points.count) if chosen is None else chosen
        index = np.flatnonzero(memory.chosen[among])
        which = np.zeros(points.count, bool)
        which[among[index]] = True
        own = replace(memory, points=chosen_points(points, which), chosen=which, _factors={}, _stiffer={})
        small = memory.laws[own.points.material] == LINEAR
        return cls(own, strain, index, small, chosen is not None)

    def stiffer(self, scheme: Scheme) -> StrainModes:
        """The strain modes with the laws as they act in a step."""
        made: StrainModes = self.memory.stiffer(scheme, lambda table: replace(self.strain, table=table))
        return made

    def at_start(self, history: FloatArray, scheme: Scheme) -> ModalHistory | None:
        """The stresses of a step that begins with `history`; None where all is relaxed."""
        recalled = self.memory.at_start(history, scheme)
        return None if recalled is None or recalled.H is None else ModalHistory(self, recalled.H)


@dataclass(frozen=True, eq=False)
class ModalHistory:
    """Stresses H (r, 6), Pa, of the points of a `modal` memory, which do not change within a step."""

    modal: ModalMemory
    H: FloatArray

    def add(self, y: FloatArray, scale: float, force: FloatArray, K: FloatArray) -> None:
        """Add the forces of H along the modes at y (k,) to `force` (k,), and `scale` × their stiffness to K (k, k)."""
        own = self.modal
        add_history(frozen(y), own.strain.B, own.strain.weight, own.index, own.small, self.H, scale, K, force)


@kernel
def add_history(y, B, weight, index, small, H, scale, K, f):  # type: ignore[no-untyped-def]
    """Add w F H : Bₘ of fixed stresses H (r, 6), Pa, to f (k,), and `scale` × w (Bₘ H) : Bₙ to K (k, k); at small
    strain F is I and K stays.
    """
    k = len(y)
    F, S, turned = np.empty((3, 3)), np.empty((3, 3)), np.empty((9, k))
    for r in range(len(index)):
        p = index[r]
        w, h = weight[p], H[r]
        S[0, 0], S[1, 1], S[2, 2] = h[0], h[1], h[2]
        S[0, 1] = S[1, 0] = h[3]
        S[0, 2] = S[2, 0] = h[4]
        S[1, 2] = S[2, 1] = h[5]
        for c in range(9):
            total = 1.0 if c % 4 == 0 else 0.0
            if not small[r]:
                for m in range(k):
                    total += B[p, c, m] * y[m]
            F[c // 3, c % 3] = total
        for i in range(3):
            for j in range(3):
                stress = w * (F[i, 0] * S[0, j] + F[i, 1] * S[1, j] + F[i, 2] * S[2, j])
                for m in range(k):
                    f[m] += stress * B[p, 3 * i + j, m]
        if scale == 0.0 or small[r]:
            continue
        for i in range(3):
            for j in range(3):
                for m in range(k):
                    turned[3 * i + j, m] = (
                        B[p, 3 * i, m] * S[0, j] + B[p, 3 * i + 1, m] * S[1, j] + B[p, 3 * i + 2, m] * S[2, j]
                    )
        for c in range(9):
            for m in range(k):
                value = scale * w * turned[c, m]
                for n in range(k):
                    K[m, n] += value * B[p, c, n]
