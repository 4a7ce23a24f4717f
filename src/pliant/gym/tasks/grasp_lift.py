"""A gripper of three cable fingers grasps a cube and lifts it by friction."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.actuators.values import Displacement
from pliant.core.types import FloatArray
from pliant.gym.task import Channel, Moment, Seen, Shapes, Task, Variation, Verdict, distance
from pliant.gym.tasks.placing import parameters, placed
from pliant.gym.twins import Coarser
from pliant.robots import gripper
from pliant.world import Scene, State, World

FRICTION = 0.8
LIFTED = 0.03
"""How far the cube is to be lifted, m."""

CELLS = {False: (3, 2, 2), True: (3, 1, 1)}
"""Cells of a finger in the task, and in its twin."""
COARSE = "fingers of 78 nodes instead of 162: their bases move, where modes of motion are zero"


class GraspLift(Task):
    """Three fingers of cables hang from mounts that move together; the cube stands free on a floor."""

    title = "a gripper of three cable fingers grasps a cube and lifts it by 30 mm"
    reward = (
        "−0.5 the mean distance of the fingertips from the cube over 50 mm + 2 height over 30 mm (at most 2) "
        "− 0.005 |action − position|², + 1 where it is lifted"
    )
    error = "what is missing of the height of 30 mm, m"
    succeeds = "the cube is at least 25 mm above the floor"
    ends = "the cube is more than 60 mm from where it stood, sideways"
    actions = (
        Channel("pull of the cable of the thumb", "m", 0.0, 0.018, 0.06),
        Channel("pull of the cable of finger 1", "m", 0.0, 0.018, 0.06),
        Channel("pull of the cable of finger 2", "m", 0.0, 0.018, 0.06),
        Channel("height of the mounts above their start", "m", 0.0, 0.05, 0.1),
    )
    observations = (
        Seen("cube", 3, "m", 0.05),
        Seen("velocity of the cube", 3, "m/s", 0.2),
        Seen("upright of the cube: z of its three axes", 3, "1", 1.0),
        Seen("fingertips − cube", 9, "m", 0.05),
        Seen("commands, −1 … 1", 4, "1", 1.0),
    )
    variations = (
        Variation(
            "modulus",
            lambda task: [parameters().Material(each.handle, "young") for each in task.world.volumes],
            0.8,
            1.2,
        ),
        Variation("mass", lambda task: [parameters().Mass(task.gripper.cube)], 0.7, 1.3),
        Variation(
            "friction",
            lambda task: [parameters().Friction(each.handle, task.gripper.cube) for each in task.world.volumes],
            0.8,
            1.2,
        ),
    )
    steps = 150
    settle = 60
    view = (-0.05, -0.05, 0.0), (0.05, 0.05, 0.14)
    twin = Coarser(COARSE)

    def build(self, *, coarse: bool) -> World:
        scene = Scene(gravity=(0, 0, -9.81))
        self.gripper = scene.add(gripper(cells=CELLS[coarse]))
        self.gripper.collide(scene, friction=FRICTION)
        return scene.compile()

    def controls(self, command: FloatArray) -> dict[Any, Any]:
        pulls = {cable: Displacement(float(x)) for cable, x in zip(self.gripper.cables, command[:3], strict=True)}
        return pulls | dict.fromkeys(self.gripper.mounts, Displacement((0.0, 0.0, float(command[3]))))

    def goal(self, rng: np.random.Generator) -> FloatArray:
        return np.array([rng.uniform(-0.004, 0.004), rng.uniform(-0.004, 0.004), rng.uniform(-0.2, 0.2)])

    def begin(self, state: State, goal: FloatArray, rng: np.random.Generator) -> State:
        return placed(state, self.gripper.cube, (goal[0], goal[1], None), goal[2])

    def measured(self, shapes: Shapes) -> FloatArray:
        cube = shapes.place(self.gripper.cube)
        tips = [shapes.marker(one.tip) - cube for one in self.gripper.fingers]
        return np.concatenate([cube, shapes.turn(self.gripper.cube)[:, 2], *tips], axis=1)

    def observed(self, now: Moment) -> list[FloatArray]:
        y = now.measured
        return [y[:, :3], now.rates[:, :3], y[:, 3:6], y[:, 6:], now.position]

    def judged(self, now: Moment) -> Verdict:
        y, moves = now.measured, now.action - now.position
        height = y[:, 2] - 0.015
        away = sum(distance(y[:, k : k + 3]) for k in (6, 9, 12)) / 3.0
        success = height > LIFTED - 0.005
        raised = np.clip(height / LIFTED, 0.0, 1.0)
        reward = -10.0 * away + 2.0 * raised - 0.005 * (moves * moves).sum(axis=-1) + success
        return Verdict(reward, success, distance(y[:, :2]) > 0.06, np.maximum(LIFTED - height, 0.0))
