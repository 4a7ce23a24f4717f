"""The time discretisations, on one mass and one spring, against their formulas."""

import numpy as np
import pytest

from pliant.models.scheme import STATIC_SCHEME, damped_schemes, euler_scheme, midpoint_scheme

OMEGA2, DT = 9.0, 0.1


def advance(scheme, x, v):
    """One step of ẍ = −ω² x: (a + θ ω²) dx = b v − ω² x."""
    dx = (scheme.momentum * v - OMEGA2 * x) / (scheme.inertia + scheme.theta * OMEGA2)
    return x + dx, scheme.next_velocity(dx, v)


def test_euler_is_backward_euler():
    x, v = advance(euler_scheme(DT), 1.0, 0.5)
    assert x == pytest.approx(1.0 + DT * v)
    assert v == pytest.approx(0.5 - DT * OMEGA2 * x)


def test_midpoint_is_the_midpoint_rule():
    x, v = advance(midpoint_scheme(DT), 1.0, 0.5)
    assert x - 1.0 == pytest.approx(DT * (v + 0.5) / 2)
    assert v - 0.5 == pytest.approx(-DT * OMEGA2 * (x + 1.0) / 2)


def test_midpoint_keeps_the_energy_and_euler_loses_it():
    for scheme, kept in ((midpoint_scheme(DT), True), (euler_scheme(DT), False)):
        x, v = 1.0, 0.0
        for _ in range(50):
            x, v = advance(scheme, x, v)
        energy = 0.5 * v**2 + 0.5 * OMEGA2 * x**2
        assert (energy == pytest.approx(4.5, rel=1e-12)) is kept
        assert energy <= 4.5 * (1 + 1e-12)


def test_statics_is_the_limit_of_long_steps():
    assert euler_scheme(1e9).inertia == pytest.approx(STATIC_SCHEME.inertia, abs=1e-15)
    assert np.all(STATIC_SCHEME.next_velocity(np.ones(3), np.ones(3)) == 0.0)


@pytest.mark.parametrize("radius", [0.0, 0.3, 0.8, 1.0])
@pytest.mark.parametrize("omega_dt", [1e-3, 0.1, 1.0, 10.0, 1e4])
def test_a_step_in_two_parts_amplifies_as_its_runge_kutta_method(radius, omega_dt):
    """R(z) = (1 + (1 − 2γ) z + (½ − 2γ + γ²) z²)/(1 − γz)² of z = ±iωh, by the map of (x, v) over both parts."""
    first, second = damped_schemes(DT, radius)
    stiffness = (omega_dt / DT) ** 2

    def step(x, v):
        dx1 = (first.momentum * v - stiffness * x) / (first.inertia + first.theta * stiffness)
        x1, v1 = x + dx1, first.next_velocity(np.array(dx1), np.array(v))
        gained = second.lag * (v1 - v)
        begun = second.momentum * (v1 - gained) - stiffness * (x1 - second.lag * dx1)
        dx = begun / (second.inertia + second.theta * stiffness)
        return x1 + dx, second.next_velocity(np.array(dx), v1, gained=gained)

    rows = np.array([step(1.0, 0.0), step(0.0, 1.0)]).T
    found = np.sort_complex(np.linalg.eigvals(rows))
    theta = 1.0 / np.sqrt(2.0 + 2.0 * radius)
    gamma = 1.0 / (2.0 + 1.0 / theta)
    z = 1j * omega_dt * np.array([-1.0, 1.0])
    expected = (1.0 + (1.0 - 2.0 * gamma) * z + (0.5 - 2.0 * gamma + gamma**2) * z**2) / (1.0 - gamma * z) ** 2
    np.testing.assert_allclose(found, np.sort_complex(expected), rtol=1e-6, atol=1e-6)
    assert first.dt + second.dt == pytest.approx(DT)
    assert first.inertia / first.theta == pytest.approx(second.inertia / second.theta)  # one factor for both
