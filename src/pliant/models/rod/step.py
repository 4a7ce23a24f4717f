"""What a step of a rod computes at one displacement, each in one call: residual, matrix, rates at the end.

The mathematics stands in `models.rod.trial`; here are its sums over stations.
"""

from __future__ import annotations

import numpy as np

from pliant.core.kernels import inline, kernel
from pliant.models.rod.geometric import subtract_load_stiffness
from pliant.models.rod.inertia import add_mass, particle_steps, particle_velocities, particle_wrench
from pliant.models.rod.kinematics import pull, twists


@kernel
def residual(
    kinds, first, mu, basis, held, stiffness, rest, q, frames, C, P, tested, C_t, P_t, before, after, shift, external,
    moments, momenta, dx, rates, r, forces,
):  # fmt: skip
    """r (2 + 2N, 3) and the forces (S, 3, 3) on the particles; returns the squared norms of the external and of the
    internal forces over the unknowns that are not `held`.

    Forces act where the rod is at q, with the stations `frames` and columns C and P; inertia is tested at the stations
    `tested` with C_t and P_t, of particles that went from `before` to `after`, the base by `shift`, with `momenta` at
    the start. `rates`: those of the steps and of the momenta in the inertia force, and of the stiffness in the damping.
    """
    step_rate, momentum_rate, damping = rates
    wrench = np.empty((len(frames), 2, 3))
    particle_wrench(frames, external, moments, wrench)
    pull(wrench, basis, kinds, first, C, P, r)
    outer = inner = 0.0
    for k in range(len(r)):
        for c in range(3):
            if k >= 2:
                force = stiffness[k - 2, c] * (q[k + 2, c] - rest[k + 2, c])
            else:
                force = 0.0
            if not held[k, c]:
                outer += r[k, c] * r[k, c]
                inner += force * force
            r[k, c] -= force
            if k >= 2:
                r[k, c] -= damping * stiffness[k - 2, c] * dx[k, c]
    forces[:] = external
    if step_rate == 0.0:
        return outer, inner
    kick, none, push = np.empty((len(frames), 3, 3)), np.zeros((len(frames), 3)), np.empty(r.shape)
    particle_steps(before, after, shift, kick)
    for s in range(len(frames)):
        for axis in range(3):
            for c in range(3):
                kick[s, axis, c] = step_rate * mu[s, axis] * kick[s, axis, c] - momentum_rate * momenta[s, axis, c]
                forces[s, axis, c] -= kick[s, axis, c]
    particle_wrench(tested, kick, none, wrench)
    pull(wrench, basis, kinds, first, C_t, P_t, push)
    for k in range(len(r)):
        for c in range(3):
            r[k, c] -= push[k, c]
    return outer, inner


@kernel
def matrix(
    kinds, first, fraction, mu, stiffness, q, ends, frames, C, P, left, C_l, P_l, right, C_r, P_r, same, forces,
    moments, scales, A,
):  # fmt: skip
    """A (n, n) over the active unknowns = inertia × J_lᵀ μ J_r + geometry × (−∂(Jᵀ f)/∂q) + elasticity × K.

    `scales` are the three factors; one that is 0 is left out.
    """
    inertia, geometry, elasticity = scales
    A[:] = 0.0
    if inertia != 0.0:
        add_mass(mu, first, left, C_l, P_l, right, C_r, P_r, same, inertia, A)
    if geometry != 0.0:
        subtract_load_stiffness(q, kinds, first, fraction, ends, frames, C, P, forces, moments, geometry, A)
    n = len(kinds)
    for k in range(len(first) - 1):
        for b in range(n):
            A[6 + k * n + b, 6 + k * n + b] += elasticity * stiffness[2 * k + kinds[b] // 3, kinds[b] % 3]


@kernel
def momenta(kinds, first, mu, basis, v, frames, C, P, out, wrench_out):
    """Momenta (S, 3, 3) of the particles under the rates v, and Jᵀ of them (2 + 2N, 3)."""
    twist, none = np.empty((len(frames), 2, 3)), np.zeros((len(frames), 3))
    twists(v, basis, kinds, first, C, P, twist)
    particle_velocities(frames, twist, out)
    for s in range(len(frames)):
        for axis in range(3):
            for c in range(3):
                out[s, axis, c] *= mu[s, axis]
    particle_wrench(frames, out, none, twist)
    pull(twist, basis, kinds, first, C, P, wrench_out)


@kernel
def end_momentum(
    kinds, first, mu, basis, start, C_s, P_s, end, C_e, P_e, shift, rate, memory, carried, p, M
):  # fmt: skip
    """Momentum p (2 + 2N, 3) at the end of a step and the mass matrix M (n, n) there, base in world axes in M.

    `carried` (S, 3, 3) are the momenta of the particles at the start; with `memory` the momentum is that of the
    midpoint rule.
    """
    moved, none = np.empty((len(start), 3, 3)), np.zeros((len(start), 3))
    wrench = np.empty((len(start), 2, 3))
    particle_steps(start, end, shift, moved)
    for s in range(len(start)):
        for axis in range(3):
            for c in range(3):
                moved[s, axis, c] *= rate * mu[s, axis]
    particle_wrench(end, moved, none, wrench)
    pull(wrench, basis, kinds, first, C_e, P_e, p)
    if memory:
        moved -= carried
        extra = np.empty(p.shape)
        particle_wrench(start, moved, none, wrench)
        pull(wrench, basis, kinds, first, C_s, P_s, extra)
        p += extra
    M[:] = 0.0
    add_mass(mu, first, end, C_e, P_e, end, C_e, P_e, True, 1.0, M)


@kernel
def solve_free(M, free, held, known, p, out):
    """Out[free] with M[free, free] out = p[free] − M[free, held] known[held], by Cholesky; whether M is positive."""
    n = len(free)
    L = np.empty((n, n))
    for i in range(n):
        total = p[free[i]]
        for h in held:
            total -= M[free[i], h] * known[h]
        out[free[i]] = total
        for j in range(i + 1):
            value = M[free[i], free[j]]
            for k in range(j):
                value -= L[i, k] * L[j, k]
            if j < i:
                L[i, j] = value / L[j, j]
            elif value > 0.0:
                L[i, i] = np.sqrt(value)
            else:
                return False
    _substitute(L, free, out)
    return True


@inline
def _substitute(L, free, out):
    n = len(free)
    for i in range(n):
        value = out[free[i]]
        for k in range(i):
            value -= L[i, k] * out[free[k]]
        out[free[i]] = value / L[i, i]
    for i in range(n - 1, -1, -1):
        value = out[free[i]]
        for k in range(i + 1, n):
            value -= L[k, i] * out[free[k]]
        out[free[i]] = value / L[i, i]
