"""All laws in one problem δ = δ_free + W λ: what a step of a simulation solves.

Few rows of which at most one has bounds are solved in one call (`direct`). Of others, imposed forces move to δ_free.
Bilateral rows are eliminated by a Schur complement. What remains are boxes and cones: without friction they are solved
exactly by principal pivoting, with friction by Gauss–Seidel and a second-order finish.
"""

from __future__ import annotations

from typing import NamedTuple, NoReturn

import numpy as np

from pliant.core.checks import finite_array, non_negative, positive, positive_count
from pliant.core.errors import ConvergenceError, InputError
from pliant.core.status import Status
from pliant.core.threads import one_blas_thread
from pliant.core.types import BoolArray, FloatArray
from pliant.solvers.contact.blocks import (
    NO_BLOCKS,
    BlockProblem,
    Blocks,
    Scaling,
    complementarity_gap,
    equilibrating_scale,
    natural_map,
    scaled,
)
from pliant.solvers.contact.budget import Budget
from pliant.solvers.contact.certificate import raise_if_infeasible
from pliant.solvers.contact.direct import solve_direct
from pliant.solvers.contact.elimination import Elimination, eliminate
from pliant.solvers.contact.first_attempt import Attempt, first_attempt
from pliant.solvers.contact.fractions import solve_fractions
from pliant.solvers.contact.friction_iteration import solve_blocks
from pliant.solvers.contact.laws import BOX, CONE, EQUALITY, GIVEN, Law, MixedProblem, Roles
from pliant.solvers.contact.principal_pivoting import solve_boxes
from pliant.solvers.contact.result import ComplementarityResult

_SIGNORINI, _COULOMB, _IMPOSED, _BOUNDED, _CAPSTAN, _GUIDE = (
    int(law) for law in (Law.SIGNORINI, Law.COULOMB, Law.IMPOSED, Law.BOUNDED, Law.CAPSTAN, Law.GUIDE)
)
_EPSILON = 8.0 * float(np.finfo(np.float64).eps)  # of a sum of products, relative to the sum of their sizes
_ROUNDING = 1e-4  # largest residual that is put down to rounding, where forces of eliminated rows cancel


def solve(
    problem: MixedProblem, warm: FloatArray | None = None, *, tolerance: float = 1e-8, negligible: float = 1e-16,
    maximum_iterations: int = 50_000, seconds: float | None = None, quick: bool = False,
) -> ComplementarityResult:  # fmt: skip
    """λ and δ of all rows; `warm` (m,) in N is a previous λ, its contacts matched to these rows by the caller.

    W may be singular and slightly unsymmetric. `residual` is the norm of the natural map after each row (each contact)
    has been scaled to unit compliance, over the norm of the scaled free gaps: independent of units, also where rows are
    in m, m³ and rad. `tolerance` bounds it (usual range 1e-12 to 1e-4), except where that would ask for gaps finer than
    `negligible` m, the rounding of positions (usual range 0 to 1e-15). It is evaluated with δ = δ_free + W λ of the
    rows given, after everything else. The work is bounded by `maximum_iterations`, by a number of operations that grows
    with the size of the problem (`budget`), and by `seconds` where given. `quick` grants fewer operations, for steps
    that go on from the best iterate, and after a third of them accepts ten times the tolerance. Raises
    `ConflictingRowsError` (an `InfeasibleError`) with the rows that contradict each other, `ConvergenceError` with the
    best iterate in `result`.
    """
    options = _Options(
        positive("tolerance", tolerance),
        non_negative("negligible", negligible),
        positive_count("maximum_iterations", maximum_iterations),
        None if seconds is None else positive("seconds", seconds, unit="s"),
        quick,
    )
    if warm is not None:
        warm = finite_array("warm", warm, shape=problem.delta_free.shape)
    found = solve_direct(problem, options.tolerance, options.negligible)
    if found is not None:
        return found
    attempt: Attempt | None = None
    if (problem.law == _COULOMB).any():
        budget = Budget(len(problem.delta_free), options.limit, options.seconds, quick=options.quick)
        with one_blas_thread():
            tried = first_attempt(problem, warm, options.tolerance, options.negligible, budget)
        if isinstance(tried, ComplementarityResult):
            return tried
        attempt = tried
    checked = problem.checked()
    tensions, guides = (np.flatnonzero(checked.law == law) for law in (_CAPSTAN, _GUIDE))
    if len(tensions) or len(guides):
        if checked.law[0] == _CAPSTAN or (checked.law[:2] == _GUIDE).any():
            raise InputError("a row of the law CAPSTAN or GUIDE has no row before it whose force would bound it")
        return solve_fractions(
            checked, tensions, guides, lambda p, start: _solved(p, start, options), warm, options.tolerance
        )
    return _solved(checked, warm, options, attempt)


def _solved(
    p: MixedProblem, warm: FloatArray | None, options: _Options, attempt: Attempt | None = None
) -> ComplementarityResult:
    """The result of a checked problem, or the error that says why there is none."""
    if len(p.delta_free) == 1 and p.law[0] in (_SIGNORINI, _BOUNDED) and p.W[0, 0] > 0.0:
        return _solve_single(p)
    with one_blas_thread():
        result, q, parts = _solve(p, warm, options, attempt)
    if not result.status.ok:
        _raise(p, result, q, parts, options)
    return result


class _Options(NamedTuple):
    tolerance: float
    negligible: float
    limit: int
    seconds: float | None
    quick: bool

    def relative(self, D: FloatArray, size: float) -> float:
        """The bound on a residual relative to `size`, for rows scaled by D."""
        return max(self.tolerance, self.negligible * float(np.linalg.norm(D)) / size) if size else self.tolerance


def _solve(
    p: MixedProblem, warm: FloatArray | None, options: _Options, attempt: Attempt | None = None
) -> tuple[ComplementarityResult, FloatArray, _Parts]:
    """The result, whatever its status, with the free gaps under imposed forces and the kinds of rows."""
    parts = _Parts(p)
    lam = parts.given_forces.copy()
    q = p.delta_free - np.where(p.law == _IMPOSED, 0.0, p.target)
    if parts.given.any():
        q = q + p.W[:, parts.given] @ lam[parts.given]
    D = equilibrating_scale(p.W, NO_BLOCKS)
    size = float(np.linalg.norm(np.where(parts.given, 0.0, D * q)))
    bound = options.relative(D, size)
    kept, zero = parts.kept_rows, parts.zero_rows
    reduced = eliminate(p.W, q, kept, zero, D, allowed=bound * size)
    residual, status, iterations, gap = 0.0, Status.CONVERGED, 0, 0.0
    found: _Kept | None = None
    if len(kept):
        found = _solve_kept(reduced, parts.blocks, None if warm is None else warm[kept], options, attempt)
        lam[kept], status, iterations = found.lam, found.status, found.iterations
    lam[zero] = reduced.forces(lam[kept])
    delta = p.delta_free + p.W @ lam
    if found is not None:
        u = (delta - p.target)[kept]
        gap = complementarity_gap(lam[kept], u, parts.blocks)
        residual = found.residual(u)
        if status.ok and residual > (allowed := found.allowed):
            rounding = _EPSILON * found.scaling.scaled_slip((np.abs(p.delta_free) + np.abs(p.W) @ np.abs(lam))[kept])
            if residual > max(allowed, min(_ROUNDING, float(np.linalg.norm(rounding)))):
                status = Status.STALLED
    if len(zero) and size:
        rest = float(np.linalg.norm((D * (delta - p.target))[zero])) / size
        residual = float(np.hypot(residual, rest))
        status = Status.STALLED if status.ok and rest > bound else status
    return ComplementarityResult(lam, delta, status, residual, gap, iterations), q, parts


def _raise(p: MixedProblem, result: ComplementarityResult, q: FloatArray, parts: _Parts, options: _Options) -> NoReturn:
    """Raise what a failed solve means: rows that contradict each other, or no convergence."""
    blocks = parts.blocks
    unlimited = (blocks.lower > -np.inf) & (blocks.upper == np.inf)
    one_sided = parts.kept_rows[np.concatenate([blocks.boxes[unlimited], blocks.cones])]
    raise_if_infeasible(p.W, q, np.sort(one_sided), zero_rows=parts.zero_rows)
    raise ConvergenceError(
        f"{len(q)} rows ({len(blocks.cones)} contacts with friction): residual {result.residual:.2g} > tolerance "
        f"{options.tolerance:.2g} after {result.iterations} iterations: {result.status.text}",
        result=result,
    )


def _solve_single(p: MixedProblem) -> ComplementarityResult:
    """One row with bounds, in closed form: the step of a body with one cable."""
    bounded = p.law[0] == _BOUNDED
    lower, upper = (float(p.lower[0]), float(p.upper[0])) if bounded else (0.0, np.inf)
    free = float(p.target[0] - p.delta_free[0]) / float(p.W[0, 0])
    lam = np.array([min(max(free, lower), upper)])
    delta = p.delta_free + p.W[0] * lam
    return ComplementarityResult(lam, delta, Status.CONVERGED, 0.0, 0.0, 1)


class _Kept(NamedTuple):
    """λ of boxes and cones, the scaling in which it was found, with the scaled bounds, how that ended, and the residual
    that is allowed.
    """

    lam: FloatArray
    scaling: Scaling
    blocks: Blocks
    status: Status
    iterations: int
    allowed: float

    def residual(self, u: FloatArray) -> float:
        """Norm of the scaled natural map for slips u: how far λ is from its laws."""
        force, slip = self.scaling.scaled_forces(self.lam), self.scaling.scaled_slip(u)
        return float(natural_map(force, slip, self.blocks, np.empty_like(force)))


def _solve_kept(
    reduced: Elimination, blocks: Blocks, start: FloatArray | None, options: _Options, attempt: Attempt | None
) -> _Kept:
    core, scaling = scaled(BlockProblem(reduced.W, reduced.q, blocks), equilibrating_scale(reduced.W, blocks))
    bound = options.relative(scaling.D, scaling.scale)
    if len(blocks.boxes) == len(reduced.q) == 1 and reduced.W[0, 0] > 0.0:  # one drive beside bilateral rows
        lam = np.clip(-reduced.q / reduced.W[0], blocks.lower, blocks.upper)
        return _Kept(lam, scaling, core.blocks, Status.CONVERGED, 1, bound)
    start = None if start is None else scaling.scaled_forces(start)
    allowed = bound
    if len(blocks.cones):
        budget = Budget(len(core.q), options.limit, options.seconds, quick=options.quick)
        first = None if attempt is None else attempt._replace(lam=scaling.scaled_forces(attempt.lam))
        r_hat, _, status = solve_blocks(core, start=start, tolerance=bound, budget=budget, first=first)
        iterations, allowed = budget.iterations, budget.allowed(bound)
    else:
        r_hat, residual, iterations = solve_boxes(core, start=start, tolerance=bound)
        status = Status.CONVERGED if residual <= bound else Status.STALLED
    lam = scaling.forces(r_hat)
    r_box, low, high = r_hat[blocks.boxes], core.blocks.lower, core.blocks.upper  # bounds exactly: scaling back rounds
    lam[blocks.boxes] = np.where(r_box <= low, blocks.lower, np.where(r_box >= high, blocks.upper, lam[blocks.boxes]))
    return _Kept(lam, scaling, core.blocks, status, iterations, allowed)


class _Parts:
    """Rows with a given force, eliminated ones (`zero_rows`) and kept ones, with the boxes and cones of the latter."""

    def __init__(self, p: MixedProblem) -> None:
        roles = Roles.of(p)
        self.given: BoolArray = roles.role == GIVEN
        self.given_forces = roles.given
        self.zero_rows = np.flatnonzero(roles.role == EQUALITY)
        kept = roles.role >= BOX
        self.kept_rows = np.flatnonzero(kept)
        self.blocks = _blocks(roles, p.mu, kept) if len(self.kept_rows) else NO_BLOCKS


def _blocks(roles: Roles, mu: FloatArray, kept: BoolArray) -> Blocks:
    """Boxes and cones, by the indices of the kept rows."""
    position = np.cumsum(kept) - 1
    cones, boxes = np.flatnonzero(roles.role == CONE)[::3], np.flatnonzero(roles.role == BOX)
    return Blocks(position[cones], mu[cones], position[boxes], roles.lower[boxes], roles.upper[boxes])
