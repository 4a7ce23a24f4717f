"""Penetration by brute force, without any code of the library: points of one solid inside the other one.

Samples of a surface are its nodes, the middles of its edges and the centres of its triangles. A sample is inside a
volume where it lies in one of its tetrahedra; its depth is the distance to the nearest triangle of the surface.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

CHUNK = 256
"""Samples that are compared with all tetrahedra at a time: a few MB of booleans."""
FACES = np.array([(0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2)])


@dataclass(frozen=True, eq=False)
class Solid:
    """Tetrahedra `cells` (m, 4), whose nodes stand at points (n, 3) m that are given with each question."""

    cells: np.ndarray

    @cached_property
    def triangles(self) -> np.ndarray:
        """Faces of one tetrahedron only, (t, 3)."""
        faces = self.cells[:, FACES].reshape(-1, 3)
        _, first, count = np.unique(np.sort(faces, axis=1), axis=0, return_index=True, return_counts=True)
        return np.asarray(faces[first[count == 1]])

    @cached_property
    def samples(self) -> np.ndarray:
        """Nodes of each sample (s, 3), repeated where it has fewer: its point is their mean with weight."""
        t = self.triangles
        edges = np.unique(np.sort(t[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1), axis=0)
        nodes = np.unique(t)
        return np.concatenate([np.repeat(nodes[:, None], 3, axis=1), edges[:, [0, 1, 1]], t])

    def sample_points(self, points: np.ndarray) -> np.ndarray:
        """Positions of the samples, (s, 3) m."""
        corners = points[self.samples]
        twice = self.samples[:, 1] == self.samples[:, 2]
        middle = 0.5 * (corners[:, 0] + corners[:, 1])
        return np.where(twice[:, None], middle, corners.mean(axis=1))

    def containing(self, points: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Pairs of a point of `x` (k, 3) and a tetrahedron that contains it: indices of both."""
        corners = points[self.cells]
        low, high = corners.min(axis=1), corners.max(axis=1)
        found = []
        for start in range(0, len(x), CHUNK):
            p = x[start : start + CHUNK, None]
            near = np.ones((len(p), len(self.cells)), bool)
            for axis in range(3):
                near &= (p[..., axis] >= low[:, axis]) & (p[..., axis] <= high[:, axis])
            point, cell = np.nonzero(near)
            found.append(np.column_stack([point + start, cell]))
        point, cell = np.concatenate(found).T if found else np.zeros((2, 0), int)
        origin = corners[cell, 0]
        edges = corners[cell, 1:] - origin[:, None]
        size = np.abs(np.linalg.det(edges))
        flat = size <= 1e-12 * np.abs(edges).max(axis=(1, 2), initial=1e-30) ** 3
        edges[flat] = np.eye(3)
        weights = np.linalg.solve(edges.transpose(0, 2, 1), (x[point] - origin)[..., None])[..., 0]
        inside = ~flat & (weights >= 0.0).all(axis=1) & (weights.sum(axis=1) <= 1.0)
        return point[inside], cell[inside]

    def depth(self, points: np.ndarray, x: np.ndarray) -> float:
        """Largest depth of the points `x` inside the solid at `points`, m; 0 where none is inside."""
        inside = np.unique(self.containing(points, x)[0])
        return max((float(_distances(x[k], points[self.triangles]).min()) for k in inside), default=0.0)

    def self_depth(self, points: np.ndarray) -> float:
        """Largest depth of a sample in tetrahedra that share no node with it, below triangles that share none, m."""
        x, deepest = self.sample_points(points), 0.0
        sample, cell = self.containing(points, x)
        own, others = self.samples[sample], self.cells[cell]
        apart = ~(own[:, :, None] == others[:, None, :]).any(axis=(1, 2))
        for k in np.unique(sample[apart]):
            strange = ~np.isin(self.triangles, self.samples[k]).any(axis=1)
            deepest = max(deepest, float(_distances(x[k], points[self.triangles[strange]]).min()))
        return deepest


@dataclass(frozen=True)
class Ball:
    """A ball of `radius` m about `center` (3,) m."""

    center: tuple[float, float, float]
    radius: float

    def depths(self, x: np.ndarray) -> np.ndarray:
        """Depth of the points `x` (k, 3), m, < 0 outside."""
        return np.asarray(self.radius - np.linalg.norm(x - np.asarray(self.center), axis=1))

    def surface(self) -> np.ndarray:
        """Points on the surface, (k, 3) m: a spiral of even density."""
        k = np.arange(200) + 0.5
        polar, angle = np.arccos(1.0 - 2.0 * k / 200), np.pi * (1.0 + 5.0**0.5) * k
        sine = np.sin(polar)
        return np.asarray(self.center) + self.radius * np.column_stack(
            [sine * np.cos(angle), sine * np.sin(angle), np.cos(polar)]
        )


@dataclass(frozen=True, eq=False)
class Block:
    """A box of `size` (3,) m about `center` (3,) m; `axes` (3, 3) are the columns of its rotation."""

    center: np.ndarray
    size: np.ndarray
    axes: np.ndarray | None = None

    def depths(self, x: np.ndarray) -> np.ndarray:
        """Depth of the points `x` (k, 3), m, ≤ 0 outside."""
        own = (x - np.asarray(self.center)) @ self._axes
        return np.asarray((0.5 * np.asarray(self.size) - np.abs(own)).min(axis=1))

    def surface(self) -> np.ndarray:
        """Points on the surface, (k, 3) m: a grid of 5 × 5 on each side."""
        line = np.linspace(-0.5, 0.5, 5)
        grid = np.stack(np.meshgrid(line, line, line, indexing="ij"), axis=-1).reshape(-1, 3)
        border = grid[(np.abs(grid) == 0.5).any(axis=1)]
        return np.asarray(np.asarray(self.center) + (border * np.asarray(self.size)) @ self._axes.T)

    @property
    def _axes(self) -> np.ndarray:
        return np.eye(3) if self.axes is None else self.axes


@dataclass(frozen=True)
class HalfSpace:
    """All points below the height `level`, m."""

    level: float

    def depths(self, x: np.ndarray) -> np.ndarray:
        """Depth of the points `x` (k, 3), m, < 0 outside."""
        return self.level - x[:, 2]

    def surface(self) -> np.ndarray:
        """None: a solid that stands in it has a node in it."""
        return np.zeros((0, 3))


def depth_in_shape(solid: Solid, points: np.ndarray, shape: Ball | Block | HalfSpace) -> float:
    """How deep a solid and a shape stand in each other, m; 0 apart."""
    own = float(shape.depths(solid.sample_points(points)).max())
    return max(0.0, own, solid.depth(points, shape.surface()))


def depth_of_solids(a: Solid, points_a: np.ndarray, b: Solid, points_b: np.ndarray) -> float:
    """How deep two solids stand in each other, m; 0 apart."""
    return max(b.depth(points_b, a.sample_points(points_a)), a.depth(points_a, b.sample_points(points_b)))


def _distances(p: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Distance of the point p (3,) to each of the triangles (t, 3, 3), m."""
    a, b, c = triangles.transpose(1, 0, 2)
    normal = np.cross(b - a, c - a)
    above = np.ones(len(triangles), bool)
    sides = np.full(len(triangles), np.inf)
    for u, v in ((a, b), (b, c), (c, a)):
        edge, arm = v - u, p - u
        above &= (np.cross(edge, arm) * normal).sum(axis=1) >= 0.0
        part = np.clip((arm * edge).sum(axis=1) / np.maximum((edge * edge).sum(axis=1), 1e-300), 0.0, 1.0)
        sides = np.minimum(sides, np.linalg.norm(arm - part[:, None] * edge, axis=1))
    height = np.abs(((p - a) * normal).sum(axis=1)) / np.maximum(np.linalg.norm(normal, axis=1), 1e-300)
    return np.where(above, height, sides)
