"""Elastic materials: energy, stress and tangent of the deformation gradient; named silicones."""

from pliant.materials.laws import Law, Part
from pliant.materials.material import (
    Corotated,
    Linear,
    Material,
    MooneyRivlin,
    NeoHookean,
    Ogden,
    StVenantKirchhoff,
    Yeoh,
)
from pliant.materials.response import Tangent

__all__ = [
    "Corotated",
    "Law",
    "Linear",
    "Material",
    "MooneyRivlin",
    "NeoHookean",
    "Ogden",
    "Part",
    "StVenantKirchhoff",
    "Tangent",
    "Yeoh",
]
