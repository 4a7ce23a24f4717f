"""The pneumatic gripper of Fang et al. 2022: three fingers close on a ball, in a softer and a stiffer silicone.

G. Fang, Y. Tian, A. Weightman, C. C. L. Wang, Collision-aware fast simulation for soft robots by optimization-based
geometric computing, IROS 2022: figures 1 and 11. The paper shows that the softer silicone lies against a round obstacle
over a larger area, and names contact forces as what its method cannot predict; here they are the multipliers, in N.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from experiments.fang_parts import (
    DRAGON_SKIN,
    ECOFLEX,
    NEAR,
    SOFT_COLOR,
    SOLE,
    STIFF_COLOR,
    WEIGHTLESS,
    Inflation,
    at_pressure,
    body_surface,
    checks,
    inflate,
    obstacle_surface,
    pushing,
    touching_area,
)
from experiments.goury_pictures import new_figure
from experiments.report import Report
from pliant.core.types import FloatArray
from pliant.materials import Material
from pliant.robots import PneumaticGripper, pneumatic_gripper
from pliant.robots.scenes import robot_world
from pliant.viewer.picture import write_picture
from pliant.world import World

RATIOS, FULL_RATIOS = (1.33, 1.6, 1.8), (1.33, 1.6, 1.8, 2.0)
"""Volumes of the fingers' air over those at rest."""
CELL, FULL_CELL = 4e-3, 2e-3
"""Largest edges, m."""
OPENING = 0.0255
"""Distance of the soles from the axis, m: they begin half a millimetre off the ball."""
PAPER: dict[str, Any] = {}


def build(material: Material, *, cell: float, response: bool = True, **shape: Any) -> tuple[World, PneumaticGripper]:
    """A world with the gripper, whose fingers touch the ball, themselves and each other where `response` is on."""
    robot = pneumatic_gripper(opening=OPENING, cell_size=cell, material=material, sole_material=SOLE, **shape)
    return robot_world(robot, gravity=WEIGHTLESS, touches_itself=response, each_other=True), robot


def contact_area(robot: PneumaticGripper, state: Any) -> float:
    """Area of all fingers that lies against the ball, m²."""
    return sum(touching_area(state, one.body, robot.ball) for one in robot.fingers)


def grasp_forces(robot: PneumaticGripper, info: Any) -> FloatArray:
    """Sum of the contact forces of each finger with the ball, (k,) N."""
    return np.array([pushing(info, one.body, robot.ball) for one in robot.fingers])


def lift(robot: PneumaticGripper, info: Any) -> float:
    """Force with which the fingers push the ball up, into the palm, N."""
    return -float(sum(info.contact_force(one.body, robot.ball)[2] for one in robot.fingers))


def inside(robot: PneumaticGripper, state: Any) -> float:
    """How deep a node of a finger stands in the ball, m."""
    gaps = [robot.ball.shape.solid.distance(state.points(one.body)).gap.min() for one in robot.fingers]
    return max(0.0, -float(min(gaps)))


def run(*, full: bool, cell: float | None = None, ratios: Sequence[float] | None = None) -> Report:
    """Close both grippers on the ball, at equal volumes and at equal pressure, and one without response."""
    size = (FULL_CELL if full else CELL) if cell is None else cell
    steps = tuple((FULL_RATIOS if full else RATIOS) if ratios is None else ratios)
    begin = perf_counter()
    world, soft = build(ECOFLEX, cell=size)
    built = perf_counter() - begin
    softer = inflate(world, map(soft.controls, steps))
    stiff_world, stiff = build(DRAGON_SKIN, cell=size)
    stiffer = inflate(stiff_world, map(stiff.controls, steps))
    pressure = float(np.mean([softer.pressures(cavity)[-1] for cavity in soft.cavities]))
    ends_at = (steps[-1], float(stiffer.pressures(stiff.cavities[0])[-1]))
    alike = at_pressure(stiff_world, stiff.controls, stiff.cavities[0], pressure, ends_at)
    free_world, free = build(ECOFLEX, cell=size, response=False)
    passing = inflate(free_world, map(free.controls, steps[-1:]))
    ends = [(soft, softer), (stiff, stiffer), (stiff, alike)]
    area, stiffer_area, pressure_area = (1e6 * contact_area(robot, made.states[-1]) for robot, made in ends)
    forces = [grasp_forces(robot, made.infos[-1]) for robot, made in ends]
    metrics: dict[str, Any] = {
        **softer.table(),
        "mesh_s": built,
        "contact_force_N": float(forces[0].sum()),
        "stiffer_contact_force_N": float(forces[1].sum()),
        "finger_forces_apart_percent": 100.0 * float(np.ptp(forces[0]) / forces[0].mean()),
        "lift_N": lift(soft, softer.infos[-1]),
        "stiffer_lift_N": lift(stiff, stiffer.infos[-1]),
        "contact_area_mm2": area,
        "stiffer_contact_area_mm2": stiffer_area,
        "stiffer_contact_area_at_equal_pressure_mm2": pressure_area,
        "pressure_kPa": 1e-3 * pressure,
        "stiffer_pressure_kPa": 1e-3 * float(stiffer.pressures(stiff.cavities[0])[-1]),
        "max_penetration_mm": 1e3 * max(inside(robot, state) for robot, made in ends for state in made.states),
        "penetration_without_response_mm": 1e3 * inside(free, passing.states[-1]),
        **checks(softer, stiffer, alike, passing),
    }
    return Report(
        title="Pneumatic gripper that closes on a ball (Fang 2022, figures 1 and 11)",
        metrics=metrics,
        paper=PAPER,
        notes=_notes(steps),
        pictures=partial(_pictures, [(soft, softer), (stiff, stiffer), (free, passing)], (stiff, alike), steps),
        full=full,
    )


def _notes(ratios: Sequence[float]) -> tuple[str, ...]:
    return (
        f"air of every finger at {', '.join(f'{ratio:g}' for ratio in ratios)} times its volume; ball of 50 mm, which "
        "stands still; the paper gives no measures of its gripper, and its forces are not published",
        f"contact_area: surface nearer than {1e3 * NEAR:g} mm to the ball, the three fingers together",
        "with equal volumes both silicones take nearly the same shape, for a shape of given volumes depends on ratios "
        "of stiffness alone; so they are compared at the same pressure too: the paper does not say what it holds",
        "lift: what pushes the ball up between the fingers, without friction; a finger may then slide off sideways, to "
        "either side, and forces and areas differ by a few percent between these shapes",
        "times are medians over the steps, each from the one before; detection counts the assembly of all rows, "
        "response the problem of the contacts",
    )


def _pictures(
    made: list[tuple[PneumaticGripper, Inflation]],
    alike: tuple[PneumaticGripper, Inflation],
    ratios: Sequence[float],
    folder: Path,
) -> list[Path]:
    titles = (
        ("softer", "Ecoflex 00-30", SOFT_COLOR, made[0]),
        ("stiffer", "Dragon Skin 20 at the same pressure", STIFF_COLOR, alike),
        ("without-response", "Ecoflex 00-30 without response", SOFT_COLOR, made[2]),
    )
    paths = []
    for name, title, color, (robot, one) in titles:
        surfaces = [body_surface(one.states[-1:], finger.body, color=color) for finger in robot.fingers]
        paths.append(
            write_picture(
                folder / f"fang-gripper-{name}.png",
                surfaces=[obstacle_surface(robot.ball), *surfaces],
                frames=[-1],
                title=f"Gripper of {title}",
            )
        )
    return [*paths, _curves(made[:2], ratios, folder)]


def _curves(made: list[tuple[PneumaticGripper, Inflation]], ratios: Sequence[float], folder: Path) -> Path:
    """Contact force over volume, and contact area over pressure, of both silicones."""
    figure = new_figure(9.0, 3.6)
    left, right = figure.subplots(1, 2)
    names = (("Ecoflex 00-30", SOFT_COLOR), ("Dragon Skin 20", STIFF_COLOR))
    for (robot, one), (name, color) in zip(made, names, strict=True):
        force = [grasp_forces(robot, info).sum() for info in one.infos]
        area = [1e6 * contact_area(robot, state) for state in one.states]
        left.plot([1.0, *ratios], [0.0, *force], "o-", color=color, label=name)
        right.plot([0.0, *(1e-3 * one.pressures(robot.cavities[0]))], [0.0, *area], "o-", color=color, label=name)
    left.set(xlabel="volume of the air over that at rest", ylabel="contact force, three fingers (N)")
    right.set(xlabel="pressure (kPa)", ylabel="contact area (mm²)")
    for axes in (left, right):
        axes.legend()
    path = folder / "fang-gripper-curves.png"
    figure.savefig(path, dpi=150)
    return path
