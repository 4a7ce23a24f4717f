"""The QPCC of an inverse in one linear solve: built from the rows of a step, solved, and turned into λ of all rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pliant.actuators import ActuatorRows
from pliant.actuators.joint import JointMemory
from pliant.actuators.limits import largest_change
from pliant.constraints.rows import forces_of
from pliant.control.qpcc_kernels import fill_problem, sort_rows
from pliant.core.arrays import frozen
from pliant.core.errors import ConvergenceError, InputError, PliantWarning
from pliant.core.types import BoolArray, FloatArray, IndexArray
from pliant.solvers.contact import MixedProblem
from pliant.solvers.contact.blocks import NO_BLOCKS, equilibrating_scale
from pliant.solvers.contact.elimination import Elimination, eliminate
from pliant.solvers.inverse import QpccProblem, QpccResult, solve_qpcc
from pliant.solvers.inverse.friction import solve_frictional
from pliant.solvers.inverse.without_contacts import solve_without_contacts
from pliant.stepping.session import Condensed

if TYPE_CHECKING:
    from pliant.control.inverse import InverseSession


_NOTHING: FloatArray = np.zeros(0)


class Reached(NamedTuple):
    """Unknowns of an inverse, forces of the actuators (N) and motions of the supports (m), with their limits; and the
    displacements of the actuators, m, with theirs.
    """

    x: FloatArray
    x_limits: tuple[FloatArray, FloatArray]
    delta: FloatArray
    limits: tuple[FloatArray, FloatArray]

    def at_limit(self) -> BoolArray:
        """Which actuators, then supports, are at a limit of force or displacement."""
        at: BoolArray = _near(self.x, self.x_limits[0]) | _near(self.x, self.x_limits[1])
        at[: len(self.delta)] |= _near(self.delta, self.limits[0]) | _near(self.delta, self.limits[1])
        return at


class RowLayout(NamedTuple):
    """Rows of the actuators, of the soft effectors and of the hard ones, and the square roots of the weights of the
    soft ones; `first` is the first row of an effector.
    """

    actuators: IndexArray
    effectors: IndexArray
    hard: IndexArray
    weights: FloatArray
    first: int

    @classmethod
    def of(
        cls, actuators: Sequence[slice], effectors: Sequence[slice], roots: Sequence[float], hard: Sequence[bool]
    ) -> RowLayout:
        """The layout for the slices of `actuators` and `effectors`, with a root and a mark for each of the latter."""
        counts = [own.stop - own.start for own in effectors]
        first = effectors[0].start
        rows: IndexArray = np.arange(first, effectors[-1].stop)
        is_hard: BoolArray = np.repeat(np.array(hard, np.bool_), counts)
        driven: IndexArray = np.array([own.start for own in actuators], np.int64)
        return cls(driven, rows[~is_hard], rows[is_hard], np.repeat(np.array(roots), counts)[~is_hard], first)


class StepQpcc:
    """The inverse problem over the rows of one linear solve.

    `order` holds the rows by role: `free` ones of actuators and effectors, `singles` contacts, `cones` with friction,
    then those with δ = 0, which are eliminated. `motions` are the responses to unit displacements of the supports.
    """

    def __init__(self, session: InverseSession, condensed: Condensed, problem: MixedProblem) -> None:
        self.session, self.bodies, self.problem = session, condensed.bodies, problem
        self.bound, self.assembly = session.bound, condensed.assembly
        factors, columns = condensed.factors, condensed.observed
        rows, slices = condensed.assembly.rows, condensed.assembly.slices
        count = len(rows.gap)
        self.layout = self.bound.layout(slices)
        self.actuator_rows = self.layout.actuators
        self.order, self.q, self.lam = np.empty(count, np.int64), np.empty(count), np.empty(count)
        laws = frozen(problem.law), frozen(problem.mu), frozen(problem.lower), frozen(problem.upper)
        self.free, self.singles, self.cones, self.zeros = sort_rows(
            *laws, frozen(problem.target), problem.delta_free, problem.W, self.actuator_rows, self.layout.first,
            self.order, self.q, self.lam,
        )  # fmt: skip
        if self.free < 0:
            raise InputError(
                "an actuator that is not an unknown of the inverse may be commanded by force, or by displacement "
                "without max_force: give it to the inverse, or remove the limit"
            )
        pairs = zip(session.supports, columns)
        self.motions = [driven.response(factors, column) for driven, column in pairs]
        self.B = np.zeros((count, len(self.motions)))
        for k, (driven, motions) in enumerate(zip(session.supports, self.motions)):
            self.B[:, k] = rows.H[driven.index] @ motions.ravel()
        self.x_limits: tuple[FloatArray, FloatArray] = (_NOTHING, _NOTHING)
        self.limits: tuple[FloatArray, FloatArray] = (_NOTHING, _NOTHING)

    @cached_property
    def last(self) -> FloatArray:
        """λ of all rows in the last step, 0 for new ones."""
        start = self.bodies.start
        return forces_of(self.assembly.rows.key, start.keys, start.lam)

    def solve(self) -> tuple[FloatArray, FloatArray, QpccResult, QpccProblem]:
        """λ of all rows, displacements of the supports, the result and the problem."""
        p, m, lam = self.problem, len(self.actuator_rows), self.lam
        contacts = self.order[self.free : self.free + self.singles + self.cones]
        if not self.zeros:
            qpcc = self._qpcc(p.W, self.q, self.B, None)
            x, y, result = self._solved(qpcc, contacts)
        else:
            count = self.free + self.singles + self.cones  # rows with a given force are not in the order
            kept, eliminated = self.order[:count], self.order[count : count + self.zeros]
            where = np.empty(len(lam), np.int64)
            where[kept] = np.arange(len(kept))
            reduced = self._eliminated(kept, eliminated)
            qpcc = self._qpcc(reduced.W, reduced.q[:, 0].copy(), reduced.q[:, 1:].copy(), where)
            x, y, result = self._solved(qpcc, contacts)
            forces = np.zeros(len(kept))
            forces[where[self.actuator_rows]], forces[self.free :] = x[:m], y
            lam[eliminated] = reduced.forces_free @ np.append(1.0, x[m:]) + reduced.forces_kept @ forces
        lam[self.actuator_rows] = x[:m]
        if len(contacts):
            lam[contacts] += y
        return lam, x[m:], result, qpcc

    def _eliminated(self, kept: IndexArray, eliminated: IndexArray) -> Elimination:
        """W, q and B of the kept rows after elimination of those with δ = 0, and the forces of the latter."""
        D = equilibrating_scale(self.problem.W, NO_BLOCKS)
        size = float(np.linalg.norm(D * self.q)) or 1.0
        q = np.column_stack([self.q, self.B])
        return eliminate(self.problem.W, q, kept, eliminated, D, allowed=1e-8 * size)  # left by redundant rows

    def _qpcc(self, W: FloatArray, q: FloatArray, B: FloatArray, where: IndexArray | None) -> QpccProblem:
        """The problem over x = (λ of the actuators, displacements of the supports) and y = contact forces; `where`
        are the positions of the rows in W, None: the same.
        """
        actuators, contacts = self.actuator_rows, self.order[self.free : self.free + self.singles + self.cones]
        effectors, hard, weights = self.layout.effectors, self.layout.hard, self.layout.weights
        self._limit()
        low, high = self.limits
        rows = actuators[:0]
        if self.bound.any_limit or len(hard):
            limited, zeros = np.isfinite(low) | np.isfinite(high), np.zeros(len(hard))
            rows = np.concatenate([actuators[limited], hard])
            low, high = np.concatenate([low[limited], zeros]), np.concatenate([high[limited], zeros])
        else:
            low = high = low[:0]
        if where is not None:
            actuators, contacts, rows, effectors = where[actuators], where[contacts], where[rows], where[effectors]
        na, nc = len(actuators) + B.shape[1], len(contacts)
        table, G = np.empty((nc + len(rows) + len(effectors), na + 1 + nc)), np.empty((na, na))
        epsilon = self.session.inverse.energy_weight
        fill_problem(
            W, q, B, actuators, contacts, rows, effectors, weights, np.nan if epsilon is None else epsilon,
            self.bound.of_one_kind, table, G,
        )  # fmt: skip
        return QpccProblem.of_table(table, G, *self.x_limits, low, high)

    def _limit(self) -> None:
        """Set the bounds of x (na,) and of the actuators' displacements."""
        bound, interval = self.bound, self.bodies.scheme.interval
        cut = [getattr(self.assembly.memories[k], "cut", False) for k in bound.constraints]
        if bound.steady_limits is not None and True not in cut and not self.session.supports:
            self.x_limits, self.limits = bound.steady_limits
            return
        x_low, x_high, force_rates = bound.force_limits
        if bound.any_force_rate:
            least, most, last = x_low, x_high, self.last[self.actuator_rows]
            changes = np.array([largest_change(rate, interval) for rate in force_rates])
            x_low = np.minimum(np.maximum(least, last - changes), most)
            x_high = np.maximum(np.minimum(most, last + changes), least)
        low, high, rates = bound.change_limits
        if bound.any_rate:
            changes = np.array([largest_change(rate, interval) for rate in rates])
            limited = zip(bound.constraints, changes, strict=True)
            start = [self._displacement(k) if change < np.inf else 0.0 for k, change in limited]
            low, high = np.maximum(low, start - changes), np.minimum(high, start + changes)
        if True in cut:
            x_low, x_high = np.where(cut, 0.0, x_low), np.where(cut, 0.0, x_high)
            low, high = np.where(cut, -np.inf, low), np.where(cut, np.inf, high)
        if self.session.supports:
            spans = np.array([driven.span(self.bodies) for driven in self.session.supports])
            x_low, x_high = np.append(x_low, spans[:, 0]), np.append(x_high, spans[:, 1])
        self.x_limits, self.limits = (x_low, x_high), (low, high)

    def _displacement(self, index: int) -> float:
        """δ of an actuator at the start of the step, angles unwrapped; `index` is that of its constraint."""
        memories, actuator = self.bodies.start.memories, self.bodies.world.constraints[index]
        memory = memories[index] if memories else None
        if isinstance(memory, JointMemory):
            return memory.angle
        assert isinstance(actuator, ActuatorRows)
        return float(actuator.displacement(self.bodies.start.q))

    def _solved(self, qpcc: QpccProblem, contacts: IndexArray) -> tuple[FloatArray, FloatArray, QpccResult]:
        if not len(contacts) and (found := solve_without_contacts(qpcc)) is not None:
            return found.x, found.y, found
        x = self.last[self.actuator_rows]
        if self.motions:
            x = np.append(x, np.zeros(len(self.motions)))
        x = np.minimum(np.maximum(x, qpcc.x_lower), qpcc.x_upper)
        if not self.cones:
            pressed = np.maximum(self.last[contacts] - self.lam[contacts], 0.0) if len(contacts) else None
            globalize = self.session.inverse.globalize
            result = _best(lambda: solve_qpcc(qpcc, warm=x, pressed=pressed, globalize=globalize))
            return result.x, result.y, result
        if self.session.inverse.globalize:
            raise InputError(
                f"globalize needs frictionless contacts, but {self.cones // 3} have friction on the exact cone: leave "
                "globalize out, or make the contacts frictionless"
            )
        padded, rows = _padded(qpcc, self.singles)
        friction = np.concatenate([np.zeros(self.singles), self.problem.mu[contacts[self.singles :: 3]]])
        result = _best(lambda: solve_frictional(padded, friction, warm=x))
        return result.x, result.y[rows], result

    def reached(self, lam: FloatArray, moved: FloatArray) -> Reached:
        """Where actuators and supports have gone, and their limits."""
        rows = self.actuator_rows
        delta = self.problem.delta_free[rows] + self.problem.W[rows] @ lam
        if not len(moved):
            return Reached(lam[rows], self.x_limits, delta, self.limits)
        return Reached(np.concatenate([lam[rows], moved]), self.x_limits, delta + self.B[rows] @ moved, self.limits)


def _best(search: Callable[[], QpccResult]) -> QpccResult:
    """What `search` finds, or with a warning the best point it met where it ended outside limits."""
    try:
        return search()
    except ConvergenceError as error:
        if not isinstance(error.result, QpccResult):
            raise
        warnings.warn(
            "no actuation inside all limits was found for a step of the inverse within its budget; the one that "
            "violates them least is used: read info.inverse.result, loosen the limits or move the targets",
            PliantWarning,
            stacklevel=2,
        )
        return error.result


def _near(x: FloatArray, bound: FloatArray) -> Any:
    """Which x are at their bound, up to 1e-9 of it or 1e-12 (m, N): what a support has left to go is a difference."""
    return np.isfinite(bound) & (np.abs(x - bound) <= 1e-9 * np.maximum(np.abs(bound), 1e-3))


def _padded(p: QpccProblem, singles: int) -> tuple[QpccProblem, IndexArray]:
    """The problem with two zero tangents after each frictionless contact, and the new positions of its rows."""
    if not singles:
        return p, np.arange(p.contact_count)
    total = p.contact_count + 2 * singles
    rows = np.concatenate([3 * np.arange(singles), np.arange(3 * singles, total)])

    def spread(block: FloatArray, axis: int) -> FloatArray:
        shape = list(block.shape)
        shape[axis] = total
        made = np.zeros(shape)
        made[(slice(None),) * axis + (rows,)] = block
        return made

    return replace(
        p,
        E_c=spread(p.E_c, 1),
        R_c=spread(p.R_c, 1),
        C_a=spread(p.C_a, 0),
        W_cc=spread(spread(p.W_cc, 0), 1),
        c=spread(p.c, 0),
    ), rows
