"""Run a stepper over a span of time and record it; replay a recorded run."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from pliant.core.checks import positive
from pliant.core.errors import InputError, PliantError, PliantWarning
from pliant.core.progress import progress_bar
from pliant.record.recorder import Recorder
from pliant.record.run import Run
from pliant.stepping import StepInfo
from pliant.world import State, World

Control = Callable[[float, State], Mapping[Any, Any]]


def simulate(
    world: World,
    stepper: Any,
    *,
    until: float,
    control: Control | None = None,
    callback: Callable[[State, StepInfo], None] | None = None,
    start: State | None = None,
    progress: bool = False,
) -> Run:
    """Step from `start` (default: the initial state) to time `until` (s) and return the recorded run.

    control
        ``control(t, state)`` gives the controls of the step that ends at t (s).
    callback
        Called after each step with the new state and the step's info.
    progress
        Show a progress bar.
    """
    dt = getattr(stepper, "dt", None)
    if dt is None:
        raise InputError(f"{type(stepper).__name__} has no dt; call it for each load, or use a dynamic stepper")
    state = world.initial_state() if start is None else start
    span = positive("until − start time", until - state.time, unit="s")
    count = max(1, round(span / dt))
    recorder = Recorder(world, state, stepper)
    first = state.time
    warned: set[str] = set()
    with progress_bar("simulate", count, shown=progress) as advance:
        for k in range(1, count + 1):
            try:
                controls = control(first + k * dt, state) if control else None
                state, info = stepper(world, state, controls)
            except PliantError as error:
                error.run = recorder.run()
                error.add_note(f"at {state.time:g} s of the simulation; `error.run` holds the {k - 1} steps before it")
                raise
            recorder.add(state, info, controls)
            for text in info.warnings:
                without_numbers = re.sub(r"\d[\d.e+-]*", "", text)
                if without_numbers not in warned:  # once for each pair of bodies, not at every step
                    warnings.warn(f"at {state.time:g} s: {text}", PliantWarning, stacklevel=2)
                warned.add(without_numbers)
            if callback:
                callback(state, info)
            advance()
    return recorder.run()


def replay(run: Run) -> Run:
    """Simulate `run` again from its first state, with its world, controls and stepper; bit for bit the same."""
    if run.world is None or run.stepper is None:
        raise InputError("this run was recorded without its world or stepper, so it cannot be replayed")
    if run.start is None:  # files of an older version have positions and velocities of the first state only
        q, v = (tuple(values[0].copy() for values in recorded) for recorded in (run.positions, run.motions))
        state = State(run.world, float(run.times[0]), q, v, np.zeros(0))
    else:
        state = replace(run.start, world=run.world)
    recorder = Recorder(run.world, state, run.stepper)
    for controls in run.controls:
        state, info = run.stepper(run.world, state, controls)
        recorder.add(state, info, controls)
    return recorder.run()
