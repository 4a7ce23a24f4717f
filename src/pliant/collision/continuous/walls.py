"""Thickness of the thinnest wall of a closed surface: what is deeper inside than half of it is nearer to the far side.

Rays from the middles of triangles against their normals end at the next triangle that faces the other way within 45°.
"""

from __future__ import annotations

import numpy as np

from pliant.core.types import FloatArray, IntArray
from pliant.mesh.thickness import crossings

_PARALLEL = 0.7
"""Least product of the normals, one of them turned, of the two sides of a wall."""
_WORK = 2_000_000
"""Most pairs of rays and triangles, a quarter of a second: of a larger surface fewer triangles have one."""
_CHUNK = 200_000
"""Pairs of one array operation."""
_START = 1e-7
"""Crossings nearer to the start than this, relative to the size of the surface, are the start itself."""


def thinnest_wall(points: FloatArray, triangles: IntArray, normals: FloatArray) -> float:
    """Least thickness, m, of the walls between `triangles` (t, 3) over `points` (n, 3) m with outward unit `normals`
    (t, 3); inf without.
    """
    corners = points[triangles]
    chosen = np.arange(0, len(triangles), 1 + len(triangles) ** 2 // _WORK)
    near = _START * float(np.ptp(corners.reshape(-1, 3), axis=0).max())
    thinnest = np.inf
    for rays in np.array_split(chosen, 1 + len(chosen) * len(triangles) // _CHUNK):
        at = crossings(corners[rays].mean(axis=1), -normals[rays], corners)
        at[normals[rays] @ normals.T > -_PARALLEL] = np.nan
        ahead = at[at > near]
        thinnest = min(thinnest, float(ahead.min(initial=np.inf)))
    return thinnest
