"""The motion of a surface as arrays, and what both the page and the picture derive from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from pliant.core.checks import finite_array
from pliant.core.errors import InputError
from pliant.core.types import FloatArray, IndexArray
from pliant.viewer.palette import TINTS, check_color

CREASE_ANGLE = np.radians(40.0)
"""Faces that meet at a sharper angle than this are shaded with an edge between them, in rad."""


@dataclass(frozen=True, eq=False)
class SurfaceFrames:
    """A surface of `triangles` (t, 3), counter-clockwise seen from outside, at T instants.

    `frames` (T, n, 3) m are the positions of the vertices; a surface that never moves may give (1, n, 3). `values`
    (T, n) colour it, in the unit named by `value_label`, such as "von Mises stress (kPa)"; surfaces with the same label
    share a colour scale. Where they are None it has the plain `color` '#rrggbb' (None picks one), and `label` is its
    name in the legend. `in_front` draws it over everything else, even where other surfaces hide it; `opacity` below 1
    lets what is behind and inside shine through.
    """

    triangles: IndexArray
    frames: FloatArray
    values: FloatArray | None = None
    label: str = ""
    value_label: str = ""
    color: str | None = None
    in_front: bool = False
    opacity: float = 1.0

    def __post_init__(self) -> None:
        name = f"surface {self.label!r}: "
        frames = finite_array(name + "frames", self.frames, shape=(None, None, 3))
        if frames.shape[0] == 0:
            raise InputError(f"{name}frames must hold at least one instant, got shape {frames.shape}")
        object.__setattr__(self, "frames", frames)
        object.__setattr__(self, "triangles", _checked_triangles(name, self.triangles, frames.shape[1]))
        if self.values is not None:
            values = finite_array(name + "values", self.values, shape=frames.shape[:2])
            object.__setattr__(self, "values", values)
        if not 0.0 < self.opacity <= 1.0:
            raise InputError(f"{name}opacity must be above 0 and at most 1, got {self.opacity!r}")
        if self.color is not None:
            object.__setattr__(self, "color", check_color(name + "color", self.color))

    def compact(self) -> SurfaceFrames:
        """The same surface without the vertices that no triangle uses."""
        used, triangles = np.unique(self.triangles, return_inverse=True)
        values = None if self.values is None else self.values[:, used]
        return replace(self, triangles=triangles.reshape(-1, 3), frames=self.frames[:, used], values=values)

    def at(self, instants: list[int]) -> SurfaceFrames:
        """The surface at `instants` only; one that never moves is left as it is."""
        if len(self.frames) == 1:
            return self
        values = None if self.values is None else self.values[instants]
        return replace(self, frames=self.frames[instants], values=values)

    def frame(self, index: int) -> FloatArray:
        """Positions at instant `index` [m], shape (n, 3); a surface that never moves has only one."""
        return np.asarray(self.frames[index if len(self.frames) > 1 else 0])

    def frame_values(self, index: int) -> FloatArray | None:
        """Values at instant `index`, shape (n,), or None."""
        return None if self.values is None else np.asarray(self.values[index if len(self.frames) > 1 else 0])


@dataclass(frozen=True)
class Scale:
    """A colour scale: its label, the values at its two ends, and whether larger values are shown as the upper end."""

    label: str
    low: float
    high: float
    clipped: bool


def check_surfaces(surfaces: Sequence[SurfaceFrames], instants: int | None = None) -> tuple[list[SurfaceFrames], int]:
    """Compact copies of `surfaces`, and their common number of instants (checked against `instants` where given)."""
    if not surfaces:
        raise InputError("surfaces must hold at least one SurfaceFrames, got none")
    count = instants if instants is not None else max(len(surface.frames) for surface in surfaces)
    for surface in surfaces:
        if len(surface.frames) not in (1, count):
            raise InputError(
                f"surface {surface.label!r} has {len(surface.frames)} frames but {count} instants are shown; "
                "give one frame per instant, or a single one if it never moves"
            )
    return [surface.compact() for surface in surfaces], count


def value_scales(surfaces: Sequence[SurfaceFrames]) -> list[Scale]:
    """One colour scale per distinct `value_label`, in order of appearance.

    The upper end is the largest value, unless a few values (0.2 %) stand more than a third of the range above all
    others, as stresses do at a re-entrant corner: then it is that 99.8 % quantile, and the scale says it is clipped.
    """
    scales = []
    for label in dict.fromkeys(s.value_label for s in surfaces if s.values is not None):
        values = np.concatenate([s.values.ravel() for s in surfaces if s.values is not None and s.value_label == label])
        low, high, most = float(values.min()), float(values.max()), float(np.quantile(values, 0.998))
        clipped = bool(high - low > 1.5 * (most - low) > 0.0)
        scales.append(Scale(label, low, most if clipped else high, clipped))
    return scales


def plain_colors(surfaces: Sequence[SurfaceFrames]) -> list[str]:
    """A colour for each surface: its own, or the next of the viewer's tints."""
    return [surface.color or TINTS[i % len(TINTS)] for i, surface in enumerate(surfaces)]


def bounds(surfaces: Sequence[SurfaceFrames]) -> tuple[FloatArray, FloatArray]:
    """Lower and upper corner of all surfaces at all instants [m], each of shape (3,)."""
    lower = np.min([surface.frames.min(axis=(0, 1)) for surface in surfaces], axis=0)
    upper = np.max([surface.frames.max(axis=(0, 1)) for surface in surfaces], axis=0)
    return lower, upper


def floor_height(lower: FloatArray, upper: FloatArray, floor: float | None = None) -> float:
    """Height of the drawn floor [m]: `floor`, where there is one within view; else z = 0 where the motion stays just
    above it, or a little below the motion.
    """
    diagonal = float(np.linalg.norm(upper - lower))
    if floor is not None and lower[2] - floor <= diagonal:
        return floor
    if -0.01 * diagonal <= lower[2] <= 0.35 * diagonal:
        return 0.0
    return float(lower[2] - 0.06 * diagonal)


def grid_spacing(lower: FloatArray, upper: FloatArray) -> float:
    """Distance of the floor's grid lines [m]: 1, 2 or 5 times a power of ten, about a tenth of the motion's size."""
    wanted = max(float(np.linalg.norm(upper - lower)), 1e-9) / 10.0
    power = 10.0 ** np.floor(np.log10(wanted))
    return float(power * max(step for step in (1.0, 2.0, 5.0) if step * power <= wanted * (1.0 + 1e-9)))


def length_text(length: float) -> str:
    """A length in m, written with the unit a reader expects: '50 mm', '2 m', '200 µm'."""
    for unit, metres in (("m", 1.0), ("mm", 1e-3), ("µm", 1e-6)):
        if length >= 0.9995 * metres:
            return f"{length / metres:.4g} {unit}"
    return f"{length:.3g} m"


def split_creases(points: FloatArray, triangles: IndexArray) -> tuple[IndexArray, IndexArray]:
    """Give each side of a sharp edge its own vertices, so that smooth shading keeps the edge.

    Two triangle corners at a vertex share a normal if a chain of faces around it, each within `CREASE_ANGLE` of the
    next, joins them. Returns triangles (t, 3) over the split vertices, and the vertex (m,) that each is a copy of.
    """
    normals = _unit(_area_vectors(points, triangles))
    corner_id = np.arange(triangles.size).reshape(-1, 3)
    starts: Any = corner_id.ravel()
    ends: Any = np.roll(corner_id, -1, axis=1).ravel()
    vertex = triangles.ravel()
    flip = vertex[starts] > vertex[ends]
    starts, ends = np.where(flip, ends, starts), np.where(flip, starts, ends)
    order = np.lexsort((vertex[ends], vertex[starts]))
    starts, ends = starts[order], ends[order]
    same = (vertex[starts[1:]] == vertex[starts[:-1]]) & (vertex[ends[1:]] == vertex[ends[:-1]])
    first, second = starts[:-1] // 3, starts[1:] // 3
    smooth = same & (np.einsum("ij,ij->i", normals[first], normals[second]) >= np.cos(CREASE_ANGLE))
    links = np.concatenate(
        [np.stack([starts[:-1], starts[1:]])[:, smooth], np.stack([ends[:-1], ends[1:]])[:, smooth]], axis=1
    )
    graph = coo_array((np.ones(links.shape[1], dtype=np.int8), (links[0], links[1])), shape=(vertex.size, vertex.size))
    count, label = connected_components(graph, directed=False)
    source = np.empty(count, dtype=np.int64)
    source[label] = vertex
    return label.reshape(-1, 3).astype(np.int64), source


def vertex_normals(points: FloatArray, triangles: IndexArray) -> FloatArray:
    """Unit normals of the vertices, area-weighted means of the faces around them, shape (n, 3)."""
    normals, areas = np.zeros_like(points), _area_vectors(points, triangles)
    for side in range(3):
        np.add.at(normals, triangles[:, side], areas)
    return _unit(normals)


def _area_vectors(points: FloatArray, triangles: IndexArray) -> FloatArray:
    a, b, c = (points[triangles[:, k]] for k in range(3))
    return np.asarray(np.cross(b - a, c - a))


def _unit(vectors: FloatArray) -> FloatArray:
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-300))


def _checked_triangles(name: str, triangles: IndexArray, vertex_count: int) -> IndexArray:
    array = np.asarray(triangles)
    if array.ndim != 2 or array.shape[1] != 3 or array.shape[0] == 0 or not np.issubdtype(array.dtype, np.integer):
        raise InputError(f"{name}triangles must be whole numbers of shape (t, 3), got {array.dtype} {array.shape}")
    if array.min() < 0 or array.max() >= vertex_count:
        raise InputError(
            f"{name}triangles must index the {vertex_count} vertices of frames, but span {array.min()} to {array.max()}"
        )
    return np.ascontiguousarray(array, dtype=np.int64)
