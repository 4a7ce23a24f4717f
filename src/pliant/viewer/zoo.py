"""What `pliant view` can show by name: robots in small scenes, rods, pneumatic shapes, and hybrid systems."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any

import numpy as np

from pliant import robots
from pliant.core.checkout import checkout_package
from pliant.core.errors import InputError
from pliant.materials import Corotated
from pliant.mesh import box, regions
from pliant.models.beam import Circle, Tube
from pliant.models.rigid import Obstacle
from pliant.models.rod import Rod
from pliant.models.volume import Rayleigh, Support, Volume
from pliant.robots import Robot
from pliant.robots.scenes import DOWN, robot_world
from pliant.viewer.subject import AUTOMATIC, SLIDERS, TARGET, Subject
from pliant.viewer.world_subject import WorldSubject
from pliant.world import Scene


@dataclass(frozen=True, eq=False)
class Entry:
    """A name in the picker.

    `pose` is what a picture of it shows: a way to drive, values of sliders by the beginning of their label, how far the
    target stands from the tip (3,) m, and the simulated time in s, where there is time.
    """

    name: str
    about: str
    build: Callable[[str, str], Subject]
    mode: str = SLIDERS
    pose: Mapping[str, float] = field(default_factory=dict)
    target: tuple[float, float, float] = (0.0, 0.0, 0.0)
    seconds: float = 2.0

    def made(self) -> Subject:
        """The subject, ready to be shown."""
        return self.build(self.name, self.about)


def entry(name: str) -> Entry:
    """The entry called `name`; underscores and spaces are as good as hyphens."""
    wanted = name.strip().lower().replace("_", "-").replace(" ", "-")
    entries = {entry.name: entry for entry in ZOO}
    if wanted not in entries:
        raise InputError(f"there is no robot {name!r} and no such file; the robots are {', '.join(entries)}")
    return entries[wanted]


def catalogue() -> dict[str, Callable[[], Subject]]:
    """Builders by name, as the picker has them."""
    return {entry.name: entry.made for entry in ZOO}


def _robot(
    make: Callable[[], Robot], *, obstacle: Obstacle | None = None, touches_itself: bool = False,
    gravity: Any = DOWN, geometric: bool = False, pressure: tuple[float, float] | None = None, usual_step: float = 0.01,
) -> Callable[[str, str], Subject]:  # fmt: skip
    """A builder of a scene with one robot, and an obstacle that it may touch. Its chambers bear a `pressure` (Pa) of
    this range: beyond it they would bulge at one place and burst.
    """

    def build(name: str, about: str) -> WorldSubject:
        robot = make()
        if pressure is not None:
            low, high = pressure
            chambers = (replace(cavity, min_pressure=low, max_pressure=high) for cavity in robot.cavities)
            robot = replace(robot, cavities=tuple(chambers))
        obstacles = () if obstacle is None else (obstacle,)
        world = robot_world(robot, *obstacles, gravity=gravity, touches_itself=touches_itself)
        actuators = (*robot.cables, *robot.cavities)
        return WorldSubject(
            world, name=name, about=about, tip=robot.tip, actuators=actuators, geometric=geometric,
            usual_step=usual_step,
        )  # fmt: skip

    return build


def _gripper(name: str, about: str) -> WorldSubject:
    grip = robots.gripper()
    return WorldSubject(robot_world(grip, touches_itself=True), name=name, about=about, lifted=grip.mounts)


def _chambers(make: Callable[[], Any]) -> Callable[[str, str], Subject]:
    """A builder of a geometric robot of several bodies that knows what of it may touch."""

    def build(name: str, about: str) -> WorldSubject:
        robot = make()
        world = robot_world(robot, gravity=(0.0, 0.0, 0.0), touches_itself=True)
        tip = getattr(robot, "tip", None)
        return WorldSubject(world, name=name, about=about, tip=tip, actuators=robot.cavities, geometric=True)

    return build


def _tubes(name: str, about: str) -> WorldSubject:
    """Two pre-bent tubes of nitinol in each other."""
    from pliant.constraints.sheath import Sheath

    piece, scene, rods = 0.005, Scene(), []
    for label, section, curvature, start, straight, bent in (
        ("outer tube", Tube(1.6e-3, 1.3e-3), 6.0, 0.0, 0.0, 0.06),
        ("inner tube", Circle(1.2e-3), 14.0, -0.05, 0.05, 0.09),
    ):
        rest = np.zeros((round((straight + bent) / piece), 6))
        rest[round(straight / piece) :, 2] = curvature
        rod = Rod(
            straight + bent, len(rest), section=section, rest_strain=rest, start_strain=np.zeros(6), young=60e9,
            poisson=0.3, density=6500.0, position=(start, 0.0, 0.0), damping=Rayleigh(stiffness=0.05), name=label,
        )  # fmt: skip
        rods.append(scene.add(rod))
        scene.add(Support(rod, [0], rotation=(0.0, 0.0, 0.0)))
    count = rods[0].sections
    scene.add(Sheath(rods[0], rods[1], places=np.linspace(0.0, count * piece, count + 1)))
    return WorldSubject(scene.compile(), name=name, about=about)


def _needle(name: str, about: str) -> WorldSubject:
    """A needle before a block of soft tissue with a wavy channel."""
    from pliant.constraints.channel import Channel

    scene, damping = Scene(), Rayleigh(stiffness=0.02)
    soft = Corotated(young=60e3, poisson=0.4, density=1000.0)
    block = box((0.1, 0.03, 0.03), (10, 3, 3))
    tissue = scene.add(Volume(block, soft, clamp=regions.plane(axis="z", at=0.0), damping=damping, name="tissue"))
    needle = scene.add(
        Rod(
            0.1, 20, section=Circle(0.4e-3), young=20e9, poisson=0.3, density=7800.0, position=(-0.1, 0.015, 0.015),
            damping=damping, name="needle",
        )
    )  # fmt: skip
    scene.add(Support(needle, [0], rotation=(0.0, 0.0, 0.0)))
    x = np.linspace(0.004, 0.092, 16)
    wave = np.column_stack([x, np.full(16, 0.015), 0.015 + 0.5e-3 * (1.0 - np.cos(2.0 * np.pi * x / 0.06))])
    scene.add(Channel(tissue, wave, needle, fixed_end=False, friction=0.1))
    return WorldSubject(scene.compile(), name=name, about=about)


def _hybrid(name: str, about: str) -> Subject:
    """A system of Bortoff 2020, drawn and driven by `experiments/bortoff_studio.py` of the source checkout."""
    checkout_package("experiments", command=f"pliant view {name}")
    made: Subject = import_module("experiments.bortoff_studio").SUBJECTS[name]()
    made.name, made.about = name, about
    return made


def _ball(center: Any, radius: float) -> Obstacle:
    return Obstacle.sphere(center=center, radius=radius, name="ball")


ZOO: tuple[Entry, ...] = (
    Entry(
        "finger", "one cable curls it; drag the ball into its way",
        _robot(robots.finger, obstacle=_ball((0.075, 0.0, -0.045), 0.014), touches_itself=True),
        pose={"finger cable": 20.0}, seconds=1.5,
    ),
    Entry(
        "gripper", "three fingers, a cube and a floor: pull the cables, then lift",
        _gripper, pose={"gripper": 16.0, "lift": 25.0}, seconds=2.0,
    ),
    Entry(
        "trunk", "eight cables; drag the target and the inverse finds their pull",
        _robot(robots.trunk, obstacle=_ball((0.05, 0.03, 0.13), 0.02)),
        mode=TARGET, target=(0.06, -0.045, -0.045), seconds=2.0,
    ),
    Entry(
        "tower", "four chambers tip it towards +x, −x, +y and −y",
        _robot(robots.tower, touches_itself=True, pressure=(0.0, 15e3)),
        pose={"tower chamber 0": 6.0, "tower chamber 2": 9.0},
    ),
    Entry(
        "pneunet", "a row of linked chambers over a stiff sole, meshed by Gmsh",
        _robot(lambda: robots.pneunet(cell_size=0.005), pressure=(0.0, 40e3), usual_step=0.02),
        pose={"pneunet air": 40.0},
    ),
    Entry(
        "bellows", "air makes it longer, suction shorter",
        _robot(robots.bellows, pressure=(-2e3, 5e3), usual_step=0.02), pose={"bellows air": 5.0},
    ),
    Entry(
        "spine", "thirty vertebrae, nine tendons, 1350 contact points between the ribs",
        _robot(robots.spine, gravity=(0.0, 0.0, 0.0), usual_step=0.02),
        pose={"spine tendon 1a": 20.0, "spine tendon 2a": 25.0, "spine tendon 3b": 30.0},
    ),
    Entry(
        "pneumatic-finger", "geometric: the shape at a volume of its chamber, without time",
        _robot(
            lambda: robots.pneumatic_finger(cell_size=4e-3), touches_itself=True, gravity=(0.0,) * 3, geometric=True
        ),
        pose={"pneumatic finger air": 1.7},
    ),
    Entry(
        "twister", "geometric: a helical chamber winds it up",
        _robot(lambda: robots.twister(cells=(1, 1, 24), side=3), gravity=(0.0, 0.0, 0.0), geometric=True),
        pose={"twister air": 3.0},
    ),
    Entry(
        "membrane", "geometric: four round chambers push a sheet into a shape",
        _chambers(lambda: robots.membrane(cells=(20, 1), side=6, layers=(1, 1, 1))),
        pose={"membrane chamber 0": 2.5, "membrane chamber 3": 1.6},
    ),
    Entry(
        "pneumatic-gripper", "geometric: three fingers close on a ball when their air grows",
        _chambers(lambda: robots.pneumatic_gripper(cell_size=5e-3)), pose={"pneumatic gripper": 1.6},
    ),
    Entry(
        "tubes", "two pre-bent tubes in each other: push and turn them at their bases", _tubes,
        pose={"support of inner tube push": 30.0},
    ),
    Entry("needle", "push a needle along a channel in soft tissue", _needle, pose={"support of needle push": 30.0}),
    Entry("ball", "hybrid: one contact, switched by events", _hybrid, seconds=0.4),
    Entry(
        "maze", "hybrid: turn the rings until the ball falls through their gates; “automatic” is Bortoff's controller",
        _hybrid, mode=AUTOMATIC, seconds=17.0,
    ),
    Entry(
        "delta", "hybrid: three arms closed by constraints; push the brick with the finger",
        _hybrid, mode=TARGET, target=(0.03, 0.0, 0.0), seconds=1.0,
    ),
    Entry("cubes", "hybrid: 24 vertices, each with its own state machine", _hybrid, mode=AUTOMATIC,
          seconds=0.5),
)  # fmt: skip
"""All of them, in the order of the picker; robots of `pl.robots` that are not written here follow, as they are."""


def _rest() -> tuple[Entry, ...]:
    """Robots of `pl.robots` without an entry of their own."""
    known = {entry.name for entry in ZOO}
    names = [name for name in robots.__all__ if name.islower() and name.replace("_", "-") not in known]
    return tuple(
        Entry(name.replace("_", "-"), "with its default options", _robot(getattr(robots, name))) for name in names
    )


ZOO = (*ZOO, *_rest())
