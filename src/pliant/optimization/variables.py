"""Variables of an optimisation: what may be chosen, between which bounds, and where the search begins.

A variable has free numbers x (size,), in its own units. It says which commands or which world they make, and pulls the
derivatives of a loss back to them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from pliant.actuators.drive import Actuator
from pliant.core.checks import finite_array, finite_number, positive, positive_count
from pliant.core.declared import check_declared
from pliant.core.errors import InputError
from pliant.core.one_line import one_line
from pliant.core.types import BoolArray, FloatArray
from pliant.gradients import parameters
from pliant.gradients.parameters import Parameter
from pliant.optimization.designs import movable, present_values
from pliant.optimization.splines import basis, slopes
from pliant.world import World
from pliant.world.state import name_of

__all__ = ["Command", "Design", "Variable"]


@dataclass(frozen=True, eq=False)
class Free:
    """The free numbers of a variable in a run: `parameter` is what the derivative of a loss is taken by, `values` makes
    its values of x (size,), `pull` the derivative by x of that by the parameter, and ``rows @ x + offset`` lies within
    ± `largest` (the rates of a command).
    """

    parameter: Parameter
    guess: FloatArray
    lower: FloatArray
    upper: FloatArray
    values: Callable[[FloatArray], FloatArray]
    pull: Callable[[FloatArray], FloatArray]
    rows: FloatArray
    offset: FloatArray
    largest: float


class Variable:
    """What may be chosen in `pl.optimize`."""

    def free(self, world: World, steps: int, span: float) -> Free:
        """Its free numbers in a run of `steps` steps that takes `span` s (0 of equilibria without time)."""
        raise NotImplementedError


@one_line
@dataclass(frozen=True, eq=False)
class Command(Variable):
    """What an `actuator` is commanded over the run: its displacement (m, m³, rad), or its `force` (N, Pa, N·m).

    bounds
        The least and the largest command.
    knots
        Control points of a spline over the run; 1: the same command in all steps; None: each step has its own.
    degree
        Of the spline, 1 to 3; of fewer control points than degree + 1 it is lower.
    begin
        Command before the first step, from which the spline leaves; None: it may begin anywhere.
    rate
        Largest rate of the command, per second, of the whole spline; None: unlimited.
    guess
        Where the search begins: one number, or one for each control point that is free; None: the middle of the
        bounds, to which the command rises evenly from where it begins. A guess that is too fast is slowed down.
    """

    actuator: Any
    _: KW_ONLY
    bounds: Any
    knots: int | None = 1
    degree: int = 3
    begin: float | None = 0.0
    rate: float | None = None
    guess: Any = None
    force: bool = False

    def __post_init__(self) -> None:
        check_declared(self)
        if not isinstance(self.actuator, Actuator):
            raise InputError(f"pl.variables.Command takes an actuator, such as a pl.Cable, got {self.actuator!r:.60}")
        lower, upper = _bounds(self, ())
        if self.knots is not None:
            positive_count(f"knots of {self._title}", self.knots)
        if self.degree not in (1, 2, 3):
            raise InputError(f"degree of {self._title} must be 1, 2 or 3, got {self.degree}")
        if self.begin is not None:
            finite_number(f"begin of {self._title}", self.begin)
            if self.knots != 1 and not lower <= self.begin <= upper:
                raise InputError(
                    f"{self._title} begins at {self.begin:g}, outside its bounds {lower:g} to {upper:g}; give another "
                    "begin=, or None"
                )
        if self.rate is not None:
            positive(f"rate of {self._title}", self.rate)
            if self.knots == 1:
                raise InputError(f"{self._title} has one knot, a command that does not change: rate= needs more knots")

    @property
    def _title(self) -> str:
        return f"the Command of {name_of(self.actuator)}"

    def control(self, amount: float) -> Any:
        """The control value of a command."""
        return self.actuator.imposing(amount) if self.force else self.actuator.moving(amount)

    def free(self, world: World, steps: int, span: float) -> Free:
        """Its control points, but for the first where the command begins at a given one."""
        world.constraint_index(self.actuator)
        count = steps if self.knots is None else self.knots
        if count > steps:
            raise InputError(
                f"{self._title} has {count} knots for a run of {steps} steps; give at most one for each step"
            )
        if self.rate is not None and not span:
            raise InputError(f"{self._title} has a rate, but a pl.QuasiStatic without dt has no time: give it dt")
        fixed = self._begins(count)
        values, rates = self._matrices(count + fixed, steps)
        given = np.full(1, self.begin if fixed else 0.0)
        lower, upper = (np.full(count, each) for each in _bounds(self, ()))
        guess = self._first(count, span, rates, lower, upper)
        S, D = values[:, fixed:], rates[:, fixed:]
        start, start_rate = values[:, :fixed] @ given[:fixed], rates[:, :fixed] @ given[:fixed]
        return Free(
            parameters.Control(self.actuator), guess, lower, upper, lambda x: start + S @ x, lambda g: S.T @ g,
            D, start_rate, np.inf if self.rate is None else self.rate * span,
        )  # fmt: skip

    def _begins(self, count: int) -> int:
        """1 where a control point before those of x is given."""
        return int(self.begin is not None and (count > 1 or self.knots is None))

    def _matrices(self, count: int, steps: int) -> tuple[FloatArray, FloatArray]:
        """Commands of the steps (steps, count) and rates over the run from the control points."""
        if self.knots is None:
            first = count - steps
            return np.eye(steps, count, first), steps * np.diff(np.eye(count), axis=0)
        degree = min(self.degree, count - 1)
        rates = slopes(count, degree) if count > 1 else np.zeros((0, 1))
        return basis(count, degree, steps), rates

    def _first(
        self, count: int, span: float, rates: FloatArray, lower: FloatArray, upper: FloatArray
    ) -> FloatArray:  # fmt: skip
        """The guess within bounds and rates."""
        given, middle = self.guess, 0.5 * (lower + upper)
        if given is None and self.begin is not None and self._begins(count):
            given = self.begin + (middle - self.begin) * np.arange(1, count + 1) / count
        guess = np.array(_inside(self._title, middle if given is None else given, lower, upper), np.float64)
        if self.rate is None:
            return guess
        before, whole = self.begin, np.abs(rates).max(axis=1)
        for i in range(count):
            if before is not None:
                far = self.rate * span / whole[i - count]
                guess[i] = np.clip(guess[i], before - far, before + far)
            before = guess[i]
        return guess


@one_line
@dataclass(frozen=True, eq=False)
class Design(Variable):
    """The numbers of a `parameter` of pl.parameters that stay the same over a run: the route of a cable, a constant of
    a material, a mass, a coefficient of friction, gravity, or the initial velocities of a body.

    bounds
        The least and the largest values, each one number or an array of the shape of the parameter.
    only
        Entries that may change, true or false, of the shape of the parameter; None: all.
    guess
        Where the search begins; None: the values that the world has.
    """

    parameter: Parameter
    _: KW_ONLY
    bounds: Any
    only: Any = None
    guess: Any = None

    def __post_init__(self) -> None:
        check_declared(self)
        if not isinstance(self.parameter, Parameter):
            raise InputError(f"pl.variables.Design takes one of pl.parameters, got {self.parameter!r:.60}")
        if isinstance(self.parameter, parameters.Control):
            raise InputError("commands of actuators are pl.variables.Command(actuator, bounds=…)")

    @property
    def _title(self) -> str:
        return f"the Design of {self.parameter!r:.60}"

    def free(self, world: World, steps: int, span: float) -> Free:
        """The entries that may change."""
        present = present_values(world, self.parameter)
        shape = present.shape
        lower, upper = _bounds(self, shape)
        chosen = self._chosen(world, shape)
        guess = present if self.guess is None else np.asarray(finite_array(f"guess of {self._title}", self.guess))
        first = _inside(self._title, np.broadcast_to(guess, shape)[chosen], lower[chosen], upper[chosen])

        def values(x: FloatArray) -> FloatArray:
            made = present.copy()
            made[chosen] = x
            return made if shape else made.reshape(())

        size = len(first)
        return Free(
            self.parameter, first, lower[chosen], upper[chosen], values, lambda g: np.asarray(g)[chosen].reshape(size),
            np.zeros((0, size)), np.zeros(0), np.inf,
        )  # fmt: skip

    def _chosen(self, world: World, shape: tuple[int, ...]) -> BoolArray:
        given = np.ones(shape, bool) if self.only is None else np.asarray(self.only)
        if given.dtype != bool or given.shape != shape:
            raise InputError(f"only of {self._title} must be true or false in the shape {shape}, got {self.only!r:.60}")
        chosen = given & movable(world, self.parameter, shape)
        if not chosen.any():
            raise InputError(f"{self._title} has no entry that may change: look at only= and at clamped nodes")
        return chosen


def _bounds(variable: Any, shape: tuple[int, ...]) -> tuple[FloatArray, FloatArray]:
    """The bounds of a variable, of `shape`."""
    title, given = variable._title, variable.bounds
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise InputError(f"bounds of {title} must be a pair (least, most), got {given!r:.60}")
    pair = []
    for name, each in zip(("least", "most"), given, strict=True):
        array = np.asarray(finite_array(f"{name} of the bounds of {title}", each))
        try:
            pair.append(np.broadcast_to(array, shape) if shape else array)
        except ValueError:
            raise InputError(f"bounds of {title} have the shape {array.shape} instead of {shape}") from None
    lower, upper = pair
    if not shape and isinstance(variable, Command) and (lower.ndim or upper.ndim):
        raise InputError(f"bounds of {title} must be two numbers, the least and the largest command, got {given!r:.60}")
    wrong = np.asarray(~(lower < upper))
    if wrong.any():
        low, high = (np.broadcast_to(each, wrong.shape)[wrong].ravel()[0] for each in pair)
        raise InputError(f"bounds of {title} leave nothing between {low:g} and {high:g}; give (least, most)")
    return lower, upper


def _inside(title: str, guess: Any, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """A guess of the shape of the bounds that lies between them."""
    array = np.asarray(finite_array(f"guess of {title}", guess))
    try:
        first = np.broadcast_to(array, lower.shape)
    except ValueError:
        raise InputError(f"guess of {title} has the shape {array.shape} instead of {lower.shape}") from None
    outside = (first < lower) | (first > upper)
    if outside.any():
        at = int(np.argmax(outside))
        raise InputError(
            f"guess of {title} is {first[at]:g}, outside its bounds {lower[at]:g} to {upper[at]:g}; give a guess within"
        )
    return np.asarray(first)
