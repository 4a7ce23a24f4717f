"""Controls: the inputs of a step by handle, checked once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pliant.actuators import Actuator
from pliant.actuators.limits import Command
from pliant.actuators.values import Displacement, Force, ForceDensity, Placement, Pressure, Torque, Traction, Wrench
from pliant.core.checks import finite_array
from pliant.core.errors import InputError
from pliant.core.one_line import short
from pliant.core.types import FloatArray
from pliant.models.rod import RodLoad, RodMoments
from pliant.models.volume import BodyLoad, PointLoad, PressureLoad, Support, TractionLoad


def _resolve_wrench(load: PointLoad | RodLoad, value: Wrench) -> FloatArray:
    if not load.body.slender:
        raise InputError(f"pl.Wrench is for loads on beams and rods; {load.body.name!r} is neither: use pl.Force(N)")
    return finite_array(f"control of a {type(load).__name__}", value.value, shape=(2, 3))


def _resolve_placement(support: Support, value: Placement) -> tuple[FloatArray, FloatArray]:
    if support.rotation is None:
        raise InputError(
            "pl.Placement is for supports that constrain frames: pl.Support(…, rotation=(0, 0, 0)); a support that "
            "only moves takes pl.Displacement((x, y, z))"
        )
    displacement, rotation = finite_array("control of a Support", value.value, shape=(2, 3))
    free = [axis for axis in range(3) if axis not in support.axis_indices and displacement[axis]]
    if free:
        raise InputError(f"the Support does not constrain {'xyz'[free[0]]}, so it cannot be displaced along it")
    return displacement[support.axis_indices], rotation


_ACCEPTS: dict[type, tuple[Any, tuple[int, ...] | None]] = {
    PointLoad: (Force, (3,)),
    RodLoad: (Force, (3,)),
    RodMoments: (Torque, None),
    TractionLoad: (Traction, None),
    BodyLoad: (ForceDensity, None),
    PressureLoad: (Pressure, None),
}
"""Kind and shape of the control values of loads; None: a field, which the load checks."""


def resolve_controls(
    controls: Mapping[Any, Any] | None, handles: frozenset[Any], specs: Mapping[Any, Any]
) -> dict[Any, Any]:
    """Control values by handle (or "gravity", m/s², (3,)), checked for handle, type and shape. `specs` are the things
    that have other numbers by now.
    """
    resolved: dict[Any, Any] = {}
    if controls is not None and not isinstance(controls, Mapping):
        raise InputError(
            f"controls are a dictionary from what was added to the scene to values, such as {{cable: "
            f"pl.Displacement(0.01)}}; got {short(controls)}"
        )
    for handle, value in (controls or {}).items():
        if isinstance(handle, str) and handle == "gravity":
            resolved[handle] = finite_array("gravity", value, shape=(3,))
            continue
        if isinstance(handle, str):
            raise InputError(
                f"controls are keyed by the thing itself, not by its name {handle!r}: {{cable: …}} with cable = "
                "scene.add(pl.Cable(…))"
            )
        if handle not in handles:
            raise InputError(
                f"{short(handle)} is not an actuator, load or support of this world; add it to the scene before "
                "compile()"
            )
        resolved[handle] = _resolve(specs.get(handle, handle), value)
    return resolved


def _resolve(handle: Any, value: Any) -> Any:
    if isinstance(handle, Actuator):
        return handle.command(value)
    if isinstance(handle, (PointLoad, RodLoad)) and isinstance(value, Wrench):
        return _resolve_wrench(handle, value)
    if hasattr(handle, "terms"):  # a linear constraint
        if not isinstance(value, Displacement):
            raise InputError(f"{handle.name!r} is controlled by pl.Displacement(m), got {value!r}")
        return Command(by_force=False, amount=handle.checked(value.value))
    if isinstance(handle, Support):
        if isinstance(value, Placement):
            return _resolve_placement(handle, value)
        if not isinstance(value, Displacement):
            raise InputError(f"a Support is controlled by pl.Displacement(m), got {value!r}")
        return handle.checked(value.value)
    kind, shape = _ACCEPTS[type(handle)]
    name = f"control of a {type(handle).__name__}"
    if not isinstance(value, kind):
        raise InputError(f"{name} must be pl.{kind.__name__}(…), got {value!r}")
    if shape is None:
        return np.asarray(handle.checked(value.value, name))
    return np.asarray(finite_array(name, value.value, shape=shape))
