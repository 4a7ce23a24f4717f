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
"""

from __future__ import annotations

from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from pliant.core.types import FloatArray, IndexArray, IntArray
from pliant.geometric.patches import Patches
from pliant.geometric.stress import expected_stresses, stress_forces, stress_stiffness
from pliant.geometric.volume_law import BARRIER
from pliant.materials import Tangent
from pliant.materials.laws import NEO_HOOKEAN, VOLUME
from pliant.models.volume import VolumeModel, halved
from pliant.models.volume.model import writable
from pliant.models.volume.points import Points, build_points


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
        self.shape = _selected(model, ~patch)
        grains = build_points(model.mesh, model.spec.cell_materials(), anti_locking=False)
        number = np.where(patch, np.cumsum(patch) - 1, -1)
        of_cell = np.full(len(model.mesh.cells), -1)
        of_patches = patch[p.owner_point]
        of_cell[p.owner_cell[of_patches]] = number[p.owner_point[of_patches]]
        of_grain = of_cell[grains.owner_cell]
        self.patches = Patches(model, grains, of_grain, p.material[patch], model.laws, model.table)
        self.cells = _barrier(model, grains) if model.mesh.element == "tet4" else None

    def energy(self, q: FloatArray) -> tuple[float, FloatArray]:
        """Energy (J, infinite where a material is undefined) and internal forces (n, 3), N, at q (n, 3) m."""
        model, part, x = self.model, self.shape, writable(q)
        force = np.zeros_like(x)
        density = np.empty(len(part.weight))
        energy = halved.internal_forces(x, *part[:6], model.laws, model.table, force, density)
        energy += sum(bars.add(x, force) for bars in model.fibres)
        energy += self.patches.add_forces(x, force)
        if self.cells is not None:
            energy += self.cells.add_forces(x, force)
        return float(energy), force

    def barrier(self, q: FloatArray) -> float:
        """Energy (J) of the barrier alone at q (n, 3) m."""
        return 0.0 if self.cells is None else self.cells.add_forces(writable(q), np.zeros_like(q))

    def expected(self, q: FloatArray, dx: FloatArray) -> Expected:
        """What a step dx (n, 3) m from q is expected to lead to, to first order."""
        model, part = self.model, self.shape
        x, step = writable(q), np.ascontiguousarray(dx)
        stress = np.empty((len(part.weight), 6))
        expected_stresses(x, step, *part[:6], model.laws, model.table, stress)
        return Expected(stress, self.patches.pressures(x, step))

    def forces(self, q: FloatArray, expected: Expected) -> FloatArray:
        """Internal forces (n, 3), N, at q under the `expected` stresses and pressures."""
        x, force = writable(q), np.zeros_like(q)
        part = self.shape
        stress_forces(x, *part[:4], expected.stress, force)
        for bars in self.model.fibres:
            bars.add(x, force)
        self.patches.add_pressure_forces(x, expected.pressure, force)
        if self.cells is not None:
            self.cells.add_forces(x, force)
        return force

    def tangent(self, q: FloatArray, expected: Expected | None, kind: Tangent, values: FloatArray) -> None:
        """Set the blocks `values` (b, 3, 3) to the matrix at q under the `expected` stresses, its own where None."""
        model, part, x = self.model, self.shape, writable(q)
        values[:] = 0.0
        still = np.zeros_like(x)
        halved.assemble(x, *part[:6], model.laws, model.table, int(kind), part.positions, 1.0, values, still.copy())
        own = self.expected(x, still)
        if expected is not None and kind is Tangent.EXACT:
            change = expected.stress - own.stress
            stress_stiffness(part.ptr, part.gradients, part.weight, change, part.positions, values)
        self.patches.add_stiffness(x, (own if expected is None else expected).pressure, values)
        if self.cells is not None:
            self.cells.add_stiffness(x, self.cells.pressures(x, still), values)
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


def _barrier(model: VolumeModel, grains: Points) -> Patches:
    """Every linear tetrahedron as a patch of its own that must not turn inside out."""
    materials = model.spec.materials
    codes = np.full(len(materials), BARRIER, np.int32)
    moduli = np.array([[material.shear_modulus] for material in materials])
    return Patches(model, grains, np.arange(grains.count), grains.material, codes, moduli)
