"""Silicones by name, each with its tensile test and fits of that test.

The tests are of the Soft Robotics Materials Database (Marechal et al., Toward a common framework and database of
materials for soft robotics, Soft Robotics 8, 2021; github.com/LucMarechal/Soft-Robotics-Materials-Database, Open
Database License): ASTM D412 dumbbells, pulled once to failure at 450 mm/min, strain from the crosshead. Twelve points
of each curve are kept. Densities are the specific gravities of the manufacturer's technical bulletins.

Three limits: a first pull is stiffer than the following ones (Mullins effect). Strain from the crosshead includes slip
in the grips, so that the material itself is stiffer: the bulletins state a stress at 100 % strain that is 1.1 times
(Dragon Skin 20) to 2.3 times (Ecoflex 00-30) as high. Batches differ: where forces matter, fit your own test
(`pliant.materials.fit_ogden`).

Memory: numbers for how a stress fades were found for Dragon Skin 10 alone, in motion capture of a cantilever that is
let go (github.com/srl-ethz/diffPD_sim2real, MIT). Tests of other silicones are published as curves or behind a paywall:
Ecoflex 00-30, Smooth-Sil 950 and Sylgard 184 (Case, White, Kramer, doi 10.1089/soro.2015.0002), Ecoflex 00-10 to 00-50
(Liao et al., Ecoflex polymer of different Shore hardnesses, 2020), Sylgard 184 (Kunzemann et al., arXiv 2402.07555).
None of their numbers is guessed here: fit a record with `pliant.materials.fit_relaxation`, `fit_dynamic_modulus` or
`fit_mullins`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal, overload

import numpy as np

from pliant.core.arrays import frozen
from pliant.core.checks import finite_array, positive
from pliant.core.declared import declared
from pliant.core.errors import InputError
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray
from pliant.materials.fitting import fit_neo_hookean, fit_ogden, fit_yeoh
from pliant.materials.material import Material, NeoHookean, Yeoh
from pliant.materials.ogden import Ogden
from pliant.materials.viscoelastic import Viscoelastic


@one_line
@dataclass(frozen=True, eq=False, kw_only=True)
class Silicone:
    """A silicone as measured in tension; its methods return materials fitted to that measurement.

    Calling it returns the default, `ogden`: its two coefficients fit the data to 2 % (root mean square), and with an
    exponent a > 1 its stress rises at every stretch, within the data and beyond. Least squares favours large stresses:
    at a strain of 0.25 it differs from the data by up to 15 % (Dragon Skin 20). With ``relative=True`` every method
    fits relative errors instead; Ogden and Yeoh then fit each point up to a strain of 2 within 7 %.
    """

    name: str
    density: float
    """Mass per volume, kg/m³."""
    strain: FloatArray
    """Engineering strain, shape (k,), rising."""
    stress: FloatArray
    """Engineering stress, Pa, shape (k,)."""
    valid_strain: float
    """Largest engineering strain that the fits use; beyond it they extrapolate."""
    source: str
    """Origin of the data."""
    branches: tuple[tuple[float, float], ...] = ()
    """Pairs (g, τ) of its Prony branches, τ in s, see `Viscoelastic`; empty where no measurement is known."""
    memory_source: str = ""
    """Origin of `branches`."""

    def __post_init__(self) -> None:
        positive(f"density of {self.name}", self.density, unit="kg/m³")
        positive(f"valid_strain of {self.name}", self.valid_strain)
        strain = finite_array(f"strain of {self.name}", self.strain, shape=(None,)).copy()
        stress = finite_array(f"stress of {self.name}", self.stress, shape=(len(strain),)).copy()
        if (np.diff(strain) <= 0.0).any():
            raise InputError(f"strain of {self.name} must rise from point to point")
        object.__setattr__(self, "strain", frozen(strain))
        object.__setattr__(self, "stress", frozen(stress))

    @overload
    def __call__(self, *, poisson: float = ..., memory: Literal[False] = ...) -> Ogden: ...

    @overload
    def __call__(self, *, poisson: float = ..., memory: Literal[True]) -> Viscoelastic: ...

    @declared
    def __call__(self, *, poisson: float = 0.49, memory: bool = False) -> Ogden | Viscoelastic:
        """The default material: `ogden`; with `memory` its stress also relaxes by the measured `branches`."""
        law = self.ogden(poisson=poisson)
        return self.remembering(law) if memory else law

    def remembering(self, law: Material) -> Viscoelastic:
        """`law`, a fit to slow tests, with the measured `branches`."""
        if not self.branches:
            known = ", ".join(s.name for s in SILICONES.values() if s.branches)
            raise InputError(
                f"no measured relaxation of {self.name} is known here, only of {known}: fit your own record "
                "(pl.materials.fit_relaxation, fit_dynamic_modulus), or take "
                "pl.materials.Viscoelastic.with_loss_factor with the loss factor of your robot"
            )
        return Viscoelastic(law, self.branches)

    def ogden(self, *, poisson: float = 0.49, up_to: float | None = None, relative: bool = False) -> Ogden:
        """One-term Ogden material fitted to strains ≤ `up_to` (default `valid_strain`)."""
        return fit_ogden(*self.data(up_to=up_to), density=self.density, poisson=poisson, relative=relative).material

    def yeoh(self, *, poisson: float = 0.49, up_to: float | None = None, relative: bool = False) -> Yeoh:
        """Three-term Yeoh material fitted to strains ≤ `up_to` (default `valid_strain`), for use inside that range.

        With the default range c3 is negative: the stress falls again beyond a strain of about 2.8 (Dragon Skin) or 3.3
        (Ecoflex). Give a larger `up_to`, or use `ogden`, where strains get there.
        """
        return fit_yeoh(*self.data(up_to=up_to), density=self.density, poisson=poisson, relative=relative).material

    def neo_hookean(self, *, poisson: float = 0.49, up_to: float | None = None, relative: bool = False) -> NeoHookean:
        """Neo-Hookean material fitted to strains ≤ `up_to` (default `valid_strain`); misses the stiffening."""
        data = self.data(up_to=up_to)
        return fit_neo_hookean(*data, density=self.density, poisson=poisson, relative=relative).material

    def data(self, *, up_to: float | None = None) -> tuple[FloatArray, FloatArray]:
        """Engineering strain (j,) and stress (j,) in Pa of the points up to the strain `up_to` (`valid_strain`)."""
        limit = self.valid_strain if up_to is None else positive(f"up_to of {self.name}", up_to)
        kept = self.strain <= limit
        return self.strain[kept], self.stress[kept]


_STRAIN = np.array([0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0])


def _silicone(name: str, *, gravity: float, kilopascal: list[float], bulletin: str) -> Silicone:
    return Silicone(
        name=name,
        density=1000.0 * gravity,
        strain=_STRAIN,
        stress=1000.0 * np.array(kilopascal),
        valid_strain=2.0,
        source=(
            "stress: Soft Robotics Materials Database (Marechal et al. 2021), ASTM D412, first pull at 450 mm/min, "
            f"strain from the crosshead; density: manufacturer's technical bulletin, which also states {bulletin}"
        ),
    )


ecoflex_00_30 = _silicone(
    "Ecoflex 00-30",
    gravity=1.07,
    kilopascal=[8.56, 16.89, 22.88, 29.72, 34.51, 40.08, 46.66, 52.39, 65.93, 80.15, 96.46, 114.76],
    bulletin="10 psi (69 kPa) at 100 % strain",
)
ecoflex_00_50 = _silicone(
    "Ecoflex 00-50",
    gravity=1.07,
    kilopascal=[12.26, 22.78, 32.07, 40.95, 50.38, 59.51, 68.75, 79.01, 101.3, 125.78, 153.14, 183.0],
    bulletin="12 psi (83 kPa) at 100 % strain",
)
dragon_skin_10 = replace(
    _silicone(
        "Dragon Skin 10",
        gravity=1.07,
        kilopascal=[26.43, 53.0, 82.29, 112.96, 149.83, 190.58, 233.53, 272.79, 355.97, 444.76, 537.4, 632.54],
        bulletin="22 psi (152 kPa) at 100 % strain (tested grade: Medium)",
    ),
    branches=((0.194, 0.0208),),
    memory_source=(
        "motion capture of a cantilever 30×30×100 mm that is let go, with its own weight and with 52 g at the tip "
        "(github.com/srl-ethz/diffPD_sim2real, MIT): rings at 7.73 and 4.33 Hz with damping ratios of 0.052 and 0.056 "
        "(takes: 0.046 to 0.064), stiffer than its sag by 11 and 7 %. One branch has the stiffnesses within 1.2 %, the "
        "loss factors within 12 %; nothing is known outside 4 to 8 Hz"
    ),
)
dragon_skin_20 = _silicone(
    "Dragon Skin 20",
    gravity=1.08,
    kilopascal=[72.15, 151.07, 232.77, 318.36, 410.47, 509.24, 612.93, 722.26, 952.81, 1194.47, 1445.89, 1703.19],
    bulletin="49 psi (338 kPa) at 100 % strain",
)
dragon_skin_30 = _silicone(
    "Dragon Skin 30",
    gravity=1.08,
    kilopascal=[110.87, 213.92, 322.07, 437.12, 560.21, 689.38, 822.91, 959.47, 1238.7, 1529.49, 1830.98, 2143.13],
    bulletin="86 psi (593 kPa) at 100 % strain",
)

SILICONES: Mapping[str, Silicone] = MappingProxyType(
    {s.name: s for s in (ecoflex_00_30, ecoflex_00_50, dragon_skin_10, dragon_skin_20, dragon_skin_30)}
)
"""Every silicone by its trade name."""
