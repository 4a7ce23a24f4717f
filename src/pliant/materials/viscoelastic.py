"""Materials with memory: Prony branches and viscosity on the shear part of any elastic law.

With S the second Piola–Kirchhoff stress of the shear part of the relaxed law, the stress of a branch follows

    Q̇ᵢ + Qᵢ/τᵢ = γᵢ Ṡ,         S_total = S + S_volume + Σ Qᵢ + ζ Ṡ

(J. C. Simo, On a fully three-dimensional finite-strain viscoelastic damage model, CMAME 60, 1987): frame-invariant at
any strain, and the Maxwell elements of linear viscoelasticity at small strain. The volume part does not relax, as is
usual of rubber. Over a time h in which S changes evenly the update is exact,

    Qᵢ⁺ = aᵢ Qᵢ + bᵢ (S⁺ − S),   aᵢ = e^(−h/τᵢ),   bᵢ = γᵢ (1 − aᵢ) τᵢ/h.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import exp, expm1
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from pliant.core.checks import finite_number, non_negative, positive
from pliant.core.errors import InputError
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray
from pliant.materials.laws import PARAMETER_COUNT, TERM_WIDTH, TERMS, Law
from pliant.materials.material import Material
from pliant.materials.mullins import Softening
from pliant.materials.prony_fitting import non_negative_fit

Moduli = Literal["relaxed", "instantaneous"]

_MODULI = tuple(range(TERMS, PARAMETER_COUNT, TERM_WIDTH))
_SHEAR_COLUMNS: dict[Law, tuple[int, ...]] = {law: (0,) for law in Law} | {
    Law.YEOH: (1, 2, 3, 4),
    Law.OGDEN: _MODULI,
    Law.COUPLED_OGDEN: _MODULI,
    Law.COUPLED_MOONEY_RIVLIN: (1, 2),
}
"""Columns of the parameter table in which the shear part of each law is linear."""


class Relaxation(NamedTuple):
    """How the shear stress of a material fades: strengths γ (b,) over the relaxed modulus, times τ (b,) in s, and the
    time ζ (s) of its viscosity.
    """

    strengths: tuple[float, ...]
    times: tuple[float, ...]
    viscosity: float

    def factors(self, elapsed: float) -> tuple[FloatArray, FloatArray, float]:
        """aᵢ and bᵢ (b,) of a time `elapsed` (s) in which the stress changes evenly, and ζ over it.

        At the time 0 the branches are elastic: a = 1, b = γ.
        """
        ratio = [elapsed / tau for tau in self.times]
        decay = np.array([exp(-x) for x in ratio])
        gain = np.array([g * (-expm1(-x) / x if x > 0.0 else 1.0) for g, x in zip(self.strengths, ratio, strict=True)])
        return decay, gain, self.viscosity / elapsed if elapsed > 0.0 else 0.0


@one_line
@dataclass(frozen=True)
class Viscoelastic(Material):
    """An elastic material whose shear stress relaxes: μ(t) = μ₀ (1 − Σ gᵢ (1 − e^(−t/τᵢ))).

    base
        Any elastic law of `pl.materials`, or a `Mullins`: then the branches follow its softened stress.
    branches
        Pairs (g, τ): the fraction of the instantaneous shear modulus μ₀ that relaxes, and the relaxation time in s.
    moduli
        What the moduli of `base` are: "relaxed", as slow tests measure them (μ₀ is then μ/(1 − Σ g)), or
        "instantaneous".
    viscosity
        Time ζ in s of a viscous stress ζ Ṡ beside the others (Kelvin–Voigt); the loss factor is ωζ.

    Statics are relaxed, or instantaneous by ``pl.QuasiStatic(viscoelastic="instantaneous")``.
    """

    base: Material
    branches: Sequence[tuple[float, float]] = ()
    moduli: Moduli = "relaxed"
    viscosity: float = 0.0
    density: float = field(kw_only=True, default=0.0)
    """Mass per volume, kg/m³: that of `base`."""

    _names: ClassVar[tuple[str, str]] = ("relaxed", "instantaneous")

    def __post_init__(self) -> None:
        if not isinstance(self.base, Material) or isinstance(self.base, Viscoelastic):
            raise InputError(f"the base of Viscoelastic must be an elastic material of pl.materials, got {self.base!r}")
        if self.density not in (0.0, self.base.density):
            raise InputError(f"Viscoelastic has the density of its base, {self.base.density:g} kg/m³; give it there")
        object.__setattr__(self, "density", self.base.density)
        object.__setattr__(self, "branches", _pairs(self.branches))
        super().__post_init__()

    def _validate(self) -> None:
        non_negative("viscosity of Viscoelastic", self.viscosity, unit="s")
        if self.moduli not in self._names:
            raise InputError(f'moduli of Viscoelastic must be "relaxed" or "instantaneous", got {self.moduli!r}')
        total = sum(g for g, _ in self.branches)
        if total >= 1.0:
            raise InputError(
                f"the branches of Viscoelastic relax {total:g} of the instantaneous shear modulus; the sum of g must "
                "be below 1, or nothing of the modulus is left (strengths over the relaxed modulus are g/(1 − Σg))"
            )
        if not self.branches and not self.viscosity:
            raise InputError("Viscoelastic needs branches=[(g, tau), …] or a viscosity; without them use the base")

    @property
    def law(self) -> Law:  # type: ignore[override]
        """Code of the law of `base`."""
        return self.base.law

    @property
    def relaxing(self) -> float:
        """Fraction Σ g of the instantaneous shear modulus that relaxes."""
        return sum(g for g, _ in self.branches)

    @property
    def parameters(self) -> FloatArray:
        """Row of the kernels' parameter table of the relaxed law."""
        row = self.base.parameters
        return row if self.moduli == "relaxed" else with_shear(self.law, row, 1.0 - self.relaxing)

    @property
    def shear_modulus(self) -> float:
        """Relaxed shear modulus at small strain, Pa."""
        return self.base.shear_modulus * (1.0 if self.moduli == "relaxed" else 1.0 - self.relaxing)

    @property
    def bulk_modulus(self) -> float:
        """Bulk modulus at small strain, Pa."""
        relaxed = self.shear_modulus / self.base.shear_modulus
        return self.base.bulk_modulus + (relaxed - 1.0) * self.base.shear_part_bulk_modulus

    @property
    def relaxation(self) -> Relaxation:
        """Strengths over the relaxed modulus, relaxation times and viscosity."""
        rest = 1.0 - self.relaxing
        return Relaxation(
            tuple(g / rest for g, _ in self.branches), tuple(tau for _, tau in self.branches), self.viscosity
        )

    @property
    def softening(self) -> Softening | None:
        """Coefficients of the softening of `base`, whose m belongs to the energy of the relaxed law."""
        found: Softening | None = self.base.softening
        if found is None or self.moduli == "relaxed":
            return found
        return found._replace(m=found.m * (1.0 - self.relaxing))

    def shear_relaxation(self, t: Any) -> FloatArray:
        """Shear modulus μ(t) (Pa) at the times t (s) after a sudden small strain."""
        t = np.asarray(t, float)
        strengths, times, _ = self.relaxation
        return np.asarray(
            self.shear_modulus
            * (1.0 + sum((g * np.exp(-t / tau) for g, tau in zip(strengths, times, strict=True)), np.zeros_like(t)))
        )

    def dynamic_shear_modulus(self, frequency: Any) -> Any:
        """Complex shear modulus μ′ + i μ″ (Pa) at frequencies in Hz; its loss factor is μ″/μ′."""
        w = 2.0 * np.pi * np.asarray(frequency, float)
        strengths, times, zeta = self.relaxation
        parts = (g * 1j * w * tau / (1.0 + 1j * w * tau) for g, tau in zip(strengths, times, strict=True))
        return self.shear_modulus * (1.0 + sum(parts, np.zeros_like(w) + 0j) + 1j * w * zeta)

    @classmethod
    def with_loss_factor(
        cls, base: Material, loss_factor: float, *, band: tuple[float, float], per_decade: int = 2
    ) -> Viscoelastic:
        """A ladder of branches whose loss factor μ″/μ′ is nearly `loss_factor` over the `band` of frequencies (Hz).

        `base` has the relaxed moduli. Relaxation times are evenly spaced, `per_decade` in each factor of ten, and their
        strengths are fitted by non-negative least squares. Structural damping with the damping ratio ζ has the loss
        factor 2ζ.
        """
        eta = positive("loss_factor", loss_factor)
        low, high = (positive("band of Viscoelastic", x, unit="Hz") for x in band)
        if not low < high:
            raise InputError(f"band of Viscoelastic must be (lowest, highest) frequency in Hz, got {band!r}")
        decades = np.log10(high / low) + 1.0  # half a decade beyond either end, where the ladder fades
        count = max(int(np.ceil(per_decade * decades)) + 1, 2)
        times = np.geomspace(10**0.5 / low, 10**-0.5 / high, count) / (2.0 * np.pi)
        w = 2.0 * np.pi * np.geomspace(low, high, 20 * count)
        x = w[:, None] * times
        storage, loss = x**2 / (1.0 + x**2), x / (1.0 + x**2)
        # Σ γ (loss − η storage) = η at every frequency, in which the strengths are linear
        strengths = non_negative_fit(loss - eta * storage, np.full(len(w), eta))
        if not strengths.any():
            raise InputError(f"no branches give the loss factor {eta:g} over {low:g}–{high:g} Hz; take a narrower band")
        total = 1.0 + strengths.sum()
        return cls(base, [(float(g / total), float(tau)) for g, tau in zip(strengths, times, strict=True) if g > 0.0])


def with_shear(law: int, row: FloatArray, factor: float) -> FloatArray:
    """A row of the parameter table with the shear part of its energy times `factor`."""
    scaled = row.copy()
    scaled[list(_SHEAR_COLUMNS[Law(law)])] *= factor
    return scaled


def _pairs(branches: Any) -> tuple[tuple[float, float], ...]:
    try:
        pairs = [(g, tau) for g, tau in branches]
    except (TypeError, ValueError):
        raise InputError(f"branches of Viscoelastic must be pairs (g, tau), got {branches!r}") from None
    for g, tau in pairs:
        positive("relaxation time of Viscoelastic", tau, unit="s")
        if finite_number("g of Viscoelastic", g) <= 0.0:
            raise InputError(
                f"g of Viscoelastic must be > 0, got {g:g}: a branch with a negative strength gains energy"
            )
    return tuple((float(g), float(tau)) for g, tau in pairs)
