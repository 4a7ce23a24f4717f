"""The bench "tail": two minutes of the soak, how long the slowest steps take beside the usual ones."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.soak.episodes import EULER, Record, Robots, run_episode, stepper_of
from benchmarks.soak.report import joined, quantiles, robot_summary
from pliant.core.errors import InputError

ROBOTS = ("finger", "gripper", "trunk", "tower", "bellows", "pneumatic finger")
"""Cables and chambers, self-contact, friction, obstacles, and a free cube."""
WARM = 2.0
"""Seconds of each robot, once its scene is built, whose steps are not counted: kernels come from the disk."""


def run_tail(*, data: Path | None = None, seconds: float = 120.0, robots: tuple[str, ...] = ROBOTS) -> dict[str, Any]:
    """Random actuation of several robots, 2 to 20 ms a step: median, 99th percentile and maximum of the time of a step.

    `seconds` by the clock for all `robots` together; times are processor time of one thread, ms.
    """
    if data is not None:
        raise InputError(f"bench 'tail' builds its own bodies and reads no data, got data={str(data)!r}; leave it out")
    made = Robots()
    records = {robot: _records(made, robot, seconds / len(robots)) for robot in robots}
    every = [record for some in records.values() for record in some]
    return {
        **quantiles(joined(every, lambda record: record.cpu)),
        "steps": sum(len(record.cpu) for record in every),
        "robots": {robot: robot_summary(some) for robot, some in records.items()},
    }


def _records(made: Robots, robot: str, seconds: float) -> list[Record]:
    made.scene(robot, EULER[0])
    begin, records, state = perf_counter(), [], None
    run_episode(made, robot, 0, stepper=EULER[0], deadline=begin + min(WARM, 0.2 * seconds), measure=False)
    for index in range(np.iinfo(int).max):
        record, state, _ = run_episode(
            made, robot, index, stepper=stepper_of(index, EULER), start=state, deadline=begin + seconds, measure=False
        )
        records.append(record)
        if perf_counter() >= begin + seconds:
            break
    return records
