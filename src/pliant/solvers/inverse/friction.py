"""The inverse problem with Coulomb friction on the true cone, by linearised pieces that the forward law checks.

Contacts have rows (normal, tangent, tangent). With x imposed the forward law gives contact forces y(x), and the cost
J(x) = ½‖E_a x + E_c y(x) + e‖² + ½ xᵀG x is smooth where every contact keeps its state:

    open    y = 0,                       valid while w_n ≥ 0
    stick   w = 0,                       valid while ‖y_t‖ ≤ μ y_n: cuts t · y_t ≤ μ y_n, added until satisfied
    slip    w_n = 0, y_t = −μ y_n d      with d = w_t/‖w_t‖, valid while y_n ≥ 0 and d · w_t ≥ 0.

Slip is not affine in x, so its equations, d included, are linearised at the current point; with that, y is affine in x
and a QP gives a step. J is then evaluated by the forward solver at the new x and the step shortened until J falls: what
is reported is always a solution of the forward law. Where no step helps, contacts at the boundary of their state are
flipped one at a time. The end is stationary on its piece and on those one flip away; the pieces of the true cone are
not convex, so no stronger statement is made (`facets` makes one, for a pyramid).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from pliant.core.checks import finite_array, positive, positive_count
from pliant.core.errors import ConvergenceError, InfeasibleError
from pliant.core.threads import one_blas_thread
from pliant.core.types import FloatArray, IntArray
from pliant.solvers.contact import Law, MixedProblem, solve
from pliant.solvers.contact.blocks import Blocks, natural_map
from pliant.solvers.inverse.facets import friction_of
from pliant.solvers.inverse.problem import QpccProblem, ScaledProblem, scaled_problem
from pliant.solvers.inverse.quadratic import FREE, solve_scaled
from pliant.solvers.inverse.result import QpccResult, QpccStatus

OPEN, STICK, SLIP = 0, 1, 2
_FORWARD = 1e-11  # relative residual of the forward law
_ACCEPTED = 1e-8  # the same where the forward solver does not get to it: still below what counts as a limit violated
_EACH = 2000  # iterations of one forward solve; 10 to 100 are usual
_PER_QP = 40  # iterations of forward solves, all together, for each QP that is allowed
_BETTER = 1e-11  # the least fall of the scaled cost that counts
_EDGE = 1e-7  # scaled slips and gaps below this are zero: well above the residual of the forward law
_LIMITS = 1e-8  # largest violation of a scaled limit in an answer, as for QPs without friction
_PENALTY = 1e3  # weight of violated limits in the merit: large against scaled multipliers, of the order of one
_CUTS = 12  # rounds of tangent cuts of the sticking cones; they converge quadratically


@dataclass(frozen=True, eq=False)
class _Point:
    """x with the contact forces y and slips w of the forward law, all scaled; the cost, and the violation of rows."""

    x: FloatArray
    y: FloatArray
    w: FloatArray
    cost: float
    violation: float

    @property
    def merit(self) -> float:
        return self.cost + _PENALTY * self.violation


def solve_frictional(
    problem: QpccProblem, mu: Any, *, warm: FloatArray | QpccResult | None = None, maximum_iterations: int = 500,
    seconds: float | None = None,
) -> QpccResult:  # fmt: skip
    """A stationary point with friction on the true cone; y and w (3n,) obey the forward law at x to 1e-10.

    The contacts of `problem` have three rows each; mu is a number or (n,). Status `ONE_FLIP` or `LIMIT`: at most
    `maximum_iterations` QPs are solved, forward solves take 40 iterations for each of them at most, and `seconds` of
    time where given; the best point is then the answer. Raises `ConvergenceError`, with that point in `result`, where
    the forward law was not met at the start or limited rows stay violated; that these cannot be met is never claimed.
    """
    limit = positive_count("maximum_iterations", maximum_iterations)
    deadline = np.inf if seconds is None else perf_counter() + positive("seconds", seconds, unit="s")
    search = _Search(problem, friction_of(mu, problem), limit, deadline)
    with one_blas_thread():
        x: FloatArray = np.zeros(search.p.na)
        if warm is not None:
            given = warm.x if isinstance(warm, QpccResult) else warm
            x = finite_array("warm", given, shape=(problem.actuator_count,)) / search.p.D_a
        status = search.run(x)
    result = search.result(status)
    if result.residual > 1e3 * _ACCEPTED and search.at.violation <= _LIMITS:
        raise ConvergenceError(
            f"the contact forces at the first actuation miss their law by {result.residual:.2g}, so there is nothing "
            "to start from: give another `warm`, or move the bodies apart",
            result=result,
        )
    if search.at.violation > _LIMITS:
        raise ConvergenceError(
            f"limited rows stay violated by {search.at.violation:.2g} of their scale after {search.solved} QPs: they "
            "contradict the contacts near this start; loosen displacement_lower/upper or give another `warm`",
            result=result,
        )
    return result


class _Search:
    """The iteration: a current point of the forward law, improved by steps of linearised pieces."""

    def __init__(self, problem: QpccProblem, mu: FloatArray, limit: int, deadline: float) -> None:
        self.problem = problem
        self.p: ScaledProblem = scaled_problem(problem, rows_per_contact=3)
        self.mu = mu
        self.limit, self.deadline = limit, deadline
        self.solved = 0
        self.left = _PER_QP * limit
        """Iterations of forward solves that are left."""
        self.at: _Point
        self.path: list[tuple[tuple[int, ...], FloatArray]] = []
        na = self.p.na
        self.C, self.c = self.p.Q[:, :na], self.p.Q[:, na]
        self.low, self.high = self.p.lower[:na], self.p.upper[:na]

    @property
    def spent(self) -> bool:
        """Whether no QP, no forward iteration or no time is left."""
        return self.solved >= self.limit or self.left <= 0 or perf_counter() >= self.deadline

    def run(self, x: FloatArray) -> QpccStatus:
        """Improve until nothing helps."""
        x = np.clip(x, self.low, self.high)
        start = self.forward(x, None, accepted=np.inf)
        if start is None:
            raise ConvergenceError(
                "no contact forces were found at the first actuation, so there is nothing to start from: give another "
                "`warm`, or move the bodies apart"
            )
        self.at = start
        if _law_residual(start.y, start.w, self.mu) > 1e3 * _ACCEPTED:
            return QpccStatus.LIMIT
        while not self.spent:
            states = self.states(self.at)
            self.path.append((tuple(int(i) for i in np.flatnonzero(states)), self.at.x))
            better = next((point for point in self.trials(states) if point is not None), None)
            if better is None:
                return QpccStatus.LIMIT if self.spent else QpccStatus.ONE_FLIP
            self.at = better
        return QpccStatus.LIMIT

    def trials(self, states: IntArray) -> Iterator[_Point | None]:
        """Steps in the current piece, then with one contact on its boundary flipped."""
        yield self.step(states, None)
        for i, other, direction in self.flips(states):
            if self.spent:
                return
            flipped = states.copy()
            flipped[i] = other
            yield self.step(flipped, (i, direction))

    def forward(self, x: FloatArray, guess: FloatArray | None, accepted: float = _ACCEPTED) -> _Point | None:
        """The forward law at x, None where it has no solution or it is missed by more than `accepted`."""
        p = self.p
        y: FloatArray = np.zeros(0)
        w: FloatArray = np.zeros(0)
        if p.nc:
            mixed = MixedProblem(
                p.W, self.C @ x + self.c, np.full(p.nc, int(Law.COULOMB), np.int32), np.repeat(self.mu, 3),
                np.full(p.nc, -np.inf), np.full(p.nc, np.inf), np.zeros(p.nc),
            )  # fmt: skip
            try:
                limit = max(1, min(self.left, _EACH))
                solution = solve(mixed, guess, tolerance=_FORWARD, maximum_iterations=limit, quick=True)
            except InfeasibleError:
                self.left -= _EACH // 10
                return None
            except ConvergenceError as error:
                if error.result is None:
                    return None
                solution = error.result
            self.left -= solution.iterations
            if not solution.residual <= accepted:
                return None
            y, w = solution.lam, solution.delta
        rest = p.E[:, : p.na] @ x + p.Ec @ y + p.E[:, p.na]
        rows = p.R[:, : p.na] @ x + p.Rc @ y
        low, high = p.lower[p.na :], p.upper[p.na :]
        violation = float(np.maximum(low - rows, rows - high).max(initial=0.0))
        return _Point(x, y, w, float(0.5 * rest @ rest + 0.5 * x @ p.G @ x), max(violation, 0.0))

    def states(self, at: _Point) -> IntArray:
        """The state (n,) of each contact at a point of the forward law."""
        y, w = at.y.reshape(-1, 3), at.w.reshape(-1, 3)
        sliding = np.linalg.norm(w[:, 1:], axis=1) > _EDGE
        touching = (y[:, 0] > _EDGE * 1e-2) & (w[:, 0] <= _EDGE)
        return np.where(touching, np.where(sliding, SLIP, STICK), OPEN).astype(np.int32)

    def flips(self, states: IntArray) -> Iterator[tuple[int, int, FloatArray]]:
        """(contact, other state, slip direction) for contacts near the boundary of their state."""
        y, w = self.at.y.reshape(-1, 3), self.at.w.reshape(-1, 3)
        for i, state in enumerate(states):
            pull, slip = np.linalg.norm(y[i, 1:]), np.linalg.norm(w[i, 1:])
            along = w[i, 1:] / slip if slip > 0.0 else np.array([1.0, 0.0])
            edge = 1e-5
            if state == OPEN and w[i, 0] <= edge:
                yield i, STICK, along
                for sign in (1.0, -1.0):
                    yield i, SLIP, sign * along
            elif state == STICK:
                if pull >= self.mu[i] * y[i, 0] - edge and pull > 0.0:
                    yield i, SLIP, -y[i, 1:] / pull
                if y[i, 0] <= edge:
                    yield i, OPEN, along
            elif state == SLIP:
                if slip <= edge:
                    yield i, STICK, along
                if y[i, 0] <= edge:
                    yield i, OPEN, along

    def step(self, states: IntArray, flipped: tuple[int, FloatArray] | None) -> _Point | None:
        """The best forward point along the step of a piece, None where the merit does not fall."""
        target = self.piece_minimum(states, flipped)
        if target is None:
            return None
        move = target - self.at.x
        if np.abs(move).max(initial=0.0) <= 1e-13:
            return None
        fraction = 1.0
        while fraction > 1e-4 and not self.spent:
            trial = self.forward(self.at.x + fraction * move, self.at.y)
            if trial is not None and trial.merit < self.at.merit - _BETTER:
                return trial
            fraction *= 0.4
        return None

    def piece_minimum(self, states: IntArray, flipped: tuple[int, FloatArray] | None) -> FloatArray | None:
        """x at the minimum of the linearised piece, cuts added until no stick leaves its cone."""
        p, at = self.p, self.at
        affine = self.linearized(states, flipped)
        if affine is None:
            return None
        y0, Y = affine  # y = y0 + Y (x − x_at)
        y0 = y0 - Y @ at.x
        w0, Z = self.c + p.W @ y0, self.C + p.W @ Y
        E, e = p.E[:, : p.na] + p.Ec @ Y, p.E[:, p.na] + p.Ec @ y0
        R, r = p.R[:, : p.na] + p.Rc @ Y, p.Rc @ y0
        rows, least = self.validity(states, flipped, y0, Y, w0, Z)
        stick = np.flatnonzero(states == STICK)
        low, high = p.lower[p.na :], p.upper[p.na :]
        H, f = E.T @ E + p.G, E.T @ e
        for _ in range(_CUTS):
            if self.solved >= self.limit:
                return None
            A = np.vstack([R, *rows]) if rows else R
            lower = np.concatenate([self.low, np.where(low > -FREE, low - r, -FREE), least])
            upper = np.concatenate([self.high, np.where(high < FREE, high - r, FREE), np.full(len(least), FREE)])
            self.solved += 1
            x, _, flag, _ = solve_scaled(H, f, np.ascontiguousarray(A), lower, upper)
            if flag != 1:
                return None
            y = (y0 + Y @ x).reshape(-1, 3)
            added = 0
            for i in stick:
                pull = float(np.linalg.norm(y[i, 1:]))
                if pull > self.mu[i] * y[i, 0] + 1e-9:
                    cut = np.concatenate([[self.mu[i]], -y[i, 1:] / pull])
                    rows.append(cut @ Y[3 * i : 3 * i + 3])
                    least.append(float(-cut @ y0[3 * i : 3 * i + 3]))
                    added += 1
            if not added:
                break
        return x

    def validity(
        self, states: IntArray, flipped: tuple[int, FloatArray] | None, y0: FloatArray, Y: FloatArray, w0: FloatArray,
        Z: FloatArray,
    ) -> tuple[list[FloatArray], list[float]]:  # fmt: skip
        """Rows a and bounds b with a · x ≥ b that keep every contact in its state."""
        rows: list[FloatArray] = []
        least: list[float] = []
        for i, state in enumerate(states):
            n = 3 * i
            if state == OPEN:
                rows.append(Z[n])
                least.append(float(-w0[n]))
                continue
            rows.append(Y[n])
            least.append(float(-y0[n]))
            if state == SLIP:
                d = self.direction(i, flipped)
                rows.append(d @ Z[n + 1 : n + 3])
                least.append(float(-d @ w0[n + 1 : n + 3]))
        return rows, least

    def direction(self, i: int, flipped: tuple[int, FloatArray] | None) -> FloatArray:
        """The slip direction of contact i."""
        if flipped is not None and flipped[0] == i:
            return flipped[1]
        slip = self.at.w[3 * i + 1 : 3 * i + 3]
        return slip / max(float(np.linalg.norm(slip)), 1e-300)

    def linearized(
        self, states: IntArray, flipped: tuple[int, FloatArray] | None
    ) -> tuple[FloatArray, FloatArray] | None:
        """y at the current x and its derivative (nc, na), from the linearised equations of every state."""
        p, at = self.p, self.at
        J, K, rest = np.eye(p.nc), np.zeros((p.nc, p.na)), at.y.copy()
        for i, state in enumerate(states):
            n, t = 3 * i, slice(3 * i + 1, 3 * i + 3)
            if state == OPEN:
                continue
            J[n], K[n], rest[n] = p.W[n], self.C[n], at.w[n]
            if state == STICK:
                J[t], K[t], rest[t] = p.W[t], self.C[t], at.w[t]
                continue
            d = self.direction(i, flipped)
            slip = float(np.linalg.norm(at.w[t]))
            turn = (np.eye(2) - np.outer(d, d)) * (self.mu[i] * at.y[n] / slip if slip > _EDGE else 0.0)
            J[t] += turn @ p.W[t]
            J[t, n] += self.mu[i] * d
            K[t] = turn @ self.C[t]
            rest[t] = at.y[t] + self.mu[i] * at.y[n] * d
        change: Any = np.linalg.lstsq(J, np.column_stack([-rest, -K]), rcond=1e-12)[0]
        if not np.isfinite(change).all():
            return None
        return at.y + change[:, 0], change[:, 1:]

    def result(self, status: QpccStatus) -> QpccResult:
        """The answer in the caller's units."""
        p, at = self.p, self.at
        x = np.clip(p.D_a * at.x, self.problem.x_lower, self.problem.x_upper)
        y = p.D_y * at.y
        w = self.problem.gaps(x, y)
        residual = max(_law_residual(at.y, w * p.D_w, self.mu), at.violation)
        return QpccResult(
            x=x, y=y, w=w, objective=self.problem.objective(x, y), lower_bound=-np.inf, status=status,
            residual=residual, iterations=self.solved, active=np.repeat(self.states(at) != OPEN, 3),
            path=tuple((contacts, p.D_a * where) for contacts, where in self.path),
        )  # fmt: skip


def _law_residual(y: FloatArray, w: FloatArray, mu: FloatArray) -> float:
    """Largest entry of y − P_K(y − w − μ‖w_t‖e_n) over the contacts."""
    cones = Blocks(3 * np.arange(len(mu)), mu, np.zeros(0, np.int64), np.zeros(0), np.zeros(0))
    rest = np.zeros_like(y)
    natural_map(y, w, cones, rest)
    return float(np.abs(rest).max(initial=0.0))
