"""The spine: a manipulator of vertebrae on a compliant backbone, whose ribs touch each other when it is bent.

Every vertebra has two feet on the backbone and three ribs at 120 degrees, each a strut from either foot to the middle
of the rib and a blade from there to its tip. Between vertebrae only the backbone bends. The front of every blade may
touch the back of the one before it.

Reference: O. Goury, B. Carrez, C. Duriez, "Real-time simulation for control of soft robots with self-collisions using
model order reduction for contact forces", IEEE RA-L 6, 2021, section IV.B.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.actuators import Cable
from pliant.constraints.facing import Facing
from pliant.core.checks import positive_count
from pliant.core.declared import declared
from pliant.core.errors import InputError
from pliant.core.types import FloatArray, IntArray
from pliant.mesh.lattice import grid_triangles
from pliant.mesh.structured import cell_counts
from pliant.models.beam import Beam, Circle
from pliant.models.volume import Rayleigh
from pliant.robots.robot import Marker, Robot, check_lengths

RIBS, SECTIONS = 3, 3
"""Ribs of a vertebra and sections with tendons of their own."""
_DAMPING = Rayleigh(mass=2.0, stiffness=0.02)
"""Proportional to mass as well: this part damps the slow modes of the long backbone."""
_FOOT = 0.4
"""Distance of the feet of a vertebra as a fraction of the pitch: the other 60 % of the backbone can bend."""
_OUTER = (0.55, 0.98)
"""Range of the contact points along a rib as fractions of its length: the blade, short of its tip."""
_BORDER = 0.03
"""Extension of the touched blade beyond that range, as a fraction of the radius: points that slip stay on it."""


@declared
def spine(
    *,
    length: float = 0.8,
    vertebra_count: int = 30,
    radius: float = 0.045,
    rib_width: float = 0.020,
    clearance: float = 0.003,
    backbone: float = 0.003,
    young: float = 1.5e9,
    density: float = 1100.0,
    rib_points: Any = (5, 3),
    margin: float = 0.001,
    friction: float = 0.0,
    contact: bool = True,
    damping: Rayleigh = _DAMPING,
    name: str = "spine",
) -> Robot:
    """A spine along x from its clamped base at x = 0; all lengths in m.

    Nine tendons (`cables`) bend it: those of the first third of the vertebrae, of the first two thirds, and of all,
    each at 0, 120 and 240 degrees about x from +y, so that ``cables[3 * s]`` bends the first s + 1 sections towards +y.
    `facings` is one `pl.Facing` of all ribs: every blade has `rib_points` along and across it that may touch the back
    of the blade before. Defaults: 0.8 m, 1350 potential contacts; 4500 with ``rib_points=(10, 5)``. The ribs touch
    from a bend of about 115 degrees on.

    vertebra_count
        Count of vertebrae beyond the clamped one, a multiple of three.
    radius, rib_width
        Length of the ribs from the axis, and width of their blades.
    clearance
        Distance of neighbouring blades when the spine is straight; m.
    backbone
        Radius of the round section of all beams, m.
    young, density
        Of the printed plastic, Pa and kg/m³; its Poisson's ratio is 0.4.
    rib_points
        Points along and across every blade.
    margin
        Gap below which contacts are active, m.
    friction
        Coulomb's μ between the blades.
    contact
        False leaves the contacts out: the ribs then pass through each other.
    """
    check_lengths("spine", length=length, radius=radius, rib_width=rib_width, clearance=clearance, backbone=backbone)
    count = positive_count("vertebra_count", vertebra_count)
    if count % SECTIONS:
        raise InputError(f"vertebra_count must be a multiple of {SECTIONS}, the number of sections, got {count}")
    pitch = length / count
    if clearance >= 0.9 * pitch:
        raise InputError(f"clearance ({clearance:g} m) leaves nothing of vertebrae at a distance of {pitch:g} m")
    points, edges, fixed = _network(count, pitch, radius)
    body = Beam(
        points, edges=edges, section=Circle(backbone), young=young, poisson=0.4, density=density, clamp=fixed,
        damping=damping, name=name,
    )  # fmt: skip
    facing = _facing(
        body, (count, pitch, radius, rib_width, clearance), cell_counts("rib_points", rib_points, ("r", "y")),
        friction=friction, margin=margin, name=f"{name} ribs",
    )  # fmt: skip
    return Robot(
        body,
        tip=Marker(body, (length, 0.0, 0.0)),
        cables=_tendons(body, count, pitch, radius, 0.3 * rib_width, name),
        facings=(facing,) if contact else (),
    )


def _network(count: int, pitch: float, radius: float) -> tuple[FloatArray, IntArray, IntArray]:
    """Nodes (n, 3) m, elements (m, 2), and the nodes of the clamped vertebra.

    The clamped vertebra has one foot and three ribs of two nodes, every other one two feet and three such ribs.
    """
    directions, _ = _directions()
    outward = (np.array([0.5, 1.0])[:, None] * radius)[None, :, :] * directions[:, None]  # (ribs, 2, 3)
    ribs = outward.reshape(-1, 3)
    first = np.vstack([np.zeros(3), ribs])
    feet = np.array([(-0.5 * _FOOT * pitch, 0.0, 0.0), (0.5 * _FOOT * pitch, 0.0, 0.0)])
    one = np.vstack([feet, ribs])
    last = np.array([count * pitch, 0.0, 0.0])
    centers = np.zeros((count, 1, 3))
    centers[:, 0, 0] = pitch * np.arange(1, count + 1)
    points = np.vstack([first, (one + centers).reshape(-1, 3), last])
    middles, tips = 2 * np.arange(RIBS), 2 * np.arange(RIBS) + 1
    clamped = np.vstack([np.column_stack([np.zeros(RIBS, int), 1 + middles]), np.column_stack([1 + middles, 1 + tips])])
    struts = np.vstack([np.column_stack([np.full(RIBS, foot), 2 + middles]) for foot in (0, 1)])
    inside = np.vstack([[(0, 1)], struts, np.column_stack([2 + middles, 2 + tips])])
    starts = len(first) + len(one) * np.arange(count)
    links = np.column_stack([np.concatenate([[0], starts[:-1] + 1]), starts])
    end = np.array([(starts[-1] + 1, len(points) - 1)])
    edges = np.vstack([clamped, (inside + starts[:, None, None]).reshape(-1, 2), links, end])
    return points, edges.astype(np.int32), np.arange(len(first))


def _facing(
    body: Beam, shape: tuple[int, float, float, float, float], rib_points: tuple[int, ...], **options: Any
) -> Facing:
    """Points on the front of every blade but the clamped ones, and the back of every blade but the last."""
    count, pitch, radius, width, clearance = shape
    half, inner, outer = 0.5 * (pitch - clearance), *_OUTER
    along, across = rib_points
    own, _ = _grid(radius * inner, radius * outer, 0.4 * width, along, across)
    # few triangles suffice: a blade is flat across its width and bends along its length only
    faced, triangles = _grid(radius * (inner - _BORDER), radius * (outer + _BORDER), 0.5 * width, 6, 3)
    centers: FloatArray = pitch * np.arange(count + 1, dtype=np.float64)
    group = np.arange(count * RIBS).reshape(count, RIBS)
    fronts = _blades(own, centers[1:] - half)
    backs = _blades(faced, centers[:-1] + half)
    starts = len(faced) * np.arange(count * RIBS)
    return Facing(
        *(body, body, fronts, backs, (triangles + starts[:, None, None]).reshape(-1, 3)),
        point_group=np.repeat(group.ravel(), len(own)),
        triangle_group=np.repeat(group.ravel(), len(triangles)),
        reach=pitch,
        **options,
    )


def _grid(inner: float, outer: float, half: float, along: int, across: int) -> tuple[FloatArray, IntArray]:
    """Radial and lateral coordinates (k, 2) m of `along` × `across` points, and triangles facing the spine's tip."""
    r, y = np.linspace(inner, outer, along), np.linspace(-half, half, across) if across > 1 else np.zeros(1)
    return np.stack(np.meshgrid(r, y, indexing="ij"), axis=-1).reshape(-1, 2), grid_triangles(along, across)


def _blades(flat_points: FloatArray, x: FloatArray) -> FloatArray:
    """`flat_points` (k, 2) m on all ribs of the vertebrae with faces at `x` (v,) m, (v · ribs · k, 3)."""
    directions, sideways = _directions()
    flat = flat_points[:, :1] * directions[:, None] + flat_points[:, 1:] * sideways[:, None]  # (ribs, k, 3)
    everywhere = np.broadcast_to(flat, (len(x), *flat.shape)).copy()
    everywhere[..., 0] += x[:, None, None]
    return everywhere.reshape(-1, 3)


def _tendons(body: Beam, count: int, pitch: float, radius: float, aside: float, name: str) -> tuple[Cable, ...]:
    """Through the middles of the ribs, those of the three sections beside each other, to the last vertebra of each."""
    directions, sideways = _directions()
    cables = []
    for section in range(SECTIONS):
        x = pitch * np.arange(count * (section + 1) // SECTIONS + 1)
        for rib in range(RIBS):
            off = 0.5 * radius * directions[rib] + (section - 1) * aside * sideways[rib]
            via = np.column_stack([x + off[0], np.full(len(x), off[1]), np.full(len(x), off[2])])
            cables.append(Cable(body, via, reach=pitch, name=f"{name} tendon {section + 1}{'abc'[rib]}"))
    return tuple(cables)


def _directions() -> tuple[FloatArray, FloatArray]:
    """Unit vectors along the ribs and across them, (3, 3) each."""
    angle = 2.0 * np.pi * np.arange(RIBS) / RIBS
    along = np.column_stack([np.zeros(RIBS), np.cos(angle), np.sin(angle)])
    return along, np.cross((1.0, 0.0, 0.0), along)
