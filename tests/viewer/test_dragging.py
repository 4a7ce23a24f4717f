"""Which obstacles a user drags, and the motion that dragging makes."""

import numpy as np
import pytest

import pliant as pl
from pliant.models.rigid import Waypoints
from pliant.viewer.dragging import DraggedMotion, center_of, draggable, with_motions


def still(time):
    return np.zeros(3), np.zeros(3)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: pl.Obstacle.sphere(center=(0, 0, 0), radius=0.01), True),
        (lambda: pl.Obstacle.box(size=(0.01, 0.01, 0.01), center=(0, 0, 0)), True),
        (lambda: pl.Obstacle.plane(normal=(0, 0, 1)), False),
        (lambda: pl.Obstacle.sphere(center=(0, 0, 0), radius=0.01, motion=still), False),
        (lambda: pl.Obstacle.plane(normal=(0, 0, 1), motion=still), False),
    ],
)
def test_what_is_fixed_and_finite_is_dragged(make, expected):
    scene = pl.Scene()
    obstacle = scene.add(make())
    ball = scene.add(pl.RigidBody.sphere(radius=0.01, mass=0.01, position=(0.1, 0, 0.1)))
    scene.collide(ball, obstacle)
    assert draggable(scene.compile().obstacles[0]) is expected


def path_of(moves):
    """What a list of (begin, end, place) means, without the motion's own code: places at corners of time."""
    corners = [(0.0, np.zeros(3))]
    for begin, end, place in moves:
        while corners[-1][0] > begin and len(corners) > 1:
            corners.pop()
        rest = corners[-1][1]
        corners += [(begin, rest), (end, np.array(place))]
    times, places = [t for t, _ in corners], np.array([p for _, p in corners])
    return lambda t: np.array([np.interp(t, times, places[:, k]) for k in range(3)])


@pytest.mark.parametrize("seed", range(6))
def test_a_motion_is_linear_between_its_rests(seed):
    """Random drags, with rests and steps that are repeated, at random instants before, within and after."""
    chance = np.random.default_rng(seed)
    motion, moves, now = DraggedMotion(), [], 0.0
    for _ in range(8):
        begin = now + chance.choice([0.0, 0.5])
        for _ in range(chance.integers(1, 3)):  # a step that failed is dragged again
            moves.append((begin, begin + 0.1, chance.normal(size=3)))
            motion.move(*moves[-1])
        now = begin + 0.1
        expected = path_of(moves)
        for t in (*chance.uniform(-0.1, now + 0.2, 20), 0.0, begin, now):
            place, turn = motion(t)
            np.testing.assert_allclose(place, expected(t), atol=1e-12)
            np.testing.assert_array_equal(turn, np.zeros(3))
            np.testing.assert_allclose(motion.recorded()(t)[0], expected(t), atol=1e-12)
        np.testing.assert_array_equal(motion.displacement, moves[-1][2])
    assert motion.moved
    motion.reset()
    assert not motion.moved
    assert not motion.displacement.any()
    assert not motion(5.0)[0].any()


def test_a_displacement_is_kept_as_it_was_given():
    motion, place = DraggedMotion(), np.array([1.0, 0.0, 0.0])
    motion.move(0.0, 0.1, place)
    place[0] = 9.0
    assert motion(1.0)[0][0] == 1.0


def test_dragging_to_where_it_is_adds_no_instants():
    motion = DraggedMotion()
    for k in range(5):
        motion.move(0.1 * k, 0.1 * (k + 1), np.zeros(3))
    assert not motion.moved
    motion.move(0.5, 0.6, np.ones(3))
    for k in range(6, 10):
        motion.move(0.1 * k, 0.1 * (k + 1), np.ones(3))
    assert list(motion.recorded().times) == pytest.approx([0.0, 0.5, 0.6])


@pytest.mark.parametrize(
    "obstacle",
    [
        pl.Obstacle.sphere(center=(0.1, -0.2, 0.3), radius=0.01),
        pl.Obstacle.box(size=(0.02, 0.04, 0.06), center=(0.1, -0.2, 0.3)),
    ],
)
def test_the_handle_of_an_obstacle_is_in_its_middle(obstacle):
    np.testing.assert_allclose(center_of(obstacle), (0.1, -0.2, 0.3), atol=1e-6)


def test_a_world_with_other_motions_has_the_same_bodies_and_pairs():
    scene = pl.Scene(gravity=(0, 0, -1.0))
    ball = scene.add(pl.RigidBody.sphere(radius=0.01, mass=0.01, position=(0, 0, 0.1)))
    still_one, dragged = (
        scene.add(pl.Obstacle.sphere(center=(x, 0, 0), radius=0.01, name=name)) for x, name in ((0.0, "a"), (0.1, "b"))
    )
    scene.collide(ball, still_one, friction=0.3)
    scene.collide(ball, dragged, friction=0.7)
    world = scene.compile()
    assert with_motions(world, {}) is world
    motion = Waypoints(np.array([0.0, 1.0]), np.array([[0.0, 0, 0], [0.0, 0, 0.5]]))
    moved = with_motions(world, {1: motion})
    assert [obstacle.motion for obstacle in moved.obstacles] == [None, motion]
    assert [obstacle.motion for obstacle in world.obstacles] == [None, None]
    assert moved.obstacles[0] is still_one
    assert moved.models[0].spec is ball
    np.testing.assert_array_equal(moved.gravity, (0, 0, -1.0))
    found = [(p.a, p.b.name, p.friction) for p in moved.source.pairs]
    assert found == [(ball, "a", 0.3), (ball, "b", 0.7)]
    assert moved.source.pairs[1].b is moved.obstacles[1]
