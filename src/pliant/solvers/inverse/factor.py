"""The Cholesky factor of the touching contacts, updated when one contact is added or taken out.

L Lᵀ = W_BB for the independent touching contacts B (in the order in which they came), and V = L⁻¹ [C_a c]_B is kept
beside it. Adding a contact appends a row to both in O(k²); taking one out deletes its row of L and turns the rest back
to triangular form by Givens rotations, which V follows (Golub and Van Loan, "Matrix Computations", 3rd ed., ch. 12.5).
Both cost O(k²) where a new factor costs O(k³). A contact whose pivot vanishes depends on the others: it is not put in.
"""

from __future__ import annotations

from math import sqrt

from pliant.core.kernels import kernel
from pliant.core.types import FloatArray, IndexArray

DEPENDENT = 1e-10
"""A squared pivot below this depends on the contacts before, for compliances of unit diagonal."""


@kernel
def append_row(rows: FloatArray, state: FloatArray, base: IndexArray, k: int, i: int) -> bool:
    """Row k of L and column k of V for contact i; False, with nothing changed that counts, where it depends on others.

    `rows` (≥ nc, na + 1 + nc) starts with [C_a c W]; `state` (nc + na + 1, nc) holds L, then V transposed: its rows are
    then read in the order of L's.
    """
    nc = state.shape[1]
    columns = len(state) - nc
    source, row = rows[i], state[k]
    rest = source[columns + i]
    for a in range(k):
        value = source[columns + base[a]]
        above = state[a]
        for b in range(a):
            value -= above[b] * row[b]
        row[a] = value / above[a]
        rest -= row[a] * row[a]
    if rest <= DEPENDENT:
        return False
    row[k] = sqrt(rest)
    for j in range(columns):
        value = source[j]
        column = state[nc + j]
        for a in range(k):
            value -= row[a] * column[a]
        column[k] = value / row[k]
    base[k] = i
    return True


@kernel
def delete_row(state: FloatArray, base: IndexArray, k: int, i: int) -> None:
    """Take contact i out of the factor of `base[:k]`."""
    p = 0
    while base[p] != i:
        p += 1
    for a in range(p, k - 1):
        base[a] = base[a + 1]
        source, target = state[a + 1], state[a]
        for b in range(a + 2):
            target[b] = source[b]
    for a in range(p, k - 1):  # row a now ends at column a + 1: rotate columns a, a + 1
        x, y = state[a, a], state[a, a + 1]
        length = sqrt(x * x + y * y)
        cosine, sine = x / length, y / length
        state[a, a] = length
        for b in range(a + 1, k - 1):
            u, v = state[b, a], state[b, a + 1]
            state[b, a] = cosine * u + sine * v
            state[b, a + 1] = cosine * v - sine * u
        for j in range(state.shape[1], len(state)):
            u, v = state[j, a], state[j, a + 1]
            state[j, a] = cosine * u + sine * v
            state[j, a + 1] = cosine * v - sine * u
