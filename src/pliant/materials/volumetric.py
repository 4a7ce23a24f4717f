"""Volumetric energies U(J) of a bulk modulus κ, J = det F: U, U′ and U″, for use inside kernels.

All have U(1) = U′(1) = 0 and U″(1) = κ: at small strain they are the same material.

| name | U/κ | at J → 0 | convex |
|---|---|---|---|
| hyperbolic | (J − 1/J)²/8 = sinh²(ln J)/2 | grows as 1/J² | everywhere |
| logarithmic | (ln J)²/2 | grows as (ln J)² | up to J = e |
| simo | (J² − 1 − 2 ln J)/4 | grows as −ln J | everywhere |
| miehe | J − 1 − ln J | grows as −ln J | everywhere |
| liu | J ln J − J + 1 | stays finite, its pressure grows as −ln J | everywhere |
| quadratic | (J − 1)²/2 | stays finite: no barrier | everywhere |

An isochoric law whose U stays finite collapses under strong compression: beyond a limit load the body gives up its
volume at the cost κ/2 rather than its shape. The hyperbolic energy, the default, equals the logarithmic one up to
third order in J − 1, and has a barrier that is stronger than what any isochoric energy in use gains.

References: J. C. Simo, R. L. Taylor, K. S. Pister, Variational and projection methods for the volume constraint in
finite deformation elasto-plasticity, CMAME 51 (1985); S. Hartmann, P. Neff, Polyconvexity of generalized
polynomial-type hyperelastic strain energy functions for near-incompressibility, IJSS 40 (2003); C. Miehe, Aspects of
the formulation and finite element implementation of large strain isotropic elasticity, IJNME 37 (1994); C. H. Liu,
G. Hofstetter, H. A. Mang, 3D finite element analysis of rubber-like materials at finite strains, Eng. Comput. 11
(1994).
"""

from __future__ import annotations

from enum import IntEnum
from math import inf, log
from typing import Literal, get_args

from pliant.core.errors import InputError
from pliant.core.kernels import inline

Volumetric = Literal["hyperbolic", "logarithmic", "simo", "quadratic", "miehe", "liu"]


class VolumetricEnergy(IntEnum):
    """Code of a volumetric energy inside kernels."""

    HYPERBOLIC = 0
    LOGARITHMIC = 1
    SIMO = 2
    QUADRATIC = 3
    MIEHE = 4
    LIU = 5


HYPERBOLIC = int(VolumetricEnergy.HYPERBOLIC)
LOGARITHMIC = int(VolumetricEnergy.LOGARITHMIC)
SIMO = int(VolumetricEnergy.SIMO)
QUADRATIC = int(VolumetricEnergy.QUADRATIC)
MIEHE = int(VolumetricEnergy.MIEHE)
LIU = int(VolumetricEnergy.LIU)


def volumetric_code(name: str, volumetric: str) -> VolumetricEnergy:
    """The code of the energy `volumetric` of the material `name`."""
    if not isinstance(volumetric, str) or volumetric not in get_args(Volumetric):
        known = ", ".join(repr(kind) for kind in get_args(Volumetric))
        raise InputError(f"volumetric of {name} must be one of {known}, got {volumetric!r}")
    return VolumetricEnergy[volumetric.upper()]


@inline
def volumetric_energy(kind, kappa, J):
    """U, U′ and U″ at J; U is infinite and the derivatives are zero where it is undefined."""
    if kind == QUADRATIC:
        e = J - 1.0
        return 0.5 * kappa * e * e, kappa * e, kappa
    if J <= 0.0:
        return inf, 0.0, 0.0
    if kind == LOGARITHMIC:
        ln = log(J)
        return 0.5 * kappa * ln * ln, kappa * ln / J, kappa * (1.0 - ln) / (J * J)
    if kind == SIMO:
        return (
            0.25 * kappa * (J * J - 1.0 - 2.0 * log(J)),
            0.5 * kappa * (J - 1.0 / J),
            0.5 * kappa * (1.0 + 1.0 / (J * J)),
        )
    if kind == MIEHE:
        return kappa * (J - 1.0 - log(J)), kappa * (1.0 - 1.0 / J), kappa / (J * J)
    if kind == LIU:
        ln = log(J)
        return kappa * (J * ln - J + 1.0), kappa * ln, kappa / J
    r = 1.0 / (J * J)
    e = J - 1.0 / J
    return 0.125 * kappa * e * e, 0.25 * kappa * e * (1.0 + r), 0.25 * kappa * (1.0 + 3.0 * r * r)
