"""One section of constant strain: the screw motion exp(tψ), what a change of ψ does to it, and how that changes.

ψ = (a, u): the rotation vector a (rad) and the stretch vector u (m) of a whole section, in the frame of its start. At
the fraction t of the section the frame has turned by exp(t a) and stands at t T(t a) u, with T(a) = I + β [a]× + γ
[a]×² the left Jacobian. A change (b, w) of ψ moves everything beyond as a rigid body, in the axes of the section's
start and about its origin, with the spin and the velocity

    ω = t T(ta) b,      v = t (T′(ta)[tu] b + T(ta) w),

because the Jacobian of SE(3) is that of SO(3) in dual numbers: T(a + εu) = T(a) + ε T′(a)[u]. Contracted with a vector
y, and with n₁ = y × a, n₂ = a (a·y) − y |a|² and ε the permutation symbol, the derivatives of T are

    y·T′(a)[c] b    = Σ cᵢ bⱼ (β₁ aᵢ n₁ⱼ + β εᵢⱼₖ yₖ + γ₁ aᵢ n₂ⱼ + γ ((a·y) δᵢⱼ − 2 aᵢ yⱼ + yᵢ aⱼ)),
    y·T″(a)[u, c] b = Σ cᵢ bⱼ (the derivative of the above with c = u, along c; see `second_derivative`).
"""

from __future__ import annotations

from pliant.core.kernels import inline


@inline
def polynomial(x, y, z, b, c, T):
    """T = I + b [w]× + c [w]×² with w = (x, y, z)."""
    T[0, 0], T[0, 1], T[0, 2] = 1.0 - c * (y * y + z * z), c * x * y - b * z, c * x * z + b * y
    T[1, 0], T[1, 1], T[1, 2] = c * x * y + b * z, 1.0 - c * (x * x + z * z), c * y * z - b * x
    T[2, 0], T[2, 1], T[2, 2] = c * x * z - b * y, c * y * z + b * x, 1.0 - c * (x * x + y * y)


@inline
def jacobian_slope(a, u, t, c, Q):
    """Q = T′(ta)[tu] = β₁ (a·u) [a]× + β [u]× + γ₁ (a·u) [a]×² + γ ([u]×[a]× + [a]×[u]×), all at ta and tu."""
    x, y, z = t * a[0], t * a[1], t * a[2]
    p, q, r = t * u[0], t * u[1], t * u[2]
    dot = x * p + y * q + z * r
    b1, g, g1 = c[3] * dot, c[2], c[4] * dot
    wx, wy, wz = b1 * x + c[1] * p, b1 * y + c[1] * q, b1 * z + c[1] * r
    square = x * x + y * y + z * z
    # [a]×² = a aᵀ − |a|² I and [u]×[a]× + [a]×[u]× = a uᵀ + u aᵀ − 2 (a·u) I
    on = -g1 * square - 2.0 * g * dot
    Q[0, 0] = on + g1 * x * x + 2.0 * g * x * p
    Q[1, 1] = on + g1 * y * y + 2.0 * g * y * q
    Q[2, 2] = on + g1 * z * z + 2.0 * g * z * r
    xy, xz, yz = g1 * x * y + g * (x * q + y * p), g1 * x * z + g * (x * r + z * p), g1 * y * z + g * (y * r + z * q)
    Q[0, 1], Q[1, 0] = xy - wz, xy + wz
    Q[0, 2], Q[2, 0] = xz + wy, xz - wy
    Q[1, 2], Q[2, 1] = yz - wx, yz + wx


@inline
def add_first_derivative(a, t, y, c, scale, B):
    """B[i, j] += scale × y·T′(ta)[eᵢ] eⱼ."""
    a0, a1, a2 = t * a[0], t * a[1], t * a[2]
    A = (a0, a1, a2)
    n1 = (y[1] * a2 - y[2] * a1, y[2] * a0 - y[0] * a2, y[0] * a1 - y[1] * a0)
    dot, square = a0 * y[0] + a1 * y[1] + a2 * y[2], a0 * a0 + a1 * a1 + a2 * a2
    b, g, b1, g1 = scale * c[1], scale * c[2], scale * c[3], scale * c[4]
    for i in range(3):
        for j in range(3):
            n2 = A[j] * dot - y[j] * square
            B[i, j] += A[i] * (b1 * n1[j] + g1 * n2 - 2.0 * g * y[j]) + g * y[i] * A[j]
        B[i, i] += g * dot
    _add_permutation(y, b, B)


@inline
def add_second_derivative(a, u, t, y, c, scale, B):
    """B[i, j] += scale × y·T″(ta)[tu, eᵢ] eⱼ."""
    a0, a1, a2 = t * a[0], t * a[1], t * a[2]
    u0, u1, u2 = t * u[0], t * u[1], t * u[2]
    A, U = (a0, a1, a2), (u0, u1, u2)
    n1 = (y[1] * a2 - y[2] * a1, y[2] * a0 - y[0] * a2, y[0] * a1 - y[1] * a0)
    m1 = (y[1] * u2 - y[2] * u1, y[2] * u0 - y[0] * u2, y[0] * u1 - y[1] * u0)
    ay, uy = a0 * y[0] + a1 * y[1] + a2 * y[2], u0 * y[0] + u1 * y[1] + u2 * y[2]
    au, square = a0 * u0 + a1 * u1 + a2 * u2, a0 * a0 + a1 * a1 + a2 * a2
    g, b1, g1, b2, g2 = scale * c[2], scale * c[3], scale * c[4], scale * c[5], scale * c[6]
    for i in range(3):
        for j in range(3):
            n2 = A[j] * ay - y[j] * square
            along_a = b2 * au * n1[j] + g2 * au * n2 + b1 * m1[j] + g1 * (ay * U[j] + uy * A[j] - 4.0 * au * y[j])
            along_u = b1 * n1[j] + g1 * n2 - 2.0 * g * y[j]
            B[i, j] += A[i] * along_a + U[i] * along_u + y[i] * (g1 * au * A[j] + g * U[j])
        B[i, i] += g1 * au * ay + g * uy
    _add_permutation(y, b1 * au, B)


@inline
def set_both_derivatives(a, u, t, f, y, c, scale, B):
    """B[i, j] = scale × (f·T″(ta)[tu, eᵢ] eⱼ + y·T′(ta)[eᵢ] eⱼ): both of the above at once."""
    a0, a1, a2 = t * a[0], t * a[1], t * a[2]
    u0, u1, u2 = t * u[0], t * u[1], t * u[2]
    b, g, b1, g1 = scale * c[1], scale * c[2], scale * c[3], scale * c[4]
    af, uf = a0 * f[0] + a1 * f[1] + a2 * f[2], u0 * f[0] + u1 * f[1] + u2 * f[2]
    ay, au = a0 * y[0] + a1 * y[1] + a2 * y[2], a0 * u0 + a1 * u1 + a2 * u2
    square = a0 * a0 + a1 * a1 + a2 * a2
    b2, g2 = scale * c[5] * au, scale * c[6] * au
    # n₁ = f × a, m₁ = f × u and k₁ = y × a; terms along a, f, u and y
    n0, n1, n2 = f[1] * a2 - f[2] * a1, f[2] * a0 - f[0] * a2, f[0] * a1 - f[1] * a0
    m0, m1, m2 = f[1] * u2 - f[2] * u1, f[2] * u0 - f[0] * u2, f[0] * u1 - f[1] * u0
    k0, k1, k2 = y[1] * a2 - y[2] * a1, y[2] * a0 - y[0] * a2, y[0] * a1 - y[1] * a0
    on_a, on_f, on_y = g2 * af + g1 * (uf + ay), -g2 * square - 4.0 * g1 * au, -g1 * square - 2.0 * g
    x0 = b2 * n0 + b1 * (m0 + k0) + on_a * a0 + on_f * f[0] + g1 * af * u0 + on_y * y[0]
    x1 = b2 * n1 + b1 * (m1 + k1) + on_a * a1 + on_f * f[1] + g1 * af * u1 + on_y * y[1]
    x2 = b2 * n2 + b1 * (m2 + k2) + on_a * a2 + on_f * f[2] + g1 * af * u2 + on_y * y[2]
    z0 = b1 * n0 + g1 * af * a0 + on_y * f[0]
    z1 = b1 * n1 + g1 * af * a1 + on_y * f[1]
    z2 = b1 * n2 + g1 * af * a2 + on_y * f[2]
    w0, w1, w2 = g1 * au * a0 + g * u0, g1 * au * a1 + g * u1, g1 * au * a2 + g * u2
    p0, p1, p2 = b1 * au * f[0] + b * y[0], b1 * au * f[1] + b * y[1], b1 * au * f[2] + b * y[2]
    on = g1 * au * af + g * (uf + ay)
    g0, g1_, g2_ = g * a0, g * a1, g * a2
    B[0, 0] = a0 * x0 + u0 * z0 + f[0] * w0 + y[0] * g0 + on
    B[0, 1] = a0 * x1 + u0 * z1 + f[0] * w1 + y[0] * g1_ + p2
    B[0, 2] = a0 * x2 + u0 * z2 + f[0] * w2 + y[0] * g2_ - p1
    B[1, 0] = a1 * x0 + u1 * z0 + f[1] * w0 + y[1] * g0 - p2
    B[1, 1] = a1 * x1 + u1 * z1 + f[1] * w1 + y[1] * g1_ + on
    B[1, 2] = a1 * x2 + u1 * z2 + f[1] * w2 + y[1] * g2_ + p0
    B[2, 0] = a2 * x0 + u2 * z0 + f[2] * w0 + y[2] * g0 + p1
    B[2, 1] = a2 * x1 + u2 * z1 + f[2] * w1 + y[2] * g1_ - p0
    B[2, 2] = a2 * x2 + u2 * z2 + f[2] * w2 + y[2] * g2_ + on


@inline
def _add_permutation(y, b, B):
    """B[i, j] += b εᵢⱼₖ yₖ."""
    B[0, 1] += b * y[2]
    B[1, 0] -= b * y[2]
    B[1, 2] += b * y[0]
    B[2, 1] -= b * y[0]
    B[2, 0] += b * y[1]
    B[0, 2] -= b * y[1]
