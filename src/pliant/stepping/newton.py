"""The stages of one linear solve, and Newton's iteration over them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from pliant.constraints import condense
from pliant.core.arrays import transposed_product
from pliant.core.errors import SingularError
from pliant.core.timers import StageTimers
from pliant.core.types import FloatArray
from pliant.materials import Tangent
from pliant.models.model import Factor, System
from pliant.solvers.contact import ConflictingRowsError
from pliant.solvers.linear import LateSingularError
from pliant.stepping.motion import Forces, Motion

SETTLED = 1e-3
"""Share of a step below which a last correction leaves contacts of rods and beams where they are; friction that spins a
thin rod about itself is no better known.
"""


@dataclass(frozen=True, eq=False)
class Correction:
    """Outcome of one linear solve: dx of each model (n, 3), the forces before it without those of rows, multipliers,
    and how well A dx = r holds.
    """

    dx: list[FloatArray]
    forces: Forces
    lam: FloatArray
    linear_residual: float
    projected: bool


class Gauge(Protocol):
    """What statics adds to a linear solve where bodies can move freely."""

    def regularize(self, systems: list[System]) -> None:
        """Change the systems before they are factorized."""

    def fix(self, factors: list[Factor], dx: list[FloatArray]) -> None:
        """Take the free motion out of dx (in place)."""


def solve_once(motion: Motion, tangent: Tangent, timers: StageTimers, gauge: Gauge | None = None) -> Correction:
    """The stages of design: linearize, factorize, free motion, rows, condense, solve, correct.

    Where A is not positive definite the tangent is projected and the factorization repeated; the result says so.
    """
    try:
        return _solve(motion, tangent, timers, gauge)
    except LateSingularError:  # solves were under way with an older factor when this turned out
        if tangent is Tangent.PROJECTED:
            raise
    return replace(_solve(motion, Tangent.PROJECTED, timers, gauge), projected=True)


def _solve(motion: Motion, tangent: Tangent, timers: StageTimers, gauge: Gauge | None) -> Correction:
    with timers.stage("linearize"):
        systems, forces = motion.linearize(tangent)
        if gauge:
            gauge.regularize(systems)
    projected = False
    try:
        factors = _factorize(motion, systems, timers)
    except SingularError:
        if tangent is Tangent.PROJECTED:
            raise
        projected = True
        with timers.stage("linearize"):
            systems, forces = motion.linearize(Tangent.PROJECTED)
            if gauge:
                gauge.regularize(systems)
        factors = _factorize(motion, systems, timers)
    with timers.stage("solve"):
        dx = [factor.solve(system.r) for factor, system in zip(factors, systems, strict=True)]
        linear_residual = _linear_residual(systems, dx)
        if gauge:
            gauge.fix(factors, dx)
        for number, system in enumerate(systems):
            if system.held_dx is not None:
                dx[number] = dx[number] + system.held_dx
    lam = _push(motion, factors, dx, timers)
    with timers.stage("factorize"):  # what was begun there may end here
        motion.factors.release(systems, factors)
    return Correction(dx, forces, lam, linear_residual, projected)


def _factorize(motion: Motion, systems: list[System], timers: StageTimers) -> list[Factor]:
    with timers.stage("factorize"):
        motion.session.observe(motion, systems)
        return motion.factors.factorize(systems, [trial.evaluation_point() for trial in motion.trials])


class Stopping:
    """When Newton's iteration may stop: at the tolerance, or at round-off.

    Round-off is reached where the residual no longer falls although it is smaller than the force that a change of the
    positions by their last bit causes, ε |A_ii| |x_i|: a body that hardly moves, far from the origin, never gets below.

    The residual holds the forces of cables and chambers along their directions before the last correction, and knows
    nothing of their δ. Both are off by the square of the correction, which therefore has to be below √tolerance of the
    motion: a body of linear material balances after one solve, wherever that left the cable.
    """

    def __init__(self, motion: Motion, tolerance: float) -> None:
        self._motion = motion
        self._tolerance = tolerance
        self._rounding = 0.0
        self._previous = np.inf

    def regularize(self, systems: list[System]) -> None:
        """Change nothing, but note the force of the last bits in the systems of a linear solve."""
        squares = 0.0
        for number, system in enumerate(systems):
            trial = self._motion.trials[number]
            reach = np.broadcast_to(trial.reach(), trial.dx.shape)
            noise = np.where(trial.model.held, 0.0, system.diagonal() * reach)
            squares += float(np.vdot(noise, noise))
        self._rounding = float(np.finfo(np.float64).eps * np.sqrt(squares))

    def fix(self, factors: list[Factor], dx: list[FloatArray]) -> None:
        """Leave dx as it is: in dynamics no motion is open."""

    def reached(self, residual: float, scale: float, correction: Correction) -> bool:
        """Whether the relative `residual`, of forces of norm `scale` (N) after `correction`, ends the iteration."""
        stalled = residual > 0.5 * self._previous and residual * scale <= self._rounding
        self._previous = residual
        return (residual <= self._tolerance or stalled) and self._rows_are_settled(correction)

    def _rows_are_settled(self, correction: Correction) -> bool:
        """Whether the last correction was too small to bend the directions of cables, chambers and slender contacts."""
        world = self._motion.world
        turning = (index for constraint in world.constraints for index in constraint.direction_models)
        shares = dict.fromkeys(turning, max(np.sqrt(self._tolerance), SETTLED))
        shares |= dict.fromkeys(
            (n for maker in world.stiff_constraints for n in maker.stiff_models), np.sqrt(self._tolerance)
        )
        for number, share in shares.items():
            trial = self._motion.trials[number]
            last = float(np.abs(correction.dx[number]).max())
            least = 1e-10 * float(np.abs(trial.evaluation_point()).max())
            if last > max(share * float(np.abs(trial.dx).max()), least):
                return False
        return True


def _push(motion: Motion, factors: list[Factor], dx: list[FloatArray], timers: StageTimers) -> FloatArray:
    """Rows, W, multipliers, and the motion they add to dx; nothing where the world has no rows."""
    if not motion.makers:
        return np.zeros(0)
    with timers.stage("rows"):
        rows = motion.assemble_rows().rows
        if not rows.count:
            motion.pushes = None
            return np.zeros(0)
    with timers.stage("condense"):
        problem = condense(rows, factors, dx)
    with timers.stage("constraints"):
        try:
            lam = motion.session.solve(motion, factors, problem, dx)
        except ConflictingRowsError as error:
            raise named_conflict(motion, error) from error
    with timers.stage("correct"):
        motion.lam = lam
        motion.pushes = [transposed_product(H, lam).reshape(x.shape) for H, x in zip(rows.H, dx, strict=True)]
        for number, (push, factor) in enumerate(zip(motion.pushes, factors, strict=True)):
            if push.any():
                dx[number] = dx[number] + factor.response(rows.H[number], lam).reshape(push.shape)
    return lam


def named_conflict(motion: Motion, error: ConflictingRowsError) -> ConflictingRowsError:
    """The error with the names of what made the conflicting rows in front, and a word on reduced bodies."""
    assert motion.assembly is not None
    makers = zip(motion.makers, motion.assembly.places, strict=True)
    names = [repr(maker.name) for maker, place in makers if any(place.start <= row < place.stop for row in error.rows)]
    text = f"{', '.join(names)} cannot be satisfied together: {error}"
    if motion.world.reductions:
        text += "; bodies of this world are reduced, and with more modes they may be able to give way"
    return ConflictingRowsError(text, rows=error.rows)


def _linear_residual(systems: list[System], dx: list[FloatArray]) -> float:
    """‖A dx − r‖ / ‖r‖ over the free unknowns of all models."""
    error = total = 0.0
    for system, x in zip(systems, dx, strict=True):
        rest = system.product(x) - system.r
        error += float(np.vdot(rest, rest))
        total += float(np.vdot(system.r, system.r))
    return float(np.sqrt(error / total)) if total else 0.0


def free_norm(motion: Motion, forces: Forces) -> float:
    """‖r‖ over the free unknowns of all models, N."""
    squares = 0.0
    for model, r in zip(motion.world.models, forces.r, strict=True):
        free = np.where(model.held, 0.0, r)
        squares += float(np.vdot(free, free))
    return float(np.sqrt(squares))


def relative_residual(motion: Motion, forces: Forces) -> float:
    """‖r‖ over the free unknowns, divided by the largest force norm in it; 0 where no force acts."""
    if not forces.finite:
        return float("inf")
    return free_norm(motion, forces) / forces.scale if forces.scale else 0.0


def apply_in_full(motion: Motion, correction: Correction) -> Forces:
    """dx += correction."""
    motion.move(correction.dx)
    return motion.forces()


def apply_with_line_search(motion: Motion, correction: Correction) -> Forces:
    """dx += s × correction with s ≤ 1 such that the correction does not overshoot, nor leave what the materials allow.

    g(s) = correction · r(dx + s correction) is the slope of the potential along the correction, up to sign; a full
    step is kept while |g(1)| stays below g(0), otherwise s follows from the secant of g (Crisfield, Non-linear Finite
    Element Analysis of Solids and Structures, 9.2).
    Where supports still have to move, their work enters the potential and the slope says nothing: the step is full.
    """
    base = [dx.copy() for dx in motion.dx]
    supports_move = motion.must_move()
    start_slope = _slope(motion, motion.pushed(correction.forces), correction.dx)
    s = 1.0
    for _ in range(40):
        motion.dx = base
        motion.move(correction.dx, s)
        forces = motion.forces()
        if not forces.finite:
            s *= 0.5
            continue
        slope = _slope(motion, forces, correction.dx)
        if supports_move or slope >= -0.9 * abs(start_slope) or s < 1e-3:
            return forces
        s *= min(max(start_slope / (start_slope - slope), 0.1), 0.6)
    return forces


def _slope(motion: Motion, forces: Forces, direction: list[FloatArray]) -> float:
    pairs = zip(motion.world.models, forces.r, direction, strict=True)
    return sum(float(np.vdot(np.where(model.held, 0.0, r), d)) for model, r, d in pairs)
