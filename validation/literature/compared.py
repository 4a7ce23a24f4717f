"""A row of a literature problem in one call."""

from __future__ import annotations

from validation.row import Row


def compared(quantity: str, ours: float, reference: float, unit: str, *, allowed: float, note: str = "") -> Row:
    """Our value beside the published one, both in `unit`; the relative error may be `allowed`."""
    return Row(quantity=quantity, ours=float(ours), reference=float(reference), unit=unit, allowed=allowed, note=note)
