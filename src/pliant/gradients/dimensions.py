"""Parameters made of others: few numbers that change many, and one value at many places.

J depends on dimensions p through the parameters n(p) that it changes. Each of them has its own derivative, of one
backward run, and dJ/dp = Σ ∂J/∂n · ∂n/∂p.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pliant.core.errors import InputError
from pliant.core.types import FloatArray
from pliant.gradients.adjoint import Multipliers, StepAdjoint
from pliant.gradients.effects import Changes, Effect
from pliant.gradients.finite import STEP, derivative
from pliant.gradients.losses import Instant, Loss, Slope
from pliant.world import World

SAME = 1e-9
"""Relative difference up to which a world has the numbers of some dimensions."""
_MOST = 20
"""Iterations to the values that a world has."""


class OfOthers(Effect):
    """By numbers of the given `shape` through other effects: pairs of an effect and ∂n/∂p, (size of n, size of p)."""

    def __init__(self, shape: tuple[int, ...], parts: Sequence[tuple[Effect, FloatArray]]) -> None:
        self._shape, self._parts = shape, parts

    @property
    def derivative(self) -> FloatArray:  # type: ignore[override]
        """Σ ∂J/∂n · ∂n/∂p."""
        made = np.zeros(int(np.prod(self._shape)))
        for effect, slope in self._parts:
            made += slope.T @ effect.derivative.ravel()
        return made.reshape(self._shape)

    def changes(self, k: int, step: StepAdjoint) -> Changes | None:
        """See `Effect.changes`."""
        size = int(np.prod(self._shape))
        push: dict[int, FloatArray] = {}
        rows: list[FloatArray | None] = [None, None]
        for effect, slope in self._parts:
            found = effect.changes(k, step)
            if found is None:
                continue
            own = slope[found.columns]
            for index, columns in found.push.items():
                push[index] = push.get(index, np.zeros((len(columns), size))) + columns @ own
            for place, part in enumerate((found.gap, found.law)):
                if part is not None:
                    before = rows[place]
                    rows[place] = part @ own if before is None else before + part @ own
        return Changes(slice(None), push, *rows)

    def start(self, world: World) -> tuple[int, FloatArray, bool] | None:
        """See `Effect.start`: none of the others is one of the first state."""
        return None

    def add(self, k: int, step: StepAdjoint, found: Multipliers) -> None:
        """See `Effect.add`."""
        for effect, _ in self._parts:
            effect.add(k, step, found)

    def add_velocities(self, step: StepAdjoint, ended: Any) -> None:
        """See `Effect.add_velocities`."""
        for effect, _ in self._parts:
            effect.add_velocities(step, ended)

    def add_loss(self, loss: Loss, instant: Instant) -> None:
        """See `Effect.add_loss`."""
        for effect, _ in self._parts:
            effect.add_loss(loss, instant)

    def add_slope(self, slope: Slope) -> None:
        """See `Effect.add_slope`."""
        for effect, _ in self._parts:
            effect.add_slope(slope)

    def begin(self, q: list[FloatArray], v: list[FloatArray]) -> None:
        """See `Effect.begin`."""
        for effect, _ in self._parts:
            effect.begin(q, v)


def values_of(
    world: World,
    numbers: Callable[[FloatArray], Mapping[Any, Any]],
    first: FloatArray,
    given: Any,
    step: float | None,
) -> FloatArray:
    """The values p with which `numbers` gives what `world` has: `first`, or those to which Gauss–Newton leads from it;
    an `InputError` where there are none.
    """
    wanted = {number: np.asarray(number.value(world), np.float64) for number in numbers(first)}
    p = first
    for _ in range(_MOST):
        found = {number: np.asarray(value, np.float64) for number, value in numbers(p).items()}
        if any(number not in found or found[number].shape != own.shape for number, own in wanted.items()):
            break
        sizes = {number: np.abs(own).max(initial=0.0) or 1.0 for number, own in wanted.items()}
        off = [np.ravel(wanted[number] - found[number]) / sizes[number] for number in wanted]
        if max(np.abs(part).max(initial=0.0) for part in off) <= SAME:
            return p
        by_p = slopes(numbers, p, given, step)
        matrix = np.concatenate([by_p[number] / sizes[number] for number in wanted])
        p = p + np.linalg.lstsq(matrix, np.concatenate(off), rcond=None)[0].reshape(p.shape)
    raise InputError(
        f"the numbers of the world are not those of any values near {first!r:.60} of these pl.parameters.Dimensions: "
        "give them the values of this world, or differentiate pl.changed(world, {dimensions: values})"
    )


def slopes(
    numbers: Callable[[FloatArray], Mapping[Any, Any]], values: FloatArray, given: Any, step: float | None
) -> Mapping[Any, FloatArray]:
    """∂n/∂p (size of n, size of p) by parameter: as a function `given` tells it, or by differences with a `step`."""
    size = values.size
    if given is not None:
        told = given(values)
        made: dict[Any, FloatArray] = {}
        for number, value in numbers(values).items():
            shape = (*np.shape(value), *values.shape)
            if number not in told or np.shape(told[number]) != shape:
                raise InputError(
                    f"derivative of Dimensions must give {number!r:.60} an array of shape {shape}: its own shape, "
                    "followed by that of the values"
                )
            made[number] = np.asarray(told[number], np.float64).reshape(-1, size)
        return made
    columns: dict[Any, list[FloatArray]] = {}
    for place in np.ndindex(values.shape):
        own = STEP * (abs(float(values[place])) or 1.0) if step is None else step
        unit = np.zeros(values.shape)
        unit[place] = 1.0
        sides = {s: numbers(values + s * unit) for s in (own, -own, 2.0 * own, -2.0 * own)}
        for number in numbers(values):
            shapes = {np.shape(side.get(number, "")) for side in sides.values()}
            if any(number not in side for side in sides.values()) or len(shapes) != 1:
                raise InputError(
                    f"Dimensions change {number!r:.60} to arrays of other shapes where its values change: a mesh of "
                    "another topology has no derivative"
                )
            told = {s: np.asarray(side[number], np.float64) for s, side in sides.items()}
            columns.setdefault(number, []).append(np.ravel(derivative(told.__getitem__, own)))
    return {number: np.stack(parts, axis=1) for number, parts in columns.items()}
