"""The volume of patches of cells, and an energy of it: what keeps rubber as large as it was.

J of a patch is what its cells take up over what they took up at rest, J = Σ w det F / Σ w over their `grains`, the
points at which F is constant (E. A. de Souza Neto, F. M. Andrade Pires, D. R. J. Owen, F-bar-based linear triangles and
tetrahedra for finite strain analysis of nearly incompressible solids, IJNME 62, 2005). The determinant of a mean of F,
which is the same at small strain, is not: cells that buckle against each other grow in volume under a mean whose
determinant stays 1, and rubber that is stretched far would rather do that than stretch on. Near rest that mean is the
more accurate one. `blended` patches therefore go from the one to the other with the stretch of the mean F̄:

J = (1 − b) det F̄ + b Σ w det F / Σ w,   b from 0 to 1 while F̄:F̄ goes from `MEAN` to `WHOLE`.

With F = Σ xₐ ⊗ Gₐ:   ∂det F/∂xₐ = cof F Gₐ,   ∂²det F/∂xₐ∂xᵦ = −[F (Gₐ × Gᵦ)]ₓ.
"""

from __future__ import annotations

import numpy as np

from pliant.core.kernels import inline, kernel
from pliant.core.types import FloatArray, IndexArray, IntArray
from pliant.models.volume.assembly import deformation_gradient
from pliant.models.volume.points import Points
from pliant.models.volume.volume_law import cofactor, volume_law
from pliant.solvers.linear.pattern import BlockPattern

MEAN, WHOLE = 3.6, 5.0
"""F̄:F̄ up to which a blended patch has the determinant of its mean F̄, and from which the volume of its cells: 1.5 and 2
times the length in tension at constant volume. Cells begin to buckle beyond twice the length.
"""


class Patches:
    """Patches of a body, m of them, with an energy U(J) each of its law.

    pattern
        Of the matrix; it couples all nodes of a patch.
    grains
        Points at which F is taken.
    patch
        (grains,) the patch of each, −1 for none.
    material
        (m,) rows of `laws` and `table`, codes and parameters of the laws.
    blended
        Whether J is the determinant of the mean F where the patch is little stretched.
    """

    def __init__(
        self,
        pattern: BlockPattern,
        grains: Points,
        patch: IndexArray,
        material: IntArray,
        laws: IntArray,
        table: FloatArray,
        *,
        blended: bool = False,
    ) -> None:
        self.count = len(material)
        order = np.argsort(patch, kind="stable")
        order = order[patch[order] >= 0]
        owner, size = patch[order], np.diff(grains.ptr)[order]
        ptr = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
        chosen = np.repeat(grains.ptr[:-1][order] - ptr[:-1], size) + np.arange(ptr[-1])
        nodes = np.ascontiguousarray(grains.nodes[chosen])
        start = np.searchsorted(owner, np.arange(self.count + 1)).astype(np.int64)
        self._grains = start, ptr, nodes, np.ascontiguousarray(grains.gradients[chosen]), grains.weight[order], blended
        self._laws = np.ascontiguousarray(material, np.int32), laws, table
        of_entry = np.repeat(owner, size)
        unique, entry = np.unique(of_entry * np.int64(pattern.node_count) + nodes, return_inverse=True)
        ends = np.searchsorted(unique // pattern.node_count, np.arange(self.count + 1)).astype(np.int64)
        local = (entry.ravel() - ends[of_entry]).astype(np.int32)
        _, pairs = pattern.clique_positions(ends, (unique % pattern.node_count).astype(np.int32))
        _, grain_pairs = pattern.clique_positions(ptr, nodes)
        self._blocks = ends, local, pairs, grain_pairs

    def add_forces(self, q: FloatArray, force: FloatArray) -> float:
        """Add the forces at q (n, 3) m to `force` (n, 3), N; returns the energy, J, infinite where J ≤ 0."""
        return float(patch_forces(q, *self._grains, *self._laws, force))

    def pressures(self, q: FloatArray, dx: FloatArray) -> FloatArray:
        """The pressures U′ that a step dx (n, 3) m from q leads to, to first order, (m,), Pa."""
        pressure = np.empty(self.count)
        patch_pressures(q, dx, *self._grains, *self._laws, pressure)
        return pressure

    def add_pressure_forces(self, q: FloatArray, pressure: FloatArray, force: FloatArray) -> None:
        """Add the forces of given pressures (m,), Pa, at q to `force`."""
        pressure_forces(q, *self._grains, pressure, force)

    def add_stiffness(self, q: FloatArray, pressure: FloatArray, scale: float, values: FloatArray) -> None:
        """Add the matrix at q under given pressures (m,), Pa, times `scale` to the blocks `values` (b, 3, 3)."""
        patch_stiffness(q, *self._grains, *self._laws, pressure, *self._blocks, scale, values)

    def densities(self, q: FloatArray) -> FloatArray:
        """U of each patch at q, (m,), J/m³."""
        density = np.empty(self.count)
        patch_densities(q, *self._grains, *self._laws, density)
        return density


@inline
def _blend(q, first, last, ptr, nodes, G, weight, blended, F, C, M, A):
    """Volume of a patch at rest, its J and the fraction b of the cells in it; M := F̄, and A := the matrix with which
    ∂J/∂F of a grain is b cof F + A. Then b′ and b″, derivatives in F̄:F̄, times the difference of the two volumes.
    """
    J, whole = 0.0, 0.0
    M[:] = 0.0
    for g in range(first, last):
        deformation_gradient(q, nodes, G, ptr[g], ptr[g + 1], F)
        J += weight[g] * cofactor(F, C)
        whole += weight[g]
        if blended:
            for i in range(3):
                for j in range(3):
                    M[i, j] += weight[g] * F[i, j]
    J /= whole
    A[:] = 0.0
    if not blended:
        return whole, J, 1.0, 0.0, 0.0, 0.0
    square = 0.0
    for i in range(3):
        for j in range(3):
            M[i, j] /= whole
            square += M[i, j] * M[i, j]
    mean = cofactor(M, A)
    x = min(max((square - MEAN) / (WHOLE - MEAN), 0.0), 1.0)
    b, slope = x * x * (3.0 - 2.0 * x), 6.0 * x * (1.0 - x) / (WHOLE - MEAN)
    bend = (6.0 - 12.0 * x) / (WHOLE - MEAN) ** 2 if 0.0 < x < 1.0 else 0.0
    away = J - mean
    for i in range(3):
        for j in range(3):
            A[i, j] = (1.0 - b) * A[i, j] + 2.0 * slope * away * M[i, j]
    return whole, mean + b * away, b, slope, slope * away, bend * away


@inline
def _mix(b, C, A):
    """C := b C + A."""
    for i in range(3):
        for j in range(3):
            C[i, j] = b * C[i, j] + A[i, j]


@kernel
def patch_forces(q, start, ptr, nodes, G, weight, blended, material, laws, table, force):
    """Forces of the patches added to `force`; returns the energy."""
    F, C, M, A = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    energy = 0.0
    for p in range(material.shape[0]):
        whole, J, b, _, _, _ = _blend(q, start[p], start[p + 1], ptr, nodes, G, weight, blended, F, C, M, A)
        m = material[p]
        U, pressure, _ = volume_law(laws[m], table[m], J)
        if U == 0.0:
            continue
        energy += whole * U
        for g in range(start[p], start[p + 1]):
            deformation_gradient(q, nodes, G, ptr[g], ptr[g + 1], F)
            cofactor(F, C)
            _mix(b, C, A)
            a = weight[g] * pressure
            for k in range(ptr[g], ptr[g + 1]):
                n = nodes[k]
                for i in range(3):
                    force[n, i] += a * (C[i, 0] * G[k, 0] + C[i, 1] * G[k, 1] + C[i, 2] * G[k, 2])
    return energy


@kernel
def patch_densities(q, start, ptr, nodes, G, weight, blended, material, laws, table, density):
    """U of each patch into `density`."""
    F, C, M, A = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    for p in range(material.shape[0]):
        _, J, _, _, _, _ = _blend(q, start[p], start[p + 1], ptr, nodes, G, weight, blended, F, C, M, A)
        density[p] = volume_law(laws[material[p]], table[material[p]], J)[0]


@kernel
def pressure_forces(q, start, ptr, nodes, G, weight, blended, pressure, force):
    """Forces w π cof F Gₐ of the patches under `pressure` added to `force`."""
    F, C, M, A = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    for p in range(pressure.shape[0]):
        _, _, b, _, _, _ = _blend(q, start[p], start[p + 1], ptr, nodes, G, weight, blended, F, C, M, A)
        for g in range(start[p], start[p + 1]):
            deformation_gradient(q, nodes, G, ptr[g], ptr[g + 1], F)
            cofactor(F, C)
            _mix(b, C, A)
            a = weight[g] * pressure[p]
            for k in range(ptr[g], ptr[g + 1]):
                n = nodes[k]
                for i in range(3):
                    force[n, i] += a * (C[i, 0] * G[k, 0] + C[i, 1] * G[k, 1] + C[i, 2] * G[k, 2])


@kernel
def patch_pressures(q, dx, start, ptr, nodes, G, weight, blended, material, laws, table, pressure):
    """U′ + U″ ∇J·dx of each patch into `pressure`."""
    F, C, M, A = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    D = np.empty((3, 3))
    for p in range(material.shape[0]):
        whole, J, b, _, _, _ = _blend(q, start[p], start[p + 1], ptr, nodes, G, weight, blended, F, C, M, A)
        change = 0.0
        for g in range(start[p], start[p + 1]):
            deformation_gradient(q, nodes, G, ptr[g], ptr[g + 1], F)
            deformation_gradient(dx, nodes, G, ptr[g], ptr[g + 1], D)
            cofactor(F, C)
            _mix(b, C, A)
            for i in range(3):
                for j in range(3):
                    change += weight[g] * C[i, j] * D[i, j]
        m = material[p]
        _, own, stiffness = volume_law(laws[m], table[m], J)
        pressure[p] = own + stiffness * change / whole


@kernel
def patch_stiffness(
    q, start, ptr, nodes, G, weight, blended, material, laws, table, pressure, ends, local, pairs, grain_pairs, scale,
    values,
):  # fmt: skip
    """Add W U″ gₐ gᵦᵀ, g = ∂J/∂x, of the patches, and π W ∂²J/∂x∂x under `pressure`, to `values`: of the cells
    −w π b [F (Gₐ × Gᵦ)]ₓ, the rest as `_add_bent` says.
    """
    F, C, M, A = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    widest = 0
    for p in range(material.shape[0]):
        widest = max(widest, ends[p + 1] - ends[p])
    slope, own, mean = np.empty((widest, 3)), np.empty((widest, 3)), np.empty((widest, 3))
    pair, grain_pair = 0, 0
    for p in range(material.shape[0]):
        count = ends[p + 1] - ends[p]
        slope[:count] = 0.0
        own[:count] = 0.0
        mean[:count] = 0.0
        whole, J, b, turn, away, bend = _blend(
            q, start[p], start[p + 1], ptr, nodes, G, weight, blended, F, C, M, A
        )  # fmt: skip
        for g in range(start[p], start[p + 1]):
            deformation_gradient(q, nodes, G, ptr[g], ptr[g + 1], F)
            cofactor(F, C)
            for k in range(ptr[g], ptr[g + 1]):
                for i in range(3):
                    part = C[i, 0] * G[k, 0] + C[i, 1] * G[k, 1] + C[i, 2] * G[k, 2]
                    rest = A[i, 0] * G[k, 0] + A[i, 1] * G[k, 1] + A[i, 2] * G[k, 2]
                    own[local[k], i] += weight[g] * part
                    slope[local[k], i] += weight[g] * (b * part + rest)
                    mean[local[k], i] += weight[g] * G[k, i]
        m = material[p]
        _, _, stiffness = volume_law(laws[m], table[m], J)
        u = scale * max(stiffness, 0.0) / whole
        if b < 1.0 and pressure[p] != 0.0:
            own[:count] /= whole
            mean[:count] /= whole
            _add_bent(
                values, pairs, pair, count, scale * whole * pressure[p], b, turn, away, bend, own, mean, M, C
            )  # fmt: skip
        if u == 0.0:
            pair += count * (count + 1) // 2
        else:
            for a in range(count):
                for c in range(a + 1):
                    K = values[pairs[pair]]
                    pair += 1
                    for i in range(3):
                        for j in range(3):
                            K[i, j] += u * slope[a, i] * slope[c, j]
        for g in range(start[p], start[p + 1]):
            size = ptr[g + 1] - ptr[g]
            if pressure[p] == 0.0 or b == 0.0:
                grain_pair += size * (size + 1) // 2
                continue
            deformation_gradient(q, nodes, G, ptr[g], ptr[g + 1], F)
            v = scale * weight[g] * b * pressure[p]
            for a in range(ptr[g], ptr[g + 1]):
                for c in range(ptr[g], a + 1):
                    _add_spin(values[grain_pairs[grain_pair]], v, F, G[a], G[c])
                    grain_pair += 1


@inline
def _add_spin(K, v, F, A, B):
    """K −= v [F (A × B)]ₓ."""
    x = v * (A[1] * B[2] - A[2] * B[1])
    y = v * (A[2] * B[0] - A[0] * B[2])
    z = v * (A[0] * B[1] - A[1] * B[0])
    h0 = F[0, 0] * x + F[0, 1] * y + F[0, 2] * z
    h1 = F[1, 0] * x + F[1, 1] * y + F[1, 2] * z
    h2 = F[2, 0] * x + F[2, 1] * y + F[2, 2] * z
    K[0, 1] += h2
    K[1, 0] -= h2
    K[0, 2] -= h1
    K[2, 0] += h1
    K[1, 2] += h0
    K[2, 1] -= h0


@inline
def _add_bent(values, pairs, pair, count, v, b, turn, away, bend, own, mean, M, C):
    """Add v (∂²J − b ∂²Jᶜ) of a blended patch to the blocks of its pairs of nodes, Jᶜ the volume of its cells.

    With t = ∂(F̄:F̄) = 2 F̄ Ḡ and d = ∂(Jᶜ − det F̄):  (1 − b) ∂²det F̄ + b′ (t dᵀ + d tᵀ) + b″ (Jᶜ − det F̄) t tᵀ
    + 2 b′ (Jᶜ − det F̄) Ḡₐ·Ḡᵦ I.
    """
    cofactor(M, C)
    t, d = np.empty((count, 3)), np.empty((count, 3))
    for a in range(count):
        for i in range(3):
            t[a, i] = 2.0 * (M[i, 0] * mean[a, 0] + M[i, 1] * mean[a, 1] + M[i, 2] * mean[a, 2])
            d[a, i] = own[a, i] - (C[i, 0] * mean[a, 0] + C[i, 1] * mean[a, 1] + C[i, 2] * mean[a, 2])
    for a in range(count):
        for c in range(a + 1):
            K = values[pairs[pair]]
            pair += 1
            _add_spin(K, v * (1.0 - b), M, mean[a], mean[c])
            near = 2.0 * away * (mean[a, 0] * mean[c, 0] + mean[a, 1] * mean[c, 1] + mean[a, 2] * mean[c, 2])
            for i in range(3):
                K[i, i] += v * near
                for j in range(3):
                    K[i, j] += v * (turn * (t[a, i] * d[c, j] + d[a, i] * t[c, j]) + bend * t[a, i] * t[c, j])
