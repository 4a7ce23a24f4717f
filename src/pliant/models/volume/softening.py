"""Mullins softening at the integration points of a volume (`materials.mullins`).

The stress of the shear part is η P with P = ∂W/∂F, and its derivative η C + η′ P ⊗ P with η′ = dη/dW ≥ 0: symmetric,
and positive semi-definite where η C is. Assembly of the virgin law is left as it is; here (η − 1) P and its derivative
are added. η is continuous at the largest energy Wₘ of the step's start and η′ jumps there, from that of unloading to
zero. A point begins a step at that kink where it was loaded last: it counts as loading, so that a step which unloads it
is seen from the second linearisation on. Newton's iteration passes the kink, as η P is the gradient of a potential with
convex kinks. One linear solve does not where η changes far within a step, and may gain energy: `missed` measures it.
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
from pliant.models.volume.assembly import _rotated_blocks, gather_gradients
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

    def missed(self, q: FloatArray, x: FloatArray) -> float:
        """Difference between η at x (n, 3), m, and its linearisation at q that one percent of the volume exceeds."""
        own, (before, after) = self.of, (self.of.energies(q), self.of.energies(x))
        eta = own.factors(before, self.largest)
        inverse, m, beta = own.coefficients[own.points.material].T
        scale = np.maximum(m + beta * self.largest, 1e-300)
        z = (self.largest - before) / scale
        slope = np.where(z > 0.0, inverse * _SLOPE * np.exp(-(np.minimum(z, 20.0) ** 2)) / scale, 0.0)
        off = np.abs(own.factors(after, self.largest) - np.clip(eta + slope * (after - before), 0.0, 1.0))
        order = np.argsort(off)
        heavier = np.cumsum(own.points.weight[order]) >= 0.99 * own.points.weight.sum()
        return float(off[order][np.argmax(heavier)])

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
            _rotated_blocks(values, positions, pair, g, count, scale * w * less, T, U)
            if slope > 0.0:
                root = sqrt(scale * w * slope)
                for k in range(count):
                    for i in range(3):
                        f[k, i] *= root
                _add_outer(values, positions, pair, count, f)
        pair += count * (count + 1) // 2


@inline
def _add_outer(values, positions, pair, count, f):  # type: ignore[no-untyped-def]
    """Blocks fₐ fᵦᵀ of one point."""
    for a in range(count):
        x, y, z = f[a, 0], f[a, 1], f[a, 2]
        for b in range(a + 1):
            u, v, w = f[b, 0], f[b, 1], f[b, 2]
            K = values[positions[pair]]
            pair += 1
            K[0, 0] += x * u
            K[0, 1] += x * v
            K[0, 2] += x * w
            K[1, 0] += y * u
            K[1, 1] += y * v
            K[1, 2] += y * w
            K[2, 0] += z * u
            K[2, 1] += z * v
            K[2, 2] += z * w
