"""Event-driven systems against the clock: ball, maze, delta robot, many balls, three cubes.

    python -m benchmarks.hybrid [--repeat 5] [--json FILE]

Times are the least process time of several runs, compiled and warm. The floor is what the right-hand sides alone cost:
how many the run took, times the cost of one at the states that it went through; what is above it are steps, events and
samples. The last column is the limit that is asked for.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np

import pliant as pl
from benchmarks.hybrid_balls import balls_in_a_box
from pliant.hybrid import Solution, integrate
from pliant.hybrid.controllers import Flow


def least(run: Callable[[], Any], repeat: int) -> float:
    best = np.inf
    for _ in range(repeat):
        begin = process_time()
        run()
        best = min(best, process_time() - begin)
    return float(best)


def floor(run: Callable[[], Solution], repeat: int) -> tuple[float, int, Solution]:
    """Seconds for the right-hand sides alone, how many there were, and the run."""
    count, usual = 0, Flow.rate

    def counted(self: Flow, t: float, y: Any) -> Any:
        nonlocal count
        count += 1
        return usual(self, t, y)

    Flow.rate = counted  # type: ignore[method-assign]
    try:
        solution = run()
    finally:
        Flow.rate = usual  # type: ignore[method-assign]
    records = solution.records[:: max(1, len(solution.records) // 200)]

    def bare() -> None:
        for record in records:
            record.flow.rate(record.t, record.y)

    return count * least(bare, repeat) / len(records), count, solution


def cases() -> dict[str, tuple[Callable[[], Solution], str]]:
    hybrid = pl.hybrid
    robot = hybrid.delta_robot()
    touch = hybrid.soft_touch(robot)
    pile: dict[str, Any] = {
        "positions": [(0.0, 0.0, 0.09), (0.03, 0.01, 0.25), (-0.02, 0.02, 0.42)],
        "rotation_vectors": [(0.05, -0.04, 0.3), (0.3, 0.2, 0.5), (-0.3, 0.5, 0.7)],
    }
    return {
        "ball, 10 s, α₁ = 0": (lambda: integrate(hybrid.bouncing_ball(alpha=(100.0, 0.0, 1e6)), until=10.0), "0.05 s"),
        "ball, 10 s, α₁ = 20": (lambda: integrate(hybrid.bouncing_ball(), until=10.0), "0.05 s"),
        "maze, 100 s": (
            lambda: integrate(hybrid.ball_maze(), until=100.0, control=hybrid.maze_controller(), sample=0.05), "5 s"),
        "delta, 1 s at 1 kHz": (
            lambda: integrate(robot, until=1.0, control=touch, order=5, rtol=1e-8, sample=5e-3), "1 s"),
        "three cubes, 0.3 s": (
            lambda: integrate(hybrid.falling_cubes(**pile), until=0.3, sample=0.02, rtol=1e-6, atol=1e-8), "none"),
    }  # fmt: skip


def per_event(count: int, until: float, repeat: int) -> tuple[float, int]:
    """Seconds per event of `count` balls in a box, and how many events there were."""
    box = balls_in_a_box(count)
    events = len(integrate(box, until=until, sample=None, rtol=1e-7).events)
    return least(lambda: integrate(box, until=until, sample=None, rtol=1e-7), repeat) / events, events


def main() -> None:
    """Print times, floors and limits."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--repeat", type=int, default=5)
    options.add_argument("--json")
    given = options.parse_args()
    report: dict[str, Any] = {}
    print(f"{'':24}{'time':>10}{'floor':>10}{'ratio':>7}{'rates':>8}{'steps':>7}{'events':>7}   limit")
    for name, (run, limit) in cases().items():
        run()
        seconds = least(run, given.repeat)
        low, count, solution = floor(run, given.repeat)
        steps, events = len(solution.records), len(solution.events)
        report[name] = {"seconds": seconds, "floor_seconds": low, "rates": count, "steps": steps, "events": events}
        print(f"{name:24}{seconds:9.4f}s{low:9.4f}s{seconds / low:7.2f}{count:8d}{steps:7d}{events:7d}   {limit}")
    first = None
    for count, until in ((20, 0.15), (100, 0.08), (400, 0.05)):
        cost, events = per_event(count, until, given.repeat)
        first = first or (count, cost)
        growth, linear = cost / first[1], count / first[0]
        report[f"{count} balls"] = {"seconds_per_event": cost, "events": events, "growth": growth, "linear": linear}
        print(f"{count:4d} balls: {1e3 * cost:.2f} ms an event, {growth:.1f} times the first; in proportion {linear:g}")
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:
            json.dump(report, file, indent=2)


if __name__ == "__main__":
    main()
