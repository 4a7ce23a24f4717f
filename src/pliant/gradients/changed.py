"""Bodies with a changed number: the models that their forces are evaluated with, and by which steps it is changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from pliant.core.errors import InputError
from pliant.gradients.finite import STEP
from pliant.models.body import Model, Parts
from pliant.models.kinds import compiled
from pliant.models.volume import VolumeModel
from pliant.models.volume.mass import build_mass
from pliant.models.volume.split import Split
from pliant.world import World


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


def with_spec(world: World, index: int, spec: Any) -> Model:
    """The model of body `index` with another `spec`, which differs from its own in numbers alone."""
    model: Any = world.models[index]
    if type(model) is VolumeModel:
        return _volume(model, spec)
    old, things = model.handle, world.source.things
    of_body = [thing for thing, _ in things if getattr(thing, "body", None) is old]
    placement = next(placed for thing, placed in things if thing is old)
    parts = Parts(
        loads=[each for each in of_body if hasattr(each, "wrench") or hasattr(each, "nodal_share")],
        supports=[each for each in of_body if type(each).__name__ == "Support"],
        couplings=[nodes for rows in world.constraints if hasattr(rows, "couplings") for nodes in rows.couplings(old)],
    )
    return compiled(spec, placement, parts)


def _volume(model: VolumeModel, spec: Any) -> VolumeModel:
    """A volume with other constants: the pattern, the points and what was analysed stay."""
    material, table = spec.cell_materials(), np.stack([m.parameters for m in spec.materials])
    density = np.array([m.density for m in spec.materials])[material]
    split = model.split
    if split is not None:
        split = Split.by_cells(model.mesh, material, model.points, model.pattern, model.laws, table)
    mass = build_mass(spec.mesh, model.pattern, density, spec.mass, lumped=spec.lumped_mass)
    return replace(model, spec=spec, table=table, split=split, mass=mass)


def heavier(model: Any, factor: float) -> Any:
    """A volume with `factor` times its mass."""
    mass = model.mass
    blocks = None if mass.blocks is None else factor * mass.blocks
    return replace(model, mass=replace(mass, nodal=factor * mass.nodal, blocks=blocks))
