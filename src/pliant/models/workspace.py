"""What a stepper keeps between calls: memory to use again, and data derived once from frozen objects.

A world never changes, so derived data stands here, in an object that belongs to the stepper. Dropping it changes only
the time a step takes. Owners are referenced weakly: an unused world is freed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")


class Workspace:
    """Spare memory and derived data, by the object that they belong to."""

    def __init__(self) -> None:
        self._spare: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()
        self._derived: WeakKeyDictionary[Any, dict[int, tuple[Any, Any]]] = WeakKeyDictionary()

    def __reduce__(self) -> tuple[type[Workspace], tuple[()]]:
        """A copy, in this process or another, begins empty."""
        return Workspace, ()

    def take(self, owner: Any, kind: str) -> Any:
        """Memory of `kind` that `give` left for `owner`, or None; it is the caller's from now on."""
        spare = self._spare.get(owner)
        return None if spare is None else spare.pop(kind, None)

    def give(self, owner: Any, kind: str, memory: Any) -> None:
        """Leave memory for the next `take`: fresh memory costs page faults. One piece of each kind is kept."""
        self._spare.setdefault(owner, {})[kind] = memory

    def once(self, owner: Any, source: Any, make: Callable[[], T]) -> T:
        """``make()``, which derives something from `source` for `owner`, computed on the first call only."""
        derived = self._derived.setdefault(owner, {})
        found = derived.get(id(source))
        if found is None:
            found = derived[id(source)] = (source, make())  # the source is kept, so that its id stays its own
        value: T = found[1]
        return value
