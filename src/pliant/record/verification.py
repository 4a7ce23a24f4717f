"""Verification of a recorded run: simulated again, and every array of it compared."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.core.one_line import one_line
from pliant.core.provenance import differences
from pliant.record.run import Run

TOLERANCE = 1e-9
"""Largest difference of runs from elsewhere, relative to the largest entry of an array, no unit."""


@one_line
@dataclass(frozen=True)
class Verification:
    """What became of a replay. `array` differs most, first at `step` (1: the first), and there or later by `difference`
    relative to its largest entry, no unit; of equal bits all three are None. `elsewhere` says in what the versions and
    the machine of the run differ from the present ones; then the `tolerance` counts instead of the bits.
    """

    steps: int
    elsewhere: tuple[str, ...]
    array: str | None
    step: int | None
    difference: float | None
    tolerance: float = TOLERANCE

    @property
    def identical(self) -> bool:
        """Whether all bits are equal."""
        return self.array is None

    @property
    def passed(self) -> bool:
        """Whether the run replays: bit for bit; one from elsewhere within the tolerance."""
        close = self.difference is not None and self.difference <= self.tolerance
        return self.identical or (bool(self.elsewhere) and close)

    def text(self) -> str:
        """The result in one paragraph."""
        where = f" The run is from elsewhere ({'; '.join(self.elsewhere)})." if self.elsewhere else ""
        if self.identical:
            return f"replays bit for bit, {self.steps} steps.{where}"
        far = (
            f"{self.array} differ by {self.difference:.3g} of their largest entry, first at step {self.step} of "
            f"{self.steps}"
        )
        if not self.elsewhere:
            return f"does not replay bit for bit: {far}. Version, platform and processor are those of the run."
        verdict = "replays within" if self.passed else "does not replay within"
        return f"{verdict} {self.tolerance:g}: {far}.{where}"


def verified(run: Run, *, tolerance: float = TOLERANCE) -> Verification:
    """Simulate `run` again and compare times, positions, velocities, actuation and contact forces."""
    again = run.replay()
    worst: tuple[float, str, int] | None = None
    for name, one, other in _pairs(run, again):
        if one.shape == other.shape and np.array_equal(one, other):
            continue
        first, difference = _compared(one, other)
        if worst is None or difference > worst[0]:
            worst = difference, name, first
    elsewhere = tuple(differences(run.made)) if run.made else ("it does not say where it was made",)
    if worst is None:
        return Verification(len(run) - 1, elsewhere, None, None, None, tolerance)
    difference, array, step = worst
    return Verification(len(run) - 1, elsewhere, array, step, difference, tolerance)


def _pairs(run: Run, again: Run) -> Iterator[tuple[str, Any, Any]]:
    yield "times", run.times, again.times
    for k, body in enumerate(run.bodies):
        yield f"positions of {body.name!r}", run.positions[k], again.positions[k]
        yield f"velocities of {body.name!r}", run.motions[k], again.motions[k]
    for one, other in zip(run.forces, again.forces, strict=True):
        yield f"forces of {' – '.join(map(repr, one.names))}", one.values, other.values


def _compared(one: Any, other: Any) -> tuple[int, float]:
    """The first step at which two recordings differ, and their largest difference relative to the largest entry."""
    if one.shape != other.shape:
        return 0, np.inf
    apart = (one != other).reshape(len(one), -1).any(axis=1)
    scale = max(float(np.abs(one).max()), np.finfo(float).tiny)
    return int(np.argmax(apart)), float(np.abs(one - other).max()) / scale
