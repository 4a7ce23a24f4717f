"""A manipulator with a compliant spine whose ribs press on each other: full contact beside a few contact modes.

O. Goury, B. Carrez, C. Duriez, "Real-time simulation for control of soft robots with self-collisions using model order
reduction for contact forces", IEEE RA-L 6, 2021: section IV.B, figures 10 to 12 and table II. The paper gives a length
of 80 cm, three sections of three tendons, 1290 and 4500 potential contacts and 12 × 120 snapshots; shape, stiffness and
forces are ours, the bending force such that ignoring contact costs what it costs in the paper.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from experiments.every_contact import GaussSeidel, with_every_contact
from experiments.goury_parts import DEPTH, Bench, Sizes, Timed, paces, side_by_side, sizes
from experiments.goury_pictures import Shape, manipulator_pictures
from experiments.report import Report
from pliant.actuators import Cable
from pliant.actuators.values import Force
from pliant.constraints import RowLaw
from pliant.core.types import FloatArray
from pliant.reduction import plackett_burman, validate, with_symmetric_forces
from pliant.reduction.symmetry import Symmetry
from pliant.robots import spine
from pliant.stepping import ImplicitEuler, QuasiStatic, StepInfo
from pliant.world import State, World

POINTS, FINE_POINTS = (5, 3), (10, 5)
"""Points on every blade: 1350 and 4500 potential contacts."""
BENT, BEND = (0, 3, 6), 7.5
"""Tendons that bend it fully, and their force, N."""
TRAINED = 14.0
"""Largest force of the experiments, N."""
DT, TRAINING_DT = 0.02, 0.1
STATIC = QuasiStatic(tolerance=1e-6)
RANKS = (1, 2, 3, 5, 8, 12, 17, 23, 30, 40)
TOLERANCE = 0.05
"""Held-out error of forces that decides the size of the basis."""
LOAD = 0.2
"""Tip load that measures the stiffness, N."""
WAVE = 1.0
"""Largest force of the tendons that wave the straight spine, N."""
FRESH, FRESH_SEED = 4, 2021
"""Poses that nothing was chosen on, and where they come from."""
PAPER = {
    "modes": 23, "snapshots": 1440, "straight_steps_per_second": 18, "full_steps_per_second": 0.2,
    "straight_reduced_steps_per_second": 18, "steps_per_second": 17, "speedup": 85, "tip_error_mm": 30,
    "tip_error_without_contact_mm": 280,
}  # fmt: skip


def build(rib_points: tuple[int, int] = POINTS, **options: Any) -> Bench:
    """The spine, with a tendon more that pulls its tip back along x; see `spine` for the options."""
    robot = spine(rib_points=rib_points, **options)
    tip = np.asarray(robot.tip.position)
    load = Cable(robot.body, [tip], pull_point=tip - (100.0, 0.0, 0.0), name="load")
    return Bench.of(robot, (0.0, 0.0, 0.0), load)


def pulls(bench: Bench, force: float, load: float = 0.0) -> dict[Any, Any]:
    """The tendons that bend it at `force`, the tip's at `load`, N."""
    more = {bench.world.thing("load"): Force(load)} if load else {}
    return {bench.robot.cables[k]: Force(force) for k in BENT} | more


def bent(bench: Bench, world: World, *, force: float = BEND, steps: int = 9) -> State:
    """The equilibrium with the tendons at `force`, N, in `steps` steps from rest."""
    return reached(world, pulls(bench, force), steps=steps)


def reached(world: World, forces: Mapping[Any, Force], *, steps: int = 9) -> State:
    """The equilibrium with actuators at `forces`, in `steps` steps from rest."""
    state = world.initial_state()
    for number in range(1, steps + 1):
        state, _ = STATIC(world, state, {one: Force(force.value * number / steps) for one, force in forces.items()})
    return state


def snapshots(bench: Bench, steps: int, folder: Any = None) -> FloatArray:
    """Contact forces (contacts, 12 × steps × 3), N, of a Plackett–Burman plan and of its two copies, turned by 120°."""
    plan = plackett_burman(bench.world, TRAINED, steps, actuators=bench.robot.cables, kind=Force)
    found = bench.offline(plan, ImplicitEuler(TRAINING_DT), spread=False, folder=folder)
    forces = bench.forces(found)
    blades = len(np.unique(bench.facing.table.group))
    ribs = np.arange(len(forces)).reshape(-1, 3, len(forces) // blades)
    tendons = np.arange(9).reshape(3, 3)
    turns = [
        Symmetry(actuators=np.roll(tendons, -k, axis=1).ravel(), points=np.roll(ribs, -k, axis=1).ravel())
        for k in (1, 2)
    ]
    return with_symmetric_forces(forces, turns)


@dataclass(frozen=True)
class Rates:
    """Steps per second, straight, waving and bent, of every model; the reference counts its sweeps."""

    straight: float
    straight_without: float
    straight_reduced: float
    waving: float
    waving_without: float
    waving_reduced: float
    wave: float
    bent_without: float
    full: float
    reduced: float
    published: float
    sweeps: int
    rows: int
    reduced_rows: int
    penetration: float
    unknown: int


def rates(bench: Bench, modes: FloatArray, *, steps: int, reference_steps: int) -> Rates:
    """Table II: `steps` steps each, the bent ones while the tendons give and take a twentieth of their force, and more
    near straight, still and while it waves as far as `WAVE` takes it.
    """
    world, few, without = bench.world, bench.few(modes), bench.without
    everywhere = with_every_contact(world)
    stepper, reference = ImplicitEuler(DT), ImplicitEuler(DT, solver=GaussSeidel())

    def about(force: float, count: int) -> list[Any]:
        return [pulls(bench, force * (1.0 + 0.05 * np.sin(0.3 * k))) for k in range(count)]

    wave = [pulls(bench, 0.5 * WAVE * (1.0 - np.cos(0.1 * k))) for k in range(4 * steps)]
    every = (world, without, few)
    still = about(0.2, 2 * steps)
    curled = [Timed(one, stepper, bent(bench, one), about(BEND, steps)) for one in every]
    start = replace(curled[0].state, world=everywhere)
    published = Timed(everywhere, reference, start, about(BEND, reference_steps))
    straight, _ = paces(lambda: [Timed(one, stepper, _settled(stepper, one), still) for one in every])
    waving, waved = paces(lambda: [Timed(one, stepper, _settled(stepper, one), wave) for one in every])
    side_by_side(curled)
    side_by_side([published])
    full, reduced = curled[0].report, curled[2].report
    return Rates(
        straight=straight[0],
        straight_without=straight[1],
        straight_reduced=straight[2],
        waving=waving[0],
        waving_without=waving[1],
        waving_reduced=waving[2],
        wave=float(np.ptp([bench.robot.tip.at(state) for state in waved[2].states], axis=0).max()),
        bent_without=curled[1].rate,
        full=curled[0].rate,
        reduced=curled[2].rate,
        published=published.rate,
        sweeps=int(published.report.inverse),
        rows=row_count(full),
        reduced_rows=row_count(reduced),
        penetration=reduced.penetration,
        unknown=reduced.unknown_contacts,
    )


def _settled(stepper: ImplicitEuler, world: World) -> State:
    """The state at rest after a step: what is made once has been made."""
    return stepper(world, world.initial_state())[0]


def row_count(info: StepInfo) -> int:
    """Rows of contacts in a step."""
    assert info.assembly is not None
    return int((info.assembly.rows.law == RowLaw.SIGNORINI).sum())


@dataclass(frozen=True, eq=False)
class Bending:
    """Figure 11 as curves over the tendons' force (k,), N: the tip (k, 3), m, with and without contact, and the
    stiffness (k,), N/m, against a load that pulls the tip back along x.
    """

    force: FloatArray
    tip: FloatArray
    tip_without: FloatArray
    stiffness: FloatArray
    stiffness_without: FloatArray


def bending(bench: Bench, forces: FloatArray) -> Bending:
    """Equilibria at `forces` (k,), ascending, N, and how far the tip moves under `LOAD` in each of them."""
    curves = []
    for world in (bench.world, bench.without):
        state, tips, stiffness = world.initial_state(), [], []
        for force in forces:
            state, _ = STATIC(world, state, pulls(bench, float(force)))
            loaded, _ = STATIC(world, state, pulls(bench, float(force), LOAD))
            tips.append(bench.robot.tip.at(state))
            stiffness.append(LOAD / (tips[-1] - bench.robot.tip.at(loaded))[0])
        curves.append((np.array(tips), np.array(stiffness)))
    return Bending(forces, curves[0][0], curves[1][0], curves[0][1], curves[1][1])


def towards(angles: FloatArray, forces: FloatArray) -> FloatArray:
    """Forces of all tendons (k, 9), N, that bend the sections to `angles` (k, 3), rad about x from +y, with `forces`
    (k, 3), N, in the tendon nearest to each.
    """
    shares = np.maximum(np.cos(angles[:, :, None] - 2.0 * np.pi * np.arange(3) / 3.0), 0.0)
    pulled: FloatArray = forces[:, :, None] * shares / shares.max(axis=2, keepdims=True)
    return pulled.reshape(len(angles), -1)


def aside(force: float = 9.0) -> FloatArray:
    """Forces (3, tendons), N, that bend it to three sides between its ribs, which no experiment does."""
    angles = np.radians([20.0, 75.0, 200.0])
    return towards(np.repeat(angles[:, None], 3, axis=1), np.full((3, 3), force))


def fresh() -> FloatArray:
    """Forces (FRESH, tendons), N, drawn by chance: each section is bent to a side and with a force of its own."""
    rng = np.random.default_rng(FRESH_SEED)
    angles = rng.uniform(0.0, 2.0 * np.pi, (FRESH, 1)) + rng.uniform(-0.7, 0.7, (FRESH, 3))
    return towards(angles, rng.uniform(5.0, 10.0, (FRESH, 3)))


def pose_errors(bench: Bench, worlds: Sequence[World], poses: FloatArray) -> FloatArray:
    """Distances (worlds, k), m, of the tip from that of full contact in each of `worlds`, for `poses` (k, 9), N."""
    errors: FloatArray = np.empty((len(worlds), len(poses)))
    for number, forces in enumerate(poses):
        pulled = {tendon: Force(float(force)) for tendon, force in zip(bench.robot.cables, forces, strict=True)}
        full, *tips = (bench.robot.tip.at(reached(world, pulled)) for world in (bench.world, *worlds))
        errors[:, number] = np.linalg.norm(np.array(tips) - full, axis=1)
    return errors


def off(bench: Bench, world: World, tip: FloatArray) -> float:
    """Distance of the fully bent tip in `world` from `tip` (3,), m."""
    return float(np.linalg.norm(bench.robot.tip.at(bent(bench, world)) - tip))


def run(*, full: bool) -> Report:
    """Offline experiments, bases of several sizes, table II for 1350 and 4500 contacts, and the bending curves."""
    steps = 120 if full else 60
    bench, fine = build(), build(FINE_POINTS)
    forces = snapshots(bench, steps)
    tip = bench.robot.tip.at(bent(bench, bench.world))
    tried = sizes(bench, forces, RANKS, lambda world: off(bench, world, tip))
    place = tried.chosen(TOLERANCE)
    modes = tried.bases[place].basis
    table = rates(bench, modes, steps=40, reference_steps=6 if full else 3)
    fine_tip = fine.robot.tip.at(bent(fine, fine.world))
    fine_tried = sizes(fine, snapshots(fine, steps), [23], lambda world: off(fine, world, fine_tip))
    fine_table = rates(fine, fine_tried.bases[0].basis, steps=20, reference_steps=2)
    curves = bending(bench, np.linspace(1.0, BEND, 14, dtype=np.float64))
    other = replace(
        plackett_burman(bench.world, TRAINED, 60, actuators=bench.robot.cables, kind=Force), targets=aside()
    )
    judged = validate(bench.few(modes), bench.world, other, stepper=ImplicitEuler(TRAINING_DT))
    published_size = list(tried.ranks).index(PAPER["modes"])
    several = [bench.few(modes), bench.few(tried.bases[published_size].basis), bench.without]
    unseen, unseen_published_size, unseen_without = pose_errors(bench, several, fresh())
    bent_without = float(np.linalg.norm(curves.tip_without[-1] - curves.tip[-1]))
    metrics: dict[str, Any] = {
        "snapshots": 12 * steps,
        "contacts": fine.facing.count,
        "small_contacts": bench.facing.count,
        "modes": int(tried.ranks[place]),
        "held_out_force_error": float(tried.held_out[place]),
        "chosen_over_best_smaller": tried.rise(place),
        "largest_rise_of_error": tried.rise(),
        "tip_error_mm": 1e3 * float(tried.tip[place]),
        "tip_error_23_modes_mm": 1e3 * float(tried.tip[published_size]),
        "tip_error_without_contact_mm": 1e3 * bent_without,
        "fresh_poses": FRESH,
        "fresh_tip_error_mm": 1e3 * float(unseen.max()),
        "fresh_median_tip_error_mm": 1e3 * float(np.median(unseen)),
        "fresh_tip_error_23_modes_mm": 1e3 * float(unseen_published_size.max()),
        "fresh_tip_error_without_contact_mm": 1e3 * float(unseen_without.max()),
        "held_out_motion_error": judged.error,
        "held_out_worst_error_mm": 1e3 * float(judged.motion_error.max()),
        **_rates("small_", table),
        "stiffness_N_per_m": float(curves.stiffness[-1]),
        "stiffness_without_contact_N_per_m": float(curves.stiffness_without[-1]),
        "fine_modes": int(fine_tried.ranks[0]),
        "fine_tip_error_mm": 1e3 * float(fine_tried.tip[0]),
        **_rates("", fine_table),
    }
    return Report(
        title="Manipulator with a compliant spine (Goury 2021, figures 10 to 12 and table II)",
        metrics=metrics,
        paper=PAPER,
        notes=_NOTES,
        pictures=partial(_pictures, bench, tried, place, curves),
        full=full,
    )


def _rates(prefix: str, table: Rates) -> dict[str, Any]:
    own = {
        "straight_without_contact_steps_per_second": table.straight_without,
        "straight_steps_per_second": table.straight,
        "straight_reduced_steps_per_second": table.straight_reduced,
        "straight_over_without_contact": table.straight_reduced / table.straight_without,
        "waving_without_contact_steps_per_second": table.waving_without,
        "waving_steps_per_second": table.waving,
        "waving_reduced_steps_per_second": table.waving_reduced,
        "waving_over_without_contact": table.waving_reduced / table.waving_without,
        "waving_tip_motion_mm": 1e3 * table.wave,
        "bent_without_contact_steps_per_second": table.bent_without,
        "full_steps_per_second": table.full,
        "published_procedure_steps_per_second": table.published,
        "steps_per_second": table.reduced,
        "speedup": table.reduced / table.published,
        "speedup_over_own_full": table.reduced / table.full,
        "rows": table.rows,
        "reduced_rows": table.reduced_rows,
        "unknown_contacts": table.unknown,
        "published_procedure_sweeps": table.sweeps,
        "max_penetration_mm": 1e3 * table.penetration,
    }
    return {prefix + name: value for name, value in own.items()}


def _pictures(bench: Bench, tried: Sizes, place: int, curves: Bending, folder: Path) -> list[Path]:
    shapes = [
        Shape(label, bent(bench, world).points(bench.robot.body), np.asarray(bench.robot.body.element_nodes))
        for label, world in (("without contact", bench.without), ("with contact", bench.world))
    ]
    state = bent(bench, bench.world)
    return manipulator_pictures(folder, bench, tried, place, curves, shapes, state, TOLERANCE)


_NOTES = (
    "the size of the basis and its errors are those of 1350 contacts, small_* their rates; other rates are of 4500, as "
    "in table II",
    "shape, stiffness and forces are ours; the bending force is such that ignoring contact costs about what it does in "
    "the paper",
    "speedup is over the published procedure on this machine (all columns of W, projected Gauss–Seidel to 1e-4 from "
    "the last forces), speedup_over_own_full over our full contact, which has rows for near points and pivots",
    f"rates are medians of steps of {1e3 * DT:g} ms, one linear solve each, on one thread; straight and waving they "
    "are means of the shortest of five times of each step, so that steps that look at the ribs again count too",
    f"fresh_* are {FRESH} poses drawn with the seed {FRESH_SEED}, each section bent to a side and by a force of its "
    "own; no setting was chosen on them, and the largest error of all counts",
    "snapshots are of dynamic steps of 0.1 s, their copies turned by 120 and 240 degrees stand beside them; the bent "
    "pose and those of held_out_*, bent to three sides between the ribs, are in none of them",
    f"a point that no mode touches may be {1e2 * DEPTH:g} % of the margin deep where modes hold its rib",
)
