"""A finger whose phalanges press on each other: its self-contacts in a few modes, and its inverse in real time.

O. Goury, B. Carrez, C. Duriez, "Real-time simulation for control of soft robots with self-collisions using model order
reduction for contact forces", IEEE RA-L 6, 2021: section IV.A, figures 5 to 8. The paper gives 495 points against
triangles, 800 snapshots in steps of 0.05 mm of cable, and 5 modes; the finger's sizes and silicone are ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from experiments.goury_parts import Bench, Sizes, Timed, side_by_side, sizes
from experiments.goury_pictures import finger_pictures
from experiments.report import Report
from pliant.actuators.values import Displacement
from pliant.control import Effector, Inverse
from pliant.core.types import FloatArray
from pliant.reduction import ramps
from pliant.reduction.experiments import STEPPER
from pliant.robots import finger
from pliant.stepping import QuasiStatic
from pliant.world import State, World

POINTS = 495
PULL = 0.04
"""Cable pulled in the experiments, m."""
RANKS = (1, 2, 3, 4, 5, 7, 10, 14, 20)
TOLERANCE = 0.1
"""Held-out error of forces that decides the size of the basis."""
LENGTH = 0.1
"""Of the finger, m."""
PAPER = {"contacts": 495, "snapshots": 800, "modes": 5}


def build(points: int = POINTS, **options: Any) -> Bench:
    """The finger under gravity; see `finger` for the options."""
    return Bench.of(finger(contact_points=points, **options), (0.0, 0.0, -9.81))


def snapshots(bench: Bench, steps: int, folder: Any = None) -> FloatArray:
    """Contact forces (contacts, steps), N, of a ramp to `PULL`."""
    return bench.forces(bench.offline(ramps(bench.world, PULL, steps), STEPPER, folder=folder))


def pulled(bench: Bench, world: World, *, pull: float = PULL, steps: int = 45) -> list[State]:
    """The states of a ramp to `pull`, m, in other steps than those of the experiments."""
    state, states = world.initial_state(), []
    for k in range(steps):
        state, _ = STEPPER(world, state, {bench.robot.cable: Displacement(pull * (k + 1) / steps)})
        states.append(state)
    return states


def off(bench: Bench, states: list[State], wanted: list[State]) -> FloatArray:
    """Distance of the tip between two motions, (steps,), m."""
    tip = bench.robot.tip
    return np.array([np.linalg.norm(tip.at(a) - tip.at(b)) for a, b in zip(states, wanted, strict=True)])


@dataclass(frozen=True, eq=False)
class Inverses:
    """The inverse in modes, and one blind to contacts, along targets (k, 3), m. `apart` (k,), m: how far the tip is
    from where the full model has it under the same actuation; `errors` and `blind_errors` (k,), m: how far the full
    model's tip, so actuated, is from the targets. `seconds` (k,) are those of the inverse in modes.
    """

    apart: FloatArray
    errors: FloatArray
    blind_errors: FloatArray
    seconds: FloatArray


def targets(bench: Bench, states: list[State], count: int) -> FloatArray:
    """Targets (count, 3) m beside the path of the tip through contact: 1 mm off it, where no cable brings it."""
    path = np.array([bench.robot.tip.at(state) for state in states])
    places = np.linspace(0.55, 0.93, count, dtype=np.float64) * (len(path) - 1)
    on = np.column_stack([np.interp(places, np.arange(len(path)), path[:, axis]) for axis in range(3)])
    beside: FloatArray = on + np.array([0.0, 1e-3, 0.0])
    return beside


def inverses(bench: Bench, modes: FloatArray, way: FloatArray) -> Inverses:
    """Bring the tip along the targets `way` (k, 3), m, after an approach in a straight line; the actuation found is
    commanded to the full model beside it. An inverse with all contacts in full would take minutes a step: the pieces of
    its problem are as many as the ways in which 400 contacts can be open or closed.
    """
    start = bench.robot.tip.position
    goals = np.concatenate([start + np.linspace(0.02, 1.0, 50)[:, None] * (way[0] - start), way])
    found = []
    for world in (bench.few(modes), bench.without):
        tip, state, twin = Effector(bench.robot.tip), world.initial_state(), bench.world.initial_state()
        stepper = QuasiStatic(newton_iterations=1, solver=Inverse([tip], bench.robot.cables))
        places, twins, seconds = [], [], []
        for goal in goals:
            begin = perf_counter()
            state, info = stepper(world, state, {tip: goal})
            seconds.append(perf_counter() - begin)
            pull = float(info.actuation(bench.robot.cable)[0])
            twin, _ = QuasiStatic(newton_iterations=1)(bench.world, twin, {bench.robot.cable: Displacement(pull)})
            places.append(bench.robot.tip.at(state))
            twins.append(bench.robot.tip.at(twin))
        found.append(tuple(np.array(part)[-len(way) :] for part in (places, twins, seconds)))
    (few, few_twin, taken), (_, blind_twin, _) = found
    return Inverses(
        apart=np.linalg.norm(few - few_twin, axis=1),
        errors=np.linalg.norm(few_twin - way, axis=1),
        blind_errors=np.linalg.norm(blind_twin - way, axis=1),
        seconds=taken,
    )


def run(*, full: bool) -> Report:
    """Offline ramp, bases of several sizes, the direct motion and the inverse."""
    steps = 800 if full else 200
    bench = build()
    forces = snapshots(bench, steps)
    wanted = pulled(bench, bench.world)
    tried = sizes(bench, forces, RANKS, lambda world: float(off(bench, pulled(bench, world), wanted).max()))
    place = tried.chosen(TOLERANCE)
    modes = tried.bases[place].basis
    without = off(bench, pulled(bench, bench.without), wanted)
    controls = [{bench.robot.cable: Displacement(PULL * (1.0 - 0.1 * np.sin(0.2 * k) ** 2))} for k in range(40)]
    few = bench.few(modes)
    steady = QuasiStatic(newton_iterations=1)
    timed = [
        Timed(bench.world, steady, wanted[-1], controls),
        Timed(few, steady, pulled(bench, few)[-1], controls),
        Timed(bench.without, steady, pulled(bench, bench.without)[-1], controls),
    ]
    side_by_side(timed)
    found = inverses(bench, modes, targets(bench, wanted, 60 if full else 30))
    way = float(np.linalg.norm(bench.robot.tip.at(wanted[-1]) - bench.robot.tip.position))
    metrics: dict[str, Any] = {
        "contacts": bench.facing.count,
        "snapshots": steps,
        "modes": int(tried.ranks[place]),
        "held_out_force_error": float(tried.held_out[place]),
        "chosen_over_best_smaller": tried.rise(place),
        "largest_rise_of_error": tried.rise(),
        "tip_error_mm": 1e3 * float(tried.tip[place]),
        "tip_error_5_modes_mm": 1e3 * float(tried.tip[list(tried.ranks).index(5)]),
        "tip_error_without_contact_mm": 1e3 * float(without.max()),
        "tip_way_mm": 1e3 * way,
        "max_penetration_mm": 1e3 * float(timed[1].report.penetration),
        "max_penetration_without_contact_mm": 1e3 * overlap(bench, timed[2].state),
        "without_contact_steps_per_second": timed[2].rate,
        "full_steps_per_second": timed[0].rate,
        "steps_per_second": timed[1].rate,
        "speedup": timed[1].rate / timed[0].rate,
        "inverse_tip_error_mm": 1e3 * float(found.apart.max()),
        "inverse_tip_error_share": float(found.apart.max()) / LENGTH,
        "inverse_steps_per_second": float(1.0 / np.median(found.seconds)),
        "inverse_worst_step_ms": 1e3 * float(found.seconds.max()),
        "mean_error_mm": 1e3 * float(found.errors.mean()),
        "final_error_mm": 1e3 * float(found.errors[-1]),
        "final_error_without_contact_mm": 1e3 * float(found.blind_errors[-1]),
    }
    return Report(
        title="Finger with self-contact (Goury 2021, figures 5 to 8)",
        metrics=metrics,
        paper=PAPER,
        notes=_NOTES,
        pictures=partial(_pictures, bench, tried, place, float(without.max()), wanted[-1]),
        full=full,
    )


def overlap(bench: Bench, state: State) -> float:
    """How deep a contact point stands behind its triangles in `state`, m."""
    q = state.q[0]
    gaps = bench.facing.table.gaps(bench.facing.a.map.points(q), bench.facing.b.map.points(q)).gap
    return max(0.0, -float(gaps.min()))


def _pictures(
    bench: Bench, tried: Sizes, place: int, without: float, state: State, folder: Path
) -> list[Path]:  # fmt: skip
    return finger_pictures(folder, bench, tried, place, without, state, TOLERANCE)


_NOTES = (
    "the finger's sizes and silicone are ours; errors are against our own full contact with all 495 points",
    "tip_error is the largest over a ramp in other steps than those of the experiments",
    "inverse: one linear solve a step, the tip follows targets 1 mm beside its way through contact; its error is the "
    "distance from the full model's tip under the same actuation, as a fraction of the finger's length; without "
    "contact, an inverse blind to contacts, whose actuation is commanded to the full model",
    "recorded forces are the most even ones that push alike: 495 points on few elements are hyperstatic",
)
