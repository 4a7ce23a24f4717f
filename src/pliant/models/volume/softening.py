"""Mullins softening at the integration points of a volume (`materials.mullins`).

The stress of the shear part is η P with P = ∂W/∂F, and its derivative η C + η′ P ⊗ P with η′ = dη/dW ≥ 0: symmetric,
and positive semi-definite where η C is. Assembly of the virgin law is left as it is; here (η − 1) P and its derivative
are added. η is continuous at the largest energy Wₘ of the step's start and η′ jumps there, from that of unloading to
zero. A point begins a step at that kink where it was loaded last: it counts as loading, so that a step which unloads it
is seen from the second linearisation on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import erf, exp, pi, sqrt
from typing import Any

import numpy as np

from pliant.core.arrays import frozen, writable
from pliant.core.kernels import inline, kernel
from pliant.core.types import FloatArray, IntArray
from pliant.materials import Material, Tangent
from pliant.materials.laws import SHEAR
from pliant.materials.mullins import Softening
from pliant.materials.response import lane_response
from pliant.materials.rotations import EIGEN, LANES, stretch_lanes
from pliant.models.volume import assembly, halved
from pliant.models.volume.assembly import gather_gradients
from pliant.models.volume.points import Points

_SLOPE = 2.0 / sqrt(pi)
_NO_BLOCKS: FloatArray = np.zeros((0, 3, 3))


@dataclass(frozen=True, eq=False)
class SofteningPoints:
    """The points of a volume that soften, with the virgin laws of their shear part; the `softenings` of all materials,
    None of those that do not, and `coefficients` (materials, 3): 1/r, m (J/m³) and β, zeros of those.
    """

    points: Points
    positions: IntArray
    laws: IntArray
    table: FloatArray
    softenings: tuple[Softening | None, ...]
    coefficients: FloatArray

    @classmethod
    def of(
        cls, points: Points, positions: IntArray, laws: IntArray, table: FloatArray, materials: list[Material]
    ) -> SofteningPoints | None:
        """`points` of the shear part and the `positions` of their blocks; None where no material softens."""
        softenings = tuple(material.softening for material in materials)
        if not any(softenings):
            return None
        coefficients = np.array([(0.0, 0.0, 0.0) if s is None else (1.0 / s.r, s.m, s.beta) for s in softenings])
        shear = replace(points, part=np.full(points.count, SHEAR, points.part.dtype))
        return cls(shear, positions, laws, table, softenings, coefficients)

    def energies(self, q: FloatArray) -> FloatArray:
        """W of the virgin law at q (n, 3), (p,), J/m³."""
        W, push = np.empty(self.points.count), np.zeros(q.shape)
        halved.internal_forces(writable(q), self.points.arrays, self.laws, self.table, push, W)
        return W

    def factors(self, W: FloatArray, largest: FloatArray) -> FloatArray:
        """η at energies W of points with these largest energies, (p,)."""
        return self._each("factor", W, largest, 1.0)

    def stored(self, W: FloatArray, largest: FloatArray) -> FloatArray:
        """Energy that unloading gives back, (p,), J/m³."""
        found = self._each("stored", W, largest, np.nan)
        return np.where(np.isnan(found), W, found)

    def lost(self, largest: FloatArray) -> FloatArray:
        """Energy lost for ever, (p,), J/m³."""
        found = np.zeros(len(largest))
        for m, softening in enumerate(self.softenings):
            if softening is not None:
                own = self.points.material == m
                found[own] = softening.lost(largest[own])
        return found

    def _each(self, what: str, W: FloatArray, largest: FloatArray, other: float) -> FloatArray:
        found = np.full(len(W), other)
        for m, softening in enumerate(self.softenings):
            if softening is not None:
                own = self.points.material == m
                found[own] = getattr(softening, what)(W[own], largest[own])
        return found

    def stresses(self, q: FloatArray, largest: FloatArray) -> FloatArray:
        """What the softening adds to the Cauchy stress of the points, (p, 3, 3), Pa."""
        stress = np.empty((self.points.count, 3, 3))
        assembly.point_stresses(writable(q), *self.points.arrays, self.laws, self.table, stress)
        return np.asarray((self.factors(self.energies(q), largest) - 1.0)[:, None, None] * stress)


@dataclass(frozen=True, eq=False)
class Softened:
    """The softening in a step that begins with the `largest` energies (p,), J/m³; `scale` (materials,) is the stiffness
    of the shear in the step over that of the law.
    """

    of: SofteningPoints
    largest: FloatArray
    scale: FloatArray

    def add_forces(self, q: FloatArray, force: FloatArray) -> None:
        """Add w (η − 1) P Gₐ at q (n, 3), m, to the internal forces `force` (n, 3), N."""
        self._add(q, 0.0, Tangent.EXACT, _NO_BLOCKS, force)

    def add(self, q: FloatArray, stiffness: float, tangent: Tangent, values: FloatArray, force: FloatArray) -> None:
        """The same, and `stiffness` × its derivative of the kind `tangent` to the blocks `values` (b, 3, 3), N/m."""
        self._add(q, stiffness, tangent, values, force)

    def _add(self, q: FloatArray, stiffness: float, tangent: Tangent, values: Any, force: FloatArray) -> None:
        own = self.of
        p = own.points
        given = writable(q), p.ptr, p.nodes, p.gradients, p.weight, p.material, own.laws, own.table
        step = own.coefficients, self.scale, frozen(self.largest), int(tangent), own.positions, stiffness
        soften(*given, *step, values, force)


@inline
def softening_of(inverse_r, m, beta, W, largest):  # type: ignore[no-untyped-def]
    """η − 1 and dη/dW at the energy W of a point whose largest one was `largest`; zeros where it is being loaded."""
    depth = largest - W
    if depth <= 0.0 or inverse_r == 0.0:
        return 0.0, 0.0
    scale = m + beta * largest
    z = depth / scale
    return -inverse_r * erf(z), inverse_r * _SLOPE * exp(-z * z) / scale


@kernel
def soften(  # type: ignore[no-untyped-def]
    q, ptr, nodes, G, weight, material, laws, table, coefficients, stiffer, largest, mode, positions, scale, values,
    force,
):  # fmt: skip
    """Add w (η − 1) P Gₐ of all points to `force` (n, 3) and `scale` × its derivative to `values` (blocks, 3, 3); none
    of it where `scale` is 0. `stiffer` (materials,) multiplies all.
    """
    Fs, eigen, F, P, T = np.empty(9 * LANES), np.empty(EIGEN), np.empty((3, 3)), np.empty((3, 3)), np.empty(12)
    U, V, s = np.empty((3, 3)), np.empty((3, 3)), np.empty(3)
    widest = 0
    for p in range(weight.shape[0]):
        widest = max(widest, ptr[p + 1] - ptr[p])
    g, f = np.empty((widest, 3)), np.empty((widest, 3))
    pair = 0
    for p in range(weight.shape[0]):
        start, stop, m, lane = ptr[p], ptr[p + 1], material[p], p % LANES
        count = stop - start
        if lane == 0:
            gather_gradients(q, ptr, nodes, G, p, Fs, F)
            stretch_lanes(Fs, eigen)
        W = lane_response(laws[m], SHEAR, table[m], mode, Fs, eigen, lane, F, U, s, V, P, T)
        less, slope = softening_of(coefficients[m, 0], coefficients[m, 1], coefficients[m, 2], W, largest[p])
        if less == 0.0:
            pair += count * (count + 1) // 2
            continue
        w = stiffer[m] * weight[p]
        for k in range(count):
            n, x, y, z = nodes[start + k], G[start + k, 0], G[start + k, 1], G[start + k, 2]
            for i in range(3):
                f[k, i] = P[i, 0] * x + P[i, 1] * y + P[i, 2] * z
                g[k, i] = V[0, i] * x + V[1, i] * y + V[2, i] * z
                force[n, i] += less * w * f[k, i]
        if scale != 0.0:
            _add_blocks(values, positions, pair, count, scale * w * less, g, T, U, scale * w * slope, f)
        pair += count * (count + 1) // 2


@inline
def _add_blocks(values, positions, pair, count, c, g, T, U, d, f):  # type: ignore[no-untyped-def]
    """Blocks c U K̂ Uᵀ + d fₐ fᵦᵀ of one point from g = Vᵀ G and f = P G; K̂ of the tangent T as in `assembly`."""
    K = np.empty((3, 3))
    for a in range(count):
        for b in range(a + 1):
            for i in range(3):
                j, k = (i + 1) % 3, (i + 2) % 3
                # T holds pairs in the order 01, 02, 12: that of i and j is i + j − 1
                K[i, i] = T[i] * g[a, i] * g[b, i] + T[5 + i + j] * g[a, j] * g[b, j] + T[5 + i + k] * g[a, k] * g[b, k]
                K[i, j] = T[2 + i + j] * g[a, i] * g[b, j] + T[8 + i + j] * g[a, j] * g[b, i]
                K[i, k] = T[2 + i + k] * g[a, i] * g[b, k] + T[8 + i + k] * g[a, k] * g[b, i]
            block = values[positions[pair]]
            pair += 1
            for i in range(3):
                x = U[i, 0] * K[0, 0] + U[i, 1] * K[1, 0] + U[i, 2] * K[2, 0]
                y = U[i, 0] * K[0, 1] + U[i, 1] * K[1, 1] + U[i, 2] * K[2, 1]
                z = U[i, 0] * K[0, 2] + U[i, 1] * K[1, 2] + U[i, 2] * K[2, 2]
                for j in range(3):
                    block[i, j] += c * (x * U[j, 0] + y * U[j, 1] + z * U[j, 2]) + d * f[a, i] * f[b, j]
