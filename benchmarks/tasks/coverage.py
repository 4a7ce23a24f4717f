"""The bench of identification: how often the intervals of modulus and friction of a finger cover the true values.

A finger presses its tip on a table while its cable is shortened and let go again, as far as its motor is told. The tip
slides there and back, so that friction reverses: what the cable needs at one length then depends on its way, by the
friction, and on its length, by the modulus. Markers on it have noise of 0.2 mm, the load cell of the cable of 5 mN.
"""

from __future__ import annotations

from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import pliant as pl
from pliant import sweep
from pliant.core.errors import InputError
from pliant.core.types import FloatArray
from pliant.identification import ActuatorForce, Experiment, Markers, Unknown
from pliant.recordings import BoundMarkers

YOUNG, FRICTION = 0.6e6, 0.4
"""The true values, Pa and no unit."""
NOISE = 2e-4
"""Standard deviation of each coordinate of a marker, m."""
FORCE_NOISE = 5e-3
"""Standard deviation of a tension, N, of up to 0.8 N."""
POINTS = (
    (0.03, 0.0, 0.015), (0.044, 0.0, 0.015), (0.072, 0.0, 0.015), (0.086, 0.0, 0.015), (0.1, 0.0, 0.015),
    (0.098, 0.0, 0.008),
)  # fmt: skip
"""Where the markers sit, m."""
PULLS = (0.002, 0.004, 0.006, 0.008, 0.010, 0.012, 0.010, 0.008, 0.006, 0.004)
"""How far the cable is shortened, m."""
FRAMES = 6
"""Frames of motion capture, and readings of the load cell, at each of them."""
DT = 0.1
STEPPER = pl.ImplicitEuler(DT, tolerance=1e-9)
TABLE = -0.012
"""Height of the table, m, below the palm."""
TRIALS = 100
LEVEL = 0.95
LIMITS = {"young": 0.01, "friction": 0.05}
"""Relative errors that are asked for."""


def run_coverage(*, data: Path | None = None, trials: int = TRIALS, workers: int | None = None) -> dict[str, Any]:
    """Fits of modulus and friction to `trials` recordings of a finger on a table, each with noise of its own.

    Under "young" and "friction": in how many trials the 95 % interval covers the true value ("covered") and the error
    is below its limit ("within"), the largest and the rms error, the median half width of the intervals, all relative;
    "both_covered" counts trials in which both do. "noise_factor" is the mean of what the fits say of the noise.
    """
    if data is not None:
        raise InputError("the bench 'coverage' has a mesh of its own; leave out --data")
    found = sweep.run(partial(trial, pulls=PULLS), list(range(trials)), workers=workers, progress=None)
    report: dict[str, Any] = {"trials": trials, "level": LEVEL, "noise_mm": 1e3 * NOISE, "frames": FRAMES * len(PULLS)}
    covered = []
    for name, true in (("young", YOUNG), ("friction", FRICTION)):
        value, low, high = np.array([one[name] for one in found]).T
        error = np.abs(value / true - 1.0)
        covered.append((low <= true) & (true <= high))
        report[name] = {
            "true": true, "covered": int(covered[-1].sum()), "limit": LIMITS[name],
            "within": int((error <= LIMITS[name]).sum()), "largest_error": float(error.max()),
            "rms_error": float(np.sqrt(np.mean(error**2))), "half_width": float(np.median(high - low) / (2.0 * true)),
        }  # fmt: skip
    report["both_covered"] = int((covered[0] & covered[1]).sum())
    report["noise_factor"] = float(np.mean([float(one["noise_factor"]) for one in found]))
    return report


def trial(seed: int, pulls: tuple[float, ...]) -> dict[str, Any]:
    """Values with their intervals, (3,), of the recording of a `seed`, searched from a random start."""
    rng = np.random.default_rng(seed)
    markers, tensions = (np.repeat(exact, FRAMES, axis=0) for exact in recorded(pulls))
    markers = markers + rng.normal(scale=NOISE, size=markers.shape)
    tensions = tensions + rng.normal(scale=FORCE_NOISE, size=tensions.shape)
    world, finger, table = pressed(YOUNG * rng.uniform(0.7, 1.4), FRICTION * rng.uniform(0.6, 1.5))
    unknowns = {
        "young": Unknown(pl.parameters.Material(finger.body, "young"), log=True),
        "friction": Unknown(pl.parameters.Friction(finger, table), lower=0.0, upper=2.0),
    }
    experiment = measured(finger, markers, tensions, pulls)
    found = pl.identify(world, experiment, list(unknowns.values()), level=LEVEL, tolerance=1e-6)
    made: dict[str, Any] = {"noise_factor": np.array(found.noise_factor)}
    for name, each in unknowns.items():
        made[name] = np.array([found[each], *found.intervals[each]])
    return made


def measured(finger: Any, markers: FloatArray, tensions: FloatArray, pulls: tuple[float, ...]) -> Experiment:
    """The experiment with positions (frames, k, 3), m, of the markers and tensions (frames,), N."""
    times = DT * np.repeat(np.arange(1, len(pulls) + 1), FRAMES)
    return Experiment(
        [
            Markers(finger.body, POINTS, values=markers, times=times, noise=NOISE),
            ActuatorForce(finger.cable, values=tensions, times=times, noise=FORCE_NOISE),
        ],
        stepper=STEPPER, control=[{finger.cable: pl.Displacement(pull)} for pull in pulls],
    )  # fmt: skip


@lru_cache(maxsize=2)
def recorded(pulls: tuple[float, ...]) -> tuple[FloatArray, FloatArray]:
    """Exact positions (poses, k, 3), m, of the markers and tensions (poses,), N."""
    world, finger, _ = pressed(YOUNG, FRICTION)
    bound = BoundMarkers(world, finger.body, POINTS)
    state, markers, tensions = world.initial_state(), [], []
    for pull in pulls:
        state, info = STEPPER(world, state, {finger.cable: pl.Displacement(pull)})
        markers.append(bound.at(state))
        tensions.append(info.actuation(finger.cable)[1])
    return np.array(markers), np.array(tensions)


def pressed(young: float, friction: float) -> tuple[pl.World, Any, pl.Obstacle]:
    """A finger over a table."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    silicone = pl.materials.Corotated(young=young, poisson=0.45, density=1080.0)
    finger = scene.add(pl.robots.finger(material=silicone, cells=(2, 2, 2)))
    table = scene.add(pl.Obstacle.plane(point=(0, 0, TABLE), normal=(0, 0, 1), name="table"))
    scene.collide(finger, table, friction=friction)
    return scene.compile(), finger, table
