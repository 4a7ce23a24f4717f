"""Controllers of a hybrid system: sampled at their own rate, or continuous with states of their own.

A plain function `u(t, q, v)` is a continuous controller without states. Several controllers add up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.core.checks import positive
from pliant.core.errors import InputError
from pliant.core.types import FloatArray


@dataclass(frozen=True, eq=False)
class Sampled:
    """A discrete-time controller: every `period` (s) `update(t, q, v, memory)` → (u (k,), memory); u is held between.

    `memory` is what the controller remembers, of any kind, and is handed on, never changed in place.
    """

    period: float
    update: Callable[[float, FloatArray, FloatArray, Any], tuple[Any, Any]]
    memory: Any = None

    def __post_init__(self) -> None:
        positive("period of a sampled controller", self.period, unit="s")


@dataclass(frozen=True, eq=False)
class Continuous:
    """A continuous controller with `order` states x: ẋ = `rates(t, x, q, v)`, u = `output(t, x, q, v)` (k,)."""

    order: int
    rates: Callable[[float, FloatArray, FloatArray, FloatArray], Any]
    output: Callable[[float, FloatArray, FloatArray, FloatArray], Any]
    initial: Any = None

    def start(self) -> FloatArray:
        """The initial states (order,)."""
        return np.zeros(self.order) if self.initial is None else np.asarray(self.initial, float)


Controller = Sampled | Continuous | Callable[[float, FloatArray, FloatArray], Any]


def as_controllers(control: Any) -> tuple[Controller, ...]:
    """The controllers of an argument `control`: none, one, or several."""
    if control is None:
        return ()
    several = tuple(control) if isinstance(control, (tuple, list)) else (control,)
    for one in several:
        if not isinstance(one, (Sampled, Continuous)) and not callable(one):
            raise InputError(f"control must be a function u(t, q, v), a Sampled or a Continuous, got {one!r}")
    return several


def compensator(system: Any, measure: Callable[[float, FloatArray, FloatArray], Any]) -> Continuous:
    """A linear controller as a `Continuous`: `system` is a `control.StateSpace` or transfer function from the measured
    signal (or error) `measure(t, q, v)` to u.
    """
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

    `held` is the sum of the sampled controllers' outputs, which does not change within a step.
    """

    __slots__ = ("controllers", "held", "motion", "n", "size")

    def __init__(self, motion: Any, controllers: tuple[Controller, ...], held: FloatArray | None) -> None:
        self.motion = motion
        self.n = motion.equations.n
        self.controllers = tuple(one for one in controllers if not isinstance(one, Sampled))
        self.held = held
        self.size = 2 * self.n + sum(one.order for one in self.controllers if isinstance(one, Continuous))

    def input(self, t: float, y: FloatArray) -> Any:
        """u (k,) at (t, y), or None where nothing controls."""
        u = self.held
        if self.controllers:
            q, v, place = y[: self.n], y[self.n : 2 * self.n], 2 * self.n
            for one in self.controllers:
                if isinstance(one, Continuous):
                    part = one.output(t, y[place : place + one.order], q, v)
                    place += one.order
                else:
                    part = one(t, q, v)
                u = part if u is None else u + part
        return u

    def rate(self, t: float, y: FloatArray) -> FloatArray:
        """dy/dt."""
        n = self.n
        if not self.controllers:
            v = y[n:]
            return np.concatenate((v, self.motion.acceleration(y[:n], v, self.held)))
        q, v = y[:n], y[n : 2 * n]
        out = np.empty(self.size)
        out[:n] = v
        out[n : 2 * n] = self.motion.acceleration(q, v, self.input(t, y))
        if self.size > 2 * n:
            place = 2 * n
            for one in self.controllers:
                if isinstance(one, Continuous):
                    out[place : place + one.order] = one.rates(t, y[place : place + one.order], q, v)
                    place += one.order
        return out
