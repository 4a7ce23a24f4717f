"""Drives whose command contradicts contacts or other drives, told by the forces that cancel.

A cable that is shortened against ribs that already touch, or against its antagonist, asks for any force: nothing it
pulls on can give way. Its row reads 0 = q_i + W_ii λ_i + Σ_j W_ij λ_j, where q_i is what the command asks for and
W_ii λ_i the motion by its own force. In random actuation of finger, trunk, gripper and pneumatic finger the latter
stays below 6 times the largest q of the drives and overlap of contacts; on a spine whose ribs touch it reaches 100,
with forces of 60 kN and speeds of 100 m/s. Steps in time bound the force where it exceeds 10: the drives then fall
short of their commands, as motors do.
Quasi-static solves leave it as it is: there a slender body may be far stiffer along its axis than in bending.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pliant.core.arrays import frozen
from pliant.core.kernels import kernel
from pliant.core.types import FloatArray, IndexArray
from pliant.solvers.contact import Law, MixedProblem
from pliant.solvers.contact.direct import MOST_ROWS, bilateral_forces, unit_scales

_OPPOSED = (
    10.0  # W_ii λ_i over the largest q of the drives and overlap of contacts; above what occurs in use, see above
)
_NONE: IndexArray = np.zeros(0, np.int64)
_DRIVE, _BILATERAL = int(Law.BOUNDED), int(Law.BILATERAL)
_SIGNORINI, _COULOMB = int(Law.SIGNORINI), int(Law.COULOMB)


def opposed_drives(problem: MixedProblem, lam: FloatArray) -> IndexArray:
    """Rows of one-sided drives without a largest force whose forces λ (rows,) others nearly cancel."""
    if len(lam) == 1:  # nothing acts against a drive that is alone: its force moves it by what is asked for
        return _NONE
    rows: IndexArray = np.empty(len(lam), np.int64)
    arrays = problem.delta_free, problem.law, problem.lower, problem.upper, problem.target, lam
    count, largest = _candidates(frozen(np.ascontiguousarray(problem.W)), *map(frozen, arrays), rows)
    rows = rows[:count]
    if not count or (count == 1 and lam[rows[0]] <= largest):
        return rows[:0]
    return rows[lam[rows] > _largest(problem, rows)]


def with_bounded_drives(problem: MixedProblem, rows: IndexArray) -> MixedProblem:
    """The problem with the forces of the drives `rows` bounded."""
    upper = problem.upper.copy()
    upper[rows] = np.maximum(_largest(problem, rows), problem.lower[rows])
    return replace(problem, upper=upper)


def miss(problem: MixedProblem, delta: FloatArray, rows: IndexArray) -> float:
    """How far the drives `rows` are from their targets at `delta` (rows,), relative to the gaps without forces."""
    scale = np.sqrt(np.abs(problem.W.diagonal()))
    scale[scale == 0.0] = scale.max(initial=0.0) or 1.0
    asked = float(np.linalg.norm((problem.delta_free - problem.target) / scale)) or 1.0
    return float(np.linalg.norm(((delta - problem.target) / scale)[rows])) / asked


@kernel
def _candidates(W, delta_free, law, lower, upper, target, lam, rows):  # type: ignore[no-untyped-def]
    """Fill `rows` with the drives whose own motion exceeds `_OPPOSED` times what is asked for, all bodies apart; their
    count. For a single one among few bilateral rows also the force beyond which it is opposed, N; 0 where redundant
    rows, or others of these drives, leave that to `_largest`.
    """
    m, asked, pressed, count, drives, bilateral = len(law), 0.0, 0.0, 0, 0, 0
    i = 0
    while i < m:
        if law[i] == _DRIVE:
            asked = max(asked, abs(delta_free[i] - target[i]))
            drives += 1
        elif law[i] == _BILATERAL:
            bilateral += 1
        elif law[i] == _SIGNORINI or law[i] == _COULOMB:
            pressed = max(pressed, -delta_free[i])
        i += 3 if law[i] == _COULOMB else 1
    for i in range(m):
        free = law[i] == _DRIVE and lower[i] >= 0.0 and upper[i] == np.inf and lam[i] > 0.0
        if free and lam[i] * W[i, i] > _OPPOSED * max(asked, pressed):
            rows[count] = i
            count += 1
    if count != 1 or drives != 1 or bilateral > MOST_ROWS:
        return count, 0.0
    row, closed, q, D = rows[0], np.empty(bilateral, np.int64), delta_free - target, np.empty(m)
    A, right = np.empty((bilateral, bilateral)), np.empty((2, bilateral))
    k = 0
    for i in range(m):
        if law[i] == _BILATERAL:
            closed[k] = i
            k += 1
    if not unit_scales(W, D) or not bilateral_forces(W, q, closed, row, D, A, right):
        return count, 0.0
    rest, compliance = q[row], W[row, row]
    for k in range(bilateral):
        rest += W[row, closed[k]] * right[0, k]
        compliance += W[row, closed[k]] * right[1, k]
    return count, _OPPOSED * max(abs(rest), pressed) / compliance if compliance > 0.0 else np.inf


def _largest(problem: MixedProblem, rows: IndexArray) -> FloatArray:
    """λ in N beyond which the drives `rows` are opposed. Bilateral rows are part of the bodies here: a rod that is
    attached to a finger moves it.
    """
    drives, bilateral = np.flatnonzero(problem.law == _DRIVE), np.flatnonzero(problem.law == _BILATERAL)
    q = problem.delta_free - problem.target
    asked, compliance = q[drives], problem.W.diagonal()[rows]
    if len(bilateral):
        right = np.column_stack([q[bilateral], problem.W[np.ix_(bilateral, rows)]])
        forces = np.linalg.lstsq(problem.W[np.ix_(bilateral, bilateral)], right, rcond=1e-11)[0]
        asked = asked - problem.W[np.ix_(drives, bilateral)] @ forces[:, 0]
        compliance = compliance - (problem.W[np.ix_(rows, bilateral)] * forces[:, 1:].T).sum(axis=1)
    largest: FloatArray = np.full(len(rows), np.inf)
    moves = compliance > 0.0
    largest[moves] = _OPPOSED * max(np.abs(asked).max(), _pressed(problem)) / compliance[moves]
    return largest


def _pressed(problem: MixedProblem) -> float:
    """The largest overlap (m) that contacts would have without forces: cables resist what it asks for as well."""
    normal = problem.law == _SIGNORINI
    normal[np.flatnonzero(problem.law == _COULOMB)[::3]] = True
    return -float(problem.delta_free[normal].min(initial=0.0))
