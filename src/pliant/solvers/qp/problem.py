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
from typing import Any

import numpy as np

from pliant.core.checks import finite_array
from pliant.core.errors import InputError
from pliant.core.types import FloatArray
from pliant.solvers.qp.quadratic import FREE, limits, symmetric

_INDEFINITE = 1e-9  # an eigenvalue below minus this fraction of the largest is negative


@dataclass(frozen=True, eq=False)
class QpccProblem:
    """A QP over actuator forces x and contact forces y, whose contacts are open or touch. `of` checks the arrays."""

    E_a: FloatArray
    """Motion of the effectors by x, m/N, (ne, na)."""
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
    """Place of the limited rows without forces, m, (nr,)."""
    row_lower: FloatArray
    """Least place, m, −inf for none; equal to `row_upper` for a hard equality, (nr,)."""
    row_upper: FloatArray
    """Largest place, m, inf for none, (nr,)."""
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
        cls,
        *,
        E_a: Any,
        e: Any,
        E_c: Any = None,
        G: Any = None,
        x_lower: Any = -np.inf,
        x_upper: Any = np.inf,
        R_a: Any = None,
        R_c: Any = None,
        r: Any = None,
        row_lower: Any = -np.inf,
        row_upper: Any = np.inf,
        C_a: Any = None,
        W_cc: Any = None,
        c: Any = None,
    ) -> QpccProblem:
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

    @property
    def actuator_count(self) -> int:
        """na."""
        return self.E_a.shape[1]

    @property
    def contact_count(self) -> int:
        """nc."""
        return len(self.c)

    def objective(self, x: FloatArray, y: FloatArray) -> float:
        """½‖E_a x + E_c y + e‖² + ½ xᵀG x, m²; x (na,) and y (nc,) in N."""
        rest = self.E_a @ x + self.E_c @ y + self.e
        return float(0.5 * rest @ rest + 0.5 * x @ self.G @ x)

    def gaps(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """w = C_a x + W_cc y + c, m, (nc,); x (na,) and y (nc,) in N."""
        w: FloatArray = self.C_a @ x + self.W_cc @ y + self.c
        return w


@dataclass(frozen=True, eq=False)
class ScaledProblem:
    """The dimensionless problem and the way back: x = D_a x̂, y = D_y ŷ, w = ŵ / D_w, cost = `cost` · ĉost.

    `Q` (nc, na + 1) is [C_a c], `E` (ne, na + 1) is [E_a e], `R` (nr, na + 1) is [R_a r], all scaled; `lower` and
    `upper` are (na + nr,), bounds of x then of the rows, ±1e30 for none.
    """

    E: FloatArray
    Ec: FloatArray
    G: FloatArray
    R: FloatArray
    Rc: FloatArray
    Q: FloatArray
    W: FloatArray
    lower: FloatArray
    upper: FloatArray
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


def scaled_problem(p: QpccProblem, *, rows_per_contact: int = 1) -> ScaledProblem:
    """The dimensionless form of a checked problem; the rows of one contact share a scale, so cones stay circular."""
    flat = np.maximum((p.E_a**2).sum(axis=0) + p.G.diagonal(), 0.0)
    diagonal = np.abs(p.W_cc.diagonal())
    if rows_per_contact > 1:
        diagonal = np.repeat(diagonal.reshape(-1, rows_per_contact).mean(axis=1), rows_per_contact)
    diagonal[diagonal == 0.0] = float(diagonal.max(initial=0.0)) or 1.0
    D = 1.0 / np.sqrt(diagonal)
    pressed = float(np.linalg.norm((D * np.minimum(p.c, 0.0))[::rows_per_contact]))
    size = float(np.hypot(np.linalg.norm(p.e), np.abs(p.E_c * D).max(initial=0.0) * pressed)) or _bound_size(p, flat)
    D_a = np.where(flat > 0.0, size / np.sqrt(np.where(flat > 0.0, flat, 1.0)), 0.0)
    reach = float(np.abs(D[:, None] * p.C_a * D_a).max(initial=0.0))
    sigma = max(pressed, reach) or float(np.linalg.norm(D * p.c)) or 1.0
    if not flat.all():
        _scale_flat(D_a, flat, D[:, None] * p.C_a / sigma)
    D_y, D_w = sigma * D, D / sigma
    R_c = p.R_c * D_y
    R = _with_column(p.R_a * D_a, 0.0)
    length = np.sqrt((R**2).sum(axis=1) + (R_c**2).sum(axis=1))
    row_size = np.where(length > 0.0, length, np.maximum(np.abs(p.r), 1e-300))
    row_low, row_high = (p.row_lower - p.r) / row_size, (p.row_upper - p.r) / row_size
    Q = _with_column(p.C_a * D_a, p.c)
    Q *= D_w[:, None]
    E = _with_column(p.E_a * D_a, p.e)
    E *= 1.0 / size
    return ScaledProblem(
        E=E,
        Ec=p.E_c * (D_y / size),
        G=np.ascontiguousarray(p.G * (D_a[:, None] * (D_a / size**2))),
        R=R / row_size[:, None],
        Rc=R_c / row_size[:, None],
        Q=Q,
        W=np.ascontiguousarray(p.W_cc * (D[:, None] * D)),
        lower=np.maximum(np.concatenate([p.x_lower / D_a, row_low]), -FREE),
        upper=np.minimum(np.concatenate([p.x_upper / D_a, row_high]), FREE),
        D_a=D_a, D_y=D_y, D_w=D_w, cost=size * size, symmetric=p.symmetric, row_size=row_size,
    )  # fmt: skip


def _with_column(block: FloatArray, column: Any) -> FloatArray:
    """[block column]."""
    joined = np.empty((len(block), block.shape[1] + 1))
    joined[:, :-1] = block
    joined[:, -1] = column
    return joined


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


def _bound_size(p: QpccProblem, flat: FloatArray) -> float:
    """The size of the cost at the bounds of x, for a problem whose effectors are at their targets."""
    given = np.where(np.isfinite(p.x_lower), np.abs(p.x_lower), 0.0)
    given = np.maximum(given, np.where(np.isfinite(p.x_upper), np.abs(p.x_upper), 0.0))
    return float((given * np.sqrt(flat)).max(initial=0.0)) or 1.0


def _scale_flat(D_a: FloatArray, flat: FloatArray, C: FloatArray) -> None:
    """Actuators without a cost of their own are scaled by the gaps they move; those that move nothing stay at 1."""
    column = np.abs(C).max(axis=0, initial=0.0)
    for j in np.flatnonzero(flat <= 0.0):
        D_a[j] = 1.0 / column[j] if column[j] > 0.0 else 1.0
