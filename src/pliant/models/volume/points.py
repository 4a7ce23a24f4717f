"""Integration points: the one form in which every element reaches the kernels.

A body is a set of points. Point p has a list of nodes, gradients G (1/m) with F = Σₐ xₐ ⊗ Gₐ, a weight w (m³), a part
of the energy and a material. The elastic energy is Σₚ wₚ ψ(Fₚ). Plain elements have a point for each Gauss point;
smoothed tetrahedra a point for each smoothing domain (its gradients are the mean of the cells' gradients). The nodes
of a point are sorted, so that the pairs (a ≥ b) of a point are blocks of the lower triangle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np

from pliant.core.arrays import sum_by
from pliant.core.types import FloatArray, IndexArray, IntArray
from pliant.materials import Part
from pliant.mesh import Mesh
from pliant.mesh.elements import shape_gradients
from pliant.mesh.quadrature import gauss
from pliant.models.volume.smoothing import Domains, edge_domains, star_domains

AntiLocking = bool | Literal["volume"]
PointArrays = tuple[IndexArray, IntArray, FloatArray, FloatArray, IntArray, IntArray]


@dataclass(frozen=True, eq=False)
class Points:
    """Integration points of a body, p of them.

    `ptr` (p+1,), `nodes` (k,) and `gradients` (k, 3) in 1/m are a compressed list by point; `weight` (p,) in m³;
    `part` and `material` (p,). `owner_point`, `owner_cell`, `owner_volume` (j,) are the cells of each point, in m³.
    """

    ptr: IndexArray
    nodes: IntArray
    gradients: FloatArray
    weight: FloatArray
    part: IntArray
    material: IntArray
    owner_point: IndexArray
    owner_cell: IndexArray
    owner_volume: FloatArray

    @property
    def count(self) -> int:
        """Number of points."""
        return len(self.weight)

    @property
    def arrays(self) -> PointArrays:
        """What kernels read: ptr, nodes, gradients, weight, part and material."""
        return self.ptr, self.nodes, self.gradients, self.weight, self.part, self.material


def build_points(mesh: Mesh, material: IntArray, *, anti_locking: AntiLocking) -> Points:
    """The integration points of `mesh` with a material index for each cell (m,).

    Anti-locking: tet4 smoothed over edges (shear) and edge stars (volume); hex8 with the volume part on the mean of the
    cell; tet10 as it is, being of degree 2. "volume" leaves the shear of tet4 to its cells.
    """
    gradients, weights = cell_gradients(mesh)
    if not anti_locking or mesh.element == "tet10":
        return _gauss_points(mesh, gradients, weights, material, Part.TOTAL)
    if mesh.element == "hex8":
        mean = np.einsum("mqki,mq->mki", gradients, weights)[:, None] / weights.sum(axis=1)[:, None, None, None]
        shear = _gauss_points(mesh, gradients, weights, material, Part.SHEAR)
        volume = _gauss_points(mesh, mean, weights.sum(axis=1, keepdims=True), material, Part.VOLUME)
        return _joined(shear, volume)
    volumes = weights[:, 0]
    if anti_locking == "volume":
        shear = _gauss_points(mesh, gradients, weights, material, Part.SHEAR)
    else:
        shear = _smoothed(mesh, gradients[:, 0], edge_domains(mesh.cells, volumes, material), material, Part.SHEAR)
    stars = star_domains(mesh.reference, mesh.cells, volumes, material)
    return _joined(shear, _smoothed(mesh, gradients[:, 0], stars, material, Part.VOLUME))


def node_cliques(points: Points, cells: IntArray, couplings: Sequence[IntArray]) -> tuple[Any, Any]:
    """Node sets that couple: those of the points, of the cells (for mass and surface loads), and of actuators."""
    sizes = np.concatenate([np.diff(points.ptr), np.full(len(cells), cells.shape[1]), [len(c) for c in couplings]])
    nodes = np.concatenate([points.nodes, np.sort(cells, axis=1).ravel(), *couplings])
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), nodes.astype(np.int32)


def cell_gradients(mesh: Mesh) -> tuple[FloatArray, FloatArray]:
    """Physical gradients (m, q, k, 3) in 1/m and weights (m, q) in m³ at the Gauss points of each cell."""
    xi, reference_weights = gauss(mesh.element)
    local = shape_gradients(mesh.element, xi)
    jacobians = np.einsum("mki,qkj->mqij", mesh.points[mesh.cells], local, optimize=True)
    weights = np.linalg.det(jacobians) * reference_weights
    gradients = np.einsum("qkj,mqji->mqki", local, np.linalg.inv(jacobians), optimize=True)
    return gradients, weights


def _gauss_points(mesh: Mesh, gradients: FloatArray, weights: FloatArray, material: IntArray, part: Part) -> Points:
    cell_count, point_count, node_count, _ = gradients.shape
    order = np.argsort(mesh.cells, axis=1)
    nodes = np.take_along_axis(mesh.cells, order, axis=1)
    sorted_gradients = np.take_along_axis(gradients, order[:, None, :, None], axis=2)
    count = cell_count * point_count
    return Points(
        ptr=np.arange(count + 1, dtype=np.int64) * node_count,
        nodes=np.repeat(nodes, point_count, axis=0).ravel().astype(np.int32),
        gradients=np.ascontiguousarray(sorted_gradients.reshape(-1, 3)),
        weight=np.ascontiguousarray(weights.ravel()),
        part=np.full(count, int(part), np.int32),
        material=np.repeat(material, point_count).astype(np.int32),
        owner_point=np.arange(count, dtype=np.int64),
        owner_cell=np.repeat(np.arange(cell_count), point_count),
        owner_volume=weights.ravel().copy(),
    )


def _smoothed(mesh: Mesh, gradients: FloatArray, domains: Domains, material: IntArray, part: Part) -> Points:
    """Points on smoothing domains: volume-weighted means of the cells' gradients (m, 4, 3)."""
    weight = sum_by(domains.domain, domains.volume, int(domains.domain.max()) + 1)
    fraction = domains.volume / weight[domains.domain]
    keys = (domains.domain[:, None] * np.int64(mesh.node_count) + mesh.cells[domains.cell]).ravel()
    unique, position = np.unique(keys, return_inverse=True)
    spread = (fraction[:, None, None] * gradients[domains.cell]).reshape(-1, 3)
    summed = np.stack([sum_by(position, spread[:, axis], len(unique)) for axis in range(3)], axis=1)
    owner = unique // mesh.node_count
    of_domain = np.empty(len(weight), np.int32)
    of_domain[domains.domain] = material[domains.cell]
    return Points(
        ptr=np.searchsorted(owner, np.arange(len(weight) + 1)).astype(np.int64),
        nodes=(unique % mesh.node_count).astype(np.int32),
        gradients=np.ascontiguousarray(summed),
        weight=weight,
        part=np.full(len(weight), int(part), np.int32),
        material=of_domain,
        owner_point=domains.domain,
        owner_cell=domains.cell,
        owner_volume=domains.volume,
    )


def _joined(first: Points, second: Points) -> Points:
    shifted = replace(second, ptr=first.ptr[-1] + second.ptr[1:], owner_point=first.count + second.owner_point)
    return Points(
        **{f.name: np.concatenate([getattr(first, f.name), getattr(shifted, f.name)]) for f in fields(Points)}
    )
