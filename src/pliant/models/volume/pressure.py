"""Follower pressure on facets of a volume: forces, their potential and the symmetric part of their stiffness."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from pliant.core.kernels import kernel
from pliant.core.types import FloatArray, IntArray
from pliant.mesh import Mesh
from pliant.mesh.elements import shape, shape_gradients
from pliant.mesh.quadrature import facet_gauss
from pliant.models.model import GeometricStiffness
from pliant.solvers.linear.pattern import BlockPattern

if TYPE_CHECKING:
    from pliant.models.volume.loads import PressureLoad


_FIELD_DEGREE = {"tri3": 2, "tri6": 4, "quad4": 3}
"""Degree of the rule on a facet that integrates a linear field times a shape function."""


def facet_rule(mesh: Mesh, *, varies: bool = False) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Shape functions (q, k), their slopes (q, k, 2) and weights (q,) on the facets of `mesh`, for a uniform load or
    for one that `varies`.
    """
    xi, weights = facet_gauss(mesh.table.facet, _FIELD_DEGREE[mesh.table.facet] if varies else None)
    return shape(mesh.table.facet, xi), shape_gradients(mesh.table.facet, xi), weights


@dataclass(frozen=True, eq=False)
class PressureFacets:
    """Facets under follower pressure, ready for the kernel: f = −p ∫ N n da and its symmetrised stiffness.

    For a closed surface, or one with a fixed rim, the stiffness is symmetric by itself; for an open patch the
    symmetric part is used in A while the force stays exact.
    """

    facets: IntArray
    shape: FloatArray
    slopes: FloatArray
    weights: FloatArray
    positions: IntArray

    @classmethod
    def of(cls, load: PressureLoad, mesh: Mesh, pattern: BlockPattern) -> PressureFacets:
        """The facets under `load`."""
        return cls.build(load.facets, mesh, pattern, varies=load.value.ndim > 0)

    @classmethod
    def build(cls, facets: IntArray, mesh: Mesh, pattern: BlockPattern, *, varies: bool = False) -> PressureFacets:
        """`facets` (f, k) of `mesh` with the pattern positions (f, k, k) of their node pairs."""
        N, slopes, weights = facet_rule(mesh, varies=varies)
        return cls(np.array(facets), N, slopes, weights, facet_positions(facets, pattern))

    def sampled(self, pressure: Any) -> FloatArray:
        """A pressure (Pa), uniform, of the nodes (n,) or of the facets (f,), at the integration points: (1, 1) or
        (f, q). One of two dimensions is of the points already.
        """
        values = np.asarray(pressure, np.float64)
        if values.ndim == 2:
            return values
        if values.ndim == 0:
            return np.full((1, 1), float(values))
        if len(values) == len(self.facets):
            return np.repeat(values[:, None], len(self.weights), axis=1)
        return np.ascontiguousarray(values[self.facets] @ self.shape.T)

    def add(self, pressure: Any, q: FloatArray, force: FloatArray) -> float:
        """Add the nodal forces (N) at `pressure` (Pa) to `force` (n, 3); returns the potential, J, up to a constant:
        p (1/3)∮ x·n da, one where p is uniform; no field of pressures has a potential.
        """
        rule = self.facets, self.shape, self.slopes, self.weights
        return float(pressure_forces(q, *rule, self.sampled(pressure), force)[1])

    def add_stiffness(self, pressure: Any, q: FloatArray, scale: float, values: FloatArray) -> None:
        """Subtract `scale` × the symmetric part of ∂f/∂q from the blocks `values`."""
        rule = self.facets, self.shape, self.slopes, self.weights
        pressure_stiffness(q, *rule, self.positions, scale * self.sampled(pressure), values)


@dataclass(frozen=True, eq=False)
class PressureStiffness(GeometricStiffness):
    """−`scale` × the stiffness of a follower `pressure` (Pa) on `facets` at q (n, 3), m."""

    facets: PressureFacets
    pressure: Any
    q: FloatArray
    scale: float
    of_stress: ClassVar[bool] = True

    def add_to(self, matrix: FloatArray) -> None:
        """Add K to the blocks (b, 3, 3) of a volume."""
        self.facets.add_stiffness(self.pressure, self.q, self.scale, matrix)


def facet_positions(facets: IntArray, pattern: BlockPattern) -> IntArray:
    """Pattern positions (f, k, k) of the node pairs of facets (f, k)."""
    width = facets.shape[1]
    order = np.argsort(facets, axis=1)
    ranked = np.take_along_axis(facets, order, axis=1)
    _, flat = pattern.clique_positions(np.arange(len(facets) + 1) * width, ranked.ravel())
    a, b = np.tril_indices(width)
    square = np.zeros((len(facets), width, width), np.int32)
    square[:, a, b] = square[:, b, a] = flat.reshape(len(facets), -1)
    rank = np.argsort(order, axis=1)
    positions: IntArray = square[np.arange(len(facets))[:, None, None], rank[:, :, None], rank[:, None, :]]
    return np.ascontiguousarray(positions)


@kernel
def pressure_forces(q, facets, N, slopes, weights, pressure, force):
    """Forces of a follower pressure (1, 1) or (f, q), Pa; returns (1/3)∮ x·n da, the volume under the facets, m³, and
    (1/3)∮ p x·n da, J.
    """
    swept = work = 0.0
    varies = pressure.size == facets.shape[0] * weights.shape[0]
    for f in range(facets.shape[0]):
        for k in range(weights.shape[0]):
            x = y = z = a0 = a1 = a2 = b0 = b1 = b2 = 0.0
            for a in range(facets.shape[1]):
                n = facets[f, a]
                x += q[n, 0] * N[k, a]
                y += q[n, 1] * N[k, a]
                z += q[n, 2] * N[k, a]
                a0 += q[n, 0] * slopes[k, a, 0]
                a1 += q[n, 1] * slopes[k, a, 0]
                a2 += q[n, 2] * slopes[k, a, 0]
                b0 += q[n, 0] * slopes[k, a, 1]
                b1 += q[n, 1] * slopes[k, a, 1]
                b2 += q[n, 2] * slopes[k, a, 1]
            w = weights[k]
            n0, n1, n2 = w * (a1 * b2 - a2 * b1), w * (a2 * b0 - a0 * b2), w * (a0 * b1 - a1 * b0)
            p = pressure[f, k] if varies else pressure[0, 0]
            volume = (x * n0 + y * n1 + z * n2) / 3.0
            swept += volume
            work += p * volume
            for a in range(facets.shape[1]):
                c = -p * N[k, a]
                force[facets[f, a], 0] += c * n0
                force[facets[f, a], 1] += c * n1
                force[facets[f, a], 2] += c * n2
    return swept, work


@kernel
def pressure_stiffness(q, facets, N, slopes, weights, positions, pressure, values):
    """Subtract the symmetric part of ∂f/∂q from the blocks.

    δ(a × b) = −[cᵦ]× δxᵦ with cᵦ = Nᵦ,ξ b − Nᵦ,η a, so ∂fₐ/∂xᵦ = p w Nₐ [cᵦ]×, and the symmetric part of the
    pair's block (a, b) is ½ p w (Nₐ [cᵦ]× − Nᵦ [cₐ]×).
    """
    width = facets.shape[1]
    varies = pressure.size == facets.shape[0] * weights.shape[0]
    for f in range(facets.shape[0]):
        for k in range(weights.shape[0]):
            a0 = a1 = a2 = b0 = b1 = b2 = 0.0
            for a in range(width):
                n = facets[f, a]
                a0 += q[n, 0] * slopes[k, a, 0]
                a1 += q[n, 1] * slopes[k, a, 0]
                a2 += q[n, 2] * slopes[k, a, 0]
                b0 += q[n, 0] * slopes[k, a, 1]
                b1 += q[n, 1] * slopes[k, a, 1]
                b2 += q[n, 2] * slopes[k, a, 1]
            p = pressure[f, k] if varies else pressure[0, 0]
            for a in range(width):
                for b in range(width):
                    if facets[f, a] < facets[f, b]:
                        continue
                    c = 0.5 * p * weights[k]
                    ca, cb = c * N[k, a], c * N[k, b]
                    # c0 c1 c2 = ca * c_b − cb * c_a
                    u = ca * slopes[k, b, 0] - cb * slopes[k, a, 0]
                    v = ca * slopes[k, b, 1] - cb * slopes[k, a, 1]
                    c0, c1, c2 = u * b0 - v * a0, u * b1 - v * a1, u * b2 - v * a2
                    K = values[positions[f, a, b]]
                    K[0, 1] += c2
                    K[0, 2] -= c1
                    K[1, 0] -= c2
                    K[1, 2] += c0
                    K[2, 0] += c1
                    K[2, 1] -= c0
