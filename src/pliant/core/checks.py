"""Validation of arguments, in one place, with messages that name the argument."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

import numpy as np

from pliant.core.errors import InputError
from pliant.core.types import FloatArray


def finite_array(name: str, value: Any, *, shape: Sequence[int | None] | None = None) -> FloatArray:
    """`value` as a float64 array, checked to be finite and of `shape` (None: any length on that axis)."""
    try:
        array = np.asarray(value, dtype=np.float64, order="C")  # a number stays an array of shape ()
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be numbers, got {value!r}") from error
    if shape is not None and (
        array.ndim != len(shape) or any(w not in (None, n) for w, n in zip(shape, array.shape, strict=True))
    ):
        wanted = tuple("n" if w is None else w for w in shape)
        raise InputError(f"{name} must have shape {wanted}, got {array.shape}")
    if not all_finite(array):
        where = tuple(np.argwhere(~np.isfinite(array))[0].tolist())
        index = ", ".join(map(str, where))
        raise InputError(f"{name} must be finite, but entry [{index}] is {array[where]}; check how it was computed")
    return array


def as_array(value: Any) -> Any:
    """`value` as an array of any kind; one of None where it is none, such as rows of unequal length."""
    try:
        return np.asarray(value)
    except ValueError:
        return np.array(None)


def positive(name: str, value: Any, *, unit: str = "") -> float:
    """`value` as a float, checked to be finite and > 0."""
    number = finite_number(name, value, unit=unit)
    if number <= 0.0:
        raise InputError(f"{name} must be > 0{_in(unit)}, got {number:g}")
    return number


def non_negative(name: str, value: Any, *, unit: str = "") -> float:
    """`value` as a float, checked to be finite and ≥ 0."""
    number = finite_number(name, value, unit=unit)
    if number < 0.0:
        raise InputError(f"{name} must be ≥ 0{_in(unit)}, got {number:g}")
    return number


def finite_number(name: str, value: Any, *, unit: str = "") -> float:
    """`value` as a float, checked to be finite."""
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be a number{_in(unit)}, got {value!r}") from error
    if not isfinite(number) or (isinstance(value, int) and abs(value) >= 2**62):  # no array takes a larger integer
        raise InputError(f"{name} must be finite{_in(unit)}, got {number}")
    return number


def positive_count(name: str, value: Any) -> int:
    """`value` as an int, checked to be an integer ≥ 1 and below 2³¹, beyond which nothing is ever counted."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not 1 <= value < 2**31:
        raise InputError(f"{name} must be a whole number ≥ 1, got {value!r}")
    return int(value)


def check_array(name: str, value: Any, shape: tuple[int, ...], dtype: Any = np.float64) -> None:
    """An error where `value` is not an array of exactly this shape and kind, or is not finite: kernels do not check."""
    if not isinstance(value, np.ndarray) or value.dtype != dtype or value.shape != shape:
        got = f"{value.dtype} {value.shape}" if isinstance(value, np.ndarray) else type(value).__name__
        raise InputError(f"{name} must be {np.dtype(dtype)} of shape {shape}, got {got}")
    if value.dtype.kind == "f" and not np.isfinite(value).all():
        raise InputError(f"{name} must be finite")


def check_indices(name: str, value: Any, first: int, count: int) -> None:
    """An error where an index is not in `first` … `count` − 1."""
    if value.size and not (first <= value.min() and value.max() < count):
        raise InputError(f"{name} must be indices {first} … {count - 1}, got {value.min()} … {value.max()}")


def _in(unit: str) -> str:
    return f" (in {unit})" if unit else ""


def unit_vector(name: str, value: Any) -> FloatArray:
    """`value` (3,) scaled to length 1; an error where it is zero."""
    vector = finite_array(name, value, shape=(3,))
    length = float(np.linalg.norm(vector))
    if not length > 0.0:
        raise InputError(f"{name} must not be zero")
    return vector / length


def all_finite(x: FloatArray) -> bool:
    """Whether no number in `x` is NaN or infinite. Its square norm says so in most cases, at a third of the time."""
    flat = x if x.ndim == 1 else x.reshape(-1)
    return isfinite(flat.dot(flat)) or bool(np.isfinite(x).all())
