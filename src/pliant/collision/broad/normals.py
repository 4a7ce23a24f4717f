"""Unit normals of triangles, where the boxes of a pose are not needed."""

from __future__ import annotations

import numpy as np

from pliant.collision.broad.tree import _fill_normal
from pliant.core.kernels import kernel
from pliant.core.types import FloatArray, IntArray


@kernel
def face_normals(points: FloatArray, triangles: IntArray) -> FloatArray:
    """Unit normals (t, 3) of `triangles` over `points` (n, 3) m; 0 where there is no area."""
    normals = np.empty((len(triangles), 3))
    for t in range(len(triangles)):
        _fill_normal(points, triangles, t, normals)
    return normals
