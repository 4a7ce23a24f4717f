"""Isotropic energies as functions of the principal stretches: ψ, ∂ψ/∂sᵢ and ∂²ψ/∂sᵢ∂sⱼ, for use inside kernels.

The energy of an isotropic material is a symmetric function ψ(s₁, s₂, s₃) of the signed singular values of the
deformation gradient F; `materials.response` derives stress and tangent. Each law splits additively,

    ψ = ψ_shear + ψ_volume

where ψ_volume contains the terms that grow without bound as ν → ½ (λ or κ). Elements that resist locking evaluate the
two parts on different smoothing domains (`models.volume.points`); plain elements evaluate the sum.

Isochoric laws rest on one function of the logarithmic stretches xᵢ = ln sᵢ, x̄ᵢ = xᵢ − (x₁+x₂+x₃)/3:

    Φ_a = Σ exp(a x̄ᵢ)          Ī₁ = Φ₂,  Ī₂ = Φ₋₂,  Ogden: Φ_a

Coupled laws take the stretches themselves, and a term in ln J that leaves the undeformed body free of stress. What they
have beyond the logarithm in J belongs to ψ_volume.

References: Bonet & Wood, Nonlinear Continuum Mechanics for Finite Element Analysis (2008), ch. 6; Ogden (1972).
"""

from __future__ import annotations

from enum import IntEnum
from math import exp, inf, log

from pliant.core.kernels import inline
from pliant.materials.volumetric import LOGARITHMIC, volumetric_energy


class Law(IntEnum):
    """Code of an energy inside kernels, with its parameters.

    The last parameter of neo-Hookean and isochoric laws is the code of their volumetric energy
    (`materials.volumetric`).
    """

    LINEAR = 0  # mu, lam: small strain, not frame-invariant
    COROTATED = 1  # mu, lam
    ST_VENANT_KIRCHHOFF = 2  # mu, lam
    NEO_HOOKEAN = 3  # mu, lam; the volumetric energy has the modulus lam
    YEOH = 4  # kappa, c1, c2, c3 (with Mooney–Rivlin's c2 as the fourth: d)
    OGDEN = 5  # kappa, count of terms; from column TERMS on, four numbers for each term: m, a, 0, 0
    COUPLED_OGDEN = 6  # modulus of U, count of terms; m, a, beta, n for each term, n the m of its energy of volume
    COUPLED_MOONEY_RIVLIN = 7  # modulus of U, c1, c2


class Part(IntEnum):
    """Which part of the energy a point evaluates."""

    TOTAL = 0
    SHEAR = 1
    VOLUME = 2


LINEAR = int(Law.LINEAR)
COROTATED = int(Law.COROTATED)
ST_VENANT_KIRCHHOFF = int(Law.ST_VENANT_KIRCHHOFF)
NEO_HOOKEAN = int(Law.NEO_HOOKEAN)
YEOH = int(Law.YEOH)
OGDEN = int(Law.OGDEN)
COUPLED_OGDEN = int(Law.COUPLED_OGDEN)
COUPLED_MOONEY_RIVLIN = int(Law.COUPLED_MOONEY_RIVLIN)
SHEAR = int(Part.SHEAR)
VOLUME = int(Part.VOLUME)

VOLUMETRIC = 5
"""Column of the parameter table with the code of the volumetric energy."""

TERMS = 6
"""Column of the parameter table where the terms of Ogden laws begin."""

TERM_WIDTH = 4
"""Columns of a term of an Ogden law."""

MAX_TERMS = 6
"""Most terms of an Ogden law; fits in use have at most six."""

PARAMETER_COUNT = TERMS + TERM_WIDTH * MAX_TERMS
"""Length of a row of the parameter table handed to kernels."""

LINEAR_LAWS = (LINEAR, COROTATED)
"""Laws whose warped tangent has a closed form in rotated gradients (`models.volume.corotated`)."""


@inline
def isochoric_power(a, s0, s1, s2):
    """Φ_a with its first and second derivatives in the stretches: (Φ, Φ₀ Φ₁ Φ₂, Φ₀₀ Φ₁₁ Φ₂₂ Φ₀₁ Φ₀₂ Φ₁₂)."""
    x0 = log(s0)
    x1 = log(s1)
    x2 = log(s2)
    mean = (x0 + x1 + x2) / 3.0
    e0 = exp(a * (x0 - mean))
    e1 = exp(a * (x1 - mean))
    e2 = exp(a * (x2 - mean))
    total = e0 + e1 + e2
    d0 = a * (e0 - total / 3.0)
    d1 = a * (e1 - total / 3.0)
    d2 = a * (e2 - total / 3.0)
    aa = a * a
    h00 = (aa * (e0 / 3.0 + total / 9.0) - d0) / (s0 * s0)
    h11 = (aa * (e1 / 3.0 + total / 9.0) - d1) / (s1 * s1)
    h22 = (aa * (e2 / 3.0 + total / 9.0) - d2) / (s2 * s2)
    h01 = aa * (total / 9.0 - (e0 + e1) / 3.0) / (s0 * s1)
    h02 = aa * (total / 9.0 - (e0 + e2) / 3.0) / (s0 * s2)
    h12 = aa * (total / 9.0 - (e1 + e2) / 3.0) / (s1 * s2)
    return total, d0 / s0, d1 / s1, d2 / s2, h00, h11, h22, h01, h02, h12


@inline
def coupled_power(a, s0, s1, s2):
    """Σ sᵢᵃ − 3 − a ln J, which is free of stress at sᵢ = 1, with its derivatives in the order of `isochoric_power`."""
    e0, e1, e2 = s0**a, s1**a, s2**a
    return (
        e0 + e1 + e2 - a * log(s0 * s1 * s2),
        a * (e0 - 1.0) / s0, a * (e1 - 1.0) / s1, a * (e2 - 1.0) / s2,
        a * ((a - 1.0) * e0 + 1.0) / (s0 * s0),
        a * ((a - 1.0) * e1 + 1.0) / (s1 * s1),
        a * ((a - 1.0) * e2 + 1.0) / (s2 * s2),
        0.0, 0.0, 0.0,
    )  # fmt: skip


@inline
def volume_response(law, p, J):
    """U, U′ and U″ of the volume part of a hyperelastic law at J; U is infinite where it is undefined.

    A term of the coupled Ogden law with β has (n/a) ((J^(−aβ) − 1)/β + a ln J), n the m of the term.
    """
    u, d, h = volumetric_energy(int(p[VOLUMETRIC]), p[1] if law == NEO_HOOKEAN else p[0], J)
    if law == COUPLED_OGDEN:
        for k in range(int(p[1])):
            column = TERMS + TERM_WIDTH * k
            a, beta, n = p[column + 1], p[column + 2], p[column + 3]
            if n == 0.0:
                continue
            if J <= 0.0:
                return inf, 0.0, 0.0
            power = J ** (-a * beta)
            u += n / a * ((power - 1.0) / beta + a * log(J))
            d += n * (1.0 - power) / J
            h += n * ((a * beta + 1.0) * power - 1.0) / (J * J)
    return u, d, h


@inline
def through_volume(u, p, h, s0, s1, s2):
    """An energy u of J with its derivatives p = u′ and h = u″, in the order of `isochoric_power`."""
    j0 = s1 * s2
    j1 = s0 * s2
    j2 = s0 * s1
    return (
        u,
        p * j0, p * j1, p * j2,
        h * j0 * j0, h * j1 * j1, h * j2 * j2,
        h * j0 * j1 + p * s2, h * j0 * j2 + p * s1, h * j1 * j2 + p * s0,
    )  # fmt: skip


@inline
def _corotated(mu, lam, s0, s1, s2):
    t = s0 + s1 + s2 - 3.0
    psi = mu * ((s0 - 1.0) ** 2 + (s1 - 1.0) ** 2 + (s2 - 1.0) ** 2) + 0.5 * lam * t * t
    h = 2.0 * mu + lam
    return (
        psi,
        2.0 * mu * (s0 - 1.0) + lam * t, 2.0 * mu * (s1 - 1.0) + lam * t, 2.0 * mu * (s2 - 1.0) + lam * t,
        h, h, h,
        lam, lam, lam,
    )  # fmt: skip


@inline
def _st_venant_kirchhoff(mu, lam, s0, s1, s2):
    e0 = 0.5 * (s0 * s0 - 1.0)
    e1 = 0.5 * (s1 * s1 - 1.0)
    e2 = 0.5 * (s2 * s2 - 1.0)
    t = e0 + e1 + e2
    return (
        mu * (e0 * e0 + e1 * e1 + e2 * e2) + 0.5 * lam * t * t,
        s0 * (2.0 * mu * e0 + lam * t), s1 * (2.0 * mu * e1 + lam * t), s2 * (2.0 * mu * e2 + lam * t),
        2.0 * mu * (e0 + s0 * s0) + lam * (t + s0 * s0),
        2.0 * mu * (e1 + s1 * s1) + lam * (t + s1 * s1),
        2.0 * mu * (e2 + s2 * s2) + lam * (t + s2 * s2),
        lam * s0 * s1, lam * s0 * s2, lam * s1 * s2,
    )  # fmt: skip


@inline
def _neo_hookean(mu, lam, s0, s1, s2):
    lj = log(s0 * s1 * s2)
    p = lam * lj - mu
    q = mu + lam - lam * lj
    return (
        0.5 * mu * (s0 * s0 + s1 * s1 + s2 * s2 - 3.0) - mu * lj + 0.5 * lam * lj * lj,
        mu * s0 + p / s0, mu * s1 + p / s1, mu * s2 + p / s2,
        mu + q / (s0 * s0), mu + q / (s1 * s1), mu + q / (s2 * s2),
        lam / (s0 * s1), lam / (s0 * s2), lam / (s1 * s2),
    )  # fmt: skip


@inline
def _yeoh(c1, c2, c3, d, s0, s1, s2):
    """c1(Ī₁−3) + c2(Ī₁−3)² + c3(Ī₁−3)³ + d(Ī₂−3); Mooney–Rivlin is c2 = c3 = 0."""
    f, f0, f1, f2, f00, f11, f22, f01, f02, f12 = isochoric_power(2.0, s0, s1, s2)
    g, g0, g1, g2, g00, g11, g22, g01, g02, g12 = isochoric_power(-2.0, s0, s1, s2)
    e = f - 3.0
    p = c1 + e * (2.0 * c2 + 3.0 * c3 * e)
    q = 2.0 * c2 + 6.0 * c3 * e
    return (
        e * (c1 + e * (c2 + c3 * e)) + d * (g - 3.0),
        p * f0 + d * g0, p * f1 + d * g1, p * f2 + d * g2,
        p * f00 + q * f0 * f0 + d * g00, p * f11 + q * f1 * f1 + d * g11, p * f22 + q * f2 * f2 + d * g22,
        p * f01 + q * f0 * f1 + d * g01, p * f02 + q * f0 * f2 + d * g02, p * f12 + q * f1 * f2 + d * g12,
    )  # fmt: skip


@inline
def _ogden(coupled, p, s0, s1, s2):
    """Σ (m/a) (Φ_a − 3) over the terms; `coupled` with `coupled_power` in place of Φ_a."""
    g = g0 = g1 = g2 = g00 = g11 = g22 = g01 = g02 = g12 = 0.0
    for k in range(int(p[1])):
        a = p[TERMS + TERM_WIDTH * k + 1]
        c = p[TERMS + TERM_WIDTH * k] / a
        if coupled:
            f, f0, f1, f2, f00, f11, f22, f01, f02, f12 = coupled_power(a, s0, s1, s2)
        else:
            f, f0, f1, f2, f00, f11, f22, f01, f02, f12 = isochoric_power(a, s0, s1, s2)
        g, g0, g1, g2 = g + c * (f - 3.0), g0 + c * f0, g1 + c * f1, g2 + c * f2
        g00, g11, g22 = g00 + c * f00, g11 + c * f11, g22 + c * f22
        g01, g02, g12 = g01 + c * f01, g02 + c * f02, g12 + c * f12
    return g, g0, g1, g2, g00, g11, g22, g01, g02, g12


@inline
def _coupled_mooney_rivlin(c1, c2, s0, s1, s2):
    """c1 (I₁ − 3) + c2 (I₂ − 3) − 2 (c1 + 2 c2) ln J."""
    x0, x1, x2 = s0 * s0, s1 * s1, s2 * s2
    b0, b1, b2 = c1 + c2 * (x1 + x2), c1 + c2 * (x0 + x2), c1 + c2 * (x0 + x1)
    c = c1 + 2.0 * c2
    psi = c1 * (x0 + x1 + x2 - 3.0) + c2 * (x0 * x1 + x0 * x2 + x1 * x2 - 3.0) - 2.0 * c * log(s0 * s1 * s2)
    return (
        psi,
        2.0 * (b0 * s0 - c / s0), 2.0 * (b1 * s1 - c / s1), 2.0 * (b2 * s2 - c / s2),
        2.0 * (b0 + c / x0), 2.0 * (b1 + c / x1), 2.0 * (b2 + c / x2),
        4.0 * c2 * s0 * s1, 4.0 * c2 * s0 * s2, 4.0 * c2 * s1 * s2,
    )  # fmt: skip


@inline
def principal_response(law, part, p, s0, s1, s2):
    """ψ and its derivatives in the stretches: (ψ, ψ₀ ψ₁ ψ₂, ψ₀₀ ψ₁₁ ψ₂₂ ψ₀₁ ψ₀₂ ψ₁₂).

    `p` is a row of the parameter table. Where the law is undefined (s₁s₂s₃ ≤ 0 with a logarithm) ψ is infinite and the
    derivatives are zero: callers treat ψ = ∞ as "inverted".
    """
    a = 0.0 if part == VOLUME else 1.0
    b = 0.0 if part == SHEAR else 1.0
    if law == ST_VENANT_KIRCHHOFF:
        return _st_venant_kirchhoff(a * p[0], b * p[1], s0, s1, s2)
    if law <= COROTATED:
        return _corotated(a * p[0], b * p[1], s0, s1, s2)
    kind = int(p[VOLUMETRIC])
    if part == VOLUME and law >= YEOH:
        u, d, h = volume_response(law, p, s0 * s1 * s2)
        return through_volume(u, d, h, s0, s1, s2)
    if s0 <= 0.0 or s1 <= 0.0 or s2 <= 0.0:
        return inf, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    if law == NEO_HOOKEAN:
        if kind == LOGARITHMIC:
            return _neo_hookean(a * p[0], b * p[1], s0, s1, s2)
        f, f0, f1, f2, f00, f11, f22, f01, f02, f12 = _neo_hookean(a * p[0], 0.0, s0, s1, s2)
    elif law == YEOH:
        f, f0, f1, f2, f00, f11, f22, f01, f02, f12 = _yeoh(p[1], p[2], p[3], p[4], s0, s1, s2)
    elif law == COUPLED_MOONEY_RIVLIN:
        f, f0, f1, f2, f00, f11, f22, f01, f02, f12 = _coupled_mooney_rivlin(p[1], p[2], s0, s1, s2)
    else:
        f, f0, f1, f2, f00, f11, f22, f01, f02, f12 = _ogden(law == COUPLED_OGDEN, p, s0, s1, s2)
    u, d, h = volume_response(law, p, s0 * s1 * s2)
    u, u0, u1, u2, u00, u11, u22, u01, u02, u12 = through_volume(b * u, b * d, b * h, s0, s1, s2)
    return (
        f + u,
        f0 + u0, f1 + u1, f2 + u2,
        f00 + u00, f11 + u11, f22 + u22,
        f01 + u01, f02 + u02, f12 + u12,
    )  # fmt: skip
