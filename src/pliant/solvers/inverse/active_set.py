"""Strictly convex QPs of a few variables, by the dual active-set method of Goldfarb and Idnani.

    minimise ½ xᵀH x + fᵀx   subject to   lower ≤ (x, A x) ≤ upper

With H = L Lᵀ and z = Lᵀx + L⁻¹f this is the point z of least length between pairs of parallel planes. From z = 0 the
most violated plane is added, planes whose multiplier would change its sign are dropped on the way, and the length grows
strictly until nothing is violated (D. Goldfarb, A. Idnani, "A numerically stable dual method for solving strictly
convex quadratic programs", Mathematical Programming 27, 1983). There are at most n planes in the set, so their Gram
matrix is factorized anew at each change: for the few actuators of a robot that is quicker than any update.

Only what can be trusted is answered: a flat cost, planes that almost coincide and problems without a feasible point are
left to the caller, who has daqp for them.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from pliant.core.kernels import inline
from pliant.core.types import FloatArray, IndexArray
from pliant.solvers.inverse.quadratic import FREE

_FLAT = 1e-10  # a pivot of H below this fraction of its diagonal is a flat direction
_SHORT = 1e-9  # a row of this length, in units of z, is rounding
_PRIMAL = 1e-11  # a violation below this is rounding, for planes of unit normals
_PARALLEL = 1e-12  # the squared sine of the angle between a plane and those of the set below which it depends on them
_NEGATIVE = -1e-13  # a multiplier above this is not negative


@inline
def least_cost(table: FloatArray, limits: FloatArray, z: FloatArray, duals: FloatArray) -> bool:
    """x into z (n,), the multipliers of all limits into `duals` (n + m,); False where nothing can be said.

    `table` (n + m + 1, n) holds H, then A, then f; `limits` (2, n + m). H x + f + duals · (I, A) = 0: multipliers are
    positive at upper limits and negative at lower ones.
    """
    n, count = table.shape[1], limits.shape[1]
    L, shift = np.empty((n, n)), np.empty(n)
    if not _factor(table, L, shift):
        return False
    planes, low, high, length = np.empty((count, n)), np.empty(count), np.empty(count), np.empty(count)
    if not _planes(table, limits, L, shift, planes, low, high, length):
        return False
    chosen, side, force = np.empty(n, np.int64), np.empty(n), np.empty(n + 1)
    k = _shortest(planes, low, high, z, chosen, side, force)
    if k < 0:
        return False
    for i in range(count):
        duals[i] = 0.0
    for a in range(k):
        duals[chosen[a]] = -side[a] * force[a] / length[chosen[a]]
    for j in range(n - 1, -1, -1):  # x = L⁻ᵀ (z − L⁻¹f)
        value = z[j] - shift[j]
        for i in range(j + 1, n):
            value -= L[i, j] * z[i]
        z[j] = value / L[j, j]
    return True


@inline
def _factor(table: FloatArray, L: FloatArray, shift: FloatArray) -> bool:
    """L of H and L⁻¹f into `shift`; False where a direction is flat."""
    n = table.shape[1]
    f = table[len(table) - 1]
    for i in range(n):
        for j in range(i + 1):
            value = table[i, j]
            for a in range(j):
                value -= L[i, a] * L[j, a]
            if i > j:
                L[i, j] = value / L[j, j]
            elif value > _FLAT * table[i, i]:
                L[i, i] = sqrt(value)
            else:
                return False
        value = f[i]
        for a in range(i):
            value -= L[i, a] * shift[a]
        shift[i] = value / L[i, i]
    return True


@inline
def _planes(
    table: FloatArray, limits: FloatArray, L: FloatArray, shift: FloatArray, planes: FloatArray, low: FloatArray,
    high: FloatArray, length: FloatArray,
) -> bool:  # fmt: skip
    """Limits as planes of unit normals in z; False where a row without length is violated."""
    n = table.shape[1]
    for i in range(len(planes)):
        normal = planes[i]
        normal[:] = 0.0
        low[i], high[i], length[i] = -FREE, FREE, 1.0
        if limits[0, i] <= -FREE and limits[1, i] >= FREE:
            continue
        squares = offset = 0.0
        for j in range(n):
            value = (1.0 if i == j else 0.0) if i < n else table[i, j]
            for a in range(j):
                value -= L[j, a] * normal[a]
            value /= L[j, j]
            normal[j] = value
            squares += value * value
            offset += value * shift[j]
        size = sqrt(squares)
        if size <= _SHORT:
            if limits[0, i] > _SHORT or limits[1, i] < -_SHORT:
                return False
            normal[:] = 0.0
            continue
        length[i] = size
        for j in range(n):
            normal[j] /= size
        if limits[0, i] > -FREE:
            low[i] = (limits[0, i] + offset) / size
        if limits[1, i] < FREE:
            high[i] = (limits[1, i] + offset) / size
    return True


@inline
def _shortest(
    planes: FloatArray, low: FloatArray, high: FloatArray, z: FloatArray, chosen: IndexArray, side: FloatArray,
    force: FloatArray,
) -> int:  # fmt: skip
    """The shortest z between the planes, those that hold it, their sides (1 below, −1 above) and their forces; returns
    how many they are, −1 where nothing can be said.
    """
    count, n = planes.shape
    F, share, away = np.empty((n, n)), np.empty(n), np.empty(n)
    inside = np.zeros(count, np.bool_)
    k = 0
    z[:] = 0.0
    for _ in range(10 * (n + 1) + count):
        worst, p, sign = _PRIMAL, -1, 1.0
        for i in range(count):
            if inside[i]:
                continue
            value = 0.0
            for j in range(n):
                value += planes[i, j] * z[j]
            excess, upper = low[i] - value, value - high[i]
            if low[i] == high[i]:  # equalities come first, the others must not drive them out
                excess, upper = excess * FREE, upper * FREE
            if excess > worst:
                worst, p, sign = excess, i, 1.0
            if upper > worst:
                worst, p, sign = upper, i, -1.0
        if p < 0:
            return _settled(planes, low, high, z, chosen, side, force, F, k)  # type: ignore[no-any-return]
        added = 0.0
        while True:
            _project(planes, chosen, side, k, F, planes[p], sign, share, away)
            square = gap = 0.0
            for j in range(n):
                square += away[j] * away[j]
                gap += planes[p, j] * z[j]
            gap = (low[p] - gap) if sign > 0.0 else (gap - high[p])
            leaves, longest = -1, np.inf
            for a in range(k):
                free = low[chosen[a]] < high[chosen[a]]
                if free and share[a] > 1e-14 and force[a] < longest * share[a]:
                    leaves, longest = a, force[a] / share[a]
            step = gap / square if square > _PARALLEL and k < n else np.inf
            taken = min(step, longest)
            if taken == np.inf:
                return -1
            added += taken
            for a in range(k):
                force[a] -= taken * share[a]
            if step < np.inf:
                for j in range(n):
                    z[j] += taken * away[j]
            if step <= longest:
                break
            inside[chosen[leaves]] = False
            k -= 1
            for a in range(leaves, k):
                chosen[a], side[a], force[a] = chosen[a + 1], side[a + 1], force[a + 1]
            if not _gram(planes, chosen, side, k, F):
                return -1
        chosen[k], side[k], force[k] = p, sign, added
        inside[p] = True
        k += 1
        if not _gram(planes, chosen, side, k, F):
            return -1
    return -1


@inline
def _gram(planes: FloatArray, chosen: IndexArray, side: FloatArray, k: int, F: FloatArray) -> bool:
    """The Cholesky factor of the Gram matrix of the chosen normals; False where they depend on each other."""
    n = planes.shape[1]
    for a in range(k):
        for b in range(a + 1):
            value = 0.0
            for j in range(n):
                value += planes[chosen[a], j] * planes[chosen[b], j]
            value *= side[a] * side[b]
            for c in range(b):
                value -= F[a, c] * F[b, c]
            if a > b:
                F[a, b] = value / F[b, b]
            elif value > 0.5 * _PARALLEL:
                F[a, a] = sqrt(value)
            else:
                return False
    return True


@inline
def _solve_gram(F: FloatArray, k: int, x: FloatArray) -> None:
    for a in range(k):
        value = x[a]
        for b in range(a):
            value -= F[a, b] * x[b]
        x[a] = value / F[a, a]
    for a in range(k - 1, -1, -1):
        value = x[a]
        for b in range(a + 1, k):
            value -= F[b, a] * x[b]
        x[a] = value / F[a, a]


@inline
def _project(
    planes: FloatArray, chosen: IndexArray, side: FloatArray, k: int, F: FloatArray, normal: FloatArray, sign: float,
    share: FloatArray, away: FloatArray,
) -> None:  # fmt: skip
    """`sign` × `normal` as Σ share × the chosen normals + what is `away` from them all."""
    n = planes.shape[1]
    for a in range(k):
        value = 0.0
        for j in range(n):
            value += planes[chosen[a], j] * normal[j]
        share[a] = side[a] * sign * value
    _solve_gram(F, k, share)
    for j in range(n):
        value = sign * normal[j]
        for a in range(k):
            value -= share[a] * side[a] * planes[chosen[a], j]
        away[j] = value


@inline
def _settled(
    planes: FloatArray, low: FloatArray, high: FloatArray, z: FloatArray, chosen: IndexArray, side: FloatArray,
    force: FloatArray, F: FloatArray, k: int,
) -> int:  # fmt: skip
    """k, with z and the forces computed anew from the chosen planes; −1 where they do not hold after that."""
    n = planes.shape[1]
    for a in range(k):
        force[a] = low[chosen[a]] if side[a] > 0.0 else -high[chosen[a]]
    _solve_gram(F, k, force)
    for j in range(n):
        z[j] = 0.0
        for a in range(k):
            z[j] += side[a] * force[a] * planes[chosen[a], j]
    size = 0.0
    for a in range(k):
        size = max(size, abs(force[a]))
    for a in range(k):
        if low[chosen[a]] < high[chosen[a]] and force[a] < _NEGATIVE * (1.0 + size):
            return -1
    for i in range(len(planes)):
        value = 0.0
        for j in range(n):
            value += planes[i, j] * z[j]
        if low[i] - value > 10.0 * _PRIMAL or value - high[i] > 10.0 * _PRIMAL:
            return -1
    return k
