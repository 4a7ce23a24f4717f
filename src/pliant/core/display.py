"""How notebooks show objects: rooms above register a function that makes HTML of an object of a room below."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_shown_by: dict[str, Callable[[Any], str]] = {}


def register_display(kind: str, make: Callable[[Any], str]) -> None:
    """Objects of the class named `kind` are shown in notebooks by the HTML that `make(object)` returns."""
    _shown_by[kind] = make


def display_html(thing: Any) -> str | None:
    """HTML of `thing`, None where nothing is registered: a notebook then shows its representation."""
    make = _shown_by.get(type(thing).__name__)
    return None if make is None else make(thing)
