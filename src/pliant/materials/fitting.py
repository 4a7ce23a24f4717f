"""Materials from a tensile test: least-squares fits of engineering stress against engineering strain.

A strip of an incompressible material under uniaxial stretch s = 1 + strain has the engineering stress

    neo-Hookean  P = μ (s − s⁻²)
    Yeoh         P = 2 (s − s⁻²) (c1 + 2 c2 e + 3 c3 e²),   e = s² + 2/s − 3
    Ogden        P = Σ m (sᵃ⁻¹ − s^(−a/2 − 1))

Each fit minimises Σ (P(strain) − stress)², or with `relative` Σ (P(strain)/stress − 1)², which weighs small stresses as
large ones. A tensile test does not determine Poisson's ratio, which is given. Mooney–Rivlin is left out: fitted to
silicones its second coefficient is negative, and such a material fails in compression.

Reference: Ogden, Saccomandi, Sgura, Fitting hyperelastic models to experimental data, Comput. Mech. 34 (2004).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from pliant.core.checks import finite_array
from pliant.core.declared import declared
from pliant.core.errors import InputError
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray
from pliant.materials.laws import MAX_TERMS
from pliant.materials.material import Material, MooneyRivlin, NeoHookean, Yeoh, check_poisson
from pliant.materials.ogden import Ogden
from pliant.materials.ogden_fitting import EXPONENT_RANGE, fit_terms, ogden_shape

AnyMaterial = TypeVar("AnyMaterial", bound=Material)


@one_line
@dataclass(frozen=True)
class Fit(Generic[AnyMaterial]):
    """A fitted material and its error."""

    material: AnyMaterial
    rms: float
    """Root mean square of fitted minus measured stress, Pa."""
    relative_rms: float
    """`rms` over the root mean square of the measured stress."""


def uniaxial_stress(material: Material, strain: ArrayLike) -> FloatArray:
    """Engineering stress in Pa, shape (…), of the incompressible `material` at engineering strains (…), each > −1."""
    s = 1.0 + _strains(strain)
    if isinstance(material, Ogden):
        return np.asarray(sum(m * ogden_shape(s, a) for m, a in material.terms))
    if isinstance(material, Yeoh):
        shapes = _yeoh_shapes(s)
        return material.c1 * shapes[..., 0] + material.c2 * shapes[..., 1] + material.c3 * shapes[..., 2]
    if isinstance(material, MooneyRivlin):
        return 2.0 * (s - s**-2.0) * (material.c1 + material.c2 / s)
    if isinstance(material, NeoHookean):
        return material.shear_modulus * (s - s**-2.0)
    raise InputError(
        f"{type(material).__name__} has no incompressible limit at large strain; "
        "use NeoHookean, MooneyRivlin, Yeoh or Ogden"
    )


@declared
def fit_neo_hookean(
    strain: ArrayLike, stress: ArrayLike, *, density: float, poisson: float = 0.49, relative: bool = False
) -> Fit[NeoHookean]:
    """Neo-Hookean material nearest to a tensile test: engineering strain (k,), engineering stress (k,) in Pa."""
    check_poisson("fit_neo_hookean", poisson)
    strains, stresses = _data(strain, stress, coefficient_count=1)
    s = 1.0 + strains
    (mu,) = _solve((s - s**-2.0)[:, None], stresses, _weights(stresses, relative))
    material = NeoHookean(young=2.0 * mu * (1.0 + poisson), poisson=poisson, density=density)
    return _fit(material, strains, stresses)


@declared
def fit_yeoh(
    strain: ArrayLike,
    stress: ArrayLike,
    *,
    density: float,
    poisson: float = 0.49,
    terms: int = 3,
    relative: bool = False,
) -> Fit[Yeoh]:
    """Yeoh material nearest to a tensile test: engineering strain (k,), engineering stress (k,) in Pa.

    `terms` (1 to 3) is how many of c1, c2, c3 are fitted. Where the last one is negative, the stress decreases beyond
    the data: use `fit_ogden` for stretches beyond those of the test.
    """
    if terms not in (1, 2, 3):
        raise InputError(f"terms of fit_yeoh must be 1, 2 or 3, got {terms!r}")
    strains, stresses = _data(strain, stress, coefficient_count=terms)
    c = np.zeros(3)
    c[:terms] = _solve(_yeoh_shapes(1.0 + strains)[:, :terms], stresses, _weights(stresses, relative))
    material = Yeoh(c1=float(c[0]), c2=float(c[1]), c3=float(c[2]), poisson=poisson, density=density)
    return _fit(material, strains, stresses)


@declared
def fit_ogden(
    strain: ArrayLike,
    stress: ArrayLike,
    *,
    density: float,
    poisson: float = 0.49,
    terms: int = 1,
    relative: bool = False,
) -> Fit[Ogden]:
    """Ogden material nearest to a tensile test: engineering strain (k,), engineering stress (k,) in Pa.

    `terms` (1 to 6) is how many are fitted at most: one that does not lower the error is left out. Exponents are
    searched for in 1 ≤ |a| ≤ 20 (above 0 where there is one term), and m a > 0 in each term, so that the material is
    stable at any strain.
    """
    if isinstance(terms, bool) or not isinstance(terms, int) or not 1 <= terms <= MAX_TERMS:
        raise InputError(f"terms of fit_ogden must be a whole number from 1 to {MAX_TERMS}, got {terms!r}")
    strains, stresses = _data(strain, stress, coefficient_count=2 * terms)
    s, weights = 1.0 + strains, _weights(stresses, relative)
    wanted = weights * stresses

    def modulus(a: float) -> float:
        shape = weights * ogden_shape(s, a)
        return float(shape @ wanted / (shape @ shape))

    def error(a: float) -> float:
        return float(np.sum((modulus(a) * weights * ogden_shape(s, a) - wanted) ** 2) / np.sum(wanted**2))

    if terms == 1:
        a = _minimise(error, EXPONENT_RANGE)
        return _fit(Ogden(m=modulus(a), a=a, poisson=poisson, density=density), strains, stresses)
    moduli, exponents = zip(*fit_terms(s, stresses, weights, terms), strict=True)
    return _fit(Ogden(m=moduli, a=exponents, poisson=poisson, density=density), strains, stresses)


def _yeoh_shapes(s: FloatArray) -> FloatArray:
    """Stress per unit of c1, c2, c3, shape (…, 3)."""
    e = s * s + 2.0 / s - 3.0
    slope = 2.0 * (s - s**-2.0)
    return np.stack([slope, 2.0 * slope * e, 3.0 * slope * e * e], axis=-1)


def _minimise(error: Callable[[float], float], bounds: tuple[float, float]) -> float:
    """Minimum of `error` between the bounds: the best of a grid, then refined between its neighbours."""
    from scipy.optimize import minimize_scalar  # a third of a second to import, and only fits need it

    grid = np.linspace(*bounds, 77)  # steps of 0.25 in the exponent: narrower than a minimum
    best = int(np.argmin([error(a) for a in grid]))
    bracket = (grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)])
    return float(minimize_scalar(error, bounds=bracket, method="bounded", options={"xatol": 1e-10}).x)


def _solve(columns: FloatArray, stresses: FloatArray, weights: FloatArray) -> FloatArray:
    """Weighted least squares; columns have unit length, as powers of (Ī₁ − 3) differ by orders of magnitude."""
    weighted = weights[:, None] * columns
    scale = np.linalg.norm(weighted, axis=0)
    return np.asarray(np.linalg.lstsq(weighted / scale, weights * stresses, rcond=None)[0] / scale)


def _weights(stresses: FloatArray, relative: bool) -> FloatArray:
    """Weight of the error of each point: one, or one over its stress for relative errors."""
    if not relative:
        return np.ones_like(stresses)
    if (stresses == 0.0).any():
        raise InputError("a stress of 0 has no relative error: leave that point out, or fit with relative=False")
    return 1.0 / stresses


def _fit(material: AnyMaterial, strains: FloatArray, stresses: FloatArray) -> Fit[AnyMaterial]:
    rms = float(np.sqrt(np.mean((uniaxial_stress(material, strains) - stresses) ** 2)))
    return Fit(material=material, rms=rms, relative_rms=rms / float(np.sqrt(np.mean(stresses**2))))


def _strains(strain: ArrayLike) -> FloatArray:
    strains = finite_array("strain", strain)
    if (strains <= -1.0).any():
        raise InputError(f"strain must be > −1 (engineering strain, 0.5 for 50 %), its minimum is {strains.min():g}")
    return strains


def _data(strain: ArrayLike, stress: ArrayLike, *, coefficient_count: int) -> tuple[FloatArray, FloatArray]:
    strains = finite_array("strain", _strains(strain), shape=(None,))
    stresses = finite_array("stress", stress, shape=(len(strains),))
    distinct = np.unique(strains[strains != 0.0])
    if len(distinct) < coefficient_count:
        raise InputError(
            f"strain has {len(distinct)} distinct values other than 0, but {coefficient_count} coefficients are to be "
            "fitted: add points, or fit fewer coefficients"
        )
    if strains @ stresses <= 0.0:
        raise InputError("stress is opposite to strain or zero: tension is positive in both, and stress is in Pa")
    return strains, stresses
