"""A path that runs along a rod inside its material: its length, and how the strains of the sections change it.

The path lies at x(s) + R(s) o(s), with o the offset in the frame of the cross-section at arc length s. In a section of
length l with the rotation vector a and the stretch vector u its derivative, in the frame there, is

    w(s) = u/l + a/l × o(s) + o′(s),        L = Σ ∫ |w| ds.

It does not depend on where the section stands: of the strains of one section it is an affine function, so L is a convex
function of the strains with a Hessian of one positive semi-definite 6 × 6 block for each section. A constant offset has
a constant w in each section: L is then exact, and a tension T has the moment T d about the axis, everywhere along it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pliant.core.checks import finite_array
from pliant.core.errors import InputError
from pliant.core.types import FloatArray, IndexArray, IntArray
from pliant.models.rod.stations import section_of

_XI, _WEIGHTS = np.polynomial.legendre.leggauss(8)
"""Quadrature of each smooth part of the path: exact to rounding where the path turns by less than a radian in it."""
_DEGREE = 12
"""Degree of the polynomial that a function of arc length becomes in each section."""
_CHEBYSHEV = -np.cos(np.pi * np.arange(_DEGREE + 1) / _DEGREE)
"""Chebyshev points of a section, in [−1, 1]."""
_SAMPLES = 9
"""Points in each section at which directions are compared, to sum up how far the path turns."""
_ROUNDED = 0.01
"""|w| below which it is rounded to (w² + ε²)/2ε, as of segments of cables: where the material beside the path has no
length left, |w| has no derivative.
"""


def sampled(function: Callable[[Any], Any], ends: FloatArray, what: str) -> FloatArray:
    """A function of arc length, m → (y, z) m, at the Chebyshev points of the parts between `ends`: (parts, 13, 2)."""
    arcs = (ends[:-1, None] + 0.5 * np.diff(ends)[:, None] * (1.0 + _CHEBYSHEV)).ravel()
    try:
        given = [function(float(s)) for s in arcs]
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} must be a function of the arc length in m, but it fails: {error}") from error
    values = [
        finite_array(f"{what} at arc length {s:g} m", value, shape=(2,)) for s, value in zip(arcs, given, strict=True)
    ]
    return np.array(values).reshape(len(ends) - 1, _DEGREE + 1, 2)


def polynomials(samples: FloatArray, ends: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Arc lengths (k,) between which an offset is a polynomial, and its coefficients (k − 1, n, 2) of powers of
    t in [−1, 1] there: of samples (parts, 13, 2) at Chebyshev points of the parts between `ends`, of a table (k, 3) of
    arc lengths and offsets, straight between its rows, or of one offset (2,).
    """
    if samples.ndim == 1:
        return ends[[0, -1]], samples[None, None]
    if samples.ndim == 2:
        low, high = samples[:-1, 1:], samples[1:, 1:]
        return samples[:, 0], 0.5 * np.stack([low + high, high - low], axis=1)
    vandermonde = np.vander(_CHEBYSHEV, increasing=True)
    return ends, np.asarray(np.linalg.solve(vandermonde[None], samples), np.float64)


@dataclass(frozen=True, eq=False)
class Routing:
    """A path along a rod at quadrature points (p,).

    section     (p,) of each point, ascending
    weight      (p,) m, of arc length
    offset      (p, 3) m, o(s) in the frame there
    slope       (p, 3) o′(s), no unit
    beyond      (p,) bool, whether it lies in the second half of what the path covers of its section
    samples     section (r,), fraction (r,), offset (r, 3) and slope (r, 3) at points from end to end of each section
    lengths     (N,) m, of the sections of the rod
    kinds       (n,) strains that may change
    """

    section: IntArray
    weight: FloatArray
    offset: FloatArray
    slope: FloatArray
    beyond: FloatArray
    samples: tuple[IntArray, FloatArray, FloatArray, FloatArray]
    lengths: FloatArray
    kinds: IntArray

    @classmethod
    def of(cls, rod: Any, ends: FloatArray, samples: FloatArray) -> Routing:
        """The path along `rod` between the arc lengths `ends` (covered sections + 1,), with the offset of `samples`
        (`polynomials`).
        """
        arcs, coefficients = polynomials(samples, ends)
        middles = 0.5 * (ends[:-1] + ends[1:])
        inner = arcs[(arcs > ends[0]) & (arcs < ends[-1])]
        cuts = np.unique(np.concatenate([ends, middles, inner]))
        cuts = cuts[np.concatenate([[True], np.diff(cuts) > 1e-12 * ends[-1]])]
        s = (0.5 * (cuts[:-1] + cuts[1:])[:, None] + 0.5 * np.diff(cuts)[:, None] * _XI).ravel()
        weight = (0.5 * np.diff(cuts)[:, None] * _WEIGHTS).ravel()
        covered = np.searchsorted(ends, s) - 1
        offset, slope = _evaluated(arcs, coefficients, s)
        fractions = np.linspace(0.0, 1.0, _SAMPLES)
        shown = (ends[:-1, None] + np.diff(ends)[:, None] * fractions).ravel()
        first = int(section_of(rod.lengths, middles[:1])[0][0])
        where = np.repeat(first + np.arange(len(middles)), _SAMPLES)
        starts = np.concatenate([[0.0], np.cumsum(rod.lengths)])
        fraction = np.clip((shown - starts[where]) / rod.lengths[where], 0.0, 1.0)
        return cls(
            section=(first + covered).astype(np.int32),
            weight=weight,
            offset=offset,
            slope=slope,
            beyond=s > middles[covered],
            samples=(where.astype(np.int32), fraction, *_evaluated(arcs, coefficients, shown)),
            lengths=rod.lengths,
            kinds=rod.active,
        )

    @property
    def sections(self) -> int:
        """How many sections of the rod the path runs through."""
        return int(self.section[-1] - self.section[0]) + 1

    def directions(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """|w| (p,), rounded near zero, and its slope (p, 3), the unit tangent in the frame of the cross-section."""
        w = self._derivative(q, self.section, self.offset, self.slope)
        size = np.linalg.norm(w, axis=1)
        least = np.maximum(size, _ROUNDED)
        return np.where(size < _ROUNDED, 0.5 * (size**2 / _ROUNDED + _ROUNDED), size), w / least[:, None]

    def pieces(self, size: FloatArray) -> FloatArray:
        """Lengths (sections + 1,), m, between its ends and the middles of the sections, of |w| (p,)."""
        return np.asarray(np.bincount(self.groups, self.weight * size, self.sections + 1), np.float64)

    @cached_property
    def groups(self) -> IndexArray:
        """The piece of each point, between the middles of sections."""
        return np.asarray(self.section - self.section[0] + self.beyond, np.int64)

    def gradients(self, unit: FloatArray) -> FloatArray:
        """∂|w|/∂ψ (p, 6) times the weight: of each point by the rotation and the stretch vector of its section."""
        scale = (self.weight / self.lengths[self.section])[:, None]
        return np.hstack([scale * np.cross(self.offset, unit), scale * unit])

    def rows(self, values: FloatArray) -> FloatArray:
        """Rows (m, 6 + 6N) over the unknowns of the rod, from `values` (m, p, 6) at the points."""
        out = np.zeros((len(values), len(self.lengths), 6))
        for row, value in zip(out, values, strict=True):
            np.add.at(row, self.section, value)
        return np.hstack([np.zeros((len(values), 6)), out.reshape(len(values), -1)])

    @cached_property
    def columns(self) -> IntArray:
        """Unknowns that change the length: the active strains of the sections that the path runs through."""
        covered = np.arange(self.section[0], self.section[-1] + 1)
        return np.asarray((6 + 6 * covered[:, None] + self.kinds).ravel(), np.int32)

    def stiffness(self, unit: FloatArray, size: FloatArray, tension: FloatArray) -> FloatArray:
        """Σ T ∂²L/∂ψ² (n, n) over the active unknowns, for tensions T (p,) N at the points."""
        cross = np.zeros((len(unit), 3, 3))  # a × o = −[o]× a
        x, y, z = self.offset.T
        cross[:, 0, 1], cross[:, 0, 2], cross[:, 1, 2] = z, -y, x
        cross[:, 1, 0], cross[:, 2, 0], cross[:, 2, 1] = -z, y, -x
        J = np.concatenate([cross, np.broadcast_to(np.eye(3), cross.shape)], axis=2)
        J -= unit[:, :, None] * np.einsum("pi,pij->pj", unit, J)[:, None]
        scale = tension * self.weight / (np.maximum(size, _ROUNDED) * self.lengths[self.section] ** 2)
        blocks = np.einsum("p,pia,pib->pab", scale, J, J, optimize=True)
        count, width = len(self.lengths), len(self.kinds)
        each = np.zeros((count, 6, 6))
        np.add.at(each, self.section, blocks)
        K = np.zeros((6 + count * width, 6 + count * width))
        for k in range(int(self.section[0]), int(self.section[-1]) + 1):
            own = slice(6 + k * width, 6 + (k + 1) * width)
            K[own, own] = each[k][np.ix_(self.kinds, self.kinds)]
        return K

    def turns(self, q: FloatArray) -> FloatArray:
        """Angle (sections,), rad, by which the path turns in each section, and half of that at both its ends."""
        section, fraction, offset, slope = self.samples
        w = self._derivative(q, section, offset, slope)
        w /= np.maximum(np.linalg.norm(w, axis=1, keepdims=True), np.finfo(float).tiny)
        a = q[4:].reshape(-1, 2, 3)[section, 0]
        turned = _rotated(fraction[:, None] * a, w).reshape(-1, _SAMPLES, 3)
        inside = _angles(turned[:, :-1], turned[:, 1:]).sum(axis=1)
        ends = w.reshape(-1, _SAMPLES, 3)
        between = 0.5 * _angles(ends[:-1, -1], ends[1:, 0])
        inside[:-1] += between
        inside[1:] += between
        return np.asarray(inside)

    def _derivative(self, q: FloatArray, section: IntArray, offset: FloatArray, slope: FloatArray) -> FloatArray:
        psi = q[4:].reshape(-1, 2, 3)[section] / self.lengths[section, None, None]
        return np.asarray(psi[:, 1] + np.cross(psi[:, 0], offset) + slope)


def covered_ends(lengths: FloatArray, start: float, end: float) -> FloatArray:
    """Arc lengths (k + 1,), m, that bound what a path from `start` to `end` covers of k sections."""
    starts = np.concatenate([[0.0], np.cumsum(lengths)])
    slack = 1e-9 * starts[-1]
    inner = starts[(starts > start + slack) & (starts < end - slack)]
    return np.concatenate([[start], inner, [end]])


def check_table(table: FloatArray, start: float, end: float, what: str) -> None:
    """Raise unless the rows of `table` (k, 3) go along the rod and cover `start` to `end`, m."""
    arcs = table[:, 0]
    if len(table) < 2 or not (np.diff(arcs) > 0.0).all():
        raise InputError(f"{what}: arc lengths, the first column of a table, must increase over two rows or more")
    slack = 1e-9 * max(abs(end), 1e-9)
    if arcs[0] > start + slack or arcs[-1] < end - slack:
        raise InputError(
            f"{what} is given from {arcs[0]:g} to {arcs[-1]:g} m of arc length, but it runs from {start:g} to {end:g} m"
        )


def _evaluated(arcs: FloatArray, coefficients: FloatArray, s: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Offsets (p, 3) m and slopes (p, 3) at the arc lengths s (p,) of polynomials between `arcs`."""
    k = np.clip(np.searchsorted(arcs, s) - 1, 0, len(coefficients) - 1)
    half = 0.5 * np.diff(arcs)[k, None]
    t = (s[:, None] - arcs[k, None]) / half - 1.0
    value: FloatArray = np.zeros((len(s), 2))
    rate: FloatArray = np.zeros((len(s), 2))
    for c in np.moveaxis(coefficients, 1, 0)[::-1]:  # Horner, with the derivative
        rate = rate * t + value
        value = value * t + c[k]
    return np.pad(value, ((0, 0), (1, 0))), np.pad(rate / half, ((0, 0), (1, 0)))


def _rotated(a: FloatArray, v: FloatArray) -> FloatArray:
    """exp(a) v for rotation vectors a (r, 3) rad."""
    angle = np.linalg.norm(a, axis=1, keepdims=True)
    axis = a / np.maximum(angle, np.finfo(float).tiny)
    along = axis * np.einsum("ri,ri->r", axis, v)[:, None]
    turned = along + np.cos(angle) * (v - along) + np.sin(angle) * np.cross(axis, v)
    return np.asarray(np.where(angle > 0.0, turned, v))


def _angles(x: FloatArray, y: FloatArray) -> FloatArray:
    """Angles between unit vectors, rad; 2 atan2(|x − y|, |x + y|) is exact at small ones."""
    return np.asarray(2.0 * np.arctan2(np.linalg.norm(x - y, axis=-1), np.linalg.norm(x + y, axis=-1)))
