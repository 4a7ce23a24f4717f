"""The bouncing ball of Bortoff 2020 against closed forms."""

import numpy as np
import pytest
from scipy.optimize import brentq

import pliant as pl
from pliant.hybrid import Mode, Restitution

GRAVITY = 9.81


def apexes(solution):
    """Heights (k,) m of the tops between contacts."""
    rising = np.flatnonzero((solution.v[:-1, 0] > 0.0) & (solution.v[1:, 0] <= 0.0))
    return np.array([(solution.q[k] + 0.5 * solution.v[k] ** 2 / GRAVITY)[0] for k in rising])


def test_without_damping_the_ball_gains_what_the_paper_says():
    solution = pl.hybrid.integrate(pl.hybrid.bouncing_ball(alpha=(100.0, 0.0, 1e6)), until=4.0)
    q = brentq(lambda q: 100.0 * q + 1e6 * q**3 - GRAVITY, 0.0, 1.0)
    gain = q - (100.0 * q**2 / 2.0 + 1e6 * q**4 / 4.0) / GRAVITY
    assert apexes(solution)[:3] == pytest.approx(1.0 + gain * np.array([1.0, 2.0, 3.0]), abs=1e-7)
    assert apexes(solution)[:3] == pytest.approx([1.0139, 1.0278, 1.0417], abs=1e-4)


def test_with_damping_it_comes_to_rest_in_contact():
    solution = pl.hybrid.integrate(pl.hybrid.bouncing_ball(alpha=(100.0, 20.0, 1e6)), until=4.0)
    assert apexes(solution)[:2] == pytest.approx([0.3169, 0.0542], abs=1e-4)
    last = max(event.time for event in solution.events)
    cached = solution.times > last
    assert (solution.modes[cached] == Mode.CONTACT).all()
    assert solution.lam[cached].min() > 0.0
    assert solution.q[cached].max() == pytest.approx(0.0048, abs=1e-4)
    assert solution.final.q == pytest.approx([0.0], abs=1e-8)
    assert solution.final.lam == pytest.approx([GRAVITY], abs=1e-8)
    assert Mode.BALLISTIC in solution.modes


def test_with_little_damping_it_does_not_rest_after_four_bounces():
    solution = pl.hybrid.integrate(pl.hybrid.bouncing_ball(alpha=(100.0, 1.0, 1e6)), until=4.0)
    assert apexes(solution)[:3] == pytest.approx([0.946, 0.894, 0.845], abs=1e-3)
    quiet = pl.hybrid.integrate(pl.hybrid.bouncing_ball(alpha=(100.0, 11.0, 1e6)), until=6.0)
    touches = [event for event in quiet.events if event.target == Mode.CONTACT]
    assert 4 <= len(touches) <= 6
    assert quiet.final.lam == pytest.approx([GRAVITY], abs=1e-6)


def test_the_energy_consistent_contact_gains_nothing_in_a_hundred_bounces():
    ball = pl.hybrid.bouncing_ball(alpha=(100.0, 0.0, 1e6), energy_consistent=True)
    solution = pl.hybrid.integrate(ball, until=96.0, sample=None)
    assert sum(event.target == Mode.CONTACT for event in solution.events) >= 100
    free = solution.modes[:, 0] != Mode.CONTACT
    tops = (solution.q + 0.5 * solution.v**2 / GRAVITY)[free]
    assert tops == pytest.approx(1.0, abs=1e-6)


def test_any_odd_function_replaces_the_cubic():
    """α₀h + a sinh(h/b): the contact ends where it equals g, and a bounce adds what its potential gives."""
    a, b = 5.0, 0.02
    contact = pl.hybrid.Contact("floor", lambda q: q[0], (100.0, 0.0, 0.0), odd=lambda h: a * np.sinh(h / b))
    ball = pl.hybrid.HybridSystem(
        q0=[1.0], v0=[0.0], mass=[1.0], bias=lambda q, v: np.array([GRAVITY]), constraints=(contact,)
    )
    solution = pl.hybrid.integrate(ball, until=4.0)
    q = brentq(lambda q: 100.0 * q + a * np.sinh(q / b) - GRAVITY, 0.0, 1.0)
    gain = q - (50.0 * q**2 + a * b * (np.cosh(q / b) - 1.0)) / GRAVITY
    assert apexes(solution)[:3] == pytest.approx(1.0 + gain * np.array([1.0, 2.0, 3.0]), abs=1e-7)
    model = pl.hybrid.linearize(ball, ([0.0], [0.0]), active="all")
    assert model.A[1] == pytest.approx([-100.0 - a / b, 0.0], rel=1e-12)
    assert not model.B.any()  # no input


def in_a_bowl(damping, q0=(0.4, 0.6), v0=(0.0, 0.0)):
    """A ball of 1 kg above a paraboloid, in two or three dimensions: its load changes during a collision."""
    bowl = pl.hybrid.Contact(
        "bowl", lambda q: q[-1] - 0.3 * (q[:-1] @ q[:-1]), alpha=(100.0, damping, 1e6), energy_consistent=True
    )
    weight = np.append(np.zeros(len(q0) - 1), GRAVITY)
    return pl.hybrid.HybridSystem(q0=q0, v0=v0, mass=np.ones(len(q0)), bias=lambda q, v: weight, constraints=(bowl,))


@pytest.mark.parametrize("start", [((0.4, 0.6), (0.0, 0.0)), ((0.4, 0.1, 0.6), (0.3, -0.5, 0.0))], ids=["2D", "3D"])
def test_the_energy_consistent_contact_keeps_the_energy_in_a_bowl(start):
    """Where the load changes during the collision, h = 0 alone would not do: it gains 2 % or loses as much."""
    solution = pl.hybrid.integrate(in_a_bowl(0.0, *start), until=10.0, sample=None)
    free = solution.modes[:, 0] != Mode.CONTACT
    energy = (0.5 * (solution.v**2).sum(axis=1) + GRAVITY * solution.q[:, -1])[free]
    assert len(solution.events) > 20
    assert energy == pytest.approx(energy[0], abs=1e-7)


def test_the_energy_consistent_contact_loses_what_its_damping_takes():
    solution = pl.hybrid.integrate(in_a_bowl(2.0), until=1.6, sample=2e-5)
    energy = 0.5 * (solution.v**2).sum(axis=1) + GRAVITY * solution.q[:, 1]
    slope = 0.6 * solution.q[:, 0]
    rate = solution.v[:, 1] - slope * solution.v[:, 0]
    power = np.where(solution.modes[:, 0] == Mode.CONTACT, 2.0 * rate**2 / (1.0 + slope**2), 0.0)
    end = np.flatnonzero(solution.modes[:, 0] != Mode.CONTACT)[-1]
    lost = energy[0] - energy[end]
    assert len(solution.events) >= 5
    assert lost == pytest.approx(np.trapezoid(power[:end], solution.times[:end]), rel=1e-3)
    assert lost > 0.2


def test_the_energy_consistent_contact_comes_to_rest():
    ball = pl.hybrid.bouncing_ball(alpha=(100.0, 20.0, 1e6), energy_consistent=True)
    solution = pl.hybrid.integrate(ball, until=5.0)
    assert solution.final.q == pytest.approx([0.0], abs=1e-8)
    assert solution.final.lam == pytest.approx([GRAVITY], abs=1e-8)


def test_the_steps_grow_once_the_collision_is_over():
    solution = pl.hybrid.integrate(pl.hybrid.bouncing_ball(), until=60.0, sample=None)
    ends, sizes = solution.step_times, solution.step_sizes
    first = solution.events[0].time
    collision = sizes[(ends > first) & (ends < first + 0.04)].max()
    assert collision < 0.01
    assert np.median(sizes[ends > 3.0]) > 0.2  # the poles at −10 bound it, not the cubic term of 1e6


def test_penetration_vanishes_while_sliding():
    """A ball thrown along a curved floor: once in contact it follows it to the solver's tolerance."""
    floor = pl.hybrid.Contact("bowl", lambda q: q[1] - 0.1 * q[0] ** 2, alpha=(100.0, 20.0, 1e6))
    ball = pl.hybrid.HybridSystem(
        q0=[-1.0, 0.11],
        v0=[0.1, 0.0],
        mass=[1.0, 1.0],
        bias=lambda q, v: np.array([0.0, GRAVITY]),
        constraints=(floor,),
    )
    solution = pl.hybrid.integrate(ball, until=8.0)
    late = solution.times > 4.0
    gap = solution.q[late, 1] - 0.1 * solution.q[late, 0] ** 2
    assert np.abs(gap).max() < 1e-8
    assert np.ptp(solution.q[late, 0]) > 0.5
    energy = 0.5 * (solution.v[late] ** 2).sum(axis=1) + GRAVITY * solution.q[late, 1]
    assert np.ptp(energy) < 1e-6


@pytest.mark.parametrize("law", ["newton", "poisson"])
def test_restitution_loses_the_known_part(law):
    ball = pl.hybrid.bouncing_ball(restitution=Restitution(0.8, law=law))
    solution = pl.hybrid.integrate(ball, until=3.0)
    assert apexes(solution)[:4] == pytest.approx(0.64 ** np.arange(1, 5), rel=1e-9)


def test_the_linear_model_in_contact_has_the_poles_of_the_constraint():
    ball = pl.hybrid.bouncing_ball(alpha=(100.0, 20.0, 1e6))
    final = pl.hybrid.integrate(ball, until=3.0).final
    model = pl.hybrid.linearize(ball, final, active="contact")
    assert pytest.approx(np.array([[0.0, 1.0], [-100.0, -20.0]]), abs=1e-7) == model.A
    assert model.poles() == pytest.approx([-10.0, -10.0], abs=1e-3)
    free = pl.hybrid.linearize(ball, final, active="none")
    assert pytest.approx(np.array([[0.0, 1.0], [0.0, 0.0]]), abs=1e-12) == free.A
    assert pytest.approx(np.array([[0.0], [1.0]])) == free.B
