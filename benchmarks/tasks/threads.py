"""Bench "threads": a step of 50 700 tetrahedra on one thread and on two, which take turns; the results must be equal.

Times are by the clock: they need two free cores. `critical_ms` does not: it is the processor time of the longest chain
of parts that wait for each other, taken from the same step with all parts run one after the other. Waiting of threads
for each other, and for memory that both read, are not in it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, thread_time
from typing import Any

import numpy as np

from benchmarks.tasks.beam import Variant
from pliant import materials
from pliant.core.errors import InputError
from pliant.core.threads import threads_allowed
from pliant.models.volume import halved
from pliant.solvers.linear import divided_front, factor, halves
from pliant.stepping import ImplicitEuler
from pliant.world import State

CELLS = (50, 13, 13)
VARIANTS = {
    "plain corotated": Variant(CELLS),
    "default neo-Hookean": Variant(CELLS, law=materials.NeoHookean, anti_locking=True),
}
WARM_UP = 1


def run_threads(
    *, data: Path | None = None, steps: int = 4, variants: dict[str, Variant] | None = None
) -> dict[str, Any]:
    """A step of 50 700 tetrahedra on one thread and on two: milliseconds, ratio, and whether the bits are equal.

    The report has, for each of the `variants`, "step_ms" and "critical_ms" under "1" and "2" threads, the least of some
    `steps`, the "ratio" of both, "stages_ms" under "1" and "2", "same_bits", "tets" and "unknowns".
    """
    if data is not None:
        raise InputError(
            f"bench 'threads' builds its own bodies and reads no data, got data={str(data)!r}; leave it out"
        )
    return {name: _compared(variant, steps) for name, variant in (variants or VARIANTS).items()}


def _compared(variant: Variant, steps: int) -> dict[str, Any]:
    world = variant.world()
    steppers = {count: ImplicitEuler(dt=0.01, threads=count) for count in (1, 2)}
    states: dict[int, State] = dict.fromkeys(steppers, world.initial_state())
    wall: dict[int, list[float]] = {1: [], 2: []}
    critical: dict[int, list[float]] = {1: [], 2: []}
    stages: dict[int, list[dict[str, float]]] = {1: [], 2: []}
    for step in range(WARM_UP + steps):
        for count, stepper in steppers.items():
            before, begin = states[count], perf_counter()
            states[count], info = stepper(world, before)
            seconds = perf_counter() - begin
            with _in_turn() as spared:
                start = thread_time()
                stepper(world, before)
                spent = thread_time() - start - sum(spared)
            if step >= WARM_UP:
                wall[count].append(seconds)
                critical[count].append(spent)
                stages[count].append(dict(info.stage_times))
    return {
        "step_ms": {str(count): 1e3 * min(some) for count, some in wall.items()},
        "ratio": min(wall[1]) / min(wall[2]),
        "critical_ms": {str(count): 1e3 * min(some) for count, some in critical.items()},
        "critical_ratio": min(critical[1]) / min(critical[2]),
        "stages_ms": {str(count): _least(some) for count, some in stages.items()},
        "same_bits": all(np.array_equal(a, b) for a, b in zip(states[1].q, states[2].q, strict=True)),
        "tets": variant.mesh().cell_count,
        "unknowns": world.volumes[0].symbolic.unknown_count,
    }


def _least(stages: list[dict[str, float]]) -> dict[str, float]:
    return {name: 1e3 * min(some[name] for some in stages) for name in stages[0]}


@contextmanager
def _in_turn() -> Iterator[list[float]]:
    """Run parts that would be beside each other one after the other; the list gets what each pair would have spared,
    in seconds of processor time.
    """
    spared: list[float] = []

    def timed(work: Callable[..., Any], *given: Any) -> tuple[Any, float]:
        start = thread_time()
        return work(*given), thread_time() - start

    def beside(one: Callable[[], Any], other: Callable[[], Any]) -> tuple[Any, Any]:
        (a, first), (b, second) = timed(one), timed(other)
        if threads_allowed() > 1:
            spared.append(min(first, second))
        return a, b

    def eliminate_halves(
        cut: halves.Halves, eliminate: Callable[[int, int, int], int], divide: Callable[[int], int]
    ) -> int:
        load, waiting = [0.0, 0.0], deque(cut.queue)
        while waiting:
            root, thread = waiting.popleft(), int(load[0] > load[1])
            load[thread] += timed(eliminate, thread, int(cut.first[root]), root)[1]
        spared.append(min(load))
        return max(divide(s) for s in cut.rest)

    places: list[tuple[Any, str, Any]] = [(module, "beside", beside) for module in (halves, divided_front, halved)]
    places.append((factor, "eliminate_halves", eliminate_halves))
    before = [(module, name, getattr(module, name)) for module, name, _ in places]
    try:
        for module, name, function in places:
            setattr(module, name, function)
        yield spared
    finally:
        for module, name, function in before:
            setattr(module, name, function)
