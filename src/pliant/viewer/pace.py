"""How fast a live simulation runs: times of steps, and simulated time against the clock."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np


class Pace:
    """How long steps take, and how simulated time compares with the clock, over about the last second."""

    def __init__(self) -> None:
        self._marks: list[tuple[float, float, float]] = []
        self.stages: dict[str, float] = {}
        """Seconds of each stage, a mean in which late steps count most."""

    def add(self, dt: float, seconds: float, now: float, stages: Mapping[str, float]) -> None:
        """A step of dt (s) took `seconds`, with `stages` (s), and ended at `now` on the clock (s)."""
        self._marks = [mark for mark in self._marks if now - mark[2] <= 1.0][-400:]
        self._marks.append((dt, seconds, now))
        known = self.stages or stages
        names = dict.fromkeys([*known, *stages])
        self.stages = {name: 0.9 * known.get(name, 0.0) + 0.1 * stages.get(name, 0.0) for name in names}

    @property
    def count(self) -> int:
        """Steps that are looked at."""
        return len(self._marks)

    @property
    def step(self) -> float:
        """Length of the last step, s."""
        return self._marks[-1][0]

    @property
    def seconds(self) -> list[float]:
        """Times of the steps, s."""
        return [seconds for _, seconds, _ in self._marks]

    @property
    def step_seconds(self) -> float:
        """Median time of a step, s."""
        return float(np.median(self.seconds)) if self._marks else 0.0

    @property
    def factor(self) -> float:
        """Simulated time over the clock's."""
        if len(self._marks) < 2:
            return 0.0
        return sum(dt for dt, _, _ in self._marks[1:]) / (self._marks[-1][2] - self._marks[0][2])
