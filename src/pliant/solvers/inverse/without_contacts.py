"""The inverse of a robot that touches nothing: one quadratic program, scaled, solved and measured in one pass."""

from __future__ import annotations

import numpy as np

from pliant.core.immutable import fresh
from pliant.core.kernels import kernel
from pliant.core.types import FloatArray
from pliant.solvers.inverse.problem import QpccProblem, measure, scale_rows
from pliant.solvers.inverse.programs import FOUND, VIOLATION, piece_minimum
from pliant.solvers.inverse.result import QpccResult, QpccStatus

_NOTHING: FloatArray = np.zeros(0)
_NO_CONTACT = np.zeros(0, np.bool_)


def solve_without_contacts(p: QpccProblem) -> QpccResult | None:
    """The global minimum of a problem without contacts; None where the quick method finds none, or nothing feasible."""
    x, scaled = np.empty(len(p.G)), np.empty(len(p.G))
    given: tuple[FloatArray, ...] = p.table, p.G, p.x_lower, p.x_upper, p.row_lower, p.row_upper
    if not all([each.flags.c_contiguous for each in given]):
        given = tuple([np.ascontiguousarray(each) for each in given])
    found, objective, residual = _minimum(*given, x, scaled)
    if not found:
        return None
    return fresh(
        QpccResult, x=x, y=_NOTHING, w=_NOTHING, objective=objective, lower_bound=objective, status=QpccStatus.GLOBAL,
        residual=residual, iterations=1, active=_NO_CONTACT, path=(((), scaled),),
    )  # fmt: skip


@kernel
def _minimum(
    table: FloatArray, G: FloatArray, x_lower: FloatArray, x_upper: FloatArray, row_lower: FloatArray,
    row_upper: FloatArray, x: FloatArray, free: FloatArray,
) -> tuple[bool, float, float]:  # fmt: skip
    """Whether a minimum was found, its cost (m²) and residual; x (na,) within its limits, and as found into `free`."""
    na, nr = len(x), len(row_lower)
    rows, weight, bounds = table.copy(), G.copy(), np.empty((2, na + nr))
    for j in range(na):
        bounds[0, j], bounds[1, j] = x_lower[j], x_upper[j]
    for j in range(nr):
        bounds[0, na + j], bounds[1, na + j] = row_lower[j], row_upper[j]
    D_a, D_y, D_w, row_size = np.empty(na), np.empty(0), np.empty(0), np.empty(nr)
    scale_rows(rows, weight, bounds, D_a, D_y, D_w, row_size, 1)
    program, limits, sense = np.empty((na + nr + 1, na)), np.empty((2, na + nr)), np.zeros(na + nr, np.int32)
    state, marks, extra = np.empty((na + 1, 0)), np.zeros((2, 0), np.int64), np.zeros(0, np.int64)
    z, duals, contacts, Y = np.empty(na), np.empty(na + nr), np.empty((6, 0)), np.empty((na + 2, 0))
    answer, _, violation = piece_minimum(
        rows, weight, bounds, state, marks, 0, extra, program, limits, sense, Y, z, duals, contacts
    )
    if answer != FOUND or violation > VIOLATION:
        return False, np.inf, np.inf
    for j in range(na):
        free[j] = D_a[j] * z[j]
        x[j] = min(max(free[j], x_lower[j]), x_upper[j])
    cost, residual = measure(table, G, row_lower, row_upper, row_size, D_y, D_w, x, np.empty(0), np.empty(0))
    return True, cost, residual
