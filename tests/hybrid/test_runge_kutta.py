"""Runge–Kutta steps: orders of convergence, error estimates, interpolants, the first step, against closed forms."""

import numpy as np
import pytest
from scipy.integrate import DOP853, RK45

from pliant.hybrid.runge_kutta import RungeKutta, _nested

LAMBDA = np.array([[-0.5, 2.0], [-2.0, -0.5]])
"""A decaying rotation, y' = Λ y + sin 3t."""


def rate(t, y):
    return LAMBDA @ y + np.sin(3.0 * t)


def exact(y0, t0, h):
    """By a very fine step of the same equation."""
    y, method, count = y0, RungeKutta(8, 1e-12, 1e-12), 16
    for k in range(count):
        y = method.step(rate, t0 + k * h / count, y, rate(t0 + k * h / count, y), h / count).y1
    return y


@pytest.mark.parametrize("order", [5, 8])
def test_the_error_of_a_step_falls_with_the_order(order):
    """Local errors fall as h^(order + 1), and the estimate does as h^order or faster; both within a factor."""
    y0, t0, method = np.array([1.0, -0.4]), 0.3, RungeKutta(order, 1e-6, 1e-6)
    sizes = np.array([0.4, 0.2]) if order == 5 else np.array([1.0, 0.5])
    errors, estimates = [], []
    for h in sizes:
        step = method.step(rate, t0, y0, rate(t0, y0), h)
        errors.append(np.abs(step.y1 - exact(y0, t0, h)).max())
        estimates.append(step.error)
    measured = np.log2(errors[0] / errors[1])
    assert order + 0.5 < measured < order + 1.7
    assert order - 0.7 < np.log2(estimates[0] / estimates[1]) < order + 1.7


@pytest.mark.parametrize(("order", "peer"), [(5, RK45), (8, DOP853)])
@pytest.mark.parametrize(("rtol", "atol"), [(1e-6, 1e-9), (1e-3, 1e-1)])
def test_a_step_its_error_and_its_interpolant_are_those_of_scipy(order, peer, rtol, atol):
    y0, t0, h = np.array([1.0, -0.4]), 0.3, 0.25
    solver = peer(rate, t0, y0, 10.0, first_step=h, max_step=h, rtol=rtol, atol=atol)
    method = RungeKutta(order, rtol, atol)
    step = method.step(rate, t0, y0, rate(t0, y0), h)
    scale = atol + rtol * np.maximum(np.abs(y0), np.abs(step.y1))
    solver.K[: len(step.K)] = step.K
    assert step.error == pytest.approx(solver._estimate_error_norm(step.K, h, scale), rel=1e-9)
    back = method.step(rate, t0, y0, rate(t0, y0), -h)
    assert back.error >= 0.0
    if step.error < 1.0:
        solver.step()
        np.testing.assert_allclose(step.y1, solver.y, rtol=1e-13)
        np.testing.assert_allclose(step.f1, rate(t0 + h, step.y1), rtol=1e-13)
        theirs, ours = solver.dense_output(), method.dense(rate, step)
        for theta in (0.0, 0.2, 0.5, 0.9, 1.0):
            np.testing.assert_allclose(ours.state(theta), theirs(t0 + theta * h), rtol=1e-11, atol=1e-13)
        many = np.array([0.0, 0.3, 1.0])
        np.testing.assert_allclose(ours.at(many), [ours.state(float(x)) for x in many], rtol=1e-14)


def test_a_step_without_change_has_no_error():
    for order in (5, 8):
        method = RungeKutta(order, 1e-6, 1e-9)
        step = method.step(lambda t, y: np.zeros(2), 0.0, np.ones(2), np.zeros(2), 0.1)
        assert step.error == 0.0
        np.testing.assert_array_equal(step.y1, np.ones(2))


def test_hermite_between_reproduces_cubics():
    cubic = np.polynomial.Polynomial([1.0, -2.0, 0.5, 3.0])
    slope, h = cubic.deriv(), 0.7
    method = RungeKutta(5, 1e-6, 1e-6)
    step = method.step(lambda t, y: np.array([slope(t)]), 0.2, np.array([cubic(0.2)]), np.array([slope(0.2)]), h)
    for theta in (0.0, 0.25, 0.6, 1.0):
        assert step.between(theta)[0] == pytest.approx(cubic(0.2 + theta * h), rel=1e-12)


def test_nested_coefficients_are_those_of_the_polynomial():
    Q = np.random.default_rng(0).normal(size=(4, 3))
    F = _nested(Q)
    for x in (0.0, 0.3, 0.7, 1.0):
        nested = x * (F[0] + (1 - x) * (F[1] + x * (F[2] + (1 - x) * F[3])))
        np.testing.assert_allclose(nested, sum(Q[j] * x ** (j + 1) for j in range(4)), atol=1e-14)


@pytest.mark.parametrize("order", [5, 8])
def test_the_first_step_is_that_of_hairer(order):
    """By the formulas of the book: from d₀, d₁, d₂ and the order of the method; bounded by what is left."""
    method = RungeKutta(order, 1e-4, 1e-6)
    for y in (np.array([1.0, -0.4]), np.array([200.0, 3.0])):
        f = rate(0.3, y)
        scale = 1e-6 + 1e-4 * np.abs(y)
        norm = lambda x: np.sqrt(np.mean((x / scale) ** 2))  # noqa: B023, E731
        h0 = 0.01 * norm(y) / norm(f)
        d2 = norm(rate(0.3 + h0, y + h0 * f) - f) / h0
        expected = min(100.0 * h0, (0.01 / max(norm(f), d2)) ** (1.0 / order))
        assert method.first_step(rate, 0.3, y, f, 10.0) == pytest.approx(expected, rel=1e-12)
        assert method.first_step(rate, 0.3, y, f, 1e-5) == 1e-5
    for y, still in ((np.zeros(2), np.zeros(2)), (np.ones(2), np.zeros(2))):
        first = method.first_step(lambda t, y: np.zeros(2), 0.0, y, still, 10.0)
        assert first == pytest.approx(1e-6)
