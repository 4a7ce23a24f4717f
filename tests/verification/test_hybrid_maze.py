"""The ball maze of Bortoff 2020: its linear models against closed forms, and the closed loop through all gates."""

import numpy as np
import pytest

import control
import pliant as pl
from pliant.hybrid import close_loop, lead
from pliant.hybrid.maze import BALL_LEAD, MAZE_LEAD, RADII, ring_top

RINGS = range(1, 5)


def model(maze, ring):
    return pl.hybrid.linearize(maze, ring_top(maze, ring), active=(f"ring {ring}", f"roll {ring}"))


def closed_form(ring, *, inertia=3e-4, mass=0.02, ball=0.005, gravity=0.23):
    """p and z of a solid sphere on a ring: det of the 2×2 system of (ring angle of the ball, turn of the maze)."""
    r = RADII[ring - 1]
    R = r + ball
    M = np.array([[1.4 * mass * R * R, 0.4 * mass * R * r], [0.4 * mass * R * r, inertia + 0.4 * mass * r * r]])
    p = np.sqrt(mass * gravity * R * np.linalg.inv(M)[0, 0])
    return p, np.sqrt(gravity / (1.4 * R))


@pytest.mark.parametrize("ring", RINGS)
def test_poles_and_zeros_are_those_of_the_closed_form(ring):
    linear = model(pl.hybrid.ball_maze(), ring)
    poles = np.sort(linear.poles().real)
    p, z = closed_form(ring)
    assert np.abs(linear.poles().imag).max() < 1e-3
    assert poles[:4] == pytest.approx(-5.0, abs=2e-3)  # a double pole for each constraint, α₁ = 10, α₀ = 25
    assert poles[4:] == pytest.approx([-p, 0.0, 0.0, p], abs=1e-5)
    zeros = np.sort(control.zeros(linear[1, 0]).real)
    assert zeros[[-2, -1]] == pytest.approx([-z, z], abs=1e-5)
    assert 1.0 < p / z <= np.sqrt(7.0 / 5.0)
    assert (
        np.abs(np.sort(np.abs(control.zeros(linear[0, 0])))[:2]).max() < 1e-4
    )  # the double pole at 0 cancels for the ball


def test_the_unstable_poles_lie_near_the_papers_scale():
    assert [closed_form(ring)[0] for ring in RINGS] == pytest.approx([1.25] * 4, abs=0.25)


@pytest.mark.parametrize("ring", RINGS)
def test_two_leads_stabilise_every_ring(ring):
    linear = model(pl.hybrid.ball_maze(), ring)
    assert linear.poles().real.max() > 1.0
    balanced = close_loop(linear, lead(*BALL_LEAD), output=0, sign=1.0)
    poles = np.sort(balanced.poles().real)
    assert poles[-2:] == pytest.approx([0.0, 0.0], abs=1e-4)  # the turn of the maze is left
    assert poles[-3] < -0.1
    zeros = control.zeros(balanced[1, 0]).real
    assert zeros.max() == pytest.approx(closed_form(ring)[1], abs=1e-5)  # not minimum phase
    both = close_loop(balanced, lead(*MAZE_LEAD), output=1, sign=1.0)
    assert both.poles().real.max() < -0.05


def test_the_closed_loop_leads_the_ball_through_all_gates():
    maze = pl.hybrid.ball_maze()
    solution = pl.hybrid.integrate(maze, until=120.0, control=pl.hybrid.maze_controller(), sample=0.05)
    assert [event.target for event in solution.events] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert solution.final.states == (8,)
    assert solution.status is pl.hybrid.Outcome.STOPPED
    touch = np.sqrt(2.0 * 0.0015 / 0.23)
    assert solution.events[0].time == pytest.approx(touch, abs=1e-10)
    falling = np.isin(solution.states[:, 0], (2, 4, 6))
    assert falling.any()
    assert not solution.lam[falling].any()
    resting = np.isin(solution.states[:, 0], (1, 3, 5, 7))
    normal = solution.lam[:, ::2].sum(axis=1)[resting]
    assert normal.min() > 0.0  # the ball never leaves a ring by itself
    assert np.median(normal) == pytest.approx(0.02 * 0.23, rel=1e-3)


def test_a_regulator_from_a_mode_balances_the_ball():
    maze = pl.hybrid.ball_maze()
    regulator = pl.hybrid.lqr(model(maze, 2), np.eye(8), 1e4 * np.eye(1))
    assert regulator.poles.real.max() < -0.01
    q, v = ring_top(maze, 2)
    linear = model(maze, 2)
    assert linear.poles().real.max() > 1.0
    assert regulator.gain.shape == (1, 8)
    assert np.linalg.eigvals(linear.A - linear.B @ regulator.gain) == pytest.approx(regulator.poles, abs=1e-6)
    free = pl.hybrid.linearize(maze, (q, v), active="none")
    with pytest.raises(pl.InputError, match="neither stable nor controllable"):
        pl.hybrid.lqr(free, np.eye(8), np.eye(1))


def test_rings_without_room_are_refused():
    with pytest.raises(pl.InputError, match="room for a ball"):
        pl.hybrid.ball_maze(radii=(0.1, 0.095))
    with pytest.raises(pl.InputError, match="rings 1 to 4"):
        ring_top(pl.hybrid.ball_maze(), 5)
