"""Run a stepper over a stretch of time and record what happened."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from rich.progress import Progress

from pliant.core.checks import positive
from pliant.core.errors import InputError, PliantWarning
from pliant.stepping.info import StepInfo
from pliant.stepping.run import Recorder, Run
from pliant.world import State, World


class Stepper(Protocol):
    """The one contract of every stepper."""

    def __call__(self, world: World, state: State, controls: Mapping[Any, Any] | None = None) -> tuple[State, StepInfo]:
        """The next state and what the step reports."""


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
        raise InputError(
            f"{type(stepper).__name__} has no dt; call it yourself for each load, or use a dynamic stepper"
        )
    state = world.initial_state() if start is None else start
    span = positive("until − start time", until - state.time, unit="s")
    count = max(1, round(span / dt))
    recorder = Recorder(world, state, stepper)
    first = state.time
    with Progress(disable=not progress, transient=True) as bar:
        task = bar.add_task("simulate", total=count)
        for number in range(1, count + 1):
            controls = control(first + number * dt, state) if control else None
            state, info = stepper(world, state, controls)
            recorder.add(state, info, controls)
            for text in info.warnings:
                warnings.warn(f"at {state.time:g} s: {text}", PliantWarning, stacklevel=2)
            if callback:
                callback(state, info)
            bar.advance(task)
    return recorder.run()
