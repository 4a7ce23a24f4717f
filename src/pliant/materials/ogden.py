"""Ogden materials of one or several terms, isochoric or coupled with the change of volume."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, ClassVar

from pliant.core.checks import finite_number, positive
from pliant.core.errors import InputError
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray
from pliant.materials.laws import MAX_TERMS, TERM_WIDTH, TERMS, Law
from pliant.materials.material import SplitMaterial
from pliant.materials.volumetric import Volumetric

Values = float | Sequence[float]


@dataclass(frozen=True, kw_only=True)
class _Terms(SplitMaterial):
    """Terms Σ (m/a) (…): `m` and `a` are numbers, or one number for each of up to six terms."""

    m: Values
    """Modulus of each term, Pa; of the sign of its `a`."""
    a: Values
    """Exponent of each term."""
    _units: ClassVar = {}

    def _validate(self) -> None:
        name = type(self).__name__
        for label, unit in (("m", "Pa"), ("a", "")):
            object.__setattr__(self, label, _checked(f"{label} of {name}", getattr(self, label), unit))
        counts = len(_tuple(self.m)), len(_tuple(self.a))
        if counts[0] != counts[1] or counts[0] > MAX_TERMS:
            raise InputError(
                f"{name} has {counts[0]} moduli m and {counts[1]} exponents a; give one of each for every term, at "
                f"most {MAX_TERMS} terms"
            )
        if 0.0 in _tuple(self.a):
            raise InputError(
                f"a of {name} must not be 0; use the exponent of the fit (2 gives neo-Hookean shape energy)"
            )
        super()._validate()

    @property
    def terms(self) -> tuple[tuple[float, float], ...]:
        """Pairs (m, a) of the terms."""
        return tuple(zip(_tuple(self.m), _tuple(self.a), strict=True))

    @property
    def shear_modulus(self) -> float:
        """Shear modulus Σ m a / 2 at small strain, Pa."""
        return sum(0.5 * m * a for m, a in self.terms)

    def _terms_row(self, modulus: float, betas: Sequence[float]) -> FloatArray:
        """Row (modulus of U, count, 0, 0, 0, code of U, then m, a, β and the m of the volume part for each term)."""
        row = self._row(modulus, float(len(self.terms)))
        for k, ((m, a), beta) in enumerate(zip(self.terms, betas, strict=True)):
            column = TERMS + TERM_WIDTH * k
            row[column : column + TERM_WIDTH] = m, a, beta, m if beta else 0.0
        return row


@one_line
@dataclass(frozen=True, kw_only=True)
class Ogden(_Terms):
    """Ogden, ψ = Σ (m/a) (s̄₁ᵃ + s̄₂ᵃ + s̄₃ᵃ − 3) + U(J), s̄ = J^(−1/3) s. Shear modulus Σ m a / 2.

    One term: ``Ogden(m=…, a=…)``; several: ``Ogden(m=(m₁, m₂, …), a=(a₁, a₂, …))``. In uniaxial tension of the
    incompressible material P = Σ m (sᵃ⁻¹ − s^(−a/2 − 1)). Other programs write 2μ/a (Abaqus) or c/a (FEBio) for m.
    """

    law = Law.OGDEN

    @property
    def parameters(self) -> FloatArray:
        """Row of the kernels' parameter table, see `Law`."""
        return self._terms_row(self.bulk_modulus, [0.0] * len(self.terms))


@one_line
@dataclass(frozen=True, kw_only=True)
class CoupledOgden(_Terms):
    """Ogden in the stretches themselves ("unconstrained"): ψ = Σ (m/a) (s₁ᵃ + s₂ᵃ + s₃ᵃ − 3 − a ln J) + U(J).

    The modulus of U is Lamé's λ = κ − 2μ/3, so that Poisson's ratio at small strain is `poisson`. With `beta`, one
    number or one for each term, the terms are (m/a) (s₁ᵃ + s₂ᵃ + s₃ᵃ − 3 + (J^(−aβ) − 1)/β) without U: the energy of
    elastomeric foams (Hill 1978, Storåkers 1986), β = ν/(1 − 2ν). Shear modulus Σ m a / 2.

    FEBio's "Ogden unconstrained" with c and cp: m = c/a, ``volumetric="quadratic"``, ``bulk = cp + Σ c/3``. Abaqus'
    hyperfoam with μ, α and β: m = 2μ/α.
    """

    beta: Values | None = None
    """β of the terms, each > −1/3; the bulk modulus is then Σ m a (1/3 + β)."""
    volumetric: Volumetric = "logarithmic"
    """Energy of volume U(J) of the modulus λ, see `materials.volumetric`; unused with `beta`."""
    law = Law.COUPLED_OGDEN

    def _validate(self) -> None:
        super()._validate()
        if self.beta is None:
            _check_lame("CoupledOgden", self._lame)
            return
        if self.bulk is not None:
            raise InputError("CoupledOgden takes beta or bulk: with beta the bulk modulus is Σ m a (1/3 + β)")
        count = len(self.terms)
        given = _tuple(_checked("beta of CoupledOgden", self.beta, ""))
        betas = given * count if len(given) == 1 else given
        if len(betas) != count:
            raise InputError(f"CoupledOgden has {count} terms and {len(betas)} values of beta: give one for each term")
        for beta in betas:
            if beta <= -1.0 / 3.0:
                raise InputError(f"beta of CoupledOgden is {beta:g}, but must be > −1/3 for a positive bulk modulus")
        object.__setattr__(self, "beta", betas)
        positive("bulk modulus of CoupledOgden", self.bulk_modulus, unit="Pa")

    @property
    def bulk_modulus(self) -> float:
        """Bulk modulus κ at small strain, Pa."""
        if self.beta is None:
            return super().bulk_modulus
        return sum(m * a * (1.0 / 3.0 + beta) for (m, a), beta in zip(self.terms, _tuple(self.beta), strict=True))

    @property
    def shear_part_bulk_modulus(self) -> float:
        """2μ/3, what Σ (m/a) (… − a ln J) contributes to κ, Pa."""
        return 2.0 / 3.0 * self.shear_modulus

    @property
    def _lame(self) -> float:
        return self.bulk_modulus - 2.0 / 3.0 * self.shear_modulus

    @property
    def parameters(self) -> FloatArray:
        """Row of the kernels' parameter table, see `Law`."""
        if self.beta is None:
            return self._terms_row(self._lame, [0.0] * len(self.terms))
        return self._terms_row(0.0, _tuple(self.beta))


@dataclass(frozen=True, kw_only=True)
class CoupledMooneyRivlin(SplitMaterial):
    """Compressible Mooney–Rivlin in the invariants themselves,

        ψ = c1 (I₁ − 3) + c2 (I₂ − 3) − 2 (c1 + 2 c2) ln J + U(J).

    Shear modulus 2 (c1 + c2). The modulus of U is λ − 4 c2, so that Poisson's ratio at small strain is `poisson`.
    FEBio's "coupled Mooney-Rivlin" with c1, c2, k: ``bulk = k + 4/3 c1 + 16/3 c2``.
    """

    c1: float
    """Coefficient of I₁, Pa."""
    c2: float
    """Coefficient of I₂, Pa."""
    volumetric: Volumetric = "logarithmic"
    """Energy of volume U(J) of the modulus λ − 4 c2, see `materials.volumetric`."""
    law = Law.COUPLED_MOONEY_RIVLIN
    _units: ClassVar = {"c1": "Pa", "c2": "Pa"}

    def _validate(self) -> None:
        super()._validate()
        _check_lame("CoupledMooneyRivlin", self.parameters[0])

    @property
    def shear_modulus(self) -> float:
        """Shear modulus 2 (c1 + c2) at small strain, Pa."""
        return 2.0 * (self.c1 + self.c2)

    @property
    def shear_part_bulk_modulus(self) -> float:
        """What c1 (I₁ − 3) + c2 (I₂ − 3) − 2 (c1 + 2 c2) ln J contributes to κ, Pa."""
        return 2.0 / 3.0 * self.shear_modulus + 4.0 * self.c2

    @property
    def parameters(self) -> FloatArray:
        """Row (modulus of U, c1, c2, 0, 0, code of U) of the kernels' parameter table."""
        return self._row(self.bulk_modulus - self.shear_part_bulk_modulus, self.c1, self.c2)


def _checked(name: str, given: Any, unit: str) -> Values:
    """A finite number, or a tuple of at least one."""
    if not hasattr(given, "__iter__"):
        return finite_number(name, given, unit=unit)
    values = (
        () if isinstance(given, (str, bytes, Set, Mapping)) else tuple(finite_number(name, x, unit=unit) for x in given)
    )
    if not values:
        raise InputError(f"{name} must be a number or one number for each term, got {given!r}")
    return values


def _tuple(values: Values | None) -> tuple[float, ...]:
    return tuple(values) if isinstance(values, Sequence) else (values,)  # type: ignore[return-value]


def _check_lame(name: str, modulus: float) -> None:
    """Raise where U would have a negative modulus and give way as the volume changes."""
    if modulus < 0.0:
        raise InputError(
            f"the volumetric energy of {name} would have the modulus {modulus:g} Pa; it must be ≥ 0: "
            "raise poisson or bulk"
        )
