"""One-line representations: an object prints as its name and its short fields, never as its arrays.

A class takes the decorator above `@dataclass`:

    @one_line
    @dataclass(frozen=True, eq=False)
    class Cavity: …                     # repr: Cavity('air', body='finger', surface=Surface(96 triangles), …)
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from typing import Any, TypeVar

import numpy as np

Kind = TypeVar("Kind", bound=type)

LONGEST = 160
"""Largest length of a representation, characters: a line of a wide terminal."""
_LONGEST_FIELD = 60
"""Largest length of one field, characters; what is longer is given by its class."""
_LISTED = 4
"""Largest count of values of an array or list that are written out."""


def one_line(kind: Kind) -> Kind:
    """Class decorator: `summary` is the representation of the dataclass `kind`."""
    kind.__repr__ = summary  # type: ignore[method-assign, assignment]
    return kind


def summary(thing: Any) -> str:
    """A dataclass instance in one line: its name, then the fields that differ from their defaults."""
    shown = [item for item in fields(thing) if item.repr and not item.name.startswith("_") and item.name != "name"]
    parts = [repr(thing.name)] if isinstance(getattr(thing, "name", None), str) else []
    parts += [f"{item.name}={short(getattr(thing, item.name))}" for item in shown if not _is_default(thing, item)]
    text = f"{type(thing).__name__}({', '.join(parts)})"
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 2]}…)"


def short(value: Any) -> str:
    """`value` in a few characters: numbers to six digits, arrays by shape, named objects by name."""
    if isinstance(value, np.ndarray):
        few = value.size <= _LISTED
        return f"({', '.join(short(v) for v in value.ravel().tolist())})" if few else f"array {value.shape}"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, Mapping):
        return f"{len(value)} entries"
    if isinstance(value, (tuple, list, set, frozenset)):
        return f"({', '.join(short(each) for each in value)})" if len(value) <= _LISTED else f"{len(value)} items"
    name = getattr(value, "name", None)
    if isinstance(name, str) and not isinstance(value, type):
        return repr(name)
    if inspect.isroutine(value):
        return value.__name__.strip("<>")
    text = repr(value)
    return text if len(text) <= _LONGEST_FIELD and "\n" not in text else type(value).__name__


def _is_default(thing: Any, item: Field[Any]) -> bool:
    """Whether a field has its default; arrays are compared by identity."""
    value = getattr(thing, item.name)
    if item.default is MISSING:
        return item.default_factory is not MISSING and not isinstance(value, np.ndarray) and not value
    return value is item.default or (isinstance(value, (bool, int, float, str, tuple)) and _same(value, item.default))


def _same(value: Any, default: Any) -> bool:
    return type(value) is type(default) and bool(value == default)
