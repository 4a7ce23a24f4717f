"""A gripper turns a cube that it holds, by moving its fingers against each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.actuators.values import Displacement
from pliant.core.types import FloatArray
from pliant.gym.task import Channel, Moment, Seen, Shapes, Task, Verdict
from pliant.gym.tasks.grasp_lift import CELLS, COARSE, GraspLift
from pliant.gym.twins import Coarser
from pliant.robots import gripper
from pliant.world import Scene, World

GRASP = 0.014
"""Pull of the cables that holds the cube at the start, m."""


class InHandTurn(Task):
    """The gripper of `GraspLift` holds the cube in the air; thumb and fingers are raised and lowered on their own."""

    title = "a gripper turns the cube in its hand about the horizontal axis, by up to 0.3 rad"
    reward = "−4 |turn − goal| (rad) − 0.005 |action − position|², + 0.5 within 0.05 rad"
    error = "angle that is missing, rad"
    succeeds = "the cube is turned to within 0.05 rad of the goal, and held"
    ends = "the cube falls to the floor: its height is below 20 mm"
    actions = (
        Channel("pull of the cable of the thumb", "m", 0.008, 0.018, 0.04, start=GRASP),
        Channel("pull of the cables of both fingers", "m", 0.008, 0.018, 0.04, start=GRASP),
        Channel("height of the thumb above its start", "m", 0.0, 0.04, 0.05, start=0.02),
        Channel("height of both fingers above their start", "m", 0.0, 0.04, 0.05, start=0.02),
    )
    observations = (
        Seen("cube", 3, "m", 0.05),
        Seen("velocity of the cube", 3, "m/s", 0.2),
        Seen("turn of the cube: sine, and its rate", 2, "1 and 1/s", 0.3),
        Seen("fingertips − cube", 9, "m", 0.05),
        Seen("goal − turn", 1, "rad", 0.3),
        Seen("commands, −1 … 1", 4, "1", 1.0),
    )
    variations = GraspLift.variations
    settle = 200
    view = (-0.05, -0.05, 0.0), (0.05, 0.05, 0.16)
    twin = Coarser(COARSE)

    def build(self, *, coarse: bool) -> World:
        scene = Scene(gravity=(0, 0, -9.81))
        self.gripper = scene.add(gripper(cells=CELLS[coarse]))
        self.gripper.collide(scene, friction=0.8)
        return scene.compile()

    def approach(self, step: int) -> FloatArray:
        """Close around the cube in half of the time, then lift it."""
        close, lift = np.clip(step / 80, 0.0, 1.0), np.clip((step - 90) / 60, 0.0, 1.0)
        return np.array([GRASP * close, GRASP * close, 0.02 * lift, 0.02 * lift])

    def controls(self, command: FloatArray) -> dict[Any, Any]:
        thumb, *others = self.gripper.cables
        pulls = {thumb: Displacement(float(command[0]))} | dict.fromkeys(others, Displacement(float(command[1])))
        first, *mounts = self.gripper.mounts
        raised = {first: Displacement((0.0, 0.0, float(command[2])))}
        return pulls | raised | dict.fromkeys(mounts, Displacement((0.0, 0.0, float(command[3]))))

    def goal(self, rng: np.random.Generator) -> FloatArray:
        return np.array([rng.choice([-1.0, 1.0]) * rng.uniform(0.1, 0.3)])

    def measured(self, shapes: Shapes) -> FloatArray:
        cube, turn = shapes.place(self.gripper.cube), shapes.turn(self.gripper.cube)
        tips = [shapes.marker(one.tip) - cube for one in self.gripper.fingers]
        return np.concatenate([cube, turn[:, 0, 2:], *tips], axis=1)

    def observed(self, now: Moment) -> list[FloatArray]:
        y = now.measured
        turn = np.concatenate([y[:, 3:4], now.rates[:, 3:4]], axis=1)
        return [y[:, :3], now.rates[:, :3], turn, y[:, 4:], now.goal - _angle(y), now.position]

    def judged(self, now: Moment) -> Verdict:
        y, moves = now.measured, now.action - now.position
        error = np.abs(now.goal - _angle(y))[:, 0]
        dropped = y[:, 2] < 0.02
        success = (error < 0.05) & ~dropped
        reward = -4.0 * error - 0.005 * (moves * moves).sum(axis=-1) + 0.5 * success - 5.0 * dropped
        return Verdict(reward, success, dropped, error)


def _angle(measured: FloatArray) -> FloatArray:
    """Turn (c, 1) of the cube about +y, rad."""
    return np.arcsin(np.clip(measured[:, 3:4], -1.0, 1.0))
