"""The bench of materials with memory: a step with three Prony branches, or with Mullins softening, over one without."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from time import thread_time
from typing import Any

import numpy as np

import pliant as pl
from pliant.core.errors import InputError
from pliant.materials import Material, Mullins, NeoHookean, Viscoelastic

DT = 0.01
BASE = NeoHookean(young=0.3e6, poisson=0.45, density=1080.0)
BRANCHES = ((0.15, 0.01), (0.1, 0.1), (0.1, 1.0))
"""Fractions of the instantaneous modulus, and relaxation times (s)."""
LAWS: dict[str, Material] = {
    "without": BASE,
    "three branches": Viscoelastic(BASE, BRANCHES),
    "Mullins": Mullins(BASE, r=1.5, m=2e3, beta=0.1),
}
SLENDER = ("without", "three branches")
"""Laws that rods and beams take."""
WARM_UP = 3


def run_memory(*, data: Path | None = None, steps: int = 60, passes: int = 3) -> dict[str, Any]:
    """A step of a finger, a rod and a beam with three Prony branches or with Mullins softening, over one without.

    For each body and law "step_ms" is the mean over the steps of the least thread time of `passes` runs, whose steps
    take turns with those of the other laws; "ratio" is over the law without memory. The bodies move all the time: the
    finger's cable is pulled to and fro, rod and beam swing under gravity.
    """
    if data is not None:
        raise InputError("the bench 'memory' has bodies of its own; leave out --data")
    return {name: _compared(build, laws, steps, passes) for name, (build, laws) in BODIES.items()}


Built = tuple[pl.World, Callable[[int], Mapping[Any, Any]]]


def _finger(law: Material) -> Built:
    scene = pl.Scene(gravity=(0.0, 0.0, -9.81))
    finger = scene.add(pl.robots.finger(material=law))
    (cable,) = finger.cables
    return scene.compile(), lambda k: {cable: pl.Displacement(0.005 * (1.0 - np.cos(0.1 * k)))}


def _rod(law: Material) -> Built:
    scene = pl.Scene(gravity=(0.0, 0.0, -9.81))
    scene.add(pl.Rod(0.3, 16, section=pl.sections.Circle(0.01), material=law))
    return scene.compile(), lambda k: {}


def _beam(law: Material) -> Built:
    scene = pl.Scene(gravity=(0.0, 0.0, -9.81))
    scene.add(
        pl.Beam(np.linspace((0.0, 0.0, 0.0), (0.3, 0.0, 0.0), 33), section=pl.sections.Circle(0.01), material=law)
    )
    return scene.compile(), lambda k: {}


BODIES: dict[str, tuple[Callable[[Material], Built], tuple[str, ...]]] = {
    "finger": (_finger, tuple(LAWS)),
    "rod": (_rod, SLENDER),
    "beam": (_beam, SLENDER),
}


def _compared(build: Callable[[Material], Built], laws: tuple[str, ...], steps: int, passes: int) -> dict[str, Any]:
    built = {name: build(LAWS[name]) for name in laws}
    seconds = {name: np.full(steps, np.inf) for name in laws}
    for _ in range(passes):
        stepper = {name: pl.ImplicitEuler(DT) for name in laws}
        states = {name: world.initial_state() for name, (world, _) in built.items()}
        for k in range(WARM_UP + steps):
            for name, (world, control) in built.items():
                given = control(k)
                began = thread_time()
                states[name], _ = stepper[name](world, states[name], given)
                if k >= WARM_UP:
                    seconds[name][k - WARM_UP] = min(seconds[name][k - WARM_UP], thread_time() - began)
    means = {name: float(some.mean()) for name, some in seconds.items()}
    return {name: {"step_ms": 1e3 * mean, "ratio": mean / means["without"]} for name, mean in means.items()}
