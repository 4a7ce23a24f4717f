"""Short runs whose results are recorded bit for bit: examples, benches, experiments, robots in every stepper.

A run is a function that steps worlds; `trace` hands back the first states that any stepper returned while it ran, and
stops it there. `python tests/rules/recorded_runs.py` records all of them anew in `recorded_runs.json`, and with names
behind it only those: do so where a defect is mended, and say in the commit which runs changed and why.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import platform
import runpy
import sys
import tempfile
from functools import partial
from importlib.metadata import version
from pathlib import Path
from unittest import mock

import numpy as np
from threadpoolctl import threadpool_info

import pliant as pl

ROOT = Path(__file__).resolve().parents[2]
RECORD = Path(__file__).with_suffix(".json")
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))  # experiments and benchmarks stand at the root
STEPPERS = (pl.ImplicitEuler, pl.ImplicitMidpoint, pl.DampedMidpoint, pl.QuasiStatic, pl.Geometric)


class Enough(BaseException):
    """As many states were traced as were asked for."""


def trace(run, count):
    """The arrays of the first `count` states that steppers returned while `run()` ran, as (kind, array): "q", "v" or
    "lam".
    """
    states = []

    def traced(call, self, *args, **kwargs):
        state, info = call(self, *args, **kwargs)
        states.append([*(("q", q) for q in state.q), *(("v", v) for v in state.v), ("lam", state.lam)])
        if len(states) == count:
            raise Enough
        return state, info

    with contextlib.ExitStack() as stack:
        for stepper in STEPPERS:
            call = stepper.__call__

            def wrapper(self, *args, _call=call, **kwargs):
                return traced(_call, self, *args, **kwargs)

            stack.enter_context(mock.patch.object(stepper, "__call__", wrapper))
        stack.enter_context(mock.patch.object(os, "cpu_count", return_value=1))  # sweeps stay in this process
        stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        stack.enter_context(contextlib.chdir(folder))
        records = Path(folder) / "records"  # experiments keep what they computed offline: here nothing is kept
        stack.enter_context(mock.patch("experiments.goury_parts.cache_folder", return_value=records))
        stack.enter_context(contextlib.suppress(Enough))
        run()
    return [pair for state in states for pair in state]


def example(name):
    runpy.run_path(str(ROOT / "examples" / f"{name}.py"), run_name="__main__")


def bench(name):
    from benchmarks.tasks import run_bench

    run_bench(name)


def experiment(name):
    from experiments import reproduce

    reproduce(name)


def robot(make, stepper, controls=None, *, collide=False, steps=9, gravity=-9.81):
    """A robot under gravity, its actuators driven along a ramp."""
    scene = pl.Scene(gravity=(0.0, 0.0, gravity))
    thing = scene.add(make())
    if collide:
        scene.collide(thing, thing)
    world = scene.compile()
    state = world.initial_state()
    for k in range(steps):
        state, _ = stepper(world, state, {} if controls is None else controls(thing, (k + 1) / steps))


def pulled(distance):
    return lambda thing, t: {thing.cables[0]: pl.Displacement(distance * t)}


def inflated(pressure):
    return lambda thing, t: {thing.cavities[0]: pl.Pressure(pressure * t)}


def enlarged(ratio):
    return lambda thing, t: {cavity: pl.VolumeRatio(1.0 + (ratio - 1.0) * t) for cavity in thing.cavities}


def reduced(**tolerances):
    """A finger reduced from a few steps of a ramp: its contacts, and where asked its motion."""
    scene = pl.Scene(gravity=(0.0, 0.0, -9.81))
    finger = scene.add(pl.robots.finger())
    scene.collide(finger, finger)
    world = scene.compile()
    plan = pl.reduction.ramps(world, amplitude=0.03, steps=40)
    fast = pl.reduction.reduce(world, plan, **tolerances)
    state = fast.initial_state()
    for k in range(25):
        state, _ = EULER(fast, state, {finger.cable: pl.Displacement(0.03 * (k + 1) / 25)})


def gripper(stepper):
    scene = pl.Scene(gravity=(0.0, 0.0, -9.81))
    grip = scene.add(pl.robots.gripper())
    grip.collide(scene)
    world = scene.compile()
    state = world.initial_state()
    for k in range(9):
        state, _ = stepper(world, state, {cable: pl.Displacement(0.002 * (k + 1)) for cable in grip.cables})


def rigid(stepper):
    """A box and a ball on a plane, with friction."""
    scene = pl.Scene(gravity=(0.5, 0.0, -9.81))
    floor = scene.add(pl.Obstacle.plane(normal=(0, 0, 1)))
    box = scene.add(pl.RigidBody.box(size=(0.04, 0.04, 0.04), mass=0.1, position=(0.0, 0.0, 0.021)))
    ball = scene.add(pl.RigidBody.sphere(radius=0.02, mass=0.05, position=(0.1, 0.0, 0.0205)))
    scene.collide(box, floor, friction=0.4)
    scene.collide(ball, floor, friction=0.4)
    world = scene.compile()
    state = world.initial_state()
    for _ in range(20):
        state, _ = stepper(world, state)


def slender(make, stepper):
    """A beam or a rod that is held at its base and sags."""
    scene = pl.Scene(gravity=(0.0, 0.0, -9.81))
    scene.add(make())
    world = scene.compile()
    state = world.initial_state()
    for _ in range(6):
        state, _ = stepper(world, state)


def beam():
    points = np.linspace((0, 0, 0), (0.3, 0, 0), 9)
    section = pl.sections.Circle(2e-3)
    return pl.Beam(points, section=section, young=2e9, poisson=0.3, density=1000.0, clamp=[0])


def rod():
    section = pl.sections.Circle(2e-3)
    return pl.Rod(0.3, 6, section=section, young=2e9, poisson=0.3, density=1000.0)


def hybrid(make, until):
    """The whole solution of an event-driven run, whose adaptive steps are those of one machine, and its end."""
    solution = pl.hybrid.integrate(make(), until=until)
    whole = (solution.times, solution.q, solution.v, solution.lam)
    return [*((None, array) for array in whole), ("q", solution.final.q), ("v", solution.final.v)]


EULER = pl.ImplicitEuler(0.01)
EXACT = pl.ImplicitEuler(0.01, tolerance=1e-9)
MIDPOINT = pl.ImplicitMidpoint(0.01, tolerance=1e-9)
DAMPED = pl.DampedMidpoint(0.01, tolerance=1e-9)
STATIC = pl.QuasiStatic()
ONE = pl.QuasiStatic(newton_iterations=1)

_HYBRID = {"bortoff-ball", "bortoff-delta", "bortoff-maze"}  # no stepper: `hybrid` has their systems


ALL = 10**9
SLOW = {"example reduce_finger", "experiment goury-finger", "experiment goury-manipulator"}
"""Runs to the end, since reduced worlds come last in them."""


def _runs():
    """Functions by name, each with the number of states to trace; 0: the function hands arrays back itself."""
    runs = {}
    counts = {"grasp": ALL, "lift": ALL, "needle": 300, "reduce_finger": ALL, "inverse_trunk": 40, "arm_obstacles": 60}
    without_steps = {"bouncing_ball", "maze_control", "learn_reach"}  # the last one needs torch, and steps elsewhere
    for path in sorted((ROOT / "examples").glob("*.py")):
        if path.stem not in without_steps:
            runs[f"example {path.stem}"] = (partial(example, path.stem), counts.get(path.stem, 8))
    for name in ("beam", "block", "finger", "gripper", "rod", "trunk"):
        runs[f"bench {name}"] = (partial(bench, name), 30)
    from experiments import EXPERIMENTS

    for name in EXPERIMENTS:
        if name not in _HYBRID:
            label = f"experiment {name}"
            runs[label] = (partial(experiment, name), ALL if label in SLOW else 1 if name.startswith("fang") else 25)
    R, ratio = pl.robots, partial(robot, stepper=pl.Geometric(), steps=2, gravity=0.0)
    runs |= {
        "finger euler": (partial(robot, R.finger, EULER, pulled(0.03), collide=True, steps=40), ALL),
        "finger exact": (partial(robot, R.finger, EXACT, pulled(0.01)), ALL),
        "finger midpoint": (partial(robot, R.finger, MIDPOINT, pulled(0.01)), ALL),
        "finger static": (partial(robot, R.finger, STATIC, pulled(0.01), steps=3), ALL),
        "trunk euler": (partial(robot, R.trunk, EULER, pulled(0.01)), ALL),
        "trunk midpoint": (partial(robot, R.trunk, MIDPOINT, steps=3), ALL),
        "trunk static": (partial(robot, R.trunk, STATIC, pulled(0.005), steps=1), ALL),
        "trunk one solve": (partial(robot, R.trunk, ONE, pulled(0.01)), ALL),
        "tower euler": (partial(robot, R.tower, EULER, inflated(2e3), collide=True), ALL),
        "tower static": (partial(robot, R.tower, STATIC, inflated(5e2), steps=1), ALL),
        "bellows euler": (partial(robot, R.bellows, EULER, inflated(1e3), steps=4), ALL),
        "pneunet euler": (partial(robot, R.pneunet, EULER, inflated(5e3), steps=3), ALL),
        "pneunet static": (partial(robot, R.pneunet, STATIC, inflated(2e3), steps=1), ALL),
        "spine euler": (partial(robot, R.spine, EULER, pulled(0.005), steps=2), ALL),
        "finger with reduced contacts": (partial(reduced, contact_tolerance=0.2), ALL),
        "finger with reduced motion": (partial(reduced, contact_tolerance=0.2, motion_tolerance=1e-3), ALL),
        "gripper euler": (partial(gripper, EULER), ALL),
        "gripper midpoint": (partial(gripper, pl.ImplicitMidpoint(0.01)), 4),
        "rigid euler": (partial(rigid, EULER), ALL),
        "rigid midpoint": (partial(rigid, pl.ImplicitMidpoint(0.01)), ALL),
        "rigid damped midpoint": (partial(rigid, DAMPED), ALL),
        "finger damped midpoint": (partial(robot, R.finger, DAMPED, pulled(0.01), steps=3), ALL),
        "twister geometric": (partial(ratio, R.twister, controls=enlarged(1.2)), ALL),
        "membrane geometric": (partial(ratio, R.membrane, controls=enlarged(1.1)), ALL),
    }
    for make in (beam, rod):
        for name, stepper in (
            ("euler", EULER),
            ("exact", EXACT),
            ("midpoint", MIDPOINT),
            ("damped", DAMPED),
            ("static", STATIC),
        ):
            runs[f"{make.__name__} {name}"] = (partial(slender, make, stepper), ALL)
    runs |= {
        "hybrid ball": (partial(hybrid, pl.hybrid.bouncing_ball, 1.5), 0),
        "hybrid delta": (partial(hybrid, pl.hybrid.delta_robot, 0.05), 0),
    }
    return runs


RUNS = _runs()


def arrays_of(name):
    """The arrays of a recorded run, in their order, as (kind, array)."""
    run, count = RUNS[name]
    return trace(run, count) if count else run()


def digest(arrays):
    """Hash of the bits and shapes of arrays."""
    sha = hashlib.sha256()
    whole = [array for kind, array in arrays if kind is None]
    for array in whole or [array for _, array in arrays]:
        sha.update(str(array.shape).encode())
        sha.update(np.ascontiguousarray(array, np.float64).tobytes())
    return sha.hexdigest()[:24]


OUTLINED = 12


def outline(arrays):
    """Kind, size, norm and one projection of each of the first arrays: enough to compare with other machines, where
    later ones of runs with contact drift apart.
    """
    lines = []
    for kind, array in [pair for pair in arrays if pair[0] is not None][:OUTLINED]:
        flat = np.asarray(array, np.float64).ravel()
        lines.append([kind, flat.size, float(np.linalg.norm(flat)), float(flat @ np.cos(np.arange(flat.size)))])
    return lines


def machine():
    """What the last bits depend on: the processor, the kernels of BLAS and the versions of what computes."""
    blas = sorted({str(pool.get("architecture")) for pool in threadpool_info() if pool["user_api"] == "blas"})
    features = "avx512f" if "avx512f" in _flags() else "avx2" if "avx2" in _flags() else "older"
    packages = [f"{name} {version(name)}" for name in ("numpy", "scipy", "numba", "llvmlite", "daqp")]
    return " · ".join([platform.machine(), features, *blas, *packages])


def _flags():
    info = Path("/proc/cpuinfo")
    return set(info.read_text().split()) if info.exists() else set()


def record(names):
    """Run and write down `names`, all of them where none is given; the others stay as they are, and so does their
    machine: on another one the bits of a run are left out.
    """
    known = json.loads(RECORD.read_text()) if names and RECORD.exists() else {"runs": {}, "machine": machine()}
    same = known["machine"] == machine()
    kept = {name: known["runs"][name] for name in RUNS if name in known["runs"] and name not in names}
    for name in names or RUNS:
        arrays = arrays_of(name)
        kept[name] = {"bits": digest(arrays) if same else "", "outline": outline(arrays)}
        print(f"{name}: {len(arrays)} arrays")
    runs = {name: kept[name] for name in RUNS if name in kept}
    text = ",\n".join(f"{json.dumps(name)}: {json.dumps(run)}" for name, run in runs.items())
    RECORD.write_text(f'{{"machine": {json.dumps(known["machine"], ensure_ascii=False)},\n"runs": {{\n{text}\n}}}}\n')


if __name__ == "__main__":
    if sys.argv[1:2] == ["--digest"]:
        print(digest(arrays_of(sys.argv[2])))
    else:
        record(sys.argv[1:])
