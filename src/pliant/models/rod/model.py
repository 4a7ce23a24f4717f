"""A rod as the steppers see it: frozen, with energies, forces and dense matrices over its strains.

q (4 + 2N, 3) holds the base's position (m) and the rows of its rotation, then for each section its rotation vector
(rad) and its stretch vector (m): the strains times the section's length. dx (2 + 2N, 3) is the translation (m) and the
rotation vector (rad) of the base, then the changes of the section's vectors; v their rates. The base's motion is
counted along the columns of `basis`: world axes, or with one freedom axes of which the first is that freedom. Strains
that may not change are constrained unknowns, as are the constrained motions of the base.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from pliant.core.arrays import writable
from pliant.core.checks import finite_array
from pliant.core.errors import InputError
from pliant.core.types import BoolArray, FloatArray, IndexArray
from pliant.models.beam.section import Section, mean_of, section_at
from pliant.models.body import NO_PARTS, STATIONS, Model, Parts
from pliant.models.free_modes import FreeModes, open_modes
from pliant.models.model import StepStart
from pliant.models.rod import inertia, readouts
from pliant.models.rod.axis import RodAxis
from pliant.models.rod.moments import RodMoments, work
from pliant.models.rod.rod import Rod, Slide, Turn, freedom_basis, node_poses
from pliant.models.rod.rod_map import RodMap
from pliant.models.rod.stations import Loaded, Stations, Sweep, build_stations
from pliant.models.rod.trial import RodTrial
from pliant.models.slender import swept_surface
from pliant.models.slender_memory import SlenderMemory
from pliant.models.supports import Claim, prescribed
from pliant.models.surfaces import ContactShape, Skin
from pliant.models.volume.loads import given_wrench
from pliant.models.volume.support import Support

LARGE = 80
"""Unknowns above which LAPACK is worth its call; below, the kernel solves."""
OPEN_BASE = 1e-3
"""Inertia correction of a rod whose base slides or rotates, as a fraction of its stiffness; see its use."""


@dataclass(frozen=True, eq=False)
class RodModel(Model):
    """A compiled `Rod` with its loads and supports. Everything here is computed once; a step only reads it.

    `rest` (4 + 2N, 3) is q at rest, `start` when the world begins, `stiffness` (2N, 3) N·m and N/m that of each
    section's vectors, relaxed; `constrained` (2 + 2N, 3). `active` (n,) are the unknowns of the matrices: the base's
    six and the strains that may change. `memory` is None where no strain has one.
    """

    spec: Rod
    rest: FloatArray
    start: FloatArray
    basis: FloatArray
    stiffness: FloatArray
    stations: Stations
    loads: tuple[Loaded, ...]
    muscles: tuple[RodMoments, ...]
    constrained: BoolArray
    active: IndexArray
    supports: tuple[Claim, ...]
    memory: SlenderMemory | None

    stress_name: ClassVar[str | None] = "fibre stress of rods (kPa)"
    takes_whole_steps: ClassVar[bool] = True

    @classmethod
    def compiled(cls, spec: Rod, placement: FloatArray | None = None, parts: Parts = NO_PARTS) -> RodModel:
        """The model of `spec` at the pose `placement` (4, 3), m; None leaves it as it was made."""
        parts.refuse(spec, "fibres")
        rest = spec.rest.copy()
        if placement is not None:
            rest[0], rest[1:4] = placement[0] + placement[1:] @ rest[0], placement[1:] @ rest[1:4]
        start = np.vstack([rest[:4], spec.start[4:]])
        stations, loaded, muscles = build_stations(spec, parts.loads)
        constrained, listed = _constrained(spec, parts.supports)
        strains = 6 + (6 * np.arange(spec.sections)[:, None] + spec.active).ravel()
        stiffness = _stiffness(spec) * np.tile(spec.relaxed_fractions.reshape(2, 3), (spec.sections, 1))
        return cls(
            spec=spec,
            rest=rest,
            start=start,
            basis=np.ascontiguousarray(freedom_basis(spec.base, rest[1:4])),
            stiffness=stiffness,
            stations=stations,
            loads=loaded,
            muscles=muscles,
            constrained=constrained,
            active=np.concatenate([np.arange(6), strains]),
            supports=listed,
            memory=SlenderMemory.of(spec.relaxations, stiffness),
        )

    @property
    def history_shape(self) -> tuple[int, ...] | None:
        """Shape of what its strains remember; None where they have neither a memory nor a damping of their own."""
        return None if self.memory is None else self.memory.shape

    @cached_property
    def free(self) -> IndexArray:
        """Unknowns that may move, among all."""
        return np.flatnonzero(~self.constrained)

    @cached_property
    def free_active(self) -> IndexArray:
        """Indices of the unknowns that may move among the active ones."""
        return np.flatnonzero(~self.constrained.ravel()[self.active])

    @cached_property
    def free_block(self) -> Any:
        """What selects the rows and columns of the unknowns that may move in a matrix over the active ones."""
        free = self.free_active
        if len(free) and free[-1] - free[0] == len(free) - 1:  # all after a clamped base: a view instead of a copy
            return slice(free[0], free[-1] + 1), slice(free[0], free[-1] + 1)
        return np.ix_(free, free)

    @cached_property
    def constrained_active(self) -> IndexArray:
        """Indices of the constrained unknowns, those of the base, among the active ones."""
        return np.flatnonzero(self.constrained.ravel()[self.active])

    @cached_property
    def is_small(self) -> bool:
        """Whether the kernel solves for the rates; beyond, LAPACK is worth its call."""
        return len(self.active) <= LARGE

    @cached_property
    def no_rates(self) -> FloatArray:
        """Zero rates (n,) of the active unknowns; not to be changed."""
        return np.zeros(len(self.active))

    @cached_property
    def sweep_size(self) -> int:
        """Numbers that a sweep takes."""
        return self.stations.sweep_size(len(self.spec.active))

    @cached_property
    def is_supported(self) -> bool:
        """Whether motions of the base are constrained; strains that may not change hold nothing."""
        return len(self.constrained_active) > 0

    @cached_property
    def turned_basis(self) -> bool:
        """Whether the base's motion is counted along other axes than the world's."""
        return not isinstance(self.spec.base, str)

    @cached_property
    def base_is_open(self) -> bool:
        """Whether nothing prescribes the pose of the base: it is free, or slides or turns."""
        return self.turned_basis or not bool(self.constrained[:2].any())

    @cached_property
    def base_turns(self) -> bool:
        """Whether the base may turn about some axis."""
        return not bool(self.constrained[1].all())

    def initial(self) -> tuple[FloatArray, FloatArray]:
        """q (4 + 2N, 3) and v (2 + 2N, 3) when the world begins, standing still."""
        return self.start.copy(), np.zeros(self.constrained.shape)

    def trial(self, start: StepStart) -> RodTrial:
        """A step from q (4 + 2N, 3) and v (2 + 2N, 3)."""
        return RodTrial(self, start)

    def embed(self, points: FloatArray, *, what: str, reach: float = 0.0, placed: bool = False) -> RodMap:
        """The map of points (p, 3), m, each at the nearest point of the axis."""
        if not placed:
            made, base = self.spec.pose, self.rest
            points = base[0] + (points - made[0]) @ made[1:] @ base[1:4].T
        return RodMap.of_points(self, points, what=what, reach=reach)

    def contact_shape(self, exclude: Any = None) -> ContactShape:
        """Balls along the axis; those whose points at rest, as the rod was made, lie in `exclude` take no part."""
        spec = self.spec
        starts, inner = np.cumsum([0.0, *spec.lengths[:-1]]), np.arange(1, spec.contact_points + 1)
        arcs = (starts[:, None] + spec.lengths[:, None] * inner / spec.contact_points).ravel()
        along = RodMap.at(self, np.concatenate([[0.0], np.minimum(arcs, spec.lengths.sum())]))
        nodes = np.arange(len(along.section), dtype=np.int32)
        if exclude is not None:
            nodes = nodes[~exclude.select(along.points(spec.start))]
        where, listed = zip(along.section, along.fraction, strict=True), spec.section_list
        radii = np.array([section_at(listed[k], float(t)).radius for k, t in where])
        return ContactShape(along, nodes, radius=float(radii.max()), radii=radii)

    def axis(self) -> RodAxis:
        """The axis of the rod."""
        return RodAxis.of(self)

    def sweep(self, q: FloatArray) -> Sweep:
        """Poses and Jacobian at q."""
        return Sweep(writable(q), self.spec.active, self.stations)

    def node_positions(self, q: FloatArray) -> FloatArray:
        """Positions of the ends of the sections, (N + 1, 3), m."""
        return node_poses(q)[:, 0]

    def node_frames(self, q: FloatArray) -> FloatArray:
        """Frames of the ends of the sections, (N + 1, 3, 3), first columns along the axis."""
        return node_poses(q)[:, 1:]

    def displacements(self, q: FloatArray) -> FloatArray:
        """Displacements of the ends of the sections since the world began, (N + 1, 3), m."""
        return node_poses(q)[:, 0] - node_poses(self.start)[:, 0]

    def element_strains(self, q: FloatArray) -> FloatArray:
        """Vectors of the sections less those at rest, (N, 6), rad and m, in the order of `STRAINS`."""
        return np.asarray((q[4:] - self.rest[4:]).reshape(-1, 6))

    def section_forces(self, q: FloatArray, history: FloatArray | None = None) -> FloatArray:
        """Tension and shear along y and z (N), torque and bending moments about y and z (N·m) in each section, (N, 6),
        in its frame; 0 for strains that may not change.
        """
        return np.asarray(readouts.strain_forces(self, q, history)[:, [3, 4, 5, 0, 1, 2]])

    def element_energies(self, q: FloatArray, history: FloatArray | None = None) -> FloatArray:
        """Elastic energy of each section, (N,), J; they sum to the energy of the rod."""
        return np.asarray(0.5 * (self.stiffness * (q[4:] - self.rest[4:]) ** 2).reshape(-1, 6).sum(axis=1))

    def fibre_strain(self, q: FloatArray) -> FloatArray:
        """Largest strain along the rod of the fibres at the border of each section, (N,), no unit: stretch and bending,
        |ε + κ_y z − κ_z y|, as far as they are stressed.
        """
        return readouts.fibre_strain(self, q)

    def fibre_stress(self, q: FloatArray, history: FloatArray | None = None) -> FloatArray:
        """Largest stress along the rod at the border of each section, (N,), Pa."""
        return readouts.fibre_stress(self, q, history)

    def strains(self, q: FloatArray) -> FloatArray:
        """Strains of the sections (N, 6): twist, bend_y, bend_z in 1/m, stretch, shear_y, shear_z."""
        return readouts.section_strains(self, q)

    def mass_matrix(self, sweep: Sweep, scale: float = 1.0, start: Sweep | None = None) -> FloatArray:
        """`scale` × Jᵀ μ J (n, n) over the active unknowns; with `start`, its Jacobian on the left."""
        A = np.zeros((len(self.active), len(self.active)))
        left, stations = sweep if start is None else start, self.stations
        inertia.add_mass(
            stations.mu, stations.first, left.frames, left.C, left.P, sweep.frames, sweep.C, sweep.P,
            start is None, scale, A,
        )  # fmt: skip
        return self.based(A)

    def based(self, A: FloatArray) -> FloatArray:
        """A (n, n) with the base's motion counted along `basis` instead of the world's axes."""
        if self.turned_basis:
            for rows in (slice(0, 3), slice(3, 6)):
                A[rows] = self.basis.T @ A[rows]
                A[:, rows] = A[:, rows] @ self.basis
        return A

    def skin(self, *, stations: int = STATIONS, every: int = 1) -> Skin:
        """The outline of each section swept along it."""
        spec = self.spec
        points, triangles = swept_surface(spec.section_list, stations, every)
        surface = RodMap(*points, spec.lengths, spec.active, self.basis)
        radius = max(section.radius for section in spec.section_list)
        return Skin(None, node_poses(self.rest)[:, 0].copy(), triangles, radius, surface)

    def surface_stress(self, q: FloatArray, skin: RodMap) -> FloatArray:
        """Largest fibre stress of the section at each point of its skin, (p,), Pa."""
        return np.asarray(self.fibre_stress(q)[skin.section])

    def free_modes(self, q: FloatArray) -> FreeModes | None:
        """The rigid motions that the base is free to make; None for one freedom (`min_inertia_correction`)."""
        q = finite_array(f"positions of {self.name!r}", q)
        if self.turned_basis or self.constrained[:2].all():
            return None
        sweep = self.sweep(q)
        M, mass = self.mass_matrix(sweep), self.stations.mu[:, 0]
        center = mass @ sweep.frames[:, 0] / mass.sum()  # from the base
        size = float(np.abs(sweep.frames[:, 0] - center).max())
        motions = np.zeros((*self.constrained.shape, 6))
        motions[0, :, :3] = np.eye(3)
        motions[0, :, 3:] = np.cross(np.eye(3), -center).T / size
        motions[1, :, 3:] = np.eye(3) / size

        def weigh(x: FloatArray) -> FloatArray:
            out = np.zeros(x.shape)
            out.ravel()[self.active] = M @ x.ravel()[self.active]
            return out

        return open_modes(self.constrained, motions, size, weigh)

    @property
    def min_inertia_correction(self) -> float:
        """`OPEN_BASE` for a base that slides or rotates, which only rows such as those of its drive and channel hold.

        The rows see the difference between its compliance without and with them, so the compliance must not be too
        large: with 1e-6 the rows of a pulled rod seem to contradict each other.
        """
        return OPEN_BASE if self.turned_basis else 0.0

    def constrain_base(self, system: Any) -> tuple[int, float] | None:
        """A spring at the one freedom of a base that slides or turns."""
        return system.constrain_base() if self.turned_basis else None

    def momentum(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Linear (kg·m/s) and angular momentum (kg·m²/s, about the origin of the world), (2, 3)."""
        sweep = self.sweep(q)
        p = self.stations.mu[:, :, None] * sweep.velocities(writable(v), self.basis)
        total = sweep.pull(p, np.zeros((self.stations.count, 3)), np.eye(3))[:2]
        total[1] += np.cross(q[0], total[0])
        return total

    def kinetic_energy(self, q: FloatArray, v: FloatArray) -> float:
        """Kinetic energy, J."""
        moved = self.sweep(q).velocities(writable(v), self.basis)
        return 0.5 * float(np.einsum("sk,ski,ski->", self.stations.mu, moved, moved))

    def elastic_energy(self, q: FloatArray) -> float:
        """Elastic energy, J."""
        stretched = q[4:] - self.rest[4:]
        return 0.5 * float(np.vdot(self.stiffness * stretched, stretched))

    def potential_energy(self, q: FloatArray, gravity: FloatArray, controls: Mapping[Any, FloatArray]) -> float:
        """Potential of gravity and forces, J, up to a constant. A moment in world axes has none and is left out."""
        forces = self.particle_forces(gravity, self.given_loads(controls)[0])
        return -float(np.vdot(forces[:, 0], self.sweep(q).frames[:, 0] + q[0])) - work(self.muscles, controls, q)

    def given_loads(self, values: Mapping[Any, Any]) -> tuple[FloatArray, FloatArray]:
        """Forces (S, 3) N and moments (S, 3) N·m of the loads at the stations; `values` overrides them."""
        forces, moments = np.zeros((self.stations.count, 3)), np.zeros((self.stations.count, 3))
        for loaded in self.loads:
            wrench = given_wrench(loaded.load, values)
            forces[loaded.stations] += wrench[0] / len(loaded.stations)
            moments[loaded.stations] += wrench[1] / len(loaded.stations)
        return forces, moments

    @cached_property
    def no_loads(self) -> tuple[FloatArray, FloatArray]:
        """The same without loads; not to be changed."""
        return self.given_loads({})

    def particle_forces(self, gravity: FloatArray, loads: FloatArray) -> FloatArray:
        """Forces on the particles of the stations (S, 3, 3) N, of gravity and of the `loads` (S, 3) N."""
        forces = np.zeros((self.stations.count, 3, 3))
        forces[:, 0] = self.stations.mu[:, :1] * gravity + loads
        return forces

    def prescribed(self, values: Mapping[Any, Any]) -> FloatArray:
        """Prescribed pose (4, 3) of the base."""
        if not self.supports:
            return self.rest[:4]
        return np.array(prescribed(self.name, self.rest[None, :4], self.supports, values)[0])


def _stiffness(spec: Rod) -> FloatArray:
    """GJ/l, EI_y/l, EI_z/l (N·m) and EA/l, κGA/l, κGA/l (N/m) of each section, (2N, 3).

    Of a taper the means along the section: the energy of its constant strain.
    """
    shear_modulus = 0.5 * spec.young / (1.0 + spec.poisson)
    rows = []

    def per_strain(one: Section) -> list[list[float]]:
        I_y, I_z = one.second_moments
        shear = one.shear_correction(spec.poisson) * shear_modulus * one.area
        bent = [shear_modulus * one.torsion_constant, spec.young * I_y, spec.young * I_z]
        return [bent, [spec.young * one.area, shear, shear]]

    for section, length in zip(spec.section_list, spec.lengths, strict=True):
        rows.append(mean_of(section, per_strain) / length)
    return np.concatenate(rows)


def _constrained(spec: Rod, supports: Sequence[Support]) -> tuple[BoolArray, tuple[Claim, ...]]:
    """Constrained unknowns (2 + 2N, 3), and the claim of each support."""
    constrained = np.zeros((2 + 2 * spec.sections, 3), bool)
    strains = np.ones(6, bool)
    strains[spec.active] = False
    constrained[2:] = np.tile(strains.reshape(2, 3), (spec.sections, 1))
    constrained[:2] = isinstance(spec.base, (Slide, Turn)) or spec.base == "fixed"
    if isinstance(spec.base, Slide):
        constrained[0, 0] = False
    if isinstance(spec.base, Turn):
        constrained[1, 0] = False
    listed: list[Claim] = []
    claimed = np.zeros((2, 3), bool)
    for support in supports:
        nodes = spec.selected(support.region, what=f"support of {spec.name!r}")
        if nodes.tolist() != [0]:
            raise InputError(
                f"a support constrains the base of {spec.name!r}, node 0, not node {nodes[nodes > 0][0]}; constrain "
                "others with scene.attach(rod, points=…)"
            )
        if not isinstance(spec.base, str):
            raise InputError(f"the base of {spec.name!r} is a {type(spec.base).__name__}; a support needs another base")
        wanted = np.zeros((2, 3), bool)
        wanted[0, support.axis_indices] = True
        wanted[1] = support.rotation is not None
        twice = np.argwhere(wanted & claimed)
        listed.append((support, nodes, ("its position", "its frame")[twice[0, 0]] if len(twice) else None))
        claimed |= wanted
        constrained[:2] |= wanted
    return constrained, tuple(listed)
