"""Cavities: closed chambers inside a body, driven by pressure or by volume.

δ = V − V₀ is the growth of the volume, H = ∂V/∂q, λ the pressure in Pa; both are positive when it is inflated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from pliant.actuators.chamber import check_chamber
from pliant.actuators.drive import UNBOUND, Actuator, ControlRange, DriveRow
from pliant.actuators.limits import Command, Limits, check_rates, per_second
from pliant.actuators.values import Pressure, VolumeGrowth, VolumeRatio
from pliant.constraints.rows import Rows, RowView, Stiffnesses
from pliant.core.arrays import csr, writable
from pliant.core.checks import positive
from pliant.core.declared import check_declared
from pliant.core.errors import InputError, MeshError
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray, IntArray
from pliant.mesh import Mesh, Surface
from pliant.models.body import Model
from pliant.models.volume import Volume, VolumeModel
from pliant.models.volume.pressure import PressureFacets, PressureStiffness, facet_rule, pressure_forces

USUAL_PRESSURE = 30e3
"""Slider range of a cavity without max_pressure, Pa: silicone chambers of small robots inflate at 10 to 40 kPa."""
USUAL_FRACTION = 0.1
"""Slider range of a pressure without bounds over Young's modulus: soft walls balloon at about a tenth of it."""
_FLAT_LOSS = 0.25
"""Largest relative difference of a chamber's volume from that of its flat triangles: curved faces stay below."""


@one_line
@per_second
@dataclass(frozen=True, eq=False)
class Cavity(Actuator):
    """A chamber of `body` bounded by `surface`, one of ``body.mesh.surface().components()[1:]``; None: the only one.

    min_pressure, max_pressure
        Bounds of the pressure, Pa.
    max_growth
        Largest commanded growth of the volume, m³.
    max_rate, max_pressure_rate
        Largest rate of the volume (m³/s) and of the pressure (Pa/s).
    """

    body: Volume
    surface: Surface | None = None
    _: KW_ONLY
    min_pressure: float = -np.inf
    max_pressure: float = np.inf
    max_growth: float = np.inf
    max_rate: float = np.inf
    max_pressure_rate: float = np.inf
    name: str = "cavity"

    kinds = ((VolumeGrowth, "m³"), (Pressure, "Pa"))

    def __post_init__(self) -> None:
        check_declared(self)
        if not self.max_pressure > self.min_pressure:
            raise InputError(
                f"{self.name!r} has max_pressure {self.max_pressure:g} Pa ≤ min_pressure {self.min_pressure:g} Pa"
            )
        check_rates(self, "max_rate", "max_pressure_rate")

    def constraint(self, key: int) -> CavityRows:
        """Its row, not yet bound to models; the surface is checked to bound air inside the body."""
        surface = _only_hollow(self) if self.surface is None else self.surface
        check_chamber(self.name, surface, self.body.mesh)
        return CavityRows(self, key, surface=surface)

    def control_range(self) -> ControlRange:
        """Its pressure between its bounds; the growth of its volume where only that is limited."""
        low = self.min_pressure if np.isfinite(self.min_pressure) else 0.0
        if np.isfinite(self.max_pressure):
            return ControlRange(Pressure, "Pa", low, self.max_pressure, float(np.clip(0.0, low, self.max_pressure)))
        if np.isfinite(self.max_growth):
            return ControlRange(VolumeGrowth, "m³", 0.0, self.max_growth, 0.0)
        young = getattr(self.body.material, "young", None)
        usual = USUAL_PRESSURE if young is None else min(USUAL_PRESSURE, USUAL_FRACTION * float(young))
        high = max(low, 0.0) + float(f"{usual:.2g}")
        return ControlRange(Pressure, "Pa", low, high, float(np.clip(0.0, low, high)), "max_pressure")

    @property
    def limits(self) -> Limits:
        """Bounds of λ and δ, Pa and m³, and of their rates."""
        rates = {"force_rate": self.max_pressure_rate, "rate": self.max_rate}
        return Limits(self.min_pressure, self.max_pressure, most=self.max_growth, **rates)

    def command(self, value: Any) -> Command:
        """A checked command from a control value; a `VolumeRatio` is relative to the volume at rest."""
        if isinstance(value, VolumeRatio):
            ratio = positive(f"VolumeRatio of {self.name!r}", value.value)
            value = VolumeGrowth((ratio - 1.0) * self._rest_volume)
        return super().command(value)

    @cached_property
    def _rest_volume(self) -> float:
        """Volume at rest, m³, with the curved faces of the body's cells."""
        shell = _only_hollow(self) if self.surface is None else self.surface
        points = np.array(self.body.mesh.points)
        rule = facet_rule(self.body.mesh)
        return -float(
            pressure_forces(points, np.array(shell.facets), *rule, np.zeros((1, 1)), np.zeros_like(points))[0]
        )


@dataclass(frozen=True, eq=False)
class CavityRows(DriveRow):
    """The row of one cavity; `rest_volume` is V₀, m³."""

    surface: Surface = UNBOUND
    facets: PressureFacets = UNBOUND
    rest_volume: float = 0.0

    drawn_as: ClassVar[str | None] = "chamber"
    stiffens = True

    def bound(self, models: Sequence[Model]) -> CavityRows:
        """The row in a world of `models`; the surface is checked to enclose a positive volume."""
        index = self.model_index(models)
        model = VolumeModel.require(models[index], f"cavity {self.spec.name!r}")
        facets = PressureFacets.build(self.surface.facets, self.spec.body.mesh, model.pattern)
        made = replace(self, index=index, facets=facets)
        volume = made.volume(model.rest)
        if volume > 0.0 and abs(self.surface.volume() + volume) > _FLAT_LOSS * volume:
            raise MeshError(
                f"the surface of cavity {self.spec.name!r} bounds {-self.surface.volume():.3g} m³ with its own points, "
                f"but {volume:.3g} m³ with those of its body: take it from the body's own mesh, and check its unit"
            )
        if volume <= 0.0:
            raise MeshError(
                f"the surface of cavity {self.spec.name!r} bounds {volume:.3g} m³: its normals point out of the "
                "chamber, as those of an outer surface do; use a later one of mesh.surface().components(), or "
                "surface.flipped()"
            )
        return replace(made, rest_volume=volume)

    def couplings(self, body: Any) -> list[IntArray]:
        """Node sets of the lids: triangles that are not faces of cells."""
        if body is not self.spec.body:
            return []
        return [np.sort(lid).astype(np.int32) for lid in self.surface.facets[self.surface.facet_cells < 0]]

    @cached_property
    def _columns(self) -> tuple[IntArray, IntArray, IntArray]:
        """Nodes of the surface, their columns, and the row pointers of the one row."""
        nodes = np.unique(self.surface.facets)
        columns = (3 * nodes[:, None] + np.arange(3)).ravel().astype(np.int32)
        return nodes, columns, np.array([0, len(columns)], np.int32)

    def volume(self, q: FloatArray) -> float:
        """Volume of the chamber, m³."""
        return self._volume_and_gradient(q)[0]

    def carried(self, index: int) -> list[Any]:
        """Nothing: its surface is made of nodes."""
        return []

    def rest_gradient(self, rest: FloatArray) -> FloatArray:
        """∂V₀/∂X by the nodes at rest (n, 3), m²."""
        return self._volume_and_gradient(rest)[1]

    def displacement(self, q: Sequence[FloatArray]) -> float:
        """Growth of the volume, m³."""
        return self.volume(q[self.index]) - self.rest_volume

    def rows(self, view: RowView, found: Any = None) -> tuple[Rows, None]:
        """Growth of the volume and its gradient."""
        volume, gradient = self._volume_and_gradient(view.q[self.index])
        nodes, columns, ends = self._columns
        H = csr(gradient[nodes].ravel(), columns, ends, (1, gradient.size))
        return self.row(view, volume - self.rest_volume, H), None

    def stiffness(self, q: Sequence[FloatArray], lam: FloatArray, scale: float) -> Stiffnesses:
        """−`scale` λ ∂²V/∂q² at pressure λ (Pa)."""
        yield self.index, PressureStiffness(self.facets, float(lam[0]), q[self.index], scale)

    def _volume_and_gradient(self, q: FloatArray) -> tuple[float, FloatArray]:
        """Volume and gradient; normals point into the chamber, so unit-pressure forces are ∂V/∂q."""
        gradient = np.zeros_like(q)
        swept = self.facets.add(1.0, writable(q), gradient)
        return -swept, gradient


def _only_hollow(spec: Cavity) -> Surface:
    hollows = hollow_surfaces(spec.body.mesh)
    if not hollows:
        raise MeshError(
            f"{spec.body.name!r} has no closed chamber for {spec.name!r}: a chamber that touches the outer surface, "
            "even at one node, is a part of it; leave a wall of one cell at least, or give a surface with lids"
        )
    if len(hollows) != 1:
        raise MeshError(
            f"{spec.body.name!r} has {len(hollows)} inner cavities; give the surface of {spec.name!r}: "
            "pl.Cavity(body, mesh.surface().components()[1])"
        )
    return hollows[0]


def hollow_surfaces(mesh: Mesh) -> list[Surface]:
    """Surfaces of the inner cavities of a mesh, their normals pointing into the hollow."""
    return [shell for shell in mesh.surface().components() if shell.volume() < 0.0]
