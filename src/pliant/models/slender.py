"""What slender bodies share: their material, selection of nodes, and their drawn surface."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import isclose
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from pliant.core.checks import finite_number, positive, positive_count
from pliant.core.errors import InputError
from pliant.core.types import FloatArray, IntArray
from pliant.materials import Viscoelastic
from pliant.materials.viscoelastic import Relaxation
from pliant.mesh import regions
from pliant.mesh.lattice import ring_triangles
from pliant.mesh.regions import Region
from pliant.models.body import Body
from pliant.models.slender_memory import (
    GROUPS,
    STRAINS,
    by_strain,
    common_base,
    expanded,
    relaxations_of,
    strain_damping,
)
from pliant.models.volume.volume import Rayleigh

if TYPE_CHECKING:
    from pliant.models.beam.section import Section, Taper

NO_DAMPING = Rayleigh()
OF_MATERIAL: Any = None
"""Young's modulus, Poisson's ratio or density where the material gives it."""


class SlenderBody(Body):
    """A body with nodes along an axis: a beam or a rod."""

    young: float
    poisson: float
    density: float
    material: Any
    damping: Rayleigh
    contact_points: int

    slender: ClassVar[bool] = True
    touches_itself: ClassVar[bool] = True
    damped_strains: ClassVar[tuple[str, ...]] = (*GROUPS, *STRAINS)
    """Names of strains, and of groups of them, that have a material or a damping of their own."""

    def check_material(self) -> None:
        """Check young, density, poisson and contact_points; an error names the body."""
        name = self.name
        if self.material is not None:
            self._take_material()
        elif OF_MATERIAL in (self.young, self.poisson, self.density):
            raise InputError(f"{name!r} needs young, poisson and density, or a material")
        assert len(self.relaxations) == len(STRAINS)
        positive(f"young of {name!r}", self.young, unit="Pa")
        positive(f"density of {name!r}", self.density, unit="kg/m³")
        if not -1.0 < finite_number(f"poisson of {name!r}", self.poisson) <= 0.5:
            raise InputError(f"poisson of {name!r} must be in (−1, 0.5], got {self.poisson:g}")
        positive_count(f"contact_points of {name!r}", self.contact_points)

    def _take_material(self) -> None:
        """Set young, poisson and density from the material; where they are given, they must agree with it."""
        what = f"material of {self.name!r}"
        pairs = by_strain(what, self.material, self.damped_strains)
        if pairs is not None:
            object.__setattr__(self, "material", pairs)
        base = common_base(what, self.material, pairs)
        given = {
            "young": base.small_strain_young,
            "poisson": min(base.small_strain_poisson, 0.5),  # ½ but for rounding
            "density": base.density,
        }
        for name, value in given.items():
            own = getattr(self, name)
            if own is not OF_MATERIAL and not isclose(own, value, rel_tol=1e-9):
                raise InputError(f"{name} of {self.name!r} is {own:g}, but that of its material {value:g}: give one")
            object.__setattr__(self, name, value)

    @cached_property
    def strain_materials(self) -> list[Any]:
        """Material of each strain, as `STRAINS` are ordered; None where none is given."""
        pairs = by_strain(f"material of {self.name!r}", self.material, self.damped_strains)
        return expanded(self.material, pairs, None)

    @cached_property
    def relaxations(self) -> tuple[Relaxation | None, ...]:
        """How the force of each strain fades; all None where the body has no memory and one damping for all strains.

        Stiffness-proportional damping is a viscosity: beside a memory it is part of it.
        """
        what = f"stiffness of the damping of {self.name!r}"
        damping = strain_damping(what, self.damping.stiffness, self.damped_strains)
        remembers = any(isinstance(material, Viscoelastic) for material in self.strain_materials)
        if not remembers and not self.damping.differs:
            return (None,) * len(STRAINS)
        return relaxations_of(self.strain_materials, damping)

    @cached_property
    def relaxed_fractions(self) -> FloatArray:
        """Relaxed modulus of each strain over that of the base of its material, (6,)."""
        rests = [
            1.0 - material.relaxing if isinstance(material, Viscoelastic) and material.moduli != "relaxed" else 1.0
            for material in self.strain_materials
        ]
        return np.array(rests)

    def check_section(self, section: Any) -> None:
        """Check that `section` is a cross-section."""
        if not hasattr(section, "torsion_constant"):
            hint = "; a Taper is for pl.Rod" if hasattr(section, "pieces") else ""
            raise InputError(f"section of {self.name!r} must be one of pl.sections, got {section!r}{hint}")

    def region_points(self, placement: FloatArray, region: Any, *, what: str) -> FloatArray:
        """Positions, when the world begins, of the nodes that `region` selects, (k, 3), m."""
        nodes = self.selected(region, what=what)
        return np.asarray(placement[0] + self._rest_points()[nodes] @ placement[1:].T)

    def selected(self, where: Any, *, what: str) -> IntArray:
        """Indices of the nodes in a region or in a list of node indices; none for None."""
        if where is None:
            return np.zeros(0, np.int32)
        alone = isinstance(where, (int, np.integer)) and not isinstance(where, bool)
        given = [int(where)] if alone else where
        region = given if isinstance(given, Region) else regions.nodes(given)
        return region.nodes(self._rest_points(), what=what)

    def _rest_points(self) -> FloatArray:
        """Nodes in the frame in which the body was made, (n, 3), m."""
        points: FloatArray = self.node_points  # type: ignore[attr-defined]
        return points


def swept_surface(
    sections: Sequence[Section | Taper], stations: int, every: int
) -> tuple[tuple[IntArray, FloatArray, FloatArray], IntArray]:
    """The outlines of `sections`, one for each element, swept along the elements: the element of each point (p,), its
    fraction of the element (p,), its offset (p, 3) m, and triangles (t, 3), counter-clockwise from outside.

    Every element has a closed surface of its own, so that forks, tapers and open ends need nothing else. It has
    `stations` outlines, two at least, with each `every`-th point of a round one.
    """
    offsets, elements, fractions, triangles, count = [], [], [], [], 0
    for element, section in enumerate(sections):
        along = np.linspace(0.0, 1.0, stations)
        at = getattr(section, "at", lambda _, same=section: same)  # that of a taper varies
        outlines = np.array([at(float(t)).outline() for t in along])
        if outlines.shape[1] >= 6 * every:  # one with few corners keeps them all
            outlines = outlines[:, ::every]
        around = outlines.shape[1]
        rings = np.pad(outlines, ((0, 0), (0, 0), (1, 0))).reshape(-1, 3)
        offsets.append(np.concatenate([rings, np.zeros((2, 3))]))
        fractions.append(np.concatenate([np.repeat(along, around), [0.0, 1.0]]))
        elements.append(np.full(len(offsets[-1]), element, np.int32))
        triangles.append(count + _closed_triangles(around, stations))
        count += len(offsets[-1])
    points = np.concatenate(elements), np.concatenate(fractions), np.concatenate(offsets)
    return points, np.concatenate(triangles).astype(np.int32)


def _closed_triangles(around: int, stations: int) -> IntArray:
    """Triangles of a closed surface: `stations` rings of `around` points, then the centres of both ends."""
    first, count = np.arange(around), stations * around
    last = first + count - around
    caps = [
        np.stack([np.full(around, count), np.roll(first, -1), first], axis=1),
        np.stack([np.full(around, count + 1), last, np.roll(last, -1)], axis=1),
    ]
    return np.concatenate([ring_triangles(stations, around), *caps])
