"""One line of the table: our value beside the reference, and how far apart they are."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Any

from pliant.core.errors import InputError


@dataclass(frozen=True, kw_only=True)
class Row:
    """A quantity of a case.

    quantity
        What is compared, in a few words.
    ours, reference
        Our value and that of the reference, both in `unit`. Where the quantity is a distance to the reference, such as
        the rms of markers, the reference is 0.
    error (computed if not given)
        Relative error |ours − reference|/|reference|; |ours| in `unit` where the reference is 0.
    published
        Best published error of the same quantity, in the measure of `error`; None where there is none.
    allowed
        Error that the row must stay below; None where it is only reported.
    note, source (both optional)
        What a reader must know about the row, such as who published the best error; its source, where it is not that of
        the whole case.
    """

    quantity: str
    ours: float
    reference: float
    unit: str = ""
    error: float | None = None
    published: float | None = None
    allowed: float | None = None
    note: str = ""
    source: str = ""

    def __post_init__(self) -> None:
        for name in ("ours", "reference"):
            if not isfinite(getattr(self, name)):
                raise InputError(f"{name} of the row {self.quantity!r} must be finite, got {getattr(self, name)}")
        if self.error is None:
            gap = abs(self.ours - self.reference)
            object.__setattr__(self, "error", gap / abs(self.reference) if self.reference else gap)

    @property
    def is_relative(self) -> bool:
        """Whether `error` is a fraction of the reference; otherwise it is in `unit`."""
        return self.reference != 0.0

    @property
    def met(self) -> bool:
        """Whether the error is within what is allowed."""
        return self.allowed is None or (self.error is not None and self.error <= self.allowed)

    def as_json(self) -> dict[str, Any]:
        """The row for JSON, without name, source, licence and command, which its case has."""
        return {
            "quantity": self.quantity,
            "ours": float(self.ours),
            "reference": float(self.reference),
            "unit": self.unit,
            "error": float(self.error or 0.0),
            "published": self.published,
            "allowed": self.allowed,
            "met": self.met,
            "note": self.note,
        }

    def measure(self, error: float | None) -> str:
        """An error as it stands in a table: in per cent, or in the unit of the row."""
        if error is None:
            return "–"
        return f"{100.0 * error:.2g} %" if self.is_relative else f"{error:.3g} {self.unit}".strip()
