"""A soft rod in a forked pipe, led into either branch by four cables and the motion of its base.

E. Coevoet, A. Escande, C. Duriez, "Optimization-based inverse model of soft robots with contact handling", IEEE RA-L
2017: section IV.A.2, figure 6 and the row "Rod" of table 12. The paper gives eleven frames (66 DoFs), five actuators
and 47 contacts on average; sizes and material are ours.

"Without contact" is the same inverse blind to the pipe: what it finds in free space is commanded to the rod in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.following import W_NOTE, Following, follow_point, times
from experiments.report import Report
from pliant.actuators import Cable
from pliant.control import Effector, Inverse, MovedSupport, paths
from pliant.core.types import FloatArray
from pliant.models.beam import Beam, BeamModel, Circle
from pliant.models.beam.beam_map import sampled
from pliant.models.rigid import Obstacle
from pliant.models.volume import Rayleigh, Support
from pliant.stepping import ImplicitEuler
from pliant.world import Scene, State, World

LENGTH, RADIUS, NODES = 0.2, 0.003, 11
BEGIN = 0.06
"""Where the tip begins, m past the entrance of the pipe."""
STRAIGHT, BRANCH, BORE, ANGLE = 0.10, 0.10, 0.006, np.radians(30.0)
DEPTH = 0.07
"""How far into a branch the tip is led, m."""
DT = 0.02  # s
SIDES = {"left": 1.0, "right": -1.0}
PAPER = {"w_ms": 0.757, "qp_ms": 3.136, "w_qp_ms": 3.893, "contacts": 47, "dofs": 66, "branches_entered": 2}


@dataclass(frozen=True, eq=False)
class Bench:
    """The compiled scene with its handles."""

    world: World
    rod: Beam
    pipe: Obstacle
    cables: tuple[Cable, ...]
    insertion: MovedSupport
    tip: Effector

    def inverse(self) -> Inverse:
        """Brings the tip to its target by all five actuators."""
        return Inverse([self.tip], [*self.cables, self.insertion])

    def place(self, state: State) -> FloatArray:
        """Where the tip is, (3,) m."""
        place: FloatArray = state.points(self.rod)[-1]
        return place


def fork(side: str) -> FloatArray:
    """Beginning and end of the centreline of a branch, (2, 3) m."""
    along = np.array([np.cos(ANGLE), SIDES[side] * np.sin(ANGLE), 0.0])
    start = np.array([STRAIGHT, 0.0, 0.0])
    return np.stack([start, start + BRANCH * along])


def build(*, contact: bool = True) -> Bench:
    """The rod with its tip in the pipe and its base outside; without `contact` the pipe is only looked at."""
    scene = Scene()
    stem = np.array([(0.0, 0.0, 0.0), (STRAIGHT, 0.0, 0.0)])
    pipe = scene.add(Obstacle.tubes([stem, *(fork(side) for side in SIDES)], radius=BORE, name="pipe"))
    points = np.linspace((BEGIN - LENGTH, 0.0, 0.0), (BEGIN, 0.0, 0.0), NODES)
    rod = scene.add(
        Beam(
            points,
            section=Circle(RADIUS),
            young=2e6,
            poisson=0.45,
            density=1100.0,
            damping=Rayleigh(stiffness=0.02),
            contact_points=8,
            name="rod",
        )
    )
    base = scene.add(Support(rod, [0], rotation=(0.0, 0.0, 0.0)))
    offsets = {"left": (0, 1, 0), "right": (0, -1, 0), "up": (0, 0, 1), "down": (0, 0, -1)}
    cables = [
        scene.add(Cable(rod, points + 0.8 * RADIUS * np.array(offset), name=name)) for name, offset in offsets.items()
    ]
    insertion = MovedSupport(
        base, (1.0, 0.0, 0.0), min_displacement=0.0, max_displacement=LENGTH, max_rate=0.25, name="insertion"
    )
    if contact:
        scene.collide(rod, pipe, margin=BORE - RADIUS)
    return Bench(scene.compile(), rod, pipe, tuple(cables), insertion, Effector(rod, points[-1], name="tip"))


def targets(side: str, count: int) -> FloatArray:
    """Targets along the centreline into a branch, (count, 3) m."""
    start, end = fork(side)
    return paths.through([(BEGIN, 0.0, 0.0), start, start + (DEPTH / BRANCH) * (end - start)], count=count)


def enter(bench: Bench, side: str, count: int) -> Following:
    """The tip follows the centreline into a branch."""
    stepper = ImplicitEuler(DT, solver=bench.inverse())
    way = targets(side, count)
    return follow_point(bench.world, stepper, [{bench.tip: target} for target in way], way, bench.place)


def enter_blind(bench: Bench, side: str, count: int) -> Following:
    """The actuation that an inverse without the pipe finds, commanded to the rod in the pipe."""
    free = build(contact=False)
    planned = enter(free, side, count)
    twins: dict[Any, Any] = dict(zip(free.cables, bench.cables, strict=True))
    twins[free.insertion.support] = bench.insertion.support
    commands = [{twins[handle]: value for handle, value in given.items()} for given in planned.commands]
    return follow_point(bench.world, ImplicitEuler(DT), commands, targets(side, count), bench.place)


def run(*, full: bool) -> Report:
    """Lead the tip into the left branch, then from the beginning into the right one."""
    count = 480 if full else 240
    bench = build()
    ways = {side: enter(bench, side, count) for side in SIDES}
    blind = {side: enter_blind(bench, side, count) for side in SIDES}
    last = {side: float(way.errors[-1]) for side, way in ways.items()}
    depth = {side: depth_in(side, bench.place(way.state)) for side, way in ways.items()}
    metrics: dict[str, Any] = times(*ways.values()) | {
        "dofs": bench.world.models[0].size,
        "branches_entered": sum(inside_branch(bench, side, way.state) for side, way in ways.items()),
        "final_error_mm": 1e3 * max(last.values()),
        "mean_error_mm": 1e3 * float(np.mean([way.errors.mean() for way in ways.values()])),
        "error_without_contact_mm": 1e3 * max(float(way.errors[-1]) for way in blind.values()),
        "max_penetration_mm": 1e3 * max(penetration(bench, way) for way in ways.values()),
    }
    for side in SIDES:
        metrics |= {f"{side}_error_mm": 1e3 * last[side], f"{side}_depth_mm": 1e3 * depth[side]}
    notes = (
        "sizes, material and the fork's angle (30°) are ours; the paper shows them in a figure only",
        "a contact is a ball of the rod nearer to the wall than the rod's clearance, touching or not",
        f"medians of {count} steps into each branch, one linear solve a step, dt = {1e3 * DT:g} ms",
        "the paper's times are averages on an i7 at 3.6 GHz, C++",
        W_NOTE,
    )
    return Report(
        title="Soft rod in a forked pipe (Coevoet 2017, figure 6)",
        metrics=metrics,
        paper=PAPER,
        notes=notes,
        run=ways["left"].run,
        full=full,
    )


def depth_in(side: str, tip: FloatArray) -> float:
    """How far `tip` (3,) m is along a branch, m."""
    start, end = fork(side)
    return float((tip - start) @ (end - start) / BRANCH)


def inside_branch(bench: Bench, side: str, state: State) -> bool:
    """Whether the tip is well inside a branch, with its whole section inside the bore."""
    tip = bench.place(state)
    solid: Any = bench.pipe.shape.solid
    clear = float(solid.distance(tip[None]).gap[0])
    return depth_in(side, tip) > 0.5 * DEPTH and clear > RADIUS - 1e-5


def penetration(bench: Bench, way: Following) -> float:
    """How deep a ball of the rod went into the wall at most, m."""
    solid: Any = bench.pipe.shape.solid
    model = bench.world.models[0]
    assert isinstance(model, BeamModel)
    balls = sampled(model, bench.rod.contact_points)
    gaps = [solid.distance(balls.points(state.q[0])).gap.min() - RADIUS for state in way.states]
    return max(0.0, -float(min(gaps)))
