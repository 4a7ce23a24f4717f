"""The tasks of the elastic arm: targets that move, commands by rates over several steps, bits, what is measured."""

from itertools import pairwise

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from scipy.spatial.transform import Rotation

import pliant as pl
from pliant.gym import Environment
from pliant.gym.substeps import Substeps
from pliant.gym.task import Shapes
from pliant.gym.tasks import follow_target, unstructured_obstacles
from pliant.gym.tasks.elastic_arm import LENGTH, NEAR, REGIONS, tracking_verdict
from pliant.gym.tasks.oriented_reach import misalignment
from pliant.gym.twins import task_of

ARMS = ("FollowTarget", "OrientedReach", "StructuredObstacles", "UnstructuredObstacles")


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_vectors_follow_the_targets_of_single_environments(mode):
    """Observations, rewards and infos to the last bit, over resets; targets move in the copies that wait, too."""
    count, limit = 2, 3
    options = {"randomize": {"modulus": (0.8, 1.2)}}
    wrapped = gymnasium.make_vec(
        "Pliant/FollowTarget-v0", count, vectorization_mode="sync", vector_kwargs={"autoreset_mode": mode}, **options
    )
    for env in wrapped.envs:
        env._max_episode_steps = limit  # of TimeLimit
    native = gymnasium.make_vec(
        "Pliant/FollowTarget-v0", count, autoreset_mode=mode, max_episode_steps=limit, workers=1, **options
    )
    rng = np.random.default_rng(0)
    one, other = native.reset(seed=7), wrapped.reset(seed=7)
    np.testing.assert_array_equal(one[0], other[0])
    for _ in range(8):
        actions = rng.uniform(-1.0, 1.0, native.action_space.shape).astype(np.float32)
        one, other = native.step(actions), wrapped.step(actions)
        for k in range(4):
            np.testing.assert_array_equal(one[k], other[k])
    native.close()
    wrapped.close()


def test_a_step_is_as_many_steps_of_the_world_with_the_command_between():
    task = task_of("FollowTarget")
    rng = np.random.default_rng(0)
    before, after = rng.uniform(-0.3, 0.3, (2, len(task.actions)))
    assert isinstance(task.stepper, Substeps)
    state, info = task.stepper(task.world, task.start, task.ramped(before, after))
    one, expected = pl.ImplicitEuler(task.dt / 2, newton_iterations=task.newton_iterations), task.start
    for command in (0.5 * (before + after), after):
        expected, last = one(task.world, expected, task.controls(command))
    assert np.array_equal(state.q[0], expected.q[0])
    assert state.time == expected.time == pytest.approx(task.dt)
    assert info.iterations == last.iterations


def test_an_action_is_the_rate_of_the_command():
    env = Environment("StructuredObstacles")
    env.reset(seed=0)
    action = np.array([1.0, -0.5, 0.0, 0.25, -1.0])
    for step in range(10):
        env.step(action)
        np.testing.assert_allclose(env._episodes.command[0], np.clip(0.25 * (step + 1) * action, -2.0, 2.0))


@pytest.mark.parametrize("name", ARMS)
def test_an_arm_at_rest_has_the_natural_curvatures_that_are_commanded(name):
    """Without gravity and contact: the bend of each region, from the frames of its ends, is the command."""
    task = task_of(name)
    scene = pl.Scene()
    arm, rng = scene.add(task.arm), np.random.default_rng(3)
    scene.add(task.muscles)
    world = scene.compile()
    command = rng.uniform(-0.5, 0.5, len(task.actions))
    state, _ = pl.QuasiStatic()(world, world.initial_state(), task.controls(command))
    strains = world.models[0].strains(state.q[0]) * (LENGTH / REGIONS)
    bent = command.reshape(REGIONS, -1)
    every = arm.sections // REGIONS
    for k, strain in enumerate(task.commanded):
        column = ("twist", "bend_y", "bend_z").index(strain)
        np.testing.assert_allclose(strains[:, column], np.repeat(bent[:, k], every), atol=1e-7)


def test_a_target_moves_at_its_speed_within_its_box():
    task, rng = task_of("FollowTarget"), np.random.default_rng(0)
    goal, turns, places = task.goal(rng), 0, []
    for _ in range(4000):
        before, goal = goal, task.moved(goal, rng)
        np.testing.assert_allclose(goal[:3] - before[:3], task.dt * goal[3:], atol=1e-12)
        assert np.linalg.norm(goal[3:]) == pytest.approx(follow_target.SPEED)
        turns += not np.allclose(np.abs(goal[3:]), np.abs(before[3:]))
        places.append(goal[:3])
    step = task.dt * follow_target.SPEED
    places = np.array(places)
    assert (places >= follow_target.LOWER - step).all()
    assert (places <= follow_target.UPPER + step).all()
    assert (np.ptp(places, axis=0) > 0.9 * (follow_target.UPPER - follow_target.LOWER)).all()
    assert 60 < turns < 140  # 4000 × 0.025 = 100, less those at walls


def test_the_target_that_is_seen_is_the_one_that_is_judged():
    env = Environment("FollowTarget")
    seen, info = env.reset(seed=2)
    np.testing.assert_allclose(seen[-6:], info["goal"], rtol=1e-6)
    for _ in range(5):
        seen, reward, _, _, info = env.step(np.zeros(10))
        away = np.linalg.norm(seen[27:30] - seen[-6:-3])
        assert info["error"] == pytest.approx(away, abs=1e-6)
        assert reward == pytest.approx(-(away**2) + (2.0 if away < 0.05 else 0.5 if away < 0.1 else 0.0), abs=1e-5)
    again, other = Environment("FollowTarget"), env.reset(seed=2)[0]
    assert np.array_equal(again.reset(seed=2)[0], other)
    assert np.array_equal(again.step(np.ones(10))[0], env.step(np.ones(10))[0])


def test_rewards_step_at_two_distances():
    verdict = tracking_verdict(np.array([0.2, 0.07, 0.03]))
    np.testing.assert_allclose(verdict.reward, [-0.04, 0.5 - 0.0049, 2.0 - 0.0009])
    assert verdict.success.tolist() == [False, False, True]
    assert pytest.approx(0.05) == NEAR


def test_misalignment_is_the_angle_between_frames():
    rng = np.random.default_rng(1)
    turns = Rotation.random(50, random_state=2)
    yaw = rng.uniform(-np.pi, np.pi, 50)
    tips, wanted = turns.as_matrix(), Rotation.from_rotvec(yaw[:, None] * np.array([0.0, 0.0, 1.0]))
    found = misalignment(tips[:, :, 2], tips[:, :, 0], np.stack([np.cos(yaw), np.sin(yaw)], axis=1))
    np.testing.assert_allclose(found, np.sin(0.5 * (turns.inv() * wanted).magnitude()) ** 2, atol=1e-12)


def test_the_tip_of_an_arm_at_rest_points_up():
    """Turned by the twist of all regions: one that is aligned with the goal of that angle."""
    env = Environment("OrientedReach")
    env.reset(seed=0)
    for _ in range(8):
        env.step(np.tile([0.0, 0.0, 1.0], REGIONS))
    for _ in range(30):
        env.step(np.zeros(3 * REGIONS))
    twist = env._episodes.command[0].reshape(REGIONS, 3)[:, 2].sum()
    y = env.task.measured(Shapes(env.world, [q[None] for q in env.state.q]))
    aligned = misalignment(y[:, -6:-3], y[:, -3:], np.array([[np.cos(twist), np.sin(twist)]]))
    assert twist == pytest.approx(2.0)
    assert aligned[0] < 1e-3


def test_cylinders_lie_in_their_box_apart():
    for seed in range(2):
        axes = unstructured_obstacles.disorder(np.random.default_rng(seed))
        assert axes.shape == (8, 2, 3)
        assert (axes >= unstructured_obstacles.LOWER).all()
        assert (axes <= unstructured_obstacles.UPPER).all()
        np.testing.assert_allclose(np.linalg.norm(axes[:, 1] - axes[:, 0], axis=1), 1.0)
        fine = axes[:, :1] + np.linspace(0.0, 1.0, 200)[None, :, None] * (axes[:, 1:] - axes[:, :1])
        for k, one in enumerate(axes):
            for other, points in zip(axes[:k], fine[:k], strict=True):
                dense = np.linalg.norm(points[:, None] - fine[k][None], axis=2).min()
                found = unstructured_obstacles.segment_distance(one, other)
                assert dense - 4e-3 <= found <= dense + 1e-12
                assert found >= unstructured_obstacles.APART


def test_segments_of_all_kinds_have_their_distance():
    rng = np.random.default_rng(4)
    fractions = np.linspace(0.0, 1.0, 300)[:, None]
    for case in range(40):
        a, b = rng.normal(size=(2, 2, 3))
        if case % 4 == 0:
            b = a + rng.normal(size=3)  # parallel
        points = [s[0] + fractions * (s[1] - s[0]) for s in (a, b)]
        dense = np.linalg.norm(points[0][:, None] - points[1][None], axis=2).min()
        found = unstructured_obstacles.segment_distance(a, b)
        assert dense - 0.03 <= found <= dense + 1e-9


@pytest.mark.parametrize("name", ["StructuredObstacles", "UnstructuredObstacles"])
def test_an_arm_presses_against_cylinders_and_does_not_enter_them(name):
    env = Environment(name)
    env.reset(seed=0)
    touched = 0
    for step in range(14):
        action = np.zeros(len(env.task.actions)).reshape(REGIONS, -1)
        action[:, 0] = 1.0 if step < 8 else -0.5
        *_, info = env.step(action.ravel())
        assert "failure" not in info
        points = env.state.points(env.task.arm)
        axis = np.concatenate([np.linspace(p, q, 8) for p, q in pairwise(points)])
        for obstacle in env.world.obstacles:
            solid = obstacle.shape.solid
            gap = solid.distance(axis).gap.min() - 0.05
            assert gap > -2e-3
            touched += gap < 1e-3
    assert touched >= 2


def test_a_resting_target_is_reached_and_held():
    """Along the way of an arm that bends evenly, by commands that follow the distance still to go."""
    env = Environment("FollowTarget", reduced=True)
    env.reset(seed=0)
    env._episodes._chance = [None]
    env._episodes.goal[0] = [0.537, 0.0, 0.779, 0.0, 0.0, 0.0]
    total = 0.0
    for _ in range(120):
        ahead = 0.537 - env.state.points(env.task.arm)[-1, 0]
        action = np.zeros((REGIONS, 2))
        action[:, 0] = np.clip(0.5 * ahead, -1.0, 1.0)
        _, reward, _, _, info = env.step(action.ravel())
        total += reward
    assert info["success"], info
    assert total > 40.0


def test_an_orientation_is_reached_by_opposed_bends_and_twist():
    """The goal is where such commands lead, and the direction that x has there; up is within the tolerance."""
    env = Environment("OrientedReach", reduced=True)
    env.reset(seed=0)
    wanted = np.array([[0.35, 0.0, 0.1]] * 2 + [[0.0, 0.0, 0.1]] + [[-0.4, 0.0, 0.1]] * 2)
    goals = []
    for attempt in range(2):
        if attempt:
            env.reset(seed=0)
            env._episodes.goal[0] = goals[0]
        for _ in range(60):
            now = env._episodes.command[0].reshape(REGIONS, 3)
            *_, info = env.step(np.clip((wanted - now) / 0.05, -1.0, 1.0).ravel())
        y = env.task.measured(Shapes(env.world, [q[None] for q in env.state.q]))[0]
        turn = np.arctan2(y[-2], y[-3])
        goals.append(np.concatenate([y[:3], [np.cos(turn), np.sin(turn)]]))
    assert abs(goals[0][0]) > 0.2
    assert 0.25 < turn < 0.75
    assert info["success"], info
