"""Many balls in a box: distant pairs are skipped, so that the cost of an event is at most linear in the ball count."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from pliant.core.checks import finite_array, positive, positive_count
from pliant.core.errors import InputError
from pliant.core.types import FloatArray
from pliant.hybrid.contact_laws import Restitution
from pliant.hybrid.system import Contact, HybridSystem


def balls_in_a_box(
    count: int = 100,
    *,
    radius: float = 0.02,
    mass: float = 0.05,
    size: Any = None,
    speed: float = 1.0,
    gravity: float = 9.81,
    restitution: Restitution | None = None,
    alpha: tuple[float, float, float] = (400.0, 40.0, 1e6),
    seed: int = 0,
) -> HybridSystem:
    """`count` smooth balls of `radius` (m) and `mass` (kg) in a box of `size` (3,) m, thrown at up to `speed` m/s.

    They start on a lattice with random velocities of the given `seed`. Without a `size` the balls fill 7 % of the box.
    Impacts follow `restitution`, by default Newton's law with 0.95. q (3·count,) m are the centres, ball by ball.
    """
    n, radius = positive_count("count", count), positive("radius", radius, unit="m")
    side = int(np.ceil(n ** (1.0 / 3.0)))
    box = finite_array("size", (4.0 * radius * side,) * 3 if size is None else size, shape=(3,))
    if (box < 2.0 * radius * side).any():
        raise InputError(f"a box of {box} m has no room for {side} balls of radius {radius:g} m on each side")
    cells = np.stack(np.meshgrid(*[np.arange(side)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)[:n]
    centers = (cells + 0.5) * box / side
    rng = np.random.default_rng(seed)
    pairs, walls = _Pairs(n, radius), _Walls(n, radius, box)
    bounce = restitution or Restitution(0.95)
    down = np.tile([0.0, 0.0, mass * gravity], n)
    shared: dict[str, Any] = {"alpha": alpha, "restitution": bounce, "moved": pairs.moved}
    shared["search_distance"] = 2.0 * radius
    return HybridSystem(
        q0=centers.ravel(),
        v0=rng.uniform(-speed, speed, 3 * n),
        mass=np.full(3 * n, positive("mass", mass, unit="kg")),
        bias=lambda q, v: down,
        constraints=(
            Contact("pair", pairs.gap, count=max(len(pairs), 1), rows=pairs.rows, near=pairs.near, **shared),
            Contact("wall", walls.gap, count=6 * n, rows=walls.rows, near=walls.near, **shared),
        )[n < 2 :],
        name=f"{n} balls in a box",
        details={"radius": radius, "size": box},
    )


class _Pairs:
    """Gaps |xᵢ − xⱼ| − 2r of all pairs i < j, indexed row by row of their triangle."""

    def __init__(self, count: int, radius: float) -> None:
        self.count, self.radius = count, radius
        i = np.arange(count)
        self._first = i * (2 * count - i - 1) // 2  # index of the pair (i, i + 1)

    def __len__(self) -> int:
        return self.count * (self.count - 1) // 2

    def ends(self, which: Any) -> tuple[Any, Any]:
        """The balls i < j of pairs."""
        i = np.searchsorted(self._first, which, side="right") - 1
        i = np.where(i >= self.count - 1, self.count - 2, i)
        return i, which - self._first[i] + i + 1

    def near(self, q: FloatArray, search_distance: float) -> Any:
        near_pairs = cKDTree(q.reshape(-1, 3)).query_pairs(2.0 * self.radius + search_distance, output_type="ndarray")
        near_pairs.sort(axis=1)
        return np.sort(self._first[near_pairs[:, 0]] + near_pairs[:, 1] - near_pairs[:, 0] - 1)

    def moved(self, q: FloatArray, then: FloatArray) -> float:
        d = (q - then).reshape(-1, 3)
        return 2.0 * float(np.sqrt(np.einsum("ij,ij->i", d, d).max()))

    def gap(self, q: Any, which: Any) -> Any:
        i, j = self.ends(which)
        d = q.reshape(-1, 3)[j] - q.reshape(-1, 3)[i]
        return np.sqrt((d * d).sum(axis=1)) - 2.0 * self.radius

    def rows(self, q: Any, v: Any, which: Any) -> tuple[Any, Any, Any]:
        i, j = self.ends(which)
        x, w = q.reshape(-1, 3), v.reshape(-1, 3)
        d, rate = x[j] - x[i], w[j] - w[i]
        length = np.sqrt((d * d).sum(axis=1))
        n = d / length[:, None]
        H = np.zeros((len(which), self.count, 3), n.dtype)
        H[np.arange(len(which)), i] = -n
        H[np.arange(len(which)), j] = n
        along = (n * rate).sum(axis=1)
        return length - 2.0 * self.radius, H.reshape(len(which), -1), ((rate * rate).sum(axis=1) - along**2) / length


class _Walls:
    """Gaps of balls to the six walls: rows 6·ball + 2·axis + side."""

    def __init__(self, count: int, radius: float, size: FloatArray) -> None:
        self.count, self.radius, self.size = count, radius, size

    def near(self, q: FloatArray, search_distance: float) -> Any:
        return np.flatnonzero(self.gap(q, np.arange(6 * self.count)) < search_distance)

    def gap(self, q: Any, which: Any) -> Any:
        coordinate, upper = which // 2, which % 2 == 1
        x = q[coordinate]
        return np.where(upper, self.size[coordinate % 3] - x, x) - self.radius

    def rows(self, q: Any, v: Any, which: Any) -> tuple[Any, Any, Any]:
        H = np.zeros((len(which), 3 * self.count))
        H[np.arange(len(which)), which // 2] = np.where(which % 2 == 1, -1.0, 1.0)
        return self.gap(q, which), H, np.zeros(len(which))
