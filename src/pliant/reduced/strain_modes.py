"""Deformation gradients of a volume that moves in a few modes: F = I + Σ yₘ Bₘ at each integration point.

The nodes are not needed any more: with Bₘ = Σₐ φₘₐ ⊗ Gₐ of mode φₘ, stress P and tangent C at a point of weight w,

    f̂ₘ = Σ w P : Bₘ,                K̂ₘₙ = Σ w Bₘ : C : Bₙ

are the internal forces and the stiffness along the modes, exactly Φᵀf and ΦᵀKΦ. A sum over a few points with other
weights is hyper-reduction (Farhat, Avery, Chapman, Cortial, International Journal for Numerical Methods in Engineering
98, 2014).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.core.kernels import inline, kernel
from pliant.core.types import FloatArray, IndexArray, IntArray
from pliant.materials import Tangent
from pliant.materials.response import point_response
from pliant.models.volume.points import Points


@dataclass(frozen=True, eq=False)
class StrainModes:
    """`B` (p, 9, k), in 1/m × the unit of the modes, of p integration points; their `weight` (p,) in m³, `part` and
    `material` (p,); laws and parameters of the materials.
    """

    B: FloatArray
    weight: FloatArray
    part: IntArray
    material: IntArray
    laws: IntArray
    table: FloatArray

    @classmethod
    def of(
        cls, points: Points, modes: FloatArray, laws: IntArray, table: FloatArray,
        chosen: IndexArray | None = None, weights: FloatArray | None = None,
    ) -> StrainModes:  # fmt: skip
        """Of the modes (3n, k), m, at all points or at the `chosen` ones (c,), these weighted by `weights` (c,)."""
        if chosen is None:
            chosen = np.arange(points.count)
        count = np.diff(points.ptr)[chosen]
        starts = np.concatenate([[0], np.cumsum(count)])
        entries = np.arange(starts[-1]) + np.repeat(points.ptr[chosen] - starts[:-1], count)
        moved = modes.reshape(-1, 3, modes.shape[1])[points.nodes[entries]]
        terms = moved[:, :, None, :] * points.gradients[entries][:, None, :, None]
        B = np.add.reduceat(terms, starts[:-1], axis=0).reshape(len(chosen), 9, modes.shape[1])
        weight = points.weight[chosen] * (1.0 if weights is None else weights)
        return cls(np.ascontiguousarray(B), weight, points.part[chosen], points.material[chosen], laws, table)

    @property
    def size(self) -> int:
        """Number of modes."""
        return int(self.B.shape[2])

    def response(self, y: FloatArray, tangent: Tangent, scale: float) -> tuple[float, FloatArray, FloatArray]:
        """Energy (J), internal forces (k,) and `scale` × stiffness (k, k) along the modes at coordinates y (k,).

        A scale of 0 leaves the stiffness out.
        """
        K, f = np.zeros((self.size, self.size)), np.zeros(self.size)
        p = (self.B, self.weight, self.part, self.material, self.laws, self.table)
        energy = modal_response(y, *p, int(tangent), scale, K, f)
        return float(energy), f, K

    def work(self, y: FloatArray) -> FloatArray:
        """Virtual work w P : Bₘ of each point on each mode, (k, p)."""
        out = np.empty((self.size, len(self.weight)))
        modal_work(y, self.B, self.weight, self.part, self.material, self.laws, self.table, out)
        return out


@inline
def _gradient(y, B, p, F):  # type: ignore[no-untyped-def]
    """F = I + Σ yₘ Bₘ of point p."""
    for c in range(9):
        total = 1.0 if c % 4 == 0 else 0.0
        for m in range(y.shape[0]):
            total += B[p, c, m] * y[m]
        F[c // 3, c % 3] = total


@kernel
def modal_response(y, B, weight, part, material, laws, table, mode, scale, K, f):  # type: ignore[no-untyped-def]
    """Add the internal forces to f (k,), and `scale` × the tangent of kind `mode` to K (k, k); returns the energy."""
    k = y.shape[0]
    F, P, T = np.empty((3, 3)), np.empty((3, 3)), np.empty(12)
    U, V, s = np.empty((3, 3)), np.empty((3, 3)), np.empty(3)
    D, C, half = np.empty((9, k)), np.empty((9, k)), np.empty((9, k))
    energy = 0.0
    for p in range(weight.shape[0]):
        _gradient(y, B, p, F)
        n, w = material[p], weight[p]
        energy += w * point_response(laws[n], part[p], table[n], mode, F, U, s, V, P, T)
        for c in range(9):
            stress = w * P[c // 3, c % 3]
            for m in range(k):
                f[m] += stress * B[p, c, m]
        if scale == 0.0:
            continue
        for i in range(3):  # D = Uᵀ B V
            for j in range(3):
                u0, u1, u2 = U[0, i], U[1, i], U[2, i]
                for m in range(k):
                    half[3 * i + j, m] = u0 * B[p, j, m] + u1 * B[p, 3 + j, m] + u2 * B[p, 6 + j, m]
        for i in range(3):
            for j in range(3):
                v0, v1, v2 = V[0, j], V[1, j], V[2, j]
                for m in range(k):
                    D[3 * i + j, m] = v0 * half[3 * i, m] + v1 * half[3 * i + 1, m] + v2 * half[3 * i + 2, m]
        z = scale * w
        for m in range(k):
            a, b, c0 = D[0, m], D[4, m], D[8, m]
            C[0, m] = z * (T[0] * a + T[3] * b + T[4] * c0)
            C[4, m] = z * (T[3] * a + T[1] * b + T[5] * c0)
            C[8, m] = z * (T[4] * a + T[5] * b + T[2] * c0)
            C[1, m] = z * (T[6] * D[1, m] + T[9] * D[3, m])
            C[3, m] = z * (T[6] * D[3, m] + T[9] * D[1, m])
            C[2, m] = z * (T[7] * D[2, m] + T[10] * D[6, m])
            C[6, m] = z * (T[7] * D[6, m] + T[10] * D[2, m])
            C[5, m] = z * (T[8] * D[5, m] + T[11] * D[7, m])
            C[7, m] = z * (T[8] * D[7, m] + T[11] * D[5, m])
        for c in range(9):
            for m in range(k):
                d = C[c, m]
                for q in range(m + 1):
                    K[m, q] += d * D[c, q]
    if scale != 0.0:
        for m in range(k):
            for q in range(m):
                K[q, m] = K[m, q]
    return energy


@kernel
def modal_work(y, B, weight, part, material, laws, table, work):  # type: ignore[no-untyped-def]
    """Virtual work w P : Bₘ of each point on each mode into `work` (k, p)."""
    k = y.shape[0]
    F, P, T = np.empty((3, 3)), np.empty((3, 3)), np.empty(12)
    U, V, s = np.empty((3, 3)), np.empty((3, 3)), np.empty(3)
    for p in range(weight.shape[0]):
        _gradient(y, B, p, F)
        n = material[p]
        point_response(laws[n], part[p], table[n], 0, F, U, s, V, P, T)
        for m in range(k):
            total = 0.0
            for c in range(9):
                total += P[c // 3, c % 3] * B[p, c, m]
            work[m, p] = weight[p] * total
