"""Cells that are long compared with the wall they form: linear elements are then too stiff in bending.

A linear element of length a bends with a parasitic shear strain γ = κ x, −a/2 < x < a/2, of curvature κ. Its energy per
length, G H κ² a²/12, adds to that of bending, E H³ κ²/12, in a wall of thickness H, however many layers it has:

    stiffness in bending / exact = 1 + c (a/H)²,     c ≈ G/E for hexahedra.

c of the other elements was measured on a cantilever strip of one to three layers (`tests/models/volume`). Quadratic
tetrahedra represent the curvature: they are not affected. The walls of closed chambers carry pressure by membrane
forces rather than by bending: with cells of this length `pl.robots.bellows` and `pl.robots.tower` extend 20 % more and
12 % less than with quadratic tetrahedra. Bodies with chambers are not reported.
"""

from __future__ import annotations

import warnings

import numpy as np

from pliant.core.errors import PliantWarning
from pliant.core.types import FloatArray
from pliant.mesh import Mesh
from pliant.models.volume.points import AntiLocking

NOTABLE = 1.5
"""Factor of the stiffness in bending beyond which a body is reported."""
_FRACTION = 0.25
"""Fraction of the surface that must be affected: edges and webs of a thick body do not matter."""
_SAMPLES = 64
"""Triangles whose wall is measured, evenly spaced in area: enough for a quarter of the surface."""


def bending_stiffness_factor(mesh: Mesh, anti_locking: AntiLocking) -> tuple[float, float]:
    """How many times too stiff walls of `mesh` bend, and how many times as long as thick their cells are.

    Both are exceeded on a quarter of the surface; (1, 0) for elements and bodies that are not affected.
    """
    if mesh.element == "tet10" or len(mesh.surface().components()) > 1:
        return 1.0, 0.0
    if mesh.element == "hex8":
        c = 0.36  # G/E = 1/(2 + 2ν)
    else:
        c = 0.15 if anti_locking is True else 1.0
    ratio = float(np.quantile(_length_over_thickness(mesh), 1.0 - _FRACTION))
    return 1.0 + c * ratio**2, ratio


def warn_of_flat_cells(name: str, mesh: Mesh, anti_locking: AntiLocking) -> None:
    """Warn once where the walls of body `name` bend notably too stiffly."""
    factor, ratio = bending_stiffness_factor(mesh, anti_locking)
    if factor > NOTABLE:
        warnings.warn(
            f"cells of {name!r} ({mesh.element}, anti_locking={anti_locking!r}) are {ratio:.1f} times as long as its "
            f"walls are thick: these are up to {factor:.1f} times too stiff in bending. Use element='tet10', or cells "
            "no longer than the wall is thick; more layers do not help",
            PliantWarning,
            stacklevel=2,
        )


def _length_over_thickness(mesh: Mesh) -> FloatArray:
    """Length of a surface triangle over the distance to the opposite surface, at samples evenly spaced in area."""
    corners = mesh.points[mesh.surface().triangles]
    edges = np.roll(corners, -1, axis=1) - corners
    normals = np.cross(edges[:, 0], edges[:, 1])
    doubled = np.linalg.norm(normals, axis=1)
    along = np.cumsum(doubled)
    chosen = np.searchsorted(along, along[-1] * (np.arange(_SAMPLES) + 0.5) / _SAMPLES)
    # half of a cut rectangle: the median edge is its longer side
    lengths = np.median(np.linalg.norm(edges[chosen], axis=2), axis=1)
    inward = -normals[chosen] / doubled[chosen, None]
    return np.asarray(lengths / _distances(corners[chosen].mean(axis=1), inward, corners))


def _distances(origins: FloatArray, directions: FloatArray, corners: FloatArray) -> FloatArray:
    """Distance (s,) along unit directions (s, 3) to the nearest triangle of `corners` (t, 3, 3), inf for none."""
    a, u, v = corners[:, 0], corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    found = np.full(len(origins), np.inf)
    tolerance = 1e-9  # rays through an edge hit both of its triangles rather than none
    for k, (origin, direction) in enumerate(zip(origins, directions, strict=True)):
        across = np.cross(direction, v)
        determinant = np.einsum("ti,ti->t", u, across)
        with np.errstate(divide="ignore", invalid="ignore"):  # triangles along the ray
            offset = origin - a
            s = np.einsum("ti,ti->t", offset, across) / determinant
            turned = np.cross(offset, u)
            t = turned @ direction / determinant
            distance = np.einsum("ti,ti->t", v, turned) / determinant
            sum_of_both = s + t
        hit = (
            (s >= -tolerance)
            & (t >= -tolerance)
            & (sum_of_both <= 1.0 + tolerance)
            & (distance > 1e-6 * np.abs(u).max())  # not the facet that the ray starts from
        )
        if hit.any():
            found[k] = distance[hit].min()
    return found
