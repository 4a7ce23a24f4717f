"""The silicone beam against motion capture: sag, ring-down and motion, with one set of parameters.

Recordings are registered by six markers at the first frame of rest, as their authors do it. Displacements are taken
from that frame, so that the offset of a marker from its nominal place does not count. What differs from take to take,
such as a sideways motion of 0.4 mm, is in the numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import least_squares

from pliant.core.types import FloatArray
from pliant.recordings import load_c3d, register
from validation.beam_comsol import COMSOL
from validation.row import Row
from validation.silicone_beam import CENTERS, FEET, LAG, LOAD, Motion, release, sag, silicone

CLAMP = ((-0.094, -0.01, -0.001), (-0.094, 0.04, 0.0275), (-0.094, 0.04, 0.0))
"""Markers on the clamp, m."""
REST = 100
"""Last frames of a recording, at rest."""
WINDOW = (0.06, 1.2)
"""Time after the release in which frequency and decay are fitted, s: the string is taut, the motion above the noise."""
CREEP = 0.3
"""Time of the slow approach to rest beside the oscillation in that fit, s."""
UNTIL = 2.2
"""Simulated time, s: less than 5 % of the oscillation is left. The beam is taken to be at rest 0.3 s later."""
LATE = 0.015
"""The hand lets go within so much of the published frame, s; the instant is fitted."""
EARLY = 0.11
"""Time in which the string pulls taut, s."""
LAGS = (0.006, 0.012, 0.018, 0.024)
"""Delays of the weight that are tried, s."""


@dataclass(frozen=True)
class Case:
    """Recordings of one load: the first frame of rest of each take, and what a row may be wrong by."""

    title: str
    weight: float
    takes: dict[str, int]
    sag_error: float


LOADS = (
    Case("own weight", 0.0, {"gravity_V2_a": 71, "gravity_V2_b": 65}, 0.3),
    Case("52 g", LOAD, {"load52_V2_a": 43, "load52_V2_b": 58}, 0.7),
)


def take(data: Path, name: str, frame: int) -> Any:
    """Displacements (frames, 3, 3), m, of the tip markers since `frame`, and the rate, Hz."""
    recorded = load_c3d(data / f"beam_{name}.c3d")
    placed = recorded.moved(register(recorded.points[frame], [*CENTERS, *CLAMP]))
    return placed.points[frame:, :3] - placed.points[frame, :3], recorded.rate


def ring_down(times: FloatArray, height: FloatArray, guess: float) -> tuple[float, float]:
    """Frequency (Hz) and rate of decay (1/s) of a damped oscillation about a rest that is approached slowly."""
    inside = (times >= WINDOW[0]) & (times < WINDOW[1])
    t, z = times[inside], height[inside]

    def left(p: Any) -> FloatArray:
        fade = np.exp(-p[1] * t)
        turn = 2.0 * np.pi * p[0] * t
        basis = np.stack([fade * np.cos(turn), fade * np.sin(turn), np.ones_like(t), np.exp(-t / CREEP)], axis=1)
        return np.asarray(basis @ np.linalg.lstsq(basis, z, rcond=None)[0] - z)

    found = least_squares(left, [guess, 2.0]).x
    return float(found[0]), float(found[1])


def apart(motion: Motion, measured: FloatArray, rate: float) -> tuple[float, float]:
    """Rms difference (m) of the height of the tip over the whole take, each about its rest, and the instant of release
    (s) that fits. How far the rests are apart is a row of its own.
    """
    ours, theirs = motion.displacements[:, :, 2].mean(axis=1), measured[:, :, 2].mean(axis=1)
    ours, theirs = ours - ours[-1], theirs - theirs[-REST:].mean()
    times = np.arange(len(theirs)) / rate
    lates = np.arange(-LATE, LATE + 1e-9, 0.001)
    distances = [np.sqrt(np.nanmean((np.interp(times - late, motion.times, ours) - theirs) ** 2)) for late in lates]
    best = int(np.argmin(distances))
    return float(distances[best]), float(lates[best])


def lag_asked_for(points: FloatArray, rate: float) -> float:
    """The delay of the weight (s) with which the first frames of a take are met best, whatever comes later."""
    theirs = points[: round(EARLY * rate), :, 2].mean(axis=1)
    times = np.arange(len(theirs)) / rate
    lates = np.arange(-LATE, LATE + 1e-9, 0.001)
    distances = []
    for lag in LAGS:
        motion = _early(lag)
        ours = motion.displacements[:, :, 2].mean(axis=1)
        apart = [np.mean((np.interp(times - late, motion.times, ours) - theirs) ** 2) for late in lates]
        distances.append(min(apart))
    curve = np.polyfit(LAGS, distances, 2)
    return float(np.clip(-0.5 * curve[1] / curve[0], LAGS[0], LAGS[-1]))


@lru_cache(maxsize=8)
def _early(lag: float) -> Motion:
    return release(silicone(), LOAD, until=EARLY + LATE, lag=lag)


@lru_cache(maxsize=2)
def simulated(weight: float) -> Motion:
    """The motion of the beam with `weight` (N), then its rest; kept, for rows and pictures."""
    motion = release(silicone(), weight, until=UNTIL)
    rest = sag(silicone(), weight)
    return Motion(np.append(motion.times, [UNTIL + 0.3, 60.0]), np.concatenate([motion.displacements, [rest, rest]]))


def rows(data: Path) -> list[Row]:
    """Rest, frequency, decay and motion at both loads."""
    made = []
    for case in LOADS:
        takes = [take(data, name, frame) for name, frame in case.takes.items()]
        measured = np.mean([points[-REST:].mean(axis=0) for points, _ in takes], axis=0)
        ours = sag(silicone(), case.weight)
        distance = 1e3 * float(np.sqrt(np.mean(np.sum((ours - measured) ** 2, axis=1))))
        made.append(_row(f"rms of the tip markers at rest, {case.title}", distance, 0.0, "mm", case.sag_error))
        drop, sagged = (-1e3 * float(np.mean(x[:, 2])) for x in (measured, ours))
        theirs = -float(np.mean(np.subtract(COMSOL[case.title], 1e3 * np.array(FEET))[:, 2]))
        made.append(
            Row(
                quantity=f"drop of the tip, {case.title}", ours=sagged, reference=drop, unit="mm",
                published=abs(theirs - drop) / drop, note="published: COMSOL model of the authors, feet of the markers",
            )
        )  # fmt: skip
        made += _motion_rows(case, takes, drop)
    return made


def _motion_rows(case: Case, takes: list[Any], drop: float) -> list[Row]:
    motion = simulated(case.weight)
    guess = 4.3 if case.weight else 7.7
    rings = [ring_down(np.arange(len(p)) / rate, p[:, :, 2].mean(axis=1), guess) for p, rate in takes]
    measured = np.mean(rings, axis=0)
    ours = ring_down(motion.times, motion.displacements[:, :, 2].mean(axis=1), guess)
    distances = [1e3 * apart(motion, points, rate)[0] / drop for points, rate in takes]
    rms = 100.0 * float(np.sqrt(np.mean(np.square(distances))))
    takes_note = f"rms of the motion over the drop, {case.title}: {' and '.join(f'{100 * d:.1f}' for d in distances)} %"
    found = [
        _row(f"frequency of the ring-down, {case.title}", ours[0], float(measured[0]), "Hz", 0.015),
        _row(f"rate of decay, {case.title}", ours[1], float(measured[1]), "1/s", 0.1),
        Row(quantity=f"rms of the motion over the drop, {case.title}", ours=rms, reference=0.0, unit="%", allowed=4.0,
            note=f"{takes_note} in the two takes"),
    ]  # fmt: skip
    if case.weight:
        for name, (points, rate) in zip("ab", takes, strict=True):
            asked = 1e3 * lag_asked_for(points, rate)
            found.append(_row(f"delay of the weight that take {name} asks for", 1e3 * LAG, asked, "ms", None))
    return found


def _row(quantity: str, ours: float, reference: float, unit: str, allowed: float | None) -> Row:
    return Row(quantity=quantity, ours=ours, reference=reference, unit=unit, allowed=allowed)
