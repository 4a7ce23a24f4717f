"""The energy of a volume with its stresses and the pressure of its patches as unknowns of their own.

Rubber hardly changes its volume: the volumetric energy U(J) of the patches is a stiff spring in a curved direction, and
so is a stiff layer that bends. Newton's method in the positions alone sees, after every long step, huge stresses that
are nothing but the curvature of those directions, and creeps. With the pressure π of a patch and the stresses S of the
other points as unknowns of their own, the step solves the same equations with the matrix

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

from typing import NamedTuple

import numpy as np

from pliant.core.arrays import writable
from pliant.core.types import FloatArray
from pliant.materials import Tangent
from pliant.models.volume import VolumeModel, assembly, halved
from pliant.models.volume.halved import DividedPoints, PointSet
from pliant.models.volume.patches import Patches
from pliant.models.volume.points import build_points
from pliant.models.volume.split import Split
from pliant.models.volume.volume_law import BARRIER
from pliant.models.workspace import Workspace
from pliant.stepping.minimum_energy.stress import expected_stresses, stress_forces, stress_stiffness


class Expected(NamedTuple):
    """What a step is expected to lead to: second Piola–Kirchhoff stresses (p, 6) and pressures of patches (m,), Pa."""

    stress: FloatArray
    pressure: FloatArray


class MixedBody:
    """A volume with its points sorted into those of shape and the patches whose pressure is an unknown, m of them
    (`models.volume.split`). The volume energy of laws that know no such function of J is taken as it is.
    """

    def __init__(self, model: VolumeModel) -> None:
        self.model = model
        split = model.split or Split.by_means(model.points, model.pattern, model.laws, model.table)
        self.patches, self._positions = split.patches, split.positions
        self._shape = split.shape.arrays
        self._divided = DividedPoints.of(split.shape, split.positions, model.rest, model.laws, model.table)
        self.cells = _barrier(model) if model.mesh.element == "tet4" else None

    def energy(self, q: FloatArray) -> tuple[float, FloatArray]:
        """Energy (J, infinite where a material is undefined) and internal forces (n, 3), N, at q (n, 3) m."""
        model, x = self.model, writable(q)
        force = np.zeros_like(x)
        density = np.empty(len(self._shape[3]))
        energy = halved.internal_forces(x, self._shape, model.laws, model.table, force, density)
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
        model = self.model
        x, step = writable(q), np.ascontiguousarray(dx)
        stress = np.empty((len(self._shape[3]), 6))
        expected_stresses(x, step, *self._shape, model.laws, model.table, stress)
        return Expected(stress, self.patches.pressures(x, step))

    def forces(self, q: FloatArray, expected: Expected) -> FloatArray:
        """Internal forces (n, 3), N, at q under the `expected` stresses and pressures."""
        x, force = writable(q), np.zeros_like(q)
        stress_forces(x, *self._shape[:4], expected.stress, force)
        for bars in self.model.fibres:
            bars.add(x, force)
        self.patches.add_pressure_forces(x, expected.pressure, force)
        if self.cells is not None:
            self.cells.add_forces(x, force)
        return force

    def tangent(self, q: FloatArray, expected: Expected | None, kind: Tangent, values: FloatArray) -> None:
        """Set the blocks `values` (b, 3, 3) to the matrix at q under the `expected` stresses, its own where None."""
        model, x = self.model, writable(q)
        values[:] = 0.0
        still = np.zeros_like(x)

        def add(some: PointSet, into: FloatArray, first: bool) -> tuple[float, FloatArray]:
            force = np.zeros_like(x)
            given = x, *some.points, model.laws, model.table, int(kind), some.positions, 1.0
            return float(assembly.assemble(*given, into, force)), force

        self._divided.assemble(add, values)
        own = self.expected(x, still)
        if expected is not None and kind is Tangent.EXACT:
            change = expected.stress - own.stress
            ptr, _, gradients, weight, _, _ = self._shape
            stress_stiffness(ptr, gradients, weight, change, self._positions, values)
        self.patches.add_stiffness(x, (own if expected is None else expected).pressure, 1.0, values)
        if self.cells is not None:
            self.cells.add_stiffness(x, self.cells.pressures(x, still), 1.0, values)
        for bars in model.fibres:
            bars.add_stiffness(x, 1.0, kind, values)


def mixed_body(model: VolumeModel, workspace: Workspace) -> MixedBody:
    """The mixed form of `model`, derived once."""
    return workspace.once(model, MixedBody, lambda: MixedBody(model))


def _barrier(model: VolumeModel) -> Patches:
    """Every linear tetrahedron as a patch of its own that must not turn inside out."""
    materials = model.spec.materials
    cells = build_points(model.mesh, model.spec.cell_materials(), anti_locking=False)
    codes = np.full(len(materials), BARRIER, np.int32)
    moduli = np.array([[material.shear_modulus] for material in materials])
    return Patches(model.pattern, cells, np.arange(cells.count), cells.material, codes, moduli)
