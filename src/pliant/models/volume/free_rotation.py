"""Implicit Euler of a free body, with the rotation of its step taken exactly.

Plain implicit Euler moves every point along a straight line and evaluates forces at the end of it: a body that turns by
φ in a step loses φ²/2 of its angular momentum L, and one linear solve takes the rotation for a stretch and loses nearly
all of it. Here the motion of a step is composed of a rotation R about the centre of mass c and of the rest:

    x̂ = c + h v_c + R (r + h w)      r = q − c,  w = v − v_c − ω × r,  ω = I⁻¹ L,  R = exp(hΩ)
    v̂ = v_c + ω̂ × (x̂ − ĉ) + R w      ω̂ = Î⁻¹ L
    M (v⁺ − v′) / h = f(x),           x = x̂ + h (v⁺ − v̂),   v′ = v + δω × (x̂ − ĉ)

Ω is the angular velocity of the step of a body without torque (`models.free_spin`), and δω restores the angular
momentum that v has about the rotated shape; stresses still have to bend the paths of points, so that a spinning body
widens as it should. For the displacement dx of the step this is the residual of plain implicit Euler with another
velocity u in place of v, and an offset o of the velocity after it: M (dx/h − u)/h = f, v⁺ = dx/h + o. Without rotation
u = v and o = 0. A body in free flight without vibration moves exactly; otherwise the order in h is that of implicit
Euler.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pliant.core.kernels import inline, kernel
from pliant.core.spins import cross, rotate
from pliant.core.types import FloatArray
from pliant.models.free_spin import LEAST_ANGLE, free_spin, inertia_of
from pliant.models.scheme import Scheme
from pliant.models.volume.mass import Mass


class FreeRotation(NamedTuple):
    """The rotation of one step: `displacement` (n, 3), m, of the nodes by it about the centre of mass, the
    `velocity` (n, 3), m/s, that replaces v in the residual, the `offset` (n, 3), m/s, of that after the step, and the
    angular `moment` (3,), kg·m²/s, about the centre of mass.
    """

    displacement: FloatArray
    velocity: FloatArray
    offset: FloatArray
    moment: FloatArray

    def velocities(self, x: FloatArray, dx: FloatArray, mass: Mass, dt: float) -> FloatArray:
        """Velocities (n, 3), m/s, after the step to positions x by the displacement dx (n, 3), m.

        δω is found once more, about x: angular momentum then changes by the moment of the forces and by nothing else.
        """
        v = dx / dt + self.offset
        before = mass.apply(self.velocity + self.offset)
        _restore_moment(x, mass.apply(x), before, mass.nodal, self.moment, v)
        return v


def free_rotation(q: FloatArray, v: FloatArray, mass: Mass, dt: float) -> FreeRotation | None:
    """The rotation of a step of `dt` (s) from positions q and velocities v (n, 3); None where the body hardly turns."""
    found = FreeRotation(np.empty(q.shape), np.empty(q.shape), np.empty(q.shape), np.zeros(3))
    turned = _free_rotation(q, v, mass.apply(q), mass.apply(v), mass.nodal, dt, LEAST_ANGLE, *found)
    return found if turned else None


def widening(q: FloatArray, v: FloatArray, mass: Mass, scheme: Scheme) -> FloatArray | None:
    """S (3, 3) by which the shape between the ends of a step is wider than the mean of both; None where the body hardly
    turns.

    The mean of two positions of a point on a circle lies inside of it. Stresses there would be those of a body that is
    compressed by φ²/8, which rings and gains energy. S = s (1 − n nᵀ) + n nᵀ about the axis n of the rotation undoes
    it: forces are S f(S x), so that S K S is symmetric, and the moment about n is that of f.
    """
    p, total = mass.apply(v), mass.nodal.sum()
    r, weighted = q - mass.apply(q).sum(axis=0) / total, mass.apply(q)
    square = r.T @ (weighted - mass.nodal[:, None] * (weighted.sum(axis=0) / total))
    moment = np.cross(r, p - mass.nodal[:, None] * (p.sum(axis=0) / total)).sum(axis=0)
    spin = np.linalg.lstsq(np.trace(square) * np.eye(3) - square, moment, rcond=None)[0]
    rate = float(np.linalg.norm(spin))
    if not rate * scheme.dt > LEAST_ANGLE:
        return None
    turned = [np.exp(2j * np.arctan(0.5 * rate * h)) for h in (scheme.dt, -2.0 * scheme.theta * scheme.dt)]
    inside = abs(1.0 + scheme.theta * (turned[0] - 1.0) - scheme.lag * (1.0 - turned[1]))
    axis = np.outer(spin, spin) / rate**2
    return np.asarray((np.eye(3) - axis) / inside + axis)


def widened(x: FloatArray, S: FloatArray, mass: Mass) -> FloatArray:
    """The shape x (n, 3), m, wider by S about its centre of mass: what the chords of the rotation cut off."""
    centre = mass.apply(x).sum(axis=0) / mass.nodal.sum()
    return np.asarray(centre + (x - centre) @ S)


def without_moment(force: FloatArray, x: FloatArray, mass: FloatArray) -> FloatArray:
    """`force` (n, 3), N, less forces like those of an angular acceleration, so that its moment about the centre of the
    masses (n,), kg, at x (n, 3), m, is zero: S leaves one of order φ² across the axis.
    """
    arms = x - mass @ x / mass.sum()
    moment = np.cross(arms, force).sum(axis=0)
    acceleration = np.linalg.lstsq(inertia_of(arms, mass), moment, rcond=None)[0]
    return np.asarray(force - mass[:, None] * np.cross(acceleration, arms))


@kernel
def _free_rotation(q, v, Mq, Mv, m, h, least, displacement, before, offset, L):  # type: ignore[no-untyped-def]
    total = m.sum()
    c, vc = np.zeros(3), np.zeros(3)
    for n in range(len(q)):
        for i in range(3):
            c[i] += Mq[n, i] / total
            vc[i] += Mv[n, i] / total
    S = np.zeros((3, 3))
    r, p, y, z = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    for n in range(len(q)):
        for i in range(3):
            r[i] = q[n, i] - c[i]
            p[i] = Mv[n, i] - m[n] * vc[i]
            for j in range(3):
                S[i, j] += r[i] * (Mq[n, j] - m[n] * c[j])
        cross(r, p, y)
        L += y
    inverse = np.zeros((3, 3))
    if not _inverse_inertia(S, inverse):
        return False
    w = np.dot(inverse, L)
    if not np.sqrt(np.dot(w, w)) * h > least:
        return False

    R, mean = np.empty((3, 3)), np.empty(3)
    free_spin(inverse, L, h, mean, R)
    S[:] = 0.0
    moment = np.zeros(3)  # of the momenta Mv about the rotated shape
    for n in range(len(q)):
        _rotated(R, c, vc, w, q[n], v[n], 1.0, h, r, y)
        _rotated(R, c, vc, w, Mq[n], Mv[n], m[n], h, p, z)
        for i in range(3):
            z[i] = Mv[n, i] - m[n] * vc[i]
            for j in range(3):
                S[i, j] += r[i] * p[j]
        cross(r, z, y)
        moment += y
    if not _inverse_inertia(S, inverse):
        return False
    after = np.dot(inverse, L)
    restored = np.dot(inverse, L - moment)
    for n in range(len(q)):
        _rotated(R, c, vc, w, q[n], v[n], 1.0, h, r, p)
        cross(after, r, y)
        cross(restored, r, z)
        for i in range(3):
            own = q[n, i] - c[i]
            offset[n, i] = y[i] + p[i] - (r[i] - own) / h
            before[n, i] = v[n, i] + z[i] - offset[n, i]
        for i in range(3):
            p[i] = q[n, i] - c[i]
        rotate(R, p, y)
        for i in range(3):
            displacement[n, i] = y[i] - p[i]
    return True


@kernel
def _restore_moment(x, Mx, p, m, L, v):  # type: ignore[no-untyped-def]
    """V += δω × (x − c), where δω gives the momenta `p` the angular momentum L about the centre of mass c of x."""
    total = m.sum()
    c = np.zeros(3)
    for n in range(len(x)):
        for i in range(3):
            c[i] += Mx[n, i] / total
    S, inverse = np.zeros((3, 3)), np.zeros((3, 3))
    r, y, rest = np.empty(3), np.empty(3), L.copy()
    for n in range(len(x)):
        for i in range(3):
            r[i] = x[n, i] - c[i]
            for j in range(3):
                S[i, j] += r[i] * (Mx[n, j] - m[n] * c[j])
        cross(r, p[n], y)
        rest -= y
    if _inverse_inertia(S, inverse):
        w = np.dot(inverse, rest)
        for n in range(len(x)):
            for i in range(3):
                r[i] = x[n, i] - c[i]
            cross(w, r, y)
            for i in range(3):
                v[n, i] += y[i]


@inline
def _rotated(R, c, vc, w, x, velocity, m, h, position, rest):  # type: ignore[no-untyped-def]
    """position = R (r + h w′) and rest = R w′, with r = x − m c and w′ = velocity − m v_c − w × r."""
    r0, r1, r2 = x[0] - m * c[0], x[1] - m * c[1], x[2] - m * c[2]
    u0 = velocity[0] - m * vc[0] - (w[1] * r2 - w[2] * r1)
    u1 = velocity[1] - m * vc[1] - (w[2] * r0 - w[0] * r2)
    u2 = velocity[2] - m * vc[2] - (w[0] * r1 - w[1] * r0)
    for i in range(3):
        rest[i] = R[i, 0] * u0 + R[i, 1] * u1 + R[i, 2] * u2
        position[i] = R[i, 0] * r0 + R[i, 1] * r1 + R[i, 2] * r2 + h * rest[i]


@inline
def _inverse_inertia(S, inverse):  # type: ignore[no-untyped-def]
    """inverse = (tr S − S)⁻¹ for the second moment S of the masses; False where all of them lie on a line."""
    trace = S[0, 0] + S[1, 1] + S[2, 2]
    J = np.empty((3, 3))
    for i in range(3):
        for j in range(3):
            J[i, j] = -0.5 * (S[i, j] + S[j, i])
        J[i, i] += trace
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        for n in range(3):
            a, b = (n + 1) % 3, (n + 2) % 3
            inverse[i, n] = J[j, a] * J[k, b] - J[j, b] * J[k, a]
    det = J[0, 0] * inverse[0, 0] + J[0, 1] * inverse[0, 1] + J[0, 2] * inverse[0, 2]
    if not det > 1e-12 * trace**3:  # rounding, where the masses lie on a line
        return False
    for i in range(3):
        for j in range(3):
            inverse[i, j] /= det
    return True
