"""The errors of the library.

Every message names the thing, its value, the limit and the remedy. All derive from `PliantError`, so one
``except pl.PliantError`` catches whatever Pliant raises on purpose.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "CapacityError",
    "ConvergenceError",
    "FileFormatError",
    "InfeasibleError",
    "InputError",
    "MeshError",
    "MissingExtraError",
    "PliantError",
    "PliantWarning",
    "SingularError",
    "UnitError",
]


class PliantError(Exception):
    """Base of every error that Pliant raises on purpose.

    `run` is the `Run` up to the last accepted step where `pl.simulate` raised it, else None.
    """

    run: Any = None


class InputError(PliantError, ValueError):
    """A value given by the caller is not acceptable (NaN in a load, dt ≤ 0, a wrong shape…)."""


class UnitError(InputError):
    """A unit is missing or unknown."""


class FileFormatError(InputError):
    """A file is absent, truncated, damaged, or not of the format that was asked for."""


class MeshError(PliantError, ValueError):
    """A mesh is empty, open, inverted, badly shaped, or of a kind that is not supported.

    `result` is the last accepted state where a mesh was generated during a step, else None.
    """

    result: Any = None


class CapacityError(PliantError):
    """A fixed capacity is exceeded."""


class InfeasibleError(PliantError):
    """The constraints of a problem contradict each other."""


class SingularError(PliantError, ArithmeticError):
    """A matrix that must be factorized is singular or not positive definite.

    `row` is the index of the failing unknown in the caller's numbering, or −1 where it is not available.
    """

    def __init__(self, message: str, *, row: int = -1) -> None:
        super().__init__(message)
        self.row = row


class ConvergenceError(PliantError, ArithmeticError):
    """An iteration stopped before its tolerance. `result` is the best iterate, for inspection."""

    def __init__(self, message: str, *, result: Any = None) -> None:
        super().__init__(message)
        self.result = result


class MissingExtraError(PliantError, ImportError):
    """An optional dependency is not installed; the message says how to install it."""


class PliantWarning(UserWarning):
    """A condition that the user should know although the computation continued."""
