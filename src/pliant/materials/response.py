"""Energy, stress and tangent at one deformation gradient F, from the principal response of its law.

With F = U diag(s) Vᵀ and hats for components in the frames U and V (X̂ = Uᵀ X V), isotropy gives

    P̂ᵢᵢ = ψᵢ,                          δP̂ᵢᵢ = Σⱼ ψᵢⱼ δF̂ⱼⱼ,
    δP̂ᵢⱼ = aᵢⱼ δF̂ᵢⱼ + bᵢⱼ δF̂ⱼᵢ  (i ≠ j),   a = (f + t)/2,  b = (f − t)/2,
    f = (ψᵢ − ψⱼ)/(sᵢ − sⱼ)  (flip mode),   t = (ψᵢ + ψⱼ)/(sᵢ + sⱼ)  (twist mode).

The eigenvalues of the 9×9 tangent are those of [ψᵢⱼ], and the f and t: projecting it to positive semi-definite is
clipping them at zero (Smith, de Goes, Kim, Analytic Eigensystems for Isotropic Distortion Energies, 2019). A tangent is
therefore carried as twelve numbers T = (ψ₀₀ ψ₁₁ ψ₂₂ ψ₀₁ ψ₀₂ ψ₁₂ | a₀₁ a₀₂ a₁₂ | b₀₁ b₀₂ b₁₂) and the two frames.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from pliant.core.kernels import inline, kernel
from pliant.materials.laws import LINEAR, SHEAR, VOLUME, principal_response
from pliant.materials.rotations import LANES, lane_svd, signed_svd


class Tangent(IntEnum):
    """Which tangent is formed.

    EXACT is the derivative of the stress. PROJECTED clips its negative eigenvalues. WARPED drops the change of rotation
    (t = 0): positive semi-definite, exact in the limit of small strain; meant for the corotated law.
    """

    EXACT = 0
    PROJECTED = 1
    WARPED = 2


PROJECTED = int(Tangent.PROJECTED)
WARPED = int(Tangent.WARPED)


@inline
def _flip_twist(mode, si, sj, gi, gj, hii, hjj, hij):
    """Eigenvalues f and t of the pair (i, j)."""
    gap = si - sj
    if abs(gap) > 1e-5 * (abs(si) + abs(sj)):  # the quotient loses 5 digits there, the limit errs by 1e-10
        f = (gi - gj) / gap
    else:  # the limit, second order in the gap
        f = 0.5 * (hii + hjj) - hij
    total = si + sj
    if abs(total) < 1e-8:  # a flattened element: keeps the quotient finite
        total = 1e-8
    t = (gi + gj) / total
    if mode == WARPED:
        t = 0.0
    if mode == PROJECTED:
        f = max(f, 0.0)
        t = max(t, 0.0)
    return f, t


@inline
def _project_symmetric(T, U, s, V):
    """Positive semi-definite part of the symmetric 3×3 matrix in T[0:6]: ½(A + |A|), |A| = V |s| Vᵀ."""
    A = np.empty((3, 3))
    A[0, 0], A[1, 1], A[2, 2] = T[0], T[1], T[2]
    A[0, 1], A[0, 2], A[1, 2] = T[3], T[4], T[5]
    A[1, 0], A[2, 0], A[2, 1] = T[3], T[4], T[5]
    signed_svd(A, U, s, V)
    w0, w1, w2 = 0.5 * abs(s[0]), 0.5 * abs(s[1]), 0.5 * abs(s[2])
    T[0] = 0.5 * T[0] + w0 * V[0, 0] * V[0, 0] + w1 * V[0, 1] * V[0, 1] + w2 * V[0, 2] * V[0, 2]
    T[1] = 0.5 * T[1] + w0 * V[1, 0] * V[1, 0] + w1 * V[1, 1] * V[1, 1] + w2 * V[1, 2] * V[1, 2]
    T[2] = 0.5 * T[2] + w0 * V[2, 0] * V[2, 0] + w1 * V[2, 1] * V[2, 1] + w2 * V[2, 2] * V[2, 2]
    T[3] = 0.5 * T[3] + w0 * V[0, 0] * V[1, 0] + w1 * V[0, 1] * V[1, 1] + w2 * V[0, 2] * V[1, 2]
    T[4] = 0.5 * T[4] + w0 * V[0, 0] * V[2, 0] + w1 * V[0, 1] * V[2, 1] + w2 * V[0, 2] * V[2, 2]
    T[5] = 0.5 * T[5] + w0 * V[1, 0] * V[2, 0] + w1 * V[1, 1] * V[2, 1] + w2 * V[1, 2] * V[2, 2]


@inline
def _linear_response(part, p, F, U, s, V, P, T):
    """Small-strain elasticity: ε = sym(F) − I, frames at identity."""
    mu = 0.0 if part == VOLUME else p[0]
    lam = 0.0 if part == SHEAR else p[1]
    trace = F[0, 0] + F[1, 1] + F[2, 2] - 3.0
    squares = 0.0
    for i in range(3):
        for j in range(3):
            e = 0.5 * (F[i, j] + F[j, i])
            U[i, j] = 0.0
            V[i, j] = 0.0
            if i == j:
                e -= 1.0
                U[i, j] = 1.0
                V[i, j] = 1.0
            squares += e * e
            P[i, j] = 2.0 * mu * e
        P[i, i] += lam * trace
        T[i] = 2.0 * mu + lam
        T[3 + i] = lam
        T[6 + i] = mu
        T[9 + i] = mu
    return mu * squares + 0.5 * lam * trace * trace


@inline
def point_response(law, part, p, mode, F, U, s, V, P, T):
    """ψ (J/m³) at F; fills the first Piola–Kirchhoff stress P (Pa), the frames U, V and the tangent T (Pa).

    U, s, V, P, T are scratch arrays of shapes (3,3), (3,), (3,3), (3,3), (12,). Returns inf where the law is undefined.
    """
    if law == LINEAR:
        return _linear_response(part, p, F, U, s, V, P, T)
    signed_svd(F, U, s, V)
    return framed_response(law, part, p, mode, U, s, V, P, T)


@inline
def lane_response(law, part, p, mode, Fs, m, lane, F, U, s, V, P, T):
    """`point_response` at lane `lane` of the gradients Fs (72,), whose m `stretch_lanes` found; fills F as well."""
    for i in range(3):
        for j in range(3):
            F[i, j] = Fs[LANES * (3 * i + j) + lane]
    if law == LINEAR:
        return _linear_response(part, p, F, U, s, V, P, T)
    lane_svd(m, lane, F, U, s, V)
    return framed_response(law, part, p, mode, U, s, V, P, T)


@inline
def framed_response(law, part, p, mode, U, s, V, P, T):
    """`point_response` from the frames U, V and the stretches s."""
    s0, s1, s2 = s[0], s[1], s[2]
    psi, g0, g1, g2, h00, h11, h22, h01, h02, h12 = principal_response(law, part, p, s0, s1, s2)
    T[0], T[1], T[2], T[3], T[4], T[5] = h00, h11, h22, h01, h02, h12
    f, t = _flip_twist(mode, s0, s1, g0, g1, h00, h11, h01)
    T[6], T[9] = 0.5 * (f + t), 0.5 * (f - t)
    f, t = _flip_twist(mode, s0, s2, g0, g2, h00, h22, h02)
    T[7], T[10] = 0.5 * (f + t), 0.5 * (f - t)
    f, t = _flip_twist(mode, s1, s2, g1, g2, h11, h22, h12)
    T[8], T[11] = 0.5 * (f + t), 0.5 * (f - t)
    for i in range(3):
        for j in range(3):
            P[i, j] = g0 * U[i, 0] * V[j, 0] + g1 * U[i, 1] * V[j, 1] + g2 * U[i, 2] * V[j, 2]
    if mode == PROJECTED:
        a, b, c = np.empty((3, 3)), np.empty(3), np.empty((3, 3))
        _project_symmetric(T, a, b, c)
    return psi


@kernel
def evaluate(law, part, p, mode, Fs, psi, P, C):
    """ψ, P = ∂ψ/∂F and C = ∂P/∂F of many gradients Fs (m, 3, 3), into psi (m,), P (m, 3, 3), C (m, 3, 3, 3, 3)."""
    U, V, s, T = np.empty((3, 3)), np.empty((3, 3)), np.empty(3), np.empty(12)
    hat = np.zeros((3, 3, 3, 3))
    for n in range(Fs.shape[0]):
        psi[n] = point_response(law, part, p, mode, Fs[n], U, s, V, P[n], T)
        for i in range(3):
            hat[i, i, i, i] = T[i]
        for k, i, j in ((0, 0, 1), (1, 0, 2), (2, 1, 2)):
            hat[i, i, j, j] = hat[j, j, i, i] = T[3 + k]
            hat[i, j, i, j] = hat[j, i, j, i] = T[6 + k]
            hat[i, j, j, i] = hat[j, i, i, j] = T[9 + k]
        for i, j, k, q in np.ndindex(3, 3, 3, 3):
            total = 0.0
            for a, b, c, d in np.ndindex(3, 3, 3, 3):
                if hat[a, b, c, d] != 0.0:
                    total += U[i, a] * V[j, b] * hat[a, b, c, d] * U[k, c] * V[q, d]
            C[n, i, j, k, q] = total
