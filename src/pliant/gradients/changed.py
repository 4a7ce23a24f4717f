"""Bodies with a changed number, and by which steps it is changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pliant.core.errors import InputError
from pliant.gradients.finite import STEP


def changed_material(spec: Any, constant: str, inclusion: int | None) -> tuple[Callable[[float], Any], float]:
    """The spec of a body with `constant` of its material changed by s, and a step for s."""
    if inclusion is None:
        material = getattr(spec, "material", None)
    else:
        known = getattr(spec, "inclusions", ())
        if not 0 <= inclusion < len(known):
            raise InputError(f"{spec.name!r} has {len(known)} inclusions, no inclusion {inclusion}")
        material = known[inclusion][1]
    holder = spec if material is None or not hasattr(material, constant) else material
    value = getattr(holder, constant, None)
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise InputError(
            f"the material of {spec.name!r} has no number {constant!r} by which a derivative could be taken"
        )
    step = STEP * _scale(holder, constant, float(value))

    def change(s: float) -> Any:
        other = replace(holder, **{constant: value + s})
        if holder is spec:
            return other
        if inclusion is None:
            return replace(spec, material=other)
        parts = [(region, other if k == inclusion else own) for k, (region, own) in enumerate(spec.inclusions)]
        return replace(spec, inclusions=parts)

    return change, step


def _scale(holder: Any, constant: str, value: float) -> float:
    if constant == "poisson":
        return float(min(0.5 - value, 1.0 + value))
    if value:
        return abs(value)
    return float(getattr(holder, "shear_modulus", 1.0))


def heavier(model: Any, factor: float) -> Any:
    """A volume with `factor` times its mass."""
    mass = model.mass
    blocks = None if mass.blocks is None else factor * mass.blocks
    return replace(model, mass=replace(mass, nodal=factor * mass.nodal, blocks=blocks))
