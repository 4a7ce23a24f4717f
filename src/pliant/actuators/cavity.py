"""Cavities: closed chambers inside a body, driven by pressure or by volume.

δ = V − V₀ is the growth of the chamber, H = +∂V/∂q, λ the pressure in Pa: inflating makes both positive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace

import numpy as np
from scipy import sparse

from pliant.constraints.rows import RowLaw, Rows, RowView
from pliant.core.errors import InputError, MeshError
from pliant.core.types import FloatArray, IntArray
from pliant.mesh import Mesh, Surface
from pliant.models.model import Model
from pliant.models.volume import Volume, VolumeModel
from pliant.models.volume.loads import PressureFacets
from pliant.models.volume.model import writable
from pliant.models.volume.trial import VolumeSystem


@dataclass(frozen=True, eq=False)
class Cavity:
    """A chamber of `body` bounded by `surface`, one of ``body.mesh.surface().components()[1:]``; None: the only one.

    min_pressure, max_pressure
        Bounds of the pressure where the volume is commanded, Pa.
    """

    body: Volume
    surface: Surface | None = None
    _: KW_ONLY
    min_pressure: float = -np.inf
    max_pressure: float = np.inf
    name: str = "cavity"

    def __post_init__(self) -> None:
        if not self.max_pressure > self.min_pressure:
            raise InputError(
                f"max_pressure of {self.name!r} is {self.max_pressure:g} Pa, but min_pressure {self.min_pressure:g} Pa"
            )


@dataclass(frozen=True, eq=False)
class CavityRows:
    """The row of one cavity. `rest_volume` is V₀, m³; `key` identifies the row."""

    spec: Cavity
    surface: Surface
    key: int
    number: int = -1
    facets: PressureFacets | None = None
    rest_volume: float = 0.0

    @classmethod
    def of(cls, spec: Cavity, key: int) -> CavityRows:
        """The row of `spec`, before its body is compiled; the surface is checked to be closed."""
        surface = _only_hollow(spec) if spec.surface is None else spec.surface
        surface.check_closed()
        return cls(spec, surface, key)

    def couplings(self) -> list[IntArray]:
        """Node sets that the stiffness couples: none beyond those of the cells."""
        return []

    def bound(self, models: Sequence[Model]) -> CavityRows:
        """The row in a world of `models`; the surface is checked to bound a hollow."""
        number = next(k for k, model in enumerate(models) if model.spec is self.spec.body)
        model = models[number]
        assert isinstance(model, VolumeModel)
        facets = PressureFacets.build(self.surface.facets, self.spec.body.mesh, model.pattern)
        made = replace(self, number=number, facets=facets)
        volume = made.volume(model.rest)
        if volume <= 0.0:
            raise MeshError(
                f"the surface of cavity {self.spec.name!r} bounds {volume:.3g} m³: its normals point out of the "
                "chamber, as those of an outer surface do; use a later one of mesh.surface().components(), or "
                "surface.flipped()"
            )
        return replace(made, rest_volume=volume)

    def volume(self, q: FloatArray) -> float:
        """Volume of the chamber, m³."""
        return self._volume_and_gradient(q)[0]

    def rows(self, view: RowView) -> tuple[Rows, None]:
        """One row: growth so far, and its gradient."""
        volume, gradient = self._volume_and_gradient(view.q[self.number])
        H = view.blank(1)
        H[self.number] = sparse.csr_matrix(gradient.reshape(1, -1))
        control = view.controls.get(self.spec)
        kind, value = ("pressure", 0.0) if control is None else control
        if kind == "pressure":
            law, lower, upper = RowLaw.IMPOSED, -np.inf, np.inf
        else:
            law, lower, upper = RowLaw.BOUNDED, self.spec.min_pressure, self.spec.max_pressure
        growth = volume - self.rest_volume
        return Rows.of(H, growth, law, lower=lower, upper=upper, target=value, key=self.key), None

    def add_stiffness(self, q: FloatArray, lam: float, scale: float, system: VolumeSystem) -> None:
        """Add −`scale` λ ∂²V/∂q² at pressure λ (Pa) to the matrix of the body's system, unless that is a warped one."""
        assert self.facets is not None
        if not system.warped:
            self.facets.add_stiffness(lam, q, scale, system.values)

    def _volume_and_gradient(self, q: FloatArray) -> tuple[float, FloatArray]:
        """The facets' normals point into the chamber, so the forces of a unit pressure are the gradient of its
        volume.
        """
        assert self.facets is not None
        gradient = np.zeros_like(q)
        swept = self.facets.add(1.0, writable(q), gradient)
        return -swept, gradient


def _only_hollow(spec: Cavity) -> Surface:
    hollows = hollow_surfaces(spec.body.mesh)
    if len(hollows) != 1:
        raise MeshError(
            f"{spec.body.name!r} has {len(hollows)} inner cavities; say which one {spec.name!r} is: "
            "pl.Cavity(body, mesh.surface().components()[1])"
        )
    return hollows[0]


def hollow_surfaces(mesh: Mesh) -> list[Surface]:
    """Surfaces of the inner cavities of a mesh, their normals pointing into the hollow."""
    return [shell for shell in mesh.surface().components() if shell.volume() < 0.0]
