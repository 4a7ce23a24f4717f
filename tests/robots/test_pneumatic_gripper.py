"""The pneumatic gripper of Fang 2022: fingers of the published size round a ball, which they close on alike."""

import numpy as np
import pytest

import pliant as pl
from pliant import robots

SMALL = {"cell_size": 0.006, "chamber_count": 6}


def test_three_fingers_hang_round_a_ball_of_50_mm():
    grip = robots.pneumatic_gripper(**SMALL)
    assert len(grip.fingers) == len(grip.cavities) == 3
    assert grip.ball.shape.solid.radius == 0.025
    for k, one in enumerate(grip.fingers):
        points = one.body.mesh.points
        out = np.array([np.cos(2.0 * np.pi * k / 3), np.sin(2.0 * np.pi * k / 3), 0.0])
        assert (points @ out).min() == pytest.approx(0.028)
        assert (points[:, 2].min(), points[:, 2].max()) == pytest.approx((-0.085, 0.0), abs=1e-12)
        assert points[one.body.clamp.nodes(points)][:, 2] == pytest.approx(0.0, abs=1e-12)
        assert -one.cavity.surface.volume() == pytest.approx(3294e-9, rel=1e-9)
        one.body.mesh.surface().check_orientation()


def test_the_stiff_soles_look_at_the_ball():
    for k, one in enumerate(robots.pneumatic_gripper(**SMALL).fingers):
        centers = one.body.mesh.points[one.body.mesh.cells].mean(axis=1)
        out = centers @ np.array([np.cos(2.0 * np.pi * k / 3), np.sin(2.0 * np.pi * k / 3), 0.0])
        stiff = one.body.cell_materials() == 1
        assert stiff.any()
        assert out[stiff].max() < 0.029 < out[~stiff].min()


def test_two_fingers_close_on_the_ball_with_equal_forces():
    """Contact forces in newtons, inwards, opposite for opposite fingers, and nothing is crossed."""
    grip = robots.pneumatic_gripper(finger_count=2, cell_size=0.01)
    scene = pl.Scene()
    scene.add(grip)
    grip.collide(scene, selves=False)
    world = scene.compile()
    state, info = pl.Geometric()(world, world.initial_state(), grip.controls(1.4))
    first, second = (info.contact_force(one.body, grip.ball) for one in grip.fingers)
    assert first[0] > 1e-3
    assert first * (-1, 1, 1) == pytest.approx(second, abs=1e-2 * first[0])
    for one in grip.fingers:
        apart = np.linalg.norm(state.points(one.body) - (0.0, 0.0, -0.04), axis=1)
        assert apart.min() > 0.025 - 2e-5


def test_controls_are_one_ratio_for_all_or_one_each():
    grip = robots.pneumatic_gripper(**SMALL)
    assert [value.value for value in grip.controls((1.0, 1.2, 1.4)).values()] == [1.0, 1.2, 1.4]
