"""Control values: what a person hands to a step, with its physical meaning in the type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.core.checks import finite_array
from pliant.core.errors import InputError
from pliant.core.types import FloatArray
from pliant.models.volume import PointLoad, PressureLoad, Support, TractionLoad


@dataclass(frozen=True)
class Displacement:
    """A displacement in m: of a support from its rest place; of a cable, > 0 shortens it."""

    value: Any


@dataclass(frozen=True)
class Force:
    """A force in N: a vector (3,) for a point load; a tension ≥ 0 for a cable."""

    value: Any


@dataclass(frozen=True)
class Traction:
    """A dead traction in Pa of undeformed area, vector (3,)."""

    value: Any


@dataclass(frozen=True)
class Pressure:
    """A pressure in Pa, > 0 pushes into the body it acts on."""

    value: Any


@dataclass(frozen=True)
class VolumeGrowth:
    """A growth of a chamber's volume in m³."""

    value: Any


_ACCEPTS: dict[type, tuple[Any, tuple[int, ...]]] = {
    PointLoad: (Force, (3,)),
    TractionLoad: (Traction, (3,)),
    PressureLoad: (Pressure, ()),
}


def resolve_controls(controls: Mapping[Any, Any] | None, known: frozenset[Any]) -> dict[Any, FloatArray]:
    """Controls as plain arrays by handle, each checked to belong to the world and to have the right kind and shape."""
    resolved: dict[Any, FloatArray] = {}
    for handle, value in (controls or {}).items():
        if handle not in known:
            raise InputError(f"{handle!r} is not a load or support of this world; add it to the scene before compile()")
        resolved[handle] = _resolve(handle, value)
    return resolved


def _resolve(handle: Any, value: Any) -> FloatArray:
    if isinstance(handle, Support):
        if not isinstance(value, Displacement):
            raise InputError(f"a Support is controlled by pl.Displacement(m), got {value!r}")
        return handle.checked(value.value)
    kind, shape = _ACCEPTS[type(handle)]
    name = f"control of a {type(handle).__name__}"
    if not isinstance(value, kind):
        raise InputError(f"{name} must be pl.{kind.__name__}(…), got {value!r}")
    return np.asarray(finite_array(name, value.value, shape=shape))
