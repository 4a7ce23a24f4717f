"""Gauss rules on the reference elements and facets, exact for polynomials up to a chosen degree.

Tetrahedra: 1 point (degree 1), 4 points (2), the 14 points of Walkington (5), all with positive weights; above that
the conical product of Gauss–Jacobi rules. Triangles: 1, 3 and 6 points (degrees 1, 2 and 4), then the same product.
Hexahedra and quadrilaterals: products of Gauss–Legendre rules.

References: N. J. Walkington, "Quadrature on simplices of arbitrary dimension", CMU, 2000; G. R. Cowper, "Gaussian
quadrature formulas for triangles", IJNME 7, 1973; A. H. Stroud, "Approximate calculation of multiple integrals", 1971.
"""

from __future__ import annotations

from functools import cache
from itertools import permutations

import numpy as np

from pliant.core.arrays import frozen
from pliant.core.errors import InputError
from pliant.core.types import FloatArray
from pliant.mesh.elements import checked_facet, element_table

STIFFNESS_DEGREE: dict[str, int] = {"tet4": 1, "tet10": 2, "hex8": 3}
"""Degree of the usual stiffness rule: 1 point, 4 points, 2×2×2 points."""

MASS_DEGREE: dict[str, int] = {"tet4": 2, "tet10": 4, "hex8": 3}
"""Degree that integrates NₐN_b exactly on straight-sided cells."""

FACET_DEGREE: dict[str, int] = {"tri3": 1, "tri6": 4, "quad4": 3}
"""Degree that integrates a uniform pressure on a deformed facet exactly."""

Rule = tuple[FloatArray, FloatArray]


def gauss(element: str, degree: int | None = None) -> Rule:
    """Points ξ (q, 3) and weights (q,) exact to `degree` on `element`; None takes the stiffness rule.

    The weights sum to the reference volume: 1/6 for tetrahedra, 8 for hexahedra. Hexahedral rules are exact to
    `degree` in each variable.
    """
    name = element_table(element).name
    degree = STIFFNESS_DEGREE[name] if degree is None else _checked(degree)
    return _box_rule(3, degree) if name == "hex8" else _simplex_rule(3, degree)


def facet_gauss(facet: str, degree: int | None = None) -> Rule:
    """Points ξ (q, 2) and weights (q,) exact to `degree` on `facet`; None takes the rule for uniform pressure.

    The weights sum to 1/2 for "tri3" and "tri6", to 4 for "quad4".
    """
    degree = FACET_DEGREE[checked_facet(facet)] if degree is None else _checked(degree)
    return _box_rule(2, degree) if facet == "quad4" else _simplex_rule(2, degree)


def _checked(degree: int) -> int:
    if not 0 <= degree <= 40:
        raise InputError(f"degree of a quadrature rule must be between 0 and 40, got {degree}")
    return int(degree)


@cache
def _simplex_rule(dimension: int, degree: int) -> Rule:
    if degree <= 1:
        return _orbits(dimension, [(1.0, (1.0 / (dimension + 1),) * (dimension + 1))])
    if dimension == 2 and degree == 2:
        return _orbits(2, [(1.0 / 3.0, (1 / 6, 1 / 6, 2 / 3))])
    if dimension == 2 and degree <= 4:
        a, b = 0.445948490915964886318, 0.091576213509770743460
        return _orbits(2, [(0.223381589678011465944, (a, a, 1 - 2 * a)), (0.109951743655321867389, (b, b, 1 - 2 * b))])
    if dimension == 3 and degree == 2:
        a = (5.0 - np.sqrt(5.0)) / 20.0
        return _orbits(3, [(0.25, (a, a, a, 1 - 3 * a))])
    if dimension == 3 and degree <= 5:
        a, b, c = 0.310885919263300609797, 0.0927352503108912264023, 0.0455037041256496494918
        corners = [(0.112687925718015850799, (a, a, a, 1 - 3 * a)), (0.0734930431163619495437, (b, b, b, 1 - 3 * b))]
        return _orbits(3, [*corners, (0.0425460207770814664380, (c, c, 0.5 - c, 0.5 - c))])
    return _conical_rule(dimension, degree)


def _orbits(dimension: int, orbits: list[tuple[float, tuple[float, ...]]]) -> Rule:
    """A rule from barycentric points given up to permutation, with weights that sum to one over all of them."""
    points: list[tuple[float, ...]] = []
    weights: list[float] = []
    for weight, barycentric in orbits:
        images = sorted(set(permutations(barycentric)))
        points += [image[1:] for image in images]
        weights += [weight] * len(images)
    volume = {2: 1.0 / 2.0, 3: 1.0 / 6.0}[dimension]
    return _frozen(np.array(points), volume * np.array(weights))


def _conical_rule(dimension: int, degree: int) -> Rule:
    """The cube collapsed onto the simplex: ξ₁ = u₁, ξ₂ = u₂(1 − u₁), ξ₃ = u₃(1 − u₁)(1 − u₂)."""
    from scipy.special import roots_jacobi

    count = degree // 2 + 1
    axes = [roots_jacobi(count, dimension - 1 - axis, 0) for axis in range(dimension)]
    nodes = [0.5 * (1.0 + x) for x, _ in axes]
    scaled = [w / 2.0 ** (dimension - axis) for axis, (_, w) in enumerate(axes)]
    u = np.stack([g.ravel() for g in np.meshgrid(*nodes, indexing="ij")], axis=1)
    weights = np.prod([g.ravel() for g in np.meshgrid(*scaled, indexing="ij")], axis=0)
    remaining = np.cumprod(np.column_stack([np.ones(len(u)), 1.0 - u[:, :-1]]), axis=1)
    return _frozen(u * remaining, weights)


@cache
def _box_rule(dimension: int, degree: int) -> Rule:
    x, w = np.polynomial.legendre.leggauss(degree // 2 + 1)
    points = np.stack([g.ravel() for g in np.meshgrid(*[x] * dimension, indexing="ij")], axis=1)
    weights = np.prod([g.ravel() for g in np.meshgrid(*[w] * dimension, indexing="ij")], axis=0)
    return _frozen(points, weights)


def _frozen(points: FloatArray, weights: FloatArray) -> Rule:
    return frozen(np.ascontiguousarray(points)), frozen(np.ascontiguousarray(weights))
