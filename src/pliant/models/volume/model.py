"""The deformable volume as the steppers see it: a frozen model with energies, forces, stiffness and a symbolic factor.

Unknowns are the positions q (n, 3) of all nodes, in m. Constrained nodes are removed from the factor
(`models.volume.blocks`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from pliant.collision import CollisionSurface
from pliant.core.arrays import writable
from pliant.core.checks import finite_array
from pliant.core.types import BoolArray, FloatArray, IndexArray, IntArray
from pliant.materials import Tangent
from pliant.materials.laws import LINEAR_LAWS
from pliant.mesh import Mesh
from pliant.models.body import STATIONS, Parts, VolumeRatios
from pliant.models.free_modes import FreeModes, is_pinned, motions_of_points, open_modes
from pliant.models.model import StepStart
from pliant.models.supports import Claim, claimed_by_all, prescribed
from pliant.models.surfaces import ContactShape, Skin
from pliant.models.volume import assembly, halved, readouts
from pliant.models.volume.barycentric import BarycentricMap, NodeMap
from pliant.models.volume.blocks import BlockModel, ConstrainedFactor
from pliant.models.volume.fibre import FibreBars
from pliant.models.volume.fields import FieldForces, nodal_forces
from pliant.models.volume.flat_cells import warn_of_flat_cells
from pliant.models.volume.halved import Divisions, PointSet
from pliant.models.volume.loads import Load, PressureLoad
from pliant.models.volume.mass import Mass, build_mass
from pliant.models.volume.memory import Memory
from pliant.models.volume.numbers import changed_numbers, densities
from pliant.models.volume.patches import MEAN
from pliant.models.volume.points import Points, build_points, node_cliques
from pliant.models.volume.pressure import PressureFacets
from pliant.models.volume.shape_limits import flips, largest_square, least_determinant
from pliant.models.volume.split import Split, chosen_points, volume_points
from pliant.models.volume.tetrahedra import assemble_tetrahedra
from pliant.models.volume.trial import FLAT, VolumeTrial
from pliant.models.volume.volume import Volume
from pliant.models.volume.volume_ratios import every_volume_ratio, volume_ratios
from pliant.solvers.linear.factor import CholeskyFactor
from pliant.solvers.linear.pattern import BlockPattern
from pliant.solvers.linear.symbolic import Symbolic, analyze

_NO_MASS: FloatArray = np.zeros(0)
_NO_LOADS: FloatArray = np.zeros((0, 3))


@dataclass(frozen=True, eq=False)
class VolumeModel(BlockModel):
    """A compiled `Volume` with its loads and supports. Everything here is computed once; a step only reads it."""

    spec: Volume
    mesh: Mesh
    points: Points
    laws: IntArray
    table: FloatArray
    pattern: BlockPattern
    positions: IntArray
    split: Split | None
    mass: Mass
    constrained: BoolArray
    nodal_loads: tuple[tuple[Load, FloatArray | FieldForces], ...]
    pressure_loads: tuple[tuple[PressureLoad, PressureFacets], ...]
    supports: tuple[Claim, ...]
    fibres: tuple[FibreBars, ...]
    symbolic: Symbolic
    memory: Memory | None

    stress_name: ClassVar[str | None] = "von Mises stress (kPa)"

    @classmethod
    def compiled(cls, spec: Volume, placement: Mesh, parts: Parts) -> VolumeModel:
        """The model of `spec` standing as `placement`, its mesh moved into the world.

        Regions refer to the mesh as it was made.
        """
        mesh = spec.mesh
        warn_of_flat_cells(spec.name, mesh, spec.anti_locking)
        material = spec.cell_materials()
        points = build_points(placement, material, anti_locking=spec.anti_locking)
        bars = [FibreBars.of(fibre, placement) for fibre in parts.fibres]
        coupled = [*parts.couplings, *(nodes for bar in bars for nodes in bar.segments.node_sets())]
        pattern = BlockPattern.from_cliques(mesh.node_count, *node_cliques(points, mesh.cells, coupled))
        _, positions = pattern.clique_positions(points.ptr, points.nodes)
        laws = np.array([int(m.law) for m in spec.materials], np.int32)
        table = np.stack([m.parameters for m in spec.materials])
        split = None
        if spec.anti_locking == "volume" and volume_points(points, laws).any():
            split = Split.by_cells(placement, material, points, pattern, laws, table)
        density = densities(spec)[material]
        pressures = [x for x in parts.loads if isinstance(x, PressureLoad)]
        constrained, claims = claimed_by_all(spec.name, mesh.points, spec.clamp, parts.supports)
        return cls(
            spec=spec,
            mesh=placement,
            points=points,
            laws=laws,
            table=table,
            pattern=pattern,
            positions=positions,
            split=split,
            mass=build_mass(mesh, pattern, density, spec.mass, lumped=spec.lumped_mass),
            constrained=constrained,
            nodal_loads=tuple((x, x.nodal_share(mesh)) for x in parts.loads if not isinstance(x, PressureLoad)),
            pressure_loads=tuple((x, PressureFacets.of(x, mesh, pattern)) for x in pressures),
            supports=claims,
            fibres=FibreBars.joined(bars, pattern),
            symbolic=analyze(pattern, coordinates=mesh.points, keep=~constrained.all(axis=1)),
            memory=Memory.of(points, positions, placement.points, spec.materials),
        )

    def with_numbers(self, spec: Volume) -> Self:
        """The volume with other constants of its materials, mass or damping: pattern, points and factor are shared."""
        return replace(self, spec=spec, **changed_numbers(self, spec))

    @property
    def rest(self) -> FloatArray:
        """Rest positions of the nodes, (n, 3), m."""
        return self.mesh.points

    @property
    def history_shape(self) -> tuple[int, ...] | None:
        """Shape of the history of its materials that are viscoelastic or soften; None where none does."""
        return None if self.memory is None else self.memory.shape

    @cached_property
    def is_linear_law(self) -> bool:
        """Whether every material is linear or corotated, so that the closed-form warped tangent applies."""
        return all(law in LINEAR_LAWS for law in self.laws)

    def initial(self) -> tuple[FloatArray, FloatArray]:
        """Positions (n, 3), m, at rest, and velocities (n, 3), m/s, when the world begins."""
        return self.rest.copy(), np.where(self.constrained, 0.0, self.spec.velocities(self.rest))

    def trial(self, start: StepStart) -> VolumeTrial:
        """A step from positions q and velocities v (n, 3)."""
        if self.memory is None or not self.memory.relaxes:
            return VolumeTrial(self, start)
        stiffer = self.memory.stiffer(start.scheme, lambda table: replace(self, table=table))
        return VolumeTrial(stiffer, start)

    def embed(self, points: FloatArray, *, what: str, reach: float = 0.0, placed: bool = False) -> BarycentricMap:
        """The map of points (p, 3), m, inside the mesh; one outside is extrapolated from the nearest cell."""
        return BarycentricMap.of_points(self.mesh if placed else self.spec.mesh, points, what=what, reach=reach)

    def contact_shape(self, exclude: Any = None) -> ContactShape:
        """The triangles of its surface, without those with a node in the region `exclude`."""
        triangles = self.mesh.surface().triangles
        region = None if exclude is None else ~exclude.select(self.spec.mesh.points)[triangles].any(axis=1)
        surface = CollisionSurface.build(triangles, self.rest, region=region)
        return ContactShape(NodeMap(), surface.nodes, surface, shells=self._shells())

    def _shells(self) -> IntArray | None:
        """Index of the shell that each node lies on, (n,), −1 for inner nodes; None where there is one shell."""
        parts = self.mesh.surface().components()
        if len(parts) == 1:
            return None
        shells = np.full(self.mesh.node_count, -1, np.int32)
        for shell, part in enumerate(parts):
            shells[part.nodes] = shell
        return shells

    def skin(self, *, stations: int = STATIONS, every: int = 1) -> Skin:
        """The mesh itself."""
        return Skin(self.mesh)

    def surface_stress(self, q: FloatArray, skin: Any) -> FloatArray:
        """Von Mises stress at the nodes, (n,), Pa."""
        return readouts.von_mises(self.node_mean(self.cell_stress(q)))

    def free_modes(self, q: FloatArray) -> FreeModes | None:
        """The rigid motions that its supports leave open."""
        if self._clamp_pins:
            return None
        q = finite_array(f"positions of {self.name!r}", q)
        if is_pinned(q[self.constrained.all(axis=1)]):
            return None
        return open_modes(self.constrained, *motions_of_points(q, self.mass.nodal), self.mass.apply)

    @cached_property
    def _clamp_pins(self) -> bool:
        """Whether its clamp, which never moves, leaves no rigid motion open."""
        return not self.supports and is_pinned(self.rest[self.constrained.all(axis=1)])

    @cached_property
    def has_barrier(self) -> bool:
        """Whether some of its laws are hyperelastic; St Venant–Kirchhoff counts, although it only grows stiff."""
        return not np.isin(self.laws, LINEAR_LAWS).all()

    def is_inverted(self, q: FloatArray) -> bool:
        """Whether elements are inverted or flat, as some laws allow."""
        return self.may_invert and self.least_volume_ratio(q) <= FLAT

    @cached_property
    def may_invert(self) -> bool:
        """Whether some of its laws know the volume of an element: small strain knows no inversion."""
        return bool(np.any(self.laws))

    def least_volume_ratio(self, q: FloatArray) -> float:
        """The smallest det F over the integration points; ≤ 0 where some part is turned inside out."""
        p = self.points
        return float(least_determinant(writable(q), p.nodes, p.ptr, p.gradients))

    @property
    def volume_point_count(self) -> int:
        """Number of integration points."""
        return self.points.count

    def every_volume_ratio(self, q: FloatArray) -> FloatArray:
        """det F of all integration points at q, (p,)."""
        return every_volume_ratio(self.points, q)

    def volume_ratios(self, points: IndexArray, q: FloatArray) -> VolumeRatios:
        """det F of some of the integration points at q."""
        return volume_ratios(self.points, points, q)

    def warnings(self, q: FloatArray) -> tuple[str, ...]:
        """A warning where rubber is stretched farther than its cells follow, and where smoothed cells are folded."""
        return (() if self._means is None else readouts.stretch_warnings(self, q)) + readouts.fold_warnings(self, q)

    def flips(self, q: FloatArray, x: FloatArray) -> bool:
        """Whether a hyperelastic element is flattened on the straight path from q to x, (n, 3), m."""
        p = self.points
        return self.has_barrier and bool(flips(writable(q), writable(x), p.nodes, p.ptr, p.gradients))

    def split_at(self, q: FloatArray) -> Split | None:
        """The patches whose volume the energy at q is a function of; None where points are integrated one by one."""
        means = self._means
        if means is None:
            return self.split
        square = largest_square(writable(q), means.nodes, means.ptr, means.gradients)
        return self._blended if square > MEAN else None

    @cached_property
    def _means(self) -> Points | None:
        """Points of the volume of hyperelastic laws that is that of the cells where these are stretched far."""
        of_patch = volume_points(self.points, self.laws)
        return None if self.split is not None or not of_patch.any() else chosen_points(self.points, of_patch)

    @cached_property
    def _blended(self) -> Split:
        """The patches of a body that is stretched far. Where no patch is, they have the energy of the points."""
        given = self.points, self.pattern, self.laws, self.table
        return Split.by_cells(self.mesh, self.spec.cell_materials(), *given, blended=True)

    def kinetic_energy(self, q: FloatArray, v: FloatArray) -> float:
        """Kinetic energy, J."""
        return 0.5 * float(np.vdot(v, self.mass.apply(v)))

    def elastic_energy(self, q: FloatArray) -> float:
        """Elastic energy, J."""
        return self.internal(q)[0]

    def stored_energy(self, q: FloatArray, history: FloatArray | None) -> float:
        """Elastic energy, J; of softened points what unloading gives back."""
        energy = self.elastic_energy(q)
        return energy if self.memory is None or history is None else energy + self.memory.stored_energy(history, q)

    def potential_energy(self, q: FloatArray, gravity: FloatArray, controls: Mapping[Any, FloatArray]) -> float:
        """Potential of gravity and loads, J, up to a constant."""
        return self.external(q, gravity, controls)[0]

    def node_positions(self, q: FloatArray) -> FloatArray:
        """The nodes are the unknowns."""
        return q

    def displacements(self, q: FloatArray) -> FloatArray:
        """Displacements of the nodes from their rest positions, (n, 3), m."""
        return q - self.rest

    def cell_stress(self, q: FloatArray, history: FloatArray | None = None) -> FloatArray:
        """Cauchy stress of each cell, (m, 3, 3), Pa."""
        return readouts.cell_stress(self, q, history)

    def cell_strain(self, q: FloatArray) -> FloatArray:
        """Green–Lagrange strain of each cell, (m, 3, 3)."""
        return readouts.cell_strain(self, q)

    def element_energies(self, q: FloatArray, history: FloatArray | None = None) -> FloatArray:
        """Elastic energy of each cell, (m,), J."""
        return readouts.cell_energy(self, q, history)

    def lost_energies(self, history: FloatArray | None) -> FloatArray:
        """Energy of each cell that softening has taken, (m,), J."""
        return readouts.cell_loss(self, history)

    def node_mean(self, cell_values: FloatArray) -> FloatArray:
        """Volume-weighted mean over the cells around each node: (m, …) → (n, …)."""
        return readouts.node_mean(self, cell_values)

    def assemble(
        self, q: FloatArray, *, mass: float, stiffness: float, tangent: Tangent, values: FloatArray
    ) -> tuple[float, FloatArray]:
        """Values := mass × M + stiffness × K(q); returns elastic energy (J) and internal forces ∂E/∂q (n, 3), N."""
        split = self.split_at(q)
        lumped = self.mass.blocks is None
        if not lumped:
            values[:] = 0.0
            self.mass.add_to(values, mass)
        x = writable(q)
        warped = self.warps(tangent)

        def add(some: PointSet, into: FloatArray, first: bool) -> tuple[float, FloatArray]:
            inertia = self.pattern.diagonal, self.mass.nodal if lumped and first else _NO_MASS, mass
            if not warped:  # a warped tangent has no meaning for the other laws
                if lumped and first:
                    assembly.set_mass(into, *inertia)
                push, mode = np.zeros(x.shape), int(Tangent.EXACT if tangent is Tangent.WARPED else tangent)
                given = x, *some.points, self.laws, self.table, mode, some.positions, stiffness
                return assembly.assemble(*given, into, push), push
            push = np.empty(x.shape)
            rest = some.positions, stiffness, *inertia, into, push
            if some.cells is None:
                return assembly.assemble_corotated(x, *some.points, self.laws, self.table, *rest), push
            return assemble_tetrahedra(x, some.points[1], *some.cells, *rest), push

        energy, force = self._divided(split).assemble(add, values)
        if split is not None:
            patches = split.patches
            bent = patches.pressures(x, np.zeros_like(x)) * (tangent is not Tangent.PROJECTED)
            patches.add_stiffness(x, bent, stiffness, values)
            energy += patches.add_forces(x, force)
        for bars in self.fibres:
            bars.add_stiffness(q, stiffness, tangent, values)
        return (energy + self._fibre_forces(q, force) if self.fibres else energy), force

    def warps(self, tangent: Tangent) -> bool:
        """Whether `tangent` leaves out the change of rotations, and with it the stiffness of stresses."""
        return tangent is Tangent.WARPED and self.is_linear_law

    def internal(self, q: FloatArray) -> tuple[float, FloatArray]:
        """Elastic energy (J), inf where an element is inverted beyond its law, and internal forces (n, 3) in N."""
        force, x = np.zeros(self.rest.shape), writable(q)
        split = self.split_at(q)
        p, _ = self._divided.own(split)
        energy = halved.internal_forces(x, p.arrays, self.laws, self.table, force, np.empty(p.count))
        if split is not None:
            energy += split.patches.add_forces(x, force)
        return float(energy) + self._fibre_forces(q, force), force

    @cached_property
    def _divided(self) -> Divisions:
        """The points that are integrated one by one."""
        return Divisions(self.points, self.positions, self.rest, self.laws, self.table)

    def _fibre_forces(self, q: FloatArray, force: FloatArray) -> float:
        """Add the internal forces of the fibres to `force`; returns their energy, J."""
        return sum(bars.add(q, force) for bars in self.fibres)

    def external(self, q: FloatArray, gravity: FloatArray, values: Mapping[Any, Any]) -> tuple[float, FloatArray]:
        """Potential (J) and forces (n, 3) in N of gravity and loads at q; `values` overrides load values."""
        force = self._dead_forces(gravity, values)
        potential = -float(np.vdot(force, q))
        for pressure, facets in self.pressure_loads:
            potential += facets.add(values.get(pressure, pressure.value), writable(q), force)
        return potential, force

    def external_forces(self, q: FloatArray, gravity: FloatArray, values: Mapping[Any, Any]) -> FloatArray:
        """Forces (n, 3), N, of gravity and loads at q, without their potential."""
        return self.external(q, gravity, values)[1] if self.pressure_loads else self._dead_forces(gravity, values)

    def loads(self, q: FloatArray, values: Mapping[Any, Any]) -> FloatArray:
        """Forces (n, 3), N, of loads at q without gravity; empty where there are none."""
        if self.pressure_loads:
            return self.external(q, np.zeros(3), values)[1]
        return self._dead_forces(np.zeros(3), values) if self.nodal_loads else _NO_LOADS

    def _dead_forces(self, gravity: FloatArray, values: Mapping[Any, Any]) -> FloatArray:
        """Forces (n, 3), N, that do not depend on q."""
        force = self.mass.nodal[:, None] * gravity
        for load, share in self.nodal_loads:
            force += nodal_forces(share, values.get(load, load.value))
        return force

    def add_load_stiffness(self, q: FloatArray, scale: float, values: Mapping[Any, Any], blocks: FloatArray) -> None:
        """Add `scale` × (−∂f_ext/∂q), symmetrised, to the blocks."""
        for pressure, facets in self.pressure_loads:
            facets.add_stiffness(values.get(pressure, pressure.value), writable(q), scale, blocks)

    def prescribed(self, values: Mapping[Any, Any]) -> FloatArray:
        """Prescribed positions (n, 3), m, of constrained unknowns; the rest shape elsewhere."""
        if not self.supports:
            return self.rest
        rest = self.rest[:, None]
        target = prescribed(self.name, rest, self.supports, values)
        return self.rest if target is rest else np.ascontiguousarray(target[:, 0])

    def factorize(self, values: FloatArray, *, out: CholeskyFactor | None = None) -> CholeskyFactor | ConstrainedFactor:
        """Numeric factor of the blocks; `values` loses its constrained rows. The memory of `out` is used again."""
        self.decouple_constrained(values)
        return self.constrained_factor(self.symbolic.factorize(values, out=out))
