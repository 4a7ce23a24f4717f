"""Read-outs of a deformed network of beams: forces in its sections, energy by piece."""

from __future__ import annotations

import numpy as np

from pliant.core.types import FloatArray
from pliant.models.beam import element
from pliant.models.beam.model import BeamModel, writable


def section_forces(model: BeamModel, q: FloatArray) -> FloatArray:
    """Forces (N) and moments (N·m) in both ends of each piece, (m, 2, 6), in the mean frame of the piece.

    They are what the part beyond the section, in the direction of the piece, exerts on the part before it.
    """
    local = model.element_forces(q)
    out = np.empty((len(local), 2, 6))
    out[:, :, :3] = local[:, :1]
    out[:, 0, 3:], out[:, 1, 3:] = -local[:, 1], local[:, 2]
    return out


def piece_energy(model: BeamModel, q: FloatArray) -> FloatArray:
    """Elastic energy of each piece, (m,), J; they sum to the energy of the body."""
    energy = np.empty(len(model.elements.edges))
    element.piece_energies(writable(q), *model.elements.arrays, energy)
    return energy
