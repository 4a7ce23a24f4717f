"""A soft arm is drawn back by a cable and let go, to throw a block at a place on the floor."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from pliant.actuators import Cable
from pliant.actuators.values import Displacement
from pliant.core.types import FloatArray
from pliant.gym.task import Channel, Moment, Seen, Shapes, Task, Variation, Verdict, distance
from pliant.gym.tasks.placing import parameters
from pliant.gym.twins import Modes
from pliant.materials import Corotated
from pliant.mesh import Mesh, regions
from pliant.mesh.lattice import Lattice
from pliant.models.rigid import Obstacle, RigidBody
from pliant.models.volume import Rayleigh, Volume
from pliant.robots import Marker
from pliant.world import Scene, State, World

LENGTH, WIDTH, THICK, RIM = 0.10, 0.03, 0.006, 0.005
"""Length, width and thickness of the arm, and height of the rim around the seat of the block, m."""
RAISED, BASE = np.radians(60.0), 0.06
"""Inclination of the arm at rest, rad, and height of its base, m."""
EDGE, SEAT = 0.014, LENGTH - 0.0165
"""Edge of the block, and where along the arm it lies, m."""
GRAVITY = 9.81


class Throw(Task):
    """The arm is clamped at its lower end, with a rim around the block that lies on its other end."""

    title = "a soft arm throws a block at a random place on the floor"
    reward = (
        "−|predicted landing − goal| (m) while the block flies, −0.02 before; when it lands 10 less 1 for each 10 mm "
        "from the goal, at least 0"
    )
    error = "distance of the block, or of the place where its parabola ends, from the goal along x, m"
    succeeds = "the block lands within 20 mm of the goal"
    ends = "the block is on the floor"
    actions = (Channel("pull of the cable", "m", 0.0, 0.0055, 0.6, start=0.004),)
    observations = (
        Seen("block", 2, "m", 0.1),
        Seen("velocity of the block", 2, "m/s", 1.0),
        Seen("end of the arm", 2, "m", 0.1),
        Seen("velocity of the end of the arm", 2, "m/s", 1.0),
        Seen("goal", 1, "m", 0.1),
        Seen("command, −1 … 1", 1, "1", 1.0),
    )
    variations = (
        Variation("modulus", lambda task: [parameters().Material(task.arm, "young")], 0.9, 1.1),
        Variation("mass", lambda task: [parameters().Mass(task.block)], 0.8, 1.2),
    )
    dt = 0.005
    steps = 120
    settle = 200
    view = (-0.15, -0.03, 0.0), (0.08, 0.03, 0.15)
    eye = (-80.0, 12.0)
    twin = Modes(runs=25, hold=15, every=2, tolerance=1e-3, points=5e-3)

    def build(self, *, coarse: bool) -> World:
        silicone = Corotated(young=4e6, poisson=0.45, density=1100.0)
        clamp = regions.box((-np.inf,) * 3, (1e-6, np.inf, np.inf))
        self.arm = Volume(_mesh(), silicone, clamp=clamp, damping=Rayleigh(stiffness=0.001), name="arm")
        scene = Scene(gravity=(0, 0, -GRAVITY))
        scene.add(self.arm, position=(0.0, 0.0, BASE), rotation=(0.0, -RAISED, 0.0))
        along = np.linspace(0.002, LENGTH - 0.002, 9)
        self.cable = scene.add(Cable(self.arm, [(x, 0.0, 0.0003) for x in along], name="cable"))
        self.seat, self.inner, self.outer = (
            Marker(self.arm, (x, 0.0, THICK)) for x in (SEAT, SEAT - 0.0135, SEAT + 0.0165)
        )
        self.block = RigidBody.box(size=(EDGE,) * 3, mass=0.006, position=(0.15, 0.0, 0.5), name="block")
        floor = Obstacle.plane(name="floor")
        scene.add(self.block)
        scene.add(floor)
        scene.collide(self.arm, self.block, friction=0.6)
        scene.collide(self.block, floor, friction=0.6)
        return scene.compile()

    def controls(self, command: FloatArray) -> dict[Any, Any]:
        return {self.cable: Displacement(float(command[0]))}

    def approach(self, step: int) -> FloatArray:
        return np.array([self.actions[0].start * min(1.0, step / 100)])

    def goal(self, rng: np.random.Generator) -> FloatArray:
        return np.array([rng.uniform(-0.14, -0.06)])

    def begin(self, state: State, goal: FloatArray, rng: np.random.Generator) -> State:
        """The block lies on the seat of the drawn arm."""
        along = self.outer.at(state) - self.inner.at(state)
        along = np.asarray(along / np.linalg.norm(along), np.float64)
        up = np.array([-along[2], 0.0, along[0]])
        index = state.world.index(self.block)
        place = self.seat.at(state) + (0.5 * EDGE + 3e-4) * up
        pose = np.vstack([place, np.column_stack([along, (0.0, 1.0, 0.0), up]) @ state.q[index][1:4]])
        return replace(state, q=tuple(pose if k == index else q for k, q in enumerate(state.q)))

    def measured(self, shapes: Shapes) -> FloatArray:
        return np.concatenate([shapes.place(self.block), shapes.marker(self.seat)], axis=1)

    def observed(self, now: Moment) -> list[FloatArray]:
        y, rates, plane = now.measured, now.rates, [0, 2]
        return [y[:, plane], rates[:, plane], y[:, [3, 5]], rates[:, [3, 5]], now.goal, now.position]

    def judged(self, now: Moment) -> Verdict:
        x, height = now.measured[:, 0], np.maximum(now.measured[:, 2] - 0.5 * EDGE, 0.0)
        forward, upward = now.rates[:, 0], now.rates[:, 2]
        flies = distance(now.measured[:, :3] - now.measured[:, 3:]) > 2.0 * EDGE
        remaining = (upward + np.sqrt(upward * upward + 2.0 * GRAVITY * height)) / GRAVITY
        error = np.abs(np.where(flies, x + forward * remaining, x) - now.goal[:, 0])
        landed = height < 0.1 * EDGE
        missed = np.abs(x - now.goal[:, 0])
        reward = np.where(landed, np.maximum(10.0 - 100.0 * missed, 0.0), np.where(flies, -error, -0.02))
        return Verdict(reward, landed & (missed < 0.02), landed, np.where(landed, missed, error))

    def marks(self, goal: FloatArray) -> list[tuple[FloatArray, float]]:
        return [(np.array([goal[0], 0.0, 0.0]), 0.01)]


def _mesh() -> Mesh:
    """A strip with a rim around the seat, its clamped end at x = 0, its middle at y = 0."""
    x: FloatArray = np.linspace(0.0, LENGTH, 13, dtype=np.float64)
    y = np.array([-0.5, -1.0 / 3.0, 0.0, 1.0 / 3.0, 0.5]) * WIDTH
    z = np.array([0.0, 0.5 * THICK, THICK, THICK + RIM])
    keep = np.ones((12, 4, 3), bool)
    keep[:, :, 2] = False
    keep[-4:, [0, -1], 2] = keep[-1, :, 2] = keep[-4, :, 2] = True
    lattice = Lattice.grid(x, y, z, keep=keep)
    along, across, up = lattice.points.T
    return lattice.mesh(along, np.abs(across), up, element="tet4")
