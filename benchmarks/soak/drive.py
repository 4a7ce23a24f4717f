"""Random commands of an actuator: smooth, ramps, holds and jumps, to and beyond its working range."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

BEYOND = 1.25
"""Largest command over the working range where the actuator has no limit of its own."""
JUMPS = 0.15
"""Fraction of the segments that are jumps."""
JUMP = 0.2
"""Largest jump over the range of the drive: a hand on a slider, not a motor that moves at 30 m/s."""


@dataclass(frozen=True, eq=False)
class Drive:
    """One command: `make` turns an amount between `low` and `high` (SI) into the control value of all `handles`."""

    handles: tuple[Any, ...]
    make: Callable[[float], Any]
    low: float
    high: float

    def controls(self, amount: float) -> dict[Any, Any]:
        """Control values of its handles."""
        return dict.fromkeys(self.handles, self.make(amount))


def random_amounts(rng: np.random.Generator, steps: int, dt: float, drive: Drive, *, idle: float) -> np.ndarray:
    """Amounts (steps,) of `drive` for steps of `dt` s, from 0 on; a fraction `idle` of the segments rests there."""
    amounts = np.empty(steps)
    at, value = 0, 0.0
    while at < steps:
        count = max(1, int(rng.uniform(0.1, 0.8) / dt))
        target = 0.0 if rng.random() < idle else rng.uniform(drive.low, drive.high)
        part: np.ndarray = np.arange(1, count + 1) / count
        shape: np.ndarray = 0.5 - 0.5 * np.cos(np.pi * part)
        kind = rng.random()
        if kind < JUMPS:
            far = JUMP * (drive.high - drive.low)
            target, shape = min(max(target, value - far), value + far), np.ones(count)
        elif kind < 0.3:
            shape = part
        piece = value + (target - value) * shape
        amounts[at : at + count] = piece[: steps - at]
        at, value = at + count, target
    return amounts
