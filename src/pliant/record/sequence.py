"""A run of states that a loop collected: equilibria under a sequence of loads, or steps of one's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from pliant.core.checks import positive
from pliant.core.errors import InputError
from pliant.record.bodies import recorded_bodies
from pliant.record.recorder import Recorder
from pliant.record.run import Run
from pliant.stepping import StepInfo
from pliant.world import State

FRAME = 0.04
"""Default time between two states without time, s: each is a frame of a film of 25 a second."""


def run_of(states: Sequence[State], infos: Sequence[StepInfo] = (), interval: float | None = None) -> Run:
    """The run of `states`, see `Run.of`."""
    if not states:
        raise InputError("a run needs at least one state, got none")
    if infos and len(infos) != len(states) - 1:
        raise InputError(
            f"{len(states)} states have {len(states) - 1} steps between them, but {len(infos)} infos are given; "
            "begin the states with the initial one"
        )
    if any(state.world is not states[0].world for state in states):
        raise InputError("all states of a run must be of one world")
    timed = [replace(state, time=time) for state, time in zip(states, _times(states, interval), strict=True)]
    if not infos:
        return _bare(timed)
    recorder = Recorder(timed[0].world, timed[0])
    for state, info in zip(timed[1:], infos, strict=True):
        recorder.add(state, info)
    return recorder.run()


def _times(states: Sequence[State], interval: float | None) -> list[float]:
    own = [state.time for state in states]
    if interval is None and len(own) > 1 and all(b > a for a, b in pairwise(own)):
        return own
    step = FRAME if interval is None else positive("interval", interval, unit="s")
    return [own[0] + k * step for k in range(len(own))]


def _bare(states: Sequence[State]) -> Run:
    """A run of positions and velocities only."""
    world, steps = states[0].world, np.zeros(len(states) - 1)
    bodies = range(len(world.models))
    return Run(
        times=np.array([state.time for state in states]),
        bodies=recorded_bodies(world),
        positions=tuple(np.stack([state.q[k] for state in states]) for k in bodies),
        motions=tuple(np.stack([state.v[k] for state in states]) for k in bodies),
        step_seconds=steps,
        iterations=steps.copy(),
        linear_residual=steps.copy(),
        world=world,
        start=states[0],
    )
