"""Materials of the user interface: frozen, validated, with energy, stress and tangent of F."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pliant.core.checks import finite_array, finite_number, positive
from pliant.core.errors import InputError
from pliant.core.types import FloatArray
from pliant.materials.laws import PARAMETER_COUNT, VOLUMETRIC, Law, Part
from pliant.materials.response import Tangent, evaluate
from pliant.materials.volumetric import Volumetric, VolumetricEnergy, volumetric_code


@dataclass(frozen=True, kw_only=True)
class Material:
    """An isotropic elastic material: an energy density ψ(F) in J/m³ and a density in kg/m³.

    Stress is the first Piola–Kirchhoff stress P = ∂ψ/∂F in Pa; the tangent is C = ∂P/∂F in Pa.
    """

    law: ClassVar[Law]
    density: float
    """Mass per volume of the undeformed material, kg/m³."""

    def __post_init__(self) -> None:
        positive(f"density of {type(self).__name__}", self.density, unit="kg/m³")
        self._validate()

    def _validate(self) -> None:
        raise NotImplementedError

    @property
    def parameters(self) -> FloatArray:
        """Row (`PARAMETER_COUNT`,) of the kernels' parameter table, see `Law`."""
        raise NotImplementedError

    @property
    def shear_modulus(self) -> float:
        """Shear modulus μ at small strain, Pa."""
        raise NotImplementedError

    @property
    def bulk_modulus(self) -> float:
        """Bulk modulus κ at small strain, Pa."""
        raise NotImplementedError

    @property
    def shear_part_bulk_modulus(self) -> float:
        """What the shear part of its energy contributes to κ, Pa; the rest is of the volume part."""
        return 2.0 / 3.0 * self.shear_modulus

    @property
    def small_strain_young(self) -> float:
        """Young's modulus at small strain, Pa."""
        mu, kappa = self.shear_modulus, self.bulk_modulus
        return 9.0 * kappa * mu / (3.0 * kappa + mu)

    @property
    def small_strain_poisson(self) -> float:
        """Poisson's ratio at small strain."""
        mu, kappa = self.shear_modulus, self.bulk_modulus
        return (3.0 * kappa - 2.0 * mu) / (2.0 * (3.0 * kappa + mu))

    @property
    def relaxation(self) -> Any:
        """How its shear stress fades, see `materials.viscoelastic`; None of an elastic material."""
        return None

    @property
    def softening(self) -> Any:
        """Coefficients of its softening, see `materials.mullins`; None of a material that does not soften."""
        return None

    def energy(self, F: FloatArray, *, part: Part = Part.TOTAL) -> FloatArray:
        """Energy density in J/m³, shape (…), at deformation gradients F (…, 3, 3); inf where it is undefined."""
        return self._evaluate(F, part, Tangent.EXACT)[0]

    def stress(self, F: FloatArray, *, part: Part = Part.TOTAL) -> FloatArray:
        """First Piola–Kirchhoff stress in Pa, shape (…, 3, 3), at deformation gradients F (…, 3, 3)."""
        return self._evaluate(F, part, Tangent.EXACT)[1]

    def tangent(self, F: FloatArray, *, part: Part = Part.TOTAL, kind: Tangent = Tangent.EXACT) -> FloatArray:
        """∂P/∂F in Pa, shape (…, 3, 3, 3, 3); `kind` PROJECTED clips its negative eigenvalues."""
        return self._evaluate(F, part, kind)[2]

    def _evaluate(self, F: FloatArray, part: Part, kind: Tangent) -> tuple[FloatArray, FloatArray, FloatArray]:
        F = finite_array("deformation gradient F", F)
        if F.shape[-2:] != (3, 3):
            raise InputError(f"deformation gradient F must have shape (…, 3, 3), got {F.shape}")
        shape = F.shape[:-2]
        flat = F.reshape(-1, 3, 3)
        count = len(flat)
        psi, P, C = np.empty(count), np.empty((count, 3, 3)), np.empty((count, 3, 3, 3, 3))
        evaluate(int(self.law), int(part), self.parameters, int(kind), flat, psi, P, C)
        return psi.reshape(shape), P.reshape(*shape, 3, 3), C.reshape(*shape, 3, 3, 3, 3)


def parameter_row(*values: float, volumetric: VolumetricEnergy = VolumetricEnergy.HYPERBOLIC) -> FloatArray:
    """A row of the parameter table that starts with `values`, with the code of a volumetric energy."""
    row = np.zeros(PARAMETER_COUNT)
    row[: len(values)] = values
    row[VOLUMETRIC] = volumetric
    return row


@dataclass(frozen=True, kw_only=True)
class _LameMaterial(Material):
    """A material given by Young's modulus and Poisson's ratio."""

    young: float
    """Young's modulus, Pa."""
    poisson: float
    """Poisson's ratio, −1 < ν < 0.5."""

    def _validate(self) -> None:
        positive(f"young of {type(self).__name__}", self.young, unit="Pa")
        check_poisson(type(self).__name__, self.poisson)

    @property
    def shear_modulus(self) -> float:
        return self.young / (2.0 * (1.0 + self.poisson))

    @property
    def bulk_modulus(self) -> float:
        return self.young / (3.0 * (1.0 - 2.0 * self.poisson))

    @property
    def parameters(self) -> FloatArray:
        mu = self.shear_modulus
        return parameter_row(mu, self.bulk_modulus - 2.0 * mu / 3.0)


class Linear(_LameMaterial):
    """Small-strain linear elasticity, ψ = μ ε:ε + λ/2 tr(ε)², ε = sym(F) − I. Valid for small rotations only.

    Its energy is quadratic in the positions: for tests of conservation and superposition.
    """

    law = Law.LINEAR


class Corotated(_LameMaterial):
    """Corotated linear elasticity, ψ = μ‖F − R‖² + λ/2 tr(RᵀF − I)², R the rotation of F.

    Large rotations, small strain.
    """

    law = Law.COROTATED


class StVenantKirchhoff(_LameMaterial):
    """St Venant–Kirchhoff, ψ = μ E:E + λ/2 tr(E)², E = (FᵀF − I)/2. Softens and fails under strong compression."""

    law = Law.ST_VENANT_KIRCHHOFF


@dataclass(frozen=True, kw_only=True)
class NeoHookean(_LameMaterial):
    """Compressible neo-Hookean, ψ = μ/2 (tr FᵀF − 3) − μ ln J + λ/2 (ln J)²."""

    volumetric: Volumetric = "logarithmic"
    """Energy of volume in place of λ/2 (ln J)², with the same λ at small strain: see `materials.volumetric`."""
    law = Law.NEO_HOOKEAN

    def _validate(self) -> None:
        super()._validate()
        volumetric_code(type(self).__name__, self.volumetric)

    @property
    def parameters(self) -> FloatArray:
        """Row (μ, λ, 0, 0, 0, code of the volumetric energy) of the kernels' parameter table."""
        row = super().parameters
        row[VOLUMETRIC] = volumetric_code(type(self).__name__, self.volumetric)
        return row


@dataclass(frozen=True, kw_only=True)
class SplitMaterial(Material):
    """An energy of shape plus a volumetric energy U(J); its κ follows from Poisson's ratio unless given."""

    _units: ClassVar[dict[str, str]]  # unit of each coefficient
    poisson: float = 0.49
    """Poisson's ratio at small strain, used where `bulk` is not given."""
    bulk: float | None = None
    """Bulk modulus κ, Pa."""
    volumetric: Volumetric = "hyperbolic"
    """Energy of volume U(J). "hyperbolic": κ/8 (J − 1/J)²; "logarithmic": κ/2 (ln J)²; "simo": κ/4 (J² − 1 − 2 ln J);
    "miehe": κ (J − 1 − ln J); "liu": κ (J ln J − J + 1); "quadratic": κ/2 (J − 1)², which has no barrier at J → 0 and
    lets a strongly compressed body collapse.
    """

    def _validate(self) -> None:
        name = type(self).__name__
        volumetric_code(name, self.volumetric)
        check_poisson(name, self.poisson)
        if self.bulk is not None:
            positive(f"bulk of {name}", self.bulk, unit="Pa")
        for coefficient, unit in self._units.items():
            finite_number(f"{coefficient} of {name}", getattr(self, coefficient), unit=unit)
        if not self.shear_modulus > 0.0:
            raise InputError(
                f"{name} has the shear modulus {self.shear_modulus:g} Pa at small strain; it must be > 0: "
                "check the signs of its coefficients"
            )

    @property
    def bulk_modulus(self) -> float:
        """Bulk modulus κ at small strain, Pa."""
        if self.bulk is not None:
            return self.bulk
        return 2.0 * self.shear_modulus * (1.0 + self.poisson) / (3.0 * (1.0 - 2.0 * self.poisson))

    @property
    def shear_part_bulk_modulus(self) -> float:
        """0: the shear part does not see a change of volume."""
        return 0.0

    def _row(self, *values: float) -> FloatArray:
        """A row of the parameter table that starts with `values`."""
        return parameter_row(*values, volumetric=volumetric_code(type(self).__name__, self.volumetric))


@dataclass(frozen=True, kw_only=True)
class MooneyRivlin(SplitMaterial):
    """Mooney–Rivlin, ψ = c1 (Ī₁ − 3) + c2 (Ī₂ − 3) + U(J). Shear modulus 2 (c1 + c2)."""

    c1: float
    """Coefficient of Ī₁, Pa."""
    c2: float
    """Coefficient of Ī₂, Pa."""
    law = Law.YEOH
    _units: ClassVar = {"c1": "Pa", "c2": "Pa"}

    @property
    def shear_modulus(self) -> float:
        """Shear modulus 2 (c1 + c2) at small strain, Pa."""
        return 2.0 * (self.c1 + self.c2)

    @property
    def parameters(self) -> FloatArray:
        """Row (κ, c1, 0, 0, c2, code of U) of the kernels' parameter table."""
        return self._row(self.bulk_modulus, self.c1, 0.0, 0.0, self.c2)


@dataclass(frozen=True, kw_only=True)
class Yeoh(SplitMaterial):
    """Yeoh, ψ = c1 (Ī₁ − 3) + c2 (Ī₁ − 3)² + c3 (Ī₁ − 3)³ + U(J). Shear modulus 2 c1."""

    c1: float
    """Coefficient of (Ī₁ − 3), Pa."""
    c2: float = 0.0
    """Coefficient of (Ī₁ − 3)², Pa."""
    c3: float = 0.0
    """Coefficient of (Ī₁ − 3)³, Pa."""
    law = Law.YEOH
    _units: ClassVar = {"c1": "Pa", "c2": "Pa", "c3": "Pa"}

    @property
    def shear_modulus(self) -> float:
        """Shear modulus 2 c1 at small strain, Pa."""
        return 2.0 * self.c1

    @property
    def parameters(self) -> FloatArray:
        """Row (κ, c1, c2, c3, 0, code of U) of the kernels' parameter table."""
        return self._row(self.bulk_modulus, self.c1, self.c2, self.c3, 0.0)


def check_poisson(name: str, poisson: float) -> None:
    """Raise unless −1 < ν < 0.5."""
    value = finite_number(f"poisson of {name}", poisson)
    if value >= 0.5:
        raise InputError(
            f"poisson of {name} is {value:g}, but must be < 0.5: at 0.5 the material is incompressible and its bulk "
            "modulus infinite. Use 0.49 or 0.499; the default element does not lock there"
        )
    if value <= -1.0:
        raise InputError(f"poisson of {name} is {value:g}, but must be > −1: the shear modulus would not be positive")
