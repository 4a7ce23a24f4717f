"""Smooth references within limits of velocity, acceleration and jerk: segments of constant jerk, cubic in time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.core.checks import finite_number, non_negative, positive
from pliant.core.declared import declared
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray


@one_line
@dataclass(frozen=True, eq=False)
class JerkProfile:
    """A motion in segments of constant jerk from rest or from a given state.

    `ends` (k,) s are the ends of the segments, `states` (k + 1, 3) position, velocity and acceleration (m, m/s, m/s²)
    at their starts and at the last end, `jerks` (k,) m/s³. After the last end the velocity is constant.
    """

    ends: FloatArray
    states: FloatArray
    jerks: FloatArray

    @classmethod
    def of(cls, durations: Any, jerks: Any, *, position: float = 0.0, velocity: float = 0.0) -> JerkProfile:
        """Segments of `durations` (k,) s with constant `jerks` (k,) m/s³, from `position` (m) with `velocity` (m/s)."""
        state, states = np.array([position, velocity, 0.0]), []
        for T, j in zip(durations, jerks, strict=True):
            states.append(state)
            state = _moved(state, T, j)
        return cls(np.cumsum(durations), np.array([*states, state]), np.asarray(jerks, float))

    def at(self, t: float) -> tuple[float, float, float]:
        """Position (m), velocity (m/s) and acceleration (m/s²) at time t (s)."""
        k = int(np.searchsorted(self.ends, t, side="right"))
        start = 0.0 if k == 0 else float(self.ends[k - 1])
        jerk = float(self.jerks[k]) if k < len(self.jerks) else 0.0
        p, v, a = _moved(self.states[k], max(t - start, 0.0), jerk)
        return float(p), float(v), float(a)

    def then(self, other: JerkProfile) -> JerkProfile:
        """The motion followed by `other`, which starts where it ends."""
        shift = self.states[-1] - other.states[0]
        shift[1:] = 0.0
        return JerkProfile(
            np.concatenate([self.ends, self.ends[-1] + other.ends]),
            np.concatenate([self.states[:-1], other.states + shift]),
            np.concatenate([self.jerks, other.jerks]),
        )


@declared
def rest_to_rest(distance: float, *, velocity: float, acceleration: float, jerk: float) -> JerkProfile:
    """The fastest motion over `distance` (m) within `velocity`, `acceleration` and `jerk` (m/s, m/s², m/s³)."""
    sign = 1.0 if finite_number("distance", distance, unit="m") >= 0.0 else -1.0
    d = abs(distance)
    v, a, j = positive("velocity", velocity), positive("acceleration", acceleration), positive("jerk", jerk)
    ramp = min(a / j, np.sqrt(v / j), (d / (2.0 * j)) ** (1.0 / 3.0))
    top = j * ramp
    hold = max(0.0, min(v / top - ramp, -1.5 * ramp + np.sqrt(0.25 * ramp**2 + d / top))) if d > 0.0 else 0.0
    speed = top * (ramp + hold)
    cruise = max(0.0, d / speed - 2.0 * ramp - hold) if d > 0.0 else 0.0
    durations = [ramp, hold, ramp, cruise, ramp, hold, ramp]
    return JerkProfile.of(durations, [sign * j * k for k in (1.0, 0.0, -1.0, 0.0, -1.0, 0.0, 1.0)])


def rest_to_speed(speed: float, *, acceleration: float, jerk: float) -> JerkProfile:
    """From rest to a constant `speed` (m/s), within `acceleration` (m/s²) and `jerk` (m/s³)."""
    size, sign = abs(speed), 1.0 if speed >= 0.0 else -1.0
    ramp = min(positive("acceleration", acceleration) / positive("jerk", jerk), np.sqrt(size / jerk))
    hold = non_negative("hold", max(size / (jerk * ramp) - ramp, 0.0) if ramp > 0.0 else 0.0)
    return JerkProfile.of([ramp, hold, ramp], [sign * jerk, 0.0, -sign * jerk])


def _moved(state: FloatArray, t: float, jerk: float) -> FloatArray:
    p, v, a = state
    return np.array([p + t * (v + t * (a / 2.0 + t * jerk / 6.0)), v + t * (a + t * jerk / 2.0), a + t * jerk])
