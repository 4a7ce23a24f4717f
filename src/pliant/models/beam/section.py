"""Cross-sections of beams and rods: area, second moments, torsion constant and shear correction.

Axes of a section: x along the beam, y across its width, z across its height. `second_moments` are (I_y, I_z) with
I_y = ∫ z² dA, the stiffness against bending about y, and I_z = ∫ y² dA.

References: S. Timoshenko, J. Goodier, "Theory of Elasticity", 1970, §109 (torsion of a rectangle); G. R. Cowper, "The
shear coefficient in Timoshenko's beam theory", J. Appl. Mech. 33, 1966.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from pliant.core.checks import finite_array, non_negative, positive
from pliant.core.declared import check_declared
from pliant.core.errors import InputError
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray

__all__ = ["Circle", "Rectangle", "Section", "Taper", "Tube"]

_AROUND = 24
"""Points of a round outline: a multiple of 2, 3 and 4, so that coarser drawings take every second to fourth."""
_TERMS = 2.0 * np.arange(40) + 1.0
"""Odd n of Saint-Venant's series; its terms fall by n⁻⁵, so that 40 of them give eight digits."""

_ALONG, _WEIGHTS = (part * 0.5 for part in np.polynomial.legendre.leggauss(8))
"""Quadrature along a taper: exact for the polynomials of round sections, to rounding for J and κ of others."""


class Section(Protocol):
    """What a beam needs to know of its cross-section."""

    @property
    def area(self) -> float:
        """Area, m²."""

    @property
    def second_moments(self) -> tuple[float, float]:
        """(I_y, I_z), m⁴."""

    @property
    def torsion_constant(self) -> float:
        """J of Saint-Venant's torsion, m⁴: torque = G J × twist per length."""

    @property
    def radius(self) -> float:
        """Radius of the balls that stand for the beam in contacts, m."""

    def shear_correction(self, poisson: float) -> float:
        """κ of Timoshenko's theory: shear force = κ G A × shear angle."""

    def outline(self) -> FloatArray:
        """Points (k, 2) m of the outer border in (y, z), counter-clockwise."""


class _Round:
    """Formulas of a ring with outer radius R and inner radius r, which is 0 for a disc."""

    @property
    def _radii(self) -> tuple[float, float]:
        raise NotImplementedError

    @property
    def area(self) -> float:
        """π (R² − r²), m²."""
        outer, inner = self._radii
        return float(np.pi * (outer**2 - inner**2))

    @property
    def second_moments(self) -> tuple[float, float]:
        """π (R⁴ − r⁴)/4 about both axes, m⁴."""
        outer, inner = self._radii
        moment = float(0.25 * np.pi * (outer**4 - inner**4))
        return moment, moment

    @property
    def torsion_constant(self) -> float:
        """π (R⁴ − r⁴)/2, m⁴."""
        outer, inner = self._radii
        return float(0.5 * np.pi * (outer**4 - inner**4))

    def shear_correction(self, poisson: float) -> float:
        """6 (1 + ν)(1 + m²)² / ((7 + 6 ν)(1 + m²)² + (20 + 12 ν) m²) with m = r/R."""
        outer, inner = self._radii
        m2 = (inner / outer) ** 2
        full = (1.0 + m2) ** 2
        return 6.0 * (1.0 + poisson) * full / ((7.0 + 6.0 * poisson) * full + (20.0 + 12.0 * poisson) * m2)

    def outline(self) -> FloatArray:
        """Points (24, 2) m of the outer circle."""
        angle = np.linspace(0.0, 2.0 * np.pi, _AROUND, endpoint=False)
        return self._radii[0] * np.stack([np.cos(angle), np.sin(angle)], axis=1)


@dataclass(frozen=True)
class Circle(_Round):
    """A solid disc of `radius` m."""

    radius: float

    def __post_init__(self) -> None:
        check_declared(self)
        object.__setattr__(self, "radius", positive("radius of a Circle", self.radius, unit="m"))

    @property
    def _radii(self) -> tuple[float, float]:
        return self.radius, 0.0


@dataclass(frozen=True)
class Tube(_Round):
    """A ring of outer radius `outer` m and inner radius `inner` m."""

    outer: float
    inner: float

    def __post_init__(self) -> None:
        check_declared(self)
        object.__setattr__(self, "outer", positive("outer radius of a Tube", self.outer, unit="m"))
        object.__setattr__(self, "inner", non_negative("inner radius of a Tube", self.inner, unit="m"))
        if not self.inner < self.outer:
            raise InputError(
                f"inner radius of a Tube is {self.inner:g} m, its outer radius {self.outer:g} m; inner must be smaller"
            )

    @property
    def _radii(self) -> tuple[float, float]:
        return self.outer, self.inner

    @property
    def radius(self) -> float:
        """The outer radius, m."""
        return self.outer


@dataclass(frozen=True)
class Rectangle:
    """A rectangle of `width` m along y and `height` m along z."""

    width: float
    height: float

    def __post_init__(self) -> None:
        check_declared(self)
        object.__setattr__(self, "width", positive("width of a Rectangle", self.width, unit="m"))
        object.__setattr__(self, "height", positive("height of a Rectangle", self.height, unit="m"))

    @property
    def area(self) -> float:
        """b h, m²."""
        return self.width * self.height

    @property
    def second_moments(self) -> tuple[float, float]:
        """(b h³/12, h b³/12), m⁴."""
        return self.width * self.height**3 / 12.0, self.height * self.width**3 / 12.0

    @property
    def torsion_constant(self) -> float:
        """Saint-Venant's series, m⁴: with the longer side a and the shorter b,
        J = a b³/3 (1 − 192/π⁵ (b/a) Σ tanh(n π a/2b)/n⁵ over odd n). A square has 0.1406 a⁴, not (I_y + I_z) = a⁴/6.
        """
        a, b = max(self.width, self.height), min(self.width, self.height)
        series = float((np.tanh(0.5 * np.pi * _TERMS * a / b) / _TERMS**5).sum())
        return float(a * b**3 / 3.0 * (1.0 - 192.0 / np.pi**5 * b / a * series))

    @property
    def radius(self) -> float:
        """Half the shorter side, m: the largest ball that fits."""
        return 0.5 * min(self.width, self.height)

    def shear_correction(self, poisson: float) -> float:
        """10 (1 + ν)/(12 + 11 ν)."""
        return 10.0 * (1.0 + poisson) / (12.0 + 11.0 * poisson)

    def outline(self) -> FloatArray:
        """Its corners (4, 2) m."""
        y, z = 0.5 * self.width, 0.5 * self.height
        return np.array([(-y, -z), (y, -z), (y, z), (-y, z)])


@one_line
@dataclass(frozen=True)
class Taper:
    """A cross-section that goes from `start` to `end`, of one kind; its dimensions vary linearly along the rod.

    For `pl.Rod(section=…)`: one for the whole rod, or in a list one for each section of the rod, beside cross-sections
    that do not vary. Stiffness and inertia are integrated along each section of the rod.
    """

    start: Section
    end: Section

    def __post_init__(self) -> None:
        check_declared(self)
        if type(self.start) is not type(self.end) or not isinstance(self.start, (Circle, Tube, Rectangle)):
            names = " and ".join(type(one).__name__ for one in (self.start, self.end))
            raise InputError(f"a Taper joins two cross-sections of one kind, Circle, Tube or Rectangle, got {names}")

    def at(self, fraction: float) -> Section:
        """The cross-section at `fraction`, in [0, 1], of the length."""
        ends: tuple[Any, Any] = self.start, self.end
        sizes = [[getattr(one, item.name) for item in fields(one)] for one in ends]
        made: Section = type(ends[0])(*(a + fraction * (b - a) for a, b in zip(*sizes, strict=True)))
        return made

    def pieces(self, lengths: Any) -> tuple[Taper, ...]:
        """The taper cut into pieces: so many equal ones, or with these lengths (or fractions of the whole)."""
        given = np.ones(lengths) if isinstance(lengths, int) else finite_array("lengths of the pieces", lengths)
        if given.ndim != 1 or not len(given) or not (given > 0.0).all():
            raise InputError(f"pieces of a Taper need a count or lengths > 0, got {lengths!r}")
        ends = np.concatenate([[0.0], np.cumsum(given)]) / given.sum()
        cuts = [self.start, *(self.at(float(f)) for f in ends[1:-1]), self.end]
        return tuple(Taper(a, b) for a, b in pairwise(cuts))

    @property
    def radius(self) -> float:
        """The larger radius of both ends, m."""
        return max(self.start.radius, self.end.radius)

    def outline(self) -> FloatArray:
        """The outline of the larger end, (k, 2) m."""
        return max((self.start.outline(), self.end.outline()), key=lambda points: float(np.abs(points).max()))


def section_at(section: Section | Taper, fraction: float) -> Section:
    """The cross-section at `fraction`, in [0, 1], of a section of a rod."""
    return section.at(fraction) if isinstance(section, Taper) else section


def mean_of(section: Section | Taper, value: Callable[[Section], Any]) -> FloatArray:
    """The mean of `value`, a number or a list of numbers of a cross-section, along a section of a rod."""
    if not isinstance(section, Taper):
        return np.asarray(value(section), float)
    values = np.array([value(section.at(0.5 + float(x))) for x in _ALONG])
    return np.asarray(np.tensordot(_WEIGHTS, values, axes=1))
