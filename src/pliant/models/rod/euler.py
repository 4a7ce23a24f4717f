"""Both ends of a step of implicit Euler of a rod, each in one call: the linear system at its start, and its end; and
the whole step in one call where nothing pushes the rod.

The mathematics stands in `models.rod.trial`. A rod of eight sections has so little arithmetic that the calls between
its kernels took longer than the kernels.
"""

from __future__ import annotations

import numpy as np

from pliant.core.kernels import inline, kernel
from pliant.models.rod.factor import error_squares
from pliant.models.rod.kinematics import advance, sweep, unpacked
from pliant.models.rod.step import (
    end_momentum,
    external_norm,
    free_norm,
    in_basis,
    inertia_forces,
    matrix,
    particle_momenta,
    solve_free,
    subtract_elastic,
    tested,
)
from pliant.solvers.linear.dense import is_sound
from pliant.solvers.linear.lapack import solve_by_cholesky


@kernel
def begin(
    q, v, gravity, loads, moments, kinds, first, fraction, mu, basis, constrained, stiffness, rest, active,
    dt, step_rate, momentum_rate, damping, elasticity, geometry, turned, even, judged, space, there, q_there, A, r, now,
):  # fmt: skip
    """A (n, n) over the active unknowns and r (2 + 2N, 3) of the first linear solve, expanded about the motion h v, and
    where it is `judged` the residual `now` (2 + 2N, 3) without motion; returns the largest squared norm of the forces
    in that, and whether the rod moves.

    `loads` (S, 3) N and `moments` (S, 3) N·m act at the stations beside `gravity` (3,) m/s². `space` is filled by the
    sweep at q, `there` by that after h v, at `q_there`. The rates are those of
    `models.rod.step`; `geometry` is the factor of the stiffness of loads, `even` takes the symmetric part.
    """
    N, S, n = len(first) - 1, len(mu), len(kinds)
    ends, frames, C, P = unpacked(space, N, S, n)
    sweep(q, kinds, first, fraction, ends, frames, C, P)
    external, forces = np.zeros((S, 3, 3)), np.empty((S, 3, 3))
    for s in range(S):
        for c in range(3):
            external[s, 0, c] = mu[s, 0] * gravity[c] + loads[s, c]
    free, shift, moves = np.empty(v.shape), np.zeros(3), False
    for k in range(len(v)):
        for c in range(3):
            free[k, c] = dt * v[k, c]
            moves = moves or v[k, c] != 0.0
    carried = np.zeros((S, 3, 3))
    at_q, at_ends, at_frames, at_C, at_P = q, ends, frames, C, P
    if moves:
        particle_momenta(kinds, first, mu, basis, v, frames, C, P, carried)
        advance(q, free, basis, 1.0, q_there)
        at_q = q_there
        at_ends, at_frames, at_C, at_P = unpacked(there, N, S, n)
        sweep(q_there, kinds, first, fraction, at_ends, at_frames, at_C, at_P)
        for c in range(3):
            shift[c] = q_there[0, c] - q[0, c]
    inertia_forces(frames, at_frames, shift, mu, carried, step_rate, momentum_rate, external, forces)
    tested(at_frames, forces, moments, basis, kinds, first, at_C, at_P, r)
    subtract_elastic(stiffness, at_q, rest, damping, free, constrained, r)
    matrix(
        kinds, first, fraction, mu, stiffness, at_q, at_ends, at_frames, at_C, at_P, at_frames, at_C, at_P, True,
        forces, moments, (step_rate, geometry, elasticity), A,
    )  # fmt: skip
    if turned:
        in_basis(basis, A)
    if even:
        _take_symmetric_part(A)
    if moves:
        _add_product(A, free, active, r)
    for k in range(len(r)):
        for c in range(3):
            if constrained[k, c]:
                r[k, c] = 0.0
    if not judged:
        return 0.0, moves
    outer = external_norm(frames, external, moments, basis, kinds, first, C, P, constrained, now)
    norm = 0.0
    if moves:
        impulse = np.empty(v.shape)
        tested(frames, carried, np.zeros((S, 3)), basis, kinds, first, C, P, impulse)
        norm = momentum_rate * momentum_rate * free_norm(impulse, constrained)
        for k in range(len(now)):
            for c in range(3):
                now[k, c] += momentum_rate * impulse[k, c]
    inner = subtract_elastic(stiffness, q, rest, damping, np.zeros(v.shape), constrained, now)
    return max(outer, inner, norm), moves


@kernel
def finish(
    q, dx, kinds, first, fraction, mu, basis, active, free, constrained, known, rate, turned, start, space, q_end, v
):  # fmt: skip
    """`q_end` (4 + 2N, 3) after dx, and the rates v (2 + 2N, 3) there, of the momentum that the particles have: `rate`
    times their step. `known` (n,) are those of the `constrained` active unknowns, `start` and `space` the sweeps at q
    and, filled, at the end. Whether the mass matrix is positive definite.
    """
    N, S, n, count = len(first) - 1, len(mu), len(kinds), len(active)
    _, before, _, _ = unpacked(start, N, S, n)
    ends, frames, C, P = unpacked(space, N, S, n)
    advance(q, dx, basis, 1.0, q_end)
    sweep(q_end, kinds, first, fraction, ends, frames, C, P)
    shift, M, p, rates, wanted = (
        np.empty(3),
        np.empty((count, count)),
        np.empty(v.shape),
        np.empty(count),
        np.empty(count),
    )
    for c in range(3):
        shift[c] = q_end[0, c] - q[0, c]
    end_momentum(kinds, first, mu, basis, before, frames, C, P, shift, (rate, 0.0), np.zeros((S, 3, 3)), p, M)
    if turned:
        in_basis(basis, M)
    for a in range(count):
        wanted[a] = p[active[a] // 3, active[a] % 3]
        rates[a] = known[a]
    v[:] = 0.0
    found = solve_free(M, free, constrained, known, wanted, rates)
    for a in range(count):
        v[active[a] // 3, active[a] % 3] = rates[a]
    return found


@kernel
def whole(
    q, v, gravity, loads, moments, kinds, first, fraction, mu, basis, constrained, stiffness, rest, active, moving,
    free, fixed, known, dt, step_rate, momentum_rate, damping, elasticity, turned, even, rate, addresses, start, end,
    dx, q_end, v_end,
):  # fmt: skip
    """A step without constraint forces by one linear solve: `begin`, A dx = r by Cholesky, and `finish`. Whether A and
    the mass matrix are positive definite and dx is finite, ‖A dx − r‖² and ‖r‖².

    Arguments are those of `begin` and `finish`; `moving` are the unknowns that may move, of all, and `free` the same of
    the active ones. `addresses` are those of LAPACK.
    """
    count, n = len(active), len(free)
    A, r = np.empty((count, count)), np.empty(v.shape)
    begin(
        q, v, gravity, loads, moments, kinds, first, fraction, mu, basis, constrained, stiffness, rest, active, dt,
        step_rate, momentum_rate, damping, elasticity, 1.0, turned, even, False, start, np.empty(len(start)),
        np.empty(q.shape), A, r, r,
    )  # fmt: skip
    L, x, diagonal = np.empty((n, n)), np.empty(n), np.empty(n)
    flat, out = r.reshape(-1), dx.reshape(-1)
    for j in range(n):
        x[j], diagonal[j] = flat[moving[j]], A[free[j], free[j]]
        for i in range(j, n):
            L[j, i] = A[free[i], free[j]]
    if not solve_by_cholesky(addresses, L, x) or not is_sound(L, diagonal):
        return False, 0.0, 0.0
    out[:] = 0.0
    squares = 0.0
    for j in range(n):
        out[moving[j]] = x[j]
        squares += x[j] * x[j]
    error, total = error_squares(A, active, constrained.reshape(-1), flat, out)
    if not np.isfinite(squares):
        return False, error, total
    found = finish(
        q, dx, kinds, first, fraction, mu, basis, active, free, fixed, known, rate, turned, start, end, q_end, v_end
    )  # fmt: skip
    return found, error, total


@inline
def _take_symmetric_part(A):
    for i in range(len(A)):
        for j in range(i):
            A[i, j] = A[j, i] = 0.5 * (A[i, j] + A[j, i])


@inline
def _add_product(A, x, active, r):
    """Out += A x over the active unknowns."""
    for a in range(len(A)):
        total = 0.0
        for b in range(len(A)):
            total += A[a, b] * x[active[b] // 3, active[b] % 3]
        r[active[a] // 3, active[a] % 3] += total
