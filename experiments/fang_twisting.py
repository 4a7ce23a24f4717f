"""The twisting robot of Fang et al. 2022: a rod with a helical chamber that winds itself up, alone and at a cylinder.

G. Fang, Y. Tian, A. Weightman, C. C. L. Wang, Collision-aware fast simulation for soft robots by optimization-based
geometric computing, IROS 2022: section IV.A, figures 7, 8 and 11, table I (28 198 tetrahedra; α = 5, 28 and 115).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
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
    STIFF_COLOR,
    UPRIGHT,
    at_pressure,
    body_surface,
    checks,
    inflate,
    obstacle_surface,
    pushing,
    touching_area,
    volumes,
)
from experiments.goury_pictures import new_figure
from experiments.report import Report
from pliant.core.types import FloatArray
from pliant.materials import Material
from pliant.mesh.elements import ElementName
from pliant.models.rigid import Obstacle
from pliant.robots import Robot, twister
from pliant.robots.twister import LENGTH, RADIUS
from pliant.viewer.picture import write_picture
from pliant.world import Scene, World

RATIOS, FAR = (2.0, 3.0, 5.0, 7.0), (2.0, 3.0, 5.0, 7.0, 10.0, 14.0, 20.0, 28.0, 40.0, 57.0, 80.0, 115.0)
"""Volumes of the chamber over that at rest: at the cylinder, and of the rod alone."""
SOFT, STIFF = replace(ECOFLEX, poisson=0.499), replace(DRAGON_SKIN, poisson=0.499)
"""The silicones of the paper, which keep their volume at any stretch."""
PAPER = {
    "tetrahedra": 28198,
    "mesh_s": 2.81,
    "detection_s": 0.03,
    "response_s": 1.71,
    "solve_s": 3.54,
    "step_s": 8.09,
    "reached_ratio": 115.0,
}


@dataclass(frozen=True)
class Size:
    """Cells of the rod, as `pl.robots.twister` takes them."""

    cells: tuple[int, int, int] = (2, 2, 36)
    side: int = 3
    element: ElementName = "hex8"


SMALL, FULL = Size(), Size((2, 2, 48), 5)


def cylinder() -> Obstacle:
    """The cylinder ⌀48 × 30 mm, its axis along x, 0.1 mm beside the rod where that bends most."""
    x, y, z = 0.0, 0.055, RADIUS + 0.024 + 1e-4
    return Obstacle.cylinder(start=(x - 0.015, y, z), end=(x + 0.015, y, z), radius=0.024)


def build(
    material: Material, size: Size, *, obstacle: Obstacle | None = None, response: bool = True
) -> tuple[World, Robot]:
    """A world with the rod, which touches itself and the obstacle where `response` is on."""
    robot = twister(cells=size.cells, side=size.side, material=material, element=size.element)
    scene = Scene()
    scene.add(robot)
    if obstacle is not None:
        scene.add(obstacle)
    if response:
        scene.collide(robot, robot)
        if obstacle is not None:
            scene.collide(robot.body, obstacle, margin=0.002)
    return scene.compile(), robot


def axis(robot: Robot, state: Any) -> FloatArray:
    """Middles of the rod's sections along it, (k, 3) m."""
    rest, points = robot.body.mesh.points, state.points(robot)
    heights = np.unique(np.round(rest[:, 1], 9))
    rim = np.hypot(rest[:, 0], rest[:, 2]) > 0.999 * RADIUS
    return np.array([points[rim & (np.abs(rest[:, 1] - y) < 1e-8)].mean(axis=0) for y in heights])


def bend_angle(robot: Robot, state: Any) -> float:
    """Angle between the rod's last part and where it pointed at rest, degrees."""
    way = axis(robot, state)
    last = way[-1] - way[-4]
    return float(np.degrees(np.arccos(last[1] / np.linalg.norm(last))))


def _thickest(robot: Robot, state: Any) -> float:
    """Half of the largest width of a section, m."""
    rest, points = robot.body.mesh.points, state.points(robot)
    rim = np.hypot(rest[:, 0], rest[:, 2]) > 0.999 * RADIUS
    sections = [points[rim & (np.abs(rest[:, 1] - y) < 1e-8)] for y in np.unique(np.round(rest[:, 1], 9))]
    widths = [np.linalg.norm(one[:, None] - one[None], axis=2).max() for one in sections]
    return 0.5 * float(max(widths))


def inside(robot: Robot, state: Any, obstacle: Obstacle) -> float:
    """How deep a node of the rod stands in the obstacle, m."""
    solid: Any = obstacle.shape.solid
    return max(0.0, -float(solid.distance(state.points(robot)).gap.min()))


def run(
    *,
    full: bool,
    size: Size | None = None,
    ratios: Sequence[float] | None = None,
    far: Sequence[float] | None = None,
) -> Report:
    """Inflate the rod alone, and at the cylinder with and without response in both silicones."""
    chosen = (FULL if full else SMALL) if size is None else size
    steps = tuple(RATIOS if ratios is None else ratios)
    begin = perf_counter()
    world, robot = build(SOFT, chosen)
    built = perf_counter() - begin
    alone = inflate(world, volumes(robot, FAR if far is None else far))
    blind_world, blind_robot = build(SOFT, chosen, response=False)
    blind = inflate(blind_world, volumes(blind_robot, steps))
    obstacle = cylinder()
    soft_world, soft = build(SOFT, chosen, obstacle=obstacle)
    softer = inflate(soft_world, volumes(soft, steps))
    stiff_world, stiff = build(STIFF, chosen, obstacle=obstacle)
    stiffer = inflate(stiff_world, volumes(stiff, steps))
    pressure, known = float(softer.pressures(soft.cavity).max()), float(stiffer.pressures(stiff.cavity)[0])
    alike = at_pressure(
        stiff_world, lambda ratio: volumes(stiff, [ratio])[0], stiff.cavity, pressure, (steps[0], known)
    )
    areas = [
        [1e6 * touching_area(state, one.body, obstacle) for state in made.states]
        for one, made in ((soft, softer), (stiff, stiffer), (stiff, alike))
    ]
    metrics: dict[str, Any] = {
        **alone.table(),
        "mesh_s": built,
        "element": chosen.element,
        "reached_ratio": alone.reached(robot.cavity),
        "largest_pressure_kPa": 1e-3 * float(alone.pressures(robot.cavity).max()),
        "largest_diameter_mm": 2e3 * _thickest(robot, alone.states[-1]),
        "unstable": sum(info.unstable for info in alone.infos),
        "pressure_kPa": 1e-3 * float(alone.pressures(robot.cavity)[-1]),
        "bend_angle_deg": bend_angle(robot, alone.states[-1]),
        "tip_x_mm": 1e3 * float(robot.tip.at(alone.states[-1])[0]),
        "tip_y_mm": 1e3 * float(robot.tip.at(alone.states[-1])[1]),
        "tip_z_mm": 1e3 * float(robot.tip.at(alone.states[-1])[2]),
        "self_contact_force_N": pushing(alone.infos[-1], robot, robot),
        "contact_force_N": pushing(softer.infos[-1], soft.body, obstacle),
        "stiffer_contact_force_N": pushing(stiffer.infos[-1], stiff.body, obstacle),
        "contact_area_mm2": areas[0][-1],
        "stiffer_contact_area_mm2": areas[1][-1],
        "stiffer_contact_area_at_equal_pressure_mm2": areas[2][-1],
        "max_penetration_mm": 1e3 * max(inside(soft, state, obstacle) for state in softer.states),
        "penetration_without_response_mm": 1e3 * inside(blind_robot, blind.states[-1], obstacle),
        **checks(alone, blind, softer, stiffer, alike),
    }
    return Report(
        title="Twisting robot, alone and at a cylinder (Fang 2022, figures 7, 8 and 11, table I)",
        metrics=metrics,
        paper=PAPER,
        notes=_notes(steps),
        pictures=partial(
            _pictures,
            (robot, alone),
            [(soft, softer, areas[0]), (stiff, stiffer, areas[1]), (stiff, alike, areas[2])],
            obstacle,
        ),
        full=full,
    )


def _notes(ratios: Sequence[float]) -> tuple[str, ...]:
    return (
        f"at the cylinder the chamber is at {', '.join(f'{ratio:g}' for ratio in ratios)} times its volume, alone at "
        "up to 115; volumes are truly reached, the paper's α are nominal",
        "hexahedra with the volumes of their cells, ν = 0.499; no cell of air has to be meshed anew, for chambers are "
        "surfaces here",
        "Mooney–Rivlin as the paper gives it softens: beyond some ten times its volume the chamber bulges, and the "
        "bulge spreads at all but constant pressure",
        f"contact_area: surface nearer than {1e3 * NEAR:g} mm to the cylinder, ⌀48 × 30 mm, beside the rod, its axis "
        "across; where it stands is ours",
        "at the same volume both silicones have nearly the same shape, for it depends on ratios of stiffness alone; so "
        "they are compared at the same pressure too",
        "tetrahedra: cells of the body alone",
        "times are medians over the steps, each from the one before, in as many parts as it takes",
    )


def _pictures(alone: Any, touching: list[Any], obstacle: Obstacle, folder: Path) -> list[Path]:
    robot, free = alone
    shapes = [free.world.initial_state(), *free.states]
    paths = [
        write_picture(
            folder / "fang-twisting-alone.png",
            surfaces=[body_surface(shapes, robot.body, color=SOFT_COLOR, up=UPRIGHT)],
            frames=[0, len(shapes) // 2, len(shapes) - 1],
            title=f"Twisting robot up to {free.reached(robot.cavity):.3g} times the volume of its chamber",
        )
    ]
    softer, stiffer, alike = touching
    for name, color, (one, made, _) in (("softer", SOFT_COLOR, softer), ("stiffer", STIFF_COLOR, alike)):
        body = body_surface(made.states[-1:], one.body, color=color, up=UPRIGHT)
        pressure = 1e-3 * float(made.pressures(one.cavity)[-1])
        paths.append(
            write_picture(
                folder / f"fang-twisting-{name}.png",
                surfaces=[obstacle_surface(obstacle, up=UPRIGHT), body],
                frames=[-1],
                title=f"{name.capitalize()} silicone at a cylinder, {pressure:.0f} kPa",
                azimuth=np.radians(0.0),
            )
        )
    return [*paths, _curves(softer, stiffer, alike, folder)]


def _curves(softer: Any, stiffer: Any, alike: Any, folder: Path) -> Path:
    """Contact area over pressure of both silicones, and the axes of their rods at the same pressure."""
    figure = new_figure(9.0, 3.8)
    left, right = figure.subplots(1, 2, width_ratios=(2, 1))
    names = (("Ecoflex 00-30", SOFT_COLOR, softer, softer), ("Dragon Skin 20", STIFF_COLOR, stiffer, alike))
    for name, color, (robot, made, area), (_, end, _) in names:
        left.plot(1e-3 * made.pressures(robot.cavity), area, "o-", color=color, label=name)
        way = 1e3 * axis(robot, end.states[-1])
        right.plot(way[:, 2], way[:, 1], color=color, label=name)
    left.set(xlabel="pressure (kPa)", ylabel="contact area (mm²)")
    left.legend()
    right.set(xlabel="z (mm)", ylabel="y (mm)", ylim=(0.0, 1.1e3 * LENGTH))
    right.set_title("axes of the rods at the same pressure", fontsize=9)
    path = folder / "fang-twisting-curves.png"
    figure.savefig(path, dpi=150)
    return path
