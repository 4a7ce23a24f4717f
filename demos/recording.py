"""How the motion of a demonstration is simulated and looked over, and how motions begin and end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from pliant.core.kernels import compiled_count
from pliant.record import Run, simulate
from pliant.stepping import ImplicitEuler
from pliant.world import World


class Driven(Protocol):
    """A compiled scene that knows its stepper and what drives it."""

    @property
    def world(self) -> World:
        """The scene."""

    @property
    def stepper(self) -> ImplicitEuler:
        """What steps it."""

    def control(self, t: float, state: Any) -> dict[Any, Any]:
        """Controls at time t (s)."""


Bench = TypeVar("Bench", bound=Driven)


def record(bench: Bench, check: Callable[[Run, Bench], None], *, until: float, progress: bool = True) -> Run:
    """Simulate the motion to `until` (s) and `check` it. A first step, which loads kernels, is untimed; where others
    were compiled during the run, which is no time of a step, the motion is simulated once more.
    """
    stepper = bench.stepper
    stepper(bench.world, bench.world.initial_state(), bench.control(stepper.dt, None))
    for _ in range(2):
        compiled = compiled_count()
        run = simulate(bench.world, stepper, until=until, control=bench.control, progress=progress)
        if compiled == compiled_count():
            break
    check(run, bench)
    return run


def smooth(x: float) -> float:
    """From 0 to 1 while x does, without a jolt at either end."""
    x = min(max(x, 0.0), 1.0)
    return x * x * (3.0 - 2.0 * x)
