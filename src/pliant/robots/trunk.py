"""The trunk: tapered vertebrae on a soft core, bent by four long and four short cables."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.actuators import Cable
from pliant.core.checks import finite_array, positive_count
from pliant.core.declared import declared
from pliant.core.errors import InputError
from pliant.core.types import FloatArray
from pliant.materials import Material
from pliant.mesh import Mesh, regions
from pliant.mesh.elements import ElementName
from pliant.mesh.lattice import round_keys, stacked_rounds
from pliant.mesh.structured import cell_counts
from pliant.models.volume import Rayleigh, Volume
from pliant.robots.robot import DAMPING, Marker, Robot, check_lengths, silicone

_CORE = 0.56
"""Radius of the core inside a vertebra, as a fraction of the vertebra's: cables pass outside it."""
_WAIST = 0.38
"""Radius of the core halfway between two vertebrae, as a fraction of theirs: the thinner waists bend first."""
_LONG, _SHORT = 0.1, 0.06
"""Largest pulls over the length. With guides of 4 N all corners of this range have an equilibrium, and so have those of
a range 1.1 times as large; at 1.25 times three long cables together make elements collapse.
"""


@declared
def trunk(
    *,
    length: float = 0.195,
    base: float = 0.027,
    base_radius: float = 0.013,
    tip_radius: float = 0.005,
    vertebra_count: int = 10,
    cable_radius: float = 0.010,
    cells: Any = (2, 4),
    guide_stiffness: float = 4.0,
    max_displacement: tuple[float, float] | None = None,
    clamped: bool = True,
    element: ElementName = "tet4",
    material: Material | None = None,
    mass: float | None = 0.042,
    anti_locking: bool = True,
    damping: Rayleigh = DAMPING,
    name: str = "trunk",
) -> Robot:
    """A trunk along z from its clamped base at z = 0 to its tip on the axis at z = `length`; all lengths in m.

    Defaults: 195 mm, 42 g, 678 nodes and 1896 tetrahedra. `cables` are four long ones at 0°, 90°, 180°, 270° from x,
    anchored in the last vertebra, then four short ones at the same angles, anchored in the middle one. They start
    inside the clamped base. The mesh is symmetric in the planes through the axis and the cables.

    base
        Height of the base block; the lower three quarters of it are clamped.
    base_radius, tip_radius
        Outer radius at z = 0 and at the tip, linear between.
    vertebra_count
        Discs above the base.
    cable_radius
        Distance of the cables from the axis at z = 0, proportional to the outer radius along z.
    cells
        Quadrilaterals along a side of the round core, even so that nodes lie in the planes of the cables; and layers
        between two vertebrae.
    guide_stiffness
        Axial stiffness EA, N, of the tubes in which the cables run; 0: none. Tubes of 4 N spread the bend over all
        gaps. Without tubes a long cable pulled by 16 to 20 mm, or opposed ones by 8 mm, close the gap at the tip, where
        elements collapse.
    max_displacement
        Largest pulls of the long and of the short cables, m; None: a tenth of `length` and six hundredths of it
        (19.5 and 11.7 mm). Any pulls up to these have an equilibrium. One cable alone may be pulled farther, opposed
        ones may not: elements collapse where three long cables are pulled by an eighth of `length`. One long cable
        has 1.5 N at its largest pull, opposed ones and short ones up to 2.7 N.
    clamped
        False leaves the base free, for a moving support: ``pl.Support(trunk.body, trunk.base)``.
    material
        None: silicone of 0.45 MPa, ν = 0.45.
    mass
        Total, kg; None takes the density of the material.
    """
    check_lengths("trunk", length=length, base=base, base_radius=base_radius, tip_radius=tip_radius)
    count = positive_count("vertebra_count", vertebra_count)
    side, layers = cell_counts("cells", cells, ("the core", "a gap"))
    if side % 2 or base >= length or not _CORE * base_radius < cable_radius < base_radius:
        raise InputError(
            f"a trunk needs an even number of cells along a side of its core ({side}), a base ({base:g} m) shorter "
            f"than its length ({length:g} m), and cables between {_CORE:g} and 1 base_radius from its axis "
            f"({cable_radius:g} m)"
        )
    faces = _faces(length, base, count)
    radius = np.array([base_radius, tip_radius])
    mesh = _mesh(faces, base, radius, length, side, layers, element)
    clamp_region = regions.box((-np.inf,) * 3, (np.inf, np.inf, 0.75 * base))
    rubber, clamp = silicone(material, 0.45e6), clamp_region if clamped else None
    body = Volume(mesh, rubber, clamp=clamp, anti_locking=anti_locking, mass=mass, damping=damping, name=name)
    shrink = cable_radius / base_radius
    if max_displacement is not None:
        max_displacement = tuple(finite_array("max_displacement", max_displacement, shape=(2,)).tolist())
    long, short = (_LONG * length, _SHORT * length) if max_displacement is None else max_displacement
    cables = [
        Cable(
            body,
            _route(faces[: end + 1], base, radius * shrink, length, 0.5 * np.pi * quarter),
            max_displacement=limit,
            guide_stiffness=guide_stiffness,
            name=f"{name} {kind} {quarter}",
        )
        for kind, end, limit in (("long", count, long), ("short", count // 2, short))
        for quarter in range(4)
    ]
    return Robot(body, tip=Marker(body, (0.0, 0.0, length)), cables=tuple(cables), base=clamp_region)


def _faces(length: float, base: float, count: int) -> FloatArray:
    """Lower and upper face of the base and of every vertebra, (count + 1, 2) m: gaps take 55 % of the pitch."""
    pitch = (length - base) / count
    upper = base + pitch * np.arange(count + 1)
    lower = upper - 0.45 * pitch
    lower[0] = 0.0
    return np.column_stack([lower, upper])


def _mesh(
    faces: FloatArray, base: float, radius: FloatArray, length: float, side: int, layers: int, element: ElementName
) -> Mesh:
    bevel = 0.12 * (faces[-1, 1] - faces[-1, 0])
    # planes as (height, core radius over outer radius, setback of the rim), layers as (core, ring)
    planes = [(fraction * base, _CORE, 0.0) for fraction in (0.0, 0.375, 0.75)] + [(base, _CORE, -bevel)]
    filled = [(True, True)] * 3
    for below, (lower, upper) in zip(faces[:-1, 1], faces[1:], strict=True):
        for step in np.arange(1, layers) / layers:
            pinch = 1.0 - abs(2.0 * step - 1.0)
            planes.append((below + step * (lower - below), _CORE + pinch * (_WAIST - _CORE), 0.0))
        planes += [(lower, _CORE, bevel), (upper, _CORE, -bevel)]
        filled += [(True, False)] * layers + [(True, True)]
    planes[-1] = (length, _CORE, 0.0)
    height, core, setback = np.array(planes).T
    outer = np.interp(height, [0.0, length], radius)
    has_core, has_ring = np.array(filled).T
    lattice = stacked_rounds(
        core * outer, outer, np.column_stack([height, height + setback]), core=has_core, ring=has_ring, side=side
    )
    return lattice.mesh(*round_keys(lattice.points), element=element)


def _route(faces: FloatArray, base: float, radius: FloatArray, length: float, angle: float) -> FloatArray:
    """Via points just inside both faces of every vertebra, at the cable's own distance from the axis there."""
    inset = 0.16 * (faces[-1, 1] - faces[-1, 0])
    z = np.array([0.04 * base, base - inset, *np.add(faces[1:], (inset, -inset)).ravel()])
    # one radius for a vertebra: the cable runs along the axis inside it
    middle = np.array([0.0, base, *np.repeat(faces[1:].mean(axis=1), 2)])
    r = np.interp(middle, [0.0, length], radius)
    return np.column_stack([r * np.cos(angle), r * np.sin(angle), z])
