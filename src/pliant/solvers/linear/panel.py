"""Dense kernels on one panel of the factor: factorization, and substitution with one right-hand side.

A panel is a lower trapezoid of `height` rows and k columns, column-major with leading dimension `ld`, at an offset of
the factor's storage. Columns are taken three at a time, as nodes have three or six, so that a load feeds several
multiply–adds; on panels of a few dozen columns this is faster than LAPACK's potrf with BLAS's trsm. Wider panels
are cut into strips that meet through one matrix product each (left-looking blocked Cholesky).

Inner loops run over slices from zero: only then does Numba drop the test for negative indices and LLVM vectorize.
"""

from __future__ import annotations

import math

from pliant.core.kernels import inline
from pliant.core.types import FloatArray
from pliant.solvers.linear.blas import STRIP, Blas, address, subtract_product


@inline
def _pivot_fails(pivot: float, scale: float, tolerance: float) -> bool:
    """Whether a pivot is negative, NaN, infinite, or so small against the diagonal of A that it is only rounding."""
    return not (pivot > tolerance * scale and pivot > 0.0 and pivot < 1e300)


@inline
def _eliminate_one(panels: FloatArray, at: int, height: int, scale: FloatArray, first: int, tolerance: float) -> int:
    """Divide one column by the root of its pivot; 0 where the pivot fails, else −1."""
    if _pivot_fails(panels[at], scale[first], tolerance):
        return 0
    root = math.sqrt(panels[at])
    inverse = 1.0 / root
    panels[at] = root
    column = panels[at + 1 : at + height]
    for i in range(len(column)):
        column[i] *= inverse
    return -1


@inline
def _eliminate_three(
    panels: FloatArray, at: int, ld: int, height: int, scale: FloatArray, first: int, tolerance: float
) -> int:
    """Cholesky of a trapezoid of three columns; the column whose pivot fails, or −1."""
    b = at + ld
    c = b + ld
    pivot_a = panels[at]
    if _pivot_fails(pivot_a, scale[first], tolerance):
        return 0
    root_a = math.sqrt(pivot_a)
    aa = 1.0 / root_a
    ba = panels[at + 1] * aa
    ca = panels[at + 2] * aa
    pivot_b = panels[b + 1] - ba * ba
    if _pivot_fails(pivot_b, scale[first + 1], tolerance):
        return 1
    root_b = math.sqrt(pivot_b)
    bb = 1.0 / root_b
    cb = (panels[b + 2] - ca * ba) * bb
    pivot_c = panels[c + 2] - ca * ca - cb * cb
    if _pivot_fails(pivot_c, scale[first + 2], tolerance):
        return 2
    root_c = math.sqrt(pivot_c)
    cc = 1.0 / root_c
    panels[at] = root_a
    panels[at + 1] = ba
    panels[at + 2] = ca
    panels[b + 1] = root_b
    panels[b + 2] = cb
    panels[c + 2] = root_c
    x = panels[at + 3 : at + height]
    y = panels[b + 3 : b + height]
    z = panels[c + 3 : c + height]
    for i in range(len(x)):
        x_i = x[i] * aa
        y_i = (y[i] - x_i * ba) * bb
        z[i] = (z[i] - x_i * ca - y_i * cb) * cc
        y[i] = y_i
        x[i] = x_i
    return -1


@inline
def _update_two(panels: FloatArray, at: int, ld: int, column: int, height: int) -> None:
    """Subtract from the columns `column` and `column` + 1 what three eliminated columns at `at` contribute."""
    b = at + ld
    c = b + ld
    p = at + column * ld
    ap = panels[at + column]
    bp = panels[b + column]
    cp = panels[c + column]
    aq = panels[at + column + 1]
    bq = panels[b + column + 1]
    cq = panels[c + column + 1]
    x = panels[at + column : at + height]
    y = panels[b + column : b + height]
    z = panels[c + column : c + height]
    left = panels[p + column : p + height]
    right = panels[p + ld + column : p + ld + height]
    for i in range(len(x)):
        left[i] -= x[i] * ap + y[i] * bp + z[i] * cp
        right[i] -= x[i] * aq + y[i] * bq + z[i] * cq


@inline
def _update_one(panels: FloatArray, at: int, count: int, ld: int, column: int, height: int) -> None:
    """Subtract from `column` what `count` eliminated columns at `at` contribute."""
    p = at + column * ld
    target = panels[p + column : p + height]
    for j in range(count):
        source = panels[at + j * ld + column : at + j * ld + height]
        factor = source[0]
        for i in range(len(target)):
            target[i] -= factor * source[i]


@inline
def factorize_strip(
    panels: FloatArray, at: int, ld: int, height: int, k: int, scale: FloatArray, first: int, tolerance: float
) -> int:
    """Cholesky of a trapezoid of few columns; the column whose pivot fails, or −1."""
    j = 0
    while j < k:
        corner = at + j * ld + j
        left = k - j
        count = 3 if left >= 3 else 1
        if count == 3:
            failed = _eliminate_three(panels, corner, ld, height - j, scale, first + j, tolerance)
        else:
            failed = _eliminate_one(panels, corner, height - j, scale, first + j, tolerance)
        if failed >= 0:
            return int(j + failed)
        column = count
        while count == 3 and column + 1 < left:
            _update_two(panels, corner, ld, column, height - j)
            column += 2
        while column < left:
            _update_one(panels, corner, count, ld, column, height - j)
            column += 1
        j += count
    return -1


@inline
def factorize_panel(
    lib: Blas, panels: FloatArray, at: int, ld: int, height: int, k: int, scale: FloatArray, first: int,
    tolerance: float,
) -> int:  # fmt: skip
    """Cholesky of a panel in place; the column whose pivot fails, or −1.

    `scale[first + j]` is the diagonal entry of A of column j: a pivot ≤ tolerance × scale counts as failed.
    """
    strips = (k + STRIP - 1) // STRIP
    width = (k + strips - 1) // strips
    begin = address(panels) + 8 * at
    j = 0
    while j < k:
        count = min(width, k - j)
        if j > 0:
            rows = begin + 8 * j
            subtract_product(lib, height - j, count, j, rows, ld, rows, ld, True, rows + 8 * j * ld, ld)
        failed = factorize_strip(panels, at + j * ld + j, ld, height - j, count, scale, first + j, tolerance)
        if failed >= 0:
            return int(j + failed)
        j += count
    return -1


@inline
def solve_lower(panels: FloatArray, at: int, height: int, k: int, x: FloatArray) -> None:
    """Forward substitution through a panel: x[:k] is solved, x[k:height] reduced."""
    j = 0
    while j + 3 <= k:
        a = at + j * height
        b = a + height
        c = b + height
        x0 = x[j] / panels[a + j]
        x1 = (x[j + 1] - panels[a + j + 1] * x0) / panels[b + j + 1]
        x2 = (x[j + 2] - panels[a + j + 2] * x0 - panels[b + j + 2] * x1) / panels[c + j + 2]
        x[j] = x0
        x[j + 1] = x1
        x[j + 2] = x2
        j += 3
        rest = x[j:height]
        p = panels[a + j : b]
        q = panels[b + j : c]
        r = panels[c + j : c + height]
        for i in range(len(rest)):
            rest[i] -= p[i] * x0 + q[i] * x1 + r[i] * x2
    while j < k:
        a = at + j * height
        x0 = x[j] / panels[a + j]
        x[j] = x0
        j += 1
        rest = x[j:height]
        p = panels[a + j : a + height]
        for i in range(len(rest)):
            rest[i] -= p[i] * x0


@inline
def solve_upper(panels: FloatArray, at: int, height: int, k: int, x: FloatArray) -> None:
    """Backward substitution through a panel: x[:k] from itself and the known x[k:height]."""
    j = k
    while j % 3 != 0:
        j -= 1
        a = at + j * height
        rest = x[j + 1 : height]
        p = panels[a + j + 1 : a + height]
        total = 0.0
        for i in range(len(rest)):
            total += p[i] * rest[i]
        x[j] = (x[j] - total) / panels[a + j]
    while j > 0:
        rest = x[j:height]
        a = at + (j - 3) * height
        b = a + height
        c = b + height
        p = panels[a + j : b]
        q = panels[b + j : c]
        r = panels[c + j : c + height]
        s0 = 0.0
        s1 = 0.0
        s2 = 0.0
        for i in range(len(rest)):
            s0 += p[i] * rest[i]
            s1 += q[i] * rest[i]
            s2 += r[i] * rest[i]
        j -= 3
        x2 = (x[j + 2] - s2) / panels[c + j + 2]
        x1 = (x[j + 1] - s1 - panels[b + j + 2] * x2) / panels[b + j + 1]
        x[j] = (x[j] - s0 - panels[a + j + 1] * x1 - panels[a + j + 2] * x2) / panels[a + j]
        x[j + 1] = x1
        x[j + 2] = x2


@inline
def solve_lower_four(
    panels: FloatArray, at: int, height: int, k: int, x: FloatArray, y: FloatArray, z: FloatArray, w: FloatArray
) -> None:
    """`solve_lower` of four vectors at once."""
    for j in range(0, k - k % 3, 3):
        a = at + j * height
        b = a + height
        c = b + height
        aa, bb, cc = panels[a + j], panels[b + j + 1], panels[c + j + 2]
        ab, ac, bc = panels[a + j + 1], panels[a + j + 2], panels[b + j + 2]
        x0, y0, z0, w0 = x[j] / aa, y[j] / aa, z[j] / aa, w[j] / aa
        x1, y1 = (x[j + 1] - ab * x0) / bb, (y[j + 1] - ab * y0) / bb
        z1, w1 = (z[j + 1] - ab * z0) / bb, (w[j + 1] - ab * w0) / bb
        x2, y2 = (x[j + 2] - ac * x0 - bc * x1) / cc, (y[j + 2] - ac * y0 - bc * y1) / cc
        z2, w2 = (z[j + 2] - ac * z0 - bc * z1) / cc, (w[j + 2] - ac * w0 - bc * w1) / cc
        x[j], x[j + 1], x[j + 2] = x0, x1, x2
        y[j], y[j + 1], y[j + 2] = y0, y1, y2
        z[j], z[j + 1], z[j + 2] = z0, z1, z2
        w[j], w[j + 1], w[j + 2] = w0, w1, w2
        left = height - j - 3
        p, q, r = panels[a + j + 3 : b], panels[b + j + 3 : c], panels[c + j + 3 : c + height]
        xs, ys, zs, ws = x[j + 3 : height], y[j + 3 : height], z[j + 3 : height], w[j + 3 : height]
        for i in range(left):
            u, v, t = p[i], q[i], r[i]
            xs[i] -= u * x0 + v * x1 + t * x2
            ys[i] -= u * y0 + v * y1 + t * y2
            zs[i] -= u * z0 + v * z1 + t * z2
            ws[i] -= u * w0 + v * w1 + t * w2
    for j in range(k - k % 3, k):
        a = at + j * height
        x0, y0, z0, w0 = x[j] / panels[a + j], y[j] / panels[a + j], z[j] / panels[a + j], w[j] / panels[a + j]
        x[j], y[j], z[j], w[j] = x0, y0, z0, w0
        p = panels[a + j + 1 : a + height]
        xs, ys, zs, ws = x[j + 1 : height], y[j + 1 : height], z[j + 1 : height], w[j + 1 : height]
        for i in range(len(p)):
            u = p[i]
            xs[i] -= u * x0
            ys[i] -= u * y0
            zs[i] -= u * z0
            ws[i] -= u * w0
