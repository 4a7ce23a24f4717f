"""One frictional contact alone, solved exactly.

Given the 3 × 3 compliance w and the slip q without its own force, find r with u = w r + q under Coulomb's law. Open:
q_n ≥ 0. Sticking: −w⁻¹q lies in the cone. Sliding: u_n = 0 and u_t = −α r_t for some α > 0; eliminating r_n leaves

    (S + α) r_t = −b,   S = w_tt − w_tn w_nt / w_nn,   b = q_t − w_tn q_n / w_nn,   ‖r_t‖ = μ r_n,

one equation in α. μ r_n / ‖r_t‖ is almost linear in α, so Newton's method on it takes three or four steps; a bracket
keeps it safe. (Bonnefon and Daviet, "Quartic formulation of Coulomb 3D frictional contact", INRIA, 2011, get a quartic
with the same roots, among others.)
"""

from __future__ import annotations

from math import sqrt

from pliant.core.kernels import inline


@inline
def solve_contact(
    w00: float, w01: float, w02: float, w10: float, w11: float, w12: float, w20: float, w21: float, w22: float,
    q0: float, q1: float, q2: float, mu: float, guess: float,
) -> tuple[float, float, float]:  # fmt: skip
    """(r_n, r_t1, r_t2) of the contact; `guess` is α where the contact slid before, or ≤ 0."""
    if q0 >= 0.0 or w00 <= 0.0:
        return 0.0, 0.0, 0.0
    g1, g2 = w10 / w00, w20 / w00
    s11, s12, s21, s22 = w11 - g1 * w01, w12 - g1 * w02, w21 - g2 * w01, w22 - g2 * w02
    b1, b2 = q1 - g1 * q0, q2 - g2 * q0
    mean, half, cross = 0.5 * (s11 + s22), 0.5 * (s11 - s22), 0.5 * (s12 + s21)
    # of w, not of S: where w has rank one S is rounding, and the force it would ask for without bounds
    low = max(0.0, sqrt(half * half + cross * cross) - mean) + 1e-14 * (abs(w11) + abs(w22)) + 1e-300
    high = -1.0  # not known yet
    alpha = low
    n = t1 = t2 = 0.0
    for trial in range(60):
        c11, c22 = s11 + alpha, s22 + alpha
        det = c11 * c22 - s12 * s21
        t1, t2 = (s12 * b2 - c22 * b1) / det, (s21 * b1 - c11 * b2) / det
        n = -(q0 + w01 * t1 + w02 * t2) / w00
        t = sqrt(t1 * t1 + t2 * t2)
        if trial == 0:
            if t <= mu * n:
                return n, t1, t2  # sticks
            alpha = max(2.0 * low, guess if guess > 0.0 else -sqrt(b1 * b1 + b2 * b2) * w00 / (mu * q0))
            continue
        if mu * n > t:
            high = alpha
        else:
            low = alpha
        if abs(mu * n - t) <= 1e-15 * t:
            break
        d1, d2 = (s12 * t2 - c22 * t1) / det, (s21 * t1 - c11 * t2) / det
        slope = -mu * ((w01 * d1 + w02 * d2) / w00 + n * (t1 * d1 + t2 * d2) / (t * t))
        step = alpha - (mu * n - t) / slope if slope > 0.0 else -1.0
        if not (step > low and (high < 0.0 or step < high)):
            step = 2.0 * alpha if high < 0.0 else 0.5 * (low + high)
        if abs(step - alpha) <= 1e-15 * alpha:
            break
        alpha = step
    if n < 0.0:
        return 0.0, 0.0, 0.0
    return n, t1, t2
