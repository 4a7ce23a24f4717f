"""Stations of a rod: the places where its mass is integrated and where loads act, as kernels take them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.core.errors import InputError
from pliant.core.types import FloatArray, IntArray
from pliant.models.rod import inertia, kinematics
from pliant.models.rod.load import RodLoad
from pliant.models.rod.rod import Rod
from pliant.models.volume.loads import PointLoad

GAUSS_POINTS = 3
"""Gauss–Legendre points by section: mass and gravity of a straight section are exact, of a curved one to O((κl)⁶)."""


@dataclass(frozen=True, eq=False)
class Stations:
    """S stations, sorted by section: `first` (N + 1,) points to those of each, `fraction` (S,) in [0, 1] is the place
    in it. `mu` (S, 3) are the masses of the particles of a station, kg for the axis and kg·m² for the section's axes.
    """

    first: IntArray
    fraction: FloatArray
    mu: FloatArray

    @property
    def count(self) -> int:
        """Number of stations."""
        return len(self.fraction)


@dataclass(frozen=True, eq=False)
class Loaded:
    """A load with the stations (k,) that share it equally."""

    load: Any
    stations: IntArray


def build_stations(spec: Rod, loads: Sequence[Any]) -> tuple[Stations, tuple[Loaded, ...]]:
    """Stations for the mass of `spec` and for its loads."""
    xi, weights = np.polynomial.legendre.leggauss(GAUSS_POINTS)
    count = spec.sections
    section = np.repeat(np.arange(count), GAUSS_POINTS)
    fraction = np.tile(0.5 * (1.0 + xi), count)
    per_length = spec.density * np.array(
        [(s.area, s.second_moments[1], s.second_moments[0]) for s in spec.section_list]
    )
    mu = (0.5 * weights[None, :, None] * (spec.lengths[:, None] * per_length)[:, None]).reshape(-1, 3)
    places = [_places(spec, load) for load in loads]
    extra = [np.concatenate([p[k] for p in places]) if places else np.zeros(0) for k in range(2)]
    owner = np.concatenate([np.full(len(section), -1), *(np.full(len(p[0]), k) for k, p in enumerate(places))])
    section, fraction = np.concatenate([section, extra[0]]).astype(np.int64), np.concatenate([fraction, extra[1]])
    masses = np.concatenate([mu, np.zeros((len(extra[0]), 3))])
    order = np.lexsort((fraction, section))
    first = np.searchsorted(section[order], np.arange(count + 1)).astype(np.int32)
    owner = owner[order]
    listed = tuple(Loaded(load, np.flatnonzero(owner == k).astype(np.int32)) for k, load in enumerate(loads))
    return Stations(first, np.ascontiguousarray(fraction[order]), np.ascontiguousarray(masses[order])), listed


def section_of(lengths: FloatArray, at: FloatArray) -> tuple[IntArray, FloatArray]:
    """Section (p,) and fraction (p,) in [0, 1] of the arc lengths `at` (p,) m; ends belong to the section before."""
    starts = np.concatenate([[0.0], np.cumsum(lengths)])
    section = np.clip(np.searchsorted(starts, at, side="left") - 1, 0, len(lengths) - 1)
    fraction = np.clip((at - starts[section]) / lengths[section], 0.0, 1.0)
    return section.astype(np.int32), fraction


def _places(spec: Rod, load: Any) -> tuple[IntArray, FloatArray]:
    if isinstance(load, RodLoad):
        return section_of(spec.lengths, np.array([float(load.at)]))
    if not isinstance(load, PointLoad):
        raise InputError(f"a {type(load).__name__} is for volumes; {spec.name!r} is a rod: use pl.RodLoad")
    nodes = spec.selected(load.region, what="region of a PointLoad")
    return np.maximum(nodes - 1, 0), (nodes > 0).astype(np.float64)


class Sweep:
    """A rod at q: poses of section ends and stations, places from the base, and columns of its Jacobian.

    `ends` (N + 1, 4, 3), `frames` (S, 4, 3), `C` (N, n, 2, 3), `P` (S, n, 2, 3); see `models.rod.kinematics`.
    """

    def __init__(self, q: FloatArray, kinds: IntArray, stations: Stations, *, columns: bool = True) -> None:
        self.q, self.kinds, self.stations = q, kinds, stations
        sections, count, width = len(stations.first) - 1, stations.count, len(kinds)
        self.ends, self.frames = np.empty((sections + 1, 4, 3)), np.empty((count, 4, 3))
        self.C = np.empty((sections if columns else 0, width, 2, 3))
        self.P = np.empty((count if columns else 0, width, 2, 3))
        kinematics.sweep(q, kinds, stations.first, stations.fraction, self.ends, self.frames, self.C, self.P)

    def velocities(self, v: FloatArray, basis: FloatArray) -> FloatArray:
        """Velocities (S, 3, 3) of the particles under the rates v (2 + 2N, 3), m/s."""
        count = self.stations.count
        twist, out = np.empty((count, 2, 3)), np.empty((count, 3, 3))
        kinematics.twists(v, basis, self.kinds, self.stations.first, self.C, self.P, twist)
        inertia.particle_velocities(self.frames, twist, out)
        return out

    def pull(self, forces: FloatArray, moments: FloatArray, basis: FloatArray) -> FloatArray:
        """Jᵀ of forces (S, 3, 3) on the particles and of moments (S, 3), of the shape of dx, N and N·m."""
        wrench, out = np.empty((self.stations.count, 2, 3)), np.empty((2 * len(self.C) + 2, 3))
        inertia.particle_wrench(self.frames, forces, moments, wrench)
        kinematics.pull(wrench, basis, self.kinds, self.stations.first, self.C, self.P, out)
        return out
