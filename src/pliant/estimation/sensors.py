"""Sensors: what the model says that they read in an equilibrium, and how that follows forces anywhere on the bodies.

By reciprocity one response of the model for each reading gives its derivatives by the forces at all places: with A and
the rows H_h that hold, a position C x follows forces by the response to Cᵀ, and the force of a row that holds by the
response to a unit displacement of that row, with the sign changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from pliant.constraints.rows import Constraint, RowLaw, Rows, RowView
from pliant.control.linearization import Linearization, dense
from pliant.core.checks import number_array, shown
from pliant.core.errors import InputError
from pliant.core.types import FloatArray, IndexArray
from pliant.estimation.loads import Spot
from pliant.identification.measurements import ActuatorDisplacement, ActuatorForce, Markers, Measurement
from pliant.models.point_map import PointMap
from pliant.world import State, World


@dataclass(frozen=True, eq=False)
class MarkerRows(Constraint):
    """Positions of markers, along `axes` (k d, 3 k), as rows without forces; δ is the position itself, m."""

    index: int
    map: PointMap
    axes: sparse.csr_matrix
    name: str = "markers"

    def rows(self, view: RowView, found: Any = None) -> tuple[Rows, None]:
        """The rows."""
        H = view.blank(self.axes.shape[0])
        H[self.index] = self.map.pull_back(view.q[self.index], self.axes)
        return Rows.of(H, self.read(view.q), int(RowLaw.IMPOSED)), None

    def read(self, q: Sequence[FloatArray]) -> FloatArray:
        """The positions, (k d,), m."""
        return np.asarray(self.axes @ self.map.points(q[self.index]).ravel())


@dataclass(frozen=True, eq=False)
class Sensors:
    """The sensors of a world: `markers` with their rows, and `actuators` with the index of their constraint."""

    world: World
    measurements: tuple[Measurement, ...]
    markers: dict[Measurement, MarkerRows]
    actuators: dict[Measurement, int]

    @classmethod
    def of(cls, world: World, measurements: Sequence[Measurement]) -> Sensors:
        """Those of `measurements`, checked."""
        markers: dict[Measurement, MarkerRows] = {}
        actuators: dict[Measurement, int] = {}
        for each in measurements:
            if isinstance(each, Markers):
                markers[each] = _marker_rows(world, each)
            elif isinstance(each, (ActuatorForce, ActuatorDisplacement)):
                actuators[each] = world.constraint_index(each.actuator)
            else:
                raise InputError(
                    f"an estimator reads Markers, ActuatorForce and ActuatorDisplacement of pl.identification, got "
                    f"{each!r:.60}"
                )
        return cls(world, tuple(measurements), markers, actuators)

    @property
    def noise(self) -> FloatArray:
        """Standard deviation of each reading, (s,), in its unit."""
        return np.concatenate([np.full(_size(each), each.noise) for each in self.measurements])

    def gathered(self, readings: Mapping[Any, Any] | None) -> FloatArray:
        """All readings, (s,); NaN where there is none."""
        given = dict(readings or {})
        made = []
        for each in self.measurements:
            value = given.pop(each, each.values)
            if value is None:
                made.append(np.full(_size(each), np.nan))
                continue
            array = number_array(f"reading of {each.label!r}", value)
            if array.size != _size(each) or np.isinf(array).any():
                raise InputError(
                    f"the reading of {each.label!r} is one instant of shape {each.base_shape}, {each.unit}, NaN at "
                    f"gaps; got shape {array.shape}"
                )
            made.append(array.ravel())
        if given:
            raise InputError(f"{shown(next(iter(given)))} is no sensor of this estimator")
        found: FloatArray = np.concatenate(made)
        if np.isnan(found).all():
            raise InputError("all readings are gaps (NaN): there is nothing to estimate from")
        return found

    def shaped(self, rows: FloatArray) -> dict[Any, FloatArray]:
        """(s,) by sensor, of the shape of its reading."""
        ends = np.cumsum([_size(each) for each in self.measurements])
        parts = np.split(rows, ends[:-1])
        return {each: part.reshape(each.base_shape) for each, part in zip(self.measurements, parts, strict=True)}

    def size(self, sensor: Measurement) -> int:
        """Number of values of a sensor."""
        return _size(sensor)

    def predicted(self, info: Any) -> FloatArray:
        """What the model reads at the end of a step, (s,)."""
        made, q = [], info.advanced.q
        for each in self.measurements:
            if each in self.markers:
                made.append(self.markers[each].read(q))
            else:
                made.append(np.array([info.actuation(each.actuator)[isinstance(each, ActuatorForce)]]))  # type: ignore[attr-defined]
        return np.concatenate(made)


@dataclass(frozen=True, eq=False)
class Responses:
    """The linear model about an equilibrium, and `G` (s, n): how the readings follow forces on all unknowns."""

    model: Linearization
    G: FloatArray
    ends: IndexArray
    turned: tuple[IndexArray, FloatArray] | None = None

    @classmethod
    def at(cls, sensors: Sensors, state: State, controls: Any) -> Responses:
        """About the equilibrium `state` under checked `controls`."""
        world = sensors.world
        model, assembly, _ = Linearization.about(world, state, controls, list(sensors.markers.values()))
        held = {int(row): place for place, row in enumerate(model.held)}
        seen, rows = iter(model.seen), []
        for each in sensors.measurements:
            if each in sensors.markers:
                rows += [model.constrained(next(seen)) for _ in range(_size(each))]
                continue
            row = assembly.slices[sensors.actuators[each]].start
            holds, by_force = row in held, isinstance(each, ActuatorForce)
            if holds == by_force:
                rows.append(
                    _force_response(model, held[row]) if holds else model.constrained(dense(model.rows, [row])[0])
                )
            else:  # what is commanded, or a slack cable: nothing changes it
                rows.append(np.zeros(sum(model.sizes)))
        return cls(model, np.array(rows), np.cumsum((0, *model.sizes)))

    def following(self, spot: Spot, q: FloatArray) -> Responses:
        """The same where a push follows the surface: its direction turns with the corners of its triangle."""
        S = spot.stiffness(q)
        if not S.any():
            return self
        own: IndexArray = int(self.ends[spot.index]) + spot.unknowns().astype(np.int64)
        V = np.stack([self.model.constrained(np.eye(1, self.G.shape[1], int(k))[0]) for k in own])
        turned = S @ np.linalg.inv(np.eye(9) - V[:, own] @ S) @ V
        return replace(self, G=self.G + self.G[:, own] @ turned, turned=(own, turned))

    @property
    def slides(self) -> bool:
        """Whether a contact presses and slides with friction, whose force the model takes as constant."""
        rows = self.model.rows
        cones = np.flatnonzero(rows.law == RowLaw.COULOMB)[::3]
        held = np.isin(cones, self.model.held) & ~np.isin(cones + 1, self.model.held)
        return bool((held & (rows.mu[cones] > 0.0)).any())

    def by_body(self, index: int) -> FloatArray:
        """The columns of G of body `index`."""
        return self.G[:, int(self.ends[index]) : int(self.ends[index + 1])]

    def motion(self, index: int, force: FloatArray) -> FloatArray:
        """How all bodies move (n,) under a generalized force (unknowns,) on body `index`."""
        whole = np.zeros(self.G.shape[1])
        whole[int(self.ends[index]) : int(self.ends[index + 1])] = force
        moved = self.model.constrained(whole)
        if self.turned is None:
            return moved
        own, turned = self.turned
        again = np.zeros(len(whole))
        again[own] = turned @ whole
        return np.asarray(moved + self.model.constrained(again))


def _force_response(model: Linearization, place: int) -> FloatArray:
    Y, inverse = model.responses
    unit = np.zeros(len(model.held))
    unit[place] = 1.0
    start = Y @ (inverse @ unit)
    return np.asarray(-model.constrained(np.zeros(len(Y)), start))


def _size(measurement: Measurement) -> int:
    return int(np.prod(measurement.base_shape))


def _marker_rows(world: World, markers: Markers) -> MarkerRows:
    if markers.turns or markers.frame is not None:
        raise InputError(
            f"{markers.label!r} have offsets or a frame that is to be registered, which an estimator does not know: "
            "give points where the markers are, and register them first, pl.recordings.register"
        )
    index = world.index(markers.body)
    points = world.models[index].embed(markers.points, what=f"a marker of {markers.label!r}", placed=markers.placed)
    along = np.eye(3) if markers.directions is None else np.asarray(markers.directions)
    axes = sparse.csr_matrix(np.kron(np.eye(len(markers.points)), along))
    return MarkerRows(index, points, axes, markers.label)
