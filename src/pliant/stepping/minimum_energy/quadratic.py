"""The quadratic problem of one iteration: dx = A⁻¹ (r + Cᵀλ), and λ from δ = gap + C dx and the laws of the rows.

Contacts that neither pushed before nor would be penetrated are left out of W and checked afterwards: they join it until
none is penetrated. Columns A⁻¹Cᵀ of the actuator rows are solved for together with A⁻¹r, since the quasi-Newton update
learns from them; W of these rows follows from the columns, that of contacts by condensation.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from pliant.constraints import Rows
from pliant.constraints.condense import problem_of
from pliant.core.errors import ConvergenceError
from pliant.core.timers import StageTimers
from pliant.core.types import BoolArray, FloatArray, IndexArray
from pliant.stepping.minimum_energy.constraint_rows import DescentConstraints
from pliant.stepping.minimum_energy.laws import active_equalities, solve_indefinite
from pliant.stepping.minimum_energy.metric import TangentMetric
from pliant.stepping.minimum_energy.quasi_newton import QuasiNewton
from pliant.stepping.minimum_energy.shapes import Energy

ROUNDS = 12
"""How often penetrated contacts may join the problem."""
TOUCH = 1e-9
"""Penetration that is rounding, as a fraction of the size of the largest body."""


class StalledError(Exception):
    """A descent did not reach its tolerance; the text says why."""


class IncrementError(StalledError):
    """The first step of a load increment strains some cell by `rate`, too much."""

    def __init__(self, message: str, rate: float) -> None:
        super().__init__(message)
        self.rate = rate


class Point(NamedTuple):
    """A configuration: displacement (N,), m, energy (J), the rows of actuators and their matrix C (m, N)."""

    dx: FloatArray
    energy: Energy
    actuators: Rows | None
    C: sparse.csr_matrix

    @property
    def r(self) -> FloatArray:
        """Forces (N,), N."""
        return self.energy.r


class Step(NamedTuple):
    """The solution of a quadratic problem: dx (N,) m, λ of the actuator rows and of the contacts, ρ of the actuator
    rows, and the nodal forces (N,) of the contacts, zero at constrained DoFs, N.
    """

    dx: FloatArray
    actuator_forces: FloatArray
    contact_forces: FloatArray
    rho: FloatArray
    contact_push: FloatArray


class Quadratic:
    """Quadratic problems with one kept matrix and its quasi-Newton update."""

    def __init__(self, free: BoolArray, size: float, memory: int, timers: StageTimers) -> None:
        self._free = free
        self._size = size
        self._timers = timers
        self.metric: TangentMetric | None = None
        self.pairs = QuasiNewton(memory)
        self._last: tuple[Point, FloatArray, FloatArray] | None = None
        self._raw: FloatArray = np.zeros((0, 0))
        self._condensed: tuple[Any, FloatArray] | None = None

    def renew(self, metric: TangentMetric) -> None:
        """Take another matrix."""
        self.release()
        self.metric = metric
        if metric.attempt:
            self.pairs.rebase(metric.solve)
        else:
            self.pairs.clear()
        self._last = self._condensed = None

    def release(self) -> None:
        """Hand the memory of the factor back."""
        if self.metric is not None:
            self.metric.release()
            self.metric = None

    def taken(self, point: Point, step: Step) -> None:
        """Note that `step` was taken from `point`: the update learns from it."""
        self._last = (point, self._raw, step.actuator_forces)

    def solve(self, point: Point, constraints: DescentConstraints) -> Step:
        """The problem at `point`: actuator rows, and as many contacts as it takes that none is penetrated."""
        assert self.metric is not None
        with self._timers.stage("solve"):
            given = np.column_stack([point.r, point.C.toarray().T]) * self._free[:, None]
            raw = self.metric.solve(given)
            self._learn(point, raw)
            first = self.pairs.improved(given, raw)
        m = point.C.shape[0]
        nothing = np.zeros(0)
        present = constraints.at_present(point.actuators)
        if present is None or not present.rows.count:
            return Step(first[:, 0], nothing, nothing, nothing, np.zeros(len(given)))
        rows, actuator, contact = present.rows, constraints.actuator, constraints.contact
        actuator_motion, contact_motion = point.C @ first, constraints.H @ first
        delta_free = rows.gap.copy()
        delta_free[actuator] += actuator_motion[:, 0]
        delta_free[contact] += contact_motion[:, 0]
        rho = 4.0 / np.maximum(np.abs(np.diagonal(actuator_motion[:, 1:])), 1e-300)
        chosen = constraints.lam[contact] > 0.0
        push = np.zeros(len(given))
        for _ in range(ROUNDS):
            picked = np.concatenate([actuator, contact[chosen]])
            across = contact_motion[chosen, 1:]
            W = np.block([[actuator_motion[:, 1:], across.T], [across, self._compliance(constraints, chosen)]])
            lam = self._forces(rows, picked, W, delta_free, constraints.lam)
            dx = first[:, 0] + first[:, 1:] @ lam[:m]
            if chosen.any():
                push = constraints.H[chosen].T @ lam[m:] * self._free
                with self._timers.stage("solve"):
                    dx = dx + self.pairs.improved(push, self.metric.solve(push[:, None])[:, 0])
            penetrated = ~chosen & (constraints.gap + constraints.H @ dx < -TOUCH * self._size)
            if not penetrated.any():
                break
            chosen |= penetrated
        whole = np.zeros(rows.count)
        whole[picked] = lam
        constraints.remember(whole)
        return Step(dx, lam[:m], whole[contact], np.where(active_equalities(rows, whole)[actuator], rho, 0.0), push)

    def _compliance(self, constraints: DescentConstraints, chosen: BoolArray) -> FloatArray:
        """W of the contacts `chosen` among themselves; that of the kept matrix is kept while they stay the same."""
        assert self.metric is not None
        if not chosen.any():
            return np.zeros((0, 0))
        with self._timers.stage("condense"):
            which = (constraints.detection_count, chosen.tobytes())
            if self._condensed is None or self._condensed[0] != which:
                self._condensed = which, self.metric.compliance([H[chosen] for H in constraints.by_model])
            W = self._condensed[1]
            if self.pairs.update is not None:
                U, M = self.pairs.update
                CU = constraints.H[chosen] @ U
                W = W + CU @ M @ CU.T
        return W

    def _forces(
        self, rows: Rows, picked: IndexArray, W: FloatArray, delta_free: FloatArray, warm: FloatArray
    ) -> FloatArray:
        """λ of the rows `picked`; equality rows are eliminated first, since W of a chamber may be negative."""
        p = problem_of(rows, 0.5 * (W + W.T), delta_free[picked], picked)
        with self._timers.stage("constraints"):
            try:
                return solve_indefinite(p, warm[picked])
            except (ConvergenceError, np.linalg.LinAlgError) as error:
                raise StalledError(str(error)) from error

    def _learn(self, point: Point, raw: FloatArray) -> None:
        """Add the pair of the last step, from the solutions with the kept factor before and after it."""
        if self._last is not None:
            before, old, lam = self._last
            s = point.dx - before.dx
            change = (point.C - before.C).T @ lam if len(lam) else 0.0
            y = np.where(self._free, -(point.r - before.r) - change, 0.0)
            self.pairs.learn(s, y, -(raw[:, 0] - old[:, 0]) - (raw[:, 1:] - old[:, 1:]) @ lam)
            self._last = None
        self._raw = raw
