"""Kernels that build the QPCC of an inverse: the role of each row, and the blocks taken from W."""

from __future__ import annotations

from math import sqrt

import numpy as np

from pliant.core.kernels import inline, kernel
from pliant.core.types import FloatArray, IndexArray, IntArray
from pliant.solvers.contact.laws import BOX, CONE, EQUALITY, GIVEN, classify
from pliant.solvers.inverse.energy import ENERGY, paper_weight

_OPEN, _SINGLE, _CONE, _ZERO, _GIVEN = 0, 1, 2, 3, 4  # roles of a row: unknown, δ ≥ 0, friction cone, δ = 0, λ given


@kernel
def sort_rows(
    law: IntArray, mu: FloatArray, lower: FloatArray, upper: FloatArray, target: FloatArray, delta_free: FloatArray,
    W: FloatArray, actuators: IndexArray, first: int, order: IndexArray, q: FloatArray, lam: FloatArray,
) -> tuple[int, int, int, int]:  # fmt: skip
    """Sort rows by their role in an inverse: actuators and effectors, contacts, contacts with friction, δ = 0.

    The columns `law` to `delta_free` (m,) and W (m, m) are those of `MixedProblem`; `actuators` are the rows of the
    actuators, and all rows from `first` on belong to effectors. Fills `order` (m,) with the rows by role, `lam` (m,) N
    with given forces and the lower bounds of boxes, relative to which their forces are found, and q (m,) with the gaps
    under these forces, less the targets, m. Returns the number of rows of each role; the first is −1 where a row has an
    upper bound or one that depends on other forces, which an inverse cannot treat.
    """
    m = len(law)
    role, part, low, high = np.empty(m, np.int8), np.empty(m, np.int8), np.empty(m), np.empty(m)
    classify(law, mu, lower, upper, target, role, lam, low, high)
    part[first:] = _OPEN
    lam[first:] = 0.0
    for i in range(first):
        if role[i] == GIVEN:
            part[i] = _GIVEN
        elif role[i] == EQUALITY:
            part[i] = _ZERO
        elif role[i] == CONE:
            part[i] = _CONE
        else:
            part[i] = _SINGLE if role[i] == BOX and high[i] == np.inf else -1
            lam[i] = low[i]
    for i in actuators:
        part[i], lam[i] = _OPEN, 0.0
    for i in range(m):
        if part[i] < 0:
            return -1, 0, 0, 0
    for i in range(m):
        q[i] = delta_free[i] - (0.0 if part[i] == _OPEN or part[i] == _GIVEN else target[i])
    for j in range(m):
        if lam[j] != 0.0:
            for i in range(m):
                q[i] += W[i, j] * lam[j]
    counts = np.zeros(4, np.int64)
    place = 0
    for wanted in (_OPEN, _SINGLE, _CONE, _ZERO):
        for i in range(m):
            if part[i] == wanted:
                order[place] = i
                place += 1
                counts[wanted] += 1
    return counts[_OPEN], counts[_SINGLE], counts[_CONE], counts[_ZERO]


@kernel
def fill_problem(
    W: FloatArray, q: FloatArray, B: FloatArray, actuators: IndexArray, contacts: IndexArray, limited: IndexArray,
    effectors: IndexArray, weights: FloatArray, epsilon: float, of_one_kind: bool, table: FloatArray, G: FloatArray,
) -> None:  # fmt: skip
    """Fill `QpccProblem.table` and G from W (m, m), q (m,) and the responses B (m, supports) to unit displacements.

    The index arrays are rows of W: those whose forces are x, the contacts, limited rows, and the effectors, with the
    square roots of their weights. `epsilon` (m/N) is the weight of the energy, NaN for the paper's.
    """
    na, nc, moved = len(actuators), len(contacts), B.shape[1]
    first = na + moved + 1
    for k in range(len(table)):
        weight = 1.0
        if k < nc:
            i = contacts[k]
        elif k < nc + len(limited):
            i = limited[k - nc]
        else:
            i, weight = effectors[k - nc - len(limited)], weights[k - nc - len(limited)]
        row, source = table[k], W[i]
        for j in range(na):
            row[j] = weight * source[actuators[j]]
        for j in range(moved):
            row[na + j] = weight * B[i, j]
        row[first - 1] = weight * q[i]
        for j in range(nc):
            row[first + j] = weight * source[contacts[j]]
    for k in range(nc):
        for j in range(k):
            table[k, first + j] = table[j, first + k] = 0.5 * (table[k, first + j] + table[j, first + k])
    _energy(W, actuators, table[nc + len(limited) :], epsilon, of_one_kind, G)


@inline
def _energy(
    W: FloatArray, actuators: IndexArray, E: FloatArray, epsilon: float, of_one_kind: bool, G: FloatArray
) -> None:
    """G of the mechanical work ½ ε λᵀ W_aa λ, with a small weight on the motion of supports."""
    na, total = len(actuators), len(G)
    D = np.ones(na)
    G[:] = 0.0
    for i in range(na):
        diagonal = W[actuators[i], actuators[i]]
        if not of_one_kind and diagonal > 0.0:
            D[i] = 1.0 / sqrt(diagonal)
    if np.isnan(epsilon):
        epsilon = paper_weight(W, actuators, E, D)
    for i in range(na):
        for j in range(na):
            G[i, j] = 0.5 * epsilon * (W[actuators[i], actuators[j]] + W[actuators[j], actuators[i]])
    for i in range(na, total):
        for k in range(len(E)):
            G[i, i] += ENERGY * E[k, i] * E[k, i]
