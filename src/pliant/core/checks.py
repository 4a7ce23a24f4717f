"""Validation of arguments, in one place, with messages that name the argument."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from numbers import Integral, Real
from types import BuiltinFunctionType
from typing import Any

import numpy as np

from pliant.core.errors import InputError
from pliant.core.types import FloatArray, IntArray

TIME_STEPS = (1e-12, 1e9)
"""Least and largest time step, s."""
LARGEST_WHOLE = 2**62
"""Whole numbers from here on fit into no array and no kernel."""


def finite_array(name: str, value: Any, *, shape: Sequence[int | None] | None = None) -> FloatArray:
    """`value` as a float64 array, checked to be finite and of `shape` (None: any length on that axis)."""
    array = number_array(name, value, shape=shape)
    if not all_finite(array):
        where = tuple(np.argwhere(~np.isfinite(array))[0].tolist())
        index = ", ".join(map(str, where))
        raise InputError(f"{name} must be finite, but entry [{index}] is {array[where]}; check how it was computed")
    return array


def number_array(name: str, value: Any, *, shape: Sequence[int | None] | None = None) -> FloatArray:
    """`value` as a float64 array of `shape` (None: any length on that axis), in which NaN and infinity are allowed."""
    given = as_array(value)
    if given.dtype.kind not in "iuf" and (
        given.dtype.kind != "O" or not all(_is_real(x) and _fits(x) for x in given.flat)
    ):
        raise InputError(f"{name} must be numbers, got {shown(value)}")
    array = np.asarray(given, dtype=np.float64, order="C")  # a number stays an array of shape ()
    if shape is not None and (
        array.ndim != len(shape) or any(w not in (None, n) for w, n in zip(shape, array.shape, strict=True))
    ):
        wanted = tuple("n" if w is None else w for w in shape)
        raise InputError(f"{name} must have shape {wanted}, got {array.shape}")
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


def checked_stepper(value: Any) -> Any:
    """`value`, checked to be callable as a stepper is."""
    if isinstance(value, (type, BuiltinFunctionType)) or not callable(value):
        raise InputError(f"stepper must be a stepper, such as pl.ImplicitEuler(dt=0.01), got {shown(value)}")
    return value


def time_step(name: str, value: Any) -> float:
    """`value` as a time step, s, within `TIME_STEPS`: beyond them M/h² is rounding, or overflows."""
    step = positive(name, value, unit="s")
    if not TIME_STEPS[0] <= step <= TIME_STEPS[1]:
        raise InputError(
            f"{name} must be {TIME_STEPS[0]:g} … {TIME_STEPS[1]:g} s, got {step:g} s; usual are 1e-4 … 0.1 s, and "
            "pl.QuasiStatic() takes no step at all"
        )
    return step


def non_negative(name: str, value: Any, *, unit: str = "") -> float:
    """`value` as a float, checked to be finite and ≥ 0."""
    number = finite_number(name, value, unit=unit)
    if number < 0.0:
        raise InputError(f"{name} must be ≥ 0{_in(unit)}, got {number:g}")
    return number


def finite_number(name: str, value: Any, *, unit: str = "") -> float:
    """`value` as a float, checked to be finite."""
    number = _scalar(value)
    if not _is_real(number):
        raise InputError(f"{name} must be a number{_in(unit)}, got {shown(value)}")
    if not _fits(number) or not isfinite(number):
        raise InputError(f"{name} must be finite{_in(unit)}, got {shown(value)}")
    return float(number)


def is_number(value: Any) -> bool:
    """Whether `value` is a real number that is not NaN, or an array without axes that holds one; it may be infinite.
    Truth values, texts and complex numbers are none.
    """
    number = _scalar(value)
    return _is_real(number) and bool(number == number) and _fits(number)


def _scalar(value: Any) -> Any:
    """What an array without axes holds; any other value as it is."""
    return np.asarray(value)[()] if hasattr(value, "__array__") and not getattr(value, "ndim", 1) else value


def _is_real(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))


def _fits(value: Any) -> bool:
    """Whether arrays can hold `value`: larger whole numbers fit into none."""
    return not isinstance(value, Integral) or abs(int(value)) < LARGEST_WHOLE


def shown(value: Any) -> str:
    """`value` in a message, cut to 80 characters."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}…"


def positive_count(name: str, value: Any) -> int:
    """`value` as an int, checked to be an integer ≥ 1 and below 2³¹, beyond which nothing is ever counted."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not 1 <= value < 2**31:
        raise InputError(f"{name} must be a whole number ≥ 1, got {value!r}")
    return int(value)


def index_array(name: str, value: Any, count: int, *, width: int | None, error: type[InputError] | Any) -> IntArray:
    """`value` (m, width) as int32, checked to be whole numbers 0 … `count` − 1: wider ones would wrap around."""
    given = as_array(value)
    ragged = given.ndim != 2 or (width is not None and given.shape[1] != width)
    if ragged or given.dtype.kind not in "iu":
        wanted = f"(m, {'k' if width is None else width})"
        raise error(f"{name} must be whole numbers of shape {wanted}, got {given.dtype} of shape {given.shape}")
    outside = np.flatnonzero(((given < 0) | (given >= count)).any(axis=1))
    if len(outside):
        raise error(
            f"{name} must be 0 … {count - 1}, but {len(outside)} are not: row {outside[0]} is "
            f"{given[outside[0]].tolist()}; node indices start at 0"
        )
    return np.array(given, np.int32, order="C")


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
