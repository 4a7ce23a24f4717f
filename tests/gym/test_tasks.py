"""The physics of the tasks: each can be done by commands of one's own, and the goals are places that can be reached."""

import numpy as np
import pytest

from pliant.gym import TASKS
from pliant.gym.environment import Environment
from pliant.gym.task import Shapes
from pliant.gym.tasks.pneumatic_reach import PAIRS, TILTS
from pliant.gym.twins import task_of


def episode(env, actions):
    """Infos of the steps with these actions."""
    infos = []
    for action in actions:
        _, _, terminated, _, info = env.step(action)
        infos.append(info)
        if terminated:
            break
    return infos


def test_a_cube_is_lifted():
    env = Environment("GraspLift")
    env.reset(seed=0)
    close = np.clip(np.arange(130) / 40, 0.0, 1.0) * (0.016 / 0.009) - 1.0
    lift = np.clip((np.arange(130) - 60) / 45, 0.0, 1.0) * 2.0 - 1.0
    infos = episode(env, np.stack([close, close, close, lift], axis=1))
    assert not infos[30]["success"]
    assert infos[-1]["success"], infos[-1]


def test_a_held_cube_turns_both_ways():
    turned = []
    for thumb, fingers in ((1.0, -1.0), (-1.0, 1.0)):
        env = Environment("InHandTurn")
        env.reset(seed=0)
        grasp = 0.2
        infos = episode(env, np.tile([grasp, grasp, 0.5 * thumb, 0.5 * fingers], (35, 1)))
        assert len(infos) == 35, "the cube must not fall"
        turn = env.task.measured(Shapes(env.world, [q[None] for q in env.state.q]))[0, 3]
        turned.append(float(np.arcsin(turn)))
    assert min(turned) < -0.1, turned
    assert max(turned) > 0.1, turned


def test_a_worm_crawls_ahead():
    env = Environment("Crawl")
    env.reset(seed=0)
    phase = 2.0 * np.pi * np.arange(120) / 40
    amplitude = 10.0 / 12.0
    pulls = np.stack([1.0 - np.cos(phase), 1.0 - np.cos(phase - 0.5 * np.pi)], axis=1) * amplitude - 1.0
    infos = episode(env, pulls)
    assert infos[-1]["error"] < 0.06 - 0.015


def test_a_block_flies_farther_from_an_arm_drawn_farther():
    landed = []
    for drawn in (0.0, 1.0):
        env = Environment("Throw")
        env.reset(seed=0)
        episode(env, [[drawn]] * 10 + [[-1.0]] * 100)
        landed.append(float(env.state.pose(env.task.block)[0, 0]))
    assert landed[1] < landed[0] - 0.04 < -0.04, landed


def test_a_wire_enters_the_branch_to_which_its_tip_is_turned():
    sides = []
    for turn in (0.0, 1.0):
        env = Environment("CatheterVessel")
        env.reset(seed=0)
        episode(env, np.stack([np.linspace(-1.0, 0.9, 130), np.full(130, turn)], axis=1))
        sides.append(float(env.state.points(env.task.wire)[-1, 1]))
    assert sides[0] > 0.01, sides
    assert sides[1] < -0.01, sides


def test_a_box_is_pushed():
    env = Environment("Push")
    env.reset(seed=0)
    before = float(env.state.pose(env.task.box)[0, 0])
    episode(env, np.tile([0.3, 0.0, -1.0], (60, 1)))
    assert float(env.state.pose(env.task.box)[0, 0]) > before + 0.02


@pytest.mark.parametrize("seed", [0, 3])
def test_a_pneumatic_goal_can_be_reached(seed):
    task = task_of("PneumaticReach")
    rng, again = np.random.default_rng(seed), np.random.default_rng(seed)
    goal = task.goal(rng)
    chambers, levels = PAIRS[again.integers(len(PAIRS))], again.uniform(0.2, 0.7, 2)
    env = Environment("PneumaticReach")
    env.reset(seed=0)
    action = np.full(4, -1.0)
    action[list(chambers)] = 2.0 * levels - 1.0
    episode(env, [action] * 60)
    assert np.linalg.norm(task.tower.tip.at(env.state) - goal) < 4e-3
    assert TILTS.shape == (4, 5, 3)


def test_goals_of_the_trunk_can_be_reached():
    task = task_of("Reach")
    rng = np.random.default_rng(5)
    for _ in range(2):
        goal = task.goal(rng)
        env = Environment("Reach")
        env.reset(seed=0)
        env._episodes.goal[0] = goal
        action = np.full(4, -0.6)
        for _ in range(150):  # proportional feedback: the cable towards which the goal lies is pulled
            left = goal[:2] - task.trunk.tip.at(env.state)[:2]
            ways = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
            ways[:, 1] *= -1.0  # it hangs, turned about x
            action = np.clip(action + 1.5 * (ways @ left), -1.0, 1.0)
            *_, info = env.step(action)
        assert info["success"], info


def test_every_task_documents_itself():
    for task in TASKS.values():
        assert task.__doc__
        assert all(each.low < each.high and each.low <= each.start <= each.high for each in task.actions), task
        assert all(each.size > 0 and each.scale > 0.0 for each in task.observations), task
        assert task.title
        assert task.reward
        assert task.succeeds
