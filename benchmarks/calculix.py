"""The pneumatic finger against implicit finite elements: CalculiX on the same mesh at the same pressure.

    python -m benchmarks.calculix [--cell MM] [--ratio R] [--elements C3D4 C3D10] [--limit SECONDS] [--json FILE]

`pl.Geometric` inflates the finger (Mooney–Rivlin of Ecoflex 00-30 on a stiff sole, no contact) to a volume ratio; the
pressure that it finds is handed to CalculiX (`ccx`, Debian package calculix-ccx) as a follower pressure on the faces of
the chamber. Compared are where the tip stands, the volume of the chamber, and the processor time of both, one thread
each, both of them from rest. Linear tetrahedra lock at ν = 0.49, quadratic ones do not; ours are linear and averaged.
"ours, same elements" is `pl.QuasiStatic` on the very elements of CalculiX: it says whether both solve one problem.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

import pliant as pl
from benchmarks import ccx
from pliant.robots import Robot, pneumatic_finger

RUBBER = pl.materials.MooneyRivlin(c1=41.8e3, c2=10.6e3, poisson=0.49, density=1070.0, volumetric="quadratic")
SOLE = pl.materials.MooneyRivlin(c1=335e3, c2=0.0, poisson=0.49, density=1070.0, volumetric="quadratic")
"""CalculiX knows U = κ/2 (J − 1)² only."""
ELEMENTS = {ccx.ELEMENTS[element]: element for element in ("tet4", "tet10")}
FACE_WITHOUT = np.array([3, 4, 2, 1])
"""Number that CalculiX gives to the face of a tetrahedron that lacks corner 0, 1, 2 or 3."""
REPEATS = 3  # runs of which the shortest counts


@dataclass
class Shape:
    """Where the tip stands (3,) m, the volume of the chamber in m³, and seconds of processor time."""

    name: str
    tip: Any
    volume: float
    seconds: float
    increments: int = 1


def world_of(robot: Robot) -> pl.World:
    scene = pl.Scene()
    scene.add(robot)
    return scene.compile()


def finger(cell: float, element: str, *, anti_locking: bool = True) -> Robot:
    return pneumatic_finger(
        cell_size=cell, element=element, material=RUBBER, sole_material=SOLE, anti_locking=anti_locking
    )


def tip_of(robot: Robot, points: Any) -> Any:
    """Mean of the nodes of the end face, (3,) m."""
    rest = robot.body.mesh.points
    return points[rest[:, 0] > rest[:, 0].max() - 1e-9].mean(axis=0)


def ours(robot: Robot, ratio: float) -> tuple[Shape, float, int]:
    """The shape at the volume `ratio`, its pressure (Pa), and how many parts it took; the fastest of some runs."""
    world = world_of(robot)
    seconds = []
    for _ in range(REPEATS + 1):
        begin = process_time()
        state, info = pl.Geometric()(world, world.initial_state(), {robot.cavity: pl.VolumeRatio(ratio)})
        seconds.append(process_time() - begin)
    shape = Shape("pl.Geometric, tet4", tip_of(robot, state.q[0]), state.volume(robot.cavity), min(seconds[1:]))
    shape.increments = info.load_steps
    return shape, float(info.actuation(robot.cavity)[1]), info.iterations


def same_elements(robot: Robot, pressure: float, parts: int) -> Shape:
    """What `pl.QuasiStatic` finds on the same elements at `pressure` (Pa), in equal `parts`."""
    world, begin = world_of(robot), process_time()
    state = world.initial_state()
    for part in range(1, parts + 1):
        state, _ = pl.QuasiStatic(tolerance=1e-6)(world, state, {robot.cavity: pl.Pressure(pressure * part / parts)})
    seconds = process_time() - begin
    name = f"ours, same elements ({robot.body.mesh.element})"
    return Shape(name, tip_of(robot, state.q[0]), state.volume(robot.cavity), seconds, parts)


def calculix(robot: Robot, kind: str, pressure: float, limit: int) -> Shape | str:
    """What CalculiX finds at `pressure` (Pa), or why it found nothing."""
    answer = ccx.solve(input_text(robot, pressure), len(robot.body.mesh.points), limit=limit)
    if answer.failure:
        return f"ccx {kind}: {answer.failure}"
    points = robot.body.mesh.points + answer.moved
    volume = world_of(robot).constraints[0].volume(points)  # type: ignore[attr-defined]
    return Shape(f"ccx {kind}", tip_of(robot, points), float(volume), answer.seconds, answer.increments)


def input_text(robot: Robot, pressure: float) -> str:
    """The input of CalculiX in mm, N and MPa."""
    body, mesh = robot.body, robot.body.mesh
    materials = body.cell_materials()
    lines = ccx.mesh_lines(mesh.points, mesh.cells, mesh.element, "ALL")
    for number, (name, material) in enumerate((("RUBBER", RUBBER), ("SOLE", SOLE))):
        lines.append(f"*ELSET, ELSET={name}")
        lines += [f"{cell + 1}," for cell in np.flatnonzero(materials == number)]
        lines += ccx.rubber_lines(name, material.c1, material.c2, material.bulk_modulus)
    lines.append("*BOUNDARY")
    lines += [f"{node + 1}, 1, 3" for node in np.flatnonzero(mesh.points[:, 0] < 1e-9)]
    lines += ["*STEP, NLGEOM, INC=500", "*STATIC", "0.1, 1., 1e-6, 0.25", "*DLOAD"]
    chamber = mesh.surface().components()[1]
    corners = mesh.corner_cells[chamber.facet_cells]
    lacking = (corners[:, :, None] != chamber.facets[:, None, :3]).all(axis=2).argmax(axis=1)
    faces = FACE_WITHOUT[lacking]
    lines += [
        f"{cell + 1}, P{face}, {1e-6 * pressure:.9g}" for cell, face in zip(chamber.facet_cells, faces, strict=True)
    ]
    lines += ["*NODE PRINT, NSET=NALL, FREQUENCY=1000", "U", "*END STEP", ""]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cell", type=float, default=4.0, help="largest edge of the mesh, mm")
    parser.add_argument("--ratio", type=float, default=1.33, help="volume of the chamber over that at rest")
    parser.add_argument("--elements", nargs="+", choices=list(ELEMENTS), default=list(ELEMENTS))
    parser.add_argument("--limit", type=int, default=600, help="seconds of processor time that CalculiX may take")
    parser.add_argument("--json", type=Path, help="write the numbers here")
    options = parser.parse_args()
    if not ccx.installed():
        print(f"ccx is not installed ({ccx.PACKAGE}); nothing to compare with")
        return
    cell = 1e-3 * options.cell
    robot = finger(cell, "tet4")
    shape, pressure, iterations = ours(robot, options.ratio)
    shapes: list[Shape | str] = [shape]
    for kind in options.elements:
        other = finger(cell, ELEMENTS[kind], anti_locking=False)
        shapes += [same_elements(other, pressure, 8), calculix(other, kind, pressure, options.limit)]
    rest = world_of(robot).initial_state().volume(robot.cavity)
    print(f"{robot.body.mesh.cell_count} tetrahedra, {1e-3 * pressure:.3f} kPa, {iterations} iterations of ours\n")
    print("| | tip (mm) | apart from ours (mm) | chamber | parts | processor time (s) | ours is faster by |")
    print("|---|---|---|---|---|---|---|")
    report: dict[str, Any] = {"tetrahedra": robot.body.mesh.cell_count, "pressure_Pa": pressure, "shapes": {}}
    for one in shapes:
        if isinstance(one, str):
            print(f"\n{one}")
            continue
        apart = 1e3 * float(np.linalg.norm(one.tip - shape.tip))
        x, y, _ = 1e3 * one.tip
        figures = f"{x:.2f}, {y:.2f} | {apart:.2f} | {one.volume / rest:.4f} | {one.increments} | {one.seconds:.2f}"
        print(f"| {one.name} | {figures} | {one.seconds / shape.seconds:.1f} |")
        report["shapes"][one.name] = {
            "tip_mm": [float(c) for c in 1e3 * one.tip],
            "volume_ratio": one.volume / rest,
            "seconds": one.seconds,
        }
    if options.json:
        options.json.write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
