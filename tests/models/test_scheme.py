"""The time discretisations, on one mass and one spring, against their formulas."""

import numpy as np
import pytest

from pliant.models.scheme import STATIC_SCHEME, euler_scheme, midpoint_scheme

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
