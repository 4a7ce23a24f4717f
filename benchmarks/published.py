"""What the published local–global method does, on the pneumatic finger and the twister (`experiments.fang_published`).

    python -m benchmarks.published [--cell MM] [--json FILE]

Prints, for the nominal ratio 4 of the finger: what the published stop finds and where the fixed point of the same
equations is; how much the chamber really grows; what the weight of the air changes, which means nothing; what becomes
of the body when its rest shape is overwritten after each step, as in the released program. And for a twister how far
its elements of air are stretched with and without remeshing (figure 7b). Needs Gmsh (extra `mesh`).
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pliant as pl
from experiments.fang_published import LocalGlobal, LocalGlobalInfo
from pliant.robots import Robot, pneumatic_finger, twister
from pliant.robots.scenes import robot_world

STILL = (0.0, 0.0, 0.0)

OMEGA = 0.2
"""Share of the rest shape; a constant, as in the released program (ν = 0.364)."""
RUBBER = pl.materials.NeoHookean(young=1e5, poisson=0.364, density=1070.0)
SOLE = pl.materials.NeoHookean(young=2e6, poisson=0.364, density=1070.0)
AIR = 0.05
"""Weight of the air that makes the finger of 4 mm cells grow by about a third at the nominal ratio 4."""


def stepped(
    world: pl.World, robot: Robot, ratio: float, state: pl.State | None = None, **options: Any
) -> tuple[pl.State, LocalGlobalInfo]:
    """One step of the published method."""
    stepper = LocalGlobal(tolerance=1e-4, omega=OMEGA, **options)
    start = world.initial_state() if state is None else state
    return stepper(world, start, {robot.cavity: pl.VolumeRatio(ratio)})


def line(robot: Robot, name: str, state: pl.State, info: LocalGlobalInfo) -> dict[str, Any]:
    x, y, _ = 1e3 * robot.tip.at(state)
    volume = 100.0 * info.volume_changes[0]
    print(
        f"| {name} | {info.iterations} | {info.residual:.1e} | {x:.2f}, {y:.2f} | {info.growths[0]:.3f} "
        f"| {volume:+.2f} | {info.inverted} | {info.remeshes} | {info.worst_growth:.2f} "
        f"| {info.worst_distortion:.2f} |",
        flush=True,
    )
    return {"tip_mm": [float(x), float(y)], "growth": info.growths[0], "volume_percent": volume}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cell", type=float, default=4.0, help="largest edge of the finger's mesh, mm")
    parser.add_argument("--json", type=Path, help="write the numbers here")
    options = parser.parse_args()
    finger = pneumatic_finger(cell_size=1e-3 * options.cell, material=RUBBER, sole_material=SOLE)
    world = robot_world(finger, gravity=STILL)
    print(
        f"{finger.body.mesh.cell_count} tetrahedra, tip at rest y = {1e3 * finger.tip.position[1]:.2f} mm, nominal 4\n"
    )
    print("| | rounds | forces left | tip (mm) | chamber | body (%) | inverted | remeshes | growth | distortion |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    report: dict[str, Any] = {}
    early = {"window": 0, "rounds": 1000, "stop_motion": 3e-5, "finish": False}
    for name, given in (
        ("published stop", {"chamber_weight": AIR, **early}),
        ("fixed point", {"chamber_weight": AIR}),
        ("air of a fifth", {"chamber_weight": 0.2 * AIR}),
        ("air five times", {"chamber_weight": 5.0 * AIR}),
    ):
        report[name] = line(finger, name, *stepped(world, finger, 4.0, **given))
    state: pl.State | None = None
    for _ in range(5):
        state, info = stepped(world, finger, 4.0, state, chamber_weight=AIR, plastic=True, **early)
    assert state is not None
    report["plastic, 5 steps"] = line(finger, "plastic, 5 steps", state, info)
    robot = twister(cells=(1, 1, 24), side=3, material=RUBBER)
    world = robot_world(robot, gravity=STILL)
    for name, remesh in (("twister", True), ("twister without remeshing", False)):
        given = {"chamber_weight": 0.3, "step": 1.5, "remesh": remesh}
        report[name] = line(robot, name, *stepped(world, robot, 28.0, **given))
    if options.json:
        options.json.write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
