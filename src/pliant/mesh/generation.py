"""Parametric shapes with air chambers inside, meshed with tetrahedra by Gmsh (extra `mesh`).

Every function returns a volume mesh whose `surface().components()` are the outer shell first, then the cavity.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.core.checks import finite_array, finite_number, positive, positive_count
from pliant.core.declared import declared
from pliant.core.errors import InputError
from pliant.core.types import FloatArray
from pliant.mesh.curved import curved_edges
from pliant.mesh.elements import ElementName
from pliant.mesh.gmsh_session import MILLIMETRES, check_options, drawing, meshed
from pliant.mesh.mesh import Mesh


@declared
def block_with_cavity(
    size: Any, *, cavity_size: Any = None, wall: Any = None, cell_size: float, element: ElementName = "tet4"
) -> Mesh:
    """A box from the origin to `size` (3,) m around a centred box of air.

    Give either `cavity_size` (3,) m or the thickness of the `wall` (one number or one for each axis, m).
    `cell_size` (m) is the wanted length of edges.
    """
    check_options(cell_size, element)
    lengths = _sizes("size", size)
    if (cavity_size is None) == (wall is None):
        raise InputError("block_with_cavity takes either cavity_size or wall")
    if wall is not None:
        cavity = lengths - 2.0 * np.broadcast_to(finite_array("wall", wall), 3)
    else:
        cavity = finite_array("cavity_size", cavity_size, shape=(3,))
    if (cavity <= 0.0).any() or (cavity >= lengths).any():
        raise InputError(
            f"the cavity {_text(cavity)} m must fit into the block {_text(lengths)} m with walls around it"
        )
    with drawing(cell_size) as gmsh:
        body = _draw_box(gmsh, np.zeros(3), lengths)
        air = _draw_box(gmsh, 0.5 * (lengths - cavity), cavity)
        gmsh.model.occ.cut([body], [air])
        return meshed(gmsh, element, shells=2)


@declared
def chambered_finger(
    *,
    length: float = 0.085,
    height: float = 0.020,
    width: float = 0.010,
    chamber_count: int = 6,
    pitch: float = 0.010,
    chamber_size: Any = (0.007, 0.012, 0.006),
    chamber_floor: float = 0.004,
    duct_size: Any = (0.003, 0.006),
    first_slot: float = 0.012,
    slot_width: float = 0.001,
    slot_floor: float = 0.008,
    cell_size: float = 0.0025,
    element: ElementName = "tet4",
) -> Mesh:
    """A finger that bends under pressure: a block with slots cut into its top and a row of linked air chambers.

    The block spans 0…`length` along x, 0…`height` along y, ±`width`/2 along z (m). Slots of `slot_width` start at
    `first_slot` and repeat every `pitch`, one more than there are chambers, down to y = `slot_floor`. Centred between
    two slots is a chamber of `chamber_size` (x, y, z) with its floor at y = `chamber_floor`; ducts of `duct_size` (y,
    z) along that floor connect the chambers, which are one cavity.
    """
    check_options(cell_size, element)
    chamber, duct = _sizes("chamber_size", chamber_size), _sizes("duct_size", duct_size, 2)
    count = positive_count("chamber_count", chamber_count)
    block = _sizes("length, height, width", (length, height, width))
    first = finite_number("first_slot", first_slot, unit="m")
    slots: FloatArray = first + positive("pitch", pitch, unit="m") * np.arange(count + 1, dtype=np.float64)
    _check_finger(block, chamber, duct, pitch, chamber_floor, slots, slot_width, slot_floor)
    starts = slots[:-1] + 0.5 * (pitch + slot_width - chamber[0])
    half = np.array([0.0, 0.0, 0.5])
    with drawing(cell_size) as gmsh:
        body = _draw_box(gmsh, -half * block, block)
        cut = np.array([slot_width, height - slot_floor, width])
        tools = [_draw_box(gmsh, np.array([x, slot_floor, 0.0]) - half * cut, cut) for x in slots]
        corner = np.array([0.0, chamber_floor, 0.0])
        tools += [_draw_box(gmsh, np.array([x, 0.0, 0.0]) + corner - half * chamber, chamber) for x in starts]
        link = np.array([pitch - chamber[0], *duct])
        ends = starts[:-1] + chamber[0]
        tools += [_draw_box(gmsh, np.array([x, 0.0, 0.0]) + corner - half * link, link) for x in ends]
        gmsh.model.occ.cut([body], tools)
        return meshed(gmsh, element, shells=2)


@declared
def sphere_with_cavity(outer_radius: float, *, wall: float, cell_size: float, element: ElementName = "tet4") -> Mesh:
    """A hollow ball around the origin of `outer_radius` and thickness `wall` (m); see also the structured `shell`.

    Mid-edge nodes of "tet10" are on the spheres, except in cells that would fold: there they are nearer to the straight
    edge. A finer `cell_size` avoids it.
    """
    check_options(cell_size, element)
    outer, inner = _hollow(outer_radius, wall)
    with drawing(cell_size) as gmsh:
        body = gmsh.model.occ.addSphere(0, 0, 0, MILLIMETRES * outer)
        air = gmsh.model.occ.addSphere(0, 0, 0, MILLIMETRES * inner)
        gmsh.model.occ.cut([(3, body)], [(3, air)])
        mesh = meshed(gmsh, element, shells=2)
    if element != "tet10":
        return mesh
    tolerance = 1e-6 * outer  # rounding of Gmsh's nodes
    return curved_edges(mesh, np.ones(3), lambda r: np.minimum(np.abs(r - outer), np.abs(r - inner)) < tolerance)


@declared
def capsule_with_cavity(
    radius: float, length: float, *, wall: float, cell_size: float, element: ElementName = "tet4"
) -> Mesh:
    """A hollow capsule along z, around the origin: a cylinder of `length` between two half balls of `radius` (m).

    The cavity is the same shape set in by `wall` (m). Mid-edge nodes of "tet10" lie on straight edges.
    """
    check_options(cell_size, element)
    outer, inner = _hollow(radius, wall)
    length = positive("length", length, unit="m")
    with drawing(cell_size) as gmsh:
        body = _draw_capsule(gmsh, outer, length)
        air = _draw_capsule(gmsh, inner, length)
        gmsh.model.occ.cut(body, air)
        return meshed(gmsh, element, shells=2)


def _draw_box(gmsh: Any, corner: FloatArray, size: FloatArray) -> tuple[int, int]:
    """A box in the drawing, from its lower corner and size in m."""
    return 3, int(gmsh.model.occ.addBox(*(MILLIMETRES * corner), *(MILLIMETRES * size)))


def _draw_capsule(gmsh: Any, radius: float, length: float) -> list[tuple[int, int]]:
    """A capsule by revolution of its half section, which gives the fewest seams."""
    occ, r, h = gmsh.model.occ, MILLIMETRES * radius, 0.5 * MILLIMETRES * length
    spots = [(0, -h - r), (0, -h), (r, -h), (r, h), (0, h), (0, h + r)]
    tags = [occ.addPoint(x, 0, z) for x, z in spots]
    lower = occ.addCircleArc(tags[0], tags[1], tags[2])
    side = occ.addLine(tags[2], tags[3])
    upper = occ.addCircleArc(tags[3], tags[4], tags[5])
    axis = occ.addLine(tags[5], tags[0])
    section = occ.addPlaneSurface([occ.addCurveLoop([lower, side, upper, axis])])
    parts = occ.revolve([(2, section)], 0, 0, 0, 0, 0, 1, 2.0 * np.pi)
    occ.remove([(2, section)])
    return [part for part in parts if part[0] == 3]


def _check_finger(
    block: FloatArray,
    chamber: FloatArray,
    duct: FloatArray,
    pitch: float,
    floor: float,
    slots: FloatArray,
    slot_width: float,
    slot_floor: float,
) -> None:
    """Raise an `InputError` that names the first dimension that leaves no wall."""
    gap = pitch - positive("slot_width", slot_width, unit="m")
    rules = (
        (slots[0] > 0.0 and slots[-1] + slot_width < block[0], "the slots must lie inside the length of the block"),
        (0.0 < slot_floor < block[1], "slot_floor must lie between 0 and the height"),
        (chamber[0] < gap, "a chamber must be shorter than pitch − slot_width"),
        (floor > 0.0 and floor + chamber[1] < block[1], "chambers must leave material below and above"),
        (chamber[2] < block[2] and duct[1] <= chamber[2], "chambers and ducts must be narrower than the block"),
        (floor + duct[0] < slot_floor and duct[0] <= chamber[1], "ducts must pass below the slots"),
    )
    for holds, rule in rules:
        if not holds:
            raise InputError(
                f"{rule}: block {_text(block)} m, chamber {_text(chamber)} m on y = {floor:g} m, duct {_text(duct)} m, "
                f"slots from x = {slots[0]:g} to {slots[-1] + slot_width:g} m down to y = {slot_floor:g} m"
            )


def _hollow(radius: float, wall: float) -> tuple[float, float]:
    outer, thickness = positive("outer radius", radius, unit="m"), positive("wall", wall, unit="m")
    if thickness >= outer:
        raise InputError(f"wall ({thickness:g} m) must be thinner than the outer radius ({outer:g} m)")
    return outer, outer - thickness


def _sizes(name: str, value: Any, count: int = 3) -> FloatArray:
    sizes = finite_array(name, value, shape=(count,))
    if (sizes <= 0.0).any():
        raise InputError(f"{name} must be > 0 (in m), got {value!r}")
    return sizes


def _text(sizes: FloatArray) -> str:
    return " × ".join(f"{s:g}" for s in sizes)
