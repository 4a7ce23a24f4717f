"""Lead design, root loci and closed loops against second-order systems worked out by hand."""

import numpy as np
import pytest

import control
import pliant as pl
from pliant.hybrid import close_loop, compensator, lead, lead_for, linearize, lqr, root_locus


@pytest.fixture
def mass():
    """A free mass of 1 kg, u → height: a double integrator."""
    return linearize(pl.hybrid.bouncing_ball(), ([1.0], [0.0]), active="none")


def test_a_root_locus_has_all_branches_and_known_poles(mass):
    """PD on a double integrator, filtered far away: s²(s + b) + k b (s + a) = 0."""
    gains = np.array([0.0, 0.5, 1.0, 2.0])
    branches = root_locus(mass, lead(1.0, 20.0, 10.0), gains)
    assert branches.shape == (4, 3)
    for gain, poles in zip(gains, branches, strict=True):
        wanted = np.roots([1.0, 20.0, 10.0 * gain, 10.0 * gain])
        assert np.sort_complex(poles) == pytest.approx(np.sort_complex(wanted), abs=1e-6)


def test_a_lead_gives_its_phase_margin(mass):
    controller = lead_for(mass, crossover=5.0, phase_margin=np.radians(50.0))
    _, margin, _, crossover = control.margin(controller * mass)
    assert margin == pytest.approx(50.0, abs=1e-6)
    assert crossover == pytest.approx(5.0, rel=1e-9)
    assert close_loop(mass, controller).poles().real.max() < 0.0


def test_impossible_leads_are_refused(mass):
    with pytest.raises(pl.InputError, match="pole beyond its zero"):
        lead(2.0, 1.0)
    with pytest.raises(pl.InputError, match="between 0 and π/2"):
        lead_for(mass, crossover=5.0, phase_margin=np.radians(100.0))


def test_a_lead_is_for_one_input_and_one_output():
    model = linearize(pl.hybrid.ball_maze(), (np.array([0.0, 0.0, 0.125, 0.0]), np.zeros(4)), active="none")
    with pytest.raises(pl.InputError, match=r"got 1 and 2: take model\[0, 0\]"):
        lead_for(model, crossover=1.0, phase_margin=0.5)


def test_the_regulator_of_a_double_integrator_is_the_known_one(mass):
    regulator = lqr(mass, np.eye(2), np.eye(1))
    assert regulator.gain == pytest.approx(np.array([[1.0, np.sqrt(3.0)]]), rel=1e-9)
    assert regulator.poles.real.max() < 0.0


def test_a_compensator_drives_the_nonlinear_system(mass):
    """The ball is held at 0.5 m by a lead, as the linear model says."""
    controller = lead_for(mass, crossover=5.0, phase_margin=np.radians(50.0))
    loop = compensator(controller, lambda t, q, v: 0.5 - q[0])
    ball = pl.hybrid.bouncing_ball(height=0.6)
    solution = pl.hybrid.integrate(ball, until=6.0, control=(loop, lambda t, q, v: np.array([9.81])))
    assert not solution.events
    assert solution.final.q == pytest.approx([0.5], abs=1e-4)
    linear = close_loop(mass, controller)
    response = control.initial_response(linear, np.linspace(0.0, 6.0, 50), [0.1, 0.0, 0.0])
    q, _ = solution.at(response.time)
    assert q[:, 0] - 0.5 == pytest.approx(np.squeeze(response.outputs), abs=1e-5)


def test_names_of_constraints_are_checked():
    ball = pl.hybrid.bouncing_ball()
    with pytest.raises(pl.InputError, match=r"no constraints \['ceiling'\]"):
        linearize(ball, ([0.0], [0.0]), active=("ceiling",))
    with pytest.raises(pl.InputError, match="active must be"):
        linearize(ball, ([0.0], [0.0]), active="touching")
    named = linearize(ball, ([0.3], [0.0]), active=("floor",))
    assert named.A[1, 0] == pytest.approx(-100.0 - 3e6 * 0.3**2)
