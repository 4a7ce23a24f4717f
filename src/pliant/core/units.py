"""Units of length accepted when a mesh is loaded. Inside the library everything is SI."""

from __future__ import annotations

from pliant.core.errors import UnitError

LENGTH_UNITS: dict[str, float] = {"m": 1.0, "dm": 0.1, "cm": 1e-2, "mm": 1e-3, "um": 1e-6, "inch": 0.0254, "in": 0.0254}
"""Metres per unit of length."""


def metres_per(unit: str) -> float:
    """Metres in one `unit`; a `UnitError` lists the known units when it is not one of them."""
    try:
        return LENGTH_UNITS[unit]
    except (KeyError, TypeError):
        known = ", ".join(repr(name) for name in LENGTH_UNITS)
        raise UnitError(f"unit {unit!r} is not a unit of length; use one of {known}") from None
