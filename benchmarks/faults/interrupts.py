"""Ctrl-C at a random moment: always `KeyboardInterrupt`, and what was in use gives the same bits afterwards."""

from __future__ import annotations

import signal
import time
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import pliant as pl
from benchmarks.faults.children import Child
from benchmarks.faults.works import check_kernels, compile_kernels, motion, same_run, world


@cache
def _finger() -> tuple[pl.Scene, pl.World, Any]:
    """A finger that touches a ball and itself, and its cable."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    finger = scene.add(pl.robots.finger())
    ball = scene.add(pl.RigidBody.sphere(radius=0.015, mass=0.02, position=(0.06, 0, -0.02)))
    scene.collide(finger, ball, friction=0.5)
    scene.collide(finger, finger)
    return scene, scene.compile(), finger.cable


def _end(stepper: Any, made: pl.World, controls: Any, steps: int = 3) -> np.ndarray:
    state = made.initial_state()
    for _ in range(steps):
        state, _ = stepper(made, state, controls)
    return np.concatenate([q.ravel() for q in state.q])


def _steps(stepper: Any, folder: Path) -> tuple[Callable[[], object], Callable[[], str | None]]:
    """Steps again and again with one stepper, in one world."""
    made, cable = world() if isinstance(stepper, pl.QuasiStatic) else _finger()[1:]
    controls = {cable: pl.Displacement(0.003)}
    wanted = _end(stepper, made, controls)
    return (
        lambda: _end(stepper, made, controls),
        lambda: None if np.array_equal(_end(stepper, made, controls), wanted) else "other bits after Ctrl-C",
    )


def _simulate(folder: Path) -> tuple[Callable[[], object], Callable[[], str | None]]:
    _, made, _ = _finger()
    stepper = pl.ImplicitEuler(0.01)
    wanted = pl.simulate(made, stepper, until=0.05)

    def run() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the first Ctrl-C gives the run so far
            pl.simulate(made, stepper, until=0.3)

    def usable() -> str | None:
        after = pl.simulate(made, stepper, until=0.05)
        return None if same_run(after, wanted) else "other bits after Ctrl-C"

    return run, usable


def _compile(folder: Path) -> tuple[Callable[[], object], Callable[[], str | None]]:
    scene, made, _ = _finger()

    def usable() -> str | None:
        return None if scene.compile().fingerprint == made.fingerprint else "another world after Ctrl-C"

    return scene.compile, usable


def _save(folder: Path) -> tuple[Callable[[], object], Callable[[], str | None]]:
    path, run = folder / "run.npz", motion(60)
    run.save(path)
    return lambda: run.save(path), lambda: None if same_run(pl.load(path), run) else "the run is damaged"


def _kernels(folder: Path) -> tuple[Callable[[], object], Callable[[], str | None]]:
    def work() -> None:
        compile_kernels(folder, 0)
        for path in (folder / "cache").rglob("*.code"):
            path.unlink(missing_ok=True)

    return work, lambda: check_kernels(folder, 0)


KINDS: dict[str, Callable[[Path], tuple[Callable[[], object], Callable[[], str | None]]]] = {
    "a step": lambda folder: _steps(pl.ImplicitEuler(0.01), folder),
    "a step on two threads": lambda folder: _steps(pl.ImplicitMidpoint(0.01, threads=2), folder),
    "a quasi-static solve": lambda folder: _steps(pl.QuasiStatic(), folder),
    "simulate": _simulate,
    "compile a scene": _compile,
    "save": _save,
    "compile kernels": _kernels,
}
"""What is interrupted: the work, done again and again, and what is wrong afterwards."""


def interrupt_trial(name: str, seed: int, folder: Path) -> str | None:
    """One trial; what is wrong, None where nothing is."""

    def disturbed(begin: Callable[[], None]) -> str | None:
        work, usable = KINDS[name](folder)
        end = time.monotonic() + 60.0
        try:
            begin()
            while time.monotonic() < end:
                work()
        except KeyboardInterrupt:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            begin()  # no more of it
            return usable()
        return "Ctrl-C was lost"

    child, random = Child(disturbed), np.random.default_rng(seed)
    child.wait_begun()
    time.sleep(random.uniform(0.0, 0.6 if name == "compile kernels" else 0.1))
    child.send(signal.SIGINT)
    while name == "simulate" and child.said() < 2:  # the first one ends a simulation early, the second one raises
        time.sleep(random.uniform(0.02, 0.2))  # two that come at once are one
        child.send(signal.SIGINT)
    return child.answer() or None


def prepare() -> None:
    """Load what the children inherit."""
    for make in (pl.ImplicitEuler(0.01), pl.ImplicitMidpoint(0.01, threads=2), pl.QuasiStatic()):
        _steps(make, Path())
    world()
