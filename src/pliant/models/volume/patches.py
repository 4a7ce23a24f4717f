"""The volume of patches of cells, and an energy of it: what keeps rubber as large as it was.

J of a patch is what its cells take up over what they took up at rest, J = Σ w det F / Σ w over their `grains`, the
points at which F is constant (E. A. de Souza Neto, F. M. Andrade Pires, D. R. J. Owen, F-bar-based linear triangles and
tetrahedra for finite strain analysis of nearly incompressible solids, IJNME 62, 2005). The determinant of a mean of F,
which is the same at small strain, is not: cells that buckle against each other grow in volume under a mean whose
determinant stays 1, and rubber that is stretched far would rather do that than stretch on.

With F = Σ xₐ ⊗ Gₐ:   ∂det F/∂xₐ = cof F Gₐ,   ∂²det F/∂xₐ∂xᵦ = −[F (Gₐ × Gᵦ)]ₓ.
"""

from __future__ import annotations

import numpy as np

from pliant.core.kernels import kernel
from pliant.core.types import FloatArray, IndexArray, IntArray
from pliant.models.volume.assembly import deformation_gradient
from pliant.models.volume.points import Points
from pliant.models.volume.volume_law import cofactor, volume_law
from pliant.solvers.linear.pattern import BlockPattern


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
    """

    def __init__(
        self,
        pattern: BlockPattern,
        grains: Points,
        patch: IndexArray,
        material: IntArray,
        laws: IntArray,
        table: FloatArray,
    ) -> None:
        self.count = len(material)
        order = np.argsort(patch, kind="stable")
        order = order[patch[order] >= 0]
        owner, size = patch[order], np.diff(grains.ptr)[order]
        ptr = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
        chosen = np.repeat(grains.ptr[:-1][order] - ptr[:-1], size) + np.arange(ptr[-1])
        nodes = np.ascontiguousarray(grains.nodes[chosen])
        start = np.searchsorted(owner, np.arange(self.count + 1)).astype(np.int64)
        self._grains = start, ptr, nodes, np.ascontiguousarray(grains.gradients[chosen]), grains.weight[order]
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


@kernel
def patch_forces(q, start, ptr, nodes, G, weight, material, laws, table, force):
    """Forces of the patches added to `force`; returns the energy."""
    F, C = np.empty((3, 3)), np.empty((3, 3))
    energy = 0.0
    for p in range(material.shape[0]):
        J, whole = 0.0, 0.0
        for g in range(start[p], start[p + 1]):
            deformation_gradient(q, nodes, G, ptr[g], ptr[g + 1], F)
            J += weight[g] * cofactor(F, C)
            whole += weight[g]
        m = material[p]
        U, pressure, _ = volume_law(laws[m], table[m], J / whole)
        if U == 0.0:
            continue
        energy += whole * U
        for g in range(start[p], start[p + 1]):
            deformation_gradient(q, nodes, G, ptr[g], ptr[g + 1], F)
            cofactor(F, C)
            a = weight[g] * pressure
            for k in range(ptr[g], ptr[g + 1]):
                n = nodes[k]
                for i in range(3):
                    force[n, i] += a * (C[i, 0] * G[k, 0] + C[i, 1] * G[k, 1] + C[i, 2] * G[k, 2])
    return energy


@kernel
def patch_densities(q, start, ptr, nodes, G, weight, material, laws, table, density):
    """U of each patch into `density`."""
    F, C = np.empty((3, 3)), np.empty((3, 3))
    for p in range(material.shape[0]):
        J, whole = 0.0, 0.0
        for g in range(start[p], start[p + 1]):
            deformation_gradient(q, nodes, G, ptr[g], ptr[g + 1], F)
            J += weight[g] * cofactor(F, C)
            whole += weight[g]
        density[p] = volume_law(laws[material[p]], table[material[p]], J / whole)[0]


@kernel
def pressure_forces(q, start, ptr, nodes, G, weight, pressure, force):
    """Forces w π cof F Gₐ of the patches under `pressure` added to `force`."""
    F, C = np.empty((3, 3)), np.empty((3, 3))
    for p in range(pressure.shape[0]):
        for g in range(start[p], start[p + 1]):
            deformation_gradient(q, nodes, G, ptr[g], ptr[g + 1], F)
            cofactor(F, C)
            a = weight[g] * pressure[p]
            for k in range(ptr[g], ptr[g + 1]):
                n = nodes[k]
                for i in range(3):
                    force[n, i] += a * (C[i, 0] * G[k, 0] + C[i, 1] * G[k, 1] + C[i, 2] * G[k, 2])


@kernel
def patch_pressures(q, dx, start, ptr, nodes, G, weight, material, laws, table, pressure):
    """U′ + U″ ∇J·dx of each patch into `pressure`."""
    F, C, D = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    for p in range(material.shape[0]):
        J, change, whole = 0.0, 0.0, 0.0
        for g in range(start[p], start[p + 1]):
            deformation_gradient(q, nodes, G, ptr[g], ptr[g + 1], F)
            deformation_gradient(dx, nodes, G, ptr[g], ptr[g + 1], D)
            J += weight[g] * cofactor(F, C)
            whole += weight[g]
            for i in range(3):
                for j in range(3):
                    change += weight[g] * C[i, j] * D[i, j]
        m = material[p]
        _, own, stiffness = volume_law(laws[m], table[m], J / whole)
        pressure[p] = own + stiffness * change / whole


@kernel
def patch_stiffness(
    q, start, ptr, nodes, G, weight, material, laws, table, pressure, ends, local, pairs, grain_pairs, scale, values
):
    """Add W U″ gₐ gᵦᵀ, g = Σ w cof F G / W, of the patches, and −w π [F (Gₐ × Gᵦ)]ₓ of their grains, to `values`."""
    F, C = np.empty((3, 3)), np.empty((3, 3))
    widest = 0
    for p in range(material.shape[0]):
        widest = max(widest, ends[p + 1] - ends[p])
    slope = np.empty((widest, 3))
    pair, grain_pair = 0, 0
    for p in range(material.shape[0]):
        count = ends[p + 1] - ends[p]
        slope[:count] = 0.0
        J, whole = 0.0, 0.0
        for g in range(start[p], start[p + 1]):
            deformation_gradient(q, nodes, G, ptr[g], ptr[g + 1], F)
            J += weight[g] * cofactor(F, C)
            whole += weight[g]
            for k in range(ptr[g], ptr[g + 1]):
                for i in range(3):
                    part = C[i, 0] * G[k, 0] + C[i, 1] * G[k, 1] + C[i, 2] * G[k, 2]
                    slope[local[k], i] += weight[g] * part
        m = material[p]
        _, _, stiffness = volume_law(laws[m], table[m], J / whole)
        u = scale * max(stiffness, 0.0) / whole
        if u == 0.0:
            pair += count * (count + 1) // 2
        else:
            for a in range(count):
                for b in range(a + 1):
                    K = values[pairs[pair]]
                    pair += 1
                    for i in range(3):
                        for j in range(3):
                            K[i, j] += u * slope[a, i] * slope[b, j]
        for g in range(start[p], start[p + 1]):
            size = ptr[g + 1] - ptr[g]
            if pressure[p] == 0.0:
                grain_pair += size * (size + 1) // 2
                continue
            deformation_gradient(q, nodes, G, ptr[g], ptr[g + 1], F)
            v = scale * weight[g] * pressure[p]
            for a in range(ptr[g], ptr[g + 1]):
                A = G[a]
                for b in range(ptr[g], a + 1):
                    B = G[b]
                    x = v * (A[1] * B[2] - A[2] * B[1])
                    y = v * (A[2] * B[0] - A[0] * B[2])
                    z = v * (A[0] * B[1] - A[1] * B[0])
                    h0 = F[0, 0] * x + F[0, 1] * y + F[0, 2] * z
                    h1 = F[1, 0] * x + F[1, 1] * y + F[1, 2] * z
                    h2 = F[2, 0] * x + F[2, 1] * y + F[2, 2] * z
                    K = values[grain_pairs[grain_pair]]
                    grain_pair += 1
                    K[0, 1] += h2
                    K[1, 0] -= h2
                    K[0, 2] -= h1
                    K[2, 0] += h1
                    K[1, 2] += h0
                    K[2, 1] -= h0
