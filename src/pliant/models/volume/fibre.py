"""Elastic fibres through a volume: guide tubes of cables, reinforcing threads.

Each piece between neighbouring points is a bar of axial stiffness EA: E = ½ EA (ℓ − ℓ₀)²/ℓ₀, tension T = EA (ℓ/ℓ₀ − 1),
stiffness EA/ℓ₀ u uᵀ + T/ℓ (I − u uᵀ).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.core.arrays import frozen
from pliant.core.checks import finite_array, non_negative, positive
from pliant.core.declared import check_declared
from pliant.core.errors import InputError
from pliant.core.kernels import kernel
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray
from pliant.materials import Tangent
from pliant.mesh import Locator, Mesh
from pliant.models.volume.segments import Segments
from pliant.solvers.linear.pattern import BlockPattern

if TYPE_CHECKING:
    from pliant.models.volume.volume import Volume


@one_line
@dataclass(frozen=True, eq=False)
class Fibre:
    """A fibre of axial `stiffness` EA (N) through `points` (k, 3), m, of `body`, in the frame of its mesh.

    reach
        How far outside the mesh a point may lie, m; it is then extrapolated from the nearest cell.
    """

    body: Volume
    points: Any
    _: KW_ONLY
    stiffness: float
    reach: float = 0.0
    name: str = "fibre"

    def __post_init__(self) -> None:
        check_declared(self)
        points = finite_array(f"points of {self.name!r}", self.points, shape=(None, 3))
        if len(points) < 2 or not (np.linalg.norm(np.diff(points, axis=0), axis=1) > 0.0).all():
            raise InputError(f"{self.name!r} needs two or more points, neighbours apart from each other")
        positive(f"stiffness of {self.name!r}", self.stiffness, unit="N")
        non_negative(f"reach of {self.name!r}", self.reach, unit="m")


@dataclass(frozen=True, eq=False)
class FibreBars:
    """The bars of all fibres of a compiled volume: their pieces, rest lengths (s,) in m, and EA (s,) in N."""

    segments: Segments
    rest: FloatArray
    stiffness: FloatArray

    @classmethod
    def of(cls, spec: Fibre, placed: Mesh) -> FibreBars:
        """The bars of `spec` in its body as it stands in the world; positions in the matrix come later."""
        points = finite_array("points", spec.points, shape=(None, 3))
        where = Locator(spec.body.mesh).locate(points)
        if (where.distance > spec.reach).any():
            Locator(spec.body.mesh).locate(points, outside="error", what=f"points of fibre {spec.name!r}")
        segments = Segments.between(where.nodes, where.weights)
        rest = np.linalg.norm(segments.vectors(placed.points), axis=1)
        return cls(segments, rest, np.full(len(rest), float(spec.stiffness)))

    @classmethod
    def joined(cls, parts: Sequence[FibreBars], pattern: BlockPattern) -> tuple[FibreBars, ...]:
        """The bars of all `parts` in one, placed in the matrix of the volume: a step goes through them in one pass.
        Empty where there are none.
        """
        if not parts:
            return ()
        segments = Segments.joined([part.segments.placed(pattern) for part in parts])
        rest, stiffness = (np.concatenate([getattr(part, name) for part in parts]) for name in ("rest", "stiffness"))
        return (cls(segments, rest, stiffness),)

    def add(self, q: FloatArray, force: FloatArray) -> float:
        """Add the internal forces ∂E/∂q (n, 3), N; returns the energy, J."""
        return float(add_bar_forces(frozen(q), *self.segments.terms, self.rest, self.stiffness, force))

    def add_stiffness(self, q: FloatArray, scale: float, tangent: Tangent, values: FloatArray) -> None:
        """Add `scale` × ∂²E/∂q² to the blocks; only the exact tangent keeps what a pressed bar softens."""
        lengths, units = self._pieces(q)
        across = self.stiffness * (1.0 / self.rest - 1.0 / lengths)
        if tangent is not Tangent.EXACT:
            across = np.maximum(across, 0.0)
        self.segments.add_blocks(scale * self.stiffness / self.rest, scale * across, units, values)

    def add_damping_slope(self, q: FloatArray, d: FloatArray, w: FloatArray, force: FloatArray) -> None:
        """Add ∂(wᵀ K(q) d)/∂q to `force` (n, 3), for the K of `add_stiffness` that is not exact, and d and w (n, 3)."""
        lengths, u = self._pieces(q)
        a, b = self.segments.vectors(w), self.segments.vectors(d)
        along_a, along_b = np.einsum("si,si->s", u, a), np.einsum("si,si->s", u, b)
        across = self.stiffness * np.maximum(1.0 / self.rest - 1.0 / lengths, 0.0)
        turned = a * along_b[:, None] + b * along_a[:, None] - 2.0 * (along_a * along_b)[:, None] * u
        grown = np.where(across > 0.0, self.stiffness / lengths**2, 0.0) * (
            np.einsum("si,si->s", a, b) - along_a * along_b
        )
        slope = ((self.stiffness / self.rest - across) / lengths)[:, None] * turned + grown[:, None] * u
        self.segments.add_forces(slope, force)

    def add_damping_change(self, q: FloatArray, d: FloatArray, y: FloatArray, force: FloatArray) -> None:
        """Add ∂(K(q) d)/∂q y to `force` (n, 3): the transpose of `add_damping_slope`, for a motion y (n, 3)."""
        lengths, u = self._pieces(q)
        b, c = self.segments.vectors(d), self.segments.vectors(y)
        along_b, along_c = np.einsum("si,si->s", u, b), np.einsum("si,si->s", u, c)
        across = self.stiffness * np.maximum(1.0 / self.rest - 1.0 / lengths, 0.0)
        steep = (self.stiffness / self.rest - across) / lengths
        grown = np.where(across > 0.0, self.stiffness / lengths**2, 0.0) * along_c
        along = steep * (np.einsum("si,si->s", b, c) - 2.0 * along_b * along_c) - grown * along_b
        self.segments.add_forces((steep * along_b)[:, None] * c + along[:, None] * u + grown[:, None] * b, force)

    def add_step_slope(self, q: FloatArray, d: FloatArray, w: FloatArray, scale: float, force: FloatArray) -> None:
        """Add ∂(wᵀ (f + `scale` K d))/∂q at fixed q + d to `force` (n, 3), for the internal forces f and the K of
        `add_stiffness` that is not exact.
        """
        add_bar_slope(frozen(q), *self.segments.terms, self.rest, self.stiffness, frozen(d), frozen(w), scale, force)

    def _pieces(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        lengths, units = np.empty(len(self.rest)), np.empty((len(self.rest), 3))
        measure_bars(frozen(q), *self.segments.terms, self.rest, lengths, units)
        return lengths, units


@kernel
def measure_bars(q, ptr, nodes, coefficients, rest, lengths, units):  # type: ignore[no-untyped-def]
    """Lengths (s,), m, never zero, and directions (s, 3) of the bars."""
    for s in range(len(rest)):
        x = y = z = 0.0
        for a in range(ptr[s], ptr[s + 1]):
            n, c = nodes[a], coefficients[a]
            x += c * q[n, 0]
            y += c * q[n, 1]
            z += c * q[n, 2]
        length = max(np.sqrt(x * x + y * y + z * z), 1e-12 * rest[s])
        lengths[s] = length
        units[s, 0], units[s, 1], units[s, 2] = x / length, y / length, z / length


@kernel
def add_bar_forces(q, ptr, nodes, coefficients, rest, stiffness, force):  # type: ignore[no-untyped-def]
    """Add the forces EA (ℓ/ℓ₀ − 1) u of the bars to `force` (n, 3); returns their energy."""
    lengths, units = np.empty(len(rest)), np.empty((len(rest), 3))
    measure_bars(q, ptr, nodes, coefficients, rest, lengths, units)
    energy = 0.0
    for s in range(len(rest)):
        strain = lengths[s] / rest[s] - 1.0
        energy += 0.5 * stiffness[s] * rest[s] * strain * strain
        for a in range(ptr[s], ptr[s + 1]):
            f = coefficients[a] * stiffness[s] * strain
            for i in range(3):
                force[nodes[a], i] += f * units[s, i]
    return energy


@kernel
def add_bar_slope(q, ptr, nodes, coefficients, rest, stiffness, d, w, scale, force):  # type: ignore[no-untyped-def]
    """`FibreBars.add_step_slope`: of a bar K = EA/ℓ₀ u uᵀ + k (I − u uᵀ) with k = EA max(1/ℓ₀ − 1/ℓ, 0)."""
    lengths, units = np.empty(len(rest)), np.empty((len(rest), 3))
    measure_bars(q, ptr, nodes, coefficients, rest, lengths, units)
    a, b = np.empty(3), np.empty(3)
    for s in range(len(rest)):
        a[:] = 0.0
        b[:] = 0.0
        for k in range(ptr[s], ptr[s + 1]):
            n, c = nodes[k], coefficients[k]
            for i in range(3):
                a[i] += c * w[n, i]
                b[i] += c * d[n, i]
        u, length, axial = units[s], lengths[s], stiffness[s] / rest[s]
        exact = axial - stiffness[s] / length
        across = max(exact, 0.0)
        along_a = u[0] * a[0] + u[1] * a[1] + u[2] * a[2]
        along_b = u[0] * b[0] + u[1] * b[1] + u[2] * b[2]
        both = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] - along_a * along_b
        steep = scale * (axial - across) / length
        grown = scale * stiffness[s] / length**2 * both if across > 0.0 else 0.0
        kept = exact - scale * across
        on_axis = (axial - exact - scale * (axial - across)) * along_a - 2.0 * steep * along_a * along_b + grown
        for i in range(3):
            a[i] = kept * a[i] + steep * (a[i] * along_b + b[i] * along_a) + on_axis * u[i]
        for k in range(ptr[s], ptr[s + 1]):
            for i in range(3):
                force[nodes[k], i] += coefficients[k] * a[i]
