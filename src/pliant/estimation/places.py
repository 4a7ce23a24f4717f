"""Where on a surface a push explains the readings best, in the linear model about the present shape.

A push of size w at barycentric weights β of a triangle acts on its corners with w β. Where it presses along the normal,
w β ≥ 0 are three unknowns in which the readings are linear: each triangle has a least-squares problem with three
non-negative unknowns, solved by trying all seven sets of corners that may carry it. Where its direction is unknown
too, forces are compared at points that divide each triangle evenly, and the best ones are improved by alternating
between force and place.

    cost = ‖r − J w‖² + prior,      r: readings that forces have to explain, over their noise
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np

from pliant.core.types import FloatArray, IntArray
from pliant.estimation.loads import Skin

CORNERS = tuple(set_ for size in (1, 2, 3) for set_ in combinations(range(3), size))
"""Corners that carry a push: inside a triangle, on an edge, at a corner."""
IMPROVED, ROUNDS = 40, 30
"""Places whose force of any direction is improved, and how often."""


class Found(NamedTuple):
    """The best push in each of t triangles: its `cost` (t,), `weights` (t, 3) of the corners, and `force` (t, 3), N."""

    triangle: IntArray
    cost: FloatArray
    weights: FloatArray
    force: FloatArray

    def best(self) -> int:
        """Index of the least cost."""
        return int(np.argmin(self.cost))


def normal_pushes(J: FloatArray, r: FloatArray, inward: FloatArray, deviation: float) -> Found:
    """The best normal push in each triangle; J (t, 3, 3, s) are readings by corner and axis."""
    M = np.einsum("tcas,ta->tcs", J, inward)
    gram = np.einsum("tcs,tds->tcd", M, M) + 1.0 / deviation**2  # the prior is one of the sum of w
    right = M @ r
    t = len(M)
    cost, w = np.full(t, float(r @ r)), np.zeros((t, 3))
    for corners in CORNERS:
        own = np.array(corners)
        A = gram[:, own[:, None], own[None, :]]
        A = A + 1e-12 * np.trace(A, axis1=1, axis2=2)[:, None, None] * np.eye(len(own))
        x = np.linalg.solve(A, right[:, own, None])[:, :, 0]
        value = float(r @ r) - np.einsum("tc,tc->t", x, right[:, own])
        better = (x >= 0.0).all(axis=1) & (value < cost)
        cost[better] = value[better]
        w[better] = 0.0
        w[np.ix_(better, own)] = x[better]
    total = w.sum(axis=1)
    weights = np.where(total[:, None] > 0.0, w / np.where(total > 0.0, total, 1.0)[:, None], 1.0 / 3.0)
    return Found(np.arange(t, dtype=np.int32), cost, weights, total[:, None] * inward)


def any_pushes(J: FloatArray, r: FloatArray, inward: FloatArray, deviation: float, divisions: int) -> Found:
    """The best force of any direction into the body in each triangle, compared at `divisions`² points of it."""
    t, nothing = len(J), float(r @ r)
    best, weights, force = np.full(t, nothing), np.full((t, 3), 1.0 / 3.0), np.zeros((t, 3))
    for beta in lattice(divisions):
        cost, f = _forces(np.einsum("c,tcas->tas", beta, J), r, deviation)
        better = (cost < best) & (np.einsum("ta,ta->t", f, inward) > 0.0)
        best[better], force[better], weights[better] = cost[better], f[better], beta
    for k in np.argsort(best)[:IMPROVED]:
        if best[k] < nothing:
            best[k], weights[k], force[k] = _improved(J[k], r, inward[k], deviation, weights[k], force[k], best[k])
    return Found(np.arange(t, dtype=np.int32), best, weights, force)


def lattice(divisions: int) -> FloatArray:
    """Barycentric coordinates (divisions², 3) of the centres of equal parts of a triangle."""
    made, n = [], divisions
    for i in range(n):
        for j in range(n - i):
            made.append((i + 1 / 3, j + 1 / 3, n - i - j - 2 / 3))
            if j < n - i - 1:
                made.append((i + 2 / 3, j + 2 / 3, n - i - j - 4 / 3))
    return np.array(made) / n


def _forces(M: FloatArray, r: FloatArray, deviation: float) -> tuple[FloatArray, FloatArray]:
    """Costs (t,) and forces (t, 3) of least squares with M (t, 3, s)."""
    gram = np.einsum("tas,tbs->tab", M, M) + np.eye(3) / deviation**2
    right = M @ r
    f = np.linalg.solve(gram, right[:, :, None])[:, :, 0]
    return float(r @ r) - np.einsum("ta,ta->t", f, right), f


def _improved(
    J: FloatArray, r: FloatArray, inward: FloatArray, deviation: float, beta: FloatArray, force: FloatArray, cost: float
) -> tuple[float, FloatArray, FloatArray]:
    """Gauss–Newton over force and place within one triangle, J (3, 3, s)."""
    for _ in range(ROUNDS):
        by_force = np.einsum("c,cas->as", beta, J)
        across = np.einsum("cas,a->cs", J, force)
        by_place = np.stack([across[1] - across[0], across[2] - across[0]])
        M = np.vstack([by_force, by_place])
        prior = np.diag([1.0 / deviation**2] * 3 + [1e-12 * float((by_place**2).sum()) + 1e-300] * 2)
        left = r - force @ by_force
        gradient = M @ left - np.concatenate([force / deviation**2, np.zeros(2)])
        step = np.linalg.solve(M @ M.T + prior, gradient)
        size = 1.0
        while size > 1e-3:
            place = np.clip(beta[1:] + size * step[3:], 0.0, 1.0)
            place /= max(1.0, float(place.sum()))
            tried = np.array([1.0 - place.sum(), *place])
            found, f = _forces(np.einsum("c,cas->as", tried, J)[None], r, deviation)
            if found[0] < cost - 1e-9 and f[0] @ inward > 0.0:
                break
            size *= 0.5
        else:
            return cost, beta, force
        cost, beta, force = float(found[0]), tried, f[0]
    return cost, beta, force


def divided(skin: Skin, resolution: float | None) -> int:
    """Parts into which the edges of triangles are divided for a `resolution`, m; None: a fiftieth of the body."""
    corners = skin.model.rest[skin.triangles]
    edge = float(np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max())
    return min(max(1, int(np.ceil(edge / (resolution or skin.length / 50.0)))), 8)
