"""Run a stepper over a span of time and record it; replay a recorded run."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

from pliant.core.checks import positive, positive_count
from pliant.core.declared import declared
from pliant.core.errors import InputError, PliantError, PliantWarning
from pliant.core.interrupts import interruptible
from pliant.core.progress import progress_bar
from pliant.record.causes import ballooning, cause
from pliant.record.recorder import Recorder
from pliant.record.run import Run
from pliant.stepping import QuasiStatic, StepInfo
from pliant.world import State, World

Control = Callable[[float, State], Mapping[Any, Any]]
LONGEST = 1e12
"""Steps of a run beyond which the time or the step was meant in another unit."""


@declared
def simulate(
    world: World,
    stepper: Any,
    *,
    until: float,
    control: Control | None = None,
    callback: Callable[[State, StepInfo], None] | None = None,
    start: State | None = None,
    progress: bool | None = None,
    steps: int | None = None,
) -> Run:
    """Step from `start` (default: the initial state) to time `until` (s) and return the recorded run.

    stepper
        A dynamic stepper, or `pl.QuasiStatic`: then each instant is an equilibrium, `control` gives the load path, and
        the run is drawn, exported and plotted as any other.
    control
        ``control(t, state)`` gives the controls of the step that ends at t (s).
    callback
        Called after each step with the new state and the step's info.
    progress
        Show a progress bar with the time left; None: on a terminal and in a notebook, where it takes over two seconds.
    steps
        Count of equilibria of a `pl.QuasiStatic` without dt, evenly spread over the time.

    A step that fails raises its error with `error.run`, the run up to it. Ctrl-C ends the simulation after the present
    step and returns the run so far, with a warning; twice within three seconds it raises `KeyboardInterrupt`.
    """
    for what, function in (("control", control), ("callback", callback)):
        if function is not None and (isinstance(function, type) or not callable(function)):
            raise InputError(f"{what} of simulate() must be a function or None, got {function!r:.60}")
    state = world.initial_state() if start is None else start
    span = positive("until − start time", until - state.time, unit="s")
    stepper = _timed(stepper, span, steps)
    if span / stepper.dt > LONGEST:
        raise InputError(f"{span:g} s are {span / stepper.dt:.3g} steps of {stepper.dt:g} s, more than {LONGEST:.0e}")
    count = max(1, round(span / stepper.dt))
    recorder = Recorder(world, state, stepper)
    first, warned = state.time, Warned()
    with progress_bar("simulate", count, shown=progress) as advance, interruptible() as interrupted:
        for k in range(1, count + 1):
            with noted(recorder, k, count, first + k * stepper.dt):
                controls = control(first + k * stepper.dt, state) if control else None
                try:
                    state, info = stepper(world, state, controls)
                except PliantError as error:
                    if (why := cause(world, recorder.latest())) is not None:
                        error.args = (f"{why}. The step failed thus: {error}", *error.args[1:])
                    raise
            recorder.add(state, info, controls)
            if info.warnings:
                warned.tell(state.time, info, recorder)
            if callback:
                with noted(recorder, k, count, state.time):
                    callback(state, info)
            advance()
            if interrupted():
                left = f"interrupted at {state.time:g} of {until:g} s; this is the run so far"
                warnings.warn(f"{left} (Ctrl-C twice ends the program)", PliantWarning, stacklevel=3)
                break
    return recorder.run()


@contextmanager
def noted(recorder: Recorder, step: int, count: int, time: float) -> Iterator[None]:
    """Errors of a step, and of the functions that are called in it, keep their kind; a note says at which `step` of
    `count` that ends at `time` (s) they arose, and `run` holds the steps that were done.
    """
    try:
        yield
    except Exception as error:
        run = recorder.run()
        with suppress(AttributeError):  # of a class with slots
            error.run = run  # type: ignore[attr-defined]
        done = f"`error.run` holds the run so far, {len(run.times) - 1} of {count} steps"
        error.add_note(f"in step {step} of the simulation, which ends at {time:g} s; {done}")
        raise


class Warned:
    """Warnings of steps, each told once for a pair of bodies or a cause, not at every step."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def tell(self, time: float, info: StepInfo, recorder: Recorder) -> None:
        """Warn of what the step that ended at `time` (s) reports and none before it did. While a chamber balloons, its
        name is all that is told: the other warnings follow from it.
        """
        burst = ballooning(info.world, recorder.latest())
        for text in info.warnings if burst is None else (burst,):
            without_numbers = re.sub(r"\d[\d.e+-]*", "", text)
            if without_numbers not in self._told:
                warnings.warn(f"at {time:g} s: {text}", PliantWarning, stacklevel=4)
            self._told.add(without_numbers)


def _timed(stepper: Any, span: float, steps: int | None) -> Any:
    """`stepper` with a time step: its own, or that of `steps` equilibria over `span` (s)."""
    if getattr(stepper, "dt", None) is not None:
        if steps is not None:
            raise InputError(f"steps is for a pl.QuasiStatic without dt; this {type(stepper).__name__} has dt")
        return stepper
    if not isinstance(stepper, QuasiStatic):
        raise InputError(f"{type(stepper).__name__} has no dt; call it for each load, or use another stepper")
    if steps is None:
        raise InputError("a quasi-static run needs steps, the count of equilibria: pl.simulate(…, until=1.0, steps=50)")
    return replace(stepper, dt=span / positive_count("steps", steps))


def replay(run: Run) -> Run:
    """Simulate `run` again from its first state, with its world, controls and stepper; bit for bit the same."""
    if run.world is None or run.stepper is None:
        raise InputError("this run was recorded without its world or stepper, so it cannot be replayed")
    if run.start is None:
        raise InputError("this run was recorded without its first state, so it cannot be replayed")
    state = replace(run.start, world=run.world)
    recorder = Recorder(run.world, state, run.stepper)
    for controls in run.controls:
        state, info = run.stepper(run.world, state, controls)
        recorder.add(state, info, controls)
    return recorder.run()
