"""An episode: some simulated time of one robot with one stepper, every step checked.

Episode k of a robot continues from the end of the one before, and from rest with every turn of the steppers. Its
commands follow from the seed, the robot and k alone. A step that fails is left out and the next one goes on from the
last good state; where the state itself is wrong, or no step succeeds, the robot starts from rest with its commands
eased in.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from time import perf_counter, process_time
from typing import Any

import numpy as np

from benchmarks.soak.drive import random_amounts
from benchmarks.soak.zoo import FRICTION, ZOO, SoakScene
from pliant.core.errors import PliantError
from pliant.models.volume import VolumeModel
from pliant.stepping import ImplicitEuler, ImplicitMidpoint, QuasiStatic
from pliant.stepping.minimum_energy import Geometric
from pliant.world import State

SECONDS = 2.0
"""Simulated time of an episode unless another is asked for, s."""
FINE = 0.002
"""Interval of the signals, s: the shortest dt."""
UNREPORTED = 1e-4
"""Penetration beyond the reported one that counts as unreported, m."""
FAST = 100.0
"""Speed above which a robot of hand size has blown up, m/s."""
SAMPLED = 0.1
"""Simulated time between two penetrations by brute force, s: they cost as much as several steps."""
UNMET = "constraint forces beyond their tolerance"
"""Steps whose solver ended at its budget: the best forces are used, and the step says so."""
FAILURES = 10
"""Failed steps one after the other after which the robot starts from rest."""
EASED = 0.4
"""Simulated time over which commands are eased in from rest, s."""
WALL = 30.0
"""An episode is cut short after this processor time, s: what else the machine does must not decide."""

STEPPERS: dict[str, tuple[Callable[[float], Any], float]] = {
    "Euler 10 ms": (ImplicitEuler, 0.010),
    "Euler 20 ms": (ImplicitEuler, 0.020),
    "QuasiStatic 20 ms": (lambda dt: QuasiStatic(dt=dt), 0.020),
    "Midpoint 5 ms": (lambda dt: ImplicitMidpoint(dt, tolerance=1e-8), 0.005),
    "Geometric 20 ms": (lambda dt: Geometric(), 0.020),
    "Euler 5 ms": (ImplicitEuler, 0.005),
    "Euler 5 ms, tolerance 1e-6": (lambda dt: ImplicitEuler(dt, tolerance=1e-6), 0.005),
    "Euler 2 ms": (ImplicitEuler, 0.002),
}
"""The steppers in turn, with their dt, s. Static ones take the commands of every dt."""
EULER = tuple(name for name in STEPPERS if name.startswith("Euler") and "tolerance" not in name)


@dataclass
class Record:
    """What an episode measured. Arrays have one entry for each accepted step: `wall` and `cpu` seconds, seconds of the
    `stages`, `rows`, `iterations`. `penetration` holds (step, measured m, reported m) of the sampled steps.
    """

    robot: str
    index: int
    stepper: str
    simulated: float = 0.0
    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    stages: dict[str, list[float]] = field(default_factory=dict)
    rows: list[int] = field(default_factory=list)
    iterations: list[int] = field(default_factory=list)
    penetration: list[tuple[int, float, float]] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    failures: list[dict[str, Any]] = field(default_factory=list)
    memory: tuple[float, float] = (0.0, 0.0)

    def count(self, what: str) -> None:
        """Count an event."""
        self.counts[what] = self.counts.get(what, 0) + 1


@dataclass(frozen=True, eq=False)
class Failure:
    """A step that failed: the state before it, its commands (a pair of the set and the amounts), and why."""

    state: State
    step: int
    kinds: tuple[int, ...]
    amounts: tuple[float, ...]
    why: str


class Robots:
    """Scenes and steppers of one process, built when first needed."""

    def __init__(self) -> None:
        self._scenes: dict[tuple[str, bool], SoakScene] = {}
        self._steppers: dict[tuple[str, str], Any] = {}

    def scene(self, robot: str, stepper: str) -> SoakScene:
        """The scene of a robot; geometric steps know no friction."""
        key = (robot, stepper.startswith("Geometric"))
        if key not in self._scenes:
            self._scenes[key] = ZOO[robot](0.0 if key[1] else FRICTION)
        return self._scenes[key]

    def can_take(self, robot: str, stepper: str) -> bool:
        """Whether the stepper knows all bodies of the scene: geometric steps know volumes only."""
        if not stepper.startswith("Geometric"):
            return True
        return all(isinstance(model, VolumeModel) for model in self.scene(robot, stepper).world.models)

    def stepper(self, robot: str, name: str) -> Any:
        """The stepper `name` of a robot, with its own workspace."""
        if (robot, name) not in self._steppers:
            make, dt = STEPPERS[name]
            self._steppers[robot, name] = make(dt)
        return self._steppers[robot, name]


def stepper_of(index: int, steppers: tuple[str, ...] = tuple(STEPPERS)) -> str:
    """Name of the stepper of episode `index`."""
    return steppers[index % len(steppers)]


def commands(
    scene: SoakScene, robot: str, index: int, dt: float, *, seed: int, seconds: float
) -> tuple[tuple[int, ...], np.ndarray]:
    """Which set of drives each actuator follows, and their amounts (steps, drives): a window of `seconds` of signals
    that run through a whole turn of the steppers.
    """
    turn, episode = divmod(index, len(STEPPERS))
    rng = np.random.default_rng([seed, zlib.crc32(robot.encode()), turn])
    kinds = tuple(int(rng.random() < 0.25) % len(scene.drives) for _ in scene.drives[0])
    total = round(len(STEPPERS) * seconds / FINE)
    signals = np.column_stack(
        [random_amounts(rng, total, FINE, scene.drives[kind][k], idle=scene.idle) for k, kind in enumerate(kinds)]
    )
    ends = episode * seconds + dt * np.arange(1, round(seconds / dt) + 1)
    return kinds, signals[np.minimum(np.round(ends / FINE).astype(int), total) - 1]


def controls_of(scene: SoakScene, kinds: tuple[int, ...], amounts: Any) -> dict[Any, Any]:
    """Control values of one step."""
    given: dict[Any, Any] = {}
    for k, (kind, amount) in enumerate(zip(kinds, amounts, strict=True)):
        given |= scene.drives[kind][k].controls(float(amount))
    return given


def run_episode(
    robots: Robots, robot: str, index: int, *, seed: int = 0, start: State | None = None, stepper: str | None = None,
    deadline: float = np.inf, measure: bool = True, seconds: float = SECONDS,
) -> tuple[Record, State, list[Failure]]:  # fmt: skip
    """Episode `index` of `robot`, of `seconds` from `start` (None: rest), until `deadline` by `perf_counter`: what it
    measured, its last state, and the steps that failed. `measure` samples the penetration by brute force.
    """
    name = stepper_of(index) if stepper is None else stepper
    scene, step, dt = robots.scene(robot, name), robots.stepper(robot, name), STEPPERS[name][1]
    record, failures = Record(robot, index, name), []
    kinds, amounts = commands(scene, robot, index, dt, seed=seed, seconds=seconds)
    state = scene.world.initial_state() if start is None or start.world is not scene.world else start
    limit, in_a_row = process_time() + WALL, 0
    every, before = max(1, round(SAMPLED / dt)), resident_megabytes()
    eased, since = EASED / dt if start is None else 0.0, 0
    for number, amount in enumerate(amounts):
        if perf_counter() > deadline or process_time() > limit:
            record.count("cut short")
            break
        amount = amount * min(1.0, (number - since + 1) / eased) if eased else amount
        controls = controls_of(scene, kinds, amount)
        wall, cpu = perf_counter(), process_time()
        try:
            following, info = step(scene.world, state, controls)
            taken = perf_counter() - wall, process_time() - cpu
            wrong = list(wrongs(state, following, dt))
        except (PliantError, ArithmeticError, LookupError, TypeError, ValueError) as error:
            taken = perf_counter() - wall, process_time() - cpu
            wrong = [class_of(error)]
        if measure and not wrong and number % every == every - 1:
            measured, pair = scene.penetration(following)
            record.penetration.append((number, measured, info.penetration))
            if measured > info.penetration + UNREPORTED:
                wrong = [f"penetration unreported: {pair}"]
        if wrong:
            failures.append(Failure(state, number, kinds, tuple(map(float, amount)), wrong[0]))
            record.failures.append({"step": number, "why": wrong, "wall": taken[0], "cpu": taken[1]})
            for each in wrong:
                record.count(each)
            in_a_row, record.simulated = in_a_row + 1, record.simulated + dt
            if in_a_row == FAILURES or not wrong[0].startswith("error"):
                record.count("started from rest")
                state, eased, in_a_row, since = scene.world.initial_state(), EASED / dt, 0, number + 1
            continue
        in_a_row = 0
        _keep(record, info, taken, len(following.lam))
        state, record.simulated = following, record.simulated + dt
    record.memory = (before, resident_megabytes())
    return record, state, failures


def wrongs(start: State, state: State, dt: float) -> Iterator[str]:
    """What is wrong with an accepted `state`, dt (s) after `start`, in words that can be counted. Speeds are those of
    nodes, over the step and at its end: light sections of beams turn fast.
    """
    for model, begun, q, v in zip(state.world.models, start.q, state.q, state.v, strict=True):
        if not (np.isfinite(q).all() and np.isfinite(v).all()):
            yield "not finite"
            continue
        if isinstance(model, VolumeModel) and model.least_volume_ratio(q) <= 0.0:
            yield "inverted element accepted"
        moved = model.node_positions(q) - model.node_positions(begun)
        speeds = [moved / dt, v if isinstance(model, VolumeModel) else v[:, 0] if v.ndim == 3 else np.zeros((1, 3))]
        if max(np.linalg.norm(each, axis=-1).max(initial=0.0) for each in speeds) > FAST:
            yield "blown up"


def class_of(error: Exception) -> str:
    """The class of an error: its type and its message without names and numbers."""
    text = re.sub(r"'[^']*'", "…", str(error).split("\n")[0])
    text = re.sub(r"[-+]?\d[\d.,]*(e[-+]?\d+)?", "#", text)
    kind = "error" if isinstance(error, PliantError) else "error (not a PliantError)"
    return f"{kind}: {type(error).__name__}: {text[:90]}"


def resident_megabytes() -> float:
    """Resident memory of the process, MB; 0 where the system does not tell."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    except OSError:
        return 0.0


def _keep(record: Record, info: Any, taken: tuple[float, float], rows: int) -> None:
    count = len(record.wall)
    record.wall.append(taken[0])
    record.cpu.append(taken[1])
    record.rows.append(rows)
    record.iterations.append(info.iterations)
    if not info.constraint_status.ok:
        record.count(UNMET)
    for stage, seconds in info.stage_times.items():
        record.stages.setdefault(stage, [0.0] * count).append(seconds)
    for seconds in record.stages.values():
        if len(seconds) == count:
            seconds.append(0.0)
