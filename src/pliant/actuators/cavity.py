"""Cavities: closed chambers inside a body, driven by pressure or by volume.

δ = V − V₀ is the growth of the chamber, H = +∂V/∂q, λ the pressure in Pa: inflating makes both positive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np
from scipy import sparse

from pliant.constraints.rows import RowLaw, Rows, RowView
from pliant.core.errors import InputError, MeshError
from pliant.core.types import FloatArray
from pliant.mesh import Mesh, Surface
from pliant.models.model import Model
from pliant.models.volume import Volume, VolumeModel
from pliant.models.volume.loads import facet_rule, pressure_forces
from pliant.models.volume.model import writable


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
    """The row of one cavity. `rest_volume` is V₀, m³."""

    spec: Cavity
    number: int
    surface: Surface
    rule: tuple[FloatArray, FloatArray, FloatArray]
    rest_volume: float
    key: int

    @classmethod
    def build(cls, spec: Cavity, models: Sequence[Model], key: int) -> CavityRows:
        """The row of `spec` in a world of `models`; the surface is checked to be closed and to bound a hollow."""
        number = next(k for k, model in enumerate(models) if model.spec is spec.body)
        model = models[number]
        assert isinstance(model, VolumeModel)
        surface = _only_hollow(spec) if spec.surface is None else spec.surface
        surface.check_closed()
        made = cls(spec, number, surface, facet_rule(spec.body.mesh), 0.0, key)
        volume = made.volume(model.rest)
        if volume <= 0.0:
            raise MeshError(
                f"the surface of cavity {spec.name!r} bounds {volume:.3g} m³: its normals point out of the chamber, as "
                "those of an outer surface do; use a later one of mesh.surface().components(), or surface.flipped()"
            )
        return cls(spec, number, surface, made.rule, volume, key)

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

    def _volume_and_gradient(self, q: FloatArray) -> tuple[float, FloatArray]:
        gradient = np.zeros_like(q)
        # the facets' normals point into the chamber: the forces of a unit pressure are the gradient of its volume
        N, slopes, weights = self.rule
        swept = pressure_forces(writable(q), np.array(self.surface.facets), N, slopes, weights, 1.0, gradient)
        return -float(swept), gradient


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
