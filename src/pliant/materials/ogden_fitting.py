"""Exponents and moduli of several Ogden terms from a tensile test, with m a > 0 in every term.

Then every term, and with it the sum, is convex in the logarithmic strains of an incompressible material: the fit is
stable in any state of strain, not only in the tension that was measured (Hill 1970; Ogden 1984, §6.2). For given
exponents the moduli are a non-negative least-squares problem (Lawson and Hanson); terms are added one by one where they
lower the error most, with every number of negative exponents, and all exponents are refined together after each
(variable projection, Golub and Pereyra 1973).
"""

from __future__ import annotations

import numpy as np

from pliant.core.types import FloatArray

EXPONENT_RANGE = (1.0, 20.0)
"""Range of |a|: for a ≥ 1 the stress rises at every stretch; silicones are far below 20."""
GRID = 39
"""Exponents of each sign that are tried for a further term: steps of half."""
POOL = 4
"""Sets of exponents that are carried on to the next term."""
ENOUGH = 1e-12
"""A further term must lower the sum of squares by this fraction of that of the data."""


def ogden_shape(s: FloatArray, a: float) -> FloatArray:
    """Engineering stress per unit of m of one term in uniaxial tension at stretches s."""
    return np.asarray(s ** (a - 1.0) - s ** (-0.5 * a - 1.0))


def fit_terms(s: FloatArray, stresses: FloatArray, weights: FloatArray, terms: int) -> list[tuple[float, float]]:
    """Pairs (m, a) of at most `terms` terms, the largest exponent first.

    s, stresses, weights
        Stretches, engineering stresses (Pa) and weights of the errors, all (k,).
    """
    wanted = weights * stresses
    scale = float(wanted @ wanted)
    grid = np.linspace(*EXPONENT_RANGE, GRID)
    both = (*grid, *-grid)
    pool: list[tuple[float, list[float]]] = [(scale, [])]
    for _ in range(terms):
        starts: dict[int, tuple[float, list[float]]] = {}  # the best one of each number of negative exponents
        for _, exponents in pool:
            for a in both:
                some = [*exponents, float(a)]
                error, kind = _moduli(s, wanted, weights, some)[1], sum(x < 0.0 for x in some)
                if kind not in starts or error < starts[kind][0]:
                    starts[kind] = error, some
        refined = [_refined(s, wanted, weights, some) for _, some in starts.values()]
        best = sorted([*refined, *starts.values()], key=lambda one: one[0])[:POOL]
        if pool[0][0] - best[0][0] < ENOUGH * scale:
            break
        pool = best
    exponents = pool[0][1]
    sizes, _ = _moduli(s, wanted, weights, exponents)
    kept = [(float(np.sign(a) * size), a) for size, a in zip(sizes, exponents, strict=True) if size > 0.0]
    return sorted(kept, key=lambda term: term[1], reverse=True)


def _refined(s: FloatArray, wanted: FloatArray, weights: FloatArray, start: list[float]) -> tuple[float, list[float]]:
    """The error and the exponents of least squares near `start`, with its signs."""
    from scipy.optimize import least_squares  # a third of a second to import, and only fits need it

    signs, scale = np.sign(start), float(np.linalg.norm(wanted))

    def left(x: FloatArray) -> FloatArray:
        moduli = _moduli(s, wanted, weights, signs * x)[0]
        return np.asarray((_columns(s, weights, signs * x) @ moduli - wanted) / scale)

    found = least_squares(left, np.abs(start), bounds=EXPONENT_RANGE, xtol=1e-14, ftol=1e-14, gtol=1e-14).x * signs
    return _moduli(s, wanted, weights, found)[1], [float(a) for a in found]


def _columns(s: FloatArray, weights: FloatArray, exponents: FloatArray | list[float]) -> FloatArray:
    return np.stack([np.sign(a) * weights * ogden_shape(s, a) for a in exponents], axis=1)


def _moduli(
    s: FloatArray, wanted: FloatArray, weights: FloatArray, exponents: FloatArray | list[float]
) -> tuple[FloatArray, float]:
    """|m| of each term, and the sum of the squared errors."""
    from scipy.optimize import nnls

    columns = _columns(s, weights, exponents)
    sizes = np.linalg.norm(columns, axis=0)
    found, rest = nnls(columns / sizes, wanted)
    return found / sizes, float(rest**2)
