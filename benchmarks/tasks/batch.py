"""The bench of batches: copies of three robots, stepped at once over all cores and one after another."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import pliant as pl
from benchmarks import card
from pliant.core.errors import InputError

COUNTS = (2, 8, 64)
"""Copies; the ratio is that of the last."""
WARM, REPEATS = 10, 12
"""Steps before anything is timed, and how often each side is timed in turn."""
SINGLE = 40
"""Steps of one copy alone in each time."""


def run_batch(*, data: Path | None = None) -> dict[str, Any]:
    """Copies of a finger that touches a ball, a rod and a reduced finger with friction, stepped over all cores.

    "steps_per_second" is that of the finger with the most copies, and "ratio_per_core" this over cores × the rate of
    one copy alone in one process; best of several, timed in turn. "gpu" is what `benchmarks.card` measures on a card in
    both precisions, None without one. "cases" holds both of each robot by count of copies.
    "bit_identical" says whether every copy ends with the bits of stepping it alone.
    """
    if data is not None:
        raise InputError("the bench 'batch' has meshes of its own; leave out --data")
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity is not None else os.cpu_count() or 1
    cases: dict[str, dict[str, Any]] = {}
    same = True
    for name, make in (("finger", _finger), ("rod", _rod), ("reduced", _reduced)):
        world, vary, control = make()
        cases[name] = {}
        for count in COUNTS:
            found, identical = _case(
                world, {number: each(count) for number, each in vary.items()}, control, count, cores
            )
            cases[name][str(count)] = found
            same = same and identical
    most = cases["finger"][str(COUNTS[-1])]
    return {
        "steps_per_second": most["steps_per_second"],
        "ratio_per_core": most["ratio_per_core"],
        "bit_identical": same,
        "gpu": _gpu(),
        "cores": cores,
        "copies": COUNTS[-1],
        "cases": cases,
    }


def _gpu() -> dict[str, Any] | None:
    if card.card() is None:
        return None
    return card.on_card(card.lowered_worlds())


def _case(world: Any, vary: dict[Any, Any], control: Any, count: int, cores: int) -> tuple[dict[str, Any], bool]:
    stepper = pl.ImplicitEuler(0.01)
    with pl.Batch(world, count, vary=vary) as batch:
        states, alone = batch.initial_states(), [batch.world_of(k).initial_state() for k in (0, count - 1)]
        ends = [0, count - 1]
        steppers = [pl.ImplicitEuler(0.01) for _ in ends]
        for _ in range(WARM):
            states, _ = batch.step(stepper, states, control)
            alone = [own(s.world, s, control)[0] for own, s in zip(steppers, alone, strict=True)]
        same = all(
            np.array_equal(a, b)
            for k, one in zip(ends, alone, strict=True)
            for a, b in zip((*states[k].q, *states[k].v), (*one.q, *one.v), strict=True)
        )
        single, batched = [], []
        one, s = alone[0], states
        turns = max(1, SINGLE // count)
        for _ in range(REPEATS):
            single.append(_time(lambda: _stepped(steppers[0], alone[0].world, one, control, SINGLE)) / SINGLE)
            batched.append(_time(lambda: _stepped(stepper, batch, s, control, turns)) / (turns * count))
        workers = batch.workers
    rate, alone_rate = 1.0 / min(batched), 1.0 / min(single)
    return {
        "steps_per_second": rate,
        "single_steps_per_second": alone_rate,
        "ratio_per_core": rate / (min(cores, count) * alone_rate),
        "workers": workers,
    }, same


def _stepped(stepper: Any, world: Any, state: Any, control: Any, count: int) -> Any:
    for _ in range(count):
        state, _ = stepper(world, state, control)
    return state


def _time(call: Callable[[], Any]) -> float:
    began = perf_counter()
    call()
    return perf_counter() - began


def _finger() -> tuple[Any, dict[Any, Any], Any]:
    scene = pl.Scene(gravity=(0, 0, -9.81))
    finger = scene.add(pl.robots.finger())
    ball = scene.add(pl.RigidBody.sphere(radius=0.015, mass=0.02, position=(0.06, 0, -0.02)))
    scene.collide(finger, ball, friction=0.6)
    floor = scene.add(pl.Obstacle.plane(point=(0, 0, -0.0355)))
    scene.collide(ball, floor, friction=0.6)
    young = pl.parameters.Material(finger.body, "young")
    base = young.value(scene.compile())
    return scene.compile(), {young: lambda n: np.linspace(0.8, 1.2, n) * base}, {finger.cable: pl.Displacement(0.01)}


def _rod() -> tuple[Any, dict[Any, Any], Any]:
    scene = pl.Scene(gravity=(0, 0, -9.81))
    rod = scene.add(pl.Rod(0.2, 8, section=pl.sections.Circle(0.005), young=1e6, poisson=0.4, density=1e3))
    young = pl.parameters.Material(rod, "young")
    return scene.compile(), {young: lambda n: np.linspace(0.8e6, 1.2e6, n)}, {}


def _reduced() -> tuple[Any, dict[Any, Any], Any]:
    scene = pl.Scene(gravity=(0, 0, -9.81))
    finger = scene.add(pl.robots.finger())
    world = scene.compile()
    fast = pl.reduction.reduce(
        world, pl.reduction.ramps(world, amplitude=0.01, steps=40), motion_tolerance=0.01, progress=False
    )
    young = pl.parameters.Material(finger.body, "young")
    base = young.value(world)
    return fast, {young: lambda n: np.linspace(0.8, 1.2, n) * base}, {finger.cable: pl.Force(2.0)}
