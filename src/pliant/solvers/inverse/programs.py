"""Kernels of a piece: the factor of its contacts, its QP, and contact forces and multipliers from the QP's answer.

`piece_minimum` does all of it in one call where the QP is strictly convex; what it leaves open goes to daqp.

A call from Python costs about 50 ns for each array, as much as some of the work here, so arrays are kept together:

    rows    (nc + nr + ne, na + 1 + nc)   [C_a c W_cc; R_a r R_c; E_a e E_c], each a row over (x, 1, y)
    state   (nc + na + 1, nc)             L, then V = L⁻¹ [C_a c]_B transposed
    marks   (2, nc)                       the kind of each contact; the contacts B of the factor in its order
    table   (n + m + 1, n)                H, then A, then f of the QP
    limits  (2, n + m)                    its limits, of the variables first
"""

from __future__ import annotations

import numpy as np

from pliant.core.kernels import inline, kernel
from pliant.core.types import BoolArray, FloatArray, IndexArray, IntArray
from pliant.solvers.inverse.active_set import least_cost
from pliant.solvers.inverse.factor import append_row
from pliant.solvers.inverse.quadratic import FREE

OPEN, BASE, DEPENDENT, UNDECIDED = 0, 1, 2, 3
"""Kinds of contacts: y = 0; w = 0 and eliminated; w = 0 with y a variable; y ≥ 0 and w ≥ 0 with y a variable."""
VIOLATION = 1e-8
"""The largest violation of a scaled constraint that counts as satisfied."""
EMPTY, FOUND, UNSOLVED = 0, 1, 2
"""What `piece_minimum` says: the piece is empty; its minimum is found; its QP is written down, but not solved."""
_ZERO = 1e-9  # coefficients of a redundant row below this are zero


@kernel
def enter_contacts(rows: FloatArray, state: FloatArray, marks: IndexArray, active: BoolArray) -> int:
    """The factor of all `active` contacts from nothing, and the kinds of all; returns k."""
    kind, base = marks[0], marks[1]
    k = 0
    for i in range(len(active)):
        kind[i] = OPEN
        if active[i]:
            kind[i] = DEPENDENT
            if append_row(rows, state, base, k, i):
                kind[i] = BASE
                k += 1
    return k


@kernel
def touching_forces(
    rows: FloatArray, state: FloatArray, marks: IndexArray, k: int, gaps: FloatArray, y: FloatArray
) -> float:
    """y (k,) that closes the contacts B, in their order; returns the least of its forces and of the gaps it leaves."""
    kind, base = marks[0], marks[1]
    nc = len(gaps)
    first = rows.shape[1] - nc
    for a in range(k):
        y[a] = -gaps[base[a]]
    _solve(state, k, y)
    least = np.inf
    for a in range(k):
        least = min(least, y[a])
    for i in range(nc):
        if kind[i] != BASE:
            value = gaps[i]
            for a in range(k):
                value += rows[i, first + base[a]] * y[a]
            least = min(least, value)
    return least


@inline
def _solve(state: FloatArray, k: int, x: FloatArray) -> None:
    """x := L⁻ᵀ L⁻¹ x."""
    for a in range(k):
        row = state[a]
        value = x[a]
        for b in range(a):
            value -= row[b] * x[b]
        x[a] = value / row[a]
    _solve_transposed(state, k, x)


@inline
def _solve_transposed(state: FloatArray, k: int, x: FloatArray) -> None:
    """x := L⁻ᵀ x."""
    for a in range(k - 1, -1, -1):
        row = state[a]
        value = x[a] / row[a]
        x[a] = value
        for b in range(a):
            x[b] -= value * row[b]


@kernel
def piece_minimum(
    rows: FloatArray, G: FloatArray, bounds: FloatArray, state: FloatArray, marks: IndexArray, k: int,
    extra: IndexArray, table: FloatArray, limits: FloatArray, sense: IntArray, Y: FloatArray, z: FloatArray,
    duals: FloatArray, contacts: FloatArray,
) -> tuple[int, float, float]:  # fmt: skip
    """The minimum on a piece: what is known, its cost, and the largest violation; see `reduced_program` and
    `recover_point`.
    """
    if not reduced_program(rows, G, bounds, state, marks, k, extra, table, limits, sense, Y):
        return EMPTY, np.inf, 0.0
    if len(extra) or not least_cost(table, limits, z, duals):  # forces as variables have a flat cost
        return UNSOLVED, np.inf, 0.0
    cost, violation = recover_point(rows, G, state, marks, k, extra, table, limits, z, duals, contacts)
    return FOUND, cost, violation


@inline
def reduced_program(
    rows: FloatArray, G: FloatArray, bounds: FloatArray, state: FloatArray, marks: IndexArray, k: int,
    extra: IndexArray, table: FloatArray, limits: FloatArray, sense: IntArray, Y: FloatArray,
) -> bool:  # fmt: skip
    """Fill the QP in (x, y_X); False where a contact or row that nothing moves shows that the piece is empty.

    Variables: x, then the forces of `extra`. Rows: one for each contact (its y where it is eliminated, else its w),
    then the limited rows. Y (n + 2, nc): its first n + 1 rows map (x, y_X, 1) to y_B, transposed; the last is scratch.
    `bounds` (2, na + nr) are the limits of x and of the rows.
    """
    kind, base = marks[0], marks[1]
    na, nc, n = len(G), len(kind), table.shape[1]
    nr = bounds.shape[1] - na
    lower, upper = limits[0], limits[1]
    _contact_map(rows, state, base, k, extra, Y)
    row = np.empty(n + 1)
    for j in range(na):
        lower[j], upper[j] = bounds[0, j], bounds[1, j]
        sense[j] = 5 if lower[j] == upper[j] else 0
    for j in range(na, n):
        lower[j], upper[j], sense[j] = 0.0, FREE, 0
    for a in range(k):
        i = base[a]
        for j in range(n):
            table[n + i, j] = Y[j, a]
        lower[n + i], upper[n + i], sense[n + i] = -Y[n, a], FREE, 0
    for i in range(nc):
        if kind[i] == BASE:
            continue
        largest = _mapped(rows[i], na, base, k, Y, extra, row)
        if kind[i] == DEPENDENT:
            largest = 0.0
            for j in range(n):
                if abs(row[j]) <= _ZERO:
                    row[j] = 0.0
                largest = max(largest, abs(row[j]))
        for j in range(n):
            table[n + i, j] = row[j]
        low, high, equal = -row[n], FREE, 0
        if kind[i] == DEPENDENT:
            high, equal = low, 5
        if largest == 0.0:
            if low > VIOLATION or high < -VIOLATION:
                return False
            low, high, equal = -FREE, FREE, 0
        lower[n + i], upper[n + i], sense[n + i] = low, high, equal
    for i in range(nr):
        largest = _mapped(rows[nc + i], na, base, k, Y, extra, row)
        at = n + nc + i
        for j in range(n):
            table[at, j] = row[j]
        low, high = bounds[0, na + i], bounds[1, na + i]
        if largest <= 1e-14:
            if row[n] < low - VIOLATION or row[n] > high + VIOLATION:
                return False
            low, high = -FREE, FREE
        sense[at] = 5 if low == high else 0
        lower[at] = low - row[n] if low > -FREE else low
        upper[at] = high - row[n] if high < FREE else high
    f = table[len(table) - 1]
    for a in range(n):
        f[a] = 0.0
        for b in range(n):
            table[a, b] = G[a, b] if a < na and b < na else 0.0
    for i in range(nc + nr, len(rows)):
        _mapped(rows[i], na, base, k, Y, extra, row)
        for a in range(n):
            f[a] += row[a] * row[n]
            for b in range(n):
                table[a, b] += row[a] * row[b]
    return True


@inline
def _contact_map(
    rows: FloatArray, state: FloatArray, base: IndexArray, k: int, extra: IndexArray, Y: FloatArray
) -> None:
    """Y = −L⁻ᵀ L⁻¹ [C_B W_BX c_B], transposed."""
    nc = state.shape[1]
    na, nx = len(state) - nc - 1, len(extra)
    n = na + nx
    for j in range(na + 1):
        source, target = state[nc + j], Y[j if j < na else n]
        for a in range(k):
            target[a] = -source[a]
    for j in range(nx):
        column = Y[na + j]
        for a in range(k):
            value = -rows[base[a], na + 1 + extra[j]]
            row = state[a]
            for b in range(a):
                value -= row[b] * column[b]
            column[a] = value / row[a]
    j = 0
    while j + 4 <= n + 1:  # four at a time: a row of L is read once for all
        y0, y1, y2, y3 = Y[j], Y[j + 1], Y[j + 2], Y[j + 3]
        for a in range(k - 1, -1, -1):
            row = state[a]
            inverse = 1.0 / row[a]
            v0, v1, v2, v3 = y0[a] * inverse, y1[a] * inverse, y2[a] * inverse, y3[a] * inverse
            y0[a], y1[a], y2[a], y3[a] = v0, v1, v2, v3
            for b in range(a):
                y0[b] -= v0 * row[b]
                y1[b] -= v1 * row[b]
                y2[b] -= v2 * row[b]
                y3[b] -= v3 * row[b]
        j += 4
    while j <= n:
        _solve_transposed(state, k, Y[j])
        j += 1


@inline
def _mapped(
    source: FloatArray, na: int, base: IndexArray, k: int, Y: FloatArray, extra: IndexArray, row: FloatArray
) -> float:
    """A row over (x, 1, y) as a row over (x, y_X, 1); returns its largest entry, that of 1 left out."""
    nx = len(extra)
    n = na + nx
    for j in range(na):
        row[j] = source[j]
    for j in range(nx):
        row[na + j] = source[na + 1 + extra[j]]
    row[n] = source[na]
    weight = Y[n + 1]
    for a in range(k):
        weight[a] = source[na + 1 + base[a]]
    j = 0
    while j + 4 <= n + 1:
        y0, y1, y2, y3 = Y[j], Y[j + 1], Y[j + 2], Y[j + 3]
        v0, v1, v2, v3 = row[j], row[j + 1], row[j + 2], row[j + 3]
        for a in range(k):
            share = weight[a]
            v0 += share * y0[a]
            v1 += share * y1[a]
            v2 += share * y2[a]
            v3 += share * y3[a]
        row[j], row[j + 1], row[j + 2], row[j + 3] = v0, v1, v2, v3
        j += 4
    while j <= n:
        column, value = Y[j], row[j]
        for a in range(k):
            value += weight[a] * column[a]
        row[j] = value
        j += 1
    largest = 0.0
    for j in range(n):
        largest = max(largest, abs(row[j]))
    return largest


@kernel
def recover_point(
    rows: FloatArray, G: FloatArray, state: FloatArray, marks: IndexArray, k: int, extra: IndexArray,
    table: FloatArray, limits: FloatArray, z: FloatArray, duals: FloatArray, contacts: FloatArray,
) -> tuple[float, float]:  # fmt: skip
    """y, w, nu and mu into the first rows of `contacts` (6, nc); returns the cost and the largest violation.

    The multipliers satisfy E_cᵀ(E_a x + E_c y + e) + R_cᵀ rho − nu − Wᵀ mu = 0: those that the reduced QP hides follow
    from it.
    """
    kind, base = marks[0], marks[1]
    na, nc, n = len(G), len(kind), len(z)
    m = len(duals) - n
    first = na + 1
    lower, upper = limits[0], limits[1]
    y, w, nu, mu, t = contacts[0], contacts[1], contacts[2], contacts[3], contacts[4]
    violation = 0.0
    for j in range(n):
        violation = max(violation, lower[j] - z[j], z[j] - upper[j])
    for i in range(m):
        value = 0.0
        for j in range(n):
            value += table[n + i, j] * z[j]
        violation = max(violation, lower[n + i] - value, value - upper[n + i])
        if i < nc:
            value -= lower[n + i] if lower[n + i] > -FREE else 0.0
            y[i] = w[i] = nu[i] = mu[i] = t[i] = 0.0
            if kind[i] == BASE:
                y[i], nu[i] = max(value, 0.0), -duals[n + i]
            else:
                mu[i] = -duals[n + i]
                if kind[i] != DEPENDENT:
                    w[i] = max(value, 0.0)
    for j in range(n - na):
        y[extra[j]] = max(z[na + j], 0.0)
        nu[extra[j]] = -duals[na + j]
    cost = 0.0
    for i in range(m, len(rows)):
        row = rows[i]
        rest = row[na]
        for j in range(na):
            rest += row[j] * z[j]
        for j in range(nc):
            rest += row[first + j] * y[j]
        cost += 0.5 * rest * rest
        for j in range(nc):
            t[j] += row[first + j] * rest
    for i in range(na):
        for j in range(na):
            cost += 0.5 * z[i] * G[i, j] * z[j]
    for i in range(nc, m):
        if duals[n + i] != 0.0:
            for j in range(nc):
                t[j] += duals[n + i] * rows[i, first + j]
    _hidden_multipliers(rows, first, state, base, k, kind, contacts)
    return cost, violation


@inline
def _hidden_multipliers(
    rows: FloatArray, first: int, state: FloatArray, base: IndexArray, k: int, kind: IndexArray, contacts: FloatArray
) -> None:
    """mu of the eliminated contacts from W_BB mu_B = (t − Wᵀ mu − nu)_B, then nu = t − Wᵀ mu of the open ones."""
    nu, mu, t, mu_B = contacts[2], contacts[3], contacts[4], contacts[5]
    nc = len(kind)
    for i in range(nc):
        if mu[i] != 0.0:
            row = rows[i]
            for j in range(nc):
                t[j] -= mu[i] * row[first + j]
    for a in range(k):
        mu_B[a] = t[base[a]] - nu[base[a]]
    _solve(state, k, mu_B)
    for a in range(k):
        value, row = mu_B[a], rows[base[a]]
        mu[base[a]] = value
        for j in range(nc):
            t[j] -= value * row[first + j]
    for i in range(nc):
        if kind[i] == OPEN:
            nu[i] = t[i]
