"""Layers: sheets inside a body that spread or shrink in their own plane, driven by area or by spreading pressure.

With tangents t₁, t₂ of the layer at rest, the area ratio at a point is a = |F t₁ × F t₂|. The area of a layer of
thickness h is A = Σ w a / h over its integration points; δ = A − A₀, H = ∂A/∂q, and λ is the spreading pressure in N/m:
an isotropic in-plane stress −λ/h.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

import numpy as np

from pliant.actuators.drive import UNBOUND, Actuator, ControlRange, DriveRow
from pliant.actuators.limits import Command, Limits
from pliant.actuators.values import AreaGrowth, AreaRatio, SpreadingPressure
from pliant.constraints.rows import Rows, RowView, Stiffnesses
from pliant.core.arrays import csr, sum_by
from pliant.core.checks import positive, unit_vector
from pliant.core.declared import check_declared
from pliant.core.errors import InputError
from pliant.core.lie import perpendicular
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray, IndexArray, IntArray
from pliant.mesh.regions import Region
from pliant.models.body import Model
from pliant.models.model import GeometricStiffness
from pliant.models.volume import Volume, VolumeModel
from pliant.models.volume.points import cell_gradients

USUAL_GROWTH = 0.2
"""Slider range of a layer without max_growth, as a fraction of its area: thin sheets buckle beyond."""
_LEAST_RATIO = 1e-300
"""Smallest area ratio; a collapsed point then has a zero normal instead of a division by zero."""


@one_line
@dataclass(frozen=True, eq=False)
class Layer(Actuator):
    """The cells of `body` whose centres lie in `region`, a flat sheet of `thickness` (m) with the unit `normal` (3,).

    max_pressure
        Largest spreading pressure, N/m, of either sign.
    max_growth
        Largest commanded growth of the area, m².
    """

    body: Volume
    region: Region
    _: KW_ONLY
    normal: Any
    thickness: float
    max_pressure: float = np.inf
    max_growth: float = np.inf
    name: str = "layer"

    kinds = ((AreaGrowth, "m²"), (SpreadingPressure, "N/m"))

    def __post_init__(self) -> None:
        check_declared(self)
        unit_vector(f"normal of {self.name!r}", self.normal)
        positive(f"thickness of {self.name!r}", self.thickness, unit="m")
        if np.isfinite(self.max_pressure):
            positive(f"max_pressure of {self.name!r}", self.max_pressure, unit="N/m")

    def constraint(self, key: int) -> LayerRows:
        """Its row, not yet bound to models."""
        return LayerRows(self, key)

    def control_range(self) -> ControlRange:
        """Growth and shrinkage of its area."""
        high = min(self.max_growth, USUAL_GROWTH * self.rest_area)
        return ControlRange(AreaGrowth, "m²", -high, high, 0.0)

    @property
    def limits(self) -> Limits:
        """Bounds of λ and δ, N/m and m²."""
        return Limits(-self.max_pressure, self.max_pressure, most=self.max_growth)

    def cells(self) -> IndexArray:
        """Indices of its cells, (c,)."""
        mesh = self.body.mesh
        inside = np.flatnonzero(self.region.select(mesh.points[mesh.corner_cells].mean(axis=1)))
        if not len(inside):
            raise InputError(f"the region of {self.name!r} ({self.region}) contains the centre of no cell: widen it")
        return inside

    @property
    def rest_area(self) -> float:
        """Area at rest A₀, m²: volume over thickness."""
        return float(self.body.mesh.cell_volumes()[self.cells()].sum()) / self.thickness

    def command(self, value: Any) -> Command:
        """A checked command from a control value; an `AreaRatio` is relative to the area at rest."""
        if isinstance(value, AreaRatio):
            ratio = positive(f"AreaRatio of {self.name!r}", value.value)
            value = AreaGrowth((ratio - 1.0) * self.rest_area)
        return super().command(value)


@dataclass(frozen=True, eq=False)
class LayerRows(DriveRow):
    """The row of one layer of p points over k nodes each: `nodes` (p, k) ascending, the components `g` (p, k, 2) of
    their gradients along both tangents in 1/m, weights over the thickness `weight` (p,) in m², and the `positions`
    (p, k(k + 1)/2) of their blocks.
    """

    nodes: IntArray = UNBOUND
    g: FloatArray = UNBOUND
    weight: FloatArray = UNBOUND
    positions: IntArray = UNBOUND
    rest_area: float = 0.0
    block_count: int = 0

    stiffens = True

    def bound(self, models: Sequence[Model]) -> LayerRows:
        """The row in a world of `models`."""
        index = self.model_index(models)
        model = VolumeModel.require(models[index], f"layer {self.spec.name!r}")
        mesh, inside = self.spec.body.mesh, self.spec.cells()
        gradients, weights = (part[inside] for part in cell_gradients(mesh))
        count, points, width, _ = gradients.shape
        order = np.argsort(mesh.cells[inside], axis=1)
        nodes = np.repeat(np.take_along_axis(mesh.cells[inside], order, axis=1), points, axis=0)
        ranked = np.take_along_axis(gradients, order[:, None, :, None], axis=2).reshape(count * points, width, 3)
        _, flat = model.pattern.clique_positions(width * np.arange(len(nodes) + 1), nodes.ravel())
        weight = weights.ravel() / self.spec.thickness
        tangents = np.stack(perpendicular(unit_vector("normal", self.spec.normal)))
        return replace(
            self, index=index, nodes=np.ascontiguousarray(nodes, np.int32), g=ranked @ tangents.T,
            weight=weight, positions=flat.reshape(len(nodes), -1), rest_area=float(weight.sum()),
            block_count=model.pattern.block_count,
        )  # fmt: skip

    def area(self, q: FloatArray) -> float:
        """Area of the layer with its body at q (n, 3) m, m²."""
        return self._area_and_gradient(q)[0]

    def displacement(self, q: Sequence[FloatArray]) -> float:
        """Growth of the area, m²."""
        return self.area(q[self.index]) - self.rest_area

    def rows(self, view: RowView, found: Any = None) -> tuple[Rows, None]:
        """Growth of the area and its gradient."""
        area, gradient = self._area_and_gradient(view.q[self.index])
        nodes = np.flatnonzero(gradient.any(axis=1))
        columns = (3 * nodes[:, None] + np.arange(3)).ravel().astype(np.int32)
        ends = np.array([0, len(columns)], np.int32)
        H = csr(gradient[nodes].ravel(), columns, ends, (1, gradient.size))
        return self.row(view, area - self.rest_area, H), None

    def stiffness(self, q: Sequence[FloatArray], lam: FloatArray, scale: float) -> Stiffnesses:
        """−`scale` λ ∂²A/∂q² at the spreading pressure λ (N/m)."""
        if lam[0] != 0.0:
            yield self.index, LayerStiffness(self, q[self.index], scale * float(lam[0]))

    def add_second_derivatives(self, q: FloatArray, factor: float, values: FloatArray) -> None:
        """Add `factor` × ∂²A/∂q² at q (n, 3), m, to the blocks `values` (b, 3, 3)."""
        blocks = np.zeros((self.block_count, 3, 3))
        a, b = np.tril_indices(self.g.shape[1])
        second = factor * self._second_derivatives(q)
        ga, gb = self.g[:, a], self.g[:, b]
        pairs = np.einsum("psi,piajb,psj->psab", ga, second, gb, optimize=True)
        np.add.at(blocks, self.positions.ravel(), pairs.reshape(-1, 3, 3))
        values += blocks

    def _edges(self, q: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """F t₁ and F t₂ of the points (p, 2, 3), the area ratios (p,), and unit normals (p, 3)."""
        edges = np.einsum("pkx,pki->pix", q[self.nodes], self.g)
        normals = np.cross(edges[:, 0], edges[:, 1])
        ratios = np.maximum(np.linalg.norm(normals, axis=1), _LEAST_RATIO)
        return edges, ratios, normals / ratios[:, None]

    def _area_and_gradient(self, q: FloatArray) -> tuple[float, FloatArray]:
        edges, ratios, m = self._edges(q)
        slopes = self.weight[:, None, None] * np.stack([np.cross(edges[:, 1], m), np.cross(m, edges[:, 0])], axis=1)
        nodal = np.einsum("pki,pix->pkx", self.g, slopes).reshape(-1, 3)
        gradient = np.stack([sum_by(self.nodes, nodal[:, axis], len(q)) for axis in range(3)], axis=1)
        return float(self.weight @ ratios), gradient

    def _second_derivatives(self, q: FloatArray) -> FloatArray:
        """∂²(w a) by both edges of each point, (p, 2, 3, 2, 3), m²: |(I − m mᵀ) d(u × v)|²/a + 2 m·(du × dv)."""
        edges, ratios, m = self._edges(q)
        J = np.stack([-_cross_matrix(edges[:, 1]), _cross_matrix(edges[:, 0])], axis=1)
        across = np.eye(3) - m[:, :, None] * m[:, None, :]
        second = np.einsum("picx,pcd,pjdy->pixjy", J, across, J, optimize=True) / ratios[:, None, None, None, None]
        twist = _cross_matrix(m)
        second[:, 0, :, 1] -= twist
        second[:, 1, :, 0] += twist
        return np.asarray(self.weight[:, None, None, None, None] * second)


@dataclass(frozen=True, eq=False)
class LayerStiffness(GeometricStiffness):
    """−`push` ∂²A/∂q² of a `layer` at q (n, 3), m, under the spreading pressure `push`, N/m."""

    layer: LayerRows
    q: FloatArray
    push: float
    of_stress: ClassVar[bool] = True

    def add_to(self, matrix: FloatArray) -> None:
        """Add K to the blocks (b, 3, 3) of a volume."""
        self.layer.add_second_derivatives(self.q, -self.push, matrix)


def _cross_matrix(v: FloatArray) -> FloatArray:
    """[v]ₓ of vectors (p, 3): (p, 3, 3)."""
    made = np.zeros((len(v), 3, 3))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        made[:, i, j], made[:, j, i] = -v[:, k], v[:, k]
    return made
