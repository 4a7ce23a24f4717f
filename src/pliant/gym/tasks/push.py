"""A soft finger pushes a box over a floor to a random place."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.actuators.values import Displacement
from pliant.core.types import FloatArray
from pliant.gym.task import Channel, Moment, Seen, Shapes, Task, Variation, Verdict, distance
from pliant.gym.tasks.grasp_lift import CELLS, COARSE
from pliant.gym.tasks.placing import parameters, placed
from pliant.gym.twins import Coarser
from pliant.mesh import regions
from pliant.models.rigid import Obstacle, RigidBody
from pliant.models.volume import Support
from pliant.robots import finger
from pliant.robots.robot import moved
from pliant.world import Scene, State, World

EDGE = 0.03
"""Edge of the box, m."""
DOWN = np.array([[0.0, 0.0, -1.0], [0.0, -1.0, 0.0], [-1.0, 0.0, 0.0]])
"""Turns a finger along x so that it hangs down, its palm facing +x."""


class Push(Task):
    """A finger hangs from a mount that moves in the plane, and pushes a box by friction and pressure."""

    title = "a soft finger on a moving mount pushes a box to a random place"
    reward = (
        "−10 |box − goal| − 3 |fingertip − place behind the box| (m) − 0.005 |action − position|², + 0.5 within 10 mm"
    )
    error = "distance of the box from the goal, m"
    succeeds = "the box is within 10 mm of the goal"
    ends = "the box is more than 0.2 m from where it stood"
    actions = (
        Channel("mount along x", "m", -0.02, 0.12, 0.15, start=0.0),
        Channel("mount along y", "m", -0.07, 0.07, 0.15, start=0.0),
        Channel("pull of the cable", "m", 0.0, 0.014, 0.06),
    )
    observations = (
        Seen("box", 2, "m", 0.05),
        Seen("velocity of the box", 2, "m/s", 0.2),
        Seen("heading of the box, cosine and sine", 2, "1", 1.0),
        Seen("fingertip − box", 3, "m", 0.05),
        Seen("goal − box", 2, "m", 0.05),
        Seen("commands, −1 … 1", 3, "1", 1.0),
    )
    variations = (
        Variation("modulus", lambda task: [parameters().Material(task.finger.body, "young")], 0.8, 1.2),
        Variation("mass", lambda task: [parameters().Mass(task.box)], 0.7, 1.3),
        Variation("friction", lambda task: [parameters().Friction(task.box, task.floor)], 0.8, 1.2),
    )
    steps = 150
    settle = 60
    view = (-0.04, -0.07, 0.0), (0.14, 0.07, 0.11)
    twin = Coarser(COARSE)

    def build(self, *, coarse: bool) -> World:
        one = finger(cells=CELLS[coarse])
        length = float(one.body.mesh.bounds[1, 0])
        base = regions.nodes(one.body.clamp.nodes(one.body.mesh.points, what="base of the finger"))
        self.finger = moved(one, DOWN, np.array([0.0, 0.0, length + 0.006]), clamp=None)
        self.mount = Support(self.finger.body, base)
        self.box = RigidBody.box(size=(EDGE,) * 3, mass=0.05, position=(0.04, 0.0, 0.5 * EDGE), name="box")
        self.floor = Obstacle.plane(name="floor")
        scene = Scene(gravity=(0, 0, -9.81))
        for thing in (self.finger, self.mount, self.box, self.floor):
            scene.add(thing)
        scene.collide(self.finger, self.box, friction=0.6)
        scene.collide(self.box, self.floor, friction=0.3)
        scene.collide(self.finger, self.floor, friction=0.3)
        return scene.compile()

    def controls(self, command: FloatArray) -> dict[Any, Any]:
        x, y, pull = (float(each) for each in command)
        return {self.mount: Displacement((x, y, 0.0)), self.finger.cable: Displacement(pull)}

    def goal(self, rng: np.random.Generator) -> FloatArray:
        return np.array([rng.uniform(0.075, 0.115), rng.uniform(-0.03, 0.03)])

    def begin(self, state: State, goal: FloatArray, rng: np.random.Generator) -> State:
        return placed(state, self.box, (0.04, rng.uniform(-0.01, 0.01), None), rng.uniform(-0.2, 0.2))

    def measured(self, shapes: Shapes) -> FloatArray:
        box, turn = shapes.place(self.box), shapes.turn(self.box)
        tip = shapes.marker(self.finger.tip)
        return np.concatenate([box, turn[:, 0, :1], turn[:, 1, :1], tip - box], axis=1)

    def observed(self, now: Moment) -> list[FloatArray]:
        y = now.measured
        return [y[:, :2], now.rates[:, :2], y[:, 3:5], y[:, 5:8], now.goal - y[:, :2], now.position]

    def judged(self, now: Moment) -> Verdict:
        y, moves = now.measured, now.action - now.position
        left = now.goal - y[:, :2]
        error = distance(left)
        behind = -EDGE * left / np.maximum(error, 1e-3)[:, None]
        success = error < 0.010
        reward = -10.0 * error - 3.0 * distance(y[:, 5:7] - behind)
        reward += 0.5 * success - 0.005 * (moves * moves).sum(axis=-1)
        return Verdict(reward, success, distance(y[:, :2]) > 0.2, error)

    def marks(self, goal: FloatArray) -> list[tuple[FloatArray, float]]:
        return [(np.array([goal[0], goal[1], 0.0]), 0.008)]
