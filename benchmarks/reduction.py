"""Reduced bodies beside full ones: unknowns, integration points, time of a step, and how far the tip is off.

    python benchmarks/reduction.py [CASE …] [--json FILE]

Each case is trained by one motion and tried with others. The incumbent's reductions (DoFs → modes, elements → points)
stand beside ours where it ships them; it gives no errors.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import pliant as pl
from pliant.bench.beam import HEADLINE
from pliant.reduction import curved, ecsw, pod
from pliant.world.reduced import reduced

Controls = Callable[[int], Mapping[Any, Any]]
DT = 0.01


@dataclass(frozen=True)
class Case:
    """A body to reduce: how it is driven in training and in trials, and the incumbent's sizes for it.

    Every `every`th state is a snapshot, and every `thin`th of these chooses the integration points.
    """

    world: pl.World
    tip: Callable[[Any], Any]
    training: tuple[tuple[Controls, int], ...]
    trials: Mapping[str, tuple[Controls, int]]
    modes: int
    tolerance: float
    curved: bool = True
    stiffness: bool = True
    every: int = 1
    thin: int = 1
    incumbent: str = ""


def ramp(handle: Any, amplitude: float, steps: int) -> Controls:
    """Pull to `amplitude`, m, in so many steps."""
    return lambda k: {handle: pl.Displacement(amplitude * min(1.0, (k + 1) / steps))}


def finger() -> Case:
    """One cable; pulled slowly to 18 mm, tried to other ends and at other speeds."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    robot = scene.add(pl.robots.finger())
    trials = {
        "12 mm, 2.5 times as fast": (ramp(robot.cable, 0.012, 27), 60),
        "6 mm": (ramp(robot.cable, 0.006, 120), 120),
    }
    training = ((ramp(robot.cable, 0.018, 100), 100),)
    return Case(scene.compile(), robot.tip.at, training, trials, 3, 2e-2, stiffness=False, incumbent="474 → 3, 389 → 5")


def star(cables: Any, amplitude: float, count: int, *, turn: float = 0.0, hold: int = 40) -> Controls:
    """Lean to `count` sides in turn, out and back in `hold` steps each, by the cables of that side, up to m."""
    sides = 0.5 * np.pi * np.arange(len(cables))

    def control(k: int) -> Mapping[Any, Any]:
        number, share = divmod((k + 1) / hold, 1.0)
        angle = 2.0 * np.pi * number / count + turn
        pulls = amplitude * np.sin(np.pi * share) * np.cos(sides - angle)
        pulled = zip(cables, pulls, strict=True)  # the others are let go
        return {cable: pl.Displacement(float(pull)) for cable, pull in pulled if pull > 1e-6}

    return control


def trunk() -> Case:
    """Four cables lean it to eight sides; tried to sides between, less far."""
    scene = pl.Scene()
    robot = scene.add(pl.robots.trunk())
    cables = robot.cables[:4]
    trials = {"between": (star(cables, 0.004, 4, turn=0.2), 160)}
    return Case(
        scene.compile(), robot.tip.at, ((star(cables, 0.005, 8), 320),), trials, 24, 2e-2, False, every=2, thin=4
    )


def toward(*direction: float, strength: float = 9.81) -> Controls:
    """Gravity along a direction."""
    gravity = strength * np.array(direction) / np.linalg.norm(direction)
    return lambda k: {"gravity": gravity}


def beam() -> Case:
    """The bench beam drops along z and along y; tried askew, and with half the gravity."""
    world = HEADLINE.world()
    training = ((toward(0, 0, -1), 60), (toward(0, -1, 0), 60), (toward(0, 1, 1), 60))
    trials = {
        "drop along z": (toward(0, 0, -1), 100),
        "askew, not trained": (toward(0.3, -1.0, 2.0, strength=7.0), 100),
    }
    return Case(world, _end(world), training, trials, 8, 1e-2, False, every=2)


def hexahedra() -> Case:
    """A clamped beam of 171 hexahedra that drops."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    rubber = pl.materials.Corotated(young=1e6, poisson=0.45, density=1000)
    mesh = pl.mesh.box((0.19, 0.03, 0.03), (19, 3, 3), element="hex8")
    scene.add(pl.Volume(mesh, rubber, clamp=pl.regions.plane(axis="x", at=0), damping=pl.Rayleigh(stiffness=0.01)))
    world = scene.compile()
    training = ((toward(0, 0, -1), 60), (toward(0, -1, 0), 60), (toward(0, 1, 1), 60))
    trials = {"drop along z": (toward(0, 0, -1), 100), "askew, not trained": (toward(0.3, -1, 2, strength=7.0), 100)}
    return Case(world, _end(world), training, trials, 8, 5e-2, False, every=2, incumbent="960 → 8, 171 → 10")


def _end(world: pl.World) -> Callable[[Any], Any]:
    rest = world.models[0].rest
    nodes = np.flatnonzero(rest[:, 0] > rest[:, 0].max() - 1e-9)
    return lambda state: state.q[0][nodes].mean(axis=0)


CASES = {"finger": finger, "trunk": trunk, "beam": beam, "hexahedra": hexahedra}


def drive(world: pl.World, control: Controls, steps: int) -> tuple[list[pl.State], Any]:
    """States and times of the steps."""
    step, state, states, seconds = pl.ImplicitEuler(dt=DT), world.initial_state(), [], []
    for k in range(steps):
        values = control(k)
        start = perf_counter()
        state, _ = step(world, state, values)
        seconds.append(perf_counter() - start)
        states.append(state)
    return states, np.array(seconds)


def study(case: Case) -> dict[str, Any]:
    """Reduce and try."""
    model = case.world.volumes[0]
    start = perf_counter()
    driven = [drive(case.world, *training)[0] for training in case.training]
    shapes = np.array([state.q[0] for states in driven for state in states[:: case.every]])
    trained = perf_counter()
    found = pod(model, shapes, size=case.modes)
    space = curved(found, shapes) if case.curved else found.subspace()
    few = ecsw(model, space, shapes[:: case.thin], tolerance=case.tolerance, stiffness=case.stiffness)
    report: dict[str, Any] = {
        "unknowns": model.size,
        "modes": few.size,
        "points": model.points.count,
        "visited": len(few.points),
        "discarded": found.discarded,
        "training_s": trained - start,
        "reduction_s": perf_counter() - trained,
        "incumbent": case.incumbent,
    }
    small, plain = reduced(case.world, [few]), reduced(case.world, [space])
    for name, trial in case.trials.items():
        wanted, slow = drive(case.world, *trial)
        ends, fast = drive(small, *trial)
        all_points, _ = drive(plain, *trial)
        rest = case.tip(case.world.initial_state())
        way = np.array([np.linalg.norm(case.tip(state) - rest) for state in wanted])

        def off(states: list[pl.State], wanted: list[pl.State] = wanted) -> Any:
            return np.array([np.linalg.norm(case.tip(a) - case.tip(b)) for a, b in zip(states, wanted, strict=True)])

        report[name] = {
            "tip_error_mm": 1e3 * float(off(ends).max()),
            "tip_error_all_points_mm": 1e3 * float(off(all_points).max()),
            "final_tip_error_mm": 1e3 * float(off(ends)[-1]),
            "tip_motion_mm": 1e3 * float(way.max()),
            "share": float(off(ends).max() / way.max()),
            "full_ms": 1e3 * float(np.median(slow)),
            "reduced_ms": 1e3 * float(np.median(fast)),
            "reduced_least_ms": 1e3 * float(fast.min()),
            "speedup": float(np.median(slow) / np.median(fast)),
        }
    return report


def line(name: str, report: Mapping[str, Any]) -> None:
    """Print a case."""
    kind = f"{report['unknowns']} → {report['modes']}, {report['points']} → {report['visited']} points"
    beside = f"  (incumbent {report['incumbent']})" if report["incumbent"] else ""
    print(f"{name}: {kind}{beside}; {report['training_s']:.1f} s of training, {report['reduction_s']:.1f} s to reduce")
    for trial, found in report.items():
        if isinstance(found, Mapping):
            print(
                f"    {trial:<26} tip off by {found['tip_error_mm']:.2f} mm of {found['tip_motion_mm']:.1f} "
                f"({found['share']:.1%}; all points {found['tip_error_all_points_mm']:.2f} mm, at the end "
                f"{found['final_tip_error_mm']:.2f} mm), step {found['full_ms']:.2f} → {found['reduced_ms']:.2f} ms, "
                f"{found['speedup']:.1f}×"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", default=list(CASES), metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    reports = {}
    for name in options.cases:
        reports[name] = study(CASES[name]())
        line(name, reports[name])
    if options.json:
        options.json.write_text(json.dumps(reports, indent=2))


if __name__ == "__main__":
    main()
