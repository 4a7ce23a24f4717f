"""The scenes of the soak: each robot with its obstacles, its contacts, and the range of its commands.

Meshes are coarse, so that ten simulated minutes of a robot take an hour or so. Ranges are the working ranges that the
robots' own documentation gives, times `BEYOND` where the actuator has no limit of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.soak.checker import Ball, Block, HalfSpace, Solid, depth_in_shape, depth_of_solids
from benchmarks.soak.drive import BEYOND, Drive
from pliant import robots
from pliant.actuators.values import Displacement, Force, Pressure, VolumeRatio
from pliant.models.rigid import Obstacle
from pliant.world import Scene, State, World

FRICTION = 0.6  # of silicone on plastic
Check = Callable[[State], float]


@dataclass(frozen=True, eq=False)
class SoakScene:
    """A compiled scene: `drives` are its commands, by displacement or volume and by force or pressure; `checks` measure
    the penetration of each colliding pair by brute force, m; `idle` is the fraction of commands at rest.
    """

    name: str
    world: World
    drives: tuple[tuple[Drive, ...], ...]
    checks: dict[str, Check]
    idle: float = 0.3

    def penetration(self, state: State) -> tuple[float, str]:
        """Largest penetration of a pair, m, and its name."""
        return max(((check(state), name) for name, check in self.checks.items()), default=(0.0, ""))


class _Maker:
    """Adds bodies, obstacles and contacts to a scene, and to the checks what collides."""

    def __init__(self, friction: float) -> None:
        self.scene = Scene(gravity=(0.0, 0.0, -9.81))
        self.friction = friction
        self.checks: dict[str, Check] = {}

    def touch(self, body: Any, shape: Ball | Block | HalfSpace, name: str) -> None:
        """Collide a volume with a fixed obstacle."""
        obstacle = self.scene.add(_obstacle(shape, name))
        self.scene.collide(body, obstacle, friction=self.friction)
        self.check(f"{body.name} – {name}", body, lambda state: shape)

    def check(self, name: str, body: Any, shape: Callable[[State], Ball | Block | HalfSpace]) -> None:
        """Measure a volume against a shape that may move."""
        solid = Solid(np.asarray(body.mesh.cells))
        self.checks[name] = lambda state: depth_in_shape(solid, state.points(body), shape(state))

    def check_self(self, body: Any) -> None:
        """Measure a volume against itself."""
        solid = Solid(np.asarray(body.mesh.cells))
        self.checks[f"{body.name} – itself"] = lambda state: solid.self_depth(state.points(body))

    def check_pair(self, a: Any, b: Any) -> None:
        """Measure two volumes against each other."""
        one, two = Solid(np.asarray(a.mesh.cells)), Solid(np.asarray(b.mesh.cells))
        self.checks[f"{a.name} – {b.name}"] = lambda state: depth_of_solids(one, state.points(a), two, state.points(b))

    def finished(self, name: str, *drives: tuple[Drive, ...], idle: float = 0.3) -> SoakScene:
        """The scene, compiled."""
        return SoakScene(name, self.scene.compile(), drives, self.checks, idle)


def _obstacle(shape: Ball | Block | HalfSpace, name: str) -> Obstacle:
    if isinstance(shape, Ball):
        return Obstacle.sphere(center=shape.center, radius=shape.radius, name=name)
    if isinstance(shape, Block):
        return Obstacle.box(center=shape.center, size=shape.size, name=name)
    return Obstacle.plane(point=(0.0, 0.0, shape.level), name=name)


def _cables(cables: Any, pull: float, force: float) -> tuple[tuple[Drive, ...], ...]:
    """Commands by displacement up to `pull` m, and by tension up to `force` N."""
    by_pull = tuple(
        Drive((c,), Displacement, 0.0, c.max_displacement if np.isfinite(c.max_displacement) else BEYOND * pull)
        for c in cables
    )
    return by_pull, tuple(Drive((c,), Force, 0.0, BEYOND * force) for c in cables)


def _cavities(cavities: Any, pressure: float, ratio: float) -> tuple[tuple[Drive, ...], ...]:
    """Commands by pressure up to `pressure` Pa, a third of it below that of the room, and by volume up to `ratio`."""
    by_pressure = tuple(Drive((c,), Pressure, -pressure / 3.0, BEYOND * pressure) for c in cavities)
    top = 1.0 + BEYOND * (ratio - 1.0)
    # an amount of 0 is the volume at rest, as for all drives
    return by_pressure, tuple(Drive((c,), lambda growth: VolumeRatio(1.0 + growth), -0.4, top - 1.0) for c in cavities)


def _finger(friction: float) -> SoakScene:
    made, robot = _Maker(friction), robots.finger()
    made.scene.add(robot)
    robot.collide(made.scene, margin=robot.margin)
    made.check_self(robot.body)
    made.touch(robot.body, Ball((0.07, 0.004, -0.035), 0.015), "ball")
    made.touch(robot.body, HalfSpace(-0.06), "floor")
    return made.finished("finger", *_cables(robot.cables, 0.040, 6.0))


def _gripper(friction: float) -> SoakScene:
    made, grip = _Maker(friction), robots.gripper()
    made.scene.add(grip)
    grip.collide(made.scene, friction=friction, floor_friction=friction, selves=True)
    edge = np.asarray(grip.cube.shape.solid.size, float)

    def cube(state: State) -> Block:
        pose = state.pose(grip.cube)
        return Block(pose[0], edge, pose[1:])

    for one in grip.fingers:
        made.check_self(one.body)
        made.check(f"{one.name} – cube", one.body, cube)
    floor = HalfSpace(0.0)
    made.checks["cube – floor"] = lambda state: max(0.0, float(floor.depths(cube(state).surface()).max()))
    pulls, forces = _cables(grip.cables, 0.030, 6.0)
    # the three mounts rise together: bases that are pulled apart would be another robot
    lift = Drive(grip.mounts, lambda z: Displacement((0.0, 0.0, z)), 0.0, 0.05)
    return made.finished("gripper", (*pulls, lift), (*forces, lift))


def _trunk(friction: float) -> SoakScene:
    # a tenth and six hundredths of the length are its working range
    made, robot = _Maker(friction), robots.trunk(max_displacement=(BEYOND * 0.0195, BEYOND * 0.0117))
    made.scene.add(robot)
    robot.collide(made.scene)
    made.check_self(robot.body)
    made.touch(robot.body, Ball((0.045, 0.01, 0.13), 0.02), "ball")
    made.touch(robot.body, Block(np.array((-0.06, 0.0, 0.12)), np.array((0.03, 0.1, 0.1))), "box")
    return made.finished("trunk", *_cables(robot.cables, 0.0195, 1.5), idle=0.6)


def _tower(friction: float) -> SoakScene:
    made, robot = _Maker(friction), robots.tower()
    made.scene.add(robot)
    robot.collide(made.scene, margin=robot.margin)
    made.check_self(robot.body)
    made.touch(robot.body, Block(np.array((0.045, 0.0, 0.07)), np.array((0.03, 0.06, 0.02))), "box")
    return made.finished("tower", *_cavities(robot.cavities, 6e3, 1.8))


def _bellows(friction: float) -> SoakScene:
    made, robot = _Maker(friction), robots.bellows(cells=(2, 4))
    made.scene.add(robot)
    robot.collide(made.scene, margin=robot.margin)
    made.check_self(robot.body)
    made.touch(robot.body, Ball((0.004, 0.0, 0.085), 0.02), "ball")
    return made.finished("bellows", *_cavities(robot.cavities, 20e3, 1.6))


def _pneunet(friction: float) -> SoakScene:
    made, robot = _Maker(friction), robots.pneunet(cell_size=0.005)
    made.scene.add(robot)
    robot.collide(made.scene)
    made.check_self(robot.body)
    made.touch(robot.body, HalfSpace(-0.02), "floor")
    return made.finished("pneunet", *_cavities(robot.cavities, 15e3, 1.6))


def _pneumatic_finger(friction: float) -> SoakScene:
    made, robot = _Maker(friction), robots.pneumatic_finger(chamber_count=3, cell_size=0.006)
    made.scene.add(robot)
    robot.collide(made.scene, margin=robot.margin)
    made.check_self(robot.body)
    made.touch(robot.body, Ball((0.045, -0.016, 0.0), 0.012), "ball")
    return made.finished("pneumatic finger", *_cavities(robot.cavities, 5e3, 1.8))


def _pneumatic_gripper(friction: float) -> SoakScene:
    made = _Maker(friction)
    grip = robots.pneumatic_gripper(chamber_count=4, cell_size=0.008)
    made.scene.add(grip)
    grip.collide(made.scene, each_other=True)
    ball = grip.ball.shape.solid
    for index, one in enumerate(grip.fingers):
        made.check_self(one.body)
        made.check(f"{one.name} – ball", one.body, lambda state: Ball(tuple(ball.center), float(ball.radius)))
        for other in grip.fingers[index + 1 :]:
            made.check_pair(one.body, other.body)
    return made.finished("pneumatic gripper", *_cavities(grip.cavities, 5e3, 1.8))


def _membrane(friction: float) -> SoakScene:
    made = _Maker(friction)
    sheet = robots.membrane(cells=(12, 1), side=4, layers=(1, 1, 1), clearance=0.0005)
    made.scene.add(sheet)
    sheet.collide(made.scene)
    for chamber in sheet.chambers:
        made.check_pair(sheet.sheet, chamber.body)
    made.touch(sheet.sheet, Ball((0.03, 0.02, 0.05), 0.02), "ball")
    return made.finished("membrane", *_cavities(sheet.cavities, 10e3, 2.5))


def _twister(friction: float) -> SoakScene:
    made, robot = _Maker(friction), robots.twister(cells=(1, 1, 12), side=3)
    made.scene.add(robot)
    made.touch(robot.body, HalfSpace(-0.02), "floor")
    made.touch(robot.body, Ball((0.02, 0.07, 0.0), 0.01), "ball")
    return made.finished("twister", *_cavities(robot.cavities, 20e3, 3.0))


def _spine(friction: float) -> SoakScene:
    made = _Maker(friction)
    robot = robots.spine(length=0.4, vertebra_count=15, rib_points=(3, 2), friction=friction)
    # tendons on all sides of a plastic backbone cannot be shortened at will: their motors end somewhere
    robot = replace(robot, cables=tuple(replace(cable, max_force=50.0) for cable in robot.cables))
    made.scene.add(robot)
    return made.finished("spine", *_cables(robot.cables, 0.03, 20.0), idle=0.5)


ZOO: dict[str, Callable[[float], SoakScene]] = {
    "finger": _finger,
    "gripper": _gripper,
    "trunk": _trunk,
    "tower": _tower,
    "bellows": _bellows,
    "pneunet": _pneunet,
    "pneumatic finger": _pneumatic_finger,
    "pneumatic gripper": _pneumatic_gripper,
    "membrane": _membrane,
    "twister": _twister,
    "spine": _spine,
}
"""Scene of each robot by name, with Coulomb's μ of its contacts. The blades of the spine are beams: they have no solid
that the checker could measure.
"""
