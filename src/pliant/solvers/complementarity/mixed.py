"""All laws in one problem δ = δ_free + W λ: what a step of a simulation solves.

Imposed forces move to δ_free. Bilateral rows are eliminated by a Schur complement. What remains are boxes and cones:
without friction they are solved exactly by principal pivoting, with friction by Gauss–Seidel and a second-order finish.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple, NoReturn, Protocol

import numpy as np

from pliant.core.checks import finite_array, non_negative, positive, positive_count
from pliant.core.errors import ConvergenceError, InputError
from pliant.core.status import Status
from pliant.core.threads import one_blas_thread
from pliant.core.types import BoolArray, FloatArray, IndexArray, IntArray
from pliant.solvers.complementarity.blocks import (
    NO_BLOCKS,
    BlockProblem,
    Blocks,
    complementarity_gap,
    equilibrating_scale,
    residual_of,
    scaled,
)
from pliant.solvers.complementarity.elimination import Elimination, eliminate
from pliant.solvers.complementarity.fractions import solve_fractions
from pliant.solvers.complementarity.hybrid import solve_blocks
from pliant.solvers.complementarity.infeasibility import raise_if_infeasible
from pliant.solvers.complementarity.principal_pivoting import solve_boxes
from pliant.solvers.complementarity.result import ComplementarityResult


class Law(IntEnum):
    """How λ and δ of a row relate; `target` is in m, in N for imposed forces."""

    BILATERAL = 0
    """δ = target, λ free."""
    SIGNORINI = 1
    """δ ≥ target, λ ≥ 0, one of them zero."""
    COULOMB = 2
    """Three consecutive rows, normal and two tangents: Signorini with friction μ on the slip of the step."""
    IMPOSED = 3
    """λ = target, δ free."""
    BOUNDED = 4
    """lower ≤ λ ≤ upper; δ = target inside, δ ≥ target at the lower bound, δ ≤ target at the upper one."""
    CAPSTAN = 5
    """Bounded, by fractions lower and upper of the tension before it: λ of the head row, which stands before the first
    of consecutive rows of this law, less the λ of those between.
    """
    SLEEVE = 6
    """Bounded, by fractions lower and upper of the norm of λ of the two rows before it."""


_BILATERAL, _, _COULOMB, _IMPOSED, _BOUNDED, _CAPSTAN, _SLEEVE = (int(law) for law in Law)


class LawProblem(Protocol):
    """What `solve` reads of a problem; every array but W has one entry for each row."""

    @property
    def W(self) -> FloatArray: ...  # noqa: D102
    @property
    def delta_free(self) -> FloatArray: ...  # noqa: D102
    @property
    def law(self) -> IntArray: ...  # noqa: D102
    @property
    def mu(self) -> FloatArray: ...  # noqa: D102
    @property
    def lower(self) -> FloatArray: ...  # noqa: D102
    @property
    def upper(self) -> FloatArray: ...  # noqa: D102
    @property
    def target(self) -> FloatArray: ...  # noqa: D102


@dataclass(frozen=True, eq=False)
class MixedProblem:
    """δ = delta_free + W λ with a law for each row.

    W (m, m) in m/N, delta_free (m,) in m, law (m,) of `Law`. `mu` (m,) is read on the normal rows of Coulomb contacts,
    `lower` and `upper` (m,) in N on bounded rows (±inf for no bound); `target` (m,) on all rows, on
    tangents as the slip of a surface that moves by itself.
    `MixedProblem.of` checks what it is given.
    """

    W: FloatArray
    delta_free: FloatArray
    law: IntArray
    mu: FloatArray
    lower: FloatArray
    upper: FloatArray
    target: FloatArray

    @classmethod
    def of(
        cls,
        W: Any,
        delta_free: Any,
        law: Any,
        *,
        mu: Any = 0.0,
        lower: Any = -np.inf,
        upper: Any = np.inf,
        target: Any = 0.0,
    ) -> MixedProblem:
        """A checked problem; numbers stand for the same value on every row."""
        gaps = finite_array("delta_free", delta_free, shape=(None,))
        m = len(gaps)
        codes = np.broadcast_to(np.asarray(law, np.int32), (m,))

        def rows(value: Any) -> FloatArray:
            return np.array(np.broadcast_to(np.asarray(value, np.float64), (m,)))

        return _checked(
            cls(finite_array("W", W, shape=(m, m)), gaps, codes, rows(mu), rows(lower), rows(upper), rows(target))
        )


def solve(
    problem: LawProblem,
    warm: FloatArray | None = None,
    *,
    tolerance: float = 1e-8,
    negligible: float = 1e-16,
    maximum_iterations: int = 50_000,
) -> ComplementarityResult:
    """λ and δ of all rows; `warm` (m,) in N is a previous λ, its contacts matched to these rows by the caller.

    W may be singular and slightly unsymmetric. `residual` is the norm of the natural map after each row (each contact)
    has been scaled to unit compliance, over the norm of the scaled free gaps: independent of units, also where rows are
    in m, m³ and rad. `tolerance` bounds it (usual range 1e-12 to 1e-4), except where that would ask for gaps finer than
    `negligible` m, the rounding of positions (usual range 0 to 1e-15). Raises `ConflictingRowsError` (an
    `InfeasibleError`) with the rows that contradict each other, `ConvergenceError` with the best iterate in `result`.
    """
    checked = problem if isinstance(problem, MixedProblem) and _all_finite(problem) else _from_any(problem)
    options = _Options(
        positive("tolerance", tolerance),
        non_negative("negligible", negligible),
        positive_count("maximum_iterations", maximum_iterations),
    )
    if warm is not None:
        warm = finite_array("warm", warm, shape=checked.delta_free.shape)
    tensions, sleeves = (np.flatnonzero(checked.law == law) for law in (_CAPSTAN, _SLEEVE))
    if len(tensions) or len(sleeves):
        if checked.law[0] == _CAPSTAN or (checked.law[:2] == _SLEEVE).any():
            raise InputError("a row of the law CAPSTAN or SLEEVE has no row before it whose force would bound it")
        return solve_fractions(
            checked, tensions, sleeves, _BOUNDED, lambda p, start: _solved(p, start, options), warm, options.tolerance
        )
    return _solved(checked, warm, options)


def _solved(p: MixedProblem, warm: FloatArray | None, options: _Options) -> ComplementarityResult:
    """The result of a checked problem, or the error that says why there is none."""
    if len(p.delta_free) == 1 and p.law[0] in (Law.SIGNORINI, Law.BOUNDED) and p.W[0, 0] > 0.0:
        return _solve_single(p)
    with one_blas_thread():
        result, q, parts = _solve(p, warm, options)
    if not result.status.ok:
        _raise(p, result, q, parts, options)
    return result


class _Options(NamedTuple):
    tolerance: float
    negligible: float
    limit: int

    def relative(self, D: FloatArray, size: float) -> float:
        """The bound on a residual relative to `size`, for rows scaled by D."""
        return max(self.tolerance, self.negligible * float(np.linalg.norm(D)) / size) if size else self.tolerance


def _solve(
    p: MixedProblem, warm: FloatArray | None, options: _Options
) -> tuple[ComplementarityResult, FloatArray, _Parts]:
    """The result, whatever its status, with the free gaps under imposed forces and the kinds of rows."""
    parts = _Parts(p)
    lam = parts.imposed_forces.copy()
    q = p.delta_free - np.where(p.law == _IMPOSED, 0.0, p.target)
    if parts.imposed.any():
        q = q + p.W[:, parts.imposed] @ lam[parts.imposed]
    D = equilibrating_scale(p.W, NO_BLOCKS)
    size = float(np.linalg.norm(np.where(parts.imposed, 0.0, D * q)))
    bound = options.relative(D, size)
    kept, zero = parts.kept_rows, parts.zero_rows
    reduced = eliminate(p.W, q, kept, zero, D, allowed=bound * size)
    residual, status, iterations, gap = 0.0, Status.CONVERGED, 0, 0.0
    if len(kept):
        start = None if warm is None else warm[kept]
        lam[kept], residual, status, iterations = _solve_kept(reduced, parts.blocks, start, options)
    lam[zero] = reduced.forces(lam[kept])
    delta = p.delta_free + p.W @ lam
    if len(kept):
        gap = complementarity_gap(lam[kept], (delta - p.target)[kept], parts.blocks)
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
    bounded = p.law[0] == Law.BOUNDED
    lower, upper = (float(p.lower[0]), float(p.upper[0])) if bounded else (0.0, np.inf)
    free = float(p.target[0] - p.delta_free[0]) / float(p.W[0, 0])
    lam = np.array([min(max(free, lower), upper)])
    delta = p.delta_free + p.W[0] * lam
    return ComplementarityResult(lam, delta, Status.CONVERGED, 0.0, 0.0, 1)


def _solve_kept(
    reduced: Elimination, blocks: Blocks, start: FloatArray | None, options: _Options
) -> tuple[FloatArray, float, Status, int]:
    """λ of boxes and cones, the residual, the status and the iterations."""
    if len(blocks.boxes) == len(reduced.q) == 1 and reduced.W[0, 0] > 0.0:  # one drive beside bilateral rows
        return np.clip(-reduced.q / reduced.W[0], blocks.lower, blocks.upper), 0.0, Status.CONVERGED, 1
    core, scaling = scaled(BlockProblem(reduced.W, reduced.q, blocks), equilibrating_scale(reduced.W, blocks))
    start = None if start is None else scaling.scaled_forces(start)
    bound = options.relative(scaling.D, scaling.scale)
    if len(blocks.cones):
        r_hat, status, iterations = solve_blocks(core, start=start, tolerance=bound, maximum_iterations=options.limit)
        residual = residual_of(core, r_hat)
    else:
        r_hat, residual, iterations = solve_boxes(core, start=start, tolerance=bound)
        status = Status.CONVERGED if residual <= bound else Status.STALLED
    lam = scaling.forces(r_hat)
    r_box, low, high = r_hat[blocks.boxes], core.blocks.lower, core.blocks.upper  # bounds exactly: scaling back rounds
    lam[blocks.boxes] = np.where(r_box <= low, blocks.lower, np.where(r_box >= high, blocks.upper, lam[blocks.boxes]))
    return lam, residual, status, iterations


class _Parts:
    """Which rows are imposed, eliminated (`zero`) and kept, and the boxes and cones of the kept ones."""

    def __init__(self, p: MixedProblem) -> None:
        self.p = p
        bounded = p.law == _BOUNDED
        coulomb = np.flatnonzero(p.law == _COULOMB)
        self.normals: IndexArray = coulomb[::3]
        self.frictionless = p.mu[self.normals] == 0.0
        tangents = (self.normals[self.frictionless, None] + np.array([1, 2])).ravel()
        pinned = bounded & (p.lower == p.upper)
        self.imposed: BoolArray = (p.law == _IMPOSED) | pinned
        self.imposed[tangents] = True
        self.imposed_forces = np.where(pinned, p.lower, np.where(p.law == _IMPOSED, p.target, 0.0))
        unlimited = bounded & (p.lower == -np.inf) & (p.upper == np.inf)
        zero = (p.law == _BILATERAL) | unlimited
        self.kept: BoolArray = ~(self.imposed | zero)
        self.kept_rows, self.zero_rows = np.flatnonzero(self.kept), np.flatnonzero(zero)
        self.blocks = self._blocks() if len(self.kept_rows) else NO_BLOCKS

    def _blocks(self) -> Blocks:
        """Boxes and cones in the numbering of the kept rows."""
        p = self.p
        position = np.cumsum(self.kept) - 1
        cones = self.normals[~self.frictionless]
        single = self.kept & (p.law != _COULOMB)
        single[self.normals[self.frictionless]] = True
        rows = np.flatnonzero(single)
        bounded = p.law[rows] == _BOUNDED
        lower, upper = np.where(bounded, p.lower[rows], 0.0), np.where(bounded, p.upper[rows], np.inf)
        return Blocks(position[cones], p.mu[cones], position[rows], lower, upper)


def _all_finite(p: MixedProblem) -> bool:
    """Whether sums over W and the gaps are finite, which a NaN anywhere prevents: the check of every step."""
    return bool(np.isfinite(p.W.sum() + p.delta_free.sum() + p.target.sum() + p.mu.sum()))


def _from_any(problem: LawProblem) -> MixedProblem:
    return MixedProblem.of(
        problem.W,
        problem.delta_free,
        problem.law,
        mu=problem.mu,
        lower=problem.lower,
        upper=problem.upper,
        target=problem.target,
    )


def _checked(p: MixedProblem) -> MixedProblem:
    """The problem, or an `InputError` that names the first wrong row."""
    _require(np.isin(p.law, [int(law) for law in Law]), "law must be one of Law", p.law)
    _require(p.mu >= 0.0, "mu must be ≥ 0", p.mu)
    _require(np.isfinite(p.mu), "mu must be finite", p.mu)
    _require(np.isfinite(p.target), "target must be finite", p.target)
    _require(p.lower <= p.upper, "lower must be ≤ upper", p.lower)
    _require((p.lower < np.inf) & (p.upper > -np.inf), "bounds must leave a finite force between them", p.lower)
    coulomb = np.flatnonzero(p.law == _COULOMB)
    if len(coulomb) % 3 or not np.array_equal(coulomb[::3, None] + np.arange(3), coulomb.reshape(-1, 3)):
        raise InputError(
            f"Coulomb rows must come in threes (normal, tangent, tangent), got {len(coulomb)} rows starting at "
            f"{coulomb[0]}"
        )
    return p


def _require(fine: BoolArray, rule: str, values: Any) -> None:
    if not fine.all():
        row = int(np.argmin(fine))
        raise InputError(f"{rule}, but row {row} has {values[row]:g}")
