"""Balanced truncation of random stable systems: Gramians by their definition, what is kept, what is refused."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.linalg import expm, solve_continuous_lyapunov

import pliant as pl

control = pytest.importorskip("control")


def random_system(seed, states=6, inputs=2, outputs=3):
    chance = np.random.default_rng(seed)
    A = chance.normal(size=(states, states))
    A -= (np.linalg.eigvals(A).real.max() + 0.5) * np.eye(states)
    B, C, D = (chance.normal(size=s) for s in ((states, inputs), (outputs, states), (outputs, inputs)))
    names = {"inputs": ["push", "pull"], "outputs": ["x", "y", "z"], "name": "arm"}
    return control.ss(A, B, C, D, **(names if inputs == 2 else {}))


def gramians(system):
    return (
        solve_continuous_lyapunov(system.A, -system.B @ system.B.T),
        solve_continuous_lyapunov(system.A.T, -system.C.T @ system.C),
    )


@pytest.mark.parametrize("seed", range(3))
def test_hankel_values_are_roots_of_the_eigenvalues_of_both_gramians(seed):
    system = random_system(seed)
    P, Q = gramians(system)
    expected = np.sort(np.sqrt(np.linalg.eigvals(P @ Q).real))[::-1]
    np.testing.assert_allclose(pl.control.hankel_values(system), expected, rtol=1e-6)


def test_the_hankel_value_of_one_state_is_half_its_static_gain():
    """ẋ = −a x + b u, y = c x: σ = |b c| / 2 a."""
    system = control.ss([[-4.0]], [[3.0]], [[-2.0]], [[7.0]])
    np.testing.assert_allclose(pl.control.hankel_values(system), [6.0 / 8.0])
    small = pl.control.balanced_truncation(system, 1)
    np.testing.assert_allclose(small(2.0j), system(2.0j))


@pytest.mark.parametrize("order", [2, 4, 6])
def test_kept_states_are_balanced_and_the_error_is_bounded(order):
    """Both Gramians of the truncated system are the diagonal of its Hankel values; Glover's bound holds."""
    system = random_system(7)
    values, small = pl.control.hankel_values(system), pl.control.balanced_truncation(system, order)
    for gramian in gramians(small):
        np.testing.assert_allclose(gramian, np.diag(values[:order]), atol=1e-8 * values[0])
    omega = 1j * np.concatenate([[0.0], np.logspace(-2, 3, 60)])
    error = max(np.linalg.norm(system(s) - small(s), 2) for s in omega)
    assert error <= 2.0 * values[order:].sum() + 1e-9 * values[0]
    assert (small.input_labels, small.output_labels) == (system.input_labels, system.output_labels)
    assert small.name == "arm balanced"
    np.testing.assert_array_equal(small.D, system.D)


def test_states_without_effect_are_left_out_whatever_is_asked_for():
    """Of four states two are not controllable; two remain, with the same impulse response."""
    two = random_system(1, states=2, inputs=2)
    A = np.block([[two.A, np.zeros((2, 2))], [np.zeros((2, 2)), -np.eye(2)]])
    whole = control.ss(A, np.vstack([two.B, np.zeros((2, 2))]), np.hstack([two.C, np.ones((3, 2))]), two.D)
    small = pl.control.balanced_truncation(whole, 9)
    assert small.nstates == 2
    for t in (0.1, 1.0, 3.0):
        np.testing.assert_allclose(
            small.C @ expm(small.A * t) @ small.B, two.C @ expm(two.A * t) @ two.B, atol=1e-7, rtol=1e-6
        )


def test_what_is_no_stable_system_of_continuous_time_is_refused():
    stable = random_system(0, inputs=1)
    with pytest.raises(pl.InputError, match="continuous time"):
        pl.control.hankel_values(control.ss(0.1 * np.eye(2), np.ones((2, 1)), np.ones((1, 2)), 0, 0.1))
    for A in ([[0.0]], [[2.0]]):
        with pytest.raises(pl.InputError, match=r"not stable \(a pole with the real part"):
            pl.control.hankel_values(control.ss(A, [[1.0]], [[1.0]], [[0.0]]))
    for given in (5, control.tf([1], [1, 1]), SimpleNamespace(A=stable.A, B=stable.B, C=stable.C, D=stable.D)):
        with pytest.raises(pl.InputError, match=r"a linear model is a control\.StateSpace"):
            pl.control.balanced_truncation(given, 1)
    with pytest.raises(pl.InputError, match="order"):
        pl.control.balanced_truncation(stable, 0)
