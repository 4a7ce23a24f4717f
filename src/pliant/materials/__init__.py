"""Elastic materials: energy, stress and tangent of the deformation gradient; named silicones; fits of tensile tests."""

from pliant.materials import silicones
from pliant.materials.cyclic_fitting import CyclicFit, fit_mullins
from pliant.materials.fitting import Fit, fit_neo_hookean, fit_ogden, fit_yeoh, uniaxial_stress
from pliant.materials.laws import Part
from pliant.materials.material import (
    Corotated,
    Linear,
    Material,
    MooneyRivlin,
    NeoHookean,
    StVenantKirchhoff,
    Yeoh,
)
from pliant.materials.mullins import Mullins
from pliant.materials.ogden import CoupledMooneyRivlin, CoupledOgden, Ogden
from pliant.materials.prony_fitting import PronyFit, fit_dynamic_modulus, fit_relaxation
from pliant.materials.response import Tangent
from pliant.materials.silicones import (
    SILICONES,
    Silicone,
    dragon_skin_10,
    dragon_skin_20,
    dragon_skin_30,
    ecoflex_00_30,
    ecoflex_00_50,
)
from pliant.materials.viscoelastic import Viscoelastic

__all__ = [
    "SILICONES",
    "Corotated",
    "CoupledMooneyRivlin",
    "CoupledOgden",
    "CyclicFit",
    "Fit",
    "Linear",
    "Material",
    "MooneyRivlin",
    "Mullins",
    "NeoHookean",
    "Ogden",
    "Part",
    "PronyFit",
    "Silicone",
    "StVenantKirchhoff",
    "Tangent",
    "Viscoelastic",
    "Yeoh",
    "dragon_skin_10",
    "dragon_skin_20",
    "dragon_skin_30",
    "ecoflex_00_30",
    "ecoflex_00_50",
    "fit_dynamic_modulus",
    "fit_mullins",
    "fit_neo_hookean",
    "fit_ogden",
    "fit_relaxation",
    "fit_yeoh",
    "silicones",
    "uniaxial_stress",
]
