"""Changed copies of frozen objects, fast enough for use inside a step."""

from __future__ import annotations

from typing import Any, TypeVar

T = TypeVar("T")


def fresh(kind: type[T], **fields: Any) -> T:
    """A frozen dataclass with the given fields and the defaults of others; ``__init__`` takes 0.2 µs for each field.

    For classes without slots, ``__post_init__`` and default factories.
    """
    made = object.__new__(kind)
    object.__setattr__(made, "__dict__", fields)
    return made


def evolve(thing: T, **changes: Any) -> T:
    """`thing` with some attributes changed: `dataclasses.replace` without a second call of ``__init__``.

    A step makes four copies, and `replace` takes 8 µs for each. For classes without slots and ``__post_init__``; cached
    properties are copied, so they must not depend on what is changed. The attributes are set at once: a dictionary that
    was grown in place is read at half the speed.
    """
    made = object.__new__(type(thing))
    object.__setattr__(made, "__dict__", {**thing.__dict__, **changes})
    return made
