"""Forces, strains and stresses of the sections of a rod, as states show them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pliant.core.types import FloatArray

if TYPE_CHECKING:
    from pliant.models.rod.model import RodModel


def strain_forces(model: RodModel, q: FloatArray, history: FloatArray | None) -> FloatArray:
    """Forces (N, 6) of the strains, N·m and N, with what branches remember."""
    forces: FloatArray = model.stiffness.reshape(-1, 6) * model.element_strains(q)
    return forces if model.memory is None else forces + model.memory.branch_forces(history)


def section_strains(model: RodModel, q: FloatArray) -> FloatArray:
    """Strains of the sections (N, 6): twist, bend_y, bend_z in 1/m, stretch, shear_y, shear_z."""
    strains: FloatArray = q[4:].reshape(-1, 6) / model.spec.lengths[:, None]
    strains[:, 3] -= 1.0
    return strains


def fibre_strain(model: RodModel, q: FloatArray) -> FloatArray:
    """Largest strain along the rod at the border of each section, (N,), as far as it is stressed."""
    return _border_strain(model, section_strains(model, q) - model.spec.rest_strains)


def fibre_stress(model: RodModel, q: FloatArray, history: FloatArray | None) -> FloatArray:
    """Largest stress along the rod at the border of each section, (N,), Pa."""
    spec = model.spec
    if model.memory is None:
        return spec.young * fibre_strain(model, q)
    elastic = spec.relaxed_fractions * strain_forces(model, q, history) / model.stiffness.reshape(-1, 6)
    return spec.young * _border_strain(model, elastic / spec.lengths[:, None])


def _border_strain(model: RodModel, strains: FloatArray) -> FloatArray:
    """Largest |ε + κ_y z − κ_z y| at the border of sections of `strains` (N, 6), (N,)."""
    pairs = zip(strains, (section.outline() for section in model.spec.section_list), strict=True)
    return np.array([np.abs(e[3] + e[1] * border[:, 1] - e[2] * border[:, 0]).max() for e, border in pairs])
