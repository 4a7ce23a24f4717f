"""Motion and inertia of frames: nodes with a position and a rotation, moved by a translation and a rotation vector.

The mass of a node is lumped; its rotary inertia Θ, fixed in its frame, is R Θ Rᵀ in world axes. The rotation of a step
is R⁺ = exp(w) R, its spin at the end ω⁺ = c w + d exp(w) ω (implicit Euler c = 1/h, d = 0; midpoint c = 2/h, d = −1:
the spin of the start is carried along by the rotation). Balance of angular momentum is written with the momentum
itself,

    (R⁺ Θ R⁺ᵀ ω⁺ − R Θ Rᵀ ω)/h = moments,

so gyroscopic terms are in it, a free body keeps its angular momentum, and the midpoint rule its energy of rotation
(J. C. Simo, K. K. Wong, "Unconditionally stable algorithms for rigid body dynamics", IJNME 31, 1991).
"""

from __future__ import annotations

import numpy as np

from pliant.core.kernels import inline, kernel
from pliant.core.spins import compose, exponential, logarithm, multiply, rotate, rotate_back


@kernel
def advance(q, dx, fraction, moved):
    """moved (n, 4, 3) = q moved by `fraction` of dx (n, 2, 3); rotations are made orthonormal to rounding."""
    turn, R = np.empty((3, 3)), np.empty((3, 3))
    for i in range(len(q)):
        for c in range(3):
            moved[i, 0, c] = q[i, 0, c] + fraction * dx[i, 0, c]
        exponential(dx[i, 1], fraction, turn)
        multiply(turn, q[i, 1:], R)
        for r in range(3):  # one step of Newton–Schulz: R (3 − RᵀR)/2
            for s in range(3):
                total = 1.5 * R[r, s]
                for k in range(3):
                    total -= 0.5 * R[r, k] * (R[0, k] * R[0, s] + R[1, k] * R[1, s] + R[2, k] * R[2, s])
                moved[i, 1 + r, s] = total


@kernel
def add_step(dx, step, scale, out):
    """out (n, 2, 3): the displacement dx followed by `scale` × step, spins composed by exp."""
    spin = np.empty(3)
    for i in range(len(dx)):
        for c in range(3):
            out[i, 0, c] = dx[i, 0, c] + scale * step[i, 0, c]
            spin[c] = scale * step[i, 1, c]
        compose(dx[i, 1], spin, out[i, 1])


@kernel
def end_velocities(v, dx, rate, memory, out):
    """out (n, 2, 3) = rate × dx + memory × v, spins v carried along by the rotation of the step."""
    turn, spin = np.empty((3, 3)), np.empty(3)
    for i in range(len(dx)):
        exponential(dx[i, 1], 1.0, turn)
        rotate(turn, v[i, 1], spin)
        for c in range(3):
            out[i, 0, c] = rate * dx[i, 0, c] + memory * v[i, 0, c]
            out[i, 1, c] = rate * dx[i, 1, c] + memory * spin[c]


@inline
def _turned(R, inertia, x, y, work):
    """Y = R Θ Rᵀ x."""
    rotate_back(R, x, work)
    rotate(inertia, work, y)
    rotate(R, y, work)
    y[0], y[1], y[2] = work[0], work[1], work[2]


@kernel
def subtract_inertia(q, v, dx, mass, inertia, coefficients, r):
    """Subtract inertia forces from r (n, 2, 3); returns the squared norm of the momentum of the start over h.

    `coefficients`: a, b, α/h (mass-proportional damping), 1/h, c and d of ω⁺.
    """
    a, b, damping, rate, speed, memory = coefficients
    turn, R = np.empty((3, 3)), np.empty((3, 3))
    spin, before, after, work = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    squares = 0.0
    for i in range(len(dx)):
        exponential(dx[i, 1], 1.0, turn)
        multiply(turn, q[i, 1:], R)
        rotate(turn, v[i, 1], spin)
        for c in range(3):
            spin[c] = (speed * rate + damping) * dx[i, 1, c] + memory * rate * spin[c]
        _turned(R, inertia[i], spin, after, work)
        _turned(q[i, 1:], inertia[i], v[i, 1], before, work)
        for c in range(3):
            r[i, 0, c] -= mass[i] * ((a + damping) * dx[i, 0, c] - b * v[i, 0, c])
            r[i, 1, c] -= after[c] - rate * before[c]
            squares += (mass[i] * b * v[i, 0, c]) ** 2 + (rate * before[c]) ** 2
    return squares


@kernel
def fill_mass(q, mass, inertia, scale, diagonal, values):
    """Values := scale × M on the diagonal blocks, 0 elsewhere; q (n, 4, 3) gives the rotations."""
    values[:] = 0.0
    add_mass(q, mass, inertia, scale, diagonal, values)


@kernel
def add_mass(q, mass, inertia, scale, diagonal, values):
    """Values += scale × M."""
    work = np.empty((3, 3))
    for i in range(len(mass)):
        here, there = diagonal[2 * i], diagonal[2 * i + 1]
        R = q[i, 1:]
        multiply(R, inertia[i], work)
        for r in range(3):
            values[here, r, r] += scale * mass[i]
            for s in range(3):
                total = work[r, 0] * R[s, 0] + work[r, 1] * R[s, 1] + work[r, 2] * R[s, 2]
                values[there, r, s] += scale * total


@kernel
def momentum(q, v, mass, inertia, out):
    """out (n, 2, 3): linear (kg·m/s) and angular momentum (kg·m²/s, about the node) of each node."""
    work = np.empty(3)
    for i in range(len(mass)):
        for c in range(3):
            out[i, 0, c] = mass[i] * v[i, 0, c]
        _turned(q[i, 1:], inertia[i], v[i, 1], out[i, 1], work)


@kernel
def remaining_motion(q, dx, target, constrained, fraction, out):
    """Remaining motion of constrained unknowns to `fraction` of the load path from q to `target` (n, 4, 3), into
    `out`; returns whether any is left.

    The rotation of a node is constrained about all three axes or about none. A rest within rounding counts as zero.
    """
    R, back, turn = np.empty((3, 3)), np.empty(3), np.empty(3)
    ahead = False
    for i in range(len(q)):
        for c in range(3):
            out[i, 0, c] = out[i, 1, c] = 0.0
            if constrained[i, 0, c]:
                total = target[i, 0, c] - q[i, 0, c]
                part = fraction * total - dx[i, 0, c]
                if abs(part) > 1e-15 * (abs(total) + abs(target[i, 0, c])):  # rounding is no motion
                    out[i, 0, c] = part
                    ahead = True
        if constrained[i, 1, 0]:
            for r in range(3):  # target Rᵀ
                for s in range(3):
                    R[r, s] = 0.0
                    for c in range(3):
                        R[r, s] += target[i, 1 + r, c] * q[i, 1 + s, c]
            logarithm(R, turn)
            for c in range(3):
                turn[c] *= fraction
                back[c] = -dx[i, 1, c]
            compose(back, turn, turn)
            if abs(turn[0]) + abs(turn[1]) + abs(turn[2]) > 1e-13:  # rounding of the logarithm
                out[i, 1, 0], out[i, 1, 1], out[i, 1, 2] = turn[0], turn[1], turn[2]
                ahead = True
    return ahead
