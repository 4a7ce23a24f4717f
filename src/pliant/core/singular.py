"""Errors of NumPy's linear algebra in the words of Pliant, for public functions whose matrices follow from a model."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np

from pliant.core.errors import SingularError

_F = TypeVar("_F", bound=Callable[..., Any])


def named_singular(function: _F) -> _F:
    """`function` with a `SingularError` in place of a LinAlgError, which is no `PliantError`."""

    @functools.wraps(function)
    def answering(*given: Any, **named: Any) -> Any:
        try:
            return function(*given, **named)
        except np.linalg.LinAlgError as error:
            name = function.__qualname__.removesuffix(".__call__")
            raise SingularError(
                f"{name}() met a matrix that has no inverse or is not finite ({error}): a body that nothing "
                "constrains, an equilibrium at a limit point, parameters or forces that the data do not tell apart, a "
                "state that is not finite; constrain the body, or leave out what is not determined"
            ) from error

    return cast("_F", answering)
