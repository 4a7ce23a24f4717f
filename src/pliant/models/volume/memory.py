"""The memory of a volume: stresses of the branches at its integration points (`materials.viscoelastic`), and largest
energies of those that soften (`models.volume.softening`).

At a point of a step the stress is

    P = F (S_volume + (1 + Σ bᵢ + ζ/h) S(F) + H),      H = Σ aᵢ Qᵢ − (Σ bᵢ + ζ/h) Sₙ

with Sₙ, Qᵢ of the start. The first part is the elastic law with a stiffer shear; H does not change within the step, so
that its forces are linear in the positions: fₐ = w F H Gₐ, Kₐᵦ = w (Gₐ · H Gᵦ) I. A step costs one more pass over the
points, at its end, however many branches there are. Where the material softens, S is the softened stress η S.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pliant.core.arrays import frozen, writable
from pliant.core.kernels import inline, kernel
from pliant.core.types import BoolArray, FloatArray, IntArray
from pliant.materials import Material
from pliant.materials.laws import COROTATED, LINEAR, SHEAR, VOLUME, principal_response
from pliant.materials.rotations import EIGEN, LANES, lane_svd, polar_lanes, stretch_lanes
from pliant.materials.viscoelastic import Relaxation, with_shear
from pliant.models.scheme import Scheme
from pliant.models.volume.assembly import deformation_gradient, gather_gradients
from pliant.models.volume.points import Points
from pliant.models.volume.softening import Softened, SofteningPoints
from pliant.models.volume.split import chosen_points

NARROW = 0.05
"""Least stretch by which a stress is pulled back: the corotated law lets elements be flattened, where S has a pole."""


@dataclass(frozen=True, eq=False)
class Factors:
    """A time that passes, in numbers: `decay` a and `gain` b (materials, branches), `rate` Σ b + ζ/h (materials,)."""

    decay: FloatArray
    gain: FloatArray
    rate: FloatArray


@dataclass(frozen=True, eq=False)
class Memory:
    """What the points of a volume remember: `points` of the shear part, those of the volume that are `chosen`, the
    relaxation of each material, and the points that soften.

    A history is an array (p, rows, 6). Where a material relaxes, the first rows are S and the stresses Q of the
    branches, Pa, as xx, yy, zz, xy, xz, yz; where one softens, the last row begins with the largest energy, J/m³.
    """

    points: Points
    chosen: BoolArray
    positions: IntArray
    laws: IntArray
    table: FloatArray
    rest: FloatArray
    relaxations: tuple[Relaxation | None, ...]
    softening: SofteningPoints | None = None
    _factors: dict[tuple[float, bool], Factors] = field(default_factory=dict)
    _stiffer: dict[tuple[float, bool], Any] = field(default_factory=dict)

    @classmethod
    def of(cls, points: Points, positions: IntArray, rest: FloatArray, materials: list[Material]) -> Memory | None:
        """The memory of a volume at `rest` (n, 3), m; `positions` of the blocks of its points. None where no material
        remembers.
        """
        relaxations = tuple(material.relaxation for material in materials)
        remembers = np.array([m.relaxation is not None or m.softening is not None for m in materials])
        if not remembers.any():
            return None
        chosen = (points.part != VOLUME) & remembers[points.material]
        pairs = np.diff(points.ptr) * (np.diff(points.ptr) + 1) // 2
        laws = np.array([int(material.law) for material in materials], np.int32)
        table = np.stack([material.parameters for material in materials])
        own = positions[np.repeat(chosen, pairs)]
        some = chosen_points(points, chosen)
        softening = SofteningPoints.of(some, own, laws, table, materials)
        return cls(some, chosen, own, laws, table, rest, relaxations, softening)

    @property
    def branches(self) -> int:
        """The largest number of branches of a material."""
        return max((len(relaxation.times) for relaxation in self.relaxations if relaxation is not None), default=0)

    @property
    def relaxes(self) -> bool:
        """Whether some of its materials are viscoelastic."""
        return any(self.relaxations)

    @property
    def stress_rows(self) -> int:
        """Rows of a history with stresses."""
        return 1 + self.branches if self.relaxes else 0

    @property
    def shape(self) -> tuple[int, int, int]:
        """Shape of a history."""
        return self.points.count, self.stress_rows + (self.softening is not None), 6

    def start(self, q: FloatArray) -> FloatArray:
        """The history of a body that is relaxed at q (n, 3), m, and was not deformed farther before."""
        return self._advanced(np.zeros(self.shape), (0.0, True), q)

    def stiffer(self, scheme: Scheme, make: Callable[[FloatArray], Any]) -> Any:
        """What `make` derives from the table of parameters of the laws as they act in a step; once for each time."""
        return _kept(self._stiffer, self._key(scheme, scheme.elapsed), lambda key: make(self._stiffened(key)))

    def _stiffened(self, key: tuple[float, bool]) -> FloatArray:
        rows = []
        for relaxation, law, row in zip(self.relaxations, self.laws, self.table, strict=True):
            rate = 0.0 if relaxation is None else _rate(relaxation, key)
            rows.append(with_shear(int(law), row, 1.0 + rate))
        return np.stack(rows)

    def at_start(self, history: FloatArray, scheme: Scheme) -> Remembered | None:
        """The stresses H of a step that begins with `history`, where its forces are evaluated, and its softening; None
        where all is relaxed and nothing softens.
        """
        key, H, softened = self._key(scheme, scheme.elapsed), None, None
        f = self._of(key)
        if self.relaxes and not key[1]:
            H = np.empty((self.points.count, 6))
            remembered(frozen(history), self.points.material, f.decay, f.rate, H)
        if self.softening is not None:
            softened = Softened(self.softening, np.ascontiguousarray(history[:, -1, 0]), 1.0 + f.rate)
        return None if H is None and softened is None else Remembered(self, H, softened)

    def after(self, history: FloatArray, scheme: Scheme, q: FloatArray) -> FloatArray:
        """The history at the end of a step that led to q (n, 3), m."""
        return self._advanced(history, self._key(scheme, scheme.dt), q)

    def _advanced(self, history: FloatArray, key: tuple[float, bool], q: FloatArray) -> FloatArray:
        f, made = self._of(key), np.zeros(history.shape)
        if self.relaxes:
            given = frozen(q), *self.points.arrays, self.laws, self.table, f.decay, f.gain, frozen(history)
            advance(*given, made)
        if self.softening is not None:
            W = self.softening.energies(q)
            made[:, -1, 0] = np.maximum(W, history[:, -1, 0])
            if self.relaxes:  # what the branches follow is the softened stress
                less = (self.softening.factors(W, made[:, -1, 0]) - 1.0)[:, None] * made[:, 0]
                made[:, 0] += less
                made[:, 1 : self.stress_rows] += f.gain[self.points.material][:, :, None] * less[:, None]
        return made

    def stored_energy(self, history: FloatArray, q: FloatArray) -> float:
        """What the softening adds to the stored energy at q (n, 3), m; ≤ 0, J."""
        return float(self.points.weight @ self.stored_density(history, q))

    def stored_density(self, history: FloatArray, q: FloatArray) -> FloatArray:
        """The same at each point, (p,), J/m³."""
        if self.softening is None:
            return np.zeros(self.points.count)
        W = self.softening.energies(q)
        return self.softening.stored(W, np.maximum(W, history[:, -1, 0])) - W

    def lost_density(self, history: FloatArray) -> FloatArray:
        """Energy lost by softening at each point, (p,), J/m³."""
        return np.zeros(self.points.count) if self.softening is None else self.softening.lost(history[:, -1, 0])

    def _key(self, scheme: Scheme, elapsed: float) -> tuple[float, bool]:
        return elapsed, scheme.dt == 0.0 and not scheme.instantaneous

    def _of(self, key: tuple[float, bool]) -> Factors:
        found: Factors = _kept(self._factors, key, self._made)
        return found

    def _made(self, key: tuple[float, bool]) -> Factors:
        count, branches = len(self.relaxations), self.branches
        decay, gain, rate = np.zeros((count, branches)), np.zeros((count, branches)), np.zeros(count)
        for m, relaxation in enumerate(self.relaxations):
            if relaxation is None:
                continue
            elapsed, relaxed = key
            rate[m] = _rate(relaxation, key)
            if not relaxed:
                own = len(relaxation.times)
                decay[m, :own], gain[m, :own], _ = relaxation.factors(elapsed)
        return Factors(decay, gain, rate)


@dataclass(frozen=True, eq=False)
class Remembered:
    """Stresses H (p, 6), Pa, of the points of a `memory`, which do not change within a step, None where all is relaxed;
    and the softening of the step.
    """

    memory: Memory
    H: FloatArray | None
    softened: Softened | None = None

    def add_forces(self, q: FloatArray, force: FloatArray) -> None:
        """Add the internal forces of H at q (n, 3), m, to `force` (n, 3), N."""
        if self.H is None:
            return
        p, memory = self.memory.points, self.memory
        history_forces(writable(q), writable(memory.rest), *p.arrays[:4], p.material, memory.laws, self.H, force)

    def add_stiffness(self, scale: float, values: FloatArray) -> None:
        """Add `scale` × the stiffness of H to the blocks `values` (b, 3, 3), N/m."""
        if self.H is None:
            return
        p, memory = self.memory.points, self.memory
        given = p.ptr, p.gradients, p.weight, p.material, memory.laws, self.H, memory.positions
        history_stiffness(*given, scale, values)


def _rate(relaxation: Relaxation, key: tuple[float, bool]) -> float:
    """Σ b + ζ/h of a time that passes; 0 where a body is relaxed."""
    elapsed, relaxed = key
    if relaxed:
        return 0.0
    _, gain, viscous = relaxation.factors(elapsed)
    return float(gain.sum()) + viscous


def _kept(known: dict[Any, Any], key: Any, make: Callable[[Any], Any]) -> Any:
    """``known[key]``, made where it is not there; the oldest of many are dropped: cut steps have times of their own."""
    if key not in known:
        if len(known) > 8:
            known.pop(next(iter(known)))
        known[key] = make(key)
    return known[key]


@inline
def _corotated_stress(mu, F, R, n, S):
    """S = 2μ (I − U⁻¹), U⁻¹ = F⁻¹R, of lane n of the gradients F and their rotations R."""
    f00, f01, f02 = F[n], F[8 + n], F[16 + n]
    f10, f11, f12 = F[24 + n], F[32 + n], F[40 + n]
    f20, f21, f22 = F[48 + n], F[56 + n], F[64 + n]
    c00, c01, c02 = f11 * f22 - f12 * f21, f12 * f20 - f10 * f22, f10 * f21 - f11 * f20
    c10, c11, c12 = f02 * f21 - f01 * f22, f00 * f22 - f02 * f20, f01 * f20 - f00 * f21
    c20, c21, c22 = f01 * f12 - f02 * f11, f02 * f10 - f00 * f12, f00 * f11 - f01 * f10
    det = f00 * c00 + f01 * c01 + f02 * c02
    k = 2.0 * mu / (det if abs(det) > NARROW else NARROW)
    r00, r01, r02 = R[n], R[8 + n], R[16 + n]
    r10, r11, r12 = R[24 + n], R[32 + n], R[40 + n]
    r20, r21, r22 = R[48 + n], R[56 + n], R[64 + n]
    S[0] = 2.0 * mu - k * (c00 * r00 + c10 * r10 + c20 * r20)
    S[1] = 2.0 * mu - k * (c01 * r01 + c11 * r11 + c21 * r21)
    S[2] = 2.0 * mu - k * (c02 * r02 + c12 * r12 + c22 * r22)
    S[3] = -k * (c00 * r01 + c10 * r11 + c20 * r21)
    S[4] = -k * (c00 * r02 + c10 * r12 + c20 * r22)
    S[5] = -k * (c01 * r02 + c11 * r12 + c21 * r22)


@kernel
def advance(q, ptr, nodes, G, weight, part, material, laws, table, decay, gain, before, after):
    """The history `before` (p, 1 + b, 6) brought to positions q, into `after`: S of the shear part at each point, and
    a Q + b (S − S_before), with a and b from `decay` and `gain` (materials, b).
    """
    Fs, Rs, eigen = np.empty(9 * LANES), np.empty(9 * LANES), np.empty(EIGEN)
    F, U, V, s = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3)), np.empty(3)
    rotates = stretches = False
    for law in laws:
        rotates, stretches = rotates or law <= COROTATED, stretches or law > COROTATED
    for p in range(weight.shape[0]):
        m, lane, S = material[p], p % LANES, after[p, 0]
        if lane == 0:
            gather_gradients(q, ptr, nodes, G, p, Fs, F)
            if rotates:  # cheaper than the singular values
                polar_lanes(Fs, Rs, F, U, s, V)
            if stretches:
                stretch_lanes(Fs, eigen)
        if laws[m] == COROTATED:
            _corotated_stress(table[m, 0], Fs, Rs, lane, S)
        elif laws[m] == LINEAR:
            mu = table[m, 0]
            S[0], S[1], S[2] = (
                2.0 * mu * (Fs[lane] - 1.0),
                2.0 * mu * (Fs[32 + lane] - 1.0),
                2.0 * mu * (Fs[64 + lane] - 1.0),
            )
            S[3], S[4] = mu * (Fs[8 + lane] + Fs[24 + lane]), mu * (Fs[16 + lane] + Fs[48 + lane])
            S[5] = mu * (Fs[40 + lane] + Fs[56 + lane])
        else:
            for i in range(3):
                for j in range(3):
                    F[i, j] = Fs[LANES * (3 * i + j) + lane]
            lane_svd(eigen, lane, F, U, s, V)
            _, g0, g1, g2, _, _, _, _, _, _ = principal_response(laws[m], SHEAR, table[m], s[0], s[1], s[2])
            g0 /= s[0] if abs(s[0]) > NARROW else NARROW
            g1 /= s[1] if abs(s[1]) > NARROW else NARROW
            g2 /= s[2] if abs(s[2]) > NARROW else NARROW
            for k in range(6):
                i, j = (k, k) if k < 3 else ((0, k - 2) if k < 5 else (1, 2))
                S[k] = g0 * V[i, 0] * V[j, 0] + g1 * V[i, 1] * V[j, 1] + g2 * V[i, 2] * V[j, 2]
        for branch in range(decay.shape[1]):
            a, b = decay[m, branch], gain[m, branch]
            for k in range(6):
                after[p, 1 + branch, k] = a * before[p, 1 + branch, k] + b * (S[k] - before[p, 0, k])


@kernel
def remembered(history, material, decay, rate, H):
    """H = Σ a Q − (Σ b + ζ/h) S of each point into `H` (p, 6), Pa; a from `decay` (materials, b), the other factor from
    `rate` (materials,).
    """
    for p in range(H.shape[0]):
        m = material[p]
        for k in range(6):
            total = -rate[m] * history[p, 0, k]
            for branch in range(decay.shape[1]):
                total += decay[m, branch] * history[p, 1 + branch, k]
            H[p, k] = total


@kernel
def history_forces(q, rest, ptr, nodes, G, weight, material, laws, H, force):
    """Internal forces w F H Gₐ of fixed stresses H (p, 6), Pa, added to `force` (n, 3); at small strain w H Gₐ."""
    F = np.empty((3, 3))
    for p in range(weight.shape[0]):
        small = laws[material[p]] == LINEAR
        deformation_gradient(rest if small else q, nodes, G, ptr[p], ptr[p + 1], F)
        h, w = H[p], weight[p]
        for k in range(ptr[p], ptr[p + 1]):
            a, b, c = w * G[k, 0], w * G[k, 1], w * G[k, 2]
            x = h[0] * a + h[3] * b + h[4] * c
            y = h[3] * a + h[1] * b + h[5] * c
            z = h[4] * a + h[5] * b + h[2] * c
            n = nodes[k]
            force[n, 0] += F[0, 0] * x + F[0, 1] * y + F[0, 2] * z
            force[n, 1] += F[1, 0] * x + F[1, 1] * y + F[1, 2] * z
            force[n, 2] += F[2, 0] * x + F[2, 1] * y + F[2, 2] * z


@kernel
def history_stiffness(ptr, G, weight, material, laws, H, positions, scale, values):
    """Blocks `scale` × w (Gₐ · H Gᵦ) I of fixed stresses H (p, 6), Pa, added to `values` (b, 3, 3); none at small
    strain.
    """
    pair = 0
    for p in range(weight.shape[0]):
        start, stop = ptr[p], ptr[p + 1]
        if laws[material[p]] == LINEAR:
            pair += (stop - start) * (stop - start + 1) // 2
            continue
        h, w = H[p], scale * weight[p]
        for a in range(start, stop):
            x = w * (h[0] * G[a, 0] + h[3] * G[a, 1] + h[4] * G[a, 2])
            y = w * (h[3] * G[a, 0] + h[1] * G[a, 1] + h[5] * G[a, 2])
            z = w * (h[4] * G[a, 0] + h[5] * G[a, 1] + h[2] * G[a, 2])
            for b in range(start, a + 1):
                K = values[positions[pair]]
                pair += 1
                d = x * G[b, 0] + y * G[b, 1] + z * G[b, 2]
                K[0, 0] += d
                K[1, 1] += d
                K[2, 2] += d
