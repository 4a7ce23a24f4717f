"""What a stepper keeps between calls: memory to use again, and data derived once from frozen objects.

A world never changes, so derived data stands here, in an object that belongs to the stepper. Dropping it changes only
the time a step takes. Owners are referenced weakly: an unused world is freed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar
from weakref import ref

T = TypeVar("T")


class _Kept(NamedTuple):
    """Spare memory by kind and derived data by the id of their source, of the `owner`."""

    owner: Any
    spare: dict[str, Any]
    derived: dict[int, tuple[Any, Any]]


class Workspace:
    """Spare memory and derived data, by the object that they belong to."""

    def __init__(self) -> None:
        self._kept: dict[int, _Kept] = {}

    def __reduce__(self) -> tuple[type[Workspace], tuple[()]]:
        """A copy, in this process or another, begins empty."""
        return Workspace, ()

    def take(self, owner: Any, kind: str) -> Any:
        """Memory of `kind` that `give` left for `owner`, or None; it is the caller's from now on."""
        kept = self._kept.get(id(owner))
        return None if kept is None else kept.spare.pop(kind, None)

    def give(self, owner: Any, kind: str, memory: Any) -> None:
        """Leave memory for the next `take`: fresh memory costs page faults. One piece of each kind is kept."""
        kept = self._kept.get(id(owner))
        (self._of(owner) if kept is None else kept).spare[kind] = memory

    def once(self, owner: Any, source: Any, make: Callable[[], T]) -> T:
        """``make()``, which derives something from `source` for `owner`, computed on the first call only."""
        derived = self._of(owner).derived
        found = derived.get(id(source))
        if found is None:
            found = derived[id(source)] = (source, make())  # the source is kept, so that its id stays its own
        value: T = found[1]
        return value

    def _of(self, owner: Any) -> _Kept:
        """What is kept for `owner` until it is freed, by its id: dictionaries with weak keys take ten times as long."""
        kept = self._kept.get(id(owner))
        if kept is None:
            key, own = id(owner), ref(self)

            def forget(_: Any) -> None:
                space = own()
                if space is not None:
                    space._kept.pop(key, None)

            kept = self._kept[key] = _Kept(ref(owner, forget), {}, {})
        return kept
