"""Reduced bodies beside full ones: unknowns, integration points, time of a step, and how far the tip is off.

    python -m benchmarks.reduction [CASE …] [--json FILE]

Each case is trained by one motion and tried with others; the trunk, and the tower, which touches itself, by
`pl.reduction.reduce` and `validate`. The inverse of the trunk runs on the reduced one, and the full one is given the
cable displacements that it finds. The incumbent's reductions (DoFs → modes, elements → points) stand beside ours where
it ships them; it gives no errors.
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
from benchmarks.tasks.beam import HEADLINE
from pliant.reduced import Subspace
from pliant.reduction import curved, ecsw, experiments, latin_hypercube, pod, reduce, validate
from pliant.world.reduced import reduced

Controls = Callable[[int], Mapping[Any, Any]]
DT = 0.01
"""Time step, s."""


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
    return Case(world, _end(world), training, trials, 8, 0.1, False, every=2, incumbent="960 → 8, 171 → 10")


def _end(world: pl.World) -> Callable[[Any], Any]:
    rest = world.models[0].rest
    nodes = np.flatnonzero(rest[:, 0] > rest[:, 0].max() - 1e-9)
    return lambda state: state.q[0][nodes].mean(axis=0)


CASES = {"finger": finger, "beam": beam, "hexahedra": hexahedra}


def trunk() -> dict[str, Any]:
    """A hanging trunk pulled by four cables, by one call: 30 runs to random forces, tried with three others."""
    scene = pl.Scene(gravity=(0, 0, 9.81))
    robot = scene.add(pl.robots.trunk(guide_stiffness=0.0))
    forces = {"amplitude": 0.15, "kind": pl.Force, "actuators": robot.cables[:4]}
    return planned(scene.compile(), forces, 12, pl.QuasiStatic(tolerance=1e-6), motion_tolerance=3e-4)


def tower() -> dict[str, Any]:
    """Four chambers and self-contact, by one call: 30 runs to random pressures, tried with three others."""
    scene = pl.Scene()
    robot = scene.add(pl.robots.tower(material=pl.materials.Corotated(young=3e5, poisson=0.45, density=1080.0)))
    scene.collide(robot, robot, margin=robot.margin)
    pressures = {"amplitude": 6e3, "kind": pl.Pressure}
    return planned(scene.compile(), pressures, 16, None, motion_tolerance=3e-4, contact_tolerance=0.03)


PLANNED = {"trunk": trunk, "tower": tower}


def planned(
    world: pl.World, targets: Mapping[str, Any], steps: int, stepper: Any, **tolerances: float
) -> dict[str, Any]:
    """Reduce a robot by random actuations and validate it by others."""
    model = world.volumes[0]
    start = perf_counter()
    plan = latin_hypercube(world, 30, steps=steps, seed=3, **targets)
    snapshots = experiments(world, plan, stepper=stepper, workers=1, progress=False)
    trained = perf_counter()
    fast = reduce(world, snapshots, stepper=stepper, **tolerances)
    ready = perf_counter()
    judged = validate(fast, world, latin_hypercube(world, 3, steps=steps, seed=77, **targets), stepper=stepper)
    few = next(part for part in fast.reductions if isinstance(part, Subspace))
    return {
        "unknowns": model.size,
        "modes": few.size,
        "points": model.points.count,
        "visited": len(few.points),
        "tolerance": tolerances["motion_tolerance"],
        "training_s": trained - start,
        "reduction_s": ready - trained,
        "incumbent": "",
        "held-out actuations": {
            "tip_error_mm": 1e3 * float(judged.motion_error.max()),
            "tip_motion_mm": 1e3 * float(judged.motion.max()),
            "fraction": judged.error,
            "full_ms": float(np.median(judged.full_ms)),
            "reduced_ms": float(np.median(judged.fast_ms)),
            "speedup": judged.speedup,
        },
    }


def trunk_inverse() -> dict[str, Any]:
    """The tip of a hanging trunk goes round by an inverse, trained by a smaller and a larger circle. How far the tip of
    the full trunk is from its targets under the cable displacements that the inverse finds on the reduced trunk, and
    under those it finds on the full one. (Standing, it is not stable under its weight: no actuation carries over.)
    """
    scene = pl.Scene(gravity=(0, 0, 9.81))
    robot = scene.add(pl.robots.trunk(guide_stiffness=0.0))
    tip, world = pl.Effector(robot.tip), scene.compile()
    inverse = pl.QuasiStatic(newton_iterations=2, solver=pl.Inverse(effectors=[tip], actuators=robot.cables))
    start = robot.tip.at(pl.QuasiStatic()(world, world.initial_state(), dict.fromkeys(robot.cables, pl.Force(0.0)))[0])

    def round_trip(radius: float) -> list[Any]:
        circle = list(pl.paths.circle(center=(0, 0, 0.19), radius=radius, count=60))
        return [start + fraction * (circle[0] - start) for fraction in np.linspace(0.1, 1.0, 10)] + circle

    def followed(world: pl.World, targets: list[Any]) -> tuple[list[Any], list[Any], float]:
        state, shapes, pulls, seconds = world.initial_state(), [], [], []
        for target in targets:
            begun = perf_counter()
            state, info = inverse(world, state, {tip: target})
            seconds.append(perf_counter() - begun)
            shapes.append(state.q[0])
            pulls.append(info.actuation(robot.cables)[0].copy())
        return shapes, pulls, 1e3 * float(np.median(seconds))

    def off(targets: list[Any], pulls: list[Any]) -> Any:
        state, errors = world.initial_state(), []
        for target, row in zip(targets, pulls, strict=True):
            controls = {cable: pl.Displacement(float(pull)) for cable, pull in zip(robot.cables, row, strict=True)}
            state, _ = pl.QuasiStatic(newton_iterations=3)(world, state, controls)
            errors.append(float(np.linalg.norm(robot.tip.at(state) - target)))
        return 1e3 * np.array(errors[2:])

    model = world.volumes[0]
    shown = np.array([shape for radius in (0.01, 0.03) for shape in followed(world, round_trip(radius))[0]])
    few = ecsw(model, pod(model, shown, tolerance=1e-4).subspace(), shown[::2], tolerance=3e-3)
    targets = round_trip(0.02)
    _, own, full_ms = followed(world, targets)
    _, found, reduced_ms = followed(reduced(world, [few]), targets)
    by_full, by_reduced = off(targets, own), off(targets, found)
    return {
        "modes": few.size,
        "visited": len(few.points),
        "motion_mm": 1e3 * float(max(np.linalg.norm(target - start) for target in targets)),
        "full_tip_mm": {"mean": float(by_full.mean()), "max": float(by_full.max())},
        "reduced_tip_mm": {"mean": float(by_reduced.mean()), "max": float(by_reduced.max())},
        "full_ms": full_ms,
        "reduced_ms": reduced_ms,
    }


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
        "tolerance": case.tolerance,
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
        motion = np.array([np.linalg.norm(case.tip(state) - rest) for state in wanted])

        def off(states: list[pl.State], wanted: list[pl.State] = wanted) -> Any:
            return np.array([np.linalg.norm(case.tip(a) - case.tip(b)) for a, b in zip(states, wanted, strict=True)])

        report[name] = {
            "tip_error_mm": 1e3 * float(off(ends).max()),
            "tip_error_all_points_mm": 1e3 * float(off(all_points).max()),
            "final_tip_error_mm": 1e3 * float(off(ends)[-1]),
            "tip_motion_mm": 1e3 * float(motion.max()),
            "fraction": float(off(ends).max() / motion.max()),
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
            every = found.get("tip_error_all_points_mm")
            more = "" if every is None else f"; all points {every:.2f} mm"
            print(
                f"    {trial:<26} off by {found['tip_error_mm']:.2f} mm of {found['tip_motion_mm']:.1f} "
                f"({found['fraction']:.1%}{more}), step {found['full_ms']:.2f} → {found['reduced_ms']:.2f} ms, "
                f"{found['speedup']:.1f}×"
            )


def inverse_line(report: Mapping[str, Any]) -> None:
    """Print how the actuation of the reduced trunk carries over to the full one."""
    full, few = report["full_tip_mm"], report["reduced_tip_mm"]
    print(
        f"inverse of the trunk ({report['modes']} modes, {report['visited']} points): the tip of the full trunk is off "
        f"by {few['mean']:.2f} mm, at most {few['max']:.2f} mm ({few['max'] / report['motion_mm']:.1%} of its motion), "
        f"under the cables of the reduced inverse; {full['mean']:.2f} and {full['max']:.2f} mm under those of the full "
        f"one; step {report['full_ms']:.2f} → {report['reduced_ms']:.2f} ms"
    )


def table(reports: Mapping[str, Mapping[str, Any]]) -> str:
    """All cases with the worst of their trials, as Markdown."""
    lines = [
        "| body | unknowns → modes | points → visited | tolerance | error, not trained | ms | speed-up | incumbent |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, report in reports.items():
        trials = [found for found in report.values() if isinstance(found, Mapping)]
        worst = max(trials, key=lambda found: found["fraction"])
        cells = (
            name,
            f"{report['unknowns']} → {report['modes']}",
            f"{report['points']} → {report['visited']}",
            f"{report['tolerance']:g}",
            f"{worst['fraction']:.1%} of {worst['tip_motion_mm']:.0f} mm",
            f"{worst['full_ms']:.2f} → {worst['reduced_ms']:.2f}",
            f"{worst['speedup']:.1f}",
            report["incumbent"] or "–",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Run the cases."""
    names = [*CASES, *PLANNED, "inverse"]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", default=names, metavar="CASE", help=", ".join(names))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if unknown := [name for name in options.cases if name not in names]:
        parser.error(f"{unknown[0]!r} is no case; choose of {', '.join(names)}")
    reports: dict[str, Any] = {}
    for name in (name for name in options.cases if name != "inverse"):
        reports[name] = PLANNED[name]() if name in PLANNED else study(CASES[name]())
        line(name, reports[name])
    if reports:
        print(table(reports))
    if "inverse" in options.cases:
        reports["inverse"] = trunk_inverse()
        inverse_line(reports["inverse"])
    if options.json:
        options.json.write_text(json.dumps(reports, indent=2))


if __name__ == "__main__":
    main()
