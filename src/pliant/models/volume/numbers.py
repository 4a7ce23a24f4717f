"""What depends on the numbers of a volume: constants of its materials, its density and its mass."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.core.types import FloatArray
from pliant.models.volume.mass import build_mass
from pliant.models.volume.memory import Memory
from pliant.models.volume.split import Split
from pliant.models.volume.volume import Volume


def densities(spec: Volume) -> FloatArray:
    """Densities of the materials, the main one first, kg/m³."""
    return np.array([material.density for material in spec.materials])


def changed_numbers(model: Any, spec: Volume) -> dict[str, Any]:
    """The fields of a volume's `model` that are others for `spec`, which differs from its own in numbers alone."""
    old, made = model.spec, _of_materials(model, spec)
    density = densities(spec)
    if spec.mass is not old.mass or not np.array_equal(density, densities(old)):
        each = density[spec.cell_materials()]
        made["mass"] = build_mass(spec.mesh, model.pattern, each, spec.mass, lumped=spec.lumped_mass)
    return made


def _of_materials(model: Any, spec: Volume) -> dict[str, Any]:
    materials = spec.materials
    if all(new is old for new, old in zip(materials, model.spec.materials, strict=True)):
        return {}
    table = np.stack([material.parameters for material in materials])
    split = model.split
    if split is not None:
        given = model.points, model.pattern, model.laws, table
        split = Split.by_cells(model.mesh, spec.cell_materials(), *given)
    memory = None if model.memory is None else Memory.of(model.points, model.positions, model.rest, materials)
    return {"table": table, "split": split, "memory": memory}
