"""Loads of a body: what a user adds to a scene beside gravity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from pliant.core.checks import as_array, finite_array, finite_number
from pliant.core.declared import check_declared
from pliant.core.errors import InputError
from pliant.core.one_line import one_line
from pliant.core.types import BoolArray, FloatArray, IntArray
from pliant.mesh import Mesh
from pliant.mesh.regions import Region, as_region
from pliant.models.volume.fields import FieldForces, TimedLoad, checked_amplitude, sampled
from pliant.models.volume.mass import cell_masses
from pliant.models.volume.pressure import facet_rule

if TYPE_CHECKING:
    from pliant.models.volume.volume import Volume


@one_line
@dataclass(frozen=True, eq=False)
class PointLoad(TimedLoad):
    """A dead force (N, shape (3,)), shared equally by the nodes of `region`, and on a beam a dead `moment` (N·m, (3,)).

    Both keep their direction in the world. On a beam or a rod (its nodes are the ends of sections) `region` may be node
    numbers too. As a control: a new force, or for a beam or a rod a new `pl.Wrench`. `amplitude` multiplies them over
    time: a function of t (s) or pairs [(t, factor), …]; a control takes its place.
    """

    body: Any
    region: Any
    force: Any
    moment: Any = (0.0, 0.0, 0.0)
    amplitude: Any = None

    def __post_init__(self) -> None:
        check_declared(self)
        if self.wrench[1].any() and not hasattr(type(self.body), "node_frames"):
            raise InputError(f"a moment needs nodes with frames; {self.body.name!r} is no beam and no rod: use forces")
        object.__setattr__(self, "amplitude", checked_amplitude("PointLoad", self.amplitude))

    @property
    def value(self) -> FloatArray:  # type: ignore[override]
        """Force, N, shape (3,)."""
        return np.asarray(self.wrench[0])

    @property
    def wrench(self) -> FloatArray:
        """Force (N) and moment (N·m), shape (2, 3)."""
        pairs = (("force", self.force), ("moment", self.moment))
        return np.stack([finite_array(f"{name} of a PointLoad", value, shape=(3,)) for name, value in pairs])

    def value_at(self, time: float) -> FloatArray:
        """Force at `time` (s), N; of a beam or a rod force and moment (2, 3)."""
        return np.asarray(self.factor(time) * (self.wrench if self.body.slender else self.value))

    def nodal_share(self, mesh: Mesh) -> FloatArray:
        """Fraction of the load at each node, (n,), summing to 1."""
        what = "region of a PointLoad"
        return even_weights(as_region(self.region, what=what).nodes(mesh.points, what=what), mesh.node_count)


@one_line
@dataclass(frozen=True, eq=False)
class TractionLoad(TimedLoad):
    """A dead traction (Pa of undeformed area) on the surface facets whose nodes all lie in `region`.

    `traction` is one (3,) for all, one for each node of the mesh (n, 3) or for each facet of the region (f, 3), in the
    order of ``mesh.surface().facets``, or a function of points (n, 3), m, of the mesh that returns (n, 3), sampled at
    the nodes. `amplitude` multiplies it over time: a function of t (s) or pairs [(t, factor), …]; a control
    `pl.values.Traction` of any of these shapes takes the place of both.
    """

    body: Volume
    region: Region
    traction: Any
    amplitude: Any = None

    def __post_init__(self) -> None:
        check_declared(self)
        object.__setattr__(self, "traction", self.checked(self.traction))
        object.__setattr__(self, "amplitude", checked_amplitude("TractionLoad", self.amplitude))

    @property
    def value(self) -> FloatArray:  # type: ignore[override]
        """Traction, Pa, shape (3,), (n, 3) or (f, 3)."""
        return np.asarray(self.traction)

    def checked(self, given: Any, what: str = "traction of a TractionLoad") -> FloatArray:
        """A traction as `fields.sampled` gives it."""
        return sampled(what, given, self.body.mesh, lambda: len(self._facets), (3,))

    @cached_property
    def _facets(self) -> IntArray:
        return surface_facets(self.body.mesh, self.region, what="region of a TractionLoad")

    def nodal_share(self, mesh: Mesh) -> FieldForces:
        """∫ Nₐ Nᵦ dA over the facets, m²."""
        facets = self._facets
        N, slopes, weights = facet_rule(mesh, varies=True)
        tangents = np.einsum("fki,qkd->fqid", mesh.points[facets], slopes, optimize=True)
        area = np.linalg.norm(np.cross(tangents[..., 0], tangents[..., 1]), axis=2) * weights
        return FieldForces(facets, np.einsum("fq,qa,qb->fab", area, N, N, optimize=True), mesh.node_count)


@one_line
@dataclass(frozen=True, eq=False)
class BodyLoad(TimedLoad):
    """A dead force per undeformed volume (N/m³) on the cells whose centres lie in `region`, all where it is None.

    `force` is one (3,) for all, one for each node of the mesh (n, 3) or for each cell of the region (m, 3), or a
    function of points (n, 3), m, of the mesh that returns (n, 3), sampled at the nodes. `amplitude` multiplies it over
    time: a function of t (s) or pairs [(t, factor), …]; a control `pl.values.ForceDensity` takes the place of both.
    """

    body: Volume
    force: Any
    region: Region | None = None
    amplitude: Any = None

    of_cells: ClassVar[bool] = True
    """Whether its region selects cells, not nodes."""

    def __post_init__(self) -> None:
        check_declared(self)
        object.__setattr__(self, "force", self.checked(self.force))
        object.__setattr__(self, "amplitude", checked_amplitude("BodyLoad", self.amplitude))

    @property
    def value(self) -> FloatArray:  # type: ignore[override]
        """Force per volume, N/m³, shape (3,), (n, 3) or (m, 3)."""
        return np.asarray(self.force)

    def checked(self, given: Any, what: str = "force of a BodyLoad") -> FloatArray:
        """A force per volume as `fields.sampled` gives it."""
        return sampled(what, given, self.body.mesh, lambda: int(self._chosen.sum()), (3,))

    @cached_property
    def _chosen(self) -> BoolArray:
        mesh = self.body.mesh
        if self.region is None:
            return np.ones(mesh.cell_count, bool)
        chosen: BoolArray = self.region.select(mesh.points[mesh.corner_cells].mean(axis=1))
        if not chosen.any():
            raise InputError("region of a BodyLoad contains the centre of no cell; widen the region")
        return chosen

    def nodal_share(self, mesh: Mesh) -> FieldForces:
        """∫ Nₐ Nᵦ dV over the cells, m³."""
        chosen = self._chosen
        return FieldForces(mesh.cells[chosen], cell_masses(mesh, chosen.astype(float))[chosen], mesh.node_count)


@one_line
@dataclass(frozen=True, eq=False)
class PressureLoad(TimedLoad):
    """A pressure (Pa, > 0 pushes into the body) that follows the deforming surface, on the facets within `region`.

    `pressure` is a number, one for each node of the mesh (n,) or for each facet of the region (f,), or a function of
    points (n, 3), m, of the mesh that returns (n,), sampled at the nodes. It belongs to the material: a point keeps its
    pressure as it moves. `amplitude` multiplies it over time: a function of t (s) or pairs [(t, factor), …]; a control
    `pl.Pressure` of any of these shapes takes the place of both.
    """

    body: Volume
    region: Region
    pressure: Any
    amplitude: Any = None

    def __post_init__(self) -> None:
        check_declared(self)
        if as_array(self.pressure).ndim == 0 and not callable(self.pressure):
            finite_number("pressure of a PressureLoad", self.pressure, unit="Pa")
        object.__setattr__(self, "pressure", self.checked(self.pressure))
        object.__setattr__(self, "amplitude", checked_amplitude("PressureLoad", self.amplitude))

    @property
    def value(self) -> FloatArray:  # type: ignore[override]
        """Pressure, Pa, shape (), (n,) or (f,)."""
        return np.asarray(self.pressure)

    def checked(self, given: Any, what: str = "pressure of a PressureLoad") -> FloatArray:
        """A pressure as `fields.sampled` gives it."""
        return sampled(what, given, self.body.mesh, lambda: len(self.facets), ())

    @cached_property
    def facets(self) -> IntArray:
        """The facets (f, k) that it acts on."""
        return surface_facets(self.body.mesh, self.region, what="region of a PressureLoad")


Load = PointLoad | TractionLoad | BodyLoad | PressureLoad


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
