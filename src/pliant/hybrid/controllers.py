"""Controllers of a hybrid system: sampled at their own rate, or continuous with states of their own.

A plain function `u(t, q, v)` is a continuous controller without states. Several controllers add up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.core.checks import finite_array, positive
from pliant.core.declared import check_declared, declared
from pliant.core.errors import InputError
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray


@one_line
@dataclass(frozen=True, eq=False)
class Sampled:
    """A discrete-time controller: every `period` (s) `update(t, q, v, memory)` → (u (k,), memory), u constant between.

    `memory` is the controller's own state, of any type; it is passed on, never modified in place.
    """

    period: float
    update: Callable[[float, FloatArray, FloatArray, Any], tuple[Any, Any]]
    memory: Any = None

    def __post_init__(self) -> None:
        check_declared(self)
        positive("period of a sampled controller", self.period, unit="s")


@one_line
@dataclass(frozen=True, eq=False)
class Continuous:
    """A continuous controller with `order` states x: ẋ = `rates(t, x, q, v)`, u = `output(t, x, q, v)` (k,)."""

    order: int
    rates: Callable[[float, FloatArray, FloatArray, FloatArray], Any]
    output: Callable[[float, FloatArray, FloatArray, FloatArray], Any]
    initial: Any = None

    def start(self) -> FloatArray:
        """The initial states (order,)."""
        if self.initial is None:
            return np.zeros(self.order)
        return finite_array("initial states of a continuous controller", self.initial, shape=(self.order,))


Controller = Sampled | Continuous | Callable[[float, FloatArray, FloatArray], Any]


def as_controllers(control: Any) -> tuple[Controller, ...]:
    """The controllers of an argument `control`: none, one, or several."""
    if control is None:
        return ()
    several = tuple(control) if isinstance(control, (tuple, list)) else (control,)
    for controller in several:
        if isinstance(controller, type) or not (isinstance(controller, (Sampled, Continuous)) or callable(controller)):
            raise InputError(f"control must be a function u(t, q, v), a Sampled or a Continuous, got {controller!r}")
    return several


@declared
def compensator(system: Any, measure: Callable[[float, FloatArray, FloatArray], Any]) -> Continuous:
    """A `control.StateSpace` or transfer function from the signal `measure(t, q, v)` to u, as a `Continuous`."""
    from pliant.hybrid.linearize import control_package

    ss = control_package().ss(system)
    A, B, C, D = (np.asarray(matrix, float) for matrix in (ss.A, ss.B, ss.C, ss.D))

    def rates(t: float, x: FloatArray, q: FloatArray, v: FloatArray) -> FloatArray:
        return np.asarray(A @ x + B @ np.atleast_1d(measure(t, q, v)))

    def output(t: float, x: FloatArray, q: FloatArray, v: FloatArray) -> FloatArray:
        return np.asarray(C @ x + D @ np.atleast_1d(measure(t, q, v)))

    return Continuous(len(A), rates, output)


class Flow:
    """The right-hand side of the whole state y = (q, v, controller states) in one discrete state.

    `sampled_input` is the sum of the sampled controllers' outputs, which does not change within a step.
    """

    __slots__ = ("controllers", "dynamics", "n", "sampled_input", "size")

    def __init__(self, dynamics: Any, controllers: tuple[Controller, ...], sampled_input: FloatArray | None) -> None:
        self.dynamics = dynamics
        self.n = dynamics.equations.n
        self.controllers = tuple(controller for controller in controllers if not isinstance(controller, Sampled))
        self.sampled_input = sampled_input
        self.size = 2 * self.n + sum(c.order for c in self.controllers if isinstance(c, Continuous))

    def input(self, t: float, y: FloatArray) -> Any:
        """u (k,) at (t, y), or None where nothing controls."""
        u = self.sampled_input
        if self.controllers:
            q, v, offset = y[: self.n], y[self.n : 2 * self.n], 2 * self.n
            for controller in self.controllers:
                if isinstance(controller, Continuous):
                    output = controller.output(t, y[offset : offset + controller.order], q, v)
                    offset += controller.order
                else:
                    output = controller(t, q, v)
                u = output if u is None else u + output
        return u

    def rate(self, t: float, y: FloatArray) -> FloatArray:
        """dy/dt."""
        n = self.n
        if not self.controllers:
            v = y[n:]
            return np.concatenate((v, self.dynamics.acceleration(y[:n], v, self.sampled_input)))
        q, v = y[:n], y[n : 2 * n]
        out = np.empty(self.size)
        out[:n] = v
        out[n : 2 * n] = self.dynamics.acceleration(q, v, self.input(t, y))
        if self.size > 2 * n:
            offset = 2 * n
            for controller in self.controllers:
                if isinstance(controller, Continuous):
                    own = slice(offset, offset + controller.order)
                    out[own] = controller.rates(t, y[own], q, v)
                    offset = own.stop
        return out
