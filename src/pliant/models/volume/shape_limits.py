"""How far the integration points of a volume are from shapes that its elements cannot follow, in one pass."""

from __future__ import annotations

from math import sqrt

import numpy as np

from pliant.core.kernels import inline, kernel
from pliant.models.volume.assembly import deformation_gradient
from pliant.models.volume.volume_law import cofactor

FLAT = 0.01
"""Fraction of its volume at the ends of a path below which a point counts as flattened on it."""


@inline
def _determinant(a, b, c, d, e, f, g, h, i):
    return a * (e * i - f * h) + b * (f * g - d * i) + c * (d * h - e * g)


@kernel
def least_determinant(q, nodes, ptr, G):
    """The smallest det F of the points; inputs as of `largest_square`.

    Every dynamic step asks for it. F of a tetrahedron is the product of its edges and of three gradients, whose
    determinants are cheaper than the sum over its nodes; unsigned indices spare the test for negative ones.
    """
    least = np.inf
    for p in range(len(ptr) - 1):
        start, stop = ptr[p], ptr[p + 1]
        if stop - start == 4:
            m, n = np.uint32(nodes[start]), np.uint32(nodes[start + 1])
            x, y, z = q[m, 0], q[m, 1], q[m, 2]
            a, b, c = q[n, 0] - x, q[n, 1] - y, q[n, 2] - z
            m, n = np.uint32(nodes[start + 2]), np.uint32(nodes[start + 3])
            d, e, f = q[m, 0] - x, q[m, 1] - y, q[m, 2] - z
            g, h, i = q[n, 0] - x, q[n, 1] - y, q[n, 2] - z
            u, v, w = G[start + 1], G[start + 2], G[start + 3]
            J = _determinant(a, b, c, d, e, f, g, h, i)
            J *= _determinant(u[0], u[1], u[2], v[0], v[1], v[2], w[0], w[1], w[2])
        else:
            a = b = c = d = e = f = g = h = i = 0.0
            for k in range(start, stop):
                n = np.uint32(nodes[k])
                x, y, z = q[n, 0], q[n, 1], q[n, 2]
                a, b, c = a + x * G[k, 0], b + x * G[k, 1], c + x * G[k, 2]
                d, e, f = d + y * G[k, 0], e + y * G[k, 1], f + y * G[k, 2]
                g, h, i = g + z * G[k, 0], h + z * G[k, 1], i + z * G[k, 2]
            J = _determinant(a, b, c, d, e, f, g, h, i)
        least = min(least, J)
    return least


@kernel
def end_of_step(q, dx, rate, nodes, ptr, G, x, v):
    """Positions x := q + dx (n, 3) and velocities v := rate × dx (n, 3) at the end of a step; the smallest det F there.
    Other inputs as of `largest_square`.
    """
    for k in range(len(q)):
        for c in range(3):
            x[k, c] = q[k, c] + dx[k, c]
            v[k, c] = rate * dx[k, c]
    return least_determinant(x, nodes, ptr, G)


@kernel
def folded_cells(q, cells):
    """How many of the tetrahedra `cells` (m, 4) with corners at q (n, 3), m, have no positive volume."""
    count = 0
    for m in range(cells.shape[0]):
        n = np.uint32(cells[m, 0])
        x, y, z = q[n, 0], q[n, 1], q[n, 2]
        n = np.uint32(cells[m, 1])
        a, b, c = q[n, 0] - x, q[n, 1] - y, q[n, 2] - z
        n = np.uint32(cells[m, 2])
        d, e, f = q[n, 0] - x, q[n, 1] - y, q[n, 2] - z
        n = np.uint32(cells[m, 3])
        g, h, i = q[n, 0] - x, q[n, 1] - y, q[n, 2] - z
        if _determinant(a, b, c, d, e, f, g, h, i) <= 0.0:
            count += 1
    return count


@kernel
def largest_square(q, nodes, ptr, G):
    """The largest F:F of the points, the sum of the squares of its stretches.

    Inputs are the nodes' positions q (n, 3), m, and, for point p, entries ptr[p]:ptr[p+1] of `nodes` and of the
    gradients G of their shape functions, 1/m.
    """
    largest = 0.0
    F = np.empty((3, 3))
    for p in range(len(ptr) - 1):
        deformation_gradient(q, nodes, G, ptr[p], ptr[p + 1], F)
        square = 0.0
        for i in range(3):
            square += F[i, 0] * F[i, 0] + F[i, 1] * F[i, 1] + F[i, 2] * F[i, 2]
        largest = max(largest, square)
    return largest


@kernel
def flips(q, x, nodes, ptr, G):
    """Whether a point that is upright at q (n, 3) and at x (n, 3), m, is flattened on the straight path between them.

    det (F + s ΔF) = c₀ + c₁ s + c₂ s² + c₃ s³ is compared with `FLAT` of its values at the ends where it is least.
    Two stretches that change sign together, half a turn of the point through itself, leave det F positive.
    """
    F, D, C, B = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    for p in range(len(ptr) - 1):
        deformation_gradient(q, nodes, G, ptr[p], ptr[p + 1], F)
        deformation_gradient(x, nodes, G, ptr[p], ptr[p + 1], D)
        D -= F
        c0, c3 = cofactor(F, C), cofactor(D, B)
        c1 = c2 = 0.0
        for i in range(3):
            for j in range(3):
                c1 += C[i, j] * D[i, j]
                c2 += F[i, j] * B[i, j]
        least = FLAT * min(c0, c0 + c1 + c2 + c3)
        root = c2 * c2 - 3.0 * c1 * c3
        if least <= 0.0 or root <= 0.0:
            continue
        s = -c1 / (c2 + sqrt(root)) if c2 > 0.0 else (sqrt(root) - c2) / (3.0 * c3) if c3 != 0.0 else -1.0
        if 0.0 < s < 1.0 and c0 + s * (c1 + s * (c2 + s * c3)) < least:
            return True
    return False
