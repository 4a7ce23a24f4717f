"""The ball maze piece by piece: rings by numbers of their geometry, gates, references and leads by closed forms."""

import numpy as np
import pytest

import pliant as pl
from pliant.hybrid import ball_maze
from pliant.hybrid.maze import maze_controller, maze_reference, ring_top

RADII, BALL = (0.2, 0.15, 0.1), 0.01


def maze(**options):
    return ball_maze(**{"radii": RADII, "ball_radius": BALL} | options)


def test_inertia_weight_and_start():
    system = maze(ball_mass=0.5, maze_inertia=2e-3, gravity=3.0, drop=0.004)
    np.testing.assert_allclose(system.mass, [2e-3, 0.5, 0.5, 0.4 * 0.5 * BALL**2])
    np.testing.assert_allclose(system.bias(system.q0, system.v0), [0, 0, 1.5, 0])
    np.testing.assert_allclose(system.q0, [0, 0, 0.2 + BALL + 0.004, 0])
    np.testing.assert_allclose(system.inputs, [[1], [0], [0], [0]])
    np.testing.assert_allclose(system.outputs(np.array([1.0, 2.0, 3.0, 4.0]), None), [2.0, 1.0])


@pytest.mark.parametrize("seed", range(4))
def test_rows_are_the_derivatives_of_distance_and_rolling(seed):
    """h₁ = ρ − (r + b), h₂ = b q₄ + r q₁ + (r + b) atan(x/y): gradients and curvatures by differences."""
    chance = np.random.default_rng(seed)
    q = np.array([0.3, 0.05, 0.18, -0.7]) + 0.02 * chance.normal(size=4)
    v = chance.normal(size=4)
    for k, radius in enumerate(RADII):
        ring, roll = maze().constraints[2 * k : 2 * k + 2]
        assert (ring.name, roll.name, ring.relative, roll.relative) == (f"ring {k + 1}", f"roll {k + 1}", False, True)
        assert ring.value(q)[0] == pytest.approx(np.hypot(q[1], q[2]) - radius - BALL)
        assert roll.value(q)[0] == pytest.approx(BALL * q[3] + radius * q[0] + (radius + BALL) * np.arctan(q[1] / q[2]))
        for joint in (ring, roll):
            h, H, c = joint.rows(q, v)
            assert h == pytest.approx(joint.value(q))
            step = 1e-6
            slopes = [(joint.value(q + e) - joint.value(q - e))[0] / (2 * step) for e in step * np.eye(4)]
            np.testing.assert_allclose(H[0], slopes, atol=1e-8)
            bend = (joint.value(q + 1e-4 * v) - 2 * joint.value(q) + joint.value(q - 1e-4 * v))[0] / 1e-8
            assert c[0] == pytest.approx(bend, rel=1e-4, abs=1e-5)


def test_the_machine_leads_from_ring_to_ring():
    (machine,) = maze().machines
    assert machine.active == {2 * k + 1: (f"ring {k + 1}", f"roll {k + 1}") for k in range(3)}
    assert machine.final == (6,)
    assert [(t.source, t.target) for t in machine.transitions] == [(k, k + 1) for k in range(6)]
    assert [t.name for t in machine.transitions] == [
        text for k in (1, 2, 3) for text in (f"touches ring {k}", f"falls through gate {k}")
    ]
    q = np.array([0.4, 0.09, 0.12, 0.0])  # ρ = 0.15, atan = 0.6435
    angle = np.arctan(0.75)
    values = [t.guard(0.0, q, None, None) for t in machine.transitions]
    gates = [0.5 * np.pi - 0.4 - angle, 0.4 + angle, 0.5 * np.pi - 0.4 - angle]
    expected = [x for radius, gate in zip(RADII, gates, strict=True) for x in (0.15 - radius - BALL, gate)]
    assert values == pytest.approx(expected)


def test_tops_of_rings_and_rings_that_do_not_fit():
    for ring, radius in enumerate(RADII, start=1):
        q, v = ring_top(maze(), ring)
        np.testing.assert_allclose(q, [0, 0, radius + BALL, 0])
        assert not v.any()
    for ring in (0, 4):
        with pytest.raises(pl.InputError, match="rings 1 to 3"):
            ring_top(maze(), ring)
    with pytest.raises(pl.InputError, match="maze needs rings"):
        maze(radii=())
    for radii in ((0.2, 0.1801), (0.1, 0.2), (0.2, BALL)):
        with pytest.raises(pl.InputError, match="must leave room"):
            maze(radii=radii)
    assert len(maze(radii=(0.2, 0.1799)).constraints) == 4
    for name in ("ball_radius", "ball_mass", "maze_inertia"):
        with pytest.raises(pl.InputError, match=name):
            maze(**{name: -1.0})


def test_the_reference_turns_to_each_gate_and_rests_there():
    options = {"begin": 2.0, "interval": 10.0, "rate": 0.5, "beyond": 0.3}
    gate = 0.5 * np.pi + 0.3
    assert maze_reference(1.999, **options) == 0.0
    assert maze_reference(2.0 + gate / 0.5, **options) == pytest.approx(gate)
    assert maze_reference(11.999, **options) == pytest.approx(gate)
    assert maze_reference(2.0 + 0.5 * gate / 0.5, **options) == pytest.approx(0.5 * gate), "half way in half the time"
    quarter = 0.25 * 0.25 * (3.0 - 0.5)
    assert maze_reference(2.0 + 0.25 * gate / 0.5, **options) == pytest.approx(quarter * gate)
    back = gate + 0.3
    assert maze_reference(12.0, **options) == pytest.approx(gate)
    assert maze_reference(12.0 + 0.25 * back / 0.5, **options) == pytest.approx(gate - quarter * back)
    assert maze_reference(21.999, **options) == pytest.approx(-0.3)
    assert maze_reference(22.0 + 0.25 * back / 0.5, **options) == pytest.approx(-0.3 + quarter * back)


def test_leads_are_gain_times_zero_over_pole():
    """At rest of their states, C(0) = k a/b; at once, C(∞) = k."""
    controller = maze_controller(ball_lead=(0.6, 10.0, 4.0), maze_lead=(0.05, 5.0, 3.0), begin=1e9)
    q, v = np.array([0.2, 0.01, 0.1, 0.0]), np.zeros(4)
    at_once = controller.output(0.0, np.zeros(2), q, v)
    assert at_once == pytest.approx([4.0 * 0.01 + 3.0 * 0.2])
    x = np.array([0.01 / 10.0, 0.2 / 5.0])
    np.testing.assert_allclose(controller.rates(0.0, x, q, v), 0.0, atol=1e-15)
    assert controller.output(0.0, x, q, v) == pytest.approx([4.0 * 0.01 * 0.06 + 3.0 * 0.2 * 0.01])
