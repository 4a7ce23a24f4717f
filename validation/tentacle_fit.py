"""The tentacle fitted on some of its poses and tested on the others: one split, every half, every single pose.

Its shape is a smooth function of ρ/E, μ and T/E for each way to pull. It is computed on a grid once and interpolated,
so that 150 fits take seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from scipy.interpolate import RegularGridInterpolator
from scipy.optimize import least_squares

from pliant.core.types import FloatArray
from validation.row import Row
from validation.tentacle import PULLEY, TORQUES, Parameters, measured, poses, pulled

PUBLISHED = (0.012, 0.011, 0.012, 0.028)
"""Published rms distance of each marker over eight poses, with E 315 kPa and density 1318 kg/m³, m."""
ALLOWED = (10.0, 9.0, 10.0, 17.0)
TRAINING = ("m1_u005", "m1_u02", "m2_u02", "m12_u002")
"""Poses of the smallest and the largest torques."""
TESTING = ("m1_u01", "m1_u015", "m2_u01", "m12_u001")
"""Poses between them."""
YOUNG = 3.2e5
"""Modulus of the grid, Pa; another one scales densities and tensions."""
DENSITIES = (950.0, 1150.0, 1400.0, 1700.0)
FRICTIONS = (0.0, 0.1, 0.25, 0.45)
TENSIONS = (0.0, 1.5, 3.0, 4.5, 6.0, 7.5)
PULLS = ((1.0, 0.0), (0.0, 1.0), (1.0, 1.0))
"""Tensions of both tendons over the larger one."""
START = (3.15, 1.318, 1.0, 0.0, 0.0, 0.0)
BOUNDS = ([2.6, 0.8, 0.0, -2.0, -2.0, -2.0], [6.0, 2.0, 4.5, 2.0, 2.0, 2.0])
Halves = tuple[str, ...]


def parameters(x: Any) -> Parameters:
    """From numbers of order one: 100 kPa, 1000 kg/m³, 0.1, and 10 mm."""
    return Parameters(1e5 * x[0], 1e3 * x[1], 0.1 * x[2], (0.01 * x[3], 0.01 * x[4], 0.01 * x[5]))


@lru_cache(maxsize=1)
def response() -> list[Any]:
    """For each of `PULLS` the markers (12,), m, as a function of density, μ and the larger tension, at `YOUNG`."""
    table = np.zeros((len(PULLS), len(DENSITIES), len(FRICTIONS), len(TENSIONS), 12))
    tensions = [tension * np.array(pull) for pull in PULLS for tension in TENSIONS]
    for i, density in enumerate(DENSITIES):
        for j, friction in enumerate(FRICTIONS):
            shapes = pulled(Parameters(YOUNG, density, friction, (0.0, 0.0, 0.0)), tensions)
            markers = np.array([shape[:4].ravel() for shape in shapes])
            table[:, i, j] = markers.reshape(len(PULLS), len(TENSIONS), 12)
    grid = (DENSITIES, FRICTIONS, TENSIONS)
    # poses of a density or a tension beyond the grid are extrapolated
    beyond: dict[str, Any] = {"bounds_error": False, "fill_value": None}
    return [RegularGridInterpolator(grid, one, "cubic", **beyond) for one in table]


def interpolated(p: Parameters, name: str) -> FloatArray:
    """Markers (4, 3), m, at a pose, from the grid."""
    torques, scale = np.array(TORQUES[name]), YOUNG / p.young
    pull = PULLS.index(tuple(torques / torques.max()))
    place = (scale * p.density, p.friction, scale * torques.max() / PULLEY)
    return np.asarray(response()[pull](place).reshape(4, 3) + p.shift)


def least(data: Path, names: Sequence[str], *, smooth: bool = False) -> Parameters:
    """The parameters of least squares of the distances of all markers at the poses `names`, from the published ones;
    of `smooth` tendons with μ = 0.
    """
    held = np.array([1.0, 1.0, 0.0 if smooth else 1.0, 1.0, 1.0, 1.0])
    wanted = np.array([marked(data, name) for name in names])

    def apart(x: FloatArray) -> FloatArray:
        p = parameters(x * held)
        return np.asarray((np.array([interpolated(p, name) for name in names]) - wanted).ravel() / 0.01)

    return parameters(least_squares(apart, START, bounds=BOUNDS, diff_step=1e-4).x * held)


@lru_cache(maxsize=16)
def marked(data: Path, name: str) -> FloatArray:
    """`measured`, read once."""
    return measured(data, name)


@lru_cache(maxsize=4)
def fitted(data: Path, names: Halves) -> Parameters:
    """`least`, kept for rows and pictures."""
    return least(data, names)


def errors(data: Path, training: Halves, testing: Halves) -> FloatArray:
    """Mean distance (4,), mm, of each marker over the poses `testing` with the parameters fitted to `training`."""
    found = poses(fitted(data, training), testing)
    distances = [np.linalg.norm(found[name][:4] - marked(data, name), axis=1) for name in testing]
    return np.asarray(1e3 * np.mean(distances, axis=0))


def left_out(data: Path, count: int, *, smooth: bool = False) -> FloatArray:
    """The same for every way to leave `count` poses out of the fit, (ways, 4), mm, interpolated."""
    found = []
    for testing in combinations(TORQUES, count):
        p = least(data, [name for name in TORQUES if name not in testing], smooth=smooth)
        distances = [np.linalg.norm(interpolated(p, name) - marked(data, name), axis=1) for name in testing]
        found.append(1e3 * np.mean(distances, axis=0))
    return np.array(found)


def rows(data: Path) -> list[Row]:
    """Mean error of each marker on unseen poses: one split, exchanged, all halves, all single poses."""
    p = fitted(data, TRAINING)
    note = (
        f"fitted at the smallest and largest torques: E {1e-3 * p.young:.0f} kPa, density {p.density:.0f} kg/m³, "
        f"μ {p.friction:.2f}, base {', '.join(f'{1e3 * x:.1f}' for x in p.shift)} mm from the drawing; "
        "published: rms of poses that were fitted"
    )
    made = _rows("on poses between those fitted", errors(data, TRAINING, TESTING), note, ALLOWED)
    made += _rows("fitted between, tested at the smallest and largest torques", errors(data, TESTING, TRAINING), "")
    for count, what in ((1, "each pose left out once"), (4, "each half left out once (70 splits)")):
        found, smooth = left_out(data, count), left_out(data, count, smooth=True)
        note = (
            f"{what}: standard deviation {_four(found.std(axis=0))} mm, largest {_four(found.max(axis=0))} mm; mean "
            f"without friction {_four(smooth.mean(axis=0))} mm"
        )
        made += _rows(what, found.mean(axis=0), note, ALLOWED)
    return made


def _four(numbers: FloatArray) -> str:
    return " / ".join(f"{x:.1f}" for x in numbers)


def _rows(what: str, found: FloatArray, note: str, allowed: Sequence[float | None] = (None,) * 4) -> list[Row]:
    return [
        Row(
            quantity=f"mean error of marker {k + 1}, {what}", ours=float(found[k]), reference=0.0, unit="mm",
            published=1e3 * PUBLISHED[k], allowed=allowed[k], note="" if k else note,
        )
        for k in range(4)
    ]  # fmt: skip
