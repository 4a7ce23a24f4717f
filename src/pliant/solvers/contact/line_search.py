"""Line search along a Newton direction of the friction solver, over the kinks of its piecewise smooth merit.

Redundant contacts make the Jacobian nearly singular. Its direction then has a component that changes forces without
moving anything, as long as the regularisation allows, while the merit ‖F‖ falls only where a force on that path reaches
zero or its cone: the contact that opens or slides there is the redundant one. Halved lengths miss these points. They
are known in closed form: every contact and every bound changes its state at the roots of one linear and one quadratic
equation in the length t.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from pliant.core.kernels import inline, kernel
from pliant.core.types import FloatArray
from pliant.solvers.contact.blocks import Blocks

_HALVINGS = 12  # of the full step, to 2.4e-4: a shorter one makes no progress
_KINKS = 200  # that are looked at, the nearest first
_LEAST = 1e-13  # lengths below this are the kink that the last step ended on
_MOST = 1e8  # lengths beyond this come from rounding
_BEYOND = 1.0 + 1e-10  # a kink is passed by this, so that rounding does not leave it before the step
_FLAT = 1.0 + 1e-9  # a merit below this times the present one has not grown


@kernel
def alart_curnier(r: FloatArray, u: FloatArray, rho: FloatArray, blocks: Blocks, F: FloatArray) -> float:
    """F(r) into F; returns its norm."""
    total = 0.0
    for b in range(len(blocks.boxes)):
        i = blocks.boxes[b]
        F[i] = r[i] - min(max(r[i] - rho[i] * u[i], blocks.lower[b]), blocks.upper[b])
        total += F[i] * F[i]
    for c in range(len(blocks.cones)):
        i = blocks.cones[c]
        z = max(0.0, r[i] - rho[i] * u[i])
        y1, y2 = r[i + 1] - rho[i + 1] * u[i + 1], r[i + 2] - rho[i + 2] * u[i + 2]
        y, limit = sqrt(y1 * y1 + y2 * y2), blocks.mu[c] * z
        fraction = 1.0 if y <= limit else limit / y
        F[i] = r[i] - z
        F[i + 1] = r[i + 1] - fraction * y1
        F[i + 2] = r[i + 2] - fraction * y2
        total += F[i] ** 2 + F[i + 1] ** 2 + F[i + 2] ** 2
    return sqrt(total)


@inline
def _kinks(
    r: FloatArray, u: FloatArray, d: FloatArray, du: FloatArray, rho: FloatArray, blocks: Blocks, out: FloatArray
) -> int:
    """Lengths t > 0 at which r + t d, u + t du changes the state of a box or a cone, unsorted; returns their count."""
    k = 0
    for b in range(len(blocks.boxes)):
        i = blocks.boxes[b]
        z, dz = r[i] - rho[i] * u[i], d[i] - rho[i] * du[i]
        for t in ((blocks.lower[b] - z) / dz, (blocks.upper[b] - z) / dz):
            if _LEAST < t < _MOST:
                out[k] = t
                k += 1
    for c in range(len(blocks.cones)):
        i, mu = blocks.cones[c], blocks.mu[c]
        z, dz = r[i] - rho[i] * u[i], d[i] - rho[i] * du[i]
        if _LEAST < -z / dz < _MOST:  # opens or closes
            out[k] = -z / dz
            k += 1
        y1, y2 = r[i + 1] - rho[i + 1] * u[i + 1], r[i + 2] - rho[i + 2] * u[i + 2]
        e1, e2 = d[i + 1] - rho[i + 1] * du[i + 1], d[i + 2] - rho[i + 2] * du[i + 2]
        a = e1 * e1 + e2 * e2 - mu * mu * dz * dz  # ‖y + t e‖² = μ² (z + t dz)²: begins or ceases to slide
        half = y1 * e1 + y2 * e2 - mu * mu * z * dz
        rest = y1 * y1 + y2 * y2 - mu * mu * z * z
        if half * half >= a * rest:
            root = sqrt(half * half - a * rest)
            far = -(half + (root if half >= 0.0 else -root))
            for t in (far / a, rest / far):
                if _LEAST < t < _MOST and z + t * dz >= 0.0:
                    out[k] = t
                    k += 1
    return k


@kernel
def best_length(
    r: FloatArray, u: FloatArray, d: FloatArray, du: FloatArray, rho: FloatArray, blocks: Blocks, merit: float
) -> tuple[float, float, float]:
    """The length t with the least merit ‖F‖ at r + t d, that merit, and the largest kink at which the merit has not
    grown (0 for none). `merit` is that at t = 0 and du = W d. A full step that halves the merit is taken at once.
    """
    F = np.empty_like(r)
    length, least, flat = 1.0, alart_curnier(r + d, u + du, rho, blocks, F), 0.0
    if least <= 0.5 * merit:
        return length, least, flat
    t = 1.0
    for _ in range(_HALVINGS):
        t *= 0.5
        found = alart_curnier(r + t * d, u + t * du, rho, blocks, F)
        if found < least:
            length, least = t, found
    kinks = np.empty(2 * len(blocks.boxes) + 3 * len(blocks.cones))
    count = _kinks(r, u, d, du, rho, blocks, kinks)
    ascending = np.sort(kinks[:count])
    for k in range(min(count, _KINKS)):
        t = ascending[k] * _BEYOND
        found = alart_curnier(r + t * d, u + t * du, rho, blocks, F)
        if found < least:
            length, least = t, found
        if found <= _FLAT * merit:
            flat = t
        elif found > 10.0 * merit:  # no kink farther away brings it down again
            break
    return length, least, flat
