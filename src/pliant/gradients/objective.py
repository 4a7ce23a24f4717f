"""An objective of numbers x for `scipy.optimize` and others: value and gradient of a loss of the scene that x makes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from pliant.core.errors import InputError
from pliant.core.types import FloatArray
from pliant.gradients.gradient import Gradient, gradient


@dataclass(frozen=True, eq=False)
class Objective:
    """f(x) → (value, gradient), as ``scipy.optimize.minimize(objective, x0, jac=True)`` takes it.

    build
        ``build(x)`` makes the scene for x (n,) and returns the arguments of `pl.gradient` by name: world, stepper,
        loss, parameters, control …
    pull
        ``pull(gradient)`` gives dJ/dx (n,) from the derivatives by these parameters; None: x are the parameters, one
        after another.
    """

    build: Callable[[FloatArray], Mapping[str, Any]]
    _: KW_ONLY
    pull: Callable[[Gradient], Any] | None = None

    def __call__(self, x: Any) -> tuple[float, FloatArray]:
        """The value, and its gradient (n,)."""
        numbers = np.array(x, np.float64).ravel()
        found = gradient(**self.build(numbers))
        if self.pull is None:
            slope = np.concatenate([np.ravel(each) for each in found.derivatives])
        else:
            slope = np.asarray(self.pull(found), np.float64).ravel()
        if slope.shape != numbers.shape:
            raise InputError(
                f"the gradient of an Objective has {slope.size} numbers, x has {numbers.size}: give it pull=, which "
                "makes one of the other"
            )
        return found.value, slope
