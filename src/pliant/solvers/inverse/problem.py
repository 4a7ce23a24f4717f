"""The quadratic program with complementarity constraints, and its dimensionless form.

    minimise ½‖E_a x + E_c y + e‖² + ½ xᵀG x                          over x = λ_a, y = λ_c
    subject to   x_lower ≤ x ≤ x_upper,
                 row_lower ≤ R_a x + R_c y + r ≤ row_upper,
                 0 ≤ y ⊥ w = C_a x + W_cc y + c ≥ 0.

With x = D_a x̂, y = σ D_c ŷ and w = σ D_c⁻¹ ŵ every number is of the order of one whatever the units are: D_c gives W_cc
a unit diagonal, D_a the cost of x, and σ is the gap that the contacts have to close.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import Any

import numpy as np

from pliant.core.checks import finite_array
from pliant.core.errors import InputError
from pliant.core.immutable import filled
from pliant.core.kernels import inline, kernel
from pliant.core.types import FloatArray
from pliant.solvers.inverse.quadratic import FREE, limits, symmetric

_INDEFINITE = 1e-9  # an eigenvalue below minus this fraction of the largest is negative


@dataclass(frozen=True, eq=False)
class QpccProblem:
    """A QP over actuator forces x and contact forces y, whose contacts are open or touch. `of` checks the arrays."""

    E_a: FloatArray
    """Displacement of the effectors by x, m/N, (ne, na)."""
    E_c: FloatArray
    """Motion of the effectors by y, m/N, (ne, nc)."""
    e: FloatArray
    """Distance of the effectors from their targets without forces, m, (ne,)."""
    G: FloatArray
    """Weight of the forces, symmetric positive semidefinite, m²/N² (ε W_aa of the paper), (na, na)."""
    x_lower: FloatArray
    """Least x, N, −inf for none, (na,)."""
    x_upper: FloatArray
    """Largest x, N, inf for none, (na,)."""
    R_a: FloatArray
    """Motion of the limited rows by x, m/N, (nr, na)."""
    R_c: FloatArray
    """Motion of the limited rows by y, m/N, (nr, nc)."""
    r: FloatArray
    """Displacement of the limited rows without forces, m, (nr,)."""
    row_lower: FloatArray
    """Least displacement, m, −inf for none; equal to `row_upper` for a hard equality, (nr,)."""
    row_upper: FloatArray
    """Largest displacement, m, inf for none, (nr,)."""
    C_a: FloatArray
    """Motion of the gaps by x, m/N, (nc, na)."""
    W_cc: FloatArray
    """Compliance of the contacts, m/N, symmetric positive semidefinite, (nc, nc)."""
    c: FloatArray
    """Gaps without forces, m, (nc,)."""
    symmetric: bool = True
    """Whether W_cc is symmetric positive semidefinite; else pieces are solved without its Cholesky factor."""

    @classmethod
    def of(
        cls, *, E_a: Any, e: Any, E_c: Any = None, G: Any = None, x_lower: Any = -np.inf, x_upper: Any = np.inf,
        R_a: Any = None, R_c: Any = None, r: Any = None, row_lower: Any = -np.inf, row_upper: Any = np.inf,
        C_a: Any = None, W_cc: Any = None, c: Any = None,
    ) -> QpccProblem:  # fmt: skip
        """A checked problem; what is left out is absent (no contacts, no rows, no weight)."""
        E_a = finite_array("E_a", E_a, shape=(None, None))
        ne, na = E_a.shape
        c = finite_array("c", np.zeros(0) if c is None else c, shape=(None,))
        r = finite_array("r", np.zeros(0) if r is None else r, shape=(None,))
        nc, nr = len(c), len(r)

        def block(name: str, value: Any, *shape: int) -> FloatArray:
            if value is None and shape[0] * shape[1]:
                raise InputError(f"{name} is missing: shape {shape}")
            return finite_array(name, np.zeros(shape) if value is None else value, shape=shape)

        W = block("W_cc", W_cc, nc, nc)
        weight = block("G", np.zeros((na, na)) if G is None else G, na, na)
        low, high = limits("x_lower", x_lower, "x_upper", x_upper, na)
        row_low, row_high = limits("row_lower", row_lower, "row_upper", row_upper, nr)
        return cls(
            E_a=E_a, E_c=block("E_c", E_c, ne, nc), e=finite_array("e", e, shape=(ne,)),
            G=positive_semidefinite("G", weight), x_lower=low, x_upper=high,
            R_a=block("R_a", R_a, nr, na), R_c=block("R_c", R_c, nr, nc), r=r, row_lower=row_low, row_upper=row_high,
            C_a=block("C_a", C_a, nc, na), W_cc=positive_semidefinite("W_cc", W), c=c,
        )  # fmt: skip

    @classmethod
    def of_table(
        cls, table: FloatArray, G: FloatArray, x_lower: FloatArray, x_upper: FloatArray, row_lower: FloatArray,
        row_upper: FloatArray,
    ) -> QpccProblem:  # fmt: skip
        """The problem of a `table` that is known to fit; its parts are views of it."""
        own = {"table": table, "G": G, "x_lower": x_lower, "x_upper": x_upper}
        return filled(_OfTable, {**own, "row_lower": row_lower, "row_upper": row_upper})

    @property
    def actuator_count(self) -> int:
        """na."""
        return self.E_a.shape[1]

    @property
    def contact_count(self) -> int:
        """nc."""
        return len(self.c)

    @cached_property
    def table(self) -> FloatArray:
        """[C_a c W_cc; R_a r R_c; E_a e E_c], each a row over (x, 1, y), (nc + nr + ne, na + 1 + nc); not changed."""
        na, nc, nr = self.actuator_count, self.contact_count, len(self.r)
        table = np.empty((nc + nr + len(self.e), na + 1 + nc))
        for rows, by_x, alone, by_y in (
            (table[:nc], self.C_a, self.c, self.W_cc),
            (table[nc : nc + nr], self.R_a, self.r, self.R_c),
            (table[nc + nr :], self.E_a, self.e, self.E_c),
        ):
            rows[:, :na], rows[:, na], rows[:, na + 1 :] = by_x, alone, by_y
        return table

    def objective(self, x: FloatArray, y: FloatArray) -> float:
        """½‖E_a x + E_c y + e‖² + ½ xᵀG x, m²; x (na,) and y (nc,) in N."""
        rest = self.E_a @ x + self.E_c @ y + self.e
        return float(0.5 * rest @ rest + 0.5 * x @ self.G @ x)

    def gaps(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """w = C_a x + W_cc y + c, m, (nc,); x (na,) and y (nc,) in N."""
        w: FloatArray = self.C_a @ x + self.W_cc @ y + self.c
        return w


class _OfTable(QpccProblem):
    """A problem given by its table; the parts are made when one is first asked for, which most steps do not."""

    def __getattr__(self, name: str) -> Any:
        if name not in _PARTS:
            raise AttributeError(name)
        table, na, nr = self.table, len(self.G), len(self.row_lower)
        nc = table.shape[1] - na - 1
        by_x, alone, by_y = table[:, :na], table[:, na], table[:, na + 1 :]
        contacts, rows, effectors = slice(nc), slice(nc, nc + nr), slice(nc + nr, None)
        self.__dict__.update(
            C_a=by_x[contacts], c=alone[contacts], W_cc=by_y[contacts], R_a=by_x[rows], r=alone[rows], R_c=by_y[rows],
            E_a=by_x[effectors], e=alone[effectors], E_c=by_y[effectors],
        )  # fmt: skip
        return self.__dict__[name]


_PARTS = frozenset(("C_a", "c", "W_cc", "R_a", "r", "R_c", "E_a", "e", "E_c"))


@dataclass(frozen=True, eq=False)
class ScaledProblem:
    """The dimensionless problem and its scales: x = D_a x̂, y = D_y ŷ, w = ŵ / D_w, cost = `cost` · ĉost.

    `rows` (nc + nr + ne, na + 1 + nc) are [Q W; R Rc; E Ec], each a row over (x, 1, y), where `Q` (nc, na + 1) is
    [C_a c], `E` (ne, na + 1) is [E_a e] and `R` (nr, na + 1) is [R_a 0], all scaled; `bounds` (2, na + nr) are the
    limits of x, then of the rows less r, ±1e30 for none.
    """

    rows: FloatArray
    G: FloatArray
    bounds: FloatArray
    D_a: FloatArray
    D_y: FloatArray
    D_w: FloatArray
    cost: float
    symmetric: bool
    row_size: FloatArray

    @property
    def na(self) -> int:
        """Number of actuators."""
        return len(self.D_a)

    @property
    def nc(self) -> int:
        """Number of contacts."""
        return len(self.D_y)

    @property
    def Q(self) -> FloatArray:
        """Gaps of the contacts by (x, 1), (nc, na + 1)."""
        return self.rows[: self.nc, : self.na + 1]

    @cached_property
    def W(self) -> FloatArray:
        """Compliance of the contacts, (nc, nc), of unit diagonal."""
        return np.ascontiguousarray(self.rows[: self.nc, self.na + 1 :])

    @property
    def R(self) -> FloatArray:
        """Limited rows by (x, 1), (nr, na + 1)."""
        return self.rows[self.nc : self.nc + len(self.row_size), : self.na + 1]

    @property
    def Rc(self) -> FloatArray:
        """Limited rows by y, (nr, nc)."""
        return self.rows[self.nc : self.nc + len(self.row_size), self.na + 1 :]

    @property
    def E(self) -> FloatArray:
        """Effectors by (x, 1), (ne, na + 1)."""
        return self.rows[self.nc + len(self.row_size) :, : self.na + 1]

    @property
    def Ec(self) -> FloatArray:
        """Effectors by y, (ne, nc)."""
        return self.rows[self.nc + len(self.row_size) :, self.na + 1 :]

    @property
    def lower(self) -> FloatArray:
        """Least x, then least rows, (na + nr,), −1e30 for none."""
        limits: FloatArray = self.bounds[0]
        return limits

    @property
    def upper(self) -> FloatArray:
        """Largest x, then largest rows, (na + nr,), 1e30 for none."""
        limits: FloatArray = self.bounds[1]
        return limits


def scaled_problem(p: QpccProblem, *, rows_per_contact: int = 1) -> ScaledProblem:
    """The dimensionless form of a checked problem; the rows of one contact share a scale, so cones stay circular."""
    na, nc, nr = p.actuator_count, p.contact_count, len(p.r)
    rows, G, bounds = p.table.copy(), np.array(p.G, order="C"), np.empty((2, na + nr))
    bounds[0, :na], bounds[1, :na], bounds[0, na:], bounds[1, na:] = p.x_lower, p.x_upper, p.row_lower, p.row_upper
    D_a, D_y, D_w, row_size = np.empty(na), np.empty(nc), np.empty(nc), np.empty(nr)
    size = scale_rows(rows, G, bounds, D_a, D_y, D_w, row_size, rows_per_contact)
    return ScaledProblem(rows, G, bounds, D_a, D_y, D_w, size * size, p.symmetric, row_size)


@kernel
def scale_rows(
    rows: FloatArray, G: FloatArray, bounds: FloatArray, D_a: FloatArray, D_y: FloatArray, D_w: FloatArray,
    row_size: FloatArray, each: int,
) -> float:  # fmt: skip
    """Scale everything in place, with `each` rows a contact, and fill the scales; returns the unit of the effectors, m.

    An actuator without a cost of its own is scaled by the gaps that it moves; one that moves nothing stays as it is.
    """
    na, nc, nr = len(D_a), len(D_y), len(row_size)
    first = na + 1
    largest = pressed = distance = reach = levered = total = 0.0
    for i in range(nc):
        diagonal = 0.0
        for j in range(i - i % each, i - i % each + each):
            diagonal += abs(rows[j, first + j]) / each
        D_w[i] = diagonal
        largest = max(largest, diagonal)
    for i in range(nc):
        D_w[i] = 1.0 / sqrt(D_w[i] or largest or 1.0)
        total += (D_w[i] * rows[i, na]) ** 2
        if i % each == 0:
            pressed += (D_w[i] * min(rows[i, na], 0.0)) ** 2
    pressed = sqrt(pressed)
    for i in range(nc + nr, len(rows)):
        distance += rows[i, na] ** 2
        for j in range(nc):
            levered = max(levered, abs(rows[i, first + j] * D_w[j]))
    size = sqrt(distance + (levered * pressed) ** 2)
    for j in range(na):
        D_a[j] = max(G[j, j], 0.0)
        for i in range(nc + nr, len(rows)):
            D_a[j] += rows[i, j] ** 2
    if size == 0.0:  # the effectors are at their targets: the size of the cost at the bounds of x
        for j in range(na):
            for side in range(2):
                if abs(bounds[side, j]) < np.inf:
                    size = max(size, abs(bounds[side, j]) * sqrt(D_a[j]))
        size = size or 1.0
    for j in range(na):
        D_a[j] = size / sqrt(D_a[j]) if D_a[j] > 0.0 else 0.0
        for i in range(nc):
            reach = max(reach, abs(D_w[i] * rows[i, j] * D_a[j]))
    sigma = max(pressed, reach) or sqrt(total) or 1.0
    for j in range(na):
        if D_a[j] == 0.0:
            column = 0.0
            for i in range(nc):
                column = max(column, abs(D_w[i] * rows[i, j]) / sigma)
            D_a[j] = 1.0 / column if column > 0.0 else 1.0
    for i in range(nc):
        D_y[i], D_w[i] = sigma * D_w[i], D_w[i] / sigma
    for i in range(len(rows)):
        row = rows[i]
        unit = D_w[i] if i < nc else 1.0 / size
        if nc <= i < nc + nr:
            unit = _scale_limits(row, D_a, D_y, bounds[:, na + i - nc])
            row_size[i - nc] = 1.0 / unit
        for j in range(na):
            row[j] *= unit * D_a[j]
        row[na] *= unit
        for j in range(nc):
            row[first + j] *= unit * D_y[j]
    for i in range(na):
        for j in range(na):
            G[i, j] *= D_a[i] * (D_a[j] / size**2)
        bounds[0, i], bounds[1, i] = max(bounds[0, i] / D_a[i], -FREE), min(bounds[1, i] / D_a[i], FREE)
    return size


@inline
def _scale_limits(row: FloatArray, D_a: FloatArray, D_y: FloatArray, limits: FloatArray) -> float:
    """Move the displacement of a limited row without forces into its limits, scaled; returns the scale, 1/m."""
    na = len(D_a)
    squares, place = 0.0, row[na]
    for j in range(na):
        squares += (row[j] * D_a[j]) ** 2
    for j in range(len(D_y)):
        squares += (row[na + 1 + j] * D_y[j]) ** 2
    unit = 1.0 / (sqrt(squares) if squares > 0.0 else max(abs(place), 1e-300))
    row[na] = 0.0
    limits[0], limits[1] = max((limits[0] - place) * unit, -FREE), min((limits[1] - place) * unit, FREE)
    return unit


@kernel
def measure(
    table: FloatArray, G: FloatArray, row_lower: FloatArray, row_upper: FloatArray, row_size: FloatArray,
    D_y: FloatArray, D_w: FloatArray, x: FloatArray, y: FloatArray, w: FloatArray,
) -> tuple[float, float]:  # fmt: skip
    """The cost (m²) at x (na,) and y (nc,) of a problem's table, and the largest violation of a limit and of
    min(y, w) = 0, each in its scaled unit; the gaps into w (nc,), m.
    """
    na, nc, nr = len(x), len(y), len(row_size)
    cost = residual = 0.0
    for i in range(len(table)):
        row = table[i]
        value = row[na]
        for j in range(na):
            value += row[j] * x[j]
        for j in range(nc):
            value += row[na + 1 + j] * y[j]
        if i < nc:
            w[i] = value
            residual = max(residual, abs(min(y[i] / D_y[i], value * D_w[i])))
        elif i < nc + nr:
            k = i - nc
            residual = max(residual, (row_lower[k] - value) / row_size[k], (value - row_upper[k]) / row_size[k])
        else:
            cost += 0.5 * value * value
    for i in range(na):
        for j in range(na):
            cost += 0.5 * x[i] * G[i, j] * x[j]
    return cost, residual


def positive_semidefinite(name: str, A: FloatArray) -> FloatArray:
    """A, or an `InputError` where it is not symmetric or has a negative eigenvalue."""
    A = symmetric(name, A)
    if not A.size:
        return A
    try:
        np.linalg.cholesky(A)
        return A
    except np.linalg.LinAlgError:
        values = np.linalg.eigvalsh(A)
    if values[0] < -_INDEFINITE * max(values[-1], -values[0]):
        raise InputError(
            f"{name} must be positive semidefinite, but its eigenvalues go from {values[0]:.3g} to {values[-1]:.3g}; "
            "a compliance H A⁻¹ Hᵀ never has a negative one: check the rows it was made of"
        )
    return A
