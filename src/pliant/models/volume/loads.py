"""Loads of a body: what a user adds to a scene beside gravity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from pliant.core.arrays import sum_by
from pliant.core.checks import finite_array, finite_number
from pliant.core.declared import check_declared
from pliant.core.errors import InputError
from pliant.core.kernels import kernel
from pliant.core.one_line import one_line
from pliant.core.types import BoolArray, FloatArray, IntArray
from pliant.mesh import Mesh
from pliant.mesh.elements import shape, shape_gradients
from pliant.mesh.quadrature import facet_gauss
from pliant.mesh.regions import Region, as_region
from pliant.models.model import GeometricStiffness
from pliant.solvers.linear.pattern import BlockPattern

if TYPE_CHECKING:
    from pliant.models.volume.volume import Volume


@one_line
@dataclass(frozen=True, eq=False)
class PointLoad:
    """A dead force (N, shape (3,)), shared equally by the nodes of `region`, and on a beam a dead `moment` (N·m, (3,)).

    Both keep their direction in the world. On a beam or a rod (its nodes are the ends of sections) `region` may be node
    numbers too. As a control: a new force, or for a beam or a rod a new `pl.Wrench`.
    """

    body: Any
    region: Any
    force: Any
    moment: Any = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        check_declared(self)
        if self.wrench[1].any() and not hasattr(type(self.body), "node_frames"):
            raise InputError(f"a moment needs nodes with frames; {self.body.name!r} is no beam and no rod: use forces")

    @property
    def value(self) -> FloatArray:
        """Force, N, shape (3,)."""
        return np.asarray(self.wrench[0])

    @property
    def wrench(self) -> FloatArray:
        """Force (N) and moment (N·m), shape (2, 3)."""
        pairs = (("force", self.force), ("moment", self.moment))
        return np.stack([finite_array(f"{name} of a PointLoad", value, shape=(3,)) for name, value in pairs])

    def nodal_weights(self, mesh: Mesh) -> FloatArray:
        """Fraction of the load at each node, (n,), summing to 1."""
        region = as_region(self.region, what="region of a PointLoad")
        return even_weights(region.nodes(mesh.points, what="region of a PointLoad"), mesh.node_count)


@one_line
@dataclass(frozen=True, eq=False)
class TractionLoad:
    """A dead traction (Pa of undeformed area, shape (3,)) on the surface facets whose nodes all lie in `region`."""

    body: Volume
    region: Region
    traction: Any

    def __post_init__(self) -> None:
        check_declared(self)
        finite_array("traction of a TractionLoad", self.traction, shape=(3,))

    @property
    def value(self) -> FloatArray:
        """Traction, Pa, shape (3,)."""
        return finite_array("traction of a TractionLoad", self.traction, shape=(3,))

    def nodal_weights(self, mesh: Mesh) -> FloatArray:
        """Area ∫ Nₐ dA that each node takes, (n,), m²."""
        facets = surface_facets(mesh, self.region, what="region of a TractionLoad")
        N, slopes, weights = facet_rule(mesh)
        tangents = np.einsum("fki,qkd->fqid", mesh.points[facets], slopes, optimize=True)
        area = np.linalg.norm(np.cross(tangents[..., 0], tangents[..., 1]), axis=2) * weights
        return sum_by(facets, np.einsum("fq,qk->fk", area, N), mesh.node_count)


@one_line
@dataclass(frozen=True, eq=False)
class PressureLoad:
    """A pressure (Pa, > 0 pushes into the body) that follows the deforming surface, on the facets within `region`."""

    body: Volume
    region: Region
    pressure: float

    def __post_init__(self) -> None:
        check_declared(self)
        finite_number("pressure of a PressureLoad", self.pressure, unit="Pa")

    @property
    def value(self) -> FloatArray:
        """Pressure, Pa, shape ()."""
        return np.array(float(self.pressure))


Load = PointLoad | TractionLoad | PressureLoad


def even_weights(nodes: IntArray, count: int) -> FloatArray:
    """Equal weights at `nodes` among `count`, summing to 1."""
    weights = np.zeros(count)
    weights[nodes] = 1.0 / len(nodes)
    return weights


def given_wrench(load: Any, values: Mapping[Any, Any]) -> FloatArray:
    """Force (N) and moment (N·m), (2, 3), of `load` under the controls `values`, which may hold a force or both."""
    wrench: FloatArray = load.wrench
    given = values.get(load)
    if given is None:
        return wrench
    return given if given.shape == (2, 3) else np.stack([given, wrench[1]])


def surface_facets(mesh: Mesh, region: Region, *, what: str) -> IntArray:
    """Surface facets (f, k) of `mesh` whose nodes all lie in `region`."""
    inside: BoolArray = region.select(mesh.points)
    facets = mesh.surface().facets
    chosen: IntArray = facets[inside[facets].all(axis=1)]
    if not len(chosen):
        raise InputError(f"{what} contains no surface facet; all nodes of a facet must lie in it: widen the region")
    return chosen


def facet_rule(mesh: Mesh) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Shape functions (q, k), their slopes (q, k, 2) and weights (q,) on the facets of `mesh`."""
    xi, weights = facet_gauss(mesh.table.facet)
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
        return cls.build(surface_facets(mesh, load.region, what="region of a PressureLoad"), mesh, pattern)

    @classmethod
    def build(cls, facets: IntArray, mesh: Mesh, pattern: BlockPattern) -> PressureFacets:
        """`facets` (f, k) of `mesh` with the pattern positions (f, k, k) of their node pairs."""
        N, slopes, weights = facet_rule(mesh)
        return cls(np.array(facets), N, slopes, weights, facet_positions(facets, pattern))

    def add(self, pressure: float, q: FloatArray, force: FloatArray) -> float:
        """Add the nodal forces (N) at `pressure` (Pa) to `force` (n, 3); returns the potential, J, up to a constant."""
        swept = pressure_forces(q, self.facets, self.shape, self.slopes, self.weights, pressure, force)
        return pressure * float(swept)

    def add_stiffness(self, pressure: float, q: FloatArray, scale: float, values: FloatArray) -> None:
        """Subtract `scale` × the symmetric part of ∂f/∂q from the blocks `values`."""
        pressure_stiffness(
            q, self.facets, self.shape, self.slopes, self.weights, self.positions, scale * pressure, values
        )


@dataclass(frozen=True, eq=False)
class PressureStiffness(GeometricStiffness):
    """−`scale` × the stiffness of a follower `pressure` (Pa) on `facets` at q (n, 3), m."""

    facets: PressureFacets
    pressure: float
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
    """Forces of a follower pressure; returns (1/3)∮ x·n da, the volume under the facets, m³."""
    swept = 0.0
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
            swept += (x * n0 + y * n1 + z * n2) / 3.0
            for a in range(facets.shape[1]):
                c = -pressure * N[k, a]
                force[facets[f, a], 0] += c * n0
                force[facets[f, a], 1] += c * n1
                force[facets[f, a], 2] += c * n2
    return swept


@kernel
def pressure_stiffness(q, facets, N, slopes, weights, positions, pressure, values):
    """Subtract the symmetric part of ∂f/∂q from the blocks.

    δ(a × b) = −[cᵦ]× δxᵦ with cᵦ = Nᵦ,ξ b − Nᵦ,η a, so ∂fₐ/∂xᵦ = p w Nₐ [cᵦ]×, and the symmetric part of the
    pair's block (a, b) is ½ p w (Nₐ [cᵦ]× − Nᵦ [cₐ]×).
    """
    width = facets.shape[1]
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
            for a in range(width):
                for b in range(width):
                    if facets[f, a] < facets[f, b]:
                        continue
                    c = 0.5 * pressure * weights[k]
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
