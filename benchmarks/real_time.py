"""How many nodes run in real time: processor time of a step of a bar without contacts, by element and material.

    python -m benchmarks.real_time

Prints the table of docs/choosing.md. A cell is the least of a few steps of a clamped bar under gravity, on one thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from threadpoolctl import threadpool_limits

import pliant as pl

CELLS = ((10, 2, 2), (20, 4, 4), (30, 6, 6), (36, 8, 8))
"""Cells of a bar of 200 × 40 × 40 mm along its axes."""
WARM_STEPS, STEPS = 3, 20
"""Steps before the clock starts, which load kernels, and steps that are timed."""


def corotated() -> object:
    return pl.materials.Corotated(young=0.5e6, poisson=0.45, density=1000)


COLUMNS: dict[str, tuple[Callable[[], object], bool | str]] = {
    "default, corotated": (corotated, True),
    "default, silicone": (pl.materials.dragon_skin_20, True),
    '`"volume"`, corotated': (corotated, "volume"),
    '`"volume"`, silicone': (pl.materials.dragon_skin_20, "volume"),
    "plain, corotated": (corotated, False),
}


def step_ms(mesh: pl.mesh.Mesh, material: object, anti_locking: bool | str) -> float:
    """Least processor time of a step, ms."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    clamp = pl.regions.plane(axis="x", at=0)
    scene.add(pl.Volume(mesh, material, clamp=clamp, anti_locking=anti_locking))
    world, step = scene.compile(), pl.ImplicitEuler(dt=0.01)
    state, least = world.initial_state(), float("inf")
    for index in range(WARM_STEPS + STEPS):
        begin = time.process_time()
        state, _ = step(world, state)
        if index >= WARM_STEPS:
            least = min(least, 1e3 * (time.process_time() - begin))
    return least


def main() -> None:
    print(f"| nodes | cells | {' | '.join(COLUMNS)} |\n|{'---|' * (2 + len(COLUMNS))}")
    with threadpool_limits(1):
        for cells in CELLS:
            mesh = pl.mesh.box((0.2, 0.04, 0.04), cells)
            times = [step_ms(mesh, material(), element) for material, element in COLUMNS.values()]
            shown = (f"{ms:.1f}" if ms < 2.0 else f"{ms:.0f}" for ms in times)
            print(f"| {mesh.node_count} | {mesh.cell_count} | {' | '.join(shown)} |", flush=True)


if __name__ == "__main__":
    main()
