"""The corotational beam element: energy, exact forces and exact stiffness.

An element between nodes 1 and 2 carries a triad at each end, t₁ and t₂, fixed to the node's frame and aligned with the
element at rest. Its frame is their mean rotation,

    ψ = log(t₁ᵀ t₂),   R̄ = t₁ exp(ψ/2),   g = R̄ᵀ (x₂ − x₁),   l = |g|,

in which the element is linear, with the energy (of strains less those at rest, which `rest` holds: a memory moves them)

    E = ½ EA/L (l − L)² + ½ GJ/L ψ_x² + ½ EI_y/L (ψ_y² + 12/(1+Φ_y) φ_y²) + ½ EI_z/L (ψ_z² + 12/(1+Φ_z) φ_z²)

ψ bends the element to an arc; φ, the angle between chord and mean frame, to an S. Together they are the cubic
(Hermite) element of Euler and Bernoulli: with end rotations θ₁, θ₂ from the chord, 4θ₁² + 4θ₁θ₂ + 4θ₂² = ψ² + 12 φ²
for ψ = θ₂ − θ₁ and φ = (θ₁ + θ₂)/2. Timoshenko's shear divides the second term by 1 + Φ, Φ = 12 EI/(κGA L²), and
does not lock. φ is 2 sin(β/2) of the angle β: φ_z = g_y σ, φ_y = g_z σ, σ = √(2/(l (l + g_x))).

With a = ψ/2, θ = |a|, and spins ϑ₁, ϑ₂ of the ends seen in R̄, Σ = ϑ₁ + ϑ₂, Δ = ϑ₂ − ϑ₁,

    δψ = S⁻¹ Δ,   S⁻¹ = α I + β a aᵀ,   α = θ/sin θ,  β = (1 − α)/θ²
    ω̄  = ½ Σ − ½ k [a]× Δ,              k = tan(θ/2)/θ        the spin of R̄
    δg = R̄ᵀ δ(x₂ − x₁) + [g]× ω̄

so with n = ∂E/∂g and μ = ∂E/∂ψ the forces are n on x₂ − x₁, ½ m̄ on Σ with m̄ = n × g, and p = S⁻¹μ + ½ k [a]× m̄ on Δ.
Their derivative along spins is the stiffness. Its skew part, ½ [moment at the node]×, is left out: it says that
rotations do not commute, vanishes where the nodes are in equilibrium without applied moments, and what is left is the
second derivative of E along exp. The mean frame is that of M. A. Crisfield ("A consistent co-rotational formulation for
non-linear, three-dimensional beam elements", CMAME 81, 1990); see also J.-M. Battini, C. Pacoste, CMAME 191, 2002.
"""

from __future__ import annotations

import numpy as np

from pliant.core.kernels import inline, kernel
from pliant.core.spins import cross, exponential, logarithm, multiply, multiply_transposed, rotate, rotate_back

MATERIAL, EXACT, PROJECTED = 0, 1, 2
"""Tangents: without geometric terms (positive semi-definite); exact; exact with negative eigenvalues removed."""


@inline
def element_frame(q, i, j, triads, t1, t2, mean, psi, g, work):
    """Fill the triads, the mean frame, ψ and g of an element between nodes i and j."""
    multiply(q[i, 1:], triads[0], t1)
    multiply(q[j, 1:], triads[1], t2)
    multiply_transposed(t1, t2, work)
    logarithm(work, psi)
    exponential(psi, 0.5, work)
    multiply(t1, work, mean)
    for c in range(3):
        t2[0, c] = q[j, 0, c] - q[i, 0, c]
    rotate_back(mean, t2[0], g)


@inline
def chord(g, length, k, rest, n):
    """Energy of stretch and S-bending, J, and its gradient n (3,) N in g; inf where the chord points backward."""
    now = np.sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2])
    chi = now * (now + g[0])
    if not chi > 1e-12 * length * length:  # the angle of the chord is undefined at 180°
        n[0] = n[1] = n[2] = 0.0
        return np.inf
    sigma = np.sqrt(2.0 / chi)
    phi_z, phi_y = sigma * g[1], sigma * g[2]
    e_x, e_y, e_z = now - length - rest[0], phi_y - rest[1], phi_z - rest[2]
    stretch = k[0] * e_x
    pull = -(k[1] * e_y * phi_y + k[2] * e_z * phi_z) / (2.0 * chi)  # times ∇χ
    along = (stretch + pull * g[0]) / now
    for c in range(3):
        n[c] = (along + 2.0 * pull) * g[c]
    n[0] += pull * now
    n[1] += k[2] * e_z * sigma
    n[2] += k[1] * e_y * sigma
    return 0.5 * (k[0] * e_x**2 + k[1] * e_y * e_y + k[2] * e_z * e_z)


@inline
def chord_stiffness(g, length, k, rest, exact, N, slope):
    """∂²E/∂g² (3, 3), N/m, or its part k ∇φ ∇φᵀ alone; `slope` (4, 3) is scratch."""
    now = np.sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2])
    chi = now * (now + g[0])
    sigma = np.sqrt(2.0 / chi)
    for c in range(3):
        slope[0, c] = g[c] / now
        slope[1, c] = 2.0 * g[c] + g[0] * slope[0, c]  # ∇χ
    slope[1, 0] += now
    for c in range(3):
        slope[2, c] = -0.5 * sigma / chi * g[2] * slope[1, c]
        slope[3, c] = -0.5 * sigma / chi * g[1] * slope[1, c]
    slope[2, 2] += sigma
    slope[3, 1] += sigma
    for a in range(3):
        for b in range(3):
            N[a, b] = k[0] * slope[0, a] * slope[0, b]
            N[a, b] += k[1] * slope[2, a] * slope[2, b] + k[2] * slope[3, a] * slope[3, b]
    if not exact:
        return
    tension = k[0] * (now - length - rest[0]) / now
    force_y, force_z = k[1] * (sigma * g[2] - rest[1]), k[2] * (sigma * g[1] - rest[2])
    weight = force_y * g[2] + force_z * g[1]  # of ∇²σ
    first, second = weight * 0.75 * sigma / (chi * chi), -weight * 0.5 * sigma / chi
    for a in range(3):
        sa = -0.5 * sigma / chi * slope[1, a]
        for b in range(3):
            unit = 1.0 if a == b else 0.0
            across = unit - slope[0, a] * slope[0, b]
            N[a, b] += tension * across + first * slope[1, a] * slope[1, b]
            N[a, b] += second * (2.0 * unit + g[0] / now * across)
            sb = -0.5 * sigma / chi * slope[1, b]
            if b == 2:
                N[a, b] += force_y * sa
            if a == 2:
                N[a, b] += force_y * sb
            if b == 1:
                N[a, b] += force_z * sa
            if a == 1:
                N[a, b] += force_z * sb
        N[a, 0] += second * slope[0, a]
        N[0, a] += second * slope[0, a]


@inline
def angles(x):
    """α, β, k and their derivatives α₁ = α′/θ, β₁, k₁ at x = θ²; series near zero."""
    if x < 1e-2:  # θ < 0.1: terms left out are below 1e-14, the closed form cancels
        alpha = 1.0 + x * (1 / 6 + x * (7 / 360 + x * (31 / 15120 + x * 127 / 604800)))
        beta = -(1 / 6 + x * (7 / 360 + x * (31 / 15120 + x * (127 / 604800 + x * 73 / 3421440))))
        k = 0.5 + x * (1 / 24 + x * (1 / 240 + x * (17 / 40320 + x * 31 / 725760)))
        alpha1 = 1 / 3 + x * (7 / 90 + x * (31 / 2520 + x * (127 / 75600 + x * 73 / 342144)))
        beta1 = -(7 / 180 + x * (31 / 3780 + x * (127 / 100800 + x * 73 / 427680)))
        k1 = 1 / 12 + x * (1 / 60 + x * (17 / 6720 + x * 31 / 90720))
        return alpha, beta, k, alpha1, beta1, k1
    theta = np.sqrt(x)
    sine, cosine, t = np.sin(theta), np.cos(theta), np.tan(0.5 * theta)
    alpha = theta / sine
    beta, k = (1.0 - alpha) / x, t / theta
    alpha1 = (sine - theta * cosine) / (theta * sine * sine)
    return alpha, beta, k, alpha1, (-alpha1 - 2.0 * beta) / x, (0.5 * (1.0 + t * t) - k) / x


@inline
def end_moments(psi, k, rest, n, g, mbar, p, a, mu):
    """Moments on Σ (½ m̄) and on Δ (p), N·m; fills a = ψ/2 and μ too."""
    for c in range(3):
        a[c] = 0.5 * psi[c]
        mu[c] = k[3 + c] * (psi[c] - rest[3 + c])
    alpha, beta, kappa, _, _, _ = angles(a[0] * a[0] + a[1] * a[1] + a[2] * a[2])
    cross(n, g, mbar)
    along = beta * (a[0] * mu[0] + a[1] * mu[1] + a[2] * mu[2])
    cross(a, mbar, p)
    for c in range(3):
        p[c] = alpha * mu[c] + along * a[c] + 0.5 * kappa * p[c]


@kernel
def internal_forces(q, edges, triads, length, stiffness, rest, force, nodal):
    """Add the forces ∂E/∂(x, spin) of all elements to `force` (n, 2, 3), N and N·m; returns E, J.

    `nodal` (m, 3, 3) receives, in the frame of each element, its force n and the moments on its two ends.
    """
    t1, t2, mean, work = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    psi, g, n, mbar = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    p, a, mu = np.empty(3), np.empty(3), np.empty(3)
    energy = 0.0
    for e in range(len(edges)):
        i, j = edges[e, 0], edges[e, 1]
        k = stiffness[e]
        element_frame(q, i, j, triads[e], t1, t2, mean, psi, g, work)
        energy += chord(g, length[e], k, rest[e], n)
        end_moments(psi, k, rest[e], n, g, mbar, p, a, mu)
        for c in range(3):
            energy += 0.5 * mu[c] * (psi[c] - rest[e, 3 + c])
            nodal[e, 0, c], nodal[e, 1, c], nodal[e, 2, c] = n[c], 0.5 * mbar[c] - p[c], 0.5 * mbar[c] + p[c]
        _add_forces(mean, n, mbar, p, i, j, force, a)
    return energy


@inline
def _add_forces(mean, n, mbar, p, i, j, force, work):
    """Add the forces of one element, turned to world axes."""
    rotate(mean, n, work)
    for c in range(3):
        force[i, 0, c] -= work[c]
        force[j, 0, c] += work[c]
    rotate(mean, mbar, work)
    for c in range(3):
        force[i, 1, c] += 0.5 * work[c]
        force[j, 1, c] += 0.5 * work[c]
    rotate(mean, p, work)
    for c in range(3):
        force[i, 1, c] -= work[c]
        force[j, 1, c] += work[c]


@kernel
def assemble(q, edges, triads, length, stiffness, rest, tangent, positions, scale, values, force):
    """Add `scale` × K to the blocks `values` and the forces to `force` (n, 2, 3); returns E, J.

    positions[e, u, v] is the position of the block of the unknowns u, v ∈ (x₁, ϑ₁, x₂, ϑ₂), −1 in the upper triangle.
    """
    t1, t2, mean, work = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    psi, g, n, mbar = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    p, a, mu = np.empty(3), np.empty(3), np.empty(3)
    N, slope, spare = np.empty((3, 3)), np.empty((4, 3)), np.empty(3)
    W, Jg, Jp, NJ = np.zeros((3, 9)), np.empty((3, 9)), np.zeros((3, 9)), np.empty((3, 9))
    H = np.empty((9, 9))
    energy = 0.0
    for e in range(len(edges)):
        i, j = edges[e, 0], edges[e, 1]
        k = stiffness[e]
        element_frame(q, i, j, triads[e], t1, t2, mean, psi, g, work)
        energy += chord(g, length[e], k, rest[e], n)
        end_moments(psi, k, rest[e], n, g, mbar, p, a, mu)
        for c in range(3):
            energy += 0.5 * mu[c] * (psi[c] - rest[e, 3 + c])
        _add_forces(mean, n, mbar, p, i, j, force, spare)
        if not np.isfinite(energy):
            return energy
        chord_stiffness(g, length[e], k, rest[e], tangent != MATERIAL, N, slope)
        alpha, beta, kappa, alpha1, beta1, kappa1 = angles(a[0] * a[0] + a[1] * a[1] + a[2] * a[2])
        _strain_rows(a, g, alpha, beta, kappa, W, Jg, Jp)
        _material(N, k, Jg, Jp, NJ, H)
        if tangent != MATERIAL:
            _add_geometric(a, n, mbar, mu, p, alpha1, beta, beta1, kappa, kappa1, W, Jg, Jp, work, spare, H)
        if tangent == PROJECTED:
            _project(H, length[e])
        _scatter(H, mean, positions[e], scale, values, work, t1)
    return energy


@inline
def _strain_rows(a, g, alpha, beta, kappa, W, Jg, Jp):
    """ω̄ = W z, δg = Jg z, δψ = Jp z for z = (R̄ᵀ δ(x₂ − x₁), Σ, Δ), each (3, 9)."""
    c = 0.5 * kappa
    for r in range(3):
        W[r, 3 + r] = 0.5
        for s in range(3):
            Jp[r, 6 + s] = beta * a[r] * a[s]
        Jp[r, 6 + r] += alpha
    W[0, 7], W[0, 8], W[1, 6], W[1, 8], W[2, 6], W[2, 7] = c * a[2], -c * a[1], -c * a[2], c * a[0], c * a[1], -c * a[0]
    for s in range(9):
        Jg[0, s] = g[1] * W[2, s] - g[2] * W[1, s]
        Jg[1, s] = g[2] * W[0, s] - g[0] * W[2, s]
        Jg[2, s] = g[0] * W[1, s] - g[1] * W[0, s]
    for r in range(3):
        Jg[r, r] += 1.0


@inline
def _material(N, k, Jg, Jp, NJ, H):
    """H = Jgᵀ N Jg + Jpᵀ D Jp."""
    for r in range(3):
        for s in range(9):
            NJ[r, s] = N[r, 0] * Jg[0, s] + N[r, 1] * Jg[1, s] + N[r, 2] * Jg[2, s]
    for r in range(9):
        for s in range(9):
            H[r, s] = Jg[0, r] * NJ[0, s] + Jg[1, r] * NJ[1, s] + Jg[2, r] * NJ[2, s]
    for r in range(6, 9):
        for s in range(6, 9):
            for c in range(3):
                H[r, s] += k[3 + c] * Jp[c, r] * Jp[c, s]


@inline
def _add_geometric(a, n, mbar, mu, p, alpha1, beta, beta1, kappa, kappa1, W, Jg, Jp, Q, spare, H):
    """Add the derivatives of the strains' own derivatives at the forces n, μ, symmetrised."""
    along = a[0] * mu[0] + a[1] * mu[1] + a[2] * mu[2]
    cross(a, mbar, spare)
    for r in range(3):  # Q = ½ ∂(S⁻¹μ)/∂a + ¼ ∂(k a × m̄)/∂a
        for s in range(3):
            Q[r, s] = 0.5 * (alpha1 * mu[r] * a[s] + beta * a[r] * mu[s] + along * beta1 * a[r] * a[s])
            Q[r, s] += 0.25 * kappa1 * spare[r] * a[s]
        Q[r, r] += 0.5 * beta * along
    c = 0.25 * kappa
    Q[0, 1] += c * mbar[2]
    Q[0, 2] -= c * mbar[1]
    Q[1, 0] -= c * mbar[2]
    Q[1, 2] += c * mbar[0]
    Q[2, 0] += c * mbar[1]
    Q[2, 1] -= c * mbar[0]
    c = 0.5 * kappa
    for s in range(9):
        w0, w1, w2 = W[0, s], W[1, s], W[2, s]
        n0 = n[1] * Jg[2, s] - n[2] * Jg[1, s]  # n × δg
        n1 = n[2] * Jg[0, s] - n[0] * Jg[2, s]
        n2 = n[0] * Jg[1, s] - n[1] * Jg[0, s]
        _add_pair(H, 0, s, n[2] * w1 - n[1] * w2)
        _add_pair(H, 1, s, n[0] * w2 - n[2] * w0)
        _add_pair(H, 2, s, n[1] * w0 - n[0] * w1)
        _add_pair(H, 3, s, 0.5 * (n0 + mbar[2] * w1 - mbar[1] * w2))
        _add_pair(H, 4, s, 0.5 * (n1 + mbar[0] * w2 - mbar[2] * w0))
        _add_pair(H, 5, s, 0.5 * (n2 + mbar[1] * w0 - mbar[0] * w1))
        q0 = Q[0, 0] * Jp[0, s] + Q[0, 1] * Jp[1, s] + Q[0, 2] * Jp[2, s]
        q1 = Q[1, 0] * Jp[0, s] + Q[1, 1] * Jp[1, s] + Q[1, 2] * Jp[2, s]
        q2 = Q[2, 0] * Jp[0, s] + Q[2, 1] * Jp[1, s] + Q[2, 2] * Jp[2, s]
        _add_pair(H, 6, s, q0 + c * (a[1] * n2 - a[2] * n1) + p[2] * w1 - p[1] * w2)
        _add_pair(H, 7, s, q1 + c * (a[2] * n0 - a[0] * n2) + p[0] * w2 - p[2] * w0)
        _add_pair(H, 8, s, q2 + c * (a[0] * n1 - a[1] * n0) + p[1] * w0 - p[0] * w1)


@inline
def _add_pair(H, r, s, value):
    """Add half of `value` at (r, s) and half at (s, r)."""
    H[r, s] += 0.5 * value
    H[s, r] += 0.5 * value


@inline
def _project(H, length):
    """Take negative eigenvalues out of H (9, 9), with rotations measured in lengths of the element."""
    for r in range(9):
        for s in range(9):
            H[r, s] /= (length if r > 2 else 1.0) * (length if s > 2 else 1.0)
    roots, vectors = np.linalg.eigh(H)
    for r in range(9):
        for s in range(9):
            total = 0.0
            for c in range(9):
                total += max(roots[c], 0.0) * vectors[r, c] * vectors[s, c]
            H[r, s] = total * (length if r > 2 else 1.0) * (length if s > 2 else 1.0)


@inline
def _scatter(H, mean, positions, scale, values, block, work):
    """Add the 3×3 blocks of H over (x₁, ϑ₁, x₂, ϑ₂), in world axes, to the matrix."""
    for u in range(4):
        for v in range(4):
            if positions[u, v] < 0:
                continue
            for r in range(3):
                for s in range(3):
                    block[r, s] = _entry(H, u, v, r, s)
            K = values[positions[u, v]]
            multiply(mean, block, work)
            for r in range(3):
                for s in range(3):
                    total = work[r, 0] * mean[s, 0] + work[r, 1] * mean[s, 1] + work[r, 2] * mean[s, 2]
                    K[r, s] += scale * total


@inline
def _entry(H, u, v, r, s):
    """Entry of the block (u, v): x₁ and x₂ are ∓ the chord, ϑ₁ = (Σ, −Δ), ϑ₂ = (Σ, Δ)."""
    su, sv = (1.0 if u > 1 else -1.0), (1.0 if v > 1 else -1.0)
    if u % 2 == 0 and v % 2 == 0:
        return su * sv * H[r, s]
    if u % 2 == 0:
        return su * (H[r, 3 + s] + sv * H[r, 6 + s])
    if v % 2 == 0:
        return sv * (H[3 + r, s] + su * H[6 + r, s])
    return H[3 + r, 3 + s] + sv * H[3 + r, 6 + s] + su * H[6 + r, 3 + s] + su * sv * H[6 + r, 6 + s]


@kernel
def piece_energies(q, edges, triads, length, stiffness, rest, energy):
    """Elastic energy of each element, J."""
    t1, t2, mean, work = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    psi, g, n = np.empty(3), np.empty(3), np.empty(3)
    for e in range(len(edges)):
        k = stiffness[e]
        element_frame(q, edges[e, 0], edges[e, 1], triads[e], t1, t2, mean, psi, g, work)
        for c in range(3):
            psi[c] -= rest[e, 3 + c]
        bent = k[3] * psi[0] ** 2 + k[4] * psi[1] ** 2 + k[5] * psi[2] ** 2
        energy[e] = chord(g, length[e], k, rest[e], n) + 0.5 * bent


@kernel
def strains(q, edges, triads, length, out):
    """Strains l − L (m), φ_y, φ_z and ψ (rad) of each element, into `out` (m, 6)."""
    t1, t2, mean, work = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    psi, g = np.empty(3), np.empty(3)
    for e in range(len(edges)):
        element_frame(q, edges[e, 0], edges[e, 1], triads[e], t1, t2, mean, psi, g, work)
        now = np.sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2])
        sigma = np.sqrt(2.0 / (now * (now + g[0])))
        out[e, 0], out[e, 1], out[e, 2] = now - length[e], sigma * g[2], sigma * g[1]
        for c in range(3):
            out[e, 3 + c] = psi[c]
