"""The cost of an inverse problem with contacts over two actuators, piece by piece.

For imposed actuator forces x the contact problem has one solution, so the cost is a function c(x): a quadratic on each
polygon P_I of actuations with the same touching contacts. The polygons cover the plane. One is found by solving the
contacts at a point, cut out exactly by the half-planes y_I(x) ≥ 0 and w(x) ≥ 0, and its neighbours by stepping over its
edges (Coevoet, Escande, Duriez, "Optimization-based inverse model of soft robots with contact handling", IEEE RA-L
2017, III.E and figures 2 and 3).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pliant.core.checks import finite_array, positive_count
from pliant.core.errors import CapacityError, InputError
from pliant.core.types import BoolArray, FloatArray, IndexArray
from pliant.solvers.inverse.descent import descend
from pliant.solvers.inverse.pieces import Piece
from pliant.solvers.inverse.problem import QpccProblem, ScaledProblem, scaled_problem
from pliant.solvers.inverse.start import touching_at

_BEYOND = 1e-7  # distance beyond an edge at which the neighbour is located, relative to the window
_SAME = 1e-6  # minima closer than this fraction of the window are one
_REDUNDANT = 1e-11  # sums that cancel below this fraction of their terms are zero
_PIECES = 5000  # more cannot be told apart in a picture


@dataclass(frozen=True, eq=False)
class LandscapePiece:
    """The actuations with the same touching contacts, and the contact forces there.

    `active` are the touching contacts; `polygon` (k, 2) in N lists the corners of P_I within the window, anticlockwise;
    `allowed` (k, 2) in N is the part of it that satisfies the limited rows, empty where none does. Contact forces are
    y = Y (x, 1), Y (nc, 3).
    """

    active: tuple[int, ...]
    polygon: FloatArray
    allowed: FloatArray
    Y: FloatArray


@dataclass(frozen=True, eq=False)
class Landscape:
    """The cost over a window of two actuators.

    `lower` and `upper` (2,) in N bound the window. `x1` (n,) and `x2` (n,) in N span the grid on which `cost` (n, n) in
    m² is given, cost[i, j] at (x1[j], x2[i]), and `piece` (n, n) is the index into `pieces` there. `minima` (k, 2) in N
    are the local minima within limits and `values` (k,) in m² their costs, the least first: the first is the global
    minimum of the window. `minima` is empty where no actuation of the window satisfies the limits.
    """

    lower: FloatArray
    upper: FloatArray
    pieces: tuple[LandscapePiece, ...]
    x1: FloatArray
    x2: FloatArray
    cost: FloatArray
    piece: IndexArray
    minima: FloatArray
    values: FloatArray


def cost_landscape(problem: QpccProblem, *, lower: Any = None, upper: Any = None, resolution: int = 161) -> Landscape:
    """Pieces, costs and minima of a frictionless problem with two actuators.

    The window is `lower` to `upper` (2,) in N, by default the bounds of x, which must then be finite. The grid has
    `resolution` points a side. Raises `InputError` where the contacts cannot be kept open somewhere in the window.
    """
    if problem.actuator_count != 2:
        raise InputError(f"a landscape is drawn over 2 actuators, but the problem has {problem.actuator_count}")
    count = positive_count("resolution", resolution)
    low = finite_array("lower", problem.x_lower if lower is None else lower, shape=(2,))
    high = finite_array("upper", problem.x_upper if upper is None else upper, shape=(2,))
    if not (low < high).all():
        raise InputError(f"the window must not be empty, got {low} to {high}")
    flood = _Flood(problem, low, high)
    flood.run()
    x1, x2 = np.linspace(low[0], high[0], count), np.linspace(low[1], high[1], count)
    cost, index = _on_grid(problem, flood.pieces, x1, x2)
    minima, values = flood.minima()
    return Landscape(low, high, tuple(flood.pieces), x1, x2, cost, index, minima, values)


@dataclass(eq=False)
class _Flood:
    """All pieces of a window, from that of its centre over the edges."""

    problem: QpccProblem
    low: FloatArray
    high: FloatArray
    pieces: list[LandscapePiece] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.scaled: ScaledProblem = scaled_problem(self.problem)
        self.locator = Piece(self.scaled)
        self.window: FloatArray = np.array(
            [self.low, [self.high[0], self.low[1]], self.high, [self.low[0], self.high[1]]]
        )

    def run(self) -> None:
        """Fill `pieces`."""
        waiting = [0.5 * (self.low + self.high), *(self.window + 1e-3 * (self.window[[2, 3, 0, 1]] - self.window))]
        seen: set[bytes] = set()
        while waiting:
            point = waiting.pop()
            if any(self.covers(piece, point) for piece in self.pieces):  # redundant contacts: one set of them is enough
                continue
            active = self.touching(point)
            if active.tobytes() in seen:
                continue
            seen.add(active.tobytes())
            piece = self.piece(active)
            if len(piece.polygon) < 3:
                continue
            if len(self.pieces) == _PIECES:
                raise CapacityError(f"the window has more than {_PIECES} pieces: choose a smaller one")
            self.pieces.append(piece)
            waiting.extend(self.beyond(piece.polygon))

    def covers(self, piece: LandscapePiece, x: FloatArray) -> bool:
        return bool(_inside(piece.polygon, x, self.high - self.low))

    def touching(self, x: FloatArray) -> BoolArray:
        active = touching_at(self.locator, x / self.scaled.D_a, None)
        if active is None:
            raise InputError(f"no contact forces keep the gaps open at x = {x}: choose another window")
        return active

    def piece(self, active: BoolArray) -> LandscapePiece:
        """The polygon of a set of touching contacts, and its contact forces."""
        p = self.problem
        Y = contact_map(p, active)
        right = np.column_stack([p.C_a, p.c])
        gaps = right + p.W_cc @ Y
        gaps[np.abs(gaps) <= _REDUNDANT * (np.abs(right) + np.abs(p.W_cc) @ np.abs(Y))] = 0.0  # cancellation
        polygon = self.clipped(self.window, np.vstack([Y[active], gaps[~active]]))
        rows = np.column_stack([p.R_a, p.r]) + p.R_c @ Y
        one = np.array([0.0, 0.0, 1.0])
        below, above = np.isfinite(p.row_lower), np.isfinite(p.row_upper)
        limits = [rows[below] - np.outer(p.row_lower[below], one), np.outer(p.row_upper[above], one) - rows[above]]
        allowed = self.clipped(polygon, np.vstack(limits)) if len(polygon) else polygon
        return LandscapePiece(tuple(int(i) for i in np.flatnonzero(active)), polygon, allowed, Y)

    def clipped(self, polygon: FloatArray, half_planes: FloatArray) -> FloatArray:
        """The part of a convex polygon (k, 2) with a · (x, 1) ≥ 0 for every row a (m, 3)."""
        span = self.high - self.low
        for a in half_planes:
            turn = float(np.abs(a[:2] * span).max())
            if turn <= 1e-10 * abs(float(a[2])) or turn == 0.0:  # does not depend on x
                continue
            side = (polygon @ a[:2] + a[2]) / turn
            polygon = _cut(polygon, side)
            if not len(polygon):
                break
        return polygon

    def beyond(self, polygon: FloatArray) -> list[FloatArray]:
        """A point of the window just outside each edge."""
        span = self.high - self.low
        following = np.roll(polygon, -1, axis=0)
        edge = (following - polygon) / span
        length = np.linalg.norm(edge, axis=1, keepdims=True)
        outward = np.column_stack([edge[:, 1], -edge[:, 0]]) / np.maximum(length, 1e-300)
        points = 0.5 * (polygon + following) + _BEYOND * outward * span
        inside = ((points >= self.low) & (points <= self.high)).all(axis=1) & (length[:, 0] > 1e-9)
        return list(points[inside])

    def minima(self) -> tuple[FloatArray, FloatArray]:
        """Local minima of the window and their costs: where the descents from every piece end."""
        p = self.problem
        scaled = scaled_problem(p)
        bounds = [np.maximum(p.x_lower, self.low), np.minimum(p.x_upper, self.high)]
        scaled.lower[:2], scaled.upper[:2] = bounds[0] / scaled.D_a, bounds[1] / scaled.D_a
        points: list[tuple[float, FloatArray]] = []
        for piece in self.pieces:
            solver = Piece(scaled)
            active = np.zeros(scaled.nc, np.bool_)
            active[list(piece.active)] = True
            solver.set(active)
            start = solver.minimum()
            if start is not None:
                end = descend(solver, start, limit=1000).point
                points.append((end.cost * scaled.cost, np.clip(scaled.D_a * end.x, *bounds)))
        points.sort(key=lambda item: item[0])
        kept: list[tuple[float, FloatArray]] = []
        for value, x in points:
            if all(np.abs((x - other) / (self.high - self.low)).max() > _SAME for _, other in kept):
                kept.append((value, x))
        return np.array([x for _, x in kept]).reshape(-1, 2), np.array([value for value, _ in kept])


def contact_map(problem: QpccProblem, active: BoolArray) -> FloatArray:
    """Y (nc, na + 1) in N with y = Y (x, 1) where exactly `active` (nc,) touch; redundant ones share their force."""
    right = np.column_stack([problem.C_a, problem.c])
    Y = np.zeros_like(right)
    touching = np.flatnonzero(active)
    if len(touching):
        W = problem.W_cc[np.ix_(touching, touching)]
        Y[touching] = -np.linalg.lstsq(W, right[touching], rcond=1e-12)[0]
    return Y


def _cut(polygon: FloatArray, side: FloatArray) -> FloatArray:
    """The corners of a convex polygon where `side` (k,) is ≥ 0, with the crossings of its edges."""
    corners = []
    for a in range(len(polygon)):
        b = (a + 1) % len(polygon)
        if side[a] >= 0.0:
            corners.append(polygon[a])
        if side[a] * side[b] < 0.0:
            fraction = side[a] / (side[a] - side[b])
            corners.append(polygon[a] + fraction * (polygon[b] - polygon[a]))
    return np.array(corners) if len(corners) > 2 else np.zeros((0, 2))


def _inside(polygon: FloatArray, X: FloatArray, span: FloatArray) -> BoolArray:
    """Which points X (…, 2) lie in a convex polygon, anticlockwise, or on its edges."""
    edge = (np.roll(polygon, -1, axis=0) - polygon) / span
    away = (X[..., None, :] - polygon) / span
    inside: BoolArray = np.all(edge[:, 0] * away[..., 1] - edge[:, 1] * away[..., 0] >= -1e-12, axis=-1)
    return inside


def _on_grid(
    problem: QpccProblem, pieces: list[LandscapePiece], x1: FloatArray, x2: FloatArray
) -> tuple[FloatArray, IndexArray]:
    """Cost and index of the piece at every point of the grid."""
    X = np.stack(np.meshgrid(x1, x2), axis=-1)
    span = np.array([x1[-1] - x1[0], x2[-1] - x2[0]])
    cost, index = np.full(X.shape[:2], np.nan), np.full(X.shape[:2], -1, np.int64)
    for k, piece in enumerate(pieces):
        inside = _inside(piece.polygon, X, span) & (index < 0)
        x = X[inside]
        y = x @ piece.Y[:, :2].T + piece.Y[:, 2]
        rest = x @ problem.E_a.T + y @ problem.E_c.T + problem.e
        cost[inside] = 0.5 * (rest**2).sum(axis=1) + 0.5 * ((x @ problem.G) * x).sum(axis=1)
        index[inside] = k
    return cost, index
