"""Quadratic programs with complementarity constraints: which forces bring a robot that touches things to a target.

    minimise ½‖E_a x + E_c y + e‖² + ½ xᵀG x   subject to limits of x and of rows, and 0 ≤ y ⊥ C_a x + W_cc y + c ≥ 0.

Each choice of touching contacts is a convex piece; `solve_qpcc` walks from piece to piece (`descent`) and can go on to
the global minimum (`branch_and_bound`). Coevoet, Escande, Duriez, "Optimization-based inverse model of soft robots with
contact handling", IEEE RA-L 2017.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.core.checks import finite_array, non_negative, number_array, positive_count, shown
from pliant.core.declared import declared
from pliant.core.errors import ConvergenceError, InputError
from pliant.core.threads import one_blas_thread
from pliant.core.types import BoolArray, FloatArray
from pliant.solvers.inverse.branch_and_bound import BETTER, branch
from pliant.solvers.inverse.descent import Descent, descend
from pliant.solvers.inverse.energy import energy_weight as energy_weight_of
from pliant.solvers.inverse.pieces import Piece, PiecePoint
from pliant.solvers.inverse.problem import QpccProblem, ScaledProblem, measure, scaled_problem
from pliant.solvers.inverse.quadratic import FREE
from pliant.solvers.inverse.result import QpccResult, QpccStatus
from pliant.solvers.inverse.start import first_point, touching_at
from pliant.solvers.inverse.without_contacts import solve_without_contacts

_STARTS = 4  # other actuations that the search for a global minimum starts from


def solve_qpcc(
    problem: QpccProblem, *, warm: FloatArray | QpccResult | None = None, pressed: FloatArray | None = None,
    globalize: bool = False, maximum_iterations: int = 500, node_limit: int = 200_000,
) -> QpccResult:  # fmt: skip
    """A local minimum near `warm`, or with `globalize` the global one.

    `warm` is the last actuation x (na,) in N (default zero), or the last result, whose piece is tried first; `pressed`
    are the last contact forces y (nc,) in N, 0 for new contacts, and say the piece likewise. At most
    `maximum_iterations` QPs are solved on the way down. With `globalize`, branch and bound over the contacts starts
    from the best of several local minima and stops after `node_limit` relaxations, with the gap it has proved; up to
    about 16 contacts it ends quickly. Raises `InfeasibleError` where no forces satisfy all limits, `ConvergenceError`
    where none were found within `maximum_iterations` QPs and none excluded, with the point of the least violation in
    `result`.
    """
    limit = positive_count("maximum_iterations", maximum_iterations)
    nodes = positive_count("node_limit", node_limit)
    if not problem.contact_count and (found := solve_without_contacts(problem)) is not None:
        return found
    scaled = scaled_problem(problem)
    x, guess = _warm(problem, scaled, warm, pressed)
    piece = Piece(scaled)
    with one_blas_thread():
        try:
            point, first = first_point(piece, x, guess, limit=limit)
        except ConvergenceError as error:
            if isinstance(error.result, PiecePoint):
                nearest = Descent(error.result, QpccStatus.LIMIT, limit)
                error.result = _result(problem, scaled, nearest, -np.inf)
            raise
        end = descend(piece, point, limit=limit)
        end.iterations += first - 1
        bound = -np.inf
        if globalize:
            end, bound = _global(scaled, end, limit, nodes)
        elif not scaled.nc and end.status is QpccStatus.LOCAL:
            bound, end.status = end.point.cost, QpccStatus.GLOBAL
    return _result(problem, scaled, end, bound)


@declared
def qpcc(
    *, W_ea: Any, W_aa: Any, delta_e: Any, W_ec: Any = None, W_ac: Any = None, W_cc: Any = None, delta_a: Any = None,
    delta_c: Any = None, force_lower: Any = -np.inf, force_upper: Any = np.inf, displacement_lower: Any = -np.inf,
    displacement_upper: Any = np.inf, energy_weight: float | None = None, mu: Any = None, facets: int | None = None,
    globalize: bool = False, warm: Any = None, maximum_iterations: int = 500, node_limit: int = 200_000,
    seconds: float | None = None,
) -> QpccResult:  # fmt: skip
    """Actuator forces λ_a that bring effectors to their targets while contacts obey their law.

        δ_e = W_ea λ_a + W_ec λ_c + delta_e      distance of the effectors from their targets
        δ_a = W_aa λ_a + W_ac λ_c + delta_a      displacement of the actuators, displacement_lower ≤ δ_a ≤ …_upper
        δ_c = W_acᵀ λ_a + W_cc λ_c + delta_c     gaps, 0 ≤ λ_c ⊥ δ_c ≥ 0

    minimises ½‖δ_e‖² + ½ ε λ_aᵀ W_aa λ_a over force_lower ≤ λ_a ≤ force_upper. Shapes: W_ea (ne, na), W_ec (ne, nc),
    W_aa (na, na), W_ac (na, nc), W_cc (nc, nc) in m/N; the δ in m; forces in N; limits numbers or (na,), ±inf for none,
    equal ones a hard equality. Without W_cc there are no contacts. `energy_weight` is ε in m/N, by default the paper's
    1e-3 ‖W_eaᵀW_ea‖∞ / ‖W_aa‖∞; it makes the answer unique where there are more actuators than targets.

    `mu` (a number, or one for each contact) adds Coulomb friction: contacts then have three rows each, normal and two
    tangents, nc = 3n. The answer obeys the forward law on the true cone and has status `ONE_FLIP` at best. With
    `facets` (4, 6, 8 …) the cone is a pyramid, every piece a QP, and `globalize=True` proves the global minimum for
    that pyramid.

    `warm` is the last λ_a (na,) or the last result. `maximum_iterations` bounds the QPs on all paths and, with
    friction, the forward solves; `seconds` bounds the time of a search with friction. Returns `.solution` (λ_a then
    λ_c, N), `.x`, `.y`, `.w` (δ_c, m), `.status`, `.objective`, `.gap`, `.residual` (relative), `.iterations`, `.path`.
    Raises `InfeasibleError` where the limits cannot be met, `ConvergenceError` with the best point in `result` where no
    point inside them was found.
    """
    problem = compliance_problem(
        W_ea=W_ea, W_ec=W_ec, W_aa=W_aa, W_ac=W_ac, W_cc=W_cc, delta_e=delta_e, delta_a=delta_a, delta_c=delta_c,
        force_lower=force_lower, force_upper=force_upper, displacement_lower=displacement_lower,
        displacement_upper=displacement_upper, energy_weight=energy_weight,
    )  # fmt: skip
    options: dict[str, Any] = {"warm": warm, "maximum_iterations": maximum_iterations}
    if mu is None:
        if facets is not None:
            raise InputError("facets describe a friction cone: give mu as well")
        return solve_qpcc(problem, globalize=globalize, node_limit=node_limit, **options)
    from pliant.solvers.inverse.facets import solve_faceted
    from pliant.solvers.inverse.friction import solve_frictional

    if facets is not None:
        return solve_faceted(problem, mu, facets=facets, globalize=globalize, node_limit=node_limit, **options)
    if globalize:
        raise InputError("globalize needs pieces that are QPs: give facets, or leave globalize out with the true cone")
    return solve_frictional(problem, mu, seconds=seconds, **options)


def compliance_problem(
    *, W_ea: Any, W_aa: Any, delta_e: Any, W_ec: Any = None, W_ac: Any = None, W_cc: Any = None, delta_a: Any = None,
    delta_c: Any = None, force_lower: Any = -np.inf, force_upper: Any = np.inf, displacement_lower: Any = -np.inf,
    displacement_upper: Any = np.inf, energy_weight: float | None = None,
) -> QpccProblem:  # fmt: skip
    """The problem of `qpcc`, whose docstring gives units and shapes, without solving it."""
    W_ea = finite_array("W_ea", W_ea, shape=(None, None))
    na = W_ea.shape[1]
    W_aa = finite_array("W_aa", W_aa, shape=(na, na))
    gaps = finite_array("delta_c", np.zeros(0) if delta_c is None else delta_c, shape=(None,))
    if W_ac is None and len(gaps):
        raise InputError(f"W_ac is missing: shape {(na, len(gaps))} for {len(gaps)} contact rows")
    W_ac = finite_array("W_ac", np.zeros((na, 0)) if W_ac is None else W_ac, shape=(na, len(gaps)))
    moved = finite_array("delta_a", np.zeros(na) if delta_a is None else delta_a, shape=(na,))
    if energy_weight is None:
        weight = float(energy_weight_of(np.array(W_aa, order="C"), np.array(W_ea, order="C")))
    else:
        weight = non_negative("energy_weight", energy_weight, unit="m/N")
    force_lower, force_upper, displacement_lower, displacement_upper = (
        _limits(name, value, na)
        for name, value in (
            ("force_lower", force_lower), ("force_upper", force_upper),
            ("displacement_lower", displacement_lower), ("displacement_upper", displacement_upper),
        )
    )  # fmt: skip
    limited = _limited(displacement_lower, displacement_upper)
    rows = {
        "R_a": W_aa[limited], "R_c": W_ac[limited], "r": moved[limited],
        "row_lower": displacement_lower[limited], "row_upper": displacement_upper[limited],
    }  # fmt: skip
    return QpccProblem.of(
        E_a=W_ea, E_c=W_ec, e=delta_e, G=weight * W_aa, x_lower=force_lower, x_upper=force_upper, C_a=W_ac.T, W_cc=W_cc,
        c=gaps, **rows,
    )  # fmt: skip


def _limits(name: str, value: Any, count: int) -> FloatArray:
    """Limits (count,) of actuators from one number or one for each; ±inf are none."""
    given = number_array(name, value)
    if given.shape not in ((), (count,)) or np.isnan(given).any():
        raise InputError(f"{name} must be a number or numbers of shape ({count},), not NaN, got {shown(value)}")
    return np.array(np.broadcast_to(given, (count,)))


def _limited(lower: FloatArray, upper: FloatArray) -> BoolArray:
    """Which actuators have a displacement limit."""
    limited: BoolArray = ~((lower == -np.inf) & (upper == np.inf))
    return limited


def _warm(
    problem: QpccProblem, scaled: ScaledProblem, warm: FloatArray | QpccResult | None, pressed: FloatArray | None
) -> tuple[FloatArray, FloatArray | None]:
    """The scaled actuation to start from, and a guess of the scaled contact forces where contacts are the same ones."""
    guess = None
    if pressed is not None:
        guess = finite_array("pressed", pressed, shape=(problem.contact_count,)) / scaled.D_y
    if warm is None:
        return np.zeros(scaled.na), guess
    given: Any = warm
    if isinstance(warm, QpccResult):
        given = warm.x
        if guess is None and len(warm.active) == scaled.nc:
            guess = warm.active.astype(np.float64)
    x = finite_array("warm", given, shape=(problem.actuator_count,))
    return x / scaled.D_a, guess


def _global(scaled: ScaledProblem, end: Descent, limit: int, nodes: int) -> tuple[Descent, float]:
    """Branch and bound below the best of several local minima; the descent with its status, and the scaled bound."""
    solved = end.iterations
    best = end
    for x in _other_starts(scaled, end.point):
        piece = Piece(scaled)
        active = touching_at(piece, x, None)
        if active is None:
            continue
        piece.set(active)
        point = piece.minimum()
        solved += 1
        if point is not None:
            other = descend(piece, point, limit=limit)
            solved += other.iterations
            if other.point.cost < best.point.cost - BETTER:
                best = other
    found = branch(
        scaled, np.zeros(scaled.nc, np.bool_), np.arange(scaled.nc), cost=best.point.cost, node_limit=nodes
    )  # fmt: skip
    best.iterations = solved + found.nodes
    if found.point is not None:
        best = Descent(
            found.point, QpccStatus.ONE_FLIP, best.iterations, [*best.path, (found.point.active, found.point.x)]
        )
    if found.complete:
        best.status = QpccStatus.GLOBAL
        return best, best.point.cost
    if found.point is not None:  # better than the local minimum, but the search was cut short: make it a local one
        piece = Piece(scaled)
        piece.set(found.point.active)
        last = descend(piece, found.point, limit=limit)
        best = Descent(last.point, last.status, best.iterations + last.iterations, [*best.path, *last.path[1:]])
    return best, found.bound


def _other_starts(scaled: ScaledProblem, point: PiecePoint) -> list[FloatArray]:
    """Actuations spread over the bounds, always the same ones; the unit ball where there are no bounds."""
    low, high = scaled.lower[: scaled.na], scaled.upper[: scaled.na]
    reach = 2.0 * max(1.0, float(np.abs(point.x).max(initial=0.0)))
    low = np.where(low > -FREE, low, np.maximum(-reach, np.where(high < FREE, high - reach, -reach)))
    high = np.where(high < FREE, high, low + 2.0 * reach)
    fractions = np.random.default_rng(0).random((_STARTS, scaled.na))
    return [low + fraction * (high - low) for fraction in fractions]


def _result(problem: QpccProblem, scaled: ScaledProblem, end: Descent, bound: float) -> QpccResult:
    """The answer in the caller's units."""
    point, p = end.point, problem
    x = np.minimum(np.maximum(scaled.D_a * point.x, p.x_lower), p.x_upper)
    y, w = scaled.D_y * point.y, np.empty(scaled.nc)
    objective, residual = measure(
        p.table, p.G, p.row_lower, p.row_upper, scaled.row_size, scaled.D_y, scaled.D_w, x, y, w
    )  # fmt: skip
    path = tuple((tuple(active.nonzero()[0].tolist()), scaled.D_a * where) for active, where in end.path)
    lower_bound = objective if end.status is QpccStatus.GLOBAL else max(0.0, bound * scaled.cost)
    return QpccResult(
        x=x, y=y, w=w, objective=objective, lower_bound=min(lower_bound, objective), status=end.status,
        residual=residual, iterations=end.iterations, active=point.active, path=path,
    )  # fmt: skip
