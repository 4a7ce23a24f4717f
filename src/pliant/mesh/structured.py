"""Structured grids without a mesher: boxes, uniform or graded, and the grids of `mesh.curved` and `mesh.lattice`."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.core.checks import finite_array, positive, positive_count
from pliant.core.declared import declared
from pliant.core.errors import InputError
from pliant.core.types import FloatArray, IndexArray, IntArray
from pliant.mesh.conversion import hexahedra_to_tetrahedra
from pliant.mesh.elements import ElementName, element_table
from pliant.mesh.mesh import Mesh


@declared
def box(size: Any, cells: Any, *, element: ElementName = "tet4", symmetric: str | None = None) -> Mesh:
    """A box from the origin to `size` (3,) m, with `cells` (3,) cubes along x, y, z.

    Node (i, j, k) has the index (i (ny + 1) + j)(nz + 1) + k. "tet4" splits every cube in six tetrahedra along one of
    its diagonals (Kuhn), "tet10" adds the mid-edge nodes to those after the corners, "hex8" keeps the cubes.

    symmetric
        Axes ("y", "yz", …) across whose middle planes the split is mirrored. None takes all three. With an even number
        of cells along an axis the mesh is then symmetric to its middle plane. With an odd number the layer of cells
        across the plane is not, since no split of a cube is its own mirror image. `symmetric=""` splits every cube
        along 000–111.

    Symmetry matters where a robot is symmetric. A straight finger with a cable in its middle plane bends in that plane
    with an even number of cells across. It also bends sideways with three cells, by 0.7 % of its deflection, and where
    all diagonals point the same way, by 8 % with two cells across, 4 % with three and 2 % with four.
    """
    element_table(element)
    lengths = finite_array("size", size, shape=(3,))
    for axis, length in zip("xyz", lengths, strict=True):
        positive(f"size along {axis}", length, unit="m")
    counts = cell_counts("cells", cells, ("x", "y", "z"))
    axes = [np.linspace(0.0, length, count + 1) for length, count in zip(lengths, counts, strict=True)]
    return _on_grid(axes, element, symmetric)


@declared
def grid(x: Any, y: Any, z: Any, *, element: ElementName = "tet4", symmetric: str | None = None) -> Mesh:
    """A box whose cells have the coordinates `x` (nx + 1,), `y` (ny + 1,), `z` (nz + 1,) m: a graded mesh.

    Nodes, elements and `symmetric` are those of `box`; the mesh is symmetric where the coordinates are. Coordinates
    increase along each axis.
    """
    element_table(element)
    axes = [_coordinates(name, values) for name, values in (("x", x), ("y", y), ("z", z))]
    return _on_grid(axes, element, symmetric)


def _coordinates(name: str, values: Any) -> FloatArray:
    """The coordinates of one axis, checked to increase."""
    line = np.asarray(finite_array(f"coordinates along {name}", values))
    if line.ndim != 1 or len(line) < 2 or not (np.diff(line) > 0.0).all():
        raise InputError(
            f"coordinates along {name} must be at least two increasing values in m, got {values!r}; sort them, and "
            "leave out repeated ones"
        )
    return line


def _on_grid(axes: list[FloatArray], element: ElementName, symmetric: str | None) -> Mesh:
    """The cells between the coordinates of three axes."""
    counts = (len(axes[0]) - 1, len(axes[1]) - 1, len(axes[2]) - 1)
    points = np.stack([line.ravel() for line in np.meshgrid(*axes, indexing="ij")], axis=1)
    mesh = Mesh(points, grid_hexahedra(counts), "hex8")
    mirrored = _mirrored_axes(symmetric, counts)
    if not mirrored or element == "hex8":
        return mesh.with_element(element)
    return Mesh(points, _mirrored_split(mesh.cells, counts, mirrored), "tet4").with_element(element)


def _mirrored_axes(symmetric: str | None, counts: tuple[int, ...]) -> list[int]:
    """The indices of the axes named in `symmetric`, checked; None: of all with more than one cell."""
    if symmetric is None:
        return [axis for axis in range(3) if counts[axis] > 1]
    if not isinstance(symmetric, str) or set(symmetric) - set("xyz"):
        raise InputError(f'symmetric must name axes, "y" or "yz" for example, got {symmetric!r}')
    axes = sorted({"xyz".index(axis) for axis in symmetric})
    odd = [f"{counts[axis]} along {'xyz'[axis]}" for axis in axes if counts[axis] % 2]
    if odd:
        raise InputError(
            f"cells are {', '.join(odd)}: a split that is symmetric to the middle plane needs an even number of cells "
            "there; take one more, or leave the axis out of symmetric"
        )
    return axes


def _mirrored_split(cells: IntArray, counts: tuple[int, ...], axes: list[int]) -> IntArray:
    """Tetrahedra (6 m, 4) of the grid's hexahedra (m, 8), mirrored across the middle planes of `axes`.

    Cubes are split through their first node in an order in which mirror images follow each other. Diagonals point
    towards the middle plane of one axis and away from those of the others. Of two mirrored axes no edge then has more
    cells around it than the diagonal of a cube, so that smoothing still finds the cubes (`models.volume.smoothing`).
    Of three, the edges on one centre line have eight, and smoothing divides the cubes around it: the line with the
    fewest cells.
    """
    keys = [grid.ravel() for grid in np.meshgrid(*[np.arange(count + 1) for count in counts], indexing="ij")]
    inward = min(axes, key=lambda axis: counts[axis]) if len(axes) == 3 else axes[-1]
    for axis in axes:
        keys[axis] = (-1 if axis == inward else 1) * np.abs(2 * keys[axis] - counts[axis])
    order = np.lexsort(keys[::-1])
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return np.asarray(order[hexahedra_to_tetrahedra(rank[cells])].astype(np.int32))


def cell_counts(name: str, cells: Any, axes: tuple[str, ...]) -> tuple[int, ...]:
    """`cells` as one integer ≥ 1 for each of `axes`."""
    try:
        counts = tuple(cells)
    except TypeError:
        counts = ()
    if len(counts) != len(axes):
        raise InputError(f"{name} must be {len(axes)} whole numbers ({', '.join(axes)}), got {cells!r}")
    return tuple(positive_count(f"{name} along {axis}", count) for axis, count in zip(axes, counts, strict=True))


def grid_hexahedra(counts: tuple[int, ...], *, periodic: tuple[bool, bool, bool] = (False, False, False)) -> IntArray:
    """Hexahedra (m, 8) of a grid of `counts` cells, the last axis fastest; periodic axes close on themselves."""
    sizes = [count if wraps else count + 1 for count, wraps in zip(counts, periodic, strict=True)]
    i, j, k = (grid.ravel() for grid in np.meshgrid(*[np.arange(count) for count in counts], indexing="ij"))

    def node(a: int, b: int, c: int) -> IndexArray:
        return np.asarray(((i + a) % sizes[0] * sizes[1] + (j + b) % sizes[1]) * sizes[2] + (k + c) % sizes[2])

    lower = [node(0, 0, 0), node(1, 0, 0), node(1, 1, 0), node(0, 1, 0)]
    upper = [node(0, 0, 1), node(1, 0, 1), node(1, 1, 1), node(0, 1, 1)]
    return np.column_stack(lower + upper).astype(np.int32)


def grid_quads(index: Any) -> IntArray:
    """Quadrilaterals (m, 4) of a grid of node indices (a, b), counter-clockwise for axes (first, second)."""
    corners = (index[:-1, :-1], index[1:, :-1], index[1:, 1:], index[:-1, 1:])
    return np.stack([corner.ravel() for corner in corners], axis=1)


def round_section(side: int) -> tuple[FloatArray, FloatArray, IntArray, IntArray]:
    """`side`² quadrilaterals: points (n, 2) in [−1, 1]² and in the unit disc, cells (side², 4) and rim (4 side,)."""
    s = np.linspace(-1.0, 1.0, side + 1)
    x, y = (grid.ravel() for grid in np.meshgrid(s, s, indexing="ij"))
    disc = np.column_stack([x * np.sqrt(1.0 - 0.5 * y**2), y * np.sqrt(1.0 - 0.5 * x**2)])
    index = np.arange(len(disc), dtype=np.int32).reshape(side + 1, side + 1)
    rim = np.concatenate([index[:-1, 0], index[-1, :-1], index[:0:-1, -1], index[0, :0:-1]])
    return np.column_stack([x, y]), disc, grid_quads(index), rim
