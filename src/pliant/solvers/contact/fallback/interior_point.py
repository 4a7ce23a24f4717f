"""Interior point for frictional contact: the method that needs no good start.

The laws are those of a second-order cone complementarity problem x ∈ L, s ∈ L, x · s = 0 in the Lorentz cone L, with
x = (μ r_n, r_t), s = (u_n/μ + ‖u_t‖, u_t) (Acary, Cadoux, Lemaréchal, Malick, "A formulation of the linear discrete
Coulomb friction problem via convex optimization", ZAMM 91, 2011). A path x ∘ s = τ e is followed to τ = 0 with
Nesterov–Todd scaling T x = s and Mehrotra's choice of τ, the term ‖u_t‖ being linearised along with the rest (as in
Acary, Armand, Nguyen, Shpakovych, "Second order cone programming for frictional contact mechanics using interior point
algorithm", Optimization Methods and Software 39, 2024). Each step solves

    (W̃ + T) dx = τ x⁻¹ − s(x),     W̃ = ∂s/∂x,

regular on redundant contacts, where the path ends in the middle of the solution set: the best start for `newton`.
A box has the barrier of its finite bounds, with one multiplier for each.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import lapack

from pliant.core.types import FloatArray, IndexArray
from pliant.solvers.contact.blocks import BlockProblem, Blocks, residual_of
from pliant.solvers.contact.budget import Budget

_J = np.array([1.0, -1.0, -1.0])
_TO_BOUNDARY = 0.95  # fraction of the step to the boundary that is taken: keeps x and s inside, and near the path


@dataclass(frozen=True, eq=False)
class _Point:
    """x (m,), s of the cones (c, 3), multipliers of the lower and upper bounds (b,)."""

    x: FloatArray
    s: FloatArray
    low: FloatArray
    high: FloatArray


def interior_point(
    problem: BlockProblem, *, tolerance: float, budget: Budget, steps: int = 60
) -> tuple[FloatArray, float]:
    """Follow the path of a scaled problem: the best r met and its residual."""
    path = _Path(problem)
    point = path.start()
    best, best_residual, short = path.forces(point), np.inf, 0
    for _ in range(steps):
        r = path.forces(point)
        residual = residual_of(problem, r)
        if residual < best_residual:
            best, best_residual = r, residual
        if residual <= tolerance or short >= 3 or budget.spent:
            break
        budget.take(1, len(r) ** 3 / 3.0 + 10.0 * len(r) ** 2)
        following = path.step(point)
        if following is None:
            break
        point, length = following
        short = short + 1 if length < 0.1 else 0
    return best, best_residual


class _Path:
    """The equations of the path, in x = D⁻¹ r and s = D u with D = 1/μ on normals."""

    def __init__(self, problem: BlockProblem) -> None:
        self.blocks: Blocks = problem.blocks
        self.rows: IndexArray = self.blocks.cones[:, None] + np.arange(3)
        self.D = np.ones(len(problem.q))
        self.D[self.blocks.cones] = 1.0 / self.blocks.mu
        self.W: FloatArray = self.D[:, None] * problem.W * self.D
        self.q: FloatArray = self.D * problem.q
        self.has_low = np.isfinite(self.blocks.lower)
        self.has_high = np.isfinite(self.blocks.upper)
        self.degree = max(1, len(self.rows) + int(self.has_low.sum() + self.has_high.sum()))

    def forces(self, point: _Point) -> FloatArray:
        return self.D * point.x

    def start(self) -> _Point:
        """x = s = e on cones; boxes one unit inside their bounds, or in the middle where there is less room."""
        b = self.blocks
        x = np.zeros(len(self.q))
        x[b.cones] = 1.0
        reach = np.minimum(1.0, 0.5 * (b.upper - b.lower))
        inside = np.where(self.has_low, b.lower + reach, np.where(self.has_high, b.upper - reach, 0.0))
        x[b.boxes] = np.where(self.has_low & self.has_high, np.clip(0.0, b.lower + reach, b.upper - reach), inside)
        s = np.zeros((len(self.rows), 3))
        s[:, 0] = 1.0
        return _Point(x, s, self.has_low.astype(float), self.has_high.astype(float))

    def step(self, point: _Point) -> tuple[_Point, float] | None:
        """One predictor–corrector step and its length; None where the linear system fails."""
        target, M = self._linearised(point.x)
        low, high = self._room(point.x)
        system = M.copy(order="F")
        self._add_scaling(system, point, low, high)
        lu, pivots, info = lapack.dgetrf(system, overwrite_a=1)
        if info:
            return None
        gap = self._gap(point)

        def move(tau: float, fraction: float) -> tuple[_Point, float]:
            dx, _ = lapack.dgetrs(lu, pivots, tau * self._inverse(point.x, low, high) - target)
            ds = (target + M @ dx)[self.rows] - point.s
            db = dx[self.blocks.boxes]
            change = _Point(
                dx, ds, (tau - point.low * db) * low - point.low, (tau + point.high * db) * high - point.high
            )
            length = min(1.0, fraction * self._longest(point, change, low, high))
            return _moved(point, change, length), length

        affine, _ = move(0.0, 0.99)
        centring = min(1.0, max((self._gap(affine) / gap) ** 3, 1e-4))
        moved, length = move(centring * gap, _TO_BOUNDARY)
        return (moved, length) if np.isfinite(moved.x).all() and self._gap(moved) > 0.0 else None

    def _linearised(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """s(x) on all rows, the box rows holding u, and its derivative."""
        target: FloatArray = self.W @ x + self.q
        tangential = target[self.rows[:, 1:]]
        slip = np.sqrt((tangential**2).sum(axis=1))
        target[self.blocks.cones] += slip
        along = tangential / np.maximum(slip, 1e-300)[:, None]
        M = self.W.copy()
        M[self.blocks.cones] += along[:, :1] * self.W[self.rows[:, 1]] + along[:, 1:] * self.W[self.rows[:, 2]]
        return target, M

    def _room(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """1/(x − lower) and 1/(upper − x) on the boxes: 0 for infinite bounds, ∞ where rounding reached one."""
        b = self.blocks
        with np.errstate(divide="ignore"):
            return 1.0 / (x[b.boxes] - b.lower), 1.0 / (b.upper - x[b.boxes])

    def _gap(self, p: _Point) -> float:
        low, high = self._room(p.x)
        bounds = (p.low / np.where(self.has_low, low, 1.0)).sum() + (p.high / np.where(self.has_high, high, 1.0)).sum()
        return float(((p.x[self.rows] * p.s).sum() + bounds) / self.degree)

    def _inverse(self, x: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
        """x⁻¹ in the algebra of the cones; the gradient of the barrier on boxes."""
        inverse = np.zeros_like(x)
        cone = x[self.rows]
        inverse[self.rows] = _J * cone / _determinant(cone)[:, None]
        inverse[self.blocks.boxes] = low - high
        return inverse

    def _add_scaling(self, system: FloatArray, point: _Point, low: FloatArray, high: FloatArray) -> None:
        T = _nesterov_todd(point.x[self.rows], point.s)
        for i in range(3):
            for j in range(3):
                system[self.rows[:, i], self.rows[:, j]] += T[:, i, j]
        boxes = self.blocks.boxes
        system[boxes, boxes] += point.low * low + point.high * high

    def _longest(self, p: _Point, d: _Point, low: FloatArray, high: FloatArray) -> float:
        """The longest step that stays in the cones and within the bounds."""
        boxes = d.x[self.blocks.boxes]
        rates = np.concatenate([-boxes * low, boxes * high, _rates(p.low, d.low), _rates(p.high, d.high)])
        fastest = float(rates.max(initial=1e-12))
        return min(1.0 / fastest, _to_boundary(p.x[self.rows], d.x[self.rows]), _to_boundary(p.s, d.s))


def _moved(p: _Point, d: _Point, length: float) -> _Point:
    return replace(
        p, x=p.x + length * d.x, s=p.s + length * d.s, low=p.low + length * d.low, high=p.high + length * d.high
    )


def _rates(value: FloatArray, change: FloatArray) -> FloatArray:
    rates: FloatArray = np.where(value > 0.0, -change / np.where(value > 0.0, value, 1.0), 0.0)
    return rates


def _determinant(x: FloatArray) -> FloatArray:
    """x₀² − ‖x₁‖², without cancellation near the boundary."""
    tangential = np.sqrt(x[:, 1] ** 2 + x[:, 2] ** 2)
    result: FloatArray = np.maximum((x[:, 0] - tangential) * (x[:, 0] + tangential), 1e-300)
    return result


def _nesterov_todd(x: FloatArray, s: FloatArray) -> FloatArray:
    """The symmetric T (c, 3, 3) of the scaling point, T x = s."""
    size_x, size_s = np.sqrt(_determinant(x)), np.sqrt(_determinant(s))
    x_bar, s_bar = x / size_x[:, None], s / size_s[:, None]
    half = np.sqrt(0.5 * (1.0 + (x_bar * s_bar).sum(axis=1)))
    w = (s_bar + _J * x_bar) / (2.0 * half[:, None])
    T: FloatArray = (size_s / size_x)[:, None, None] * (2.0 * w[:, :, None] * w[:, None, :] - np.diag(_J))
    return T


def _to_boundary(x: FloatArray, d: FloatArray) -> float:
    """The smallest t > 0 with x + t d on the boundary of its cone."""
    a = ((d * d) @ _J) if len(d) else np.zeros(0)
    b, c = (x * d) @ _J, _determinant(x)
    root = np.sqrt(np.maximum(b * b - a * c, 0.0))
    h = -(b + np.where(b >= 0.0, root, -root))
    with np.errstate(divide="ignore", invalid="ignore"):
        times = np.stack([h / a, c / h, -x[:, 0] / d[:, 0]])
    times[:2, b * b < a * c] = np.inf
    times[~(times > 0.0)] = np.inf
    return float(times.min(initial=np.inf))
