"""Checks of the functions of a system at its initial state: shapes, and finite values."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.core.errors import InputError, PliantError
from pliant.hybrid.constraint_rows import constraint_rows
from pliant.hybrid.system import Constraint, Contact, HybridSystem


def check_system(system: HybridSystem) -> None:
    """Check mass, bias, inputs and constraints of `system` at its initial state."""
    n, q, v = system.coordinate_count, system.q0, system.v0
    if callable(system.mass):
        _array(f"mass(q) of {system.name}", system.mass(q), (n, n))
    if system.bias is not None:
        _array(f"bias(q, v) of {system.name}", system.bias(q, v), (n,))
    if callable(system.inputs):
        _array(f"inputs(q) of {system.name}", system.inputs(q), (n, system.input_count))
    owned = {name for machine in system.machines for name in machine.owned}
    for constraint in system.constraints:
        _constraint(constraint, q, v, finite=constraint.name not in owned)


def check_input(system: HybridSystem, u: Any) -> None:
    """Check the sum of the inputs of all controllers of `system`."""
    if u is None:
        return
    if not system.input_count:
        raise InputError(f"{system.name} has no inputs for a controller to act on: give it `inputs`, (n, k)")
    _array(f"the controllers' input of {system.name}", u, (system.input_count,))


def _constraint(constraint: Constraint, q: Any, v: Any, *, finite: bool) -> None:
    contact = isinstance(constraint, Contact)
    what, count, n = f"{'contact' if contact else 'joint'} {constraint.name!r}", constraint.count, len(q)
    family = isinstance(constraint, Contact) and constraint.near is not None
    which, every = (np.arange(1), count == 1) if family else (np.arange(count), True)
    try:
        value = constraint.gap if isinstance(constraint, Contact) else constraint.value
        h = np.atleast_1d(np.asarray(value(q, which) if family else value(q))).ravel()
        if len(h) != len(which):
            raise InputError(f"{what} gives {len(h)} values, but its count is {count}")
        got, H, c = constraint_rows(constraint, q, v, which, all_rows=every)
    except PliantError:
        raise
    except Exception as error:
        raise InputError(
            f"{what} or its derivatives cannot be evaluated at the start ({type(error).__name__}: {error}); it is "
            "called with arrays of numbers that carry derivatives: write np.sqrt(x @ x), not np.linalg.norm(x)"
        ) from error
    k = len(which)
    for name, array, shape in (("h", got, (k,)), ("H", H, (k, n)), ("curvature", c, (k,))):
        if np.shape(array) != shape:
            raise InputError(f"{what}: {name} must have shape {shape}, got {np.shape(array)}")
        if finite and not np.isfinite(array).all():
            raise InputError(f"{what}: {name} is not finite at the start, q = {q}")


def _array(name: str, value: Any, shape: tuple[int, ...]) -> None:
    if not isinstance(value, np.ndarray) or value.shape != shape:
        got = f"shape {value.shape}" if isinstance(value, np.ndarray) else f"{type(value).__name__} {value!r}"
        raise InputError(f"{name} must be an array of shape {shape}, got {got}")
    if not np.isfinite(value).all():
        raise InputError(f"{name} is not finite at the start: {value}")
