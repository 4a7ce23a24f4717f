"""A network of beams as the steppers see it: frozen, with energies, forces, stiffness and a symbolic factor.

q (n, 4, 3) holds for each node its position (row 0, m) and the rows of its rotation; v (n, 2, 3) velocity (m/s) and
spin (rad/s), dx (n, 2, 3) translation (m) and rotation vector (rad), in world axes. Rotations change by exp, never by
adding. The matrix has two 3×3 block rows for each node, translation and spin (`models.volume.blocks`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from pliant.core.arrays import sum_by, writable
from pliant.core.checks import finite_array
from pliant.core.errors import InputError
from pliant.core.types import BoolArray, FloatArray, IntArray
from pliant.models.beam import dynamics, element
from pliant.models.beam.axis import BeamAxis
from pliant.models.beam.beam import Beam
from pliant.models.beam.beam_map import BeamMap, sampled
from pliant.models.beam.factor import BeamFactor, Twists
from pliant.models.beam.trial import BeamTrial
from pliant.models.body import NO_PARTS, STATIONS, Parts
from pliant.models.free_modes import FreeModes, motions_of_frames, open_modes
from pliant.models.model import StepStart
from pliant.models.slender import swept_surface
from pliant.models.slender_memory import SlenderMemory
from pliant.models.supports import Claim, claimed, prescribed
from pliant.models.surfaces import ContactShape, Skin
from pliant.models.volume.blocks import BlockModel
from pliant.models.volume.loads import PointLoad, even_weights, given_wrench
from pliant.models.volume.pressure import facet_positions
from pliant.models.volume.support import Support
from pliant.solvers.linear.factor import CholeskyFactor
from pliant.solvers.linear.pattern import BlockPattern
from pliant.solvers.linear.symbolic import Symbolic, analyze

ORDER = [3, 1, 2, 0, 1, 2]
"""Which of the strains of slender bodies (`STRAINS`) each strain of an element is: both of bending are bending."""


@dataclass(frozen=True, eq=False)
class Elements:
    """The elements of a network, m of them, as kernels take them.

    `edges` (m, 2); `triads` (m, 2, 3, 3), the frame of the element seen from the frames of its nodes; `length` (m,) m;
    `stiffness` (m, 6): EA/L (N/m), 12EI_y/L/(1+Φ_y), 12EI_z/L/(1+Φ_z), GJ/L, EI_y/L, EI_z/L (N·m); `rest` (m, 6)
    their strains at rest, m and rad.
    """

    edges: IntArray
    triads: FloatArray
    length: FloatArray
    stiffness: FloatArray
    rest: FloatArray

    @property
    def arrays(self) -> tuple[IntArray, FloatArray, FloatArray, FloatArray, FloatArray]:
        """All five, in the order of the kernels."""
        return self.edges, self.triads, self.length, self.stiffness, self.rest


@dataclass(frozen=True, eq=False)
class BeamModel(BlockModel):
    """A compiled `Beam` with its loads and supports. Everything here is computed once; a step only reads it.

    `rest` (n, 4, 3) is q at rest, `mass` (n,) kg and `inertia` (n, 3, 3) kg·m² those of each node, in its frame;
    `constrained` (n, 2, 3). `memory` is None where no strain has one.
    """

    spec: Beam
    rest: FloatArray
    elements: Elements
    mass: FloatArray
    inertia: FloatArray
    pattern: BlockPattern
    positions: IntArray
    constrained: BoolArray
    loads: tuple[tuple[PointLoad, FloatArray], ...]
    supports: tuple[Claim, ...]
    symbolic: Symbolic
    memory: SlenderMemory | None

    @classmethod
    def compiled(cls, spec: Beam, placement: FloatArray | None = None, parts: Parts = NO_PARTS) -> BeamModel:
        """The model of `spec` at the pose `placement` (4, 3), position (m) and rotation; None leaves it as it was made.

        Regions refer to the points as they were made.
        """
        parts.refuse(spec, "fibres")
        for load in parts.loads:
            if not isinstance(load, PointLoad):
                raise InputError(f"a {type(load).__name__} is for volumes; {spec.name!r} is a beam: use pl.PointLoad")
        edges = spec.element_nodes
        lengths = np.linalg.norm(np.diff(spec.node_points[edges], axis=1)[:, 0], axis=1)
        pattern, positions = _pattern(spec.node_count, edges, parts.couplings)
        constrained, listed = _constrained(spec, parts.supports)
        mass, inertia = _mass(spec, lengths)
        free = ~constrained.reshape(-1, 3).all(axis=1)
        stiffness = _stiffness(spec, lengths) * spec.relaxed_fractions[ORDER]
        elements = Elements(edges, _triads(spec), lengths, stiffness, np.zeros_like(stiffness))
        return cls(
            spec=spec,
            rest=_placed(spec, placement),
            elements=elements,
            mass=mass,
            inertia=inertia,
            pattern=pattern,
            positions=positions,
            constrained=constrained,
            loads=tuple((load, _weights(spec, load)) for load in parts.loads),
            supports=listed,
            symbolic=analyze(pattern, coordinates=np.repeat(spec.node_points, 2, axis=0), keep=free),
            memory=SlenderMemory.of([spec.relaxations[k] for k in ORDER], stiffness),
        )

    @property
    def history_shape(self) -> tuple[int, ...] | None:
        """Shape of what its strains remember; None where they have neither a memory nor a damping of their own."""
        return None if self.memory is None else self.memory.shape

    @property
    def node_count(self) -> int:
        """Number of nodes."""
        return len(self.rest)

    def initial(self) -> tuple[FloatArray, FloatArray]:
        """q (n, 4, 3) and v (n, 2, 3) at rest."""
        return self.rest.copy(), np.zeros(self.constrained.shape)

    def trial(self, start: StepStart) -> BeamTrial:
        """A step from q (n, 4, 3) and v (n, 2, 3)."""
        return BeamTrial(self, start)

    def embed(self, points: FloatArray, *, what: str, reach: float = 0.0, placed: bool = False) -> BeamMap:
        """The map of points (p, 3), m, each on the nearest piece."""
        if not placed:
            first, spec = self.initial()[0][0], self.spec
            turned = first[1:] @ spec.node_frames[0].T
            points = first[0] + (points - spec.node_points[0]) @ turned.T
        return BeamMap.of_points(self, points, what=what, reach=reach)

    def contact_shape(self, exclude: Any = None) -> ContactShape:
        """Balls along the axis; those whose points at rest lie in the region `exclude` take no part."""
        along = sampled(self, self.spec.contact_points)
        nodes = np.arange(len(along.coordinate), dtype=np.int32)
        if exclude is not None:
            ends = self.spec.node_points[along.nodes]
            points = ends[:, 0] + along.coordinate[:, None] * (ends[:, 1] - ends[:, 0])
            nodes = nodes[~exclude.select(points)]
        return ContactShape(along, nodes, radius=self.spec.section.radius)

    def axis(self) -> BeamAxis:
        """The axes of all pieces."""
        return BeamAxis.of(self)

    def skin(self, *, stations: int = STATIONS, every: int = 1) -> Skin:
        """The outline of the section swept along each element."""
        points, triangles = swept_surface([self.spec.section] * len(self.elements.edges), stations, every)
        return Skin(None, self.rest[:, 0].copy(), triangles, self.spec.section.radius, BeamMap.at(self, *points))

    def free_modes(self, q: FloatArray) -> FreeModes | None:
        """The rigid motions that its supports leave open."""
        q = finite_array(f"positions of {self.name!r}", q)
        if self.constrained.all(axis=(1, 2)).any():  # a clamped node resists all
            return None
        return open_modes(self.constrained, *motions_of_frames(q, self.mass), partial(self.momentum, q))

    def momentum(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Linear (kg·m/s) and angular momentum (kg·m²/s, about the node) of each node, (n, 2, 3)."""
        out = np.empty(self.constrained.shape)
        dynamics.momentum(writable(q), writable(v), self.mass, self.inertia, out)
        return out

    def kinetic_energy(self, q: FloatArray, v: FloatArray) -> float:
        """Kinetic energy, J."""
        return 0.5 * float(np.vdot(v, self.momentum(q, v)))

    def elastic_energy(self, q: FloatArray) -> float:
        """Elastic energy, J."""
        return self.internal(q)[0]

    def potential_energy(self, q: FloatArray, gravity: FloatArray, controls: Mapping[Any, FloatArray]) -> float:
        """Potential of gravity and forces, J, up to a constant. A moment in world axes has none and is left out."""
        return -float(np.vdot(self.external_forces(gravity, controls)[:, 0], q[:, 0]))

    def internal(self, q: FloatArray, elements: Elements | None = None) -> tuple[float, FloatArray]:
        """Elastic energy (J), inf where a piece is turned back on itself, and forces ∂E/∂(x, spin) (n, 2, 3); those of
        `elements` where they are given.
        """
        energy, force, _ = self._forces(q, elements)
        return energy, force

    def element_strains(self, q: FloatArray) -> FloatArray:
        """Strains of the elements, (m, 6), m and rad, as `Elements.stiffness` multiplies them."""
        out = np.empty((len(self.elements.edges), 6))
        element.strains(writable(q), *self.elements.arrays[:3], out)
        return out

    def node_positions(self, q: FloatArray) -> FloatArray:
        """Positions of the nodes, (n, 3), m."""
        return q[:, 0]

    def node_frames(self, q: FloatArray) -> FloatArray:
        """Frames of the nodes, (n, 3, 3), first columns along the axis at rest."""
        return q[:, 1:]

    def displacements(self, q: FloatArray) -> FloatArray:
        """Displacements of the nodes, (n, 3), m."""
        return np.asarray(q[:, 0] - self.rest[:, 0])

    def section_forces(self, q: FloatArray, history: FloatArray | None = None) -> FloatArray:
        """Forces (N) and moments (N·m) in both ends of each element, (m, 2, 6), in the mean frame of the element.

        They act from the part beyond the section, in the direction of the element, on the part before it.
        """
        elements = self.elements
        if self.memory is not None and history is not None:
            elements = replace(elements, rest=-self.memory.branch_forces(history) / elements.stiffness)
        local = self._forces(q, elements)[2]
        out = np.empty((len(local), 2, 6))
        out[:, :, :3] = local[:, :1]
        out[:, 0, 3:], out[:, 1, 3:] = -local[:, 1], local[:, 2]
        return out

    def element_energies(self, q: FloatArray, history: FloatArray | None = None) -> FloatArray:
        """Elastic energy of each piece, (m,), J; they sum to the energy of the body."""
        energy = np.empty(len(self.elements.edges))
        element.piece_energies(writable(q), *self.elements.arrays, energy)
        return energy

    def _forces(self, q: FloatArray, elements: Elements | None = None) -> tuple[float, FloatArray, FloatArray]:
        """Energy and forces of `internal`, and of each element, in its frame, its force and end moments (m, 3, 3)."""
        force, local = np.zeros(self.constrained.shape), np.empty((len(self.elements.edges), 3, 3))
        energy = element.internal_forces(writable(q), *(elements or self.elements).arrays, force, local)
        return float(energy), force, local

    def assemble(
        self, q: FloatArray, *, tangent: int, scale: float, values: FloatArray, elements: Elements | None = None
    ) -> tuple[float, FloatArray]:
        """Values += scale × K(q); returns the elastic energy (J) and the internal forces (n, 2, 3), N and N·m; those of
        `elements` where they are given.
        """
        force, own = np.zeros(self.constrained.shape), (elements or self.elements).arrays
        energy = element.assemble(writable(q), *own, tangent, self.positions, scale, values, force)
        return float(energy), force

    def external_forces(self, gravity: FloatArray, values: Mapping[Any, Any]) -> FloatArray:
        """Forces (N) and moments (N·m) of gravity and loads, (n, 2, 3); `values` overrides load values."""
        force = np.zeros(self.constrained.shape)
        force[:, 0] = self.mass[:, None] * gravity
        for load, weights in self.loads:
            force += weights[:, None, None] * given_wrench(load, values)
        return force

    def prescribed(self, values: Mapping[Any, Any]) -> FloatArray:
        """Prescribed poses (n, 4, 3) of constrained unknowns; the rest shape elsewhere."""
        return prescribed(self.name, self.rest, self.supports, values)

    def factorize(self, values: FloatArray, twists: Twists | None, *, out: CholeskyFactor | None = None) -> BeamFactor:
        """Numeric factor of the blocks and of the moments, in the memory of `out`; `values` loses constrained rows."""
        self.decouple_constrained(values)
        factor = self.symbolic.factorize(values, out=out)
        return BeamFactor(self.constrained_factor(factor), factor, twists)


def _placed(spec: Beam, pose: FloatArray | None) -> FloatArray:
    rest = np.concatenate([spec.node_points[:, None], spec.node_frames], axis=1)
    if pose is not None:
        rest[:, 0] = pose[0] + rest[:, 0] @ pose[1:].T
        rest[:, 1:] = pose[1:] @ rest[:, 1:]
    return np.ascontiguousarray(rest)


def _triads(spec: Beam) -> FloatArray:
    """Each piece's frame in the frames of its two nodes, (m, 2, 3, 3)."""
    nodes = spec.node_frames[spec.element_nodes]
    return np.ascontiguousarray(np.einsum("makr,mks->mars", nodes, spec.element_frames))


def _stiffness(spec: Beam, length: FloatArray) -> FloatArray:
    section, young = spec.section, spec.young
    shear_modulus = 0.5 * young / (1.0 + spec.poisson)
    bending = young * np.array(section.second_moments)[:, None] / length
    resisted = section.shear_correction(spec.poisson) * shear_modulus * section.area * length
    shear = 12.0 * bending / resisted if spec.shear else np.zeros_like(bending)
    twist = shear_modulus * section.torsion_constant / length
    return np.ascontiguousarray(
        np.stack([young * section.area / length, *(12.0 * bending / (1.0 + shear)), twist, *bending], axis=1)
    )


def _mass(spec: Beam, length: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Half the mass of each piece at either end, with the rotary inertia of its cross-section."""
    section, edges = spec.section, spec.element_nodes
    half = 0.5 * spec.density * length
    mass = sum_by(edges, np.repeat(half * section.area, 2), spec.node_count)
    about_y, about_z = section.second_moments
    local = np.diag([about_y + about_z, about_y, about_z])
    triads = _triads(spec)
    turned = half[:, None, None, None] * np.einsum("mars,st,maqt->marq", triads, local, triads)
    inertia = np.zeros((spec.node_count, 3, 3))
    np.add.at(inertia, edges, turned)
    return mass, inertia


def _pattern(count: int, edges: IntArray, couplings: Sequence[IntArray]) -> tuple[BlockPattern, IntArray]:
    """The pattern over 2n block rows, and the positions (m, 4, 4) of each element's blocks, −1 above the diagonal."""
    rows = (2 * edges[:, :, None] + np.arange(2)).reshape(-1, 4)
    sets = [np.sort(rows, axis=1).ravel(), *((2 * c[:, None] + np.arange(2)).ravel() for c in couplings)]
    sizes = [4] * len(rows) + [2 * len(c) for c in couplings]
    ptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    pattern = BlockPattern.from_cliques(2 * count, ptr, np.concatenate(sets))
    lower = rows[:, :, None] >= rows[:, None, :]
    return pattern, np.ascontiguousarray(np.where(lower, facet_positions(rows, pattern), -1).astype(np.int32))


def _weights(spec: Beam, load: PointLoad) -> FloatArray:
    return even_weights(spec.selected(load.region, what="region of a PointLoad"), spec.node_count)


def _constrained(spec: Beam, supports: Sequence[Support]) -> tuple[BoolArray, tuple[Claim, ...]]:
    """Constrained unknowns (n, 2, 3), and the claim of each support."""
    constrained = np.zeros((spec.node_count, 2, 3), bool)
    constrained[spec.selected(spec.clamp, what=f"clamp of {spec.name!r}")] = True
    constrained[spec.selected(spec.pin, what=f"pin of {spec.name!r}"), 0] = True
    listed: list[Claim] = []
    for support in supports:
        nodes = spec.selected(support.region, what=f"support of {spec.name!r}")
        listed.append(claimed(support, nodes, constrained[:, 0], constrained[:, 1]))
    if constrained.all():
        raise InputError(f"every node of {spec.name!r} is constrained; shrink the clamp or the supports")
    return constrained, tuple(listed)
