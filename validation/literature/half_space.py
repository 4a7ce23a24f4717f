"""Graded meshes that stand for half-spaces and half-planes: small cells at the contact, large ones far from it."""

from __future__ import annotations

from typing import Any

import numpy as np

import pliant as pl
from pliant.core.types import FloatArray, IntArray


def graded(cell: float, uniform: float, ratio: float, extent: float) -> FloatArray:
    """Coordinates from 0 to `extent`: cells of the size `cell` up to `uniform`, then each `ratio` times the last."""
    line = list(np.linspace(0.0, uniform, round(uniform / cell) + 1))
    step = cell
    while line[-1] < extent:
        step *= ratio
        line.append(line[-1] + step)
    tail = np.array(line[round(uniform / cell) + 1 :]) - uniform
    tail *= (extent - uniform) / tail[-1]
    return np.concatenate([line[: round(uniform / cell) + 1], uniform + tail])


def refined_at(edge: float, cell: float, ratio: float, largest: float) -> FloatArray:
    """Coordinates from 0 to `edge`, smallest at `edge`: cells of the size `cell` there, at most `largest` elsewhere."""
    line, step = [0.0], cell
    while line[-1] < edge:
        line.append(line[-1] + step)
        step = min(step * ratio, largest)
    return (edge - np.array(line) * edge / line[-1])[::-1]


def mirrored(line: FloatArray) -> FloatArray:
    """The coordinates and their mirror image below 0."""
    return np.concatenate([-line[:0:-1], line])


def disc(side: int, rings: FloatArray, quarters: int = 1) -> tuple[FloatArray, IntArray]:
    """Points (n, 2) and quadrilaterals (m, 4) of a quarter (or half) disc around the origin.

    A square of side² cells within the first of the radii `rings`, circles at these radii around it. The half disc
    y ≥ 0 is the quarter and its mirror image.
    """
    first, edges = 0.62 * rings[0], 2 * side
    s = np.linspace(0.0, 1.0, side + 1)
    x, y = (grid.ravel() for grid in np.meshgrid(s, s, indexing="ij"))
    square = first * np.column_stack([x, y]) * (1.0 + 0.15 * (1.0 - np.column_stack([y, x])))
    index = np.arange(len(square)).reshape(side + 1, side + 1)
    rim = np.concatenate([index[-1, :], index[-2::-1, -1]])
    cells: list[Any] = [
        np.stack([index[:-1, :-1], index[1:, :-1], index[1:, 1:], index[:-1, 1:]], axis=-1).reshape(-1, 4)
    ]
    points: list[FloatArray] = [square]
    last = rim
    angle = 0.5 * np.pi * np.arange(edges + 1) / edges
    for k, radius in enumerate(rings):
        points.append(radius * np.column_stack([np.cos(angle), np.sin(angle)]))
        ring = len(square) + k * (edges + 1) + np.arange(edges + 1)
        cells.append(np.column_stack([last[:-1], ring[:-1], ring[1:], last[1:]]))
        last = ring
    quarter, quads = np.vstack(points), np.vstack(cells)
    quarter[np.abs(quarter) < 1e-12 * rings[0]] = 0.0
    if quarters == 1:
        return quarter, quads
    other = quarter * (-1.0, 1.0)
    shared = quarter[:, 0] == 0.0
    number = np.where(shared, np.arange(len(quarter)), len(quarter) + np.cumsum(~shared) - 1)
    return np.vstack([quarter, other[~shared]]), np.vstack([quads, number[quads[:, ::-1]]])


def extruded(points: FloatArray, cells: IntArray, heights: FloatArray) -> pl.mesh.Mesh:
    """Hexahedra between copies of the plane mesh at `heights`, increasing."""
    count, layers = len(points), len(heights)
    nodes = np.vstack([np.column_stack([points, np.full(count, z)]) for z in heights])
    hexes = [np.hstack([cells + k * count, cells + (k + 1) * count]) for k in range(layers - 1)]
    return pl.mesh.Mesh(nodes, np.vstack(hexes).astype(np.int32), "hex8")


def half_space(
    *, cell: float, contact: float, ratio: float = 1.4, extent: float = 200.0, side: int = 3, quarters: int = 1
) -> pl.mesh.Mesh:
    """A quarter (or half) of a cylinder z ≤ 0, wide and deep `extent` times the radius `contact`, with cells of the
    size `cell` around the contact. A rigid base at the depth H makes contacts stiffer by about a/H.
    """
    count = round(contact / cell)
    rings = graded(cell, (count + count // 2) * cell, ratio, extent * contact)
    rings = rings[rings > (side - 0.5) * cell]
    depths = graded(cell, contact, ratio, extent * contact)
    return extruded(*disc(side, rings, quarters), -depths[::-1])


def added(scene: pl.Scene, mesh: pl.mesh.Mesh, material: pl.materials.Material, *, planes: str = "xy") -> pl.Volume:
    """The mesh as a body clamped at its bottom, with rollers on the planes of symmetry x = 0, y = 0."""
    bottom = pl.regions.plane(axis="z", at=mesh.bounds[0][2])
    body = scene.add(pl.Volume(mesh, material, clamp=bottom))
    for axis in planes:
        scene.add(pl.Support(body, pl.regions.plane(axis=axis, at=0.0) & ~bottom, axes=axis))
    return body
