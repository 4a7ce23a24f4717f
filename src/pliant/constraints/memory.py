"""Memories: what constraints keep from one step to the next, saved as named arrays.

A memory is a frozen dataclass of arrays, numbers and other such dataclasses. `as_saved` in the metadata of a field says
where its name in a file differs, or which dataclass it holds.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Self

import numpy as np


def as_saved(name: str | None = None, *, kind: Any = None, prefix: str = "", only_with: str | None = None) -> Any:
    """Metadata of a field saved as `name`, or of one that holds a dataclass `kind`, whose names in a file begin with
    `prefix`; it is None in files without the name `only_with`.
    """
    return {"name": name, "kind": kind, "prefix": prefix, "only_with": only_with}


class Memory:
    """What a constraint remembers of the last step."""

    def arrays(self) -> dict[str, Any]:
        """All fields as arrays, for saving."""
        return _flat(self, "")

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any]) -> Self:
        """The memory that `arrays` was made from."""
        made: Self = _restored(cls, arrays, "")
        return made


def _flat(part: Any, prefix: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for item in fields(part):
        value = getattr(part, item.name)
        if item.metadata.get("kind") is None:
            found[prefix + (item.metadata.get("name") or item.name)] = np.asarray(value)
        elif value is not None:
            found |= _flat(value, prefix + item.metadata["prefix"])
    return found


def _restored(kind: Any, arrays: dict[str, Any], prefix: str) -> Any:
    made: dict[str, Any] = {}
    for item in fields(kind):
        saved = item.metadata
        if saved.get("kind") is None:
            array = arrays[prefix + (saved.get("name") or item.name)]
            made[item.name] = array if array.ndim else array.item()
        elif saved["only_with"] is None or saved["only_with"] in arrays:
            made[item.name] = _restored(saved["kind"], arrays, prefix + saved["prefix"])
    return kind(**made)
