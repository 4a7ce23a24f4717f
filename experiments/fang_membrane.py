"""The membrane of Fang et al. 2022: a sheet that four chambers push into a shape, through contact alone.

G. Fang, Y. Tian, A. Weightman, C. C. L. Wang, Collision-aware fast simulation for soft robots by optimization-based
geometric computing, IROS 2022: section IV.C, figure 12, table I (34 680 tetrahedra of the chambers; 5.0 mm from the
hardware at worst, 2 % of its size). The hardware is not ours to measure: the shape is compared with hyperelastic finite
elements of another kind on a finer mesh.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from scipy.interpolate import LinearNDInterpolator

from experiments.fang_parts import (
    DRAGON_SKIN,
    ECOFLEX,
    SOFT_COLOR,
    STIFF_COLOR,
    WEIGHTLESS,
    Inflation,
    body_surface,
    checks,
    inflate,
    pushing,
)
from experiments.goury_pictures import new_figure
from experiments.report import Report
from pliant.core.types import FloatArray
from pliant.materials import Material
from pliant.robots import Membrane, membrane
from pliant.robots.scenes import robot_world
from pliant.stepping import QuasiStatic
from pliant.viewer.picture import write_picture
from pliant.world import World

RATIOS = (1.5, 2.0, 3.0)
"""Volumes of all chambers over those at rest."""
SHAPES = {"one chamber": (3.0, 1.0, 1.0, 1.0), "two chambers": (3.0, 1.0, 1.0, 3.0)}
"""Volumes that differ from chamber to chamber."""
COMPARED = 2.0
"""Ratio at which the shape is compared with that of finite elements."""
PAPER = {
    "tetrahedra": 34680,
    "mesh_s": 0.96,
    "detection_s": 0.12,
    "response_s": 1.63,
    "solve_s": 3.83,
    "step_s": 0.12 + 1.63 + 3.83,
    "shape_error_mm": 5.0,
    "shape_error_percent": 2.0,
}


@dataclass(frozen=True)
class Size:
    """Cells of the membrane: of the sheet along an edge and through it, along a side of a chamber, and through it."""

    cells: tuple[int, int] = (32, 2)
    side: int = 10
    layers: tuple[int, int, int] = (1, 1, 2)


SMALL, FULL = Size(), Size((50, 2), 16, (2, 2, 2))
FINER = Size((44, 2), 14)
"""Of the hexahedra that the shape is compared with."""


def build(material: Material, size: Size, *, response: bool = True, element: Any = "tet4") -> tuple[World, Membrane]:
    """A world with the membrane, whose sheet and chambers touch where `response` is on."""
    options = {"cells": size.cells, "side": size.side, "layers": size.layers, "element": element}
    robot = membrane(material=material, **options)
    return robot_world(robot, gravity=WEIGHTLESS, touches_itself=response), robot


def moved(robot: Membrane, state: Any) -> tuple[FloatArray, FloatArray]:
    """Nodes of the sheet's upper face at rest (k, 2) m, and how far each has gone (k, 3) m."""
    rest, now = robot.top(state)
    return rest[:, :2], now - rest


def asymmetry(robot: Membrane, state: Any) -> float:
    """Largest difference of the sheet's displacement from that of its mirror images in x = 0, y = 0 and x = y, as a
    fraction of the largest displacement.
    """
    places, u = moved(robot, state)
    number = {tuple(place): k for k, place in enumerate(np.round(places, 9) + 0.0)}
    worst = 0.0
    for mirror in (np.diag([-1.0, 1.0, 1.0]), np.diag([1.0, -1.0, 1.0]), np.eye(3)[[1, 0, 2]]):
        images = np.round(places @ mirror[:2, :2].T, 9) + 0.0
        there = np.array([number[tuple(image)] for image in images])
        worst = max(worst, float(np.linalg.norm(u[there] - u @ mirror.T, axis=1).max()))
    return worst / float(np.linalg.norm(u, axis=1).max())


def fem_shape(material: Material, ratio: float, size: Size, *, element: Any = "hex8") -> tuple[FloatArray, FloatArray]:
    """The sheet as `QuasiStatic` finds it, in steps of a tenth: nodes at rest (k, 2) m and their ways (k, 3) m."""
    world, robot = build(material, size, element=element)
    state = world.initial_state()
    for part in np.linspace(1.0, ratio, max(2, round(10.0 * (ratio - 1.0)) + 1))[1:]:
        state, _ = QuasiStatic(tolerance=1e-4)(world, state, robot.controls(float(part)))
    return moved(robot, state)


def shape_errors(robot: Membrane, state: Any, fem: tuple[FloatArray, FloatArray]) -> FloatArray:
    """How far each node of the upper face is from where `fem` has it, (k,) m."""
    places, u = moved(robot, state)
    return np.asarray(np.linalg.norm(LinearNDInterpolator(*fem)(0.999999 * places) - u, axis=1))


def overlap(robot: Membrane, state: Any) -> float:
    """How far the roofs of the chambers stand above the lower face of the sheet, m; 0 where none does."""
    rest, now = robot.sheet.mesh.points, state.points(robot.sheet)
    low = np.abs(rest[:, 2] - rest[:, 2].min()) < 1e-9
    below = LinearNDInterpolator(now[low, :2], now[low, 2])
    depths = []
    for one in robot.chambers:
        points, reference = state.points(one.body), one.body.mesh.points
        roof = points[np.abs(reference[:, 2] - reference[:, 2].max()) < 1e-9]
        depths.append(float((roof[:, 2] - below(roof[:, :2])).max()))
    return max(0.0, *depths)


def run(*, full: bool, size: Size | None = None, ratios: Sequence[float] = RATIOS) -> Report:
    """Inflate all chambers alike and one or two alone, in both silicones and without response, and compare."""
    chosen = (FULL if full else SMALL) if size is None else size
    begin = perf_counter()
    world, robot = build(DRAGON_SKIN, chosen)
    built = perf_counter() - begin
    alike = inflate(world, map(robot.controls, ratios))
    single = {name: inflate(world, [robot.controls(each)]) for name, each in SHAPES.items()}
    softer_world, softer = build(ECOFLEX, chosen)
    soft = inflate(softer_world, map(softer.controls, ratios))
    free_world, free = build(DRAGON_SKIN, chosen, response=False)
    passing = inflate(free_world, [free.controls(ratios[-1])])
    compared = COMPARED if COMPARED in ratios else ratios[-1]
    finer = FINER if size is None else chosen
    errors = shape_errors(robot, alike.states[ratios.index(compared)], fem_shape(DRAGON_SKIN, compared, finer))
    ways = [moved(one, made.states[-1])[1] for one, made in ((robot, alike), (softer, soft))]
    metrics: dict[str, Any] = {
        **alike.table(),
        "mesh_s": built,
        "shape_error_mm": 1e3 * float(errors.max()),
        "shape_error_percent": 100.0 * float(errors.max()) / 0.25,
        "shape_error_mean_mm": 1e3 * float(errors.mean()),
        "asymmetry_percent": 100.0 * max(asymmetry(robot, state) for state in alike.states),
        "height_mm": 1e3 * float(ways[0][:, 2].max()),
        "height_one_chamber_mm": 1e3 * float(moved(robot, single["one chamber"].states[-1])[1][:, 2].max()),
        "softer_silicone_apart_mm": 1e3 * float(np.linalg.norm(ways[1] - ways[0], axis=1).max()),
        "pressure_kPa": 1e-3 * float(alike.pressures(robot.cavities[0])[-1]),
        "softer_pressure_kPa": 1e-3 * float(soft.pressures(softer.cavities[0])[-1]),
        "contact_force_N": sum(pushing(alike.infos[-1], robot.sheet, one.body) for one in robot.chambers),
        "max_penetration_mm": 1e3 * max(info.penetration for info in alike.infos),
        "penetration_without_response_mm": 1e3 * overlap(free, passing.states[-1]),
        **checks(alike, soft, passing, *single.values()),
    }
    return Report(
        title="Membrane over four chambers (Fang 2022, figure 12, table I)",
        metrics=metrics,
        paper=PAPER,
        notes=_notes(ratios, compared),
        pictures=partial(_pictures, robot, alike, single, (free, passing), errors),
        full=full,
    )


def _notes(ratios: Sequence[float], compared: float) -> tuple[str, ...]:
    return (
        f"all chambers at {', '.join(f'{ratio:g}' for ratio in ratios)} times their volume, then one and two of them "
        "alone at 3 times; Dragon Skin 20 as the paper gives it; no gravity, no friction",
        f"shape_error: the sheet's upper face at {compared:g} times the volume against pl.QuasiStatic with hexahedra "
        "on a finer mesh; the paper's is against hardware",
        "asymmetry: largest difference from the mirror images in x, y and x = y over the largest displacement",
        "the sheet is held at its rim; the paper does not say how",
        "with volumes given, stiffness hardly changes the shape, only the pressures",
        "tetrahedra: of chambers and sheet; the paper counts the chambers alone",
        "times are medians over the steps, each from the one before; detection counts the assembly of all rows, "
        "response the problem of the contacts",
    )


def _pictures(
    robot: Membrane,
    alike: Inflation,
    single: dict[str, Inflation],
    passing: tuple[Membrane, Inflation],
    errors: FloatArray,
    folder: Path,
) -> list[Path]:
    made = []
    for name, one in (("all chambers", alike), *single.items()):
        surfaces = _surfaces(robot, one)
        path = folder / f"fang-membrane-{name.replace(' ', '-')}.png"
        made.append(write_picture(path, surfaces=surfaces, frames=[-1], title=f"Membrane, {name} inflated"))
    return [*made, _section(robot, alike, passing, folder), _error_map(robot, errors, folder)]


def _surfaces(robot: Membrane, one: Inflation) -> list[Any]:
    states = one.states[-1:]
    chambers = [body_surface(states, chamber.body, color=STIFF_COLOR) for chamber in robot.chambers]
    return [body_surface(states, robot.sheet, lift=True), *chambers]


def _section(robot: Membrane, alike: Inflation, passing: tuple[Membrane, Inflation], folder: Path) -> Path:
    """The section through two chambers with and without response."""
    figure = new_figure(8.0, 3.0)
    panels = figure.subplots(2, 1, sharex=True, sharey=True)
    for axes, (name, made, one) in zip(
        panels, (("with response", robot, alike), ("without", *passing)), strict=True
    ):  # fmt: skip
        state = one.states[-1]
        for body, color in ((made.sheet, SOFT_COLOR), *((c.body, STIFF_COLOR) for c in made.chambers)):
            for line in _cut(body, state):
                axes.plot(*(1e3 * line.T), color=color, linewidth=1.2)
        axes.set_title(f"{name}, section y = 50 mm", fontsize=10)
        axes.set_ylabel("z (mm)")
        axes.set_aspect("equal")
    panels[-1].set_xlabel("x (mm)")
    path = folder / "fang-membrane-section.png"
    figure.savefig(path, dpi=150)
    return path


def _cut(body: Any, state: Any) -> list[FloatArray]:
    """Segments (2, 2) m in x and z in which the plane y = 50 mm of the deformed shape cuts the surface of a body."""
    points = state.points(body)[body.mesh.surface().triangles]
    height = points[:, :, 1] - 0.05 - 1e-7
    crossed = np.flatnonzero(np.ptp(np.sign(height), axis=1) > 0)
    segments = []
    for corners, h in zip(points[crossed], height[crossed], strict=True):
        ends = [
            corners[a] + h[a] / (h[a] - h[b]) * (corners[b] - corners[a])
            for a, b in ((0, 1), (1, 2), (2, 0))
            if h[a] * h[b] < 0.0
        ]
        segments += [np.array([p, q])[:, [0, 2]] for p, q in pairwise(ends)]
    return segments


def _error_map(robot: Membrane, errors: FloatArray, folder: Path) -> Path:
    """Where the sheet differs from finite elements, as in figure 12c."""
    rest = robot.sheet.mesh.points
    places = rest[np.abs(rest[:, 2] - rest[:, 2].max()) < 1e-9, :2]
    figure = new_figure(5.4, 4.4)
    axes = figure.add_subplot(xlabel="x (mm)", ylabel="y (mm)", aspect="equal")
    shown = axes.tripcolor(*(1e3 * places.T), 1e3 * errors, shading="gouraud", cmap="viridis")
    figure.colorbar(shown, ax=axes, label="distance from finite elements (mm)")
    axes.set_title("Shape of the membrane")
    path = folder / "fang-membrane-error.png"
    figure.savefig(path, dpi=150)
    return path
