"""Read-outs of a deformed rod: forces in its sections, energy and bending stress by section."""

from __future__ import annotations

import numpy as np

from pliant.core.types import FloatArray
from pliant.models.rod.model import RodModel


def section_forces(model: RodModel, q: FloatArray) -> FloatArray:
    """Tension and shear along y and z (N), torque and bending moments about y and z (N·m) in each section, (N, 6), in
    its frame; 0 for strains that may not change.
    """
    forces = (model.stiffness * (q[4:] - model.rest[4:])).reshape(-1, 6)
    return np.asarray(forces[:, [3, 4, 5, 0, 1, 2]])


def section_energy(model: RodModel, q: FloatArray) -> FloatArray:
    """Elastic energy of each section, (N,), J; they sum to the energy of the rod."""
    energy: FloatArray = 0.5 * (model.stiffness * (q[4:] - model.rest[4:]) ** 2).reshape(-1, 6).sum(axis=1)
    return energy


def fibre_strain(model: RodModel, q: FloatArray) -> FloatArray:
    """Largest strain along the rod of the fibres at the border of each section, (N,), no unit: stretch and bending,
    |ε + κ_y z − κ_z y|, as far as they are stressed.
    """
    strains = model.strains(q) - model.spec.rest_strains
    largest = [
        np.abs(e[3] + e[1] * border[:, 1] - e[2] * border[:, 0]).max()
        for e, border in zip(strains, (section.outline() for section in model.spec.section_list), strict=True)
    ]
    return np.array(largest)


def fibre_stress(model: RodModel, q: FloatArray) -> FloatArray:
    """Largest stress along the rod at the border of each section, (N,), Pa."""
    return model.spec.young * fibre_strain(model, q)
