"""Sizes of cells from the thickness of walls: two cells across every wall, as far as the number of cells allows.

The size at a point is h(x) = minⱼ (hⱼ + g |x − xⱼ|) over the chords j of `mesh.thickness`, where hⱼ is the length of
the chord over the layers and g limits the growth from cell to cell. The number of cells is K ∫ dV/h³, over points
inside the body at random places of random lines; where it exceeds the limit all sizes are scaled.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial import cKDTree

from pliant.core.checks import positive, positive_count
from pliant.core.declared import declared
from pliant.core.errors import MeshError
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray
from pliant.mesh.surface import Surface
from pliant.mesh.thickness import crossings, wall_chords

LAYERS, MAX_CELLS = 2, 20_000
"""Default of cells across a wall, and of cells of a mesh: a step of about 0.2 s."""
_THIN = 0.05
"""Fraction of the walls that may be thinner than what is called the thinnest: sharp edges are."""
_GROWTH = 0.4
"""Largest gradient of the size: neighbouring cells then differ by less than half."""
_ACROSS = 8.0
"""Cells along the longest side of the bounding box at least: fewer do not resolve a deformed shape."""
_NEAREST = 12
"""Chords that decide the size at a point; farther ones are larger by the gradient."""
_LINES = 600
"""Random lines that sample the inside."""
_CELLS, _NODES, _SKIN = 6.0, 0.18, 0.6
"""Cells of Gmsh in a volume h³, and nodes for each cell and for each area h² of the surface: fitted to ten bodies."""
_STEP, _EXPONENT = 2.6e-4, 1.39
"""Milliseconds of a step are _STEP · cells^_EXPONENT: fitted to seventeen bodies of 240 to 15 360 cells of rubber with
the default element, one linear solve a step and no contact, on one core. The law is 0.7 to 1.5 times what was
measured, and 0.6 to 1.45 times on eight other meshes, timed twice: too much of slender bodies, too little of
compact ones.
"""


@one_line
@dataclass(frozen=True, eq=False)
class CellSizes:
    """Wanted lengths of edges in a body, from the thickness of its walls.

    starts, sizes
        Points (k, 3) m on the surface and the lengths of edges there (k,) m; between them `at` interpolates.
    thin
        Thickness of the thinnest walls, m: that which a twentieth of the surface is below.
    layers
        Cells across a wall that these sizes give: fewer than wanted where `max_cells` is the limit.
    cells, nodes, step_ms
        Numbers to expect, within a factor of 1.6 from 2000 cells on, and the time of a step: see `expected_step_ms`.
        Details that are smaller than these cells, such as notches and short edges, take up to five times as many.
    wanted_cells
        Cells that the wanted layers would take.
    """

    starts: FloatArray
    sizes: FloatArray
    thin: float
    layers: float
    cells: int
    nodes: int
    wanted_cells: int

    @property
    def step_ms(self) -> float:
        """Time of a step to expect, ms."""
        return expected_step_ms(self.cells)

    @property
    def least(self) -> float:
        """The least wanted length of edges, m."""
        return float(self.sizes.min())

    @property
    def largest(self) -> float:
        """The largest wanted length of edges, m."""
        return float(self.sizes.max())

    def scaled(self, factor: float) -> CellSizes:
        """The same with all lengths times `factor`; the numbers to expect follow."""
        positive("factor", factor)
        cells, nodes = round(self.cells / factor**3), round(self.nodes / factor**3)
        return replace(self, sizes=factor * self.sizes, layers=self.layers / factor, cells=cells, nodes=nodes)

    def at(self, points: FloatArray) -> FloatArray:
        """Wanted lengths of edges at `points` (p, 3) m, shape (p,) m."""
        return graded(self._tree, self.sizes, points)

    @property
    def _tree(self) -> cKDTree:
        return cKDTree(self.starts)

    def __str__(self) -> str:
        edges = f"edges of {1e3 * self.least:.2g} to {1e3 * self.largest:.2g} mm"
        told = (
            f"walls of {1e3 * self.thin:.2g} mm: {self.layers:.2g} cells across, {edges}; expect about {self.cells} "
            f"cells, {self.nodes} nodes and {plain_number(self.step_ms)} ms a step"
        )
        if self.wanted_cells > self.cells:
            told += f" ({LAYERS} across would take about {self.wanted_cells} cells)"
        return told


def expected_step_ms(cells: float) -> float:
    """Time in ms of a dynamic step of a body of `cells` tetrahedra, within a factor of 1.7, for the default element.

    Measured on one core of the machine of docs/results.md, without contact: 0.00026 · cells^1.39. After meshing,
    `pliant mesh` counts the operations of the factorization and knows more (`models.volume.step_time`).
    """
    return float(_STEP * cells**_EXPONENT)


@declared
def cell_sizes(surface: Surface, *, layers: int = LAYERS, max_cells: int = MAX_CELLS, seed: int = 0) -> CellSizes:
    """Sizes of cells for the body inside the closed `surface`: `layers` across every wall, or `max_cells` in all."""
    positive_count("layers", layers)
    positive_count("max_cells", max_cells)
    chords = wall_chords(surface, seed=seed)
    if not len(chords.lengths):
        raise MeshError("no wall was found: the surface is not closed, or crosses itself; give cell_size")
    longest = float(np.ptp(surface.points[surface.nodes], axis=0).max())
    thin = min(chords.quantile(_THIN), longest)
    # a few chords at sharp edges are shorter than any wall, and must not decide; a hollow needs two cells along it
    wanted = np.minimum(np.maximum(chords.lengths, thin), chords.extents) / layers
    tree = cKDTree(chords.starts)
    points, volumes = interior_points(surface, seed=seed)
    area = surface.area()

    def count(scale: float) -> float:
        sizes = graded(tree, np.minimum(scale * wanted, longest / _ACROSS), points)
        return float(_CELLS * (volumes / sizes**3).sum())

    scale, needed = 1.0, count(1.0)
    if needed > max_cells:
        low, high = 1.0, 1e3
        for _ in range(40):
            scale = float(np.sqrt(low * high))
            low, high = (scale, high) if count(scale) > max_cells else (low, scale)
        scale = high
    sizes = np.minimum(scale * wanted, longest / _ACROSS)
    cells = count(scale)
    nodes = _NODES * cells + _SKIN * area * float(chords.weights @ (1.0 / sizes**2))
    across = float(thin / min(scale * thin / layers, longest / _ACROSS))
    return CellSizes(chords.starts, sizes, thin, across, round(cells), round(nodes), round(needed))


def plain_number(value: float) -> str:
    """A number with two or three digits and no exponent, for a sentence."""
    return f"{value:.0f}" if value >= 10.0 else f"{value:.2g}"


def graded(tree: cKDTree, sizes: FloatArray, points: FloatArray) -> FloatArray:
    """The size at each of `points` (p, 3) m: the least of the nearest chords' sizes, grown by the distance, (p,) m.

    Within a size of a chord nothing grows: chords are random, and points between them are not farther from the wall.
    """
    distance, index = tree.query(points, k=min(_NEAREST, len(sizes)))
    if distance.ndim == 1:
        distance, index = distance[:, None], index[:, None]
    beyond = np.maximum(distance - sizes[index], 0.0)
    return np.asarray((sizes[index] + _GROWTH * beyond).min(axis=1))


def interior_points(surface: Surface, *, seed: int = 0) -> tuple[FloatArray, FloatArray]:
    """Random points (p, 3) m in the body inside `surface`, and the volume that each stands for, (p,) m³.

    One point on each stretch of random lines along the shortest side of the bounding box that is inside.
    """
    corners = surface.points[surface.triangles]
    lower, upper = corners.min(axis=(0, 1)), corners.max(axis=(0, 1))
    axis = int(np.argmin(upper - lower))
    random = np.random.default_rng(seed)
    starts = random.uniform(lower, upper, (_LINES, 3))
    starts[:, axis] = lower[axis] - (upper[axis] - lower[axis])
    direction = np.eye(3)[axis]
    points, lengths = [], []
    for part in np.array_split(starts, max(1, _LINES * len(corners) // 2_000_000)):
        for start, found in zip(part, crossings(part, np.tile(direction, (len(part), 1)), corners), strict=True):
            places = np.sort(found[np.isfinite(found)])
            if len(places) % 2:  # the line meets an edge
                continue
            for first, last in places.reshape(-1, 2):
                points.append(start + random.uniform(first, last) * direction)
                lengths.append(last - first)
    if not points:
        raise MeshError("no point was found inside the surface: it is not closed, or is flat")
    volume = abs(surface.volume()) if len(surface.components()) == 1 else _enclosed(surface)
    weights = np.array(lengths) / np.sum(lengths)
    return np.array(points), volume * weights


def _enclosed(surface: Surface) -> float:
    """Volume of the body, m³: that of the outer shell less those of the hollows."""
    volumes = sorted((abs(shell.volume()) for shell in surface.components()), reverse=True)
    return float(volumes[0] - sum(volumes[1:]))
