"""What a step of a rod computes at one displacement, each in one call: residual, matrix, rates at the end.

The mathematics stands in `models.rod.trial`; here are its sums over stations.
"""

from __future__ import annotations

import numpy as np

from pliant.core.kernels import inline, kernel
from pliant.core.spins import rotate
from pliant.models.rod.geometric import subtract_load_stiffness
from pliant.models.rod.inertia import add_mass, particle_steps, particle_velocities, particle_wrench
from pliant.models.rod.kinematics import pull, twists
from pliant.solvers.linear.panel import factorize_strip, solve_lower, solve_upper


@kernel
def residual(
    kinds, first, mu, basis, constrained, stiffness, rest, q, frames, C, P, start, end, shift, external, moments,
    momenta, dx, rates, mean, turn, r, forces,
):  # fmt: skip
    """r (2 + 2N, 3) and the forces less inertia on the particles, `forces` (S, 3, 3); returns the squared norms of the
    external and of the internal forces over the unknowns that are not `constrained`.

    All is tested at the stations `frames` with columns C and P, with the strains of q in the elastic forces. Particles
    went from `start` to `end`, the base by `shift`, with `momenta` at the start. `rates`: those of the steps and of the
    momenta in the inertia force, and of the stiffness in the damping. With `mean` strains are tested with the forces
    turned by `turn` (3, 3), and the spin of the base at the mean positions of the particles.
    """
    step_rate, momentum_rate, damping = rates
    outer = external_norm(frames, external, moments, basis, kinds, first, C, P, constrained, r)
    inertia_forces(start, end, shift, mu, momenta, step_rate, momentum_rate, external, forces)
    if step_rate != 0.0:
        if mean:
            wrench = np.empty((len(frames), 2, 3))
            _tested_in_the_middle(kinds, first, basis, start, end, C, P, frames, forces, moments, turn, wrench, r)
        else:
            tested(frames, forces, moments, basis, kinds, first, C, P, r)
    inner = subtract_elastic(stiffness, q, rest, damping, dx, constrained, r)
    return outer, inner


@inline
def tested(frames, forces, moments, basis, kinds, first, C, P, r):
    """R (2 + 2N, 3) of forces (S, 3, 3) on the particles and moments (S, 3) at the stations."""
    wrench = np.empty((len(frames), 2, 3))
    particle_wrench(frames, forces, moments, wrench)
    pull(wrench, basis, kinds, first, C, P, r)


@inline
def external_norm(frames, external, moments, basis, kinds, first, C, P, constrained, r):
    """The squared norm of the external forces over the unknowns that are not `constrained`; r is that of them."""
    tested(frames, external, moments, basis, kinds, first, C, P, r)
    return free_norm(r, constrained)


@inline
def free_norm(r, constrained):
    """The squared norm of r (2 + 2N, 3) over the unknowns that are not `constrained`."""
    total = 0.0
    for k in range(len(r)):
        for c in range(3):
            if not constrained[k, c]:
                total += r[k, c] * r[k, c]
    return total


@inline
def inertia_forces(start, end, shift, mu, momenta, step_rate, momentum_rate, external, forces):
    """`forces` (S, 3, 3) = `external` less inertia, of particles that went from `start` to `end`."""
    forces[:] = external
    if step_rate != 0.0:
        kick = np.empty((len(start), 3, 3))
        particle_steps(start, end, shift, kick)
        for s in range(len(start)):
            for axis in range(3):
                for c in range(3):
                    forces[s, axis, c] -= (
                        step_rate * mu[s, axis] * kick[s, axis, c] - momentum_rate * momenta[s, axis, c]
                    )


@inline
def subtract_elastic(stiffness, q, rest, damping, dx, constrained, r):
    """R −= the forces of the strains of q and of their damping under dx; the squared norm of the former."""
    inner = 0.0
    for k in range(2, len(r)):
        for c in range(3):
            force = stiffness[k - 2, c] * (q[k + 2, c] - rest[k + 2, c])
            r[k, c] -= force + damping * stiffness[k - 2, c] * dx[k, c]
            if not constrained[k, c]:
                inner += force * force
    return inner


@inline
def _tested_in_the_middle(kinds, first, basis, start, end, C, P, frames, forces, moments, turn, wrench, r):
    """R of forces and moments: strains with both turned, the base's spin at the mean positions."""
    turned, twisted = np.empty(forces.shape), np.empty(moments.shape)
    for s in range(len(forces)):
        for axis in range(3):
            rotate(turn, forces[s, axis], turned[s, axis])
        rotate(turn, moments[s], twisted[s])
    particle_wrench(frames, turned, twisted, wrench)
    pull(wrench, basis, kinds, first, C, P, r)
    F, M, places = np.zeros(3), np.zeros(3), 0.5 * (start + end)
    particle_wrench(places, forces, moments, wrench)
    for s in range(len(forces)):
        for c in range(3):
            M[c] += wrench[s, 0, c]
            F[c] += wrench[s, 1, c]
    for c in range(3):
        r[0, c] = basis[0, c] * F[0] + basis[1, c] * F[1] + basis[2, c] * F[2]
        r[1, c] = basis[0, c] * M[0] + basis[1, c] * M[1] + basis[2, c] * M[2]


@kernel
def matrix(
    kinds, first, fraction, mu, stiffness, q, ends, frames, C, P, end, C_e, P_e, same, forces, moments, scales, A
):  # fmt: skip
    """A (n, n) over the active unknowns, the base in world axes: inertia × Jᵀ μ J_e + geometry × (−∂(Jᵀ f)/∂q) +
    elasticity × K, tested where the rod is at q, for the forces less inertia (S, 3, 3). `scales` are the three factors;
    `same` where the end of the step is that configuration.
    """
    inertia, geometry, elasticity = scales
    A[:] = 0.0
    if inertia != 0.0:
        add_mass(mu, first, frames, C, P, end, C_e, P_e, same, inertia, A)
    if geometry != 0.0:
        subtract_load_stiffness(q, kinds, first, fraction, ends, frames, C, P, forces, moments, geometry, A)
    n = len(kinds)
    for k in range(len(first) - 1):
        for b in range(n):
            A[6 + k * n + b, 6 + k * n + b] += elasticity * stiffness[2 * k + kinds[b] // 3, kinds[b] % 3]


@inline
def in_basis(basis, K):
    """K (m, m) with the base's motion along `basis` instead of the world's axes."""
    one = np.empty(3)
    for first in range(0, 6, 3):
        for m in range(len(K)):
            for c in range(3):
                one[c] = 0.0
                for r in range(3):
                    one[c] += basis[r, c] * K[first + r, m]
            for c in range(3):
                K[first + c, m] = one[c]
        for m in range(len(K)):
            for c in range(3):
                one[c] = 0.0
                for r in range(3):
                    one[c] += basis[r, c] * K[m, first + r]
            for c in range(3):
                K[m, first + c] = one[c]


@kernel
def add_symmetric_part(K, A):
    """A (n, n) += ½ (K + Kᵀ)."""
    for i in range(len(A)):
        for j in range(i):
            value = 0.5 * (K[i, j] + K[j, i])
            A[i, j] += value
            A[j, i] += value
        A[i, i] += K[i, i]


@kernel
def momenta(kinds, first, mu, basis, v, frames, C, P, out, wrench_out):
    """Momenta (S, 3, 3) of the particles under the rates v, and Jᵀ of them (2 + 2N, 3)."""
    particle_momenta(kinds, first, mu, basis, v, frames, C, P, out)
    tested(frames, out, np.zeros((len(frames), 3)), basis, kinds, first, C, P, wrench_out)


@inline
def particle_momenta(kinds, first, mu, basis, v, frames, C, P, out):
    """Momenta (S, 3, 3) of the particles under the rates v."""
    twist = np.empty((len(frames), 2, 3))
    twists(v, basis, kinds, first, C, P, twist)
    particle_velocities(frames, twist, out)
    for s in range(len(frames)):
        for axis in range(3):
            for c in range(3):
                out[s, axis, c] *= mu[s, axis]


@kernel
def end_momentum(kinds, first, mu, basis, start, end, C, P, shift, rates, carried, p, M):
    """Momentum p (2 + 2N, 3) at the end of a step and the mass matrix M (n, n) there, base in world axes in M.

    The particles have rates[0] × their step as velocity, and rates[1] × what they had at the start, where their momenta
    were `carried` (S, 3, 3). Returns their kinetic energy.
    """
    energy = 0.0
    moved, none = np.empty((len(start), 3, 3)), np.zeros((len(start), 3))
    wrench = np.empty((len(start), 2, 3))
    particle_steps(start, end, shift, moved)
    for s in range(len(start)):
        for axis in range(3):
            for c in range(3):
                moved[s, axis, c] = rates[0] * mu[s, axis] * moved[s, axis, c] + rates[1] * carried[s, axis, c]
                if mu[s, axis] > 0.0:
                    energy += 0.5 * moved[s, axis, c] ** 2 / mu[s, axis]
    particle_wrench(end, moved, none, wrench)
    pull(wrench, basis, kinds, first, C, P, p)
    M[:] = 0.0
    add_mass(mu, first, end, C, P, end, C, P, True, 1.0, M)
    return energy


@kernel
def solve_free(M, free, constrained, known, p, out):
    """Out[free] = M[free, free]⁻¹ (p − M known)[free], by Cholesky; `known` is that of `constrained`. Whether M > 0."""
    n = len(free)
    L, x, diagonal = np.empty(n * n), np.empty(n), np.empty(n)
    for j in range(n):
        total = p[free[j]]
        for h in constrained:
            total -= M[free[j], h] * known[h]
        x[j], diagonal[j] = total, M[free[j], free[j]]
        for i in range(j, n):
            L[j * n + i] = M[free[i], free[j]]
    if factorize_strip(L, 0, n, n, n, diagonal, 0, 0.0) >= 0:
        return False
    solve_lower(L, 0, n, n, x)
    solve_upper(L, 0, n, n, x)
    for j in range(n):
        out[free[j]] = x[j]
    return True
