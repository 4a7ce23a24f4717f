"""The even functions of an angle against exact rational series, from θ = 0 through the switch to closed forms."""

from fractions import Fraction
from math import factorial

import numpy as np
import pytest

from pliant.core.kernels import kernel
from pliant.models.rod.screw import add_first_derivative, add_second_derivative, jacobian_slope, polynomial
from pliant.models.rod.series import _row, even_functions

ANGLES = [
    0.0,
    1e-300,
    1e-16,
    1e-12,
    1e-8,
    1e-6,
    1e-4,
    1e-3,
    0.01,
    0.1,
    0.5,
    0.999,
    1.0,
    1.001,
    2.0,
    2.9999,
    3.0,
    3.5,
    6.0,
]
FIRST, DERIVATIVE = (1, 2, 3, 2, 3, 2, 3), (0, 0, 0, 1, 1, 2, 2)


@kernel
def evaluate(z, c):
    even_functions(z, c)


@kernel
def jacobians(a, u, y, T, Q, B, D):
    c = np.empty(7)
    even_functions(a[0] ** 2 + a[1] ** 2 + a[2] ** 2, c)
    polynomial(a[0], a[1], a[2], c[1], c[2], T)
    jacobian_slope(a, u, 1.0, c, Q)
    add_first_derivative(a, 1.0, y, c, 1.0, B)
    add_second_derivative(a, u, 1.0, y, c, 1.0, D)


def exact(z, first, derivative):
    """The derivative (f₁ = 2 df/dz, f₂ = 2 df₁/dz) of Σ (−z)ᵏ/(2k + first)! as a fraction, to 80 terms."""
    total = Fraction(0)
    for k in range(80):
        n = k + derivative
        total += Fraction((-1) ** n * 2**derivative * (factorial(n) // factorial(k)), factorial(2 * n + first)) * z**k
    return total


@pytest.mark.parametrize("angle", ANGLES)
def test_functions_are_exact_to_the_last_digits(angle):
    c = np.empty(7)
    evaluate(angle * angle, c)
    for value, first, derivative in zip(c, FIRST, DERIVATIVE, strict=True):
        expected = exact(Fraction(angle * angle), first, derivative)
        assert abs(Fraction(value) - expected) <= Fraction(1e-14) * abs(expected)


@pytest.mark.parametrize("angle", [1e-9, 1e-5, 1e-2, 0.7, 2.9, 3.3])
def test_derivatives_of_the_jacobian(angle):
    """T′ and T″ by differences of 4th order of T and T′, which are themselves exact to rounding."""
    rng = np.random.default_rng(1)
    a, u, y = (x / np.linalg.norm(x) for x in rng.normal(size=(3, 3)))
    a, h, spread = a * angle, 1e-3, ((-2, 1), (-1, -8), (1, 8), (2, -1))

    def at(point):
        parts = [np.zeros((3, 3)) for _ in range(4)]
        jacobians(point, u, y, *parts)
        return parts

    T, Q, B, D = at(a)
    np.testing.assert_allclose(Q, sum(w * at(a + k * h * u)[0] for k, w in spread) / (12 * h), atol=1e-11)
    for i in range(3):
        shifted = [(w, at(a + k * h * np.eye(3)[i])) for k, w in spread]
        np.testing.assert_allclose(B[i], y @ sum(w * p[0] for w, p in shifted) / (12 * h), atol=1e-11)
        np.testing.assert_allclose(D[i], y @ sum(w * p[1] for w, p in shifted) / (12 * h), atol=1e-11)
    assert T[0, 0] != 0.0


@pytest.mark.parametrize("first", [1, 2, 3])
def test_rows_of_the_table_are_derivatives_of_each_other(first):
    """f = Σ (−z)ᵏ/(2k + first)!, f₁ = 2 df/dz and f₂ = 2 df₁/dz, coefficient by coefficient."""
    row = _row(first, 0)
    assert row == [(-1) ** k / factorial(2 * k + first) for k in range(len(row))]
    for derivative in (1, 2):
        slope = [2.0 * k * c for k, c in enumerate(row)][1:]
        row = _row(first, derivative)
        assert row[: len(slope)] == pytest.approx(slope, rel=1e-14)
