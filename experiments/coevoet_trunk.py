"""A trunk of eight cables on a moving platform: between two cylinders, against a moving one, and with a cut cable.

E. Coevoet, A. Escande, C. Duriez, "Optimization-based inverse model of soft robots with contact handling", IEEE RA-L
2017: section IV.B, figures 8 to 11 and the row "Trunk" of table 12. The paper gives the cables, the guide tubes as
stiff springs, the platform, 1665 DoFs and 76 contacts on average; sizes, material and the scenes are ours.

"Without contact" is the same inverse blind to the obstacles: what it finds in free space is commanded to the trunk
among them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.following import W_NOTE, Following, follow_point, times
from experiments.report import Report
from pliant.actuators.values import Cut
from pliant.control import Effector, Inverse, MovedSupport, paths
from pliant.core.types import FloatArray
from pliant.models.rigid import Obstacle
from pliant.models.volume import Support
from pliant.robots import Robot, trunk
from pliant.stepping import ImplicitEuler
from pliant.world import Scene, State, World

DT = 0.02
VERTEBRAE, GUIDE_STIFFNESS = 8, 100.0
"""Eight vertebrae make 556 nodes; the tubes of the cables have 100 N of EA, three times that of the core."""
MARGIN = 0.0137
"""How near to an obstacle a node counts as a contact, m."""
TIP = (0.0, 0.0, 0.195)
GATE, GATE_HEIGHT, CYLINDER, OPENING = 0.02, 0.218, 0.010, 0.017
"""Place of the gate along x and z, radius of its two cylinders, and the opening between them, m."""
HOLD = (0.01, 0.0, 0.185)
"""Target of the tip while an obstacle moves and a cable is cut, m."""
PUSH, PUSHED_FROM, PUSHED_TO = 0.022, 0.6, 2.6
"""Way of the moving obstacle, m, and the times of its beginning and end, s."""
PAPER = {"w_ms": 23.288, "qp_ms": 5.529, "w_qp_ms": 28.817, "contacts": 76, "dofs": 1665}


@dataclass(frozen=True, eq=False)
class Bench:
    """The compiled scene with its handles; `obstacles` are those that the trunk touches."""

    world: World
    trunk: Robot
    platform: MovedSupport
    tip: Effector
    obstacles: tuple[Obstacle, ...]

    @property
    def stepper(self) -> ImplicitEuler:
        """Brings the tip to its target by the cables and the platform."""
        return ImplicitEuler(DT, solver=Inverse([self.tip], [*self.trunk.cables, self.platform]))

    def follow(self, targets: FloatArray, *, start: State | None = None, first: Any = None) -> Following:
        """The tip follows `targets` (k, 3), m; `first` are further controls of the first step."""
        controls: list[Mapping[Any, Any]] = [{self.tip: target} for target in targets]
        controls[0] = {**controls[0], **(first or {})}
        return follow_point(self.world, self.stepper, controls, targets, self.trunk.tip.at, start=start)


def build(obstacles: Sequence[Obstacle] = ()) -> Bench:
    """The trunk upright on its platform among `obstacles`."""
    scene = Scene(gravity=(0.0, 0.0, -9.81))
    robot = scene.add(trunk(vertebra_count=VERTEBRAE, guide_stiffness=GUIDE_STIFFNESS, clamped=False))
    base = scene.add(Support(robot.body, robot.base))
    platform = MovedSupport(
        base, (0.0, 0.0, 1.0), min_displacement=-0.02, max_displacement=0.06, max_rate=0.2, name="platform"
    )
    for obstacle in obstacles:
        scene.collide(robot, scene.add(obstacle), margin=MARGIN)
    return Bench(scene.compile(), robot, platform, Effector(robot.tip, name="tip"), tuple(obstacles))


def _cylinder(x: float, z: float, radius: float, name: str, motion: Any = None) -> Obstacle:
    """A cylinder along y."""
    return Obstacle.cylinder(start=(x, -0.06, z), end=(x, 0.06, z), radius=radius, name=name, motion=motion)


def gate() -> list[Obstacle]:
    """Two fixed cylinders above and beside the tip."""
    aside = CYLINDER + 0.5 * OPENING
    places = {"inner": GATE - aside, "outer": GATE + aside}
    return [_cylinder(x, GATE_HEIGHT, CYLINDER, name) for name, x in places.items()]


def gate_targets(count: int) -> FloatArray:
    """To the gate, through it, and aside, so that the trunk leans on the outer cylinder, (count, 3) m."""
    return paths.through([TIP, (GATE, 0.0, 0.195), (GATE, 0.0, 0.24), (GATE + 0.02, 0.0, 0.24)], count=count)


def mover() -> Obstacle:
    """A cylinder that pushes the trunk from behind at half its height."""

    def motion(t: float) -> tuple[Any, Any]:
        fraction = min(max((t - PUSHED_FROM) / (PUSHED_TO - PUSHED_FROM), 0.0), 1.0)
        return (PUSH * fraction, 0.0, 0.0), (0.0, 0.0, 0.0)

    return _cylinder(-0.028, 0.12, 0.012, "mover", motion)


def hold_targets() -> FloatArray:
    """To the target `HOLD` before the obstacle comes, and there until the obstacle stops, (k, 3) m."""
    approach, all_steps = round(PUSHED_FROM / DT), round((PUSHED_TO + 0.4) / DT)
    return np.concatenate([paths.line(start=TIP, end=HOLD, count=approach), np.tile(HOLD, (all_steps - approach, 1))])


def follow_blind(bench: Bench, targets: FloatArray) -> Following:
    """The actuation that an inverse without obstacles finds, commanded to the trunk among them."""
    free = build()
    planned = free.follow(targets)
    twins: dict[Any, Any] = dict(zip(free.trunk.cables, bench.trunk.cables, strict=True))
    twins[free.platform.support] = bench.platform.support
    commands = [{twins[handle]: value for handle, value in given.items()} for given in planned.commands]
    return follow_point(bench.world, ImplicitEuler(DT), commands, targets, bench.trunk.tip.at)


def circle(count: int) -> Following:
    """Free of contact, the tip goes round a circle of 30 mm."""
    return build().follow(paths.circle(center=(0.0, 0.0, 0.18), radius=0.03, count=count))


def cut(bench: Bench, held: Following, count: int) -> Following:
    """From the end of `held` on, the cable with the largest tension is cut; the target of the tip stays."""
    pulls = held.info.actuation(bench.trunk.cables)[1]
    strongest = bench.trunk.cables[int(np.argmax(pulls))]
    return bench.follow(np.tile(HOLD, (count, 1)), start=held.state, first={strongest: Cut()})


def run(*, full: bool) -> Report:
    """All four scenes; `full` takes twice the steps through the gate and round the circle."""
    scale = 2 if full else 1
    gated, pushed = build(gate()), build([mover()])
    through, held = gated.follow(gate_targets(200 * scale)), pushed.follow(hold_targets())
    blind_gate = follow_blind(gated, gate_targets(200 * scale))
    blind_push = follow_blind(pushed, hold_targets())
    after = cut(pushed, held, 60)
    round_way = circle(150 * scale)
    pushing = slice(round(PUSHED_FROM / DT), None)
    metrics: dict[str, Any] = times(through, held, after) | {
        "dofs": gated.world.models[0].size,
        "final_error_mm": 1e3 * float(through.errors[-1]),
        "mean_error_mm": 1e3 * float(through.errors.mean()),
        "error_without_contact_mm": 1e3 * float(blind_gate.errors[-1]),
        "passed_between": passed_between(gated, through.state),
        "pushed_error_mm": 1e3 * float(held.errors[pushing].max()),
        "pushed_error_without_contact_mm": 1e3 * float(blind_push.errors[pushing].max()),
        "cut_error_mm": 1e3 * float(after.errors.max()),
        "recovered_error_mm": 1e3 * float(after.errors[-1]),
        "circle_mean_error_mm": 1e3 * float(round_way.errors.mean()),
        "max_penetration_mm": 1e3 * max(penetration(gated, through), penetration(pushed, held)),
    }
    notes = (
        "556 nodes of our parametric trunk instead of the paper's mesh of 555; sizes and scenes are ours",
        f"a contact is a surface node nearer than {1e3 * MARGIN:g} mm to an obstacle, touching or not",
        "times are medians over the gate, the moving obstacle and the cut, one linear solve a step, dt = 20 ms",
        "the paper's times are averages on an i7 at 3.6 GHz, C++",
        W_NOTE,
        "the paper measures no positions of this robot: its errors are ours alone",
    )
    return Report(
        title="Trunk of eight cables (Coevoet 2017, figures 8 to 11)",
        metrics=metrics,
        paper=PAPER,
        notes=notes,
        run=through.run,
        full=full,
    )


def passed_between(bench: Bench, state: State) -> bool:
    """Whether the tip is beyond the gate and the trunk stands between its cylinders."""
    points = state.points(bench.trunk.body)
    level = points[np.abs(points[:, 2] - GATE_HEIGHT) < 0.005]
    beyond = bool(bench.trunk.tip.at(state)[2] > GATE_HEIGHT)
    return beyond and len(level) > 0 and bool(np.abs(level[:, 0] - GATE).max() < CYLINDER + 0.5 * OPENING)


def penetration(bench: Bench, way: Following) -> float:
    """How deep a node of the trunk went into an obstacle at most, m."""
    deepest = 0.0
    for state in way.states:
        points = state.points(bench.trunk.body)
        for obstacle in bench.obstacles:
            pose, solid = obstacle.pose(state.time), obstacle.shape.solid
            local = (points - pose[0]) @ pose[1:]
            deepest = max(deepest, -float(solid.distance(local).gap.min()))
    return deepest
