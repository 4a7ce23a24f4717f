"""Stations of a rod, where its mass is integrated and loads act, as kernels take them; and loads at arc lengths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pliant.core.checks import finite_array, finite_number
from pliant.core.declared import check_declared
from pliant.core.errors import InputError
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray, IntArray
from pliant.models.beam.section import section_at
from pliant.models.rod import inertia, kinematics
from pliant.models.rod.moments import RodMoments
from pliant.models.rod.rod import Rod
from pliant.models.volume.fields import TimedLoad, checked_amplitude
from pliant.models.volume.loads import PointLoad

GAUSS_POINTS = 3
"""Gauss–Legendre points by section: mass and gravity of a straight section are exact, of a curved one to O((κl)⁶)."""


@one_line
@dataclass(frozen=True, eq=False)
class RodLoad(TimedLoad):
    """A dead force (N, (3,)) and a dead moment (N·m, (3,)) on a `pl.Rod` at the arc length `at` (m, from its base).

    Both keep their direction in the world. As a control: a new force, or a new `pl.Wrench`. At the ends of sections a
    `pl.PointLoad` with their node indices does the same. `amplitude` multiplies both over time: a function of t (s) or
    pairs [(t, factor), …]; a control takes its place.
    """

    body: Any
    at: float
    force: Any
    moment: Any = (0.0, 0.0, 0.0)
    amplitude: Any = None

    def __post_init__(self) -> None:
        check_declared(self)
        if not hasattr(self.body, "rest_strains"):
            name = getattr(self.body, "name", self.body)
            raise InputError(f"a RodLoad is for rods; {name!r:.60} is none: use pl.PointLoad")
        at, length = finite_number("at of a RodLoad", self.at, unit="m"), float(self.body.lengths.sum())
        if not 0.0 <= at <= length * (1.0 + 1e-12):
            raise InputError(f"at of a RodLoad is {at:g} m; {self.body.name!r} goes from 0 to {length:g} m")
        assert self.wrench.shape == (2, 3)
        object.__setattr__(self, "amplitude", checked_amplitude("RodLoad", self.amplitude))

    @property
    def value(self) -> FloatArray:  # type: ignore[override]
        """Force (N) and moment (N·m), (2, 3)."""
        return self.wrench

    @property
    def wrench(self) -> FloatArray:
        """Force (N) and moment (N·m), (2, 3)."""
        pairs = (("force", self.force), ("moment", self.moment))
        return np.stack([finite_array(f"{name} of a RodLoad", value, shape=(3,)) for name, value in pairs])


@dataclass(frozen=True, eq=False)
class Stations:
    """S stations, sorted by section: those of section k begin at `first[k]` (N + 1,), `fraction` (S,) in [0, 1] locates
    them in it. `mu` (S, 3) are the masses of a station's particles: kg for the axis, kg·m² for the section's axes.
    """

    first: IntArray
    fraction: FloatArray
    mu: FloatArray

    @property
    def count(self) -> int:
        """Number of stations."""
        return len(self.fraction)

    def sweep_size(self, kinds: int) -> int:
        """Numbers that a sweep with columns of `kinds` strains takes (`kinematics.unpacked`)."""
        sections = len(self.first) - 1
        return 12 * (sections + 1 + self.count) + 6 * kinds * (sections + self.count)


@dataclass(frozen=True, eq=False)
class Loaded:
    """A load with the stations (k,) that take equal parts of it."""

    load: Any
    stations: IntArray


def build_stations(spec: Rod, loads: Sequence[Any]) -> tuple[Stations, tuple[Loaded, ...], tuple[RodMoments, ...]]:
    """Stations for the mass of `spec` and for its loads; internal moments among these act on its strains instead."""
    muscles = tuple(load for load in loads if isinstance(load, RodMoments))
    loads = [load for load in loads if not isinstance(load, RodMoments)]
    xi, weights = np.polynomial.legendre.leggauss(GAUSS_POINTS)
    count = spec.sections
    section = np.repeat(np.arange(count), GAUSS_POINTS)
    fraction = np.tile(0.5 * (1.0 + xi), count)
    there = [[section_at(s, float(t)) for t in fraction[:GAUSS_POINTS]] for s in spec.section_list]
    per_length = spec.density * np.array(
        [[(s.area, s.second_moments[1], s.second_moments[0]) for s in points] for points in there]
    )
    mu = (0.5 * weights[None, :, None] * (spec.lengths[:, None, None] * per_length)).reshape(-1, 3)
    loaded = [_load_stations(spec, load) for load in loads]
    extra = [np.concatenate([p[k] for p in loaded]) if loaded else np.zeros(0) for k in range(2)]
    owner = np.concatenate([np.full(len(section), -1), *(np.full(len(p[0]), k) for k, p in enumerate(loaded))])
    section, fraction = np.concatenate([section, extra[0]]).astype(np.int64), np.concatenate([fraction, extra[1]])
    masses = np.concatenate([mu, np.zeros((len(extra[0]), 3))])
    order = np.lexsort((fraction, section))
    first = np.searchsorted(section[order], np.arange(count + 1)).astype(np.int32)
    owner = owner[order]
    listed = tuple(Loaded(load, np.flatnonzero(owner == k).astype(np.int32)) for k, load in enumerate(loads))
    return Stations(first, np.ascontiguousarray(fraction[order]), np.ascontiguousarray(masses[order])), listed, muscles


def section_of(lengths: FloatArray, at: FloatArray) -> tuple[IntArray, FloatArray]:
    """Section (p,) and fraction (p,) in [0, 1] of the arc lengths `at` (p,) m; ends belong to the section before."""
    starts = np.concatenate([[0.0], np.cumsum(lengths)])
    section = np.clip(np.searchsorted(starts, at, side="left") - 1, 0, len(lengths) - 1)
    fraction = np.clip((at - starts[section]) / lengths[section], 0.0, 1.0)
    return section.astype(np.int32), fraction


def _load_stations(spec: Rod, load: Any) -> tuple[IntArray, FloatArray]:
    if isinstance(load, RodLoad):
        return section_of(spec.lengths, np.array([float(load.at)]))
    if not isinstance(load, PointLoad):
        raise InputError(f"a {type(load).__name__} is for volumes; {spec.name!r} is a rod: use pl.RodLoad")
    nodes = spec.selected(load.region, what="region of a PointLoad")
    return np.maximum(nodes - 1, 0), (nodes > 0).astype(np.float64)


class Sweep:
    """A rod at q: poses of section ends and stations, positions relative to the base, and columns of its Jacobian.

    `ends` (N + 1, 4, 3), `frames` (S, 4, 3), `C` (N, n, 2, 3), `P` (S, n, 2, 3); see `models.rod.kinematics`.
    """

    _space: FloatArray

    def __init__(self, q: FloatArray, kinds: IntArray, stations: Stations, *, columns: bool = True) -> None:
        self.q, self.kinds, self.stations = q, kinds, stations
        sections, count, width = len(stations.first) - 1, stations.count, len(kinds)
        self._views = (
            np.empty((sections + 1, 4, 3)),
            np.empty((count, 4, 3)),
            np.empty((sections if columns else 0, width, 2, 3)),
            np.empty((count if columns else 0, width, 2, 3)),
        )
        kinematics.sweep(q, kinds, stations.first, stations.fraction, *self._views)

    @classmethod
    def filled(cls, q: FloatArray, space: FloatArray, kinds: IntArray, stations: Stations) -> Sweep:
        """The sweep at q that a kernel has left in `space` (`kinematics.unpacked`)."""
        made = cls.__new__(cls)
        made.q, made.kinds, made.stations, made._space = q, kinds, stations, space
        return made

    @cached_property
    def _views(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        sizes = len(self.stations.first) - 1, self.stations.count, len(self.kinds)
        unpacked: Any = kinematics.unpacked
        views: tuple[FloatArray, FloatArray, FloatArray, FloatArray] = unpacked.py_func(self._space, *sizes)
        return views

    @property
    def ends(self) -> FloatArray:
        """Poses of the ends of the sections."""
        return self._views[0]

    @property
    def frames(self) -> FloatArray:
        """Poses of the stations."""
        return self._views[1]

    @property
    def C(self) -> FloatArray:
        """Columns of what lies beyond each section."""
        return self._views[2]

    @property
    def P(self) -> FloatArray:
        """Columns of the stations."""
        return self._views[3]

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
