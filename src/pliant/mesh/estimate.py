"""How many tetrahedra a length of edges takes, told before the mesher starts: a wrong unit would mesh for ever."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pliant.core.errors import InputError
from pliant.core.types import FloatArray, IntArray
from pliant.mesh.surface import Surface

MOST_CELLS = 3_000_000
"""Largest count of cells that is meshed: a few minutes of Gmsh, and more than a step in a minute can take."""
_CELLS = 6.0
"""Tetrahedra of Gmsh in a cube whose side is the wanted length of edges; within a factor of 1.4 on ten bodies."""


def expected_cells(volume: float, cell_size: float) -> float:
    """Count of tetrahedra with edges of `cell_size` m in `volume` m³."""
    return _CELLS * volume / cell_size**3


def check_cell_count(volume: float, cell_size: float, size: float, what: str) -> None:
    """Raise where `volume` (m³) with edges of `cell_size` (m) takes too many cells; `size` (m) is that of the body."""
    count = expected_cells(volume, cell_size)
    if count > MOST_CELLS:
        least = (_CELLS * volume / MOST_CELLS) ** (1.0 / 3.0)
        raise InputError(
            f"{what} is {1e3 * size:.3g} mm long: edges of {1e3 * cell_size:.3g} mm would take about {count:.1g} "
            f"cells. cell_size is in metres, and --size of `pliant mesh` in the unit of the file; at most {MOST_CELLS} "
            f"cells are meshed, edges of {1e3 * least:.2g} mm. Was another unit meant?"
        )


def check_shells(shells: Sequence[Surface], cell_size: float, what: str) -> None:
    """`check_cell_count` of the solid inside the first of `shells` without the hollows inside the others."""
    volumes = [abs(enclosed(shell.points, shell.triangles)) for shell in shells]
    used = shells[0].points[np.unique(shells[0].triangles)]
    size = float(np.ptp(used, axis=0).max())
    check_cell_count(max(volumes[0] - sum(volumes[1:]), 0.0), cell_size, size, what)


def enclosed(points: FloatArray, triangles: IntArray) -> float:
    """Volume inside closed `triangles` (t, 3) over `points` (n, 3) m, m³; negative where they face inwards."""
    a, b, c = (points[triangles[:, k]] for k in range(3))
    return float(np.einsum("ij,ij->", a, np.cross(b, c))) / 6.0
