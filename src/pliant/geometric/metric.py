"""The matrix that a descent measures steps with, factorized: the tangent of the energy, or the constant Laplacian.

The Laplacian of the geometric method, L = Σ w 2μ ∇·∇ over the integration points, is the same for x, y and z: a third
of the unknowns, factorized once for ever. It knows nothing of volume, along whose changes the energy is κ/μ times as
stiff as L says. A sphere whose chamber grows by a quarter takes it 110 iterations at ν = 0.3, 270 at 0.49 and 750 at
0.499, where the tangent takes four and three factorizations whatever ν is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import numpy as np
from scipy import sparse

from pliant.core.errors import SingularError
from pliant.core.types import FloatArray
from pliant.geometric.mixed import Expected, mixed_body
from pliant.geometric.rooted import RootedFactor
from pliant.materials import Tangent
from pliant.models.volume import VolumeModel
from pliant.models.volume.held_factor import HeldFactor
from pliant.models.volume.trial import VolumeSystem
from pliant.solvers.linear.pattern import BlockPattern
from pliant.solvers.linear.symbolic import analyze
from pliant.stepping.motion import Motion

_ATTEMPTS = (
    (Tangent.EXACT, 0.0),
    *((Tangent.EXACT, 10.0**power) for power in (-6, -5, -4, -3, -2)),
    *((Tangent.PROJECTED, 10.0**power) for power in (-3, -2, -1, 0, 1)),
)
"""Tangents and shares of the mass, from the best to the last resort."""


class Metric(Protocol):
    """A positive definite matrix A over the unknowns of all models, flat, (N,)."""

    def solve(self, rhs: FloatArray) -> FloatArray:
        """A⁻¹ rhs, (N, k), zero at held unknowns."""

    def compliance(self, H: Sequence[sparse.csr_matrix]) -> FloatArray:
        """H A⁻¹ Hᵀ, (rows, rows), for the rows H over each model."""


class TangentMetric:
    """The second derivative of the Lagrangian at one shape, with each body under expected stresses.

    It may have `negative` eigenvalues, no more than `allowed`: as many as volumes are given, which hold those
    directions (`rooted`). Otherwise σM is added with σ raised until it is positive definite, first to the exact
    tangent, then to the projected one; `shift` says how much. The minimum does not depend on it.
    """

    def __init__(self, motion: Motion, expected: Sequence[Expected | None], allowed: int = 0) -> None:
        self._ends = np.cumsum([model.size for model in motion.world.models])[:-1]
        self._factors: list[Any] = []
        self.negative = 0
        for tangent, self.shift in _ATTEMPTS:
            self._systems = self._assembled(motion, expected, tangent)
            try:
                self._factors = [system.factorize() for system in self._systems]
                return
            except SingularError as error:
                last = error
            if allowed and not self.shift and self._rooted(motion, expected, allowed):
                return
        raise last

    def _rooted(self, motion: Motion, expected: Sequence[Expected | None], allowed: int) -> bool:
        """Factorize with some negative eigenvalues; whether there are few enough."""
        self._systems = self._assembled(motion, expected, Tangent.EXACT)
        factors = []
        try:
            for system in self._systems:
                system.model.hold(system.values)
                factors.append(RootedFactor(system.model.symbolic, system.values))
        except SingularError:
            return False
        self.negative = sum(factor.negative for factor in factors)
        if self.negative > allowed:
            self.negative = 0
            return False
        self._factors = [
            system.model.held_factor(factor) for system, factor in zip(self._systems, factors, strict=True)
        ]
        return True

    def _assembled(self, motion: Motion, expected: Sequence[Expected | None], tangent: Tangent) -> list[Any]:
        systems: list[Any] = []
        for model, trial, known in zip(motion.world.volumes, motion.trials, expected, strict=True):
            x, values = trial.evaluation_point(), model.blocks()
            mixed_body(model).tangent(x, known, tangent, values)
            model.add_load_stiffness(x, 1.0, motion.controls, values)
            systems.append(VolumeSystem(model, values, np.zeros_like(x), None))
        motion.add_row_stiffness(systems)
        for system in systems:
            if self.shift:
                system.add_mass(self.shift)
        return systems

    def solve(self, rhs: FloatArray) -> FloatArray:
        """A⁻¹ rhs, (N, k)."""
        parts = np.split(rhs, self._ends)
        solved = [factor.solve(part).reshape(part.shape) for factor, part in zip(self._factors, parts, strict=True)]
        return np.concatenate(solved)

    def compliance(self, H: Sequence[sparse.csr_matrix]) -> FloatArray:
        """H A⁻¹ Hᵀ, (rows, rows)."""
        W = np.zeros((H[0].shape[0],) * 2)
        for factor, own in zip(self._factors, H, strict=True):
            if own.nnz:
                W += factor.compliance(own)
        return W

    def release(self) -> None:
        """Hand the memory of the factors back; the metric cannot be used any more."""
        for system, factor in zip(self._systems, self._factors, strict=True):
            inner = factor.factor if isinstance(factor, HeldFactor) else factor
            system.release(inner.factor if isinstance(inner, RootedFactor) else inner)


class LaplacianMetric:
    """The constant Laplacian of each volume, scaled by twice the shear moduli; partly held nodes are held in it."""

    def __init__(self, models: Sequence[VolumeModel], factors: Sequence[Any]) -> None:
        self._factors = factors
        self._held = [model.held for model in models]
        self._ends = np.cumsum([model.size for model in models])[:-1]
        self.shift, self.negative = 0.0, 0

    def solve(self, rhs: FloatArray) -> FloatArray:
        """L⁻¹ rhs, (N, k)."""
        parts = np.split(rhs, self._ends)
        return np.concatenate([self._solved(k, part) for k, part in enumerate(parts)])

    def _solved(self, number: int, rhs: FloatArray) -> FloatArray:
        held = self._held[number]
        columns = np.where(held[:, :, None], 0.0, rhs.reshape(*held.shape, -1))
        flat = np.ascontiguousarray(columns.reshape(len(held), -1))
        solved = self._factors[number].solve(flat).reshape(columns.shape)
        return np.where(held[:, :, None], 0.0, solved).reshape(rhs.shape)

    def compliance(self, H: Sequence[sparse.csr_matrix]) -> FloatArray:
        """H L⁻¹ Hᵀ, (rows, rows): the three directions add up."""
        W = np.zeros((H[0].shape[0],) * 2)
        for factor, held, own in zip(self._factors, self._held, H, strict=True):
            for axis in range(3):
                if own.nnz:
                    free = sparse.diags((~held[:, axis]).astype(np.float64), format="csr")
                    W += factor.compliance((own[:, axis::3] @ free).tocsr())
        return W

    def release(self) -> None:
        """Nothing to hand back."""


_FACTORS: WeakKeyDictionary[VolumeModel, Any] = WeakKeyDictionary()


def laplacian_metric(models: Sequence[VolumeModel]) -> LaplacianMetric:
    """The Laplacian of `models`, factorized once for each of them."""
    for model in models:
        if model not in _FACTORS:
            _FACTORS[model] = _laplacian(model)
    return LaplacianMetric(models, [_FACTORS[model] for model in models])


def _laplacian(model: VolumeModel) -> Any:
    """Factor of the scalar Laplacian over the nodes of one volume; nodes held in all directions are no unknowns."""
    p = model.points
    pattern = BlockPattern.from_cliques(model.mesh.node_count, p.ptr, p.nodes, block=1)
    pair_ptr, positions = pattern.clique_positions(p.ptr, p.nodes)
    first, second = _local_pairs(pair_ptr)
    start = np.repeat(p.ptr[:-1], np.diff(pair_ptr))
    moduli = 2.0 * np.array([material.shear_modulus for material in model.spec.materials])
    shear = np.where(p.part == 2, 0.0, moduli[p.material] * p.weight)
    products = np.einsum("ki,ki->k", p.gradients[start + first], p.gradients[start + second])
    values = np.bincount(positions, np.repeat(shear, np.diff(pair_ptr)) * products, pattern.block_count)
    symbolic = analyze(pattern, coordinates=model.rest, keep=~model.held.all(axis=1))
    stiffness = values.astype(np.float64).reshape(-1, 1, 1)
    share = 1e-9 * float(np.abs(stiffness[pattern.diagonal]).mean())
    stiffness[pattern.diagonal] += share  # bodies that nothing holds
    return symbolic.factorize(stiffness)


def _local_pairs(pair_ptr: Any) -> tuple[Any, Any]:
    """Local numbers (a, b), a ≥ b, of the pairs of all cliques, one clique after the other."""
    number = np.arange(pair_ptr[-1]) - np.repeat(pair_ptr[:-1], np.diff(pair_ptr))
    first = ((np.sqrt(8.0 * number + 1.0) - 1.0) / 2.0 + 1e-9).astype(np.int64)
    return first, number - first * (first + 1) // 2
