"""One thing that is unusual in a scene."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """A `thing` with its `value`, what is `expected` and a `remedy`; a `fault` is most likely a mistake.

    What is no fault is worth knowing: it may be as intended.
    """

    thing: str
    value: str
    expected: str
    remedy: str
    fault: bool = False

    def __str__(self) -> str:
        return (
            f"{'fault' if self.fault else 'note'}: {self.thing}: {self.value}; expected {self.expected}; {self.remedy}"
        )
