"""Bench "scaling": step time and memory against unknowns, rows and bodies, each case in a process of its own.

The exponent of a series is the slope of log(step time) against log(size) over its upper half, where the constant costs
of a step no longer count.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from benchmarks.tasks.beam import Variant
from benchmarks.tasks.measure import measure_steps
from pliant.core.errors import InputError
from pliant.materials import Corotated
from pliant.mesh import box, regions
from pliant.models.rigid import Obstacle
from pliant.models.volume import Rayleigh, Volume
from pliant.stepping import ImplicitEuler
from pliant.world import Scene, World

DT = 0.01
_SHEET_CELLS = 32
"""Cells along each side of the sheet of the series "rows": 33² nodes below, the sizes are squares of node counts."""
_SETTLING, _MEASURING = 15.0, 10.0
"""Seconds of processor time after which a case is no longer left to settle, and for which its steps are measured."""
_STRIP = 7
"""Rows of nodes that meet one floor: a pair of bodies keeps 256 contacts at most, so the sheet lies on several."""


@dataclass(frozen=True)
class Series:
    """Worlds that differ in one size: `world(size)` builds one, `sizes` are measured after `settled` steps."""

    world: Callable[[int], World]
    sizes: tuple[int, ...]
    settled: int = 0


def _beam(layers: int) -> World:
    """A clamped beam of 5n×n×n cubes, 3 (5n + 1)(n + 1)² unknowns."""
    return Variant((5 * layers, layers, layers)).world()


def _sheet(side: int) -> World:
    """A sheet on the ground, which side × side of its nodes may touch, with friction; the unknowns are the same."""
    cell = 0.01
    mesh = box((_SHEET_CELLS * cell, _SHEET_CELLS * cell, 2 * cell), (_SHEET_CELLS, _SHEET_CELLS, 2))
    scene = Scene(gravity=(0.0, 0.0, -9.81))
    damping = Rayleigh(stiffness=0.01)
    sheet = scene.add(Volume(mesh, _rubber(5e6), anti_locking=False, damping=damping, name="sheet"))
    first = (_SHEET_CELLS + 1 - side) // 2
    low, high = (first - 0.5) * cell, (first + side - 0.5) * cell
    for begin in range(0, side, _STRIP):
        end = min(begin + _STRIP, side)
        inside = regions.box((low + begin * cell, low, -cell), (low + end * cell, high, 3 * cell))
        scene.collide(sheet, scene.add(Obstacle.plane()), friction=0.5, exclude=~inside)
    return scene.compile()


def _cubes(count: int) -> World:
    """Soft cubes of 27 nodes side by side on a floor, 9 contacts with friction each."""
    scene = Scene(gravity=(0.0, 0.0, -9.81))
    floor = scene.add(Obstacle.plane())
    columns = int(np.ceil(np.sqrt(count)))
    for number in range(count):
        row, column = divmod(number, columns)
        mesh = box((0.03, 0.03, 0.03), (2, 2, 2)).translated((0.05 * row, 0.05 * column, 0.0))
        damping = Rayleigh(stiffness=0.01)
        cube = scene.add(Volume(mesh, _rubber(0.5e6), anti_locking=False, damping=damping, name=f"cube {number}"))
        scene.collide(cube, floor, friction=0.5)
    return scene.compile()


def _rubber(young: float) -> Corotated:
    return Corotated(young=young, poisson=0.45, density=1000.0)


SERIES = {
    "unknowns": Series(_beam, (3, 4, 6, 8, 12, 18, 23)),
    "rows": Series(_sheet, (2, 3, 6, 10, 18, 33), settled=20),
    "bodies": Series(_cubes, (1, 5, 20, 100, 500), settled=20),
}


def run_scaling(*, data: Path | None = None, series: dict[str, tuple[int, ...]] | None = None) -> dict[str, Any]:
    """Step time and memory against unknowns (1 k … 200 k), rows (9 … 3267) and bodies (1 … 500), with the exponents.

    `series` limits the sizes of each series by name. Each entry of a series has "size" (the count of what the series is
    named after), "step_ms", "floor_ms", "memory_mb" (largest resident memory of the process), "rows" and "nodes".
    """
    if data is not None:
        raise InputError(
            f"bench 'scaling' builds its own bodies and reads no data, got data={str(data)!r}; leave it out"
        )
    asked = series or {name: every.sizes for name, every in SERIES.items()}
    return {name: _series(name, sizes) for name, sizes in asked.items()}


def _series(name: str, sizes: tuple[int, ...]) -> dict[str, Any]:
    cases = [_in_child(name, size) for size in sizes]
    return {"cases": cases, "exponent": _exponent(cases)}


def _exponent(cases: list[dict[str, Any]]) -> float | None:
    upper = cases[len(cases) // 2 :]
    if len(upper) < 2:
        return None
    size, time = ([np.log(case[key]) for case in upper] for key in ("size", "step_ms"))
    return float(np.polyfit(size, time, 1)[0])


def _in_child(name: str, size: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.tasks.scaling", name, str(size)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise InputError(f"{' '.join(command[1:])} failed: {done.stderr.strip().splitlines()[-1:]}")
    report: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return report


def measure(name: str, size: int) -> dict[str, Any]:
    """The entry of one case, measured in this process."""
    series = SERIES[name]
    world = series.world(size)
    state, stepper = world.initial_state(), ImplicitEuler(DT)
    unknowns = sum(q.size for q in state.q)
    each, begin = unknowns / 2e4, process_time()  # s; of a body alone, about, and then that of the last step
    for _ in range(series.settled):
        start = process_time()
        state, _ = stepper(world, state)
        each = process_time() - start
        if process_time() - begin > _SETTLING:
            break
    steps = int(np.clip(_MEASURING / each, 2, 60))
    report = measure_steps(world, dt=DT, steps=steps, start=state, warm_up=1, observed=0).report()
    counted = {"unknowns": unknowns, "rows": report["rows"], "bodies": size}[name]
    kept = {key: report[key] for key in ("step_ms", "floor_ms", "floor_ratio", "rows", "nodes")}
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"size": counted} | kept | {"memory_mb": memory}


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], int(sys.argv[2]))))
