"""Elastic materials: energy, stress and tangent of the deformation gradient; named silicones; fits of tensile tests."""

from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any

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

if not TYPE_CHECKING:  # checkers know the names

    def __getattr__(name: str) -> Any:
        """An error that lists the silicones: most names that are looked for are theirs."""
        spelled = {each.lower(): each for each in __all__}
        near = get_close_matches(name.lower(), spelled, n=1, cutoff=0.75)
        guess = f"; did you mean {spelled[near[0]]!r}?" if near else "."
        raise AttributeError(
            f"pl.materials has no {name!r}{guess} Measured silicones are dragon_skin_10, _20, _30, ecoflex_00_30 and "
            "_50; for others give constants, as in pl.materials.NeoHookean(young=…), or fit a tensile test, "
            "pl.materials.fit_ogden(…)",
            name=name,
            obj=import_module(__name__),
        )


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
