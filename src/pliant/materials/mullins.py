"""Mullins softening: rubber that was stretched before is softer below its largest energy.

With W the energy of the shear part of a law and Wₘ the largest one that a point has had, the stress of that part is
η ∂W/∂F,

    η = 1 − (1/r) erf((Wₘ − W)/(m + β Wₘ))

(R. W. Ogden, D. G. Roxburgh, A pseudo-elastic model for the Mullins effect in filled rubber, Proc. R. Soc. A 455, 1999;
β: as in most programs, it keeps the softening of large stretches gentle). On the first loading W = Wₘ and η = 1; a
point that returns to Wₘ joins the virgin curve again. The stored energy ∫ η dW and the energy lost for ever are

    stored = W − (c/r) (E(Wₘ/c) − E((Wₘ − W)/c)),      lost = (c/r) E(Wₘ/c),
    c = m + β Wₘ,      E(z) = ∫₀ᶻ erf = z erf z − (1 − e^(−z²))/√π

and lost, which depends on Wₘ alone, grows with it for every r ≥ 1, m ≥ 0 and β ≥ 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from pliant.core.checks import finite_array, non_negative, positive
from pliant.core.errors import InputError
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray
from pliant.materials.laws import Law
from pliant.materials.material import Material


class Softening(NamedTuple):
    """Coefficients of the softening: r and β without unit, m in J/m³."""

    r: float
    m: float
    beta: float

    def factor(self, W: Any, largest: Any) -> FloatArray:
        """η at energies W (…) of points whose largest energy was `largest` (…), J/m³; 1 above it."""
        from scipy.special import erf

        W, largest = np.asarray(W, float), np.asarray(largest, float)
        return np.asarray(1.0 - erf(self._depth(W, largest)) / self.r)

    def stored(self, W: Any, largest: Any) -> FloatArray:
        """Energy that unloading gives back, (…), J/m³; W ≤ `largest`."""
        W, largest = np.asarray(W, float), np.asarray(largest, float)
        return np.asarray(W - self.lost(largest) + self._scale(largest) / self.r * _integral(self._depth(W, largest)))

    def lost(self, largest: Any) -> FloatArray:
        """Energy that points with these largest energies have lost, (…), J/m³."""
        largest = np.asarray(largest, float)
        return np.asarray(self._scale(largest) / self.r * _integral(self._depth(np.zeros_like(largest), largest)))

    def _scale(self, largest: FloatArray) -> FloatArray:
        return self.m + self.beta * largest

    def _depth(self, W: FloatArray, largest: FloatArray) -> FloatArray:
        scale = self._scale(largest)
        return np.asarray(np.maximum(largest - W, 0.0) / np.where(scale > 0.0, scale, 1.0))


@one_line
@dataclass(frozen=True)
class Mullins(Material):
    """An elastic material that softens below its largest shear energy Wₘ: η = 1 − erf((Wₘ − W)/(m + β Wₘ))/r.

    base
        Any elastic law of `pl.materials`: the virgin material, as the first loading measures it.
    r
        > 1: unloading from a large stretch lowers the stress by at most 1/r of it.
    m
        Energy density in J/m³ below which a stretch hardly softens; with β = 0 it sets how fast η falls.
    beta
        ≥ 0: raises that scale in proportion to Wₘ.

    The largest energy is kept at each integration point, in `State.histories`; it is updated at the end of each step.
    Give a `Mullins` as the base of `Viscoelastic` where the stress also relaxes.
    """

    base: Material
    r: float = field(kw_only=True)
    m: float = field(kw_only=True, default=0.0)
    beta: float = field(kw_only=True, default=0.0)
    density: float = field(kw_only=True, default=0.0)
    """Mass per volume, kg/m³: that of `base`."""

    def __post_init__(self) -> None:
        if not isinstance(self.base, Material):
            raise InputError(f"the base of Mullins must be an elastic material of pl.materials, got {self.base!r}")
        if self.base.softening is not None:
            raise InputError("the base of Mullins softens already; give one softening with its own r, m and beta")
        if self.base.relaxation is not None:
            raise InputError(
                "the base of Mullins must be elastic; where the stress also relaxes write "
                "Viscoelastic(Mullins(law, …), branches=…)"
            )
        if self.density not in (0.0, self.base.density):
            raise InputError(f"Mullins has the density of its base, {self.base.density:g} kg/m³; give it there")
        object.__setattr__(self, "density", self.base.density)
        super().__post_init__()

    def _validate(self) -> None:
        if positive("r of Mullins", self.r) <= 1.0:
            raise InputError(
                f"r of Mullins is {self.r:g}, but must be > 1: unloading would leave no stiffness, or a "
                "negative one; rubbers have 1.2 to 4"
            )
        non_negative("m of Mullins", self.m, unit="J/m³")
        non_negative("beta of Mullins", self.beta)
        if not self.m and not self.beta:
            raise InputError("Mullins needs m > 0 (J/m³) or beta > 0: with both 0 every unloading softens at once")

    @property
    def law(self) -> Law:  # type: ignore[override]
        """Code of the law of `base`."""
        return self.base.law

    @property
    def parameters(self) -> FloatArray:
        """Row of the kernels' parameter table of the virgin law."""
        return self.base.parameters

    @property
    def shear_modulus(self) -> float:
        """Shear modulus of the virgin material at small strain, Pa."""
        return self.base.shear_modulus

    @property
    def bulk_modulus(self) -> float:
        """Bulk modulus at small strain, Pa."""
        return self.base.bulk_modulus

    @property
    def softening(self) -> Softening:
        """Coefficients r, m and β."""
        return Softening(float(self.r), float(self.m), float(self.beta))

    def softened(self, W: Any, largest: Any) -> FloatArray:
        """η at shear energies W (…) of points whose largest shear energy was `largest` (…), J/m³."""
        return self.softening.factor(finite_array("W", W), finite_array("largest W", largest))


def _integral(z: FloatArray) -> FloatArray:
    """∫₀ᶻ erf."""
    from scipy.special import erf

    return np.asarray(z * erf(z) + np.expm1(-(z**2)) / np.sqrt(np.pi))
