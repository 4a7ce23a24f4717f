"""Transitions of contacts: when they stick, slip, open and bounce, against closed forms."""

import numpy as np
import pytest

from pliant.hybrid import Contact, Friction, HybridSystem, Mode, Restitution, integrate
from pliant.hybrid.constraint_rows import slip_directions
from pliant.hybrid.cubes import falling_cubes
from pliant.hybrid.limit_cycles import LimitCycle

GRAVITY = 9.81


def block(mu=0.5, *, v0=(0.0, 0.0)):
    """A block of 1 kg on a floor, q = (x, height), with a force u on it."""
    floor = Contact("floor", lambda q: q[1], friction=Friction(mu, slide=lambda q: q[:1]))
    return HybridSystem(
        q0=[0.0, 0.0], v0=v0, mass=[1.0, 1.0], bias=lambda q, v: np.array([0.0, GRAVITY]), inputs=np.eye(2),
        constraints=(floor,),
    )  # fmt: skip


def falling_ball(height, **restitution):
    floor = Contact("floor", lambda q: q[0], restitution=Restitution(**restitution))
    weight = np.array([GRAVITY])
    return HybridSystem(q0=[height], v0=[0.0], mass=[1.0], bias=lambda q, v: weight, constraints=(floor,))


@pytest.mark.parametrize("speed", [1e-5, 5e-3, 2.0])
def test_a_slow_block_slides_until_friction_has_stopped_it(speed):
    """x = v²/2μg and t = v/μg, also for speeds that look like rest."""
    solution = integrate(block(v0=(speed, 0.0)), until=0.5 + 0.3 * speed)
    assert solution.events[-1].cause == "the slip comes to rest"
    assert solution.events[-1].time == pytest.approx(speed / (0.5 * GRAVITY), rel=1e-6)
    assert solution.final.q[0] == pytest.approx(speed**2 / GRAVITY, rel=1e-5)


@pytest.mark.parametrize("push", [8.0, -8.0])
def test_a_push_beyond_the_friction_moves_a_block_its_way(push):
    solution = integrate(block(), until=0.5, control=lambda t, q, v: np.array([push, 0.0]))
    acceleration = np.sign(push) * (abs(push) - 0.5 * GRAVITY)
    assert solution.final.v[0] == pytest.approx(0.5 * acceleration, rel=1e-9)
    assert solution.final.q[0] == pytest.approx(0.125 * acceleration, rel=1e-8)


def test_a_light_thing_is_lifted_beside_a_heavy_one():
    """A contact that would pull opens, however much another one carries."""
    heavy, light = (Contact(name, lambda q, k=k: q[k]) for k, name in enumerate(("heavy", "light")))
    loads = HybridSystem(
        q0=[0.0, 0.0], v0=[0.0, 0.0], mass=[10.0, 0.1], bias=lambda q, v: np.array([98.1, 0.981]),
        inputs=np.array([[0.0], [1.0]]), constraints=(heavy, light),
    )  # fmt: skip
    final = integrate(loads, until=0.2, control=lambda t, q, v: np.array([2.0])).final
    assert final.q[1] == pytest.approx(0.5 * (2.0 - 0.981) / 0.1 * 0.2**2, rel=1e-6)
    assert final.modes[0] == Mode.CONTACT
    assert final.lam == pytest.approx([98.1, 0.0], rel=1e-9)


def test_an_event_lies_on_the_solution_itself():
    """A stiff spring meets a wall in one step of the interpolant: the gap there vanishes to rounding."""
    wall = Contact("wall", lambda q: q[0] + 0.7)
    swing = HybridSystem(
        q0=[1.0], v0=[0.0], mass=[1.0], bias=lambda q, v: np.array([25.0 * np.sin(q[0])]), constraints=(wall,)
    )
    solution = integrate(swing, until=1.0, sample=None, rtol=1e-5, atol=1e-5, order=5)
    step = next(r for r in solution.records if r.t1 == solution.events[0].time)
    assert abs(step.y1[0] + 0.7) < 1e-10
    again = integrate(swing, until=step.t1, sample=None, rtol=1e-5, atol=1e-5, order=5)
    assert again.final.q[0] == pytest.approx(-0.7, abs=1e-10)


@pytest.mark.parametrize("law", ["newton", "poisson"])
def test_a_ball_bounces_with_its_restitution(law):
    """Before and after the impact: v⁺ = −e v⁻; with one contact both laws agree."""
    solution = integrate(falling_ball(0.2, coefficient=0.6, law=law), until=0.3)
    fall = np.sqrt(2 * 0.2 / GRAVITY)
    assert solution.events[0].time == pytest.approx(fall, rel=1e-12)
    assert solution.final.v[0] == pytest.approx(0.6 * GRAVITY * fall - GRAVITY * (0.3 - fall), rel=1e-9)


def test_an_impact_slower_than_the_rest_speed_ends_the_bouncing():
    solution = integrate(falling_ball(0.2, coefficient=0.9, rest_speed=5.0), until=1.0)
    assert [event.target for event in solution.events] == [Mode.CONTACT]
    assert np.abs(solution.final.q).max() < 1e-9
    assert np.abs(solution.final.v).max() < 1e-9


@pytest.mark.parametrize(("multipliers", "stable"), [((0.9, -0.2), True), ((1.1, 0.2), False), ((0.3, -1.2), False)])
def test_a_cycle_is_stable_where_every_multiplier_is_inside_the_unit_circle(multipliers, stable):
    assert LimitCycle(None, 1.0, np.array(multipliers)).stable is stable


def test_slip_in_a_plane_follows_the_motion_and_on_a_line_the_remembered_sign():
    slip, remembered = np.array([[0.3, -0.4], [0.0, 0.0]]), np.array([[1.0, 0.0], [0.0, 1.0]])
    np.testing.assert_allclose(slip_directions(slip, remembered), [[0.6, -0.8], [0.0, 1.0]])
    np.testing.assert_array_equal(slip_directions(slip[:, :1], -remembered), [[-1.0], [0.0]])


def test_a_cube_has_the_inertia_of_a_cube():
    """m a²/6 about every axis."""
    cube = falling_cubes(positions=[(0.0, 0.0, 1.0)], rotation_vectors=[(0.0, 0.0, 0.0)], side=0.2, mass=3.0)
    np.testing.assert_allclose(cube.mass(cube.q0), np.diag([3.0] * 3 + [3.0 * 0.04 / 6.0] * 3), atol=1e-12)
