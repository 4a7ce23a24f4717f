"""Definition of rods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pliant.core.arrays import writable
from pliant.core.checks import finite_array, positive, positive_count, unit_vector
from pliant.core.errors import InputError
from pliant.core.lie import perpendicular
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray, IntArray
from pliant.mesh.mesh import rotation_matrix
from pliant.models.beam.section import Section, Taper
from pliant.models.pieces import Ends
from pliant.models.rod import kinematics
from pliant.models.rod.segments import RodPieces
from pliant.models.slender import NO_DAMPING, OF_MATERIAL, SlenderBody
from pliant.models.slender_memory import STRAINS
from pliant.models.volume.volume import Rayleigh


@one_line
@dataclass(frozen=True, eq=False)
class Slide:
    """A base that slides freely along `axis` (3,), a direction in the rod's frame: x is along the rod."""

    axis: Any = (1.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        unit_vector("axis of a Slide", self.axis)


@one_line
@dataclass(frozen=True, eq=False)
class Turn:
    """A base that turns freely about `axis` (3,) through its position, a direction in the rod's frame."""

    axis: Any = (1.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        unit_vector("axis of a Turn", self.axis)


@one_line
@dataclass(frozen=True, eq=False)
class Rod(SlenderBody):
    """A Cosserat rod of sections of constant strain; its unknowns are the strains.

    length
        Of the whole rod at rest, m; or one for each section.
    sections
        How many sections.
    section
        `pl.sections.Circle(radius)`, `.Tube(outer, inner)` or `.Rectangle(width, height)`, m; or
        `pl.sections.Taper(start, end)` from the base to the tip; or a list of these, one for each section, from the
        base on.
    young, poisson, density
        Pa, in (−1, 0.5], kg/m³.
    material
        In their place: one of `pl.materials` at small strain. `Viscoelastic` relaxes every strain; or one for each,
        ``{"bending": …, "torsion": …}`` on the same base, of "bending", "torsion", "shear" and `strains`. Those that
        are not named are elastic.
    strains
        Which strains may change: any of "twist", "bend_y", "bend_z", "stretch", "shear_y" and "shear_z", about and
        along the axes of the section (x along the rod). The others keep their rest value: without "stretch" the rod is
        inextensible. Leave out "twist" of a thin wire under tension: with next to no torsional stiffness it is
        unstable there.
    rest_strain
        Strains without stress, (6,) or (sections, 6) in the order above, 1/m and no unit: a pre-bent rod.
    start_strain
        Strains when the world begins, likewise, by default those without stress: zero for a pre-bent rod that stands in
        a straight channel. Strains that may not change begin as they rest.
    position, rotation
        Where the base stands (3,) m, and how it is turned (3×3, rotation vector or scipy Rotation): a straight rod goes
        along +x of its frame.
    base
        "fixed" (a `pl.Support` of node 0 with a rotation moves it), "free", or one freedom: `pl.Slide(axis)`,
        `pl.Turn(axis)`.
    damping
        `pl.Rayleigh(mass=…, stiffness=…)`, with one stiffness coefficient (s) or one for each strain:
        ``{"bending": …, "torsion": …, "stretch": …, "shear": …}``.
    contact_points
        Balls along each section that touch others, of the section's radius.
    name
        How the body is called in messages and files.
    """

    length: Any
    sections: int
    _: KW_ONLY
    section: Any
    young: float = OF_MATERIAL
    poisson: float = OF_MATERIAL
    density: float = OF_MATERIAL
    material: Any = None
    strains: Sequence[str] = ("bend_y", "bend_z", "twist")
    rest_strain: Any = None
    start_strain: Any = None
    position: Any = (0.0, 0.0, 0.0)
    rotation: Any = (0.0, 0.0, 0.0)
    base: Any = "fixed"
    damping: Rayleigh = NO_DAMPING
    contact_points: int = 4
    name: str = "rod"

    def __post_init__(self) -> None:
        name = self.name
        positive_count(f"sections of {name!r}", self.sections)
        self.check_material()
        finite_array(f"position of {name!r}", self.position, shape=(3,))
        if not (self.base in ("fixed", "free") if isinstance(self.base, str) else isinstance(self.base, (Slide, Turn))):
            raise InputError(
                f"base of {name!r} must be 'fixed', 'free', pl.Slide(axis) or pl.Turn(axis), got {self.base!r}"
            )
        assert len(self.lengths) == len(self.section_list) == len(self.rest_strains)
        assert len(self.active)
        assert len(self.start) == len(self.rest)
        object.__setattr__(self, "rotation", self.pose[1:])

    @property
    def base_turns(self) -> bool | None:
        """Whether its base turns; False where it slides, None where it has no freedom of one axis."""
        return None if isinstance(self.base, str) else isinstance(self.base, Turn)

    @cached_property
    def lengths(self) -> FloatArray:
        """Length of each section at rest, (N,), m."""
        given = finite_array(f"length of {self.name!r}", self.length)
        if given.ndim == 0:
            positive(f"length of {self.name!r}", float(given), unit="m")
            return np.full(self.sections, float(given) / self.sections)
        if given.shape != (self.sections,):
            raise InputError(
                f"length of {self.name!r} must be one number or {self.sections}, one for each section, got shape "
                f"{given.shape}"
            )
        short = np.flatnonzero(given <= 1e-9 * given.max())  # zero but for rounding
        if len(short):
            raise InputError(
                f"section {short[0]} of {self.name!r} has the length {given[short[0]]:g} m; it must be > 0: leave the "
                "section out"
            )
        return given.copy()

    @cached_property
    def section_list(self) -> tuple[Section | Taper, ...]:
        """Cross-section of each section, or its taper."""
        if isinstance(self.section, Taper):
            return self.section.pieces(self.lengths)
        given = tuple(self.section) if isinstance(self.section, (tuple, list)) else (self.section,) * self.sections
        if len(given) != self.sections:
            raise InputError(
                f"section of {self.name!r} must be one or {self.sections}, one for each section, got {len(given)}"
            )
        for one in given:
            if not isinstance(one, Taper):
                self.check_section(one)
        return given

    @cached_property
    def active(self) -> IntArray:
        """Indices of the strains that may change, ascending."""
        given = (self.strains,) if isinstance(self.strains, str) else tuple(self.strains)
        wrong = [strain for strain in given if strain not in STRAINS]
        if wrong:
            raise InputError(f"strains of {self.name!r}: {wrong[0]!r} is none of {', '.join(STRAINS)}")
        if not given or len(set(given)) != len(given):
            raise InputError(f"strains of {self.name!r} must be different ones of {', '.join(STRAINS)}, got {given!r}")
        return np.array(sorted(STRAINS.index(strain) for strain in given), np.int32)

    @cached_property
    def rest_strains(self) -> FloatArray:
        """Strains without stress, (N, 6), 1/m and no unit."""
        if self.rest_strain is None:
            return np.zeros((self.sections, 6))
        return self._strains("rest_strain", self.rest_strain)

    def _strains(self, what: str, value: Any) -> FloatArray:
        given = finite_array(f"{what} of {self.name!r}", value)
        if given.shape not in ((6,), (self.sections, 6)):
            raise InputError(f"{what} of {self.name!r} must have shape (6,) or ({self.sections}, 6), got {given.shape}")
        if (given[..., 3] <= -1.0).any():
            raise InputError(f"{what} of {self.name!r} has a stretch ≤ −1: the rod would have no length")
        return np.broadcast_to(given, (self.sections, 6)).copy()

    @cached_property
    def pose(self) -> FloatArray:
        """Position (m) and rows of the rotation of the base, (4, 3)."""
        return np.vstack([np.asarray(self.position, float), rotation_matrix(self.rotation)])

    @property
    def node_count(self) -> int:
        """Ends of sections, the base among them."""
        return self.sections + 1

    @cached_property
    def rest(self) -> FloatArray:
        """Stress-free q (4 + 2N, 3) as made: pose of the base, rotation (rad) and stretch vectors (m) of sections."""
        return self._bent(self.rest_strains)

    @cached_property
    def start(self) -> FloatArray:
        """q (4 + 2N, 3) when the world begins, where the rod was made."""
        if self.start_strain is None:
            return self.rest
        given, strains = self._strains("start_strain", self.start_strain), self.rest_strains.copy()
        strains[:, self.active] = given[:, self.active]
        return self._bent(strains)

    def _bent(self, strains: FloatArray) -> FloatArray:
        vectors = self.lengths[:, None] * (strains + np.eye(6)[3])
        return np.vstack([self.pose, vectors.reshape(-1, 3)])

    def pieces(self, points: FloatArray, ends: Sequence[Ends], *, what: str, reach: float = 0.0) -> RodPieces:
        """Segments of a cable with `ends` among `points` (p, 3), m, in the frame in which the rod was made."""
        return RodPieces(self, points, ends, what, reach)

    @cached_property
    def node_points(self) -> FloatArray:
        """Ends of the sections at the start as it was made, (N + 1, 3) m."""
        return np.asarray(self._ends[:, 0] + self.pose[0])

    @cached_property
    def node_frames(self) -> FloatArray:
        """Frames of the ends of the sections at the start as it was made, (N + 1, 3, 3), first columns along it."""
        return np.ascontiguousarray(self._ends[:, 1:])

    @cached_property
    def _ends(self) -> FloatArray:
        return section_ends(self.start)


def section_ends(q: FloatArray) -> FloatArray:
    """Poses (N + 1, 4, 3) of the ends of the sections at q (4 + 2N, 3), positions (m) relative to the base."""
    count = (len(q) - 4) // 2
    ends, none = np.empty((count + 1, 4, 3)), np.empty((0, 0, 2, 3))
    given = writable(q)
    first, nothing = np.zeros(count + 1, np.int32), np.zeros(0)
    kinematics.sweep(given, np.zeros(0, np.int32), first, nothing, ends, np.empty((0, 4, 3)), none, none)
    return ends


def node_poses(q: FloatArray) -> FloatArray:
    """Poses (N + 1, 4, 3) of the ends of the sections in the world at q (4 + 2N, 3), position (m) and rotation."""
    ends = section_ends(q)
    ends[:, 0] += q[0]
    return ends


def freedom_basis(base: Any, rotation: FloatArray) -> FloatArray:
    """World axes (3, 3), as columns, in which the motion of a base is counted: the first along its one freedom."""
    if isinstance(base, str):
        return np.eye(3)
    along = rotation @ unit_vector("axis of the base", base.axis)
    return np.stack([along, *perpendicular(along)], axis=1)
