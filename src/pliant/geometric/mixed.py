"""The energy of a volume with its stresses and the pressure of its patches as unknowns of their own.

Rubber hardly changes its volume: U(J) = κ/2 (J − 1)² on the patches of the element is a stiff spring in a curved
direction, and so is a stiff layer that bends. Newton's method in the positions alone sees, after every long step, huge
stresses that are nothing but the curvature of those directions, and creeps. With the pressure π of a patch and the
stresses S of the other points as unknowns of their own, the step solves the same equations with the matrix

    Σ w [U″ ∇J ∇Jᵀ + π ∇²J] + Σ w [∇E : ∂S/∂E : ∇E + S : ∇²E],        π⁺ = U′ + U″ ∇J·dx,   S⁺ = S + ∂S/∂E : ∇E·dx:

the stresses that bend the matrix are those that the last step was to lead to, not those of the curvature. At the end
both are equal, so the minimum is that of the energy itself. (D. Magisano, L. Leonetti, G. Garcea, How to improve
efficiency and robustness of the Newton method in geometrically non-linear structural problem discretized via
displacement-based finite elements, CMAME 313, 2017.)

Smoothed elements feel the mean of several cells, and would let a single one turn inside out. A barrier on every linear
tetrahedron, b(J) = −μ (J − J₀)² ln(J/J₀) below J₀ = 2/5 and nothing above, keeps them all upright; what it adds to the
energy vanishes as the mesh is refined.

With F = Σ xₐ ⊗ Gₐ:   ∂J/∂xₐ = cof F Gₐ,   ∂²J/∂xₐ∂xᵦ = −[F (Gₐ × Gᵦ)]ₓ.
"""

from __future__ import annotations

from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from pliant.core.kernels import kernel
from pliant.core.types import FloatArray, IndexArray, IntArray
from pliant.geometric.stress import expected_stresses, stress_forces, stress_stiffness
from pliant.geometric.volume_law import BARRIER, cofactor, volume_law
from pliant.materials import Tangent
from pliant.materials.laws import NEO_HOOKEAN, VOLUME
from pliant.models.volume import VolumeModel, halved
from pliant.models.volume.assembly import deformation_gradient
from pliant.models.volume.model import writable
from pliant.models.volume.points import build_points


class Part(NamedTuple):
    """Some integration points of a body, as kernels take them, and the places of their blocks in the matrix."""

    ptr: IndexArray
    nodes: IntArray
    gradients: FloatArray
    weight: FloatArray
    part: IntArray
    material: IntArray
    positions: IntArray


class Expected(NamedTuple):
    """What a step is expected to lead to: the second Piola–Kirchhoff stresses of the points of shape (p, 6) and the
    pressures of the patches (m,), Pa.
    """

    stress: FloatArray
    pressure: FloatArray


class MixedBody:
    """A volume with its points sorted into those of shape and the patches whose pressure is an unknown, m of them.

    The volume energy of the neo-Hookean and of the isochoric laws is a function of J, and its pressure is unknown; that
    of the others is taken as it is.
    """

    def __init__(self, model: VolumeModel) -> None:
        self.model = model
        p = model.points
        patch = (p.part == VOLUME) & (model.laws[p.material] >= NEO_HOOKEAN)
        self.shape, self.patches = _selected(model, ~patch), _selected(model, patch)
        self.patch_count = int(patch.sum())
        self.cells = _plain_cells(model)
        self._codes = np.full(len(model.spec.materials), BARRIER, np.int32)
        self._moduli = np.array([[material.shear_modulus] for material in model.spec.materials])

    def energy(self, q: FloatArray) -> tuple[float, FloatArray]:
        """Energy (J, infinite where a material is undefined) and internal forces (n, 3), N, at q (n, 3) m."""
        model, part, x = self.model, self.shape, writable(q)
        force = np.zeros_like(x)
        density = np.empty(len(part.weight))
        energy = halved.internal_forces(x, *part[:6], model.laws, model.table, force, density)
        energy += sum(bars.add(x, force) for bars in model.fibres)
        part = self.patches
        energy += patch_forces(x, *part[:4], part.material, model.laws, model.table, force)
        if self.cells is not None:
            part = self.cells
            energy += patch_forces(x, *part[:4], part.material, self._codes, self._moduli, force)
        return float(energy), force

    def barrier(self, q: FloatArray) -> tuple[float, FloatArray]:
        """Energy (J) and forces (n, 3), N, of the barrier alone at q (n, 3) m."""
        force = np.zeros_like(q)
        if self.cells is None:
            return 0.0, force
        part = self.cells
        energy = patch_forces(writable(q), *part[:4], part.material, self._codes, self._moduli, force)
        return float(energy), force

    def expected(self, q: FloatArray, dx: FloatArray) -> Expected:
        """What a step dx (n, 3) m from q is expected to lead to, to first order."""
        model, part = self.model, self.shape
        x, step = writable(q), np.ascontiguousarray(dx)
        stress, pressure = np.empty((len(part.weight), 6)), np.empty(self.patch_count)
        expected_stresses(x, step, *part[:6], model.laws, model.table, stress)
        part = self.patches
        patch_pressures(x, step, *part[:3], part.material, model.laws, model.table, pressure)
        return Expected(stress, pressure)

    def forces(self, q: FloatArray, expected: Expected) -> FloatArray:
        """Internal forces (n, 3), N, at q under the `expected` stresses and pressures."""
        x, force = writable(q), np.zeros_like(q)
        part = self.shape
        stress_forces(x, *part[:4], expected.stress, force)
        for bars in self.model.fibres:
            bars.add(x, force)
        part = self.patches
        pressure_forces(x, *part[:4], expected.pressure, force)
        if self.cells is not None:
            part = self.cells
            patch_forces(x, *part[:4], part.material, self._codes, self._moduli, force)
        return force

    def tangent(self, q: FloatArray, expected: Expected | None, kind: Tangent, values: FloatArray) -> None:
        """Set the blocks `values` (b, 3, 3) to the matrix at q under the `expected` stresses, its own where None."""
        model, part, x = self.model, self.shape, writable(q)
        values[:] = 0.0
        scratch = np.zeros_like(x)
        halved.assemble(x, *part[:6], model.laws, model.table, int(kind), part.positions, 1.0, values, scratch)
        own = self.expected(x, scratch * 0.0)
        if expected is not None and kind is Tangent.EXACT:
            change = expected.stress - own.stress
            stress_stiffness(part.ptr, part.gradients, part.weight, change, part.positions, values)
        pressure = own.pressure if expected is None else expected.pressure
        part = self.patches
        patch_stiffness(x, *part[:4], part.material, model.laws, model.table, pressure, part.positions, values)
        if self.cells is not None:
            part, own_of_cells = self.cells, np.empty(len(self.cells.weight))
            patch_pressures(x, np.zeros_like(x), *part[:3], part.material, self._codes, self._moduli, own_of_cells)
            patch_stiffness(
                x, *part[:4], part.material, self._codes, self._moduli, own_of_cells, part.positions, values
            )
        for bars in model.fibres:
            bars.add_stiffness(x, 1.0, kind, values)


_BODIES: WeakKeyDictionary[VolumeModel, MixedBody] = WeakKeyDictionary()


def mixed_body(model: VolumeModel) -> MixedBody:
    """The mixed form of `model`, sorted once."""
    if model not in _BODIES:
        _BODIES[model] = MixedBody(model)
    return _BODIES[model]


def _selected(model: VolumeModel, which: Any) -> Part:
    p, size = model.points, np.diff(model.points.ptr)
    pairs = size * (size + 1) // 2
    of_node, of_pair = np.repeat(which, size), np.repeat(which, pairs)
    ptr = np.concatenate([[0], np.cumsum(size[which])]).astype(np.int64)
    arrays = p.nodes[of_node], p.gradients[of_node], p.weight[which], p.part[which], p.material[which]
    nodes, gradients, weight, part, material = (np.ascontiguousarray(a) for a in arrays)
    return Part(ptr, nodes, gradients, weight, part, material, np.ascontiguousarray(model.positions[of_pair]))


def _plain_cells(model: VolumeModel) -> Part | None:
    """The cells of a mesh of linear tetrahedra as points of their own; None for other meshes."""
    if model.mesh.element != "tet4":
        return None
    material = model.spec.cell_materials()
    p = build_points(model.mesh, material, anti_locking=False)
    _, positions = model.pattern.clique_positions(p.ptr, p.nodes)
    return Part(p.ptr, p.nodes, p.gradients, p.weight, p.part, p.material, positions)


@kernel
def patch_forces(q, ptr, nodes, G, weight, material, laws, table, force):
    """Forces of the patches added to `force`; returns the energy."""
    F, C = np.empty((3, 3)), np.empty((3, 3))
    energy = 0.0
    for p in range(weight.shape[0]):
        start, stop, m = ptr[p], ptr[p + 1], material[p]
        deformation_gradient(q, nodes, G, start, stop, F)
        U, pressure, _ = volume_law(laws[m], table[m], cofactor(F, C))
        if U == 0.0:
            continue
        energy += weight[p] * U
        a = weight[p] * pressure
        for k in range(start, stop):
            n = nodes[k]
            for i in range(3):
                force[n, i] += a * (C[i, 0] * G[k, 0] + C[i, 1] * G[k, 1] + C[i, 2] * G[k, 2])
    return energy


@kernel
def pressure_forces(q, ptr, nodes, G, weight, pressure, force):
    """Forces w π cof F Gₐ of the patches under `pressure` added to `force`."""
    F, C = np.empty((3, 3)), np.empty((3, 3))
    for p in range(weight.shape[0]):
        deformation_gradient(q, nodes, G, ptr[p], ptr[p + 1], F)
        cofactor(F, C)
        a = weight[p] * pressure[p]
        for k in range(ptr[p], ptr[p + 1]):
            n = nodes[k]
            for i in range(3):
                force[n, i] += a * (C[i, 0] * G[k, 0] + C[i, 1] * G[k, 1] + C[i, 2] * G[k, 2])


@kernel
def patch_pressures(q, dx, ptr, nodes, G, material, laws, table, pressure):
    """U′ + U″ ∇J·dx of each patch into `pressure`."""
    F, C, D = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    for p in range(pressure.shape[0]):
        m = material[p]
        deformation_gradient(q, nodes, G, ptr[p], ptr[p + 1], F)
        deformation_gradient(dx, nodes, G, ptr[p], ptr[p + 1], D)
        _, own, stiffness = volume_law(laws[m], table[m], cofactor(F, C))
        change = 0.0
        for i in range(3):
            for j in range(3):
                change += C[i, j] * D[i, j]
        pressure[p] = own + stiffness * change


@kernel
def patch_stiffness(q, ptr, nodes, G, weight, material, laws, table, pressure, positions, values):
    """Blocks w (U″ gₐ gᵦᵀ − π [F (Gₐ × Gᵦ)]ₓ), g = cof F G, of all patches added to `values`."""
    F, C = np.empty((3, 3)), np.empty((3, 3))
    pair = 0
    widest = 0
    for p in range(weight.shape[0]):
        widest = max(widest, ptr[p + 1] - ptr[p])
    g = np.empty((widest, 3))
    for p in range(weight.shape[0]):
        start, m = ptr[p], material[p]
        count = ptr[p + 1] - start
        deformation_gradient(q, nodes, G, start, ptr[p + 1], F)
        _, _, stiffness = volume_law(laws[m], table[m], cofactor(F, C))
        if stiffness == 0.0 and pressure[p] == 0.0:
            pair += count * (count + 1) // 2
            continue
        for a in range(count):
            for i in range(3):
                k = start + a
                g[a, i] = C[i, 0] * G[k, 0] + C[i, 1] * G[k, 1] + C[i, 2] * G[k, 2]
        u, v = weight[p] * max(stiffness, 0.0), weight[p] * pressure[p]
        for a in range(count):
            A = G[start + a]
            for b in range(a + 1):
                B = G[start + b]
                x = v * (A[1] * B[2] - A[2] * B[1])
                y = v * (A[2] * B[0] - A[0] * B[2])
                z = v * (A[0] * B[1] - A[1] * B[0])
                h0 = F[0, 0] * x + F[0, 1] * y + F[0, 2] * z
                h1 = F[1, 0] * x + F[1, 1] * y + F[1, 2] * z
                h2 = F[2, 0] * x + F[2, 1] * y + F[2, 2] * z
                K = values[positions[pair]]
                pair += 1
                for i in range(3):
                    for j in range(3):
                        K[i, j] += u * g[a, i] * g[b, j]
                K[0, 1] += h2
                K[1, 0] -= h2
                K[0, 2] -= h1
                K[2, 0] += h1
                K[1, 2] += h0
                K[2, 1] -= h0
