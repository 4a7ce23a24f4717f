"""The warped tangent of corotated tetrahedra, eight at a time.

The same sums as `assembly.assemble_corotated`, for points of four nodes and one law: gradients lie by lanes, so that
forces and blocks of eight cells are vector code, and only their addition into the global arrays goes cell by cell
(`models.volume.lanes`). All scratch is one array with fixed offsets, of which LLVM knows that its parts do not overlap.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pliant.core.kernels import inline, kernel
from pliant.core.types import FloatArray, IntArray
from pliant.materials.laws import COROTATED, SHEAR, VOLUME
from pliant.materials.rotations import LANES, polar_lanes
from pliant.models.volume.lanes import add_eight, by_cell
from pliant.models.volume.points import Points

_PAIRS = 10
"""Blocks of a tetrahedron, its lower pairs of nodes."""
_G, _X, _F, _R, _TURNED, _FORCE = 0, 96, 192, 264, 336, 432
_MODULI, _BLOCKS = 528, 552
_BY_CELL = _BLOCKS + 9 * _PAIRS * LANES
_SCRATCH = _BY_CELL + 8 * _PAIRS * LANES
"""Offsets in the scratch: gradients and positions of the nodes, F, R, turned gradients, forces, moduli, blocks, and
their first eight entries by cell.
"""


class Tetrahedra(NamedTuple):
    """Cells by lanes, b batches of eight: `gradients` (b, 96) 1/m, entry 3 a + i of node a at 8 (3 a + i) + lane, and
    `moduli` (b, 24), w, μ w and λ w (m³, N·m) of each; those beyond the last cell repeat it without weight.
    """

    gradients: FloatArray
    moduli: FloatArray

    @classmethod
    def of(cls, points: Points, laws: IntArray, table: FloatArray) -> Tetrahedra | None:
        """The points of a body, None where they are not of four nodes and of the corotated law."""
        count = points.count
        if (laws != COROTATED).any() or not count or (np.diff(points.ptr) != 4).any():
            return None
        batches = -(-count // LANES)
        each = np.minimum(np.arange(batches * LANES), count - 1)
        weight = np.where(np.arange(batches * LANES) < count, points.weight[each], 0.0)
        mu = np.where(points.part == VOLUME, 0.0, table[points.material, 0])[each] * weight
        lam = np.where(points.part == SHEAR, 0.0, table[points.material, 1])[each] * weight
        by_lane = points.gradients.reshape(count, 12)[each].reshape(batches, LANES, 12).transpose(0, 2, 1)
        moduli = np.stack([weight, mu, lam]).reshape(3, batches, LANES).transpose(1, 0, 2)
        return cls(
            np.ascontiguousarray(by_lane).reshape(batches, -1), np.ascontiguousarray(moduli).reshape(batches, -1)
        )


@kernel
def assemble_tetrahedra(q, nodes, gradients, moduli, positions, scale, diagonal, mass, inertia, values, force):  # type: ignore[no-untyped-def]
    """`inertia` × lumped `mass` (n,) + `scale` × warped tangent into `values` (blocks, 3, 3), internal forces into
    `force` (n, 3); returns the energy. Where `mass` is empty the tangent is added to what `values` holds.
    """
    if len(mass):
        values[:] = 0.0
        for n in range(len(diagonal)):
            for i in range(3):
                values[diagonal[n], i, i] = inertia * mass[n]
    force[:] = 0.0
    S = np.empty(_SCRATCH)
    F, U, V, s = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3)), np.empty(3)
    count = len(nodes) // 4
    energy = 0.0
    for batch in range(len(gradients)):
        G, m = gradients[batch], moduli[batch]
        first = LANES * batch
        for k in range(12 * LANES):
            S[_G + k] = G[k]
        for k in range(3 * LANES):
            S[_MODULI + k] = m[k]
        for lane in range(LANES):
            cell = 4 * min(first + lane, count - 1)
            for a in range(4):
                x = q[nodes[cell + a]]
                for i in range(3):
                    S[_X + LANES * (3 * a + i) + lane] = x[i]
        _gradients(S)
        polar_lanes(S[_F : _F + 72], S[_R : _R + 72], F, U, s, V)
        energy += _stresses(S)
        _turn(S, _F, _FORCE, 0)
        _turn(S, _F, _FORCE, 1)
        _turn(S, _F, _FORCE, 2)
        _turn(S, _F, _FORCE, 3)
        _turn(S, _R, _TURNED, 0)
        _turn(S, _R, _TURNED, 1)
        _turn(S, _R, _TURNED, 2)
        _turn(S, _R, _TURNED, 3)
        _block(S, scale, 0, 0, 0)
        _block(S, scale, 1, 0, 1)
        _block(S, scale, 1, 1, 2)
        _block(S, scale, 2, 0, 3)
        _block(S, scale, 2, 1, 4)
        _block(S, scale, 2, 2, 5)
        _block(S, scale, 3, 0, 6)
        _block(S, scale, 3, 1, 7)
        _block(S, scale, 3, 2, 8)
        _block(S, scale, 3, 3, 9)
        for pair in range(_PAIRS):
            by_cell(S, _BLOCKS + 9 * LANES * pair, _BY_CELL + 8 * pair, 8 * _PAIRS)
        for lane in range(min(LANES, count - first)):
            cell = first + lane
            for a in range(4):
                f = force[nodes[4 * cell + a]]
                for i in range(3):
                    f[i] += S[_FORCE + LANES * (3 * a + i) + lane]
            for pair in range(_PAIRS):
                block = positions[_PAIRS * cell + pair]
                add_eight(values, 9 * block, S, _BY_CELL + 8 * (_PAIRS * lane + pair))
                values[block, 2, 2] += S[_BLOCKS + 9 * LANES * pair + 8 * LANES + lane]
    return energy


@inline
def _gradients(S):  # type: ignore[no-untyped-def]
    """F = Σ xₐ ⊗ Gₐ of eight cells."""
    for n in range(8):
        for i in range(3):
            for j in range(3):
                value = S[_X + 8 * i + n] * S[_G + 8 * j + n] + S[_X + 8 * (3 + i) + n] * S[_G + 8 * (3 + j) + n]
                value += S[_X + 8 * (6 + i) + n] * S[_G + 8 * (6 + j) + n]
                value += S[_X + 8 * (9 + i) + n] * S[_G + 8 * (9 + j) + n]
                S[_F + 8 * (3 * i + j) + n] = value


@inline
def _stresses(S):  # type: ignore[no-untyped-def]
    """P = w R (2μ ε + λ tr(ε) I), ε = RᵀF − I, in place of F; returns the energy."""
    energy = 0.0
    for n in range(8):
        mu, lam = S[_MODULI + 8 + n], S[_MODULI + 16 + n]
        r00, r01, r02 = S[_R + n], S[_R + 8 + n], S[_R + 16 + n]
        r10, r11, r12 = S[_R + 24 + n], S[_R + 32 + n], S[_R + 40 + n]
        r20, r21, r22 = S[_R + 48 + n], S[_R + 56 + n], S[_R + 64 + n]
        p00, p01, p02 = S[_F + n] - r00, S[_F + 8 + n] - r01, S[_F + 16 + n] - r02
        p10, p11, p12 = S[_F + 24 + n] - r10, S[_F + 32 + n] - r11, S[_F + 40 + n] - r12
        p20, p21, p22 = S[_F + 48 + n] - r20, S[_F + 56 + n] - r21, S[_F + 64 + n] - r22
        trace = p00 * r00 + p01 * r01 + p02 * r02 + p10 * r10 + p11 * r11 + p12 * r12
        trace += p20 * r20 + p21 * r21 + p22 * r22
        squares = p00 * p00 + p01 * p01 + p02 * p02 + p10 * p10 + p11 * p11 + p12 * p12
        squares += p20 * p20 + p21 * p21 + p22 * p22
        energy += mu * squares + 0.5 * lam * trace * trace
        t = lam * trace
        mu *= 2.0
        S[_F + n], S[_F + 8 + n], S[_F + 16 + n] = mu * p00 + t * r00, mu * p01 + t * r01, mu * p02 + t * r02
        S[_F + 24 + n], S[_F + 32 + n], S[_F + 40 + n] = mu * p10 + t * r10, mu * p11 + t * r11, mu * p12 + t * r12
        S[_F + 48 + n], S[_F + 56 + n], S[_F + 64 + n] = mu * p20 + t * r20, mu * p21 + t * r21, mu * p22 + t * r22
    return energy


@inline
def _turn(S, T, into, a):  # type: ignore[no-untyped-def]
    """The matrices at T times the gradient of node a, by lanes, to the offset `into`."""
    for n in range(8):
        x, y, z = S[_G + 24 * a + n], S[_G + 24 * a + 8 + n], S[_G + 24 * a + 16 + n]
        S[into + 24 * a + n] = S[T + n] * x + S[T + 8 + n] * y + S[T + 16 + n] * z
        S[into + 24 * a + 8 + n] = S[T + 24 + n] * x + S[T + 32 + n] * y + S[T + 40 + n] * z
        S[into + 24 * a + 16 + n] = S[T + 48 + n] * x + S[T + 56 + n] * y + S[T + 64 + n] * z


@inline
def _block(S, scale, a, b, pair):  # type: ignore[no-untyped-def]
    """Blocks λ gₐ gᵦᵀ + μ gᵦ gₐᵀ + μ (gₐ·gᵦ) I of the nodes a and b of eight cells, with turned gradients g."""
    for n in range(8):
        mu, lam = scale * S[_MODULI + 8 + n], scale * S[_MODULI + 16 + n]
        a0, a1, a2 = S[_TURNED + 24 * a + n], S[_TURNED + 24 * a + 8 + n], S[_TURNED + 24 * a + 16 + n]
        b0, b1, b2 = S[_TURNED + 24 * b + n], S[_TURNED + 24 * b + 8 + n], S[_TURNED + 24 * b + 16 + n]
        x0, x1, x2 = lam * a0, lam * a1, lam * a2
        y0, y1, y2 = mu * a0, mu * a1, mu * a2
        d = y0 * b0 + y1 * b1 + y2 * b2
        S[_BLOCKS + 72 * pair + n] = x0 * b0 + b0 * y0 + d
        S[_BLOCKS + 72 * pair + 8 + n] = x0 * b1 + b0 * y1
        S[_BLOCKS + 72 * pair + 16 + n] = x0 * b2 + b0 * y2
        S[_BLOCKS + 72 * pair + 24 + n] = x1 * b0 + b1 * y0
        S[_BLOCKS + 72 * pair + 32 + n] = x1 * b1 + b1 * y1 + d
        S[_BLOCKS + 72 * pair + 40 + n] = x1 * b2 + b1 * y2
        S[_BLOCKS + 72 * pair + 48 + n] = x2 * b0 + b2 * y0
        S[_BLOCKS + 72 * pair + 56 + n] = x2 * b1 + b2 * y1
        S[_BLOCKS + 72 * pair + 64 + n] = x2 * b2 + b2 * y2 + d
