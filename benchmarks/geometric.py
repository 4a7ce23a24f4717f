"""Geometric steps by stage: the pneumatic finger with contact, the twister, and detection of contacts.

    python -m benchmarks.geometric [--cases finger-17k finger-77k …] [--json FILE]

A step of the finger doubles the volume of its chamber from rest, with response to contact, to a gradient of 1e-5; one
of the twister doubles it from four times its volume. Those named `step` are single ones: by a third from 1.5, with the
slots closed (what the released program reaches in its step to a nominal 4), and by a tenth. Cells have their own
strains and patches of them their volume (`anti_locking="volume"`), but for `smooth`. Of each: seconds by the
clock and of the processor, parts, iterations, factorizations, the growth of each part, and processor seconds by stage.
The floor is the numeric factorization and one solve of the tangent at rest on one thread, the least of five;
floor_ratio is the step over as many floors as it has parts. Detection is the whole query of the bent finger with itself
on one thread, the least of fifteen; `collision.py` has that of other shapes.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import pliant as pl
from experiments.fang_finger import ECOFLEX, finger_world
from pliant.collision import CollisionSurface, ProximityOptions, self_contacts
from pliant.core import timers
from pliant.materials import Tangent
from pliant.stepping.minimum_energy.mixed import MixedBody


def least(work: Callable[[], Any], repeats: int = 5) -> float:
    """Least processor time of `work`, s."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def floor(world: pl.World) -> float:
    """Processor time of the factorization of the first body's tangent at rest and of one solve, s."""
    model = world.volumes[0]
    values = model.blocks()
    MixedBody(model).tangent(model.rest.copy(), None, Tangent.EXACT, values)
    model.decouple_constrained(values)
    factor = model.symbolic.factorize(values)
    once = least(lambda: model.symbolic.factorize(values, out=factor))
    return once + least(lambda: factor.solve(np.ones(model.size)))


def step(world: pl.World, cavity: pl.Cavity, ratios: tuple[float, ...], repeats: int) -> dict[str, Any]:
    """The last of the steps to the volume `ratios`, repeated."""
    state = world.initial_state()
    for ratio in ratios[:-1]:
        state, _ = pl.Geometric()(world, state, {cavity: pl.VolumeRatio(ratio)})
    runs = []
    for _ in range(repeats):
        begin, used = time.perf_counter(), time.process_time()
        end, info = pl.Geometric()(world, state, {cavity: pl.VolumeRatio(ratios[-1])})
        runs.append((time.perf_counter() - begin, time.process_time() - used, info))
    _, used, info = min(runs, key=lambda run: run[1])
    least_floor = floor(world)
    growth = (end.volume(cavity) / state.volume(cavity)) ** (1.0 / info.load_steps)
    return {
        "tets": len(world.volumes[0].mesh.cells),
        "step_s": min(run[0] for run in runs),
        "processor_s": used,
        "parts": info.load_steps,
        "part_s": used / info.load_steps,
        "growth_of_a_part": growth,
        "iterations": info.iterations,
        "factorizations": info.factorizations,
        "floor_s": least_floor,
        "floor_ratio": used / (info.load_steps * least_floor),
        "residual": info.residual,
        "inverted": info.inverted,
        "body_volume_percent": 100.0 * max(map(abs, info.volume_changes)),
        "depth_mm": 1e3 * info.depth,
        "stages_s": dict(info.stage_times),
    }


def finger(cell: float, repeats: int, ratios: tuple[float, ...] = (2.0,), *, smooth: bool = False) -> dict[str, Any]:
    """The finger of the experiment, its chamber doubled unless told otherwise, with strains of cells or `smooth`."""
    world, robot = finger_world(ECOFLEX, cell=cell, response=True, anti_locking=True if smooth else "volume")
    return step(world, robot.cavity, ratios, repeats)


def twister(ratios: tuple[float, ...]) -> dict[str, Any]:
    """The twister at `ratios` of the volume of its chamber."""
    robot = pl.robots.twister()
    scene = pl.Scene()
    scene.add(robot)
    return step(scene.compile(), robot.cavity, ratios, 2)


def detection() -> dict[str, Any]:
    """All contacts of the finger with itself, its slots half closed."""
    body = pl.robots.pneumatic_finger(cell_size=1.3e-3).body
    surface = CollisionSurface.build(body.mesh.surface().triangles, body.mesh.points)
    options = ProximityOptions(margin=0.99e-3)
    points = body.mesh.points
    angle = 20.0 * points[:, 0]
    radius = 0.05 - points[:, 1]
    bent = np.column_stack([radius * np.sin(angle), 0.05 - radius * np.cos(angle), points[:, 2]])
    seconds = least(lambda: self_contacts(surface.at(bent), options), repeats=15)
    contacts = self_contacts(surface.at(bent), options).count
    return {"tets": len(body.mesh.cells), "contacts": contacts, "query_s": seconds, "hz": 1.0 / seconds}


CASES: dict[str, Callable[[], dict[str, Any]]] = {
    "finger-17k": lambda: finger(2e-3, 3),
    "finger-77k": lambda: finger(1e-3, 2),
    "finger-77k-step": lambda: finger(1e-3, 2, (1.5, 2.0)),
    "finger-77k-smooth": lambda: finger(1e-3, 2, smooth=True),
    "twister-28k": lambda: twister((4.0, 8.0)),
    "twister-28k-step": lambda: twister((4.0, 4.4)),
    "detection-40k": detection,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--json", metavar="FILE")
    arguments = parser.parse_args()
    timers.perf_counter = time.process_time  # stages in processor time
    results = {name: CASES[name]() for name in arguments.cases}
    for name, result in results.items():
        print(name)
        for key, value in result.items():
            print(
                f"    {key:<22}"
                + (", ".join(f"{k} {v:.3g}" for k, v in value.items()) if isinstance(value, dict) else f"{value:.4g}")
            )
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(results, file, indent=2, default=float)


if __name__ == "__main__":
    main()
