"""Central differences of fourth order, for what has no derivative of its own: small bodies, parameters, read-outs.

(8 (f(h) − f(−h)) − (f(2h) − f(−2h))) / 12h is exact for polynomials up to the fourth degree. Functions that are linear
in the step, as forces are in a modulus, are differentiated to rounding; others to about h⁴ of their scale.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

STEP = 1e-3
"""Step as a fraction of the scale of what changes: truncation 1e-12 and rounding 1e-13 then balance."""
_WEIGHTS = ((1.0, 8.0), (-1.0, -8.0), (2.0, -1.0), (-2.0, 1.0))


def derivative(function: Callable[[float], Any], step: float) -> Any:
    """df/ds at s = 0 of a function of a number whose values add and scale."""
    return combined(map(function, places(step)), step)


def places(step: float) -> list[float]:
    """The values of s at which `derivative` asks for the function."""
    return [at * step for at, _ in _WEIGHTS]


def combined(values: Iterable[Any], step: float) -> Any:
    """df/ds from the `values` of the function at these `places`."""
    total = None
    for (_, weight), value in zip(_WEIGHTS, values, strict=True):
        total = weight * value if total is None else total + weight * value
    assert total is not None
    return total / (12.0 * step)
