"""The bench of gradients: a trunk that is pulled against a wall with friction, and differentiated."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from time import thread_time
from typing import Any

import numpy as np

import pliant as pl
from pliant.core.errors import InputError

STEPS, REPEATS = 20, 3
PULL, MODULUS = 0.012, 450e3
CHANGES = {"pull": 1e-5, "young": 450.0}
"""Steps of the differences, m and Pa."""
HALVINGS = (1.0, 0.5, 0.25)
LARGEST = {"pull": 2e-4, "young": 9e3}
"""Changes of Taylor's test at first."""


def run_gradient(*, data: Path | None = None) -> dict[str, Any]:
    """A trunk pulled against a wall with friction: cost and error of the gradient of where its tip goes.

    "adjoint_over_run" is the processor time of the backward run over that of the forward one, with all steps kept;
    "with_checkpoints" the same with √N states kept, and "memory_mb" the most memory of that gradient beyond the run.
    "worst_relative_error" compares with central differences of fourth order, "taylor_order" is the order of what the
    gradient leaves when all parameters change. They are those of steps to a tolerance; "cases" has them for steps of
    one linear solve too. The worst error is that of all cases.
    """
    if data is not None:
        raise InputError("the bench 'gradient' has meshes of its own; leave out --data")
    converged, once = pl.ImplicitEuler(0.01, tolerance=1e-10), pl.ImplicitEuler(0.01)
    cases = {
        "trunk": _measured(_Case(converged)),
        "trunk, one solve": _measured(_Case(once)),
    }
    worst = max(max(case["relative_errors"].values()) for case in cases.values())
    return cases["trunk"] | {"worst_relative_error": worst, "cases": cases}


def _measured(case: _Case) -> dict[str, Any]:
    case.value()  # kernels are compiled
    forward, kept, checkpointed = [], [], []
    for _ in range(REPEATS):
        forward.append(_timed(case.value))
        kept.append(_timed(lambda: case.gradient(checkpoints=STEPS)))
        checkpointed.append(_timed(case.gradient))
    run = float(np.median(forward))
    tracemalloc.start()
    found = case.gradient()
    memory = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    slopes = case.slopes(found)
    errors = {name: abs(slopes[name] / _difference(case, name, step) - 1.0) for name, step in CHANGES.items()}
    whole = sum(LARGEST[name] * slope for name, slope in slopes.items())
    left = [
        abs(case.value(**{name: s * most for name, most in LARGEST.items()}) - found.value - s * whole)
        for s in HALVINGS
    ]
    return {
        "adjoint_over_run": float(np.median(kept)) / run - 1.0,
        "with_checkpoints": float(np.median(checkpointed)) / run - 1.0,
        "relative_errors": errors,
        "taylor_order": float(np.log2(left[-2] / left[-1])),
        "memory_mb": memory / 2**20,
        "run_ms": 1e3 * run,
        "steps": STEPS,
        "contacts": case.contacts,
    }


class _Case:
    """The trunk, its wall and its run."""

    def __init__(self, stepper: Any) -> None:
        self.stepper, self.contacts = stepper, 0
        self._known: dict[tuple[float, float], tuple[Any, Any, list[Any], list[Any]]] = {}

    def value(self, *, pull: float = 0.0, young: float = 0.0) -> float:
        """The loss of a run with other numbers, m²."""
        world, loss, control, _ = self._made(pull, young)
        state, info = world.initial_state(), None
        for k in range(STEPS):
            state, info = self.stepper(world, state, control[k])
        assert info is not None
        assert info.lam is not None
        assert info.assembly is not None
        normal = info.lam[info.assembly.slices[-1]].reshape(-1, 3)[:, 0]
        self.contacts = int((normal > 0.0).sum())
        return float(loss.at(pl.losses.Instant(STEPS, STEPS, state, info)))

    def gradient(self, **options: Any) -> Any:
        """The gradient by every step of the pull and the modulus."""
        world, loss, control, parameters = self._made(0.0, 0.0)
        return pl.gradient(world, self.stepper, loss, parameters=parameters, control=control, **options)

    def slopes(self, found: Any) -> dict[str, float]:
        """The derivatives by the pull at the end and by the modulus."""
        by_pull, by_young = found.derivatives
        return {"pull": float(by_pull @ _ramp()), "young": float(by_young)}

    def _made(self, pull: float, young: float) -> tuple[Any, Any, list[Any], list[Any]]:
        if (pull, young) in self._known:  # compiled once: its time is not that of a run
            return self._known[pull, young]
        scene = pl.Scene(gravity=(0, 0, -9.81))
        silicone = pl.materials.Corotated(young=MODULUS + young, poisson=0.45, density=1080.0)
        trunk = scene.add(pl.robots.trunk(material=silicone))
        wall = scene.add(pl.Obstacle.plane(point=(0.02, 0, 0), normal=(-1, 0, 0)))
        scene.collide(trunk, wall, friction=0.3)
        cable = trunk.cables[0]
        control = [{cable: pl.Displacement((PULL + pull) * s)} for s in _ramp()]
        parameters = [pl.parameters.Control(cable), pl.parameters.Material(trunk.body, "young")]
        loss = pl.losses.Position(trunk.tip, (0, 0, 0.18))
        made = self._known[pull, young] = scene.compile(), loss, control, parameters
        return made


def _ramp() -> Any:
    return np.arange(1, STEPS + 1) / STEPS


def _timed(call: Any) -> float:
    began = thread_time()
    call()
    return thread_time() - began


def _difference(case: _Case, name: str, step: float) -> float:
    def value(s: float) -> float:
        return case.value(**{name: s * step})

    return (8.0 * (value(1.0) - value(-1.0)) - (value(2.0) - value(-2.0))) / (12.0 * step)
