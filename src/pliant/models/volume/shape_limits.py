"""How far the integration points of a volume are from shapes that its elements cannot follow, in one pass."""

from __future__ import annotations

import numpy as np

from pliant.core.kernels import inline, kernel
from pliant.models.volume.assembly import deformation_gradient


@inline
def _determinant(a, b, c, d, e, f, g, h, i):
    return a * (e * i - f * h) + b * (f * g - d * i) + c * (d * h - e * g)


@kernel
def least_determinant(q, nodes, ptr, G):
    """The smallest det F of the points; inputs as of `stretch_bound`.

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
def stretch_bound(q, nodes, ptr, G):
    """An upper bound of the stretches of the points.

    The bound is ‖FᵀF‖^½: the Frobenius norm exceeds the largest eigenvalue little where one stretch prevails. Inputs
    are the nodes' positions q (n, 3), m, and, for point p, entries ptr[p]:ptr[p+1] of `nodes` and of the gradients G of
    their shape functions, 1/m.
    """
    largest = 0.0
    F = np.empty((3, 3))
    for p in range(len(ptr) - 1):
        deformation_gradient(q, nodes, G, ptr[p], ptr[p + 1], F)
        norm = 0.0
        for i in range(3):
            for j in range(3):
                entry = F[0, i] * F[0, j] + F[1, i] * F[1, j] + F[2, i] * F[2, j]
                norm += entry * entry
        largest = max(largest, norm)
    return largest**0.25
