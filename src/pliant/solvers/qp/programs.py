"""Kernels of a piece: the factor of its contacts, its QP, and contact forces and multipliers from the QP's answer.

A call from Python costs about 50 ns for each array, as much as some of the work here: the arrays of a problem, of a
factor and of a QP therefore lie in one buffer each, `given`, `state` and `out`, and kernels cut their views out of it.
"""

from __future__ import annotations

import numpy as np

from pliant.core.kernels import inline, kernel
from pliant.core.types import BoolArray, FloatArray, IndexArray, IntArray
from pliant.solvers.qp.factor import append_row, delete_row
from pliant.solvers.qp.problem import ScaledProblem
from pliant.solvers.qp.quadratic import FREE

OPEN, BASE, DEPENDENT, UNDECIDED = 0, 1, 2, 3
"""Kinds of contacts: y = 0; w = 0 and eliminated; w = 0 with y a variable; y ≥ 0 and w ≥ 0 with y a variable."""
VIOLATION = 1e-8
"""The largest violation of a scaled constraint that counts as satisfied."""
_ZERO = 1e-9  # coefficients of a redundant row below this are zero


def packed(p: ScaledProblem) -> FloatArray:
    """All arrays of a scaled problem in one buffer, in the order in which `_given` cuts them out."""
    parts = (p.E, p.Ec, p.G, p.R, p.Rc, p.Q, p.W, p.lower, p.upper)
    return np.concatenate([part.ravel() for part in parts])


def sizes(p: ScaledProblem) -> tuple[int, int, int, int]:
    """(na, nc, ne, nr)."""
    return p.na, p.nc, len(p.E), len(p.R)


@inline
def _given(buffer: FloatArray, shape: tuple[int, int, int, int]) -> tuple[FloatArray, ...]:
    """E, Ec, G, R, Rc, Q, W, lower, upper."""
    na, nc, ne, nr = shape
    a = ne * (na + 1)
    b = a + ne * nc
    c = b + na * na
    d = c + nr * (na + 1)
    e = d + nr * nc
    f = e + nc * (na + 1)
    g = f + nc * nc
    h = g + na + nr
    return (
        buffer[:a].reshape(ne, na + 1),
        buffer[a:b].reshape(ne, nc),
        buffer[b:c].reshape(na, na),
        buffer[c:d].reshape(nr, na + 1),
        buffer[d:e].reshape(nr, nc),
        buffer[e:f].reshape(nc, na + 1),
        buffer[f:g].reshape(nc, nc),
        buffer[g:h],
        buffer[h:],
    )


@inline
def _state(buffer: FloatArray, na: int, nc: int) -> tuple[FloatArray, FloatArray]:
    """L (nc, nc) and V (na + 1, nc)."""
    return buffer[: nc * nc].reshape(nc, nc), buffer[nc * nc :].reshape(na + 1, nc)


@kernel
def enter_contact(
    given: FloatArray, shape: tuple[int, int, int, int], state: FloatArray, base: IndexArray, k: int, i: int
) -> bool:
    """Append contact i to the factor of `base[:k]`; False where it depends on them."""
    _, _, _, _, _, Q, W, _, _ = _given(given, shape)
    L, V = _state(state, shape[0], shape[1])
    return append_row(W, Q, L, V, base, k, i)  # type: ignore[no-any-return]


@kernel
def leave_contact(shape: tuple[int, int, int, int], state: FloatArray, base: IndexArray, k: int, i: int) -> None:
    """Take contact i out of the factor of `base[:k]`."""
    L, V = _state(state, shape[0], shape[1])
    delete_row(L, V, base, k, i)


@kernel
def enter_contacts(
    given: FloatArray,
    shape: tuple[int, int, int, int],
    state: FloatArray,
    base: IndexArray,
    active: BoolArray,
    kind: IndexArray,
) -> int:
    """The factor of all `active` contacts from nothing, and the kinds of all; returns k."""
    _, _, _, _, _, Q, W, _, _ = _given(given, shape)
    L, V = _state(state, shape[0], shape[1])
    k = 0
    for i in range(len(active)):
        kind[i] = OPEN
        if active[i]:
            kind[i] = DEPENDENT
            if append_row(W, Q, L, V, base, k, i):
                kind[i] = BASE
                k += 1
    return k


@kernel
def touching_forces(
    given: FloatArray,
    shape: tuple[int, int, int, int],
    state: FloatArray,
    base: IndexArray,
    k: int,
    gaps: FloatArray,
    y: FloatArray,
) -> float:
    """y (nc,) that closes the contacts of the factor; returns the least of its forces and of the gaps it leaves."""
    _, _, _, _, _, _, W, _, _ = _given(given, shape)
    L, _ = _state(state, shape[0], shape[1])
    least = np.inf
    for a in range(k):
        value = -gaps[base[a]]
        for b in range(a):
            value -= L[a, b] * y[base[b]]
        y[base[a]] = value / L[a, a]
    for a in range(k - 1, -1, -1):
        y[base[a]] /= L[a, a]
        value = y[base[a]]
        least = min(least, value)
        for b in range(a):
            y[base[b]] -= L[a, b] * value
    for i in range(len(gaps)):
        value = gaps[i]
        inside = False
        for a in range(k):
            value += W[i, base[a]] * y[base[a]]
            inside |= base[a] == i
        if not inside:
            least = min(least, value)
    return least


@inline
def _program(
    buffer: FloatArray, n: int, m: int, nc: int
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    """H (n, n), f (n,), A (m, n), lower and upper (n + m,), Y (n + 1, nc)."""
    a = n * n
    b = a + n
    c = b + m * n
    d = c + n + m
    e = d + n + m
    return (
        buffer[:a].reshape(n, n),
        buffer[a:b],
        buffer[b:c].reshape(m, n),
        buffer[c:d],
        buffer[d:e],
        buffer[e:].reshape(n + 1, nc),
    )


@kernel
def reduced_program(
    given: FloatArray, shape: tuple[int, int, int, int], state: FloatArray, base: IndexArray, k: int, kind: IndexArray,
    extra: IndexArray, out: FloatArray, sense: IntArray,
) -> bool:  # fmt: skip
    """Fill the QP in (x, y_X); False where a contact or row that nothing moves shows that the piece is empty.

    Variables: x, then the forces of `extra`. Rows: one for each contact (its y where it is eliminated, else its w),
    then the limited rows. Y (n + 1, k), transposed, maps (x, y_X, 1) to y_B.
    """
    E, Ec, G, R, Rc, Q, W, x_lower, x_upper = _given(given, shape)
    na, nc, _, nr = shape
    L, V = _state(state, na, nc)
    nx = len(extra)
    n = na + nx
    H, f, A, lower, upper, Y = _program(out, n, nc + nr, nc)
    _contact_map(L, V, W, base, k, extra, Y)
    row, weight = np.empty(n + 1), np.empty(nc)
    for j in range(na):
        lower[j], upper[j], sense[j] = x_lower[j], x_upper[j], 5 if x_lower[j] == x_upper[j] else 0
    for j in range(na, n):
        lower[j], upper[j], sense[j] = 0.0, FREE, 0
    for a in range(k):
        i = base[a]
        for j in range(n):
            A[i, j] = Y[j, a]
        lower[n + i], upper[n + i], sense[n + i] = -Y[n, a], FREE, 0
    for i in range(nc):
        if kind[i] == BASE:
            continue
        largest = _mapped(Q[i], W[i], base, k, Y, extra, weight, row)
        if kind[i] == DEPENDENT:
            largest = 0.0
            for j in range(n):
                if abs(row[j]) <= _ZERO:
                    row[j] = 0.0
                largest = max(largest, abs(row[j]))
        for j in range(n):
            A[i, j] = row[j]
        low, high, equal = -row[n], FREE, 0
        if kind[i] == DEPENDENT:
            high, equal = low, 5
        if largest == 0.0:
            if low > VIOLATION or high < -VIOLATION:
                return False
            low, high, equal = -FREE, FREE, 0
        lower[n + i], upper[n + i], sense[n + i] = low, high, equal
    for i in range(nr):
        largest = _mapped(R[i], Rc[i], base, k, Y, extra, weight, row)
        for j in range(n):
            A[nc + i, j] = row[j]
        low, high = x_lower[na + i], x_upper[na + i]
        if largest <= 1e-14:
            if row[n] < low - VIOLATION or row[n] > high + VIOLATION:
                return False
            low, high = -FREE, FREE
        equal = 5 if low == high else 0
        low = low - row[n] if low > -FREE else low
        high = high - row[n] if high < FREE else high
        lower[n + nc + i], upper[n + nc + i], sense[n + nc + i] = low, high, equal
    _cost(E, Ec, G, base, k, Y, extra, weight, row, H, f)
    return True


@inline
def _contact_map(
    L: FloatArray, V: FloatArray, W: FloatArray, base: IndexArray, k: int, extra: IndexArray, Y: FloatArray
) -> None:
    """Y = −L⁻ᵀ L⁻¹ [C_B W_BX c_B], transposed."""
    na, nx = len(V) - 1, len(extra)
    n = na + nx
    for j in range(na):
        for a in range(k):
            Y[j, a] = -V[j, a]
    for a in range(k):
        Y[n, a] = -V[na, a]
    for j in range(nx):
        column = Y[na + j]
        for a in range(k):
            value = -W[base[a], extra[j]]
            for b in range(a):
                value -= L[a, b] * column[b]
            column[a] = value / L[a, a]
    for j in range(n + 1):
        column = Y[j]
        for a in range(k - 1, -1, -1):
            row = L[a]
            value = column[a] / row[a]
            column[a] = value
            for b in range(a):
                column[b] -= value * row[b]


@inline
def _mapped(
    given: FloatArray, by_contacts: FloatArray, base: IndexArray, k: int, Y: FloatArray, extra: IndexArray,
    weight: FloatArray, row: FloatArray,
) -> float:  # fmt: skip
    """A row over (x, 1) and all contact forces as a row over (x, y_X, 1); returns its largest entry, 1 left out."""
    na, nx = len(given) - 1, len(extra)
    n = na + nx
    for j in range(na):
        row[j] = given[j]
    for j in range(nx):
        row[na + j] = by_contacts[extra[j]]
    row[n] = given[na]
    for a in range(k):
        weight[a] = by_contacts[base[a]]
    largest = 0.0
    for j in range(n + 1):
        column = Y[j]
        value = row[j]
        for a in range(k):
            value += weight[a] * column[a]
        row[j] = value
        if j < n:
            largest = max(largest, abs(value))
    return largest


@inline
def _cost(
    E: FloatArray, Ec: FloatArray, G: FloatArray, base: IndexArray, k: int, Y: FloatArray, extra: IndexArray,
    weight: FloatArray, row: FloatArray, H: FloatArray, f: FloatArray,
) -> None:  # fmt: skip
    """H and f of the cost on the piece."""
    n, na = len(H), len(G)
    for a in range(n):
        f[a] = 0.0
        for b in range(n):
            H[a, b] = G[a, b] if a < na and b < na else 0.0
    for i in range(len(E)):
        _mapped(E[i], Ec[i], base, k, Y, extra, weight, row)
        for a in range(n):
            f[a] += row[a] * row[n]
            for b in range(n):
                H[a, b] += row[a] * row[b]


@kernel
def recover_point(
    given: FloatArray, shape: tuple[int, int, int, int], state: FloatArray, base: IndexArray, k: int, kind: IndexArray,
    extra: IndexArray, out: FloatArray, z: FloatArray, duals: FloatArray, contacts: FloatArray,
) -> tuple[float, float]:  # fmt: skip
    """y, w, nu and mu into the first rows of `contacts` (5, nc); returns the cost and the largest violation.

    The multipliers satisfy E_cᵀ(E_a x + E_c y + e) + R_cᵀ rho − nu − Wᵀ mu = 0: those that the reduced QP hides follow
    from it.
    """
    E, Ec, G, _, Rc, _, W, _, _ = _given(given, shape)
    na, nc, _, nr = shape
    L, _ = _state(state, na, nc)
    nx = len(extra)
    n = na + nx
    _, _, A, lower, upper, _ = _program(out, n, nc + nr, nc)
    y, w, nu, mu, t = contacts[0], contacts[1], contacts[2], contacts[3], contacts[4]
    violation = 0.0
    for j in range(n):
        violation = max(violation, lower[j] - z[j], z[j] - upper[j])
    for i in range(len(A)):
        value = 0.0
        for j in range(n):
            value += A[i, j] * z[j]
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
    for j in range(nx):
        y[extra[j]] = max(z[na + j], 0.0)
        nu[extra[j]] = -duals[na + j]
    cost = 0.0
    for i in range(len(E)):
        rest = E[i, na]
        for j in range(na):
            rest += E[i, j] * z[j]
        for j in range(nc):
            rest += Ec[i, j] * y[j]
        cost += 0.5 * rest * rest
        for j in range(nc):
            t[j] += Ec[i, j] * rest
    for i in range(na):
        for j in range(na):
            cost += 0.5 * z[i] * G[i, j] * z[j]
    for i in range(nr):
        rho = duals[n + nc + i]
        if rho != 0.0:
            for j in range(nc):
                t[j] += rho * Rc[i, j]
    _hidden_multipliers(L, W, base, k, kind, nu, mu, t)
    return cost, violation


@inline
def _hidden_multipliers(
    L: FloatArray, W: FloatArray, base: IndexArray, k: int, kind: IndexArray, nu: FloatArray, mu: FloatArray,
    t: FloatArray,
) -> None:  # fmt: skip
    """mu of the eliminated contacts from W_BB mu_B = (t − Wᵀ mu − nu)_B, then nu = t − Wᵀ mu of the open ones."""
    nc = len(kind)
    for i in range(nc):
        if mu[i] != 0.0:
            for j in range(nc):
                t[j] -= mu[i] * W[i, j]
    for a in range(k):
        value = t[base[a]] - nu[base[a]]
        for b in range(a):
            value -= L[a, b] * mu[base[b]]
        mu[base[a]] = value / L[a, a]
    for a in range(k - 1, -1, -1):
        mu[base[a]] /= L[a, a]
        value = mu[base[a]]
        for b in range(a):
            mu[base[b]] -= L[a, b] * value
    for a in range(k):
        value = mu[base[a]]
        for j in range(nc):
            t[j] -= value * W[base[a], j]
    for i in range(nc):
        if kind[i] == OPEN:
            nu[i] = t[i]
