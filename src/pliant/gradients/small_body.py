"""A body of few unknowns in the derivatives of a step: rods, beams, rigid bodies.

Its equation R(q⁺, q, v) = −(r + Hᵀλ) is differentiated by finite differences of fourth order of the residual that the
step itself evaluates, one unknown at a time, the rows included: lever arms that turn and planes that turn with the
body are in it. q is moved by exp as the step moves it. With fixed q⁺ the displacement dx follows q:

    q⁺ = (q ⊕ ξ) ⊕ dx = q⁺ ⊕ S ξ,          ∂R/∂q at fixed q⁺ is ∂R/∂ξ − A S
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy import linalg, sparse

from pliant.core.errors import InputError
from pliant.core.types import FloatArray
from pliant.gradients.finite import derivative
from pliant.models.adjoint import Pulled
from pliant.models.model import StepStart, Trial, size_of
from pliant.stepping.bodies import StepBodies

LARGEST = 400
"""Unknowns of a body up to which finite differences are taken."""
STEP = 3e-4
"""Motion of the farthest node in a difference, over the size of the body: forces of beams are stiff in it."""
SINGULAR = 1e13
"""Condition of A from which on it is that of a body that only rows hold."""


class SmallBodyAdjoint:
    """The adjoint of one step of `trial`, begun at `begin` as `restart` begins it again from another q and v."""

    fineness: ClassVar[float] = 1.0
    """Factor on the steps of the differences."""

    def __init__(
        self, trial: Trial, restart: Callable[[FloatArray, FloatArray], Trial], q: FloatArray, v: FloatArray
    ) -> None:
        model = trial.model
        if model.size > LARGEST:
            raise InputError(
                f"{model.name!r} has {model.size} unknowns; gradients through rods and beams take "
                f"finite differences and know up to {LARGEST}: use fewer elements"
            )
        if model.remembers:
            raise InputError(f"gradients through {model.name!r} are not known: its material has a memory")
        self.trial, self.model = trial, model
        self.shape: tuple[int, ...] = trial.dx.shape
        self.free = np.flatnonzero(~model.constrained.ravel())
        self.steps = self.fineness * _steps(trial)
        self._restart, self._q, self._v = restart, q, v
        self._push = np.zeros((model.size, model.size))
        self._factor: Any = None
        self._shift = 0.0
        self._by_end = self._columns(lambda k, s: self._values(self.moved(k, s)), self.steps)
        self._by_q = self._columns(lambda k, s: self._values_from(self.start_moved(k, s), v), self.steps)
        scale = max(float(np.abs(v).max(initial=0.0)), 1.0)
        rates = np.full(model.size, STEP * scale)
        self._by_v = self._columns(lambda k, s: self._values_from(q, self.start_faster(k, s)), rates)
        placed = trial.positions().size
        self._positions = slice(model.size, model.size + placed)
        self._after = slice(model.size + placed, None)
        ends = self._by_end[self._positions][:, self.free]
        self.carried = np.zeros((model.size, model.size))
        self.carried[self.free] = np.linalg.lstsq(ends, self._by_q[self._positions], rcond=None)[0]

    def moved(self, k: int, s: float) -> Trial:
        """The step with its end moved by s along the unknown k."""
        return self.trial.at(self.trial.moved(self.trial.dx, self._unit(k), s))

    def begun(self, k: int, s: float) -> Trial:
        """The step with the same dx from a start moved by s along the unknown k."""
        return self._restart(self.start_moved(k, s), self._v).at(self.trial.dx)

    def restarted(self, k: int, s: float) -> Trial:
        """The start of the step moved by s along the unknown k, without motion."""
        return self._restart(self.start_moved(k, s), self._v)

    def start_moved(self, k: int, s: float) -> FloatArray:
        """q of the start moved by s along the unknown k."""
        made: FloatArray = self.trial.displaced(self._q, s * self._unit(k))
        return made

    def start_faster(self, k: int, s: float) -> FloatArray:
        """v of the start changed by s along the unknown k."""
        return self._along(self._v, k, s)

    def add_rows(self, push: FloatArray) -> None:
        """∂(Hᵀλ)/∂q⁺ (unknowns, unknowns) of the rows."""
        self._push = push

    def solve(self, g: FloatArray) -> FloatArray:
        """A⁻ᵀ g over the free unknowns, of the shape of dx."""
        return self._solved(g.reshape(-1, 1)).reshape(g.shape)

    def solve_rows(self, G: sparse.csr_matrix) -> FloatArray:
        """A⁻ᵀ Gᵀ (unknowns, m)."""
        return self._solved(np.asarray(G.todense() if sparse.issparse(G) else G).T)

    @property
    def is_loose(self) -> bool:
        """Whether its own forces leave a motion open, which only rows can resist."""
        return bool(self._shift)

    def rest(self, w: FloatArray) -> FloatArray | None:
        """What was added to a singular A, with the sign changed; None where nothing was."""
        return -self._shift * w if self._shift else None

    def start(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """−(∂R/∂q)ᵀ w and −(∂R/∂v)ᵀ w at fixed q⁺; what rows know of the start is not in it."""
        size = self.model.size
        held = self._by_q[:size] - self._by_end[:size] @ self.carried
        flat = w.ravel()
        return (held.T @ flat).reshape(self.shape), (self._by_v[:size].T @ flat).reshape(self.shape)

    def velocity(self, g: FloatArray) -> Pulled:
        """Derivatives of g · v⁺."""
        end, q = self._by_end[self._after], self._by_q[self._after]
        flat = g.ravel()
        parts = end.T @ flat, (q - end @ self.carried).T @ flat, self._by_v[self._after].T @ flat
        return Pulled(*[part.reshape(self.shape) for part in parts])

    def solve_columns(self, b: FloatArray) -> FloatArray:
        """A⁻¹ b over the free unknowns, (unknowns, k)."""
        return self._solved(b, forward=True)

    def rest_along(self, y: FloatArray) -> FloatArray | None:
        """What was added to a singular A, with the sign changed; None where nothing was."""
        return self.rest(y)

    def started(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """−∂R/∂q q − ∂R/∂v v at fixed q⁺, (unknowns, k); what rows know of the start is not in it."""
        size = self.model.size
        held: FloatArray = self._by_q[:size] - self._by_end[:size] @ self.carried
        return held @ q + self._by_v[:size] @ v

    def ended(self, end: FloatArray, q: FloatArray, v: FloatArray) -> FloatArray:
        """How v⁺ follows the end and the start, (unknowns, k)."""
        by_end = self._by_end[self._after]
        made: FloatArray = by_end @ (end - self.carried @ q) + self._by_q[self._after] @ q + self._by_v[self._after] @ v
        return made

    def release(self) -> None:
        """Nothing was taken."""

    def _solved(self, right: FloatArray, *, forward: bool = False) -> FloatArray:
        if self._factor is None:
            size = self.model.size
            A = -(self._by_end[:size] + self._push)[np.ix_(self.free, self.free)]
            if len(A) and not _condition(A) <= SINGULAR:  # a free body at rest: rows hold it, in the whole system
                size = size_of(self.model, self.trial.positions())
                self._shift = max(float(np.abs(A).max()), self.trial.residual().scale / size) or 1.0
                A = A + self._shift * np.eye(len(A))
            self._factor = linalg.lu_factor(A.T)
        made = np.zeros(right.shape)
        made[self.free] = linalg.lu_solve(self._factor, right[self.free], trans=int(forward))
        return made

    def _values(self, trial: Trial) -> FloatArray:
        """R, positions and velocities at the end of a trial from the start of the step, one after another."""
        return joined_values(trial.residual().r, trial)

    def _values_from(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """The same of the step with the same dx from another start."""
        return self._values(self._restart(q, v).at(self.trial.dx))

    def _columns(self, values: Callable[[int, float], FloatArray], steps: FloatArray) -> FloatArray:
        """Derivatives of `values` by each free unknown, (outputs, unknowns)."""
        made = None
        for k in self.free:
            column = derivative(partial(values, k), steps[k])
            made = np.zeros((len(column), self.model.size)) if made is None else made
            made[:, k] = column
        if made is None:
            made = np.zeros((len(self._values(self.trial)), self.model.size))
        return made

    def _unit(self, k: int) -> FloatArray:
        made = np.zeros(self.model.size)
        made[k] = 1.0
        return made.reshape(self.shape)

    def _along(self, v: FloatArray, k: int, s: float) -> FloatArray:
        return v + s * self._unit(k).reshape(v.shape)


def start_of(bodies: StepBodies, index: int) -> StepStart:
    """The start of the step of body `index`."""
    q, v = bodies.start.q[index], bodies.start.v[index]
    given = bodies.gravity, bodies.controls, bodies.workspace, None, bodies.world.supported[index], None
    return StepStart(q, v, bodies.scheme, *given)


def restart_of(model: Any, start: StepStart) -> Callable[[FloatArray, FloatArray], Trial]:
    """What begins the step of `start` again from another q and v."""
    return lambda q, v: model.trial(start._replace(q=np.ascontiguousarray(q), v=np.ascontiguousarray(v)))


def _condition(A: FloatArray) -> float:
    """The condition of A, nan of a matrix that is zero."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return float(np.linalg.cond(A))


def joined_values(r: FloatArray, trial: Trial) -> FloatArray:
    """R, positions and velocities at the end of a trial, one after another."""
    return np.concatenate([r.ravel(), trial.positions().ravel(), np.ravel(trial.velocities())])


def _steps(trial: Trial) -> FloatArray:
    """Steps (unknowns,) that move no node by more than a thousandth of the body, and turn no frame by more than that in
    radians.
    """
    model, q = trial.model, trial.positions()
    points = model.node_positions(q)
    size = size_of(model, q)
    made = np.empty(model.size)
    for k in range(model.size):
        unit = np.zeros(model.size)
        unit[k] = 1e-7
        there = trial.displaced(q, unit.reshape(trial.dx.shape))
        motion = float(np.abs(model.node_positions(there) - points).max()) / size
        turn = model.node_frames(there) - model.node_frames(q) if model.spec.slender else (there - q)[1:]
        motion = max(motion, float(np.abs(turn).max())) if model.has_frames else motion
        made[k] = STEP * 1e-7 / motion if motion else STEP
    return made
