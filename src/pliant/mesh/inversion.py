"""Kernels for the reference coordinates ξ of a point in a cell: x(ξ) = x, by Newton's method.

A tet4 is affine and takes one step. A tet10 or hex8 starts from its centre; a point far outside a bent cell may have no
solution, which the returned flag says.
"""

from __future__ import annotations

from pliant.core.kernels import inline
from pliant.core.types import FloatArray, IntArray

TET4, TET10, HEX8 = 0, 1, 2
KINDS = {"tet4": TET4, "tet10": TET10, "hex8": HEX8}
_STEPS = 30
"""Most Newton steps; a convergent iteration takes fewer than ten."""
_CONVERGED = 1e-13
"""Change of ξ, no unit, at which the iteration stops: near rounding."""
_TOO_FAR = 20.0
"""Largest |ξ|; cells span 1 or 2, and beyond this the iteration diverges."""


@inline
def fill_shape(kind: int, xi: FloatArray, n: FloatArray, dn: FloatArray) -> None:
    """Write the shape functions n (k,) and their gradients dn (k, 3) at `xi` (3,)."""
    if kind == HEX8:
        for a in range(8):
            sx = 1.0 if a % 4 == 1 or a % 4 == 2 else -1.0
            sy = 1.0 if a % 4 >= 2 else -1.0
            sz = 1.0 if a >= 4 else -1.0
            fx, fy, fz = 0.5 * (1.0 + sx * xi[0]), 0.5 * (1.0 + sy * xi[1]), 0.5 * (1.0 + sz * xi[2])
            n[a] = fx * fy * fz
            dn[a, 0], dn[a, 1], dn[a, 2] = 0.5 * sx * fy * fz, 0.5 * sy * fx * fz, 0.5 * sz * fx * fy
        return
    for a in range(4):
        n[a] = 1.0 - xi[0] - xi[1] - xi[2] if a == 0 else xi[a - 1]
        for j in range(3):
            dn[a, j] = -1.0 if a == 0 else (1.0 if a - 1 == j else 0.0)
    if kind == TET10:
        edge = 4
        for code in (1, 12, 2, 3, 13, 23):  # the edges 01 12 02 03 13 23, two digits each
            a, b = code // 10, code % 10
            n[edge] = 4.0 * n[a] * n[b]
            for j in range(3):
                dn[edge, j] = 4.0 * (n[a] * dn[b, j] + n[b] * dn[a, j])
            edge += 1
        for a in range(4):
            for j in range(3):
                dn[a, j] *= 4.0 * n[a] - 1.0
            n[a] *= 2.0 * n[a] - 1.0


@inline
def fill_jacobian(points: FloatArray, cell: IntArray, dn: FloatArray, jacobian: FloatArray) -> None:
    """Write ∂x/∂ξ (3, 3) of a cell from the gradients dn (k, 3)."""
    for i in range(3):
        for j in range(3):
            total = 0.0
            for a in range(len(cell)):
                total += points[cell[a], i] * dn[a, j]
            jacobian[i, j] = total


@inline
def solve3(m: FloatArray, r: FloatArray, x: FloatArray) -> bool:
    """Write the solution of the 3×3 system m x = r; False where m is singular."""
    c0 = m[1, 1] * m[2, 2] - m[1, 2] * m[2, 1]
    c1 = m[1, 2] * m[2, 0] - m[1, 0] * m[2, 2]
    c2 = m[1, 0] * m[2, 1] - m[1, 1] * m[2, 0]
    determinant = m[0, 0] * c0 + m[0, 1] * c1 + m[0, 2] * c2
    if determinant == 0.0:
        return False
    d0 = m[0, 2] * m[2, 1] - m[0, 1] * m[2, 2]
    d1 = m[0, 0] * m[2, 2] - m[0, 2] * m[2, 0]
    d2 = m[0, 1] * m[2, 0] - m[0, 0] * m[2, 1]
    e0 = m[0, 1] * m[1, 2] - m[0, 2] * m[1, 1]
    e1 = m[0, 2] * m[1, 0] - m[0, 0] * m[1, 2]
    e2 = m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0]
    x[0] = (c0 * r[0] + d0 * r[1] + e0 * r[2]) / determinant
    x[1] = (c1 * r[0] + d1 * r[1] + e1 * r[2]) / determinant
    x[2] = (c2 * r[0] + d2 * r[1] + e2 * r[2]) / determinant
    return True


@inline
def start(kind: int, xi: FloatArray) -> None:
    """Set `xi` (3,) to the centre of the reference element."""
    for i in range(3):
        xi[i] = 0.0 if kind == HEX8 else 0.25


@inline
def invert(
    kind: int,
    points: FloatArray,
    cell: IntArray,
    x: FloatArray,
    xi: FloatArray,
    n: FloatArray,
    dn: FloatArray,
    work: FloatArray,
) -> bool:
    """Improve `xi` (3,) until x(ξ) = `x`, leaving n and dn at the last ξ but one; `work` is (5, 3) scratch."""
    jacobian, residual, change = work[:3], work[3], work[4]
    for _ in range(1 if kind == TET4 else _STEPS):
        fill_shape(kind, xi, n, dn)
        fill_jacobian(points, cell, dn, jacobian)
        for i in range(3):
            residual[i] = x[i]
            for a in range(len(cell)):
                residual[i] -= points[cell[a], i] * n[a]
        if not solve3(jacobian, residual, change):
            return False
        for i in range(3):
            xi[i] += change[i]
        size = max(abs(change[0]), abs(change[1]), abs(change[2]))
        if kind == TET4 or size < _CONVERGED:
            return True
        if max(abs(xi[0]), abs(xi[1]), abs(xi[2])) > _TOO_FAR:
            return False
    return bool(size < 1e-8)  # not converged, but good to half the digits


@inline
def depth(kind: int, xi: FloatArray) -> float:
    """How far `xi` (3,) lies inside the reference element: ≥ 0 inside, in barycentric or half-edge units."""
    if kind == HEX8:
        return float(1.0 - max(abs(xi[0]), abs(xi[1]), abs(xi[2])))
    return float(min(min(xi[0], xi[1]), min(xi[2], 1.0 - xi[0] - xi[1] - xi[2])))
