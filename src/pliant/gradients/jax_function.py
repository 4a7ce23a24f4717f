"""An objective as a function of JAX arrays, with its gradient: a `jax.custom_vjp` that calls back to this process."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from pliant.core.errors import MissingExtraError
from pliant.gradients.objective import Objective


def jax_function(objective: Objective) -> Callable[[Any], Any]:
    """``f(x)`` for arrays x of any shape, which `jax.grad`, `jax.value_and_grad` and `jax.jit` take."""
    try:
        jax: Any = import_module("jax")
    except ImportError as error:
        raise MissingExtraError("gradients in JAX need it: pip install jax") from error

    def both(x: Any) -> tuple[Any, Any]:
        value, slope = objective(np.asarray(x))
        return np.asarray(value, x.dtype), np.asarray(slope.reshape(np.shape(x)), x.dtype)

    def forward(x: Any) -> tuple[Any, Any]:
        shapes = jax.ShapeDtypeStruct((), x.dtype), jax.ShapeDtypeStruct(x.shape, x.dtype)
        value, slope = jax.pure_callback(both, shapes, x)
        return value, slope

    made = jax.custom_vjp(lambda x: forward(x)[0])
    made.defvjp(forward, lambda slope, by_value: (by_value * slope,))
    found: Callable[[Any], Any] = made
    return found
