"""The finger of Adagolodjo et al. with one rod in a channel, for the experiments on it.

Y. Adagolodjo, F. Renda, C. Duriez, "Coupling numerical deformable models in global and reduced coordinates for the
simulation of the direct and the inverse kinematics of soft robots", IEEE RA-L 2021. The paper gives the finger's 389
tetrahedra, the numbers of sections and of sliding points, and no sizes or materials: those are ours. Its finger has a
cable that runs out and back; the rod here runs out only, along the middle of the finger at the depth of that cable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.actuators import BaseDrive, Cable
from pliant.actuators.values import Displacement
from pliant.constraints.channel import Channel
from pliant.core.types import FloatArray
from pliant.materials import Corotated
from pliant.models.beam import Circle
from pliant.models.rod import Rod, RodModel, Slide
from pliant.models.rod.rod_map import RodMap
from pliant.models.volume import Rayleigh
from pliant.robots import Robot, finger
from pliant.stepping import ImplicitEuler, StepInfo
from pliant.world import Scene, State, World

DT = 0.02
"""Time step, s."""
BASE, PHALANX, PHALANX_COUNT, NOTCH, DEPTH = 0.016, 0.028, 3, 0.006, 0.0025
"""Lengths of the finger's base and of its phalanges, opening of its notches, and depth of the rod, m."""
OUTSIDE = 0.005
"""Length of the rod before the finger, m."""
SILICONE = Corotated(young=0.6e6, poisson=0.45, density=1080.0)
ROD_YOUNG, ROD_RADIUS = 2e9, 0.25e-3
"""Nylon, Pa, and its radius, m."""
ROD_DAMPING = 6e-7
"""EI times the Rayleigh coefficient of the rod, N·m²·s, whatever its stiffness."""
NOTES = (
    "sizes and materials are ours; the rod has one straight channel along the finger, at the depth of the cable of "
    "robots.finger, whose own cable runs out and back",
    f"linear tetrahedra with plain corotated forces as in the paper; rods of E = 2 GPa and radius 0.25 mm; one linear "
    f"solve a step, dt = {1e3 * DT:g} ms",
)


@dataclass(frozen=True, eq=False)
class RodFinger:
    """The finger with a rod, or with a geometric cable in its place; `drive` pulls either, m and N."""

    world: World
    robot: Robot
    rod: Rod | None
    drive: BaseDrive | Cable

    def curve(self, state: State, count: int = 101) -> FloatArray:
        """Places on the axis of the rod at even arc lengths from base to tip, (count, 3) m."""
        assert self.rod is not None
        number = self.world.index(self.rod)
        model = self.world.models[number]
        assert isinstance(model, RodModel)
        return RodMap.at(model, np.linspace(0.0, self.rod.lengths.sum(), count)).points(state.q[number])


def channel_points(in_base: int = 3, in_phalanx: int = 4) -> FloatArray:
    """Points of the channel (k, 3), m: so many in the base and in each phalanx, none in the notches between them; the
    last is the tip of the rod.
    """
    inset = 0.5 * NOTCH * (1.0 - DEPTH / 0.01) + 0.05 * PHALANX
    x = [np.linspace(0.1 * BASE, BASE - inset, in_base)]
    for number in range(PHALANX_COUNT):
        start = BASE + number * PHALANX
        x.append(np.linspace(start + inset, start + PHALANX - inset, in_phalanx))
    along = np.concatenate(x)
    return np.column_stack([along, np.zeros(len(along)), np.full(len(along), DEPTH)])


def damped_rod(
    length: float, sections: int, *, young: float = ROD_YOUNG, radius: float = ROD_RADIUS, **more: Any
) -> Rod:
    """A rod of `length` m whose damping in bending is `ROD_DAMPING`."""
    section = Circle(radius)
    damping = Rayleigh(stiffness=ROD_DAMPING / (young * section.second_moments[0]))
    return Rod(
        length, sections, section=section, young=young, poisson=0.3, density=1100.0, damping=damping, name="rod", **more
    )


def with_rod(sections: int, *, points: FloatArray | None = None, **rod: Any) -> RodFinger:
    """The finger with a rod of so many sections through `points` (k, 3) m; its base slides, and a pull is positive."""
    path = channel_points() if points is None else points
    scene, robot = Scene(), _finger()
    scene.add(robot.body)
    begin = (-OUTSIDE, 0.0, DEPTH)
    made = scene.add(damped_rod(path[-1, 0] + OUTSIDE, sections, position=begin, base=Slide((-1.0, 0.0, 0.0)), **rod))
    scene.add(Channel(robot.body, path, made))
    drive = scene.add(BaseDrive(made, min_force=0.0, name="pull"))
    return RodFinger(scene.compile(), robot, made, drive)


def with_cable(*, points: FloatArray | None = None) -> RodFinger:
    """The finger with a cable through `points` (k, 3) m, pulled from where the rod begins."""
    path = channel_points() if points is None else points
    scene, robot = Scene(), _finger()
    scene.add(robot.body)
    drive = scene.add(Cable(robot.body, path, pull_point=(-OUTSIDE, 0.0, DEPTH), name="pull"))
    return RodFinger(scene.compile(), robot, None, drive)


def pulled(
    bench: RodFinger, amount: float, *, kind: Any = Displacement, rising: int = 50, resting: int = 100
) -> tuple[State, StepInfo, list[float]]:
    """The state after `rising` steps of a growing pull and `resting` steps of the whole one, `kind(amount)`; the last
    report, and what each step took, ms.
    """
    state, stepper, times = bench.world.initial_state(), ImplicitEuler(DT), []
    for k in range(rising + resting):
        state, info = stepper(bench.world, state, {bench.drive: kind(amount * min(1.0, (k + 1) / rising))})
        times.append(1e3 * sum(info.stage_times.values()))
    return state, info, times


def _finger() -> Robot:
    return finger(
        base=BASE,
        phalanx=PHALANX,
        phalanx_count=PHALANX_COUNT,
        notch=NOTCH,
        cable_depth=DEPTH,
        material=SILICONE,
        anti_locking=False,
    )
